/* SPDX-License-Identifier: MIT */
/* Functions that are known to wait, and the check of a node's kernel before. A wait covers the end of the kernel before.
 * It covers what that kernel overlaps only if that kernel waits too. libpdl knows this of nodes that it made. */
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

/* Whether a kernel node overlaps the kernel before it and is not known to wait: then a wait for it covers too little. */
pdl_status pdl_neighbour_check(const struct pdl_driver *driver, CUgraphNode node, bool *breaks);

#endif /* PDL_LIB_NEIGHBOUR_H */
