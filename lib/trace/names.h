/* SPDX-License-Identifier: MIT */
/* Strings, each once, in the order of their coming. */
#ifndef PDL_LIB_NAMES_H
#define PDL_LIB_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed, it is empty. */
struct pdl_names {
    char **names;
    uint32_t count;
    size_t room;
    void *tree; /* of tsearch(): a hash could be made to collide by what is read */
};

/* The index of a name, added if it is new; false without memory. */
bool pdl_names_add(struct pdl_names *names, const char *name, uint32_t *index);

/* Whether it is there, and its index. */
bool pdl_names_find(const struct pdl_names *names, const char *name, uint32_t *index);

/* Leaves it empty. */
void pdl_names_free(struct pdl_names *names);

#endif /* PDL_LIB_NAMES_H */
