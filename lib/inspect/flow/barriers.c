/* SPDX-License-Identifier: MIT */
/* What barriers do for threads that have not waited. */
#include "inspect/flow/flow.h"

/* The bit of a barrier's number; all bits if it is computed. Hardware has 16. */
static uint32_t barrier_number(const struct pdl_flow *flow,
                               const struct pdl_instruction *instruction)
{
    if (instruction->operand_count == 0) {
        return UINT32_MAX;
    }
    const struct pdl_operand *operand = &flow->body->operands[instruction->first_operand];
    if (operand->kind != PDL_OPERAND_NUMBER || operand->value < 0 || operand->value > 15) {
        return UINT32_MAX;
    }
    return 1u << operand->value;
}

void pdl_flow_step(const struct pdl_flow *flow, const struct pdl_instruction *instruction,
                   struct pdl_point *point)
{
    const uint8_t divergence = point->decision != 0
                                   ? flow->decisions[point->decision - 1].divergence
                                   : (uint8_t)PDL_DIVERGENCE_NONE;
    switch (instruction->opcode.op) {
    case PDL_OP_BARRIER_BLOCK:
        if (!(flow->barriers & barrier_number(flow, instruction))) {
            break; /* nobody who waited comes there */
        }
        if (divergence >= PDL_DIVERGENCE_CALLER) {
            point->states = pdl_change_states(point->states, PDL_STATE_DECIDED | PDL_STATE_MBARRIER,
                                              PDL_STATE_BARRIER);
        }
        break;
    case PDL_OP_BARRIER_CLUSTER:
        if (divergence != PDL_DIVERGENCE_NONE) {
            point->states = pdl_change_states(point->states, PDL_STATE_DECIDED | PDL_STATE_MBARRIER,
                                              PDL_STATE_BARRIER);
        }
        break;
    case PDL_OP_BARRIER_MEMORY:
        if (divergence != PDL_DIVERGENCE_NONE) {
            point->states = pdl_change_states(point->states, PDL_STATE_DECIDED, PDL_STATE_MBARRIER);
        }
        break;
    default:
        break;
    }
}

/* The barriers of the block that threads who waited come to, or arrive at. All, if a function that is
 * called has some. */
uint32_t pdl_flow_barriers_of_waiters(const struct pdl_flow *flow)
{
    uint32_t barriers = 0;
    bool harmless;
    for (uint32_t i = 0; i < flow->cfg->block_count && barriers != UINT32_MAX; i++) {
        const struct pdl_block *block = &flow->cfg->blocks[i];
        if (!(flow->points[i].states & PDL_STATE_WAITED)) {
            continue;
        }
        for (uint32_t j = 0; j < block->count; j++) {
            const struct pdl_instruction *at = &flow->body->instructions[block->first + j];
            if (at->opcode.op == PDL_OP_BARRIER_BLOCK || at->opcode.op == PDL_OP_BARRIER_ARRIVE) {
                barriers |= barrier_number(flow, at);
            } else if (at->opcode.op == PDL_OP_CALL) {
                const struct pdl_summary *summary = pdl_flow_callee(flow->module, at, &harmless);
                if (summary != NULL ? summary->barriers : !harmless) {
                    barriers = UINT32_MAX;
                }
            }
        }
    }
    return barriers;
}
