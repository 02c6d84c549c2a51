/* SPDX-License-Identifier: MIT */
/* What calls do to waits and triggers. */
#include <string.h>

#include "inspect/flow/flow.h"

const struct pdl_summary *pdl_flow_callee(const struct pdl_ptx_module *module,
                                          const struct pdl_instruction *call, bool *harmless)
{
    (void)module;
    *harmless = (call->called_is & PDL_CALLED_HARMLESS) != 0;
    return call->called;
}

uint8_t pdl_flow_divergence_at_call(const struct pdl_flow *flow, const struct pdl_instruction *call,
                                    uint8_t divergence)
{
    if (divergence == PDL_DIVERGENCE_CALLER) {
        divergence =
            pdl_flow_divergence_of(flow, pdl_arguments_depend(flow->values, flow->body, call));
    }
    if (call->callee == PDL_NONE && call->target != PDL_NONE) { /* the pointer decides as well */
        const struct pdl_operand target = {.kind = PDL_OPERAND_SYMBOL, .symbol = call->target};
        const uint8_t of_target = pdl_flow_divergence_of(
            flow, pdl_operand_value(flow->values, flow->body, &target).depends);
        divergence = of_target > divergence ? of_target : divergence;
    }
    return divergence;
}

/* ---- code that is not here ------------------------------------------------------------------------ */

/* Whether what a block calls may wait without that anything says so. */
static bool calls_unknown(const struct pdl_flow *flow, uint32_t block)
{
    const struct pdl_instruction *last = pdl_flow_last(flow, block);
    if (last == NULL || last->opcode.op != PDL_OP_CALL) {
        return false;
    }
    return last->called != NULL ? (last->called->out & PDL_STATE_CALLED) != 0
                                : (last->called_is & PDL_CALLED_NEVER_WAITS) == 0;
}

/* Whether some path through the end of a block waits there. */
static bool waits_here(const struct pdl_flow *flow, uint32_t block)
{
    const struct pdl_instruction *last = pdl_flow_last(flow, block);
    return last != NULL &&
           (last->opcode.op == PDL_OP_WAIT ||
            (last->opcode.op == PDL_OP_CALL && last->called != NULL && last->called->waits));
}

/* Marks what comes behind a block, and queues what was not marked before. */
static void mark_behind(struct pdl_flow *flow, uint32_t block, uint32_t *queued)
{
    const struct pdl_block *at = &flow->cfg->blocks[block];
    for (uint32_t i = 0; i < at->successor_count; i++) {
        const uint32_t to = flow->cfg->successors[at->first_successor + i];
        if (!flow->behind_wait[to]) {
            flow->behind_wait[to] = 1;
            flow->queue[(*queued)++] = to;
        }
    }
}

void pdl_flow_find_unknown(struct pdl_flow *flow)
{
    const uint32_t count = flow->cfg->block_count;
    uint32_t queued = 0;
    bool some = false;
    for (uint32_t i = 0; i < count && !some; i++) {
        some = calls_unknown(flow, i);
    }
    if (!some) {
        return;
    }
    PDL_RESERVE(flow->behind_wait, count, flow->behind_wait_capacity);
    memset(flow->behind_wait, 0, count);
    for (uint32_t i = 0; i < count; i++) {
        if (waits_here(flow, i)) {
            mark_behind(flow, i, &queued);
        }
    }
    while (queued > 0) {
        mark_behind(flow, flow->queue[--queued], &queued);
    }
}

/* Whether code that a block calls and that is not here may be what waits: no wait can be reached
 * behind it, and no other way to it has one. A function that waits itself does not leave that to
 * others. */
static bool may_be_the_wait(const struct pdl_flow *flow, uint32_t block)
{
    const struct pdl_block *at = &flow->cfg->blocks[block];
    bool may = !flow->behind_wait[block];
    for (uint32_t i = 0; i < at->successor_count && may; i++) {
        may = !(flow->facts[flow->cfg->successors[at->first_successor + i]] & PDL_BLOCK_MAY_WAIT);
    }
    return may;
}

uint8_t pdl_flow_states_of_callee(const struct pdl_flow *flow, uint8_t states, uint32_t block)
{
    if ((states & PDL_STATE_CALLED) && !may_be_the_wait(flow, block)) {
        states = (uint8_t)((states & ~PDL_STATE_CALLED) | PDL_STATE_UNWAITED);
    }
    return states;
}

/* ---- the flow ------------------------------------------------------------------------------------- */

void pdl_flow_pass_call(const struct pdl_flow *flow, uint32_t block, struct pdl_point *point)
{
    const struct pdl_instruction *call = pdl_flow_last(flow, block);
    const struct pdl_summary *summary = call->called;
    if (summary == NULL) {
        if (calls_unknown(flow, block) && may_be_the_wait(flow, block)) {
            point->states = pdl_change_states(
                point->states, PDL_STATE_UNWAITED | PDL_STATE_DECIDED | PDL_STATE_MBARRIER,
                PDL_STATE_CALLED);
        }
        return;
    }
    pdl_flow_enter_call(flow, summary, block, point);
    if (summary->out == 0) {
        point->states = 0;
        return;
    }
    const uint8_t in = point->states & PDL_STATE_NOT_WAITED;
    const uint8_t out = pdl_flow_states_of_callee(flow, summary->out, block);
    uint8_t states = point->states & PDL_STATE_WAITED;
    if (in != 0) {
        if (out & PDL_STATE_UNWAITED) {
            states |= in;
        }
        if (out & PDL_STATE_DECIDED) {
            states |= (in & PDL_STATE_UNWAITED) != 0
                          ? (in & ~PDL_STATE_UNWAITED) | PDL_STATE_DECIDED
                          : in;
        }
        states |=
            out & (PDL_STATE_MBARRIER | PDL_STATE_BARRIER | PDL_STATE_WAITED | PDL_STATE_CALLED);
        if ((out & ~PDL_STATE_UNWAITED) != PDL_STATE_WAITED && flow->decision_of[block] != 0) {
            flow->decisions[flow->decision_of[block] - 1].reached = true;
            point->decision = pdl_flow_heavier(flow, point->decision, flow->decision_of[block]);
        }
    }
    point->states = states;
    pdl_flow_leave_call(flow, block,
                        (in & PDL_STATE_UNWAITED) != 0 &&
                            (out & (PDL_STATE_DECIDED | PDL_STATE_MBARRIER)) != 0,
                        point);
    if (summary->triggers) {
        point->triggers =
            summary->triggers_always ? PDL_TRIGGERED : (uint8_t)(point->triggers | PDL_TRIGGERED);
    }
}
