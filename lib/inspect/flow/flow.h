/* SPDX-License-Identifier: MIT */
/* The forward data-flow of waits and triggers over a body's graph. */
#ifndef PDL_INSPECT_FLOW_H
#define PDL_INSPECT_FLOW_H

#include "inspect/flow/conditions.h"
#include "inspect/flow/dominators.h"
#include "inspect/flow/mbarrier.h"
#include "inspect/flow/summary.h"

/* Whether threads have triggered. */
enum { PDL_NOT_TRIGGERED = 1, PDL_TRIGGERED = 2 };

/* An edge on which a branch leads around a wait that its other way comes to. */
struct pdl_decision {
    uint32_t block;
    uint32_t edge; /* of the block's successors; their number means the exit of a guarded ret */
    uint8_t divergence;
    uint8_t depends; /* PDL_DEPENDS_… of its condition */
    uint64_t need;   /* of those that go around: PDL_NEED_… by barrier */
    uint8_t sure;    /* PDL_SURE_…: such a thread takes another edge of the block, and waits */
    bool never;      /* no wait can be reached from there */
    bool call;       /* the branch is in the function that the block calls */
    bool reached;    /* by threads that have not waited */
    bool launch;     /* a flag of the launch makes it, see switches.c */
    bool data;       /* it depends on what is loaded from memory */
    uint32_t flag;   /* of `launch`: the parameter that is a number and the flag, + 1; or 0 */
};

/* What holds at a point. */
struct pdl_point {
    uint8_t states;    /* PDL_STATE_…; 0: not reached */
    uint8_t triggers;  /* PDL_NOT_TRIGGERED, PDL_TRIGGERED */
    bool open;         /* threads arrived at the cluster's barrier, and have not waited there */
    uint8_t why;       /* pdl_barrier_why, of `missed` */
    uint32_t missed;   /* the last barrier that did not order threads around the wait, + 1; 0 */
    uint32_t decision; /* the last one on the way without a wait, + 1; 0 for none */
    uint64_t need;     /* of threads around the wait: PDL_NEED_… by barrier */
    uint64_t least;    /* phases completed since the function's entry, at least */
    uint64_t most;     /* arrivals since then, at most */
};

struct pdl_flow {
    const struct pdl_ptx_module *module;
    const struct pdl_body *body;
    const struct pdl_cfg *cfg;
    const struct pdl_values *values;
    struct pdl_conditions conditions;
    struct pdl_point *points; /* by block: at its beginning */
    uint8_t *facts;           /* by block: PDL_BLOCK_… */
    uint8_t *closed;          /* by successor: PDL_CLOSED_…, as far as the conditions tell */
    uint32_t *queue;
    uint8_t *queued;
    struct pdl_decision *decisions;
    uint32_t *decision_of; /* by block: its first decision + 1, or 0; they follow one another */
    size_t point_capacity, fact_capacity, closed_capacity, queue_capacity, queued_capacity;
    uint32_t decision_count;
    size_t decision_capacity, decision_of_capacity;
    struct pdl_shared_values shared;
    struct pdl_mbarriers mbarriers;
    uint8_t *possible;  /* by successor: those that have not waited may take that edge */
    uint8_t *taken;     /* by successor: those that have not waited take that edge undecided */
    uint8_t *reach;     /* by block: states, whatever barriers do */
    uint64_t *ahead;    /* by block: arrivals before the wait that is next, as barriers.c says */
    uint32_t *meets;    /* by block: bit by barrier that is arrived at from there on */
    uint32_t *barriers; /* by instruction that is on one: bit by barrier */
    size_t barrier_capacity, taken_capacity, reach_capacity, ahead_capacity, meet_capacity;
    uint32_t chained; /* bit by barrier: those whom another one ordered come to it first */
    struct pdl_dominators behind; /* backward, where barriers may order */
    uint8_t sure;         /* PDL_SURE_…: such a thread waits in the function, once it is in it */
    bool relaxed;         /* some arrivals at the cluster's barrier order nothing */
    uint32_t threads;     /* of a block, at most; 0 if the kernel does not say it */
    bool counted;         /* the function has barriers */
    bool one_warp;        /* all threads of a block are in one warp */
    bool waits;           /* a wait is in the body, or in what it calls, and can be reached */
    bool switched;        /* flags of the launch are taken for set */
    uint8_t *behind_wait; /* by block: a wait can come before it; valid if some call is unknown */
    size_t behind_wait_capacity;
    bool special; /* the function is called with constants; set it first */
    size_t possible_capacity;
    bool narrowed; /* `possible` is known */
};

