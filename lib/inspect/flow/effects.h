/* SPDX-License-Identifier: MIT */
/* What a body does to memory, and in which state: collected over the flow. */
#ifndef PDL_INSPECT_EFFECTS_H
#define PDL_INSPECT_EFFECTS_H

#include "inspect/flow/flow.h"

/* Something else that a rule may speak of, at an instruction. */
struct pdl_mention {
    const struct pdl_instruction *instruction; /* NULL: none */
    uint32_t count;
};

struct pdl_effects {
    struct pdl_effect *effects;
    uint32_t *decisions; /* by effect: that of its own body, + 1, or 0 */
    uint32_t *slots;     /* a table of the effects by what makes them one */
    uint32_t effect_count;
    size_t effect_capacity, decision_capacity;
    uint32_t slot_count;
    struct pdl_mention trigger_before_wait, trigger, wait, wait_in_loop;
    uint8_t out;           /* states at the exits */
    uint8_t triggers_out;  /* PDL_NOT_TRIGGERED, PDL_TRIGGERED at the exits */
    uint32_t out_decision; /* + 1, or 0 */
    bool *touched;         /* by decision: memory is accessed, or a trigger executed, after it */
    size_t touched_capacity;
    uint32_t unknown_name; /* of the first call that cannot be read; PDL_NONE through a pointer */
    bool barriers, unknown, cut;
    bool touches; /* global memory, in whatever state */
};

/* Collects the effects of a body. The arrays are used again. At most `limit` effects are kept. */
void pdl_effects_collect(struct pdl_effects *effects, struct pdl_ptx_module *module,
                         struct pdl_flow *flow, uint32_t limit);

/* Whether an address is in a table that the module alone knows. Compilers load from such a variable
 * without coherence only if nothing writes it. */
bool pdl_effects_in_own_table(const struct pdl_ptx_module *module, const struct pdl_value *address);

/* How many effects a summary keeps: fewer, once a text has had very many. */
uint32_t pdl_summary_limit(const struct pdl_ptx_module *module);

/* A summary of them for callers, in the module's arena: over `before`, the one of an earlier round, or
 * a new one where that is NULL. */
struct pdl_summary *pdl_effects_summary(const struct pdl_effects *effects,
                                        struct pdl_ptx_module *module, struct pdl_flow *flow,
                                        struct pdl_summary *before);

/* Whether two summaries say the same, as far as callers are concerned. */
bool pdl_summary_same(const struct pdl_summary *a, const struct pdl_summary *b);

#endif /* PDL_INSPECT_EFFECTS_H */
