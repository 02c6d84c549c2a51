/* SPDX-License-Identifier: MIT */
/* What calls do to waits and triggers. */
#include "code/system.h"
#include "inspect/flow/flow.h"

const struct pdl_summary *pdl_flow_callee(const struct pdl_ptx_module *module,
                                          const struct pdl_instruction *call, bool *harmless)
{
    *harmless = false;
    if (call->callee == PDL_NONE) {
        return NULL;
    }
    const struct pdl_ptx_function *callee = pdl_ptx_function_find(module, call->callee);
    if (callee != NULL && callee->summary != NULL) {
        return callee->summary;
    }
    const struct pdl_name *name = &module->names.names[call->callee];
    *harmless = pdl_code_is_system(name->text, name->length);
    return NULL;
}

uint8_t pdl_flow_divergence_at_call(const struct pdl_flow *flow, const struct pdl_instruction *call,
                                    uint8_t divergence)
{
    return divergence == PDL_DIVERGENCE_CALLER
               ? pdl_flow_divergence_of(flow, pdl_arguments_depend(flow->values, flow->body, call))
               : divergence;
}

/* What holds behind a call of a function that was analysed. */
void pdl_flow_pass_call(const struct pdl_flow *flow, const struct pdl_summary *summary,
                        uint32_t block, struct pdl_point *point)
{
    pdl_flow_enter_call(flow, summary, block, point);
    const uint8_t in = point->states & PDL_STATE_NOT_WAITED;
    const uint8_t out = summary->out;
    uint8_t states = point->states & PDL_STATE_WAITED;
    if (out == 0) {
        point->states = 0;
        return;
    }
    if (in != 0) {
        if (out & PDL_STATE_UNWAITED) {
            states |= in;
        }
        if (out & PDL_STATE_DECIDED) {
            states |= (in & PDL_STATE_UNWAITED) != 0
                          ? (in & ~PDL_STATE_UNWAITED) | PDL_STATE_DECIDED
                          : in;
        }
        states |= out & (PDL_STATE_MBARRIER | PDL_STATE_BARRIER | PDL_STATE_WAITED);
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
