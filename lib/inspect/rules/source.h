/* SPDX-License-Identifier: MIT */
/* The names of a kernel's parameters, from its source: PTX does not keep them. */
#ifndef PDL_INSPECT_SOURCE_H
#define PDL_INSPECT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "inspect/arena.h"

/* Longer names are not looked for. */
#define PDL_SOURCE_NAME_MAX 200

/* A parameter as its source declares it. */
struct pdl_parameter_name {
    const char *text;                 /* NULL if it is not known */
    const char *type;                 /* the last word in front of the name; or NULL */
    const struct pdl_member *members; /* of a struct (members.h); NULL if they are not known */
    uint32_t member_count;
};

/* The source file that was read last. All zero is none. */
struct pdl_source_file {
    char *path;
    char *text;
    uint32_t *lines; /* where they begin */
    size_t size;
    uint32_t line_count;
    size_t read;    /* bytes of all files so far */
    bool no_memory; /* something is not known for that reason */
    /* The struct that was read last, for the next kernel. */
    const char *struct_type;
    const struct pdl_member *members;
    uint32_t member_count;
    uint64_t struct_size; /* 0: it is not understood */
    uint64_t searched;    /* bytes for structs, in all files */
};

/* The names of the `count` parameters of the function whose mangled name is `name` and which begins
 * about `line` of a file, in the arena; NULL if they cannot be found out. */
struct pdl_parameter_name *pdl_source_parameters(struct pdl_source_file *file,
                                                 struct pdl_arena *arena, const char *path,
                                                 uint32_t line, const char *name, uint32_t count);

/* Whether a character is part of a name or a number. */
bool pdl_source_in_name(char c);

/* Behind a comment, string or character that begins at `at`, or `at`. */
const char *pdl_source_skip_quoted(const char *at);

/* A line of a file, as much as there is room for; false if it cannot be read. */
bool pdl_source_line(struct pdl_source_file *file, const char *path, uint32_t line, char *text,
                     size_t size);

void pdl_source_free(struct pdl_source_file *file);

#endif /* PDL_INSPECT_SOURCE_H */
