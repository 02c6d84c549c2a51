/* SPDX-License-Identifier: MIT */
#include "inspect/flow/flow.h"

#include <string.h>

/* Barriers in a row, by which threads that waited order others. */
#define ROUNDS_MAX 8u

const struct pdl_instruction *pdl_flow_last(const struct pdl_flow *flow, uint32_t block)
{
    const struct pdl_block *at = &flow->cfg->blocks[block];
    return at->count > 0 ? &flow->body->instructions[at->first + at->count - 1] : NULL;
}

/* ---- branches --------------------------------------------------------------------------------------- */

/* The register that decides a branch; PDL_NONE if there is none. */
static uint32_t decider(const struct pdl_flow *flow, const struct pdl_block *block)
{
    if (block->branch == PDL_NONE) {
        return PDL_NONE;
    }
    const struct pdl_instruction *branch = &flow->body->instructions[block->branch];
    const struct pdl_operand *index = &flow->body->operands[branch->first_operand];
    if (branch->guard == PDL_NONE && branch->opcode.op == PDL_OP_BRANCH_TABLE &&
        branch->operand_count > 0 && index->kind == PDL_OPERAND_SYMBOL) {
        return index->symbol;
    }
    return branch->guard;
}

/* Whether what is known can say who takes an edge of a block. */
static bool asks(const struct pdl_flow *flow, uint32_t block)
{
    const uint32_t symbol =
        flow->conditions.count > 0 ? decider(flow, &flow->cfg->blocks[block]) : PDL_NONE;
    return pdl_tracked_number(&flow->conditions, symbol) != 0;
}

bool pdl_flow_may_exit(const struct pdl_flow *flow, uint32_t block)
{
    const uint32_t exit = flow->cfg->blocks[block].successor_count;
    struct pdl_tracked known, room;
    if (!asks(flow, block)) {
        return true;
    }
    pdl_conditions_behind(&flow->conditions, block, &known);
    return pdl_conditions_take(&flow->conditions, block, exit, &known, &room) != NULL;
}

bool pdl_flow_executes(const struct pdl_flow *flow, const struct pdl_instruction *instruction,
                       const struct pdl_tracked *known)
{
    if (instruction->guard == PDL_NONE || flow->conditions.count == 0) {
        return true;
    }
    struct pdl_tracked room;
    return pdl_conditions_given(&flow->conditions, known, instruction->guard,
                                !instruction->guard_negated, &room) != NULL;
}

/* The registers that decide who goes around a wait, and those of the branches and guards that ask
 * the same. */
static void track_conditions(struct pdl_flow *flow)
{
    for (uint32_t i = 0; i < flow->decision_count; i++) {
        const uint32_t symbol = decider(flow, &flow->cfg->blocks[flow->decisions[i].block]);
        if (symbol != PDL_NONE) {
            pdl_conditions_track(&flow->conditions, symbol);
        }
    }
    for (uint32_t i = 0; i < flow->cfg->block_count && flow->conditions.count > 0; i++) {
        const uint32_t symbol = decider(flow, &flow->cfg->blocks[i]);
        if (symbol != PDL_NONE) {
            pdl_conditions_track_related(&flow->conditions, symbol);
        }
    }
    for (uint32_t i = 0; i < flow->body->instruction_count && flow->conditions.count > 0; i++) {
        const struct pdl_instruction *at = &flow->body->instructions[i];
        if (at->guard != PDL_NONE && (at->opcode.reads || at->opcode.writes)) {
            pdl_conditions_track_related(&flow->conditions, at->guard);
        }
    }
    for (uint32_t i = 0; flow->special && i < flow->cfg->block_count; i++) {
        const uint32_t symbol = decider(flow, &flow->cfg->blocks[i]);
        if (symbol != PDL_NONE) {
            pdl_conditions_track(&flow->conditions, symbol);
        }
    }
}

/* ---- the flow --------------------------------------------------------------------------------------- */

void pdl_flow_decide(struct pdl_flow *flow, uint32_t decision, struct pdl_point *point)
{
    flow->decisions[decision - 1].reached = true;
    pdl_flow_decide_needs(flow, decision, (point->states & PDL_STATE_UNWAITED) != 0, point);
    point->states = pdl_change_states(point->states, PDL_STATE_UNWAITED, PDL_STATE_DECIDED);
}

