/* SPDX-License-Identifier: MIT */
/* Names as small numbers. */
#ifndef PDL_INSPECT_NAMES_H
#define PDL_INSPECT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PDL_NONE UINT32_MAX

struct pdl_name {
    const char *text; /* in the text that was read */
    uint32_t length;
    uint32_t hash;
};

/* Whether a name begins with a word, which is a literal for most callers. */
static inline bool pdl_name_begins(const struct pdl_name *name, const char *word)
{
    const size_t length = strlen(word);
    return name->length >= length && memcmp(name->text, word, length) == 0;
}

/* A name of at most 16 characters that was looked up of late: most are those of a few registers. */
struct pdl_recent_name {
    uint64_t begin, end; /* its first and its last characters */
    uint32_t length;     /* 0: none */
    uint32_t number;
};

#define PDL_NAMES_RECENT 512

/* All zero is an empty table. Names are numbered from 0 in the order they are first seen. */
struct pdl_names {
    struct pdl_name *names;
    uint32_t *slots; /* number + 1, or 0 */
    uint32_t count;
    size_t capacity;
    uint32_t slot_count;
    struct pdl_recent_name recent[PDL_NAMES_RECENT]; /* by hash */
};

/* The number of a name, which must live as long as the table. */
uint32_t pdl_names_add(struct pdl_names *names, const char *text, uint32_t length);

/* The number of a name; PDL_NONE if it is not there. */
uint32_t pdl_names_find(const struct pdl_names *names, const char *text, uint32_t length);

/* Forgets all names but the first ones. */
void pdl_names_cut(struct pdl_names *names, uint32_t count);

#endif /* PDL_INSPECT_NAMES_H */
