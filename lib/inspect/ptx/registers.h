/* SPDX-License-Identifier: MIT */
/* Special registers: %tid.x and its like. */
#ifndef PDL_INSPECT_REGISTERS_H
#define PDL_INSPECT_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

/* What a value depends on. */
enum {
    PDL_DEPENDS_THREAD = 1, /* the thread or the lane in its block */
    PDL_DEPENDS_BLOCK = 2,  /* the block in its grid */
    PDL_DEPENDS_MEMORY = 4,
    PDL_DEPENDS_PARAMETER =
        8,                 /* a parameter of the function: of a kernel, the same for all threads */
    PDL_DEPENDS_WARP = 16, /* with THREAD: warps may differ, and not only the lanes of each */
    PDL_DEPENDS_CLUSTER = 32, /* with BLOCK: clusters may differ, and not only the blocks of each */
    PDL_DEPENDS_LEADER = 64   /* what a lane loaded, and another one got from it by a shuffle */
};

/* Whether a name is that of a special register; *depends is what its value depends on. */
bool pdl_special_register(const char *name, uint32_t length, uint16_t *depends);

#endif /* PDL_INSPECT_REGISTERS_H */