struct pdl_point pdl_flow_behind(const struct pdl_flow *flow, uint32_t index)
{
    const struct pdl_block *block = &flow->cfg->blocks[index];
    struct pdl_point point = flow->points[index];
    const bool steps = flow->counted || flow->mbarriers.waits;
    for (uint32_t i = 0; i < block->count && steps; i++) {
        pdl_flow_step(flow, &flow->body->instructions[block->first + i], &point);
    }
    const struct pdl_instruction *last = pdl_flow_last(flow, index);
    if (last == NULL) {
        return point;
    }
    if (last->opcode.op == PDL_OP_WAIT) {
        point.states = PDL_STATE_WAITED;
        point.decision = 0;
        point.need = 0;
        point.missed = 0;
    } else if (last->opcode.op == PDL_OP_TRIGGER) {
        point.triggers = PDL_TRIGGERED;
    } else if (last->opcode.op == PDL_OP_CALL) {
        pdl_flow_pass_call(flow, index, &point);
    }
    return point;
}

/* What is known behind a block. */
struct known {
    struct pdl_tracked unwaited;
    struct pdl_tracked waited[2]; /* of threads that had waited before it, or wait in it */
    uint32_t waited_count;
};

static void find_known(const struct pdl_flow *flow, uint32_t index, const struct pdl_point *behind,
                       struct known *known)
{
    const uint8_t before = flow->points[index].states;
    known->waited_count = 0;
    pdl_conditions_behind(&flow->conditions, index, &known->unwaited);
    if (!flow->conditions.both || !(behind->states & PDL_STATE_WAITED)) {
        return;
    }
    if (before & PDL_STATE_WAITED) {
        pdl_conditions_behind(&flow->conditions, pdl_conditions_waited(&flow->conditions, index),
                              &known->waited[known->waited_count++]);
    }
    const struct pdl_instruction *last = pdl_flow_last(flow, index);
    if ((before & PDL_STATE_NOT_WAITED) != 0 && last != NULL &&
        (last->opcode.op == PDL_OP_WAIT || last->opcode.op == PDL_OP_CALL)) {
        pdl_tracked_copy(&flow->conditions, &known->waited[known->waited_count++],
                         &known->unwaited);
    }
}

/* Whether threads that have waited may take an edge; *changed if that changed what is known behind it. */
static bool take_waited(struct pdl_flow *flow, uint32_t from, uint32_t edge, uint32_t to,
                        const struct known *known, bool *changed)
{
    bool may = known->waited_count == 0;
    for (uint32_t i = 0; i < known->waited_count; i++) {
        struct pdl_tracked room;
        const struct pdl_tracked *there =
            pdl_conditions_take(&flow->conditions, from, edge, &known->waited[i], &room);
        if (there != NULL) {
            const uint32_t waited = pdl_conditions_waited(&flow->conditions, to);
            *changed = pdl_conditions_join(&flow->conditions, waited, there) || *changed;
            may = true;
        }
    }
    return may;
}

/* Brings what is known behind a block to one of its successors, and finds who cannot go there; true if
 * that changed it. */
static bool take_known(struct pdl_flow *flow, uint32_t from, uint32_t edge, uint8_t states,
                       const struct known *known)
{
    const uint32_t at = flow->cfg->blocks[from].first_successor + edge;
    const uint32_t to = flow->cfg->successors[at];
    bool changed = false;
    flow->closed[at] = 0;
    if (states & PDL_STATE_NOT_WAITED) {
        struct pdl_tracked room;
        const struct pdl_tracked *there =
            pdl_conditions_take(&flow->conditions, from, edge, &known->unwaited, &room);
        if (there != NULL) {
            changed = pdl_conditions_join(&flow->conditions, to, there);
        } else {
            flow->closed[at] |= PDL_CLOSED_NOT_WAITED;
        }
    }
    if ((states & PDL_STATE_WAITED) && !take_waited(flow, from, edge, to, known, &changed)) {
        flow->closed[at] |= PDL_CLOSED_WAITED;
    }
    return changed;
}

