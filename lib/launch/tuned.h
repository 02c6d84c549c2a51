/* SPDX-License-Identifier: MIT */
/* Tuned files: what was measured of kernels and shapes. docs/tune.md describes their lines. */
#ifndef PDL_LIB_TUNED_H
#define PDL_LIB_TUNED_H

#include <stdbool.h>

#include <pdl/policy.h>

/* A line. Those of a name stand together, in the order of the file. */
struct pdl_tuned_line {
    const char *name;
    bool last;                  /* of its name */
    uint32_t least[6], most[6]; /* the shape: grid, then block */
    pdl_tuned is;
};

struct pdl_tuned_file {
    char *text; /* which the names point into */
    struct pdl_tuned_line *lines;
    size_t count;
};

pdl_status pdl_tuned_read(const char *path, struct pdl_tuned_file *file);

/* The lines of a kernel: those of its whole name, else of its plain one, else of "*". NULL: none. */
const struct pdl_tuned_line *pdl_tuned_lines(const struct pdl_tuned_file *file, const char *name);

/* The first of them that fits a shape; NULL: none. */
const struct pdl_tuned_line *pdl_tuned_match(const struct pdl_tuned_line *line,
                                             const uint32_t grid[3], const uint32_t block[3]);

/* The function's own name of a mangled one: "fc2" of "_ZN2nn3fc2IfEEvPKT_"; others as they are.
 * Kernels are members of namespaces only, so that names alone are in front of it. */
enum { PDL_PLAIN_NAME = 256 };
const char *pdl_name_plain(const char *name, char plain[PDL_PLAIN_NAME]);

#endif /* PDL_LIB_TUNED_H */
