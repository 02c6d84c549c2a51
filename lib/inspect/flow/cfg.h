/* SPDX-License-Identifier: MIT */
/* The control-flow graph of a body. */
#ifndef PDL_INSPECT_CFG_H
#define PDL_INSPECT_CFG_H

#include "inspect/ptx/body.h"

/* Instructions without a branch between them. A wait, a trigger and a call are the last of their
 * block, and a guarded one is alone in its block, with a way around it. */
struct pdl_block {
    uint32_t first, count;    /* instructions */
    uint32_t first_successor; /* in successors */
    uint32_t successor_count;
    uint32_t first_predecessor; /* in predecessors */
    uint32_t predecessor_count;
    uint32_t branch; /* the instruction whose condition decides between successors, or PDL_NONE */
    bool exits;      /* a path ends here: ret, exit or the end of the body */
    bool in_loop;
};

struct pdl_cfg {
    struct pdl_block *blocks;
    uint32_t *successors; /* where a branch has two, the first is that of the condition holding */
    uint32_t *predecessors;
    uint32_t *block_of; /* by instruction */
    uint32_t block_count, successor_count;
    size_t block_capacity, successor_capacity, predecessor_capacity, block_of_capacity;
};

/* Builds the graph of a body. Block 0 is the entry. The arrays are used again. */
void pdl_cfg_build(struct pdl_cfg *cfg, const struct pdl_ptx_module *module,
                   const struct pdl_body *body);

#endif /* PDL_INSPECT_CFG_H */