/* Brings what holds behind a block to one of its successors; true if that changed it. */
static bool take_edge(struct pdl_flow *flow, uint32_t from, uint32_t edge, struct pdl_point point)
{
    const uint32_t successor = flow->cfg->blocks[from].first_successor + edge;
    const uint32_t to = flow->cfg->successors[successor];
    if (flow->closed[successor] & PDL_CLOSED_NOT_WAITED) {
        point.states &= PDL_STATE_WAITED;
    }
    if (flow->closed[successor] & PDL_CLOSED_WAITED) {
        point.states &= PDL_STATE_NOT_WAITED;
    }
    if (point.states == 0) {
        return false;
    }
    if (flow->mbarriers.waits && flow->mbarriers.edge_of[from] != 0 &&
        flow->mbarriers.success[from] == edge) {
        const uint32_t wait = flow->mbarriers.edge_of[from] - 1;
        pdl_flow_awaited(&flow->mbarriers.operations[wait], &point);
    }
    if (flow->mbarriers.waits && flow->mbarriers.around[from] != 0 &&
        flow->mbarriers.none[from] == edge) {
        const uint32_t wait = flow->mbarriers.around[from] - 1;
        pdl_flow_presume(&flow->mbarriers.operations[wait], &point);
    }
    if (point.states & PDL_STATE_NOT_WAITED) {
        const uint32_t decision = pdl_flow_decision_at(flow, from, edge);
        if (decision != 0) {
            point.decision = pdl_flow_heavier(flow, point.decision, decision);
            pdl_flow_decide(flow, decision, &point);
        }
    } else {
        point.decision = 0;
        point.need = 0;
        point.missed = 0;
    }
    struct pdl_point *at = &flow->points[to];
    const struct pdl_point before = *at;
    at->states |= point.states;
    at->triggers |= point.triggers;
    at->decision = pdl_flow_heavier(flow, at->decision, point.decision);
    at->open = at->open || point.open;
    at->need = pdl_counts_most(at->need, point.need);
    at->most = pdl_counts_most(at->most, point.most);
    at->least = before.states != 0 ? pdl_counts_least(at->least, point.least) : point.least;
    if (point.missed > at->missed) {
        at->missed = point.missed;
        at->why = point.why;
    }
    return at->states != before.states || at->triggers != before.triggers ||
           at->decision != before.decision || at->open != before.open || at->need != before.need ||
           at->most != before.most || at->least != before.least || at->missed != before.missed;
}

/* The next block that is queued from one on, or in the next round; false if there is none. */
static bool next_queued(const struct pdl_flow *flow, uint32_t *index)
{
    const uint32_t size = flow->cfg->block_count;
    const uint8_t *found = memchr(flow->queued + *index, 1, size - *index);
    found = found == NULL ? memchr(flow->queued, 1, *index) : found;
    *index = found != NULL ? (uint32_t)(found - flow->queued) : 0;
    return found != NULL;
}

/* From the entry on, as long as something changes. In rounds over the blocks as they stand in the text, so that what
 * comes to a block on many ways is there before it goes on. */
static void run(struct pdl_flow *flow)
{
    const bool settled = flow->conditions.settled;
    uint32_t index = 0;
    flow->points[0] =
        (struct pdl_point){.states = PDL_STATE_UNWAITED, .triggers = PDL_NOT_TRIGGERED};
    flow->queued[0] = 1;
    for (; next_queued(flow, &index); index++) {
        struct known known;
        flow->queued[index] = 0;
        const struct pdl_block *block = &flow->cfg->blocks[index];
        pdl_inspection_spend(flow->module->inspection, block->count + 1);
        const struct pdl_point point = pdl_flow_behind(flow, index);
        if (!settled) {
            find_known(flow, index, &point, &known);
        }
        for (uint32_t i = 0; i < block->successor_count && point.states != 0; i++) {
            const uint32_t to = flow->cfg->successors[block->first_successor + i];
            const bool learns = !settled && take_known(flow, index, i, point.states, &known);
            if (take_edge(flow, index, i, point) || learns) {
                flow->queued[to] = 1;
            }
        }
    }
    flow->conditions.settled = true;
}

/* Who can take which edge does not depend on what barriers do, or on what is a decision: it is known from
 * the first time, unless the conditions were changed since. */
