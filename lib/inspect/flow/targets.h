/* SPDX-License-Identifier: MIT */
/* What an indirect call may call, and what all of that does together. */
#ifndef PDL_INSPECT_TARGETS_H
#define PDL_INSPECT_TARGETS_H

#include "inspect/flow/summary.h"
#include "inspect/flow/values.h"

struct pdl_joined;

/* The summaries that were joined, by prototype. */
struct pdl_targets {
    struct pdl_joined *joined;
    size_t joined_capacity;
    uint32_t round; /* summaries that were not final in an earlier one are joined anew */
};

/* Finds what an indirect call calls: the functions that it names, the one whose address the register holds, or else all
 * of its prototype whose address is taken. Sets `called` and `called_is` of the instruction. The load of its pointer from a
 * variable with addresses is no read of memory any more. */
void pdl_targets_resolve(struct pdl_targets *targets, struct pdl_ptx_module *module,
                         struct pdl_body *body, const struct pdl_values *values,
                         struct pdl_instruction *call);

#endif /* PDL_INSPECT_TARGETS_H */
