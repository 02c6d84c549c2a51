/* SPDX-License-Identifier: MIT */
/* A kernel and its resources, as KEY=VALUE says them: for `pdltool overlap`, `pdltool sim` and `pdltool tune`. */
#ifndef PDL_TOOLS_KERNEL_H
#define PDL_TOOLS_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

/* Up to three numbers, as a grid is given: 132, 16x8x2. */
struct kernel_extent {
    int64_t each[3];
    int axes;    /* 0: not given */
    int64_t all; /* their product */
};

struct kernel_resources {
    struct kernel_extent grid, block, cluster;
    int64_t registers, shared, dynamic; /* a thread's; bytes, static and dynamic */
    int64_t carveout;                   /* percent of the shared memory */
};
/* -1 where nothing was given. */
#define KERNEL_RESOURCES_INIT                                                                      \
    {                                                                                              \
        .registers = -1, .shared = -1, .dynamic = -1, .carveout = -1                               \
    }

/* What a value may be. */
struct kernel_limits {
    int64_t least, most;
};

/* A number, also of K, M or G (of 1024); false where it is none, or out of its limits. */
bool kernel_number(const char *text, struct kernel_limits limits, int64_t *number);

/* The part behind NAME= of a word; NULL where it is another word. */
const char *kernel_value(const char *word, const char *name);

enum kernel_word { KERNEL_TAKEN, KERNEL_WRONG, KERNEL_OTHER };
/* Takes blocks= (or grid=), threads= (or block=), cluster=, registers=, shared=, dynamic= and carveout=. KERNEL_WRONG: the
 * value is out of `limits`; KERNEL_OTHER: it is another word. */
enum kernel_word kernel_take(struct kernel_resources *kernel, const char *word,
                             struct kernel_limits *limits);

/* Whether the clusters divide the grid, along each axis of both that is given. */
bool kernel_clusters_divide(const struct kernel_extent *grid, const struct kernel_extent *cluster);

#endif /* PDL_TOOLS_KERNEL_H */