enum {
    PDL_BLOCK_MAY_WAIT = 1,    /* a wait can be reached from its beginning */
    PDL_BLOCK_MAY_NOT_WAIT = 2 /* so can an exit, without a wait */
};

/* Who cannot take an edge. */
enum { PDL_CLOSED_NOT_WAITED = 1, PDL_CLOSED_WAITED = 2 };

/* Runs the flow, entered unwaited. The arrays are used again. */
void pdl_flow_run(struct pdl_flow *flow, const struct pdl_ptx_module *module,
                  const struct pdl_body *body, const struct pdl_cfg *cfg,
                  const struct pdl_values *values);

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

/* Whether threads that have not waited may take one of the cfg's successors, once the flow has run. */
static inline bool pdl_flow_may_go(const struct pdl_flow *flow, uint32_t successor)
{
    return (flow->closed[successor] & PDL_CLOSED_NOT_WAITED) == 0;
}

/* Whether threads that have not waited may leave through the ret at the end of a block, as far as its
 * guard is known. */
bool pdl_flow_may_exit(const struct pdl_flow *flow, uint32_t block);

/* Whether threads that have not waited, of whom something is known, may execute an instruction that may
 * have a guard. */
bool pdl_flow_executes(const struct pdl_flow *flow, const struct pdl_instruction *instruction,
                       const struct pdl_tracked *known);

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

/* Finds the branches that lead around a wait. */
void pdl_flow_find_decisions(struct pdl_flow *flow);

/* What the condition of a block's branch depends on. */
uint8_t pdl_flow_branch_depends(const struct pdl_flow *flow, const struct pdl_block *block);

/* Between what a branch decides whose condition depends on PDL_DEPENDS_…. */
uint8_t pdl_flow_divergence_of(const struct pdl_flow *flow, uint8_t depends);

/* The one of two decisions, + 1 or 0, that weighs more: by divergence, then the later one. */
uint32_t pdl_flow_heavier(const struct pdl_flow *flow, uint32_t a, uint32_t b);

/* ---- barriers (barriers.c) ---------------------------------------------------------------------- */

/* Starts without knowing anything of barriers: none orders. */
void pdl_flow_start_barriers(struct pdl_flow *flow);

/* Counts the arrivals between the decisions and the waits, once it is known who goes where; true if the
 * flow has to be run again for it. */
bool pdl_flow_count_barriers(struct pdl_flow *flow);

/* Finds the barriers by which threads order others that a barrier has ordered before, now that it is
 * known who they are; true if the flow has to be run again for it. */
bool pdl_flow_chain_barriers(struct pdl_flow *flow);

/* What barriers are to those that have not waited and take a decision; undecided: for the first time. */
void pdl_flow_decide_needs(const struct pdl_flow *flow, uint32_t decision, bool undecided,
                           struct pdl_point *point);

/* Threads around the wait pass so many phases of barriers. */
void pdl_flow_pass_phases(const struct pdl_flow *flow, uint64_t phases, struct pdl_point *point);

/* The same for the barriers of a function that is called, and what is counted up. */
void pdl_flow_enter_call(const struct pdl_flow *flow, const struct pdl_summary *summary,
                         uint32_t block, struct pdl_point *point);

/* What holds for those who have gone around the wait in a function; `around`: there are such. */
void pdl_flow_leave_call(const struct pdl_flow *flow, uint32_t block, bool around,
                         struct pdl_point *point);

