/* SPDX-License-Identifier: MIT */
/* The kernel in front. A wait covers its end, which is also the end of what that kernel overlaps only if it
 * waits itself. Which kernels do is known of nodes that libpdl made, by their functions. */
#ifndef PDL_LIB_NEIGHBOUR_H
#define PDL_LIB_NEIGHBOUR_H

#include "core/driver.h"

/* A function whose nodes were granted their overlap, so that it waits. All zero: there is none. */
struct pdl_neighbour {
    CUfunction function;
    struct pdl_neighbour *before;
};

void pdl_neighbour_note(struct pdl_neighbour *neighbour, CUfunction function);
void pdl_neighbour_forget(const struct pdl_neighbour *neighbour);

/* Whether a kernel node overlaps what is in front of it and is not known to wait. */
pdl_status pdl_neighbour_check(const struct pdl_driver *driver, CUgraphNode node, bool *breaks);

#endif /* PDL_LIB_NEIGHBOUR_H */