static void run_again(struct pdl_flow *flow)
{
    memset(flow->points, 0, flow->cfg->block_count * sizeof(*flow->points));
    for (uint32_t i = 0; i < flow->decision_count; i++) {
        flow->decisions[i].reached = false;
    }
    if (!flow->conditions.settled) {
        pdl_conditions_again(&flow->conditions);
    }
    run(flow);
}

/* Decides once more, now that it is known which branches those that have not waited cannot take: where
 * `if (first) wait` always waits, the branch around it leads around the wait. */
static void narrow(struct pdl_flow *flow)
{
    bool narrows = false;
    if (!flow->waits || flow->conditions.count == 0) {
        return;
    }
    PDL_RESERVE(flow->possible, flow->cfg->successor_count, flow->possible_capacity);
    for (uint32_t i = 0; i < flow->cfg->block_count; i++) {
        const struct pdl_block *block = &flow->cfg->blocks[i];
        const bool reached = (flow->points[i].states & PDL_STATE_NOT_WAITED) != 0 &&
                             block->successor_count > 1 && block->successor_count <= 4;
        for (uint32_t j = 0; j < block->successor_count; j++) {
            const uint32_t edge = block->first_successor + j;
            const bool possible = !reached || pdl_flow_may_go(flow, edge);
            flow->possible[edge] = possible;
            narrows = narrows || !possible;
        }
    }
    if (!narrows) {
        return;
    }
    flow->narrowed = true;
    flow->decision_count = 0;
    memset(flow->facts, 0, flow->cfg->block_count);
    memset(flow->decision_of, 0, flow->cfg->block_count * sizeof(*flow->decision_of));
    pdl_flow_find_facts(flow);
    pdl_flow_find_decisions(flow);
    pdl_flow_start_barriers(flow);
    run_again(flow);
}

void pdl_flow_run(struct pdl_flow *flow, const struct pdl_ptx_module *module,
                  const struct pdl_body *body, const struct pdl_cfg *cfg,
                  const struct pdl_values *values)
{
    const size_t count = cfg->block_count;
    flow->module = module;
    flow->body = body;
    flow->cfg = cfg;
    flow->values = values;
    flow->decision_count = 0;
    flow->narrowed = false;
    PDL_RESERVE(flow->points, count, flow->point_capacity);
    PDL_RESERVE(flow->facts, count, flow->fact_capacity);
    PDL_RESERVE(flow->closed, (size_t)flow->cfg->successor_count + 1, flow->closed_capacity);
    PDL_RESERVE(flow->queue, count, flow->queue_capacity);
    PDL_RESERVE(flow->queued, count, flow->queued_capacity);
    PDL_RESERVE(flow->decision_of, count, flow->decision_of_capacity);
    memset(flow->points, 0, count * sizeof(*flow->points));
    memset(flow->facts, 0, count);
    memset(flow->closed, 0, (size_t)flow->cfg->successor_count + 1);
    memset(flow->queued, 0, count);
    memset(flow->decision_of, 0, count * sizeof(*flow->decision_of));
    pdl_flow_find_facts(flow);
    pdl_flow_find_unknown(flow);
    pdl_flow_find_decisions(flow);
    pdl_conditions_start(&flow->conditions, module, body, cfg, values);
    track_conditions(flow);
    pdl_conditions_ready(&flow->conditions, true);
    flow->waits = (flow->facts[0] & PDL_BLOCK_MAY_WAIT) != 0;
    pdl_shared_start(&flow->shared, module, body, cfg, values);
    pdl_mbarriers_find(&flow->mbarriers, flow);
    pdl_flow_start_barriers(flow);
    run(flow);
    narrow(flow);
    pdl_flow_find_switches(flow);
    if (flow->switched) {
        run_again(flow);
    }
    pdl_flow_find_sure(flow);
    bool again = pdl_flow_count_barriers(flow);
    /* Threads that a barrier orders arrive on others. */
    for (unsigned round = 0; again && round < ROUNDS_MAX; round++) {
        run_again(flow);
        const bool chained = pdl_flow_chain_barriers(flow);
        again = pdl_mbarriers_judge(&flow->mbarriers, flow) || chained;
    }
    if (again) {
        run_again(flow);
    }
}
