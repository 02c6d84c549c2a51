/* SPDX-License-Identifier: MIT */
/* The forward data-flow of waits and triggers over a body's graph. */
#ifndef PDL_INSPECT_FLOW_H
#define PDL_INSPECT_FLOW_H

#include "inspect/flow/conditions.h"
#include "inspect/flow/summary.h"

/* Whether threads have triggered. */
enum { PDL_NOT_TRIGGERED = 1, PDL_TRIGGERED = 2 };

/* An edge on which a branch leads around a wait that its other way comes to. */
struct pdl_decision {
    uint32_t block;
    uint32_t edge; /* of the block's successors; their number means the exit of a guarded ret */
    uint8_t divergence;
    bool never;   /* no wait can be reached from there */
    bool call;    /* the branch is in the function that the block calls */
    bool reached; /* by threads that have not waited */
};

/* What holds at a point. */
struct pdl_point {
    uint8_t states;    /* PDL_STATE_…; 0: not reached */
    uint8_t triggers;  /* PDL_NOT_TRIGGERED, PDL_TRIGGERED */
    uint32_t decision; /* the last one on the way without a wait, + 1; 0 for none */
};

struct pdl_flow {
    const struct pdl_ptx_module *module;
    const struct pdl_body *body;
    const struct pdl_cfg *cfg;
    const struct pdl_values *values;
    struct pdl_conditions conditions;
    struct pdl_point *points; /* by block: at its beginning */
    uint8_t *facts;           /* by block: PDL_BLOCK_… */
    uint32_t *queue;
    uint8_t *queued;
    struct pdl_decision *decisions;
    uint32_t *decision_of; /* by block: its first decision + 1, or 0; they follow one another */
    size_t point_capacity, fact_capacity, queue_capacity, queued_capacity;
    uint32_t decision_count;
    size_t decision_capacity, decision_of_capacity;
    uint32_t barriers; /* bit by number: those that threads who waited come to */
    bool waits;        /* a wait is in the body, or in what it calls, and can be reached */
};

enum {
    PDL_BLOCK_MAY_WAIT = 1,    /* a wait can be reached from its beginning */
    PDL_BLOCK_MAY_NOT_WAIT = 2 /* so can an exit, without a wait */
};

/* Runs the flow, entered unwaited. The arrays are used again. */
pdl_status pdl_flow_run(struct pdl_flow *flow, const struct pdl_ptx_module *module,
                        const struct pdl_body *body, const struct pdl_cfg *cfg,
                        const struct pdl_values *values);
void pdl_flow_free(struct pdl_flow *flow);

/* What holds behind an instruction that is not the last of its block. */
void pdl_flow_step(const struct pdl_flow *flow, const struct pdl_instruction *instruction,
                   struct pdl_point *point);

/* Whether every path from the beginning of a block waits. */
static inline bool pdl_flow_waits_later(const struct pdl_flow *flow, uint32_t block)
{
    return flow->facts[block] == PDL_BLOCK_MAY_WAIT;
}

/* The same behind the last instruction of a block. */
bool pdl_flow_waits_behind(const struct pdl_flow *flow, uint32_t block);

/* What holds behind a block, before its branch. */
struct pdl_point pdl_flow_behind(const struct pdl_flow *flow, uint32_t index);

/* Whether threads that have not waited may leave through the ret at the end of a block, as far as its
 * guard is known. */
bool pdl_flow_may_exit(const struct pdl_flow *flow, uint32_t block);

/* The decision of an edge of a block, one of its successors or, one more, the exit of a guarded ret;
 * + 1, or 0. */
uint32_t pdl_flow_decision_at(const struct pdl_flow *flow, uint32_t block, uint32_t edge);

/* Takes threads that have not waited over a decision, which they reach. */
void pdl_flow_decide(struct pdl_flow *flow, uint32_t decision, struct pdl_point *point);

/* The last instruction of a block, or NULL. */
const struct pdl_instruction *pdl_flow_last(const struct pdl_flow *flow, uint32_t block);

/* What a branch in a function that is called comes to, where it is called. */
uint8_t pdl_flow_divergence_at_call(const struct pdl_flow *flow, const struct pdl_instruction *call,
                                    uint8_t divergence);

/* The summary of what is called; NULL if it cannot be read. *harmless: it is known not to touch the
 * program's memory. */
const struct pdl_summary *pdl_flow_callee(const struct pdl_ptx_module *module,
                                          const struct pdl_instruction *call, bool *harmless);

/* ---- the parts that the flow is made of --------------------------------------------------------- */

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

#endif /* PDL_INSPECT_FLOW_H */
