/* SPDX-License-Identifier: MIT */
/* The names of a kernel's parameters, from its source: PTX does not keep them. */
#ifndef PDL_INSPECT_SOURCE_H
#define PDL_INSPECT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "inspect/memory.h"

/* Longer names are not looked for. */
#define PDL_SOURCE_NAME_MAX 200

/* The source file that was read last. All zero is none. */
struct pdl_source_file {
    char *path;
    char *text;
    uint32_t *lines; /* where they begin */
    size_t size;
    uint32_t line_count;
    size_t read; /* bytes of all files so far */
};

/* The names of the `count` parameters of the function whose mangled name is `name` and which begins
 * about `line` of a file, in the arena; NULL if they cannot be found out. */
const char *const *pdl_source_parameters(struct pdl_source_file *file, struct pdl_arena *arena,
                                         const char *path, uint32_t line, const char *name,
                                         uint32_t count);

#endif /* PDL_INSPECT_SOURCE_H */
