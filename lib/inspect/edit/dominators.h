/* SPDX-License-Identifier: MIT */
/* Dominators and post-dominators of a body's blocks. */
#ifndef PDL_INSPECT_DOMINATORS_H
#define PDL_INSPECT_DOMINATORS_H

#include "inspect/flow/cfg.h"

/* The tree of one direction. Backward, the node `root` behind all blocks that end a path stands for the end
 * of the body. */
struct pdl_dominators {
    uint32_t *parent; /* by node */
    uint32_t *number; /* by node, from 1 in reverse post-order; 0: not reached */
    uint32_t *order;  /* nodes by their numbers */
    uint32_t *stack;
    uint32_t *edge; /* by node: the next one to follow */
    uint32_t root, count;
    size_t parent_capacity, number_capacity, order_capacity, stack_capacity, edge_capacity;
};

/* Finds them; false if there is no memory. The arrays are used again. */
bool pdl_dominators_find(struct pdl_dominators *dominators, const struct pdl_cfg *cfg,
                         bool backward);

/* The nearest node that dominates both, which are reached. */
uint32_t pdl_dominators_meet(const struct pdl_dominators *dominators, uint32_t a, uint32_t b);

static inline bool pdl_dominators_reach(const struct pdl_dominators *dominators, uint32_t node)
{
    return dominators->number[node] != 0;
}

void pdl_dominators_free(struct pdl_dominators *dominators);

#endif /* PDL_INSPECT_DOMINATORS_H */