/* What the barriers of a function are to its callers. */
void pdl_flow_summarize_barriers(const struct pdl_flow *flow, struct pdl_summary *summary);

/* Threads wait on an mbarrier, or have by the branch that is taken. */
void pdl_flow_await(const struct pdl_flow *flow, uint32_t instruction, struct pdl_point *point);
void pdl_flow_awaited(const struct pdl_mbarrier_operation *wait, struct pdl_point *point);

/* They go around a loop that waits on an mbarrier, which has no turn. */
void pdl_flow_presume(const struct pdl_mbarrier_operation *wait, struct pdl_point *point);

/* ---- threads that every block has (sure.c) ------------------------------------------------------ */

/* Threads that every block, or the last of them every cluster, has. A block of one thread has no use for barriers. */
enum {
    PDL_SURE_FIRST = 1,   /* thread 0 */
    PDL_SURE_OTHERS = 2,  /* those behind it in the first dimension */
    PDL_SURE_ELECTED = 4, /* the one of the first warp that elect.sync chooses */
    PDL_SURE_RANK = 8,    /* thread 0 of the cluster's block 0 */
    PDL_SURE_IN_BLOCK = PDL_SURE_FIRST | PDL_SURE_OTHERS | PDL_SURE_ELECTED
};

/* Finds which of them surely wait, and at which decisions they do not go around the wait; false if there is no
 * memory. */
void pdl_flow_find_sure(struct pdl_flow *flow);

/* ---- mbarriers (mbarriers.c) -------------------------------------------------------------------- */

/* Finds the operations on mbarriers in the body. */
void pdl_mbarriers_find(struct pdl_mbarriers *mbarriers, struct pdl_flow *flow);

/* Judges the waits by who arrives, as far as the flow is known; true if one is judged otherwise than
 * before, and the flow has to be run again. */
bool pdl_mbarriers_judge(struct pdl_mbarriers *mbarriers, const struct pdl_flow *flow);

/* The operation of an instruction, or NULL. */
struct pdl_mbarrier_operation *pdl_mbarriers_at(const struct pdl_mbarriers *mbarriers,
                                                uint32_t instruction);

/* Finds the branches around waits that are in loops without a turn (turns.c). */
void pdl_mbarriers_find_turns(struct pdl_mbarriers *mbarriers, const struct pdl_flow *flow);

/* Hands its operations over to the callers of a function. */
void pdl_mbarriers_summarize(const struct pdl_mbarriers *mbarriers, struct pdl_flow *flow,
                             struct pdl_arena *arena, struct pdl_summary *summary);

/* The operand of an operation on an mbarrier in a slot that is no address, or NULL. */
const struct pdl_operand *pdl_mbarrier_operand(const struct pdl_flow *flow, uint32_t instruction,
                                               unsigned slot);

/* Finds the parities of the first waits on the mbarriers of a place (first.c). */
void pdl_first_parities(struct pdl_mbarriers *mbarriers, const struct pdl_flow *flow,
                        uint32_t place);

/* ---- calls (calls.c) ---------------------------------------------------------------------------- */

/* Finds where code that is not here may be what waits. */
void pdl_flow_find_unknown(struct pdl_flow *flow);

/* States of a function that a block calls, as they are there: PDL_STATE_CALLED only if what is not here
 * may be what waits. */
uint8_t pdl_flow_states_of_callee(const struct pdl_flow *flow, uint8_t states, uint32_t block);

/* What holds behind the call that ends a block. */
void pdl_flow_pass_call(const struct pdl_flow *flow, uint32_t block, struct pdl_point *point);

/* ---- flags of the launch (switches.c) ----------------------------------------------------------- */

/* Finds the decisions of a kernel that a flag of its launch makes (`launch`), and has the flow run with
 * these flags set. */
void pdl_flow_find_switches(struct pdl_flow *flow);

#endif /* PDL_INSPECT_FLOW_H */
