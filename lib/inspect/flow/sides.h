/* SPDX-License-Identifier: MIT */
/* What the two sides of a branch do to memory, whatever copies the compiler made of the code. */
#ifndef PDL_INSPECT_SIDES_H
#define PDL_INSPECT_SIDES_H

#include "inspect/flow/flow.h"

/* Room for the comparison, used again. */
struct pdl_sides {
    uint8_t *reached;
    uint32_t *queue;
    uint64_t *keys[2];
    size_t reached_capacity, queue_capacity, key_capacity[2];
    uint32_t counts[2];
};

/* Whether the two ways behind a block's branch access the same memory, call the same functions and meet
 * the same barriers: on the same lines, or by the same instructions. Waits and triggers do not count.
 * False as well if the block has more than two ways. */
bool pdl_sides_compare(struct pdl_sides *sides, const struct pdl_flow *flow, uint32_t block);

#endif /* PDL_INSPECT_SIDES_H */
