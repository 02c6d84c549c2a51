/* SPDX-License-Identifier: MIT */
/* What a wait on an mbarrier waits for the first time: what is known on the paths that have not yet
 * waited on it. */
#include <string.h>

#include "inspect/flow/flow.h"

/* Larger bodies do without. */
#define BLOCKS_MAX 50000u

struct first {
    const struct pdl_flow *flow;
    struct pdl_mbarriers *mbarriers;
    struct pdl_conditions *conditions;
    uint32_t place;
    uint8_t *state;  /* by block: REACHED, QUEUED */
    uint32_t *stack; /* both are the flow's, which does not run */
    uint32_t depth;
};

enum { REACHED = 1, QUEUED = 2 };

static void reach(struct first *first, uint32_t block)
{
    if (!(first->state[block] & QUEUED)) {
        first->stack[first->depth++] = block;
    }
    first->state[block] = REACHED | QUEUED;
}

static uint8_t parity_of(const struct first *first, const struct pdl_mbarrier_operation *wait,
                         const struct pdl_tracked *known)
{
    const struct pdl_operand *wanted = wait->wanted;
    struct pdl_range range = pdl_range_all();
    if (wait->constant != PDL_PARITY_UNKNOWN) {
        return wait->constant & 1;
    }
    if (wanted != NULL && wanted->kind == PDL_OPERAND_NUMBER) {
        range = pdl_range_value(wanted->value);
    } else if (wanted != NULL && wanted->kind == PDL_OPERAND_SYMBOL && !wanted->memory &&
               wanted->value == 0) {
        range = pdl_conditions_range(first->conditions, known, wanted->symbol);
    }
    return pdl_range_is_value(&range) ? (uint8_t)(range.low & 1) : (uint8_t)PDL_PARITY_UNKNOWN;
}

/* The wait is come to for the first time. */
static void await(const struct first *first, struct pdl_mbarrier_operation *wait,
                  const struct pdl_tracked *known)
{
    const uint8_t parity = parity_of(first, wait, known);
    /* That it returns at once on one way, as at a producer's start, is not undone by another way where
     * nothing is known, as behind a loop without a turn. */
    const bool passes = wait->parity == 1 && parity == PDL_PARITY_UNKNOWN;
    if (!passes) {
        wait->parity = wait->parity == PDL_PARITY_LATER || wait->parity == parity
                           ? parity
                           : (uint8_t)PDL_PARITY_UNKNOWN;
    }
}

/* Whether a path goes on behind the instructions of a block; *known is what holds there. */
static bool walk(const struct first *first, uint32_t index, struct pdl_tracked *known)
{
    const struct pdl_block *block = &first->flow->cfg->blocks[index];
    const uint32_t end = block->first + block->count;
    uint32_t done = block->first;
    for (uint32_t i = block->first; i < end; i++) {
        const struct pdl_instruction *at = &first->flow->body->instructions[i];
        if (at->opcode.op == PDL_OP_WAIT && at->guard == PDL_NONE) {
            return false;
        }
        if (at->opcode.op == PDL_OP_BARRIER_MEMORY || at->opcode.op == PDL_OP_CALL) {
            struct pdl_mbarrier_operation *wait = pdl_mbarriers_at(first->mbarriers, i);
            const struct pdl_mbarrier_operation *last =
                first->mbarriers->operations + first->mbarriers->count;
            bool passed = false;
            pdl_conditions_step(first->conditions, done, i - done, known);
            done = i;
            for (; wait != NULL && wait < last && wait->instruction == i; wait++) {
                if (wait->place == first->place && wait->kind == PDL_MBARRIER_WAIT && wait->used) {
                    await(first, wait, known);
                    passed = passed || !wait->on_edge;
                }
            }
            if (passed) {
                return false;
            }
        }
    }
    pdl_conditions_step(first->conditions, done, end - done, known);
    return true;
}

/* What is known if a path goes on over an edge, in *room or as it was; NULL if it does not. */
static const struct pdl_tracked *take(const struct first *first, uint32_t index, uint32_t edge,
                                      const struct pdl_tracked *known, struct pdl_tracked *room)
{
    const struct pdl_flow *flow = first->flow;
    const uint32_t to = flow->cfg->successors[flow->cfg->blocks[index].first_successor + edge];
    const uint32_t wait = flow->mbarriers.edge_of[index];
    const bool waited = wait != 0 && flow->mbarriers.operations[wait - 1].place == first->place &&
                        flow->mbarriers.success[index] == edge;
    return (flow->reach[to] & PDL_STATE_NOT_WAITED) != 0 && !waited
               ? pdl_conditions_take(first->conditions, index, edge, known, room)
               : NULL;
}

static void run(struct first *first)
{
    reach(first, 0);
    while (first->depth > 0) {
        const uint32_t index = first->stack[--first->depth];
        const struct pdl_block *block = &first->flow->cfg->blocks[index];
        struct pdl_tracked known;
        first->state[index] = REACHED;
        pdl_conditions_at(first->conditions, index, &known);
        if (!walk(first, index, &known)) {
            continue;
        }
        for (uint32_t i = 0; i < block->successor_count; i++) {
            const uint32_t to = first->flow->cfg->successors[block->first_successor + i];
            struct pdl_tracked room;
            const struct pdl_tracked *there = take(first, index, i, &known, &room);
            if (there != NULL && (pdl_conditions_join(first->conditions, to, there) ||
                                  !(first->state[to] & REACHED))) {
                reach(first, to);
            }
        }
    }
}

/* Tracks what the waits of the place wait for; false if that is too much. */
static bool start(struct first *first)
{
    const struct pdl_flow *flow = first->flow;
    if (flow->cfg->block_count > BLOCKS_MAX) {
        return false;
    }
    pdl_conditions_start(first->conditions, flow->module, flow->body, flow->cfg, flow->values);
    for (uint32_t i = 0; i < first->mbarriers->count; i++) {
        const struct pdl_mbarrier_operation *wait = &first->mbarriers->operations[i];
        if (wait->place == first->place && wait->kind == PDL_MBARRIER_WAIT &&
            wait->wanted != NULL && wait->wanted->kind == PDL_OPERAND_SYMBOL) {
            pdl_conditions_track(first->conditions, wait->wanted->symbol);
        }
    }
    pdl_conditions_ready(first->conditions, false);
    return true;
}

void pdl_first_parities(struct pdl_mbarriers *mbarriers, const struct pdl_flow *flow,
                        uint32_t place)
{
    struct first first = {.flow = flow,
                          .mbarriers = mbarriers,
                          .conditions = &mbarriers->conditions,
                          .place = place,
                          .state = flow->queued,
                          .stack = flow->queue};
    const bool started = start(&first);
    for (uint32_t i = 0; i < mbarriers->count; i++) {
        struct pdl_mbarrier_operation *wait = &mbarriers->operations[i];
        if (wait->place == place && wait->kind == PDL_MBARRIER_WAIT) {
            wait->parity = started ? (uint8_t)PDL_PARITY_LATER : (uint8_t)PDL_PARITY_UNKNOWN;
        }
    }
    if (started) {
        run(&first);
        memset(first.state, 0, flow->cfg->block_count);
    }
}
