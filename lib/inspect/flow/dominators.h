/* SPDX-License-Identifier: MIT */
/* Dominators and post-dominators of a body's blocks. */
#ifndef PDL_INSPECT_DOMINATORS_H
#define PDL_INSPECT_DOMINATORS_H

#include "inspect/flow/cfg.h"

/* The tree of one direction. Backward, the node `root` behind all blocks that end a path stands for the end
 * of the body. */
struct pdl_dominators {
    uint32_t *parent; /* by node, as the arrays that follow */
    uint32_t *number; /* from 1 in the order of a search; 0: not reached */
    uint32_t *size;   /* of the tree below it, and itself */
    uint32_t *first;  /* where that tree begins, in an order of the tree */
    uint32_t *found_from, *ancestor, *label, *semi, *bucket, *next; /* while they are found */
    uint32_t *order;                                                /* nodes by their numbers */
    uint32_t root, count;
    size_t parent_capacity, number_capacity, size_capacity, first_capacity, found_from_capacity;
    size_t ancestor_capacity, label_capacity, semi_capacity, bucket_capacity, next_capacity;
    size_t order_capacity;
};

/* Finds them. The arrays are used again. */
void pdl_dominators_find(struct pdl_dominators *dominators, const struct pdl_cfg *cfg,
                         bool backward);

static inline bool pdl_dominators_reach(const struct pdl_dominators *dominators, uint32_t node)
{
    return dominators->number[node] != 0;
}

/* Whether a node dominates another, which are reached. */
static inline bool pdl_dominators_above(const struct pdl_dominators *dominators, uint32_t a,
                                        uint32_t b)
{
    return dominators->first[b] - dominators->first[a] < dominators->size[a];
}

/* The nearest node that dominates both, which are reached. It takes as many steps as that is above `a`. */
static inline uint32_t pdl_dominators_meet(const struct pdl_dominators *dominators, uint32_t a,
                                           uint32_t b)
{
    while (!pdl_dominators_above(dominators, a, b)) {
        a = dominators->parent[a];
    }
    return a;
}

#endif /* PDL_INSPECT_DOMINATORS_H */
