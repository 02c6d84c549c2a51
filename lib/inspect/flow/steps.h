/* SPDX-License-Identifier: MIT */
/* The parts that the flow is made of: decisions, barriers, calls. */
#ifndef PDL_INSPECT_STEPS_H
#define PDL_INSPECT_STEPS_H

#include "inspect/flow/flow.h"

/* States with those of `from` made `to`. */
static inline uint8_t pdl_change_states(uint8_t states, uint8_t from, uint8_t to)
{
    return (states & from) != 0 ? (uint8_t)((states & ~from) | to) : states;
}

/* ---- decisions (decisions.c) -------------------------------------------------------------------- */

/* Finds the facts of all blocks. */
void pdl_flow_find_facts(struct pdl_flow *flow);

/* Finds the branches that lead around a wait; false if there is no memory. */
bool pdl_flow_find_decisions(struct pdl_flow *flow);

/* Between what a branch decides whose condition depends on PDL_DEPENDS_…. */
uint8_t pdl_flow_divergence_of(const struct pdl_flow *flow, uint8_t depends);

/* The one of two decisions, + 1 or 0, that weighs more: by divergence, then the later one. */
uint32_t pdl_flow_heavier(const struct pdl_flow *flow, uint32_t a, uint32_t b);

/* ---- barriers (barriers.c) ---------------------------------------------------------------------- */

/* The barriers of the block that threads who waited come to, or arrive at. All, if a function that is
 * called has some. */
uint32_t pdl_flow_barriers_of_waiters(const struct pdl_flow *flow);

/* ---- calls (calls.c) ---------------------------------------------------------------------------- */

/* What holds behind a call of a function that was analysed. */
void pdl_flow_pass_call(const struct pdl_flow *flow, const struct pdl_summary *summary,
                        uint32_t block, struct pdl_point *point);

#endif /* PDL_INSPECT_STEPS_H */
