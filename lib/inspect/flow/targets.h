/* SPDX-License-Identifier: MIT */
/* What an indirect call may call, and what all of that does together. */
#ifndef PDL_INSPECT_TARGETS_H
#define PDL_INSPECT_TARGETS_H

#include "inspect/flow/folding.h"
#include "inspect/flow/summary.h"

struct pdl_joined;

/* The summaries that were joined, by what was joined. */
struct pdl_targets {
    struct pdl_joined *joined;
    uint32_t *slots; /* joined + 1, or 0 */
    uint32_t joined_count, slot_count;
    size_t joined_capacity;
    uint64_t steps; /* through tables so far */
    uint32_t round; /* summaries that were not final in an earlier one are joined anew */
};

/* Finds what an indirect call calls: sets `called` and `called_is` of the instruction. A load from a
 * table is no read of memory any more. */
void pdl_targets_resolve(struct pdl_targets *targets, struct pdl_ptx_module *module,
                         struct pdl_body *body, const struct pdl_values *values,
                         const struct pdl_folding *folding, struct pdl_instruction *call);

#endif /* PDL_INSPECT_TARGETS_H */
