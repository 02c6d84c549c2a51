/* SPDX-License-Identifier: MIT */
/* Which loads behind the wait have an address before it, and read memory that no kernel in flight writes. */
#ifndef PDL_INSPECT_PREFETCH_H
#define PDL_INSPECT_PREFETCH_H

#include "inspect/edit/points.h"

/* More would compete with the kernel before this one. */
#define PDL_PREFETCHES_MAX 8u

struct pdl_prefetch {
    const struct pdl_operand *address; /* of the load */
    uint32_t load;         /* an instruction behind the wait that every thread comes to */
    uint32_t from, behind; /* the first and the last instruction that it needs, before the wait */
};

/* Finds the first ones of a body, whose points were found; at most PDL_PREFETCHES_MAX. Returns how many. */
uint32_t pdl_prefetches_find(struct pdl_prefetch *prefetches, const struct pdl_points *points,
                             const struct pdl_needs *needs, const struct pdl_cfg *cfg);

#endif /* PDL_INSPECT_PREFETCH_H */
