/* SPDX-License-Identifier: MIT */
#include "inspect/flow/flow.h"

#include <stdlib.h>
#include <string.h>

#include "code/system.h"

const struct pdl_instruction *pdl_flow_last(const struct pdl_flow *flow, uint32_t block)
{
    const struct pdl_block *at = &flow->cfg->blocks[block];
    return at->count > 0 ? &flow->body->instructions[at->first + at->count - 1] : NULL;
}

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

/* ---- which blocks come to a wait ------------------------------------------------------------------ */

/* What a block's last instruction does: MAY_WAIT, MAY_NOT_WAIT or both. */
static uint8_t end_waits(const struct pdl_flow *flow, uint32_t block)
{
    const struct pdl_instruction *last = pdl_flow_last(flow, block);
    bool harmless;
    if (last == NULL) {
        return PDL_BLOCK_MAY_NOT_WAIT;
    }
    if (last->opcode.op == PDL_OP_WAIT) {
        return PDL_BLOCK_MAY_WAIT;
    }
    if (last->opcode.op == PDL_OP_CALL) {
        const struct pdl_summary *summary = pdl_flow_callee(flow->module, last, &harmless);
        if (summary != NULL) {
            return (
                uint8_t)((summary->waits ? PDL_BLOCK_MAY_WAIT : 0) |
                         ((summary->out & PDL_STATE_NOT_WAITED) != 0 ? PDL_BLOCK_MAY_NOT_WAIT : 0));
        }
    }
    return PDL_BLOCK_MAY_NOT_WAIT;
}

/* Spreads a fact from the queued blocks to those that lead there, through blocks that let it. */
static void spread(struct pdl_flow *flow, uint32_t queued, uint8_t fact)
{
    while (queued > 0) {
        const struct pdl_block *block = &flow->cfg->blocks[flow->queue[--queued]];
        for (uint32_t i = 0; i < block->predecessor_count; i++) {
            const uint32_t from = flow->cfg->predecessors[block->first_predecessor + i];
            const bool passes =
                fact == PDL_BLOCK_MAY_WAIT || (end_waits(flow, from) & PDL_BLOCK_MAY_NOT_WAIT);
            if (passes && !(flow->facts[from] & fact)) {
                flow->facts[from] |= fact;
                flow->queue[queued++] = from;
            }
        }
    }
}

static void find_facts(struct pdl_flow *flow)
{
    uint32_t queued = 0;
    for (uint32_t i = 0; i < flow->cfg->block_count; i++) {
        if (end_waits(flow, i) & PDL_BLOCK_MAY_WAIT) {
            flow->facts[i] |= PDL_BLOCK_MAY_WAIT;
            flow->queue[queued++] = i;
        }
    }
    spread(flow, queued, PDL_BLOCK_MAY_WAIT);
    queued = 0;
    for (uint32_t i = 0; i < flow->cfg->block_count; i++) {
        if (flow->cfg->blocks[i].exits && (end_waits(flow, i) & PDL_BLOCK_MAY_NOT_WAIT)) {
            flow->facts[i] |= PDL_BLOCK_MAY_NOT_WAIT;
            flow->queue[queued++] = i;
        }
    }
    spread(flow, queued, PDL_BLOCK_MAY_NOT_WAIT);
}

bool pdl_flow_waits_behind(const struct pdl_flow *flow, uint32_t block)
{
    const struct pdl_block *at = &flow->cfg->blocks[block];
    bool waits = at->successor_count > 0 && !at->exits;
    for (uint32_t i = 0; i < at->successor_count && waits; i++) {
        waits = pdl_flow_waits_later(flow, flow->cfg->successors[at->first_successor + i]);
    }
    return waits;
}

/* ---- decisions ------------------------------------------------------------------------------------ */

static uint8_t divergence_of(const struct pdl_flow *flow, uint8_t depends)
{
    if (depends & (PDL_DEPENDS_THREAD | PDL_DEPENDS_MEMORY)) {
        return PDL_DIVERGENCE_THREAD;
    }
    if ((depends & PDL_DEPENDS_PARAMETER) && !flow->body->function->is_entry) {
        return PDL_DIVERGENCE_CALLER;
    }
    return (depends & PDL_DEPENDS_BLOCK) != 0 ? PDL_DIVERGENCE_BLOCK : PDL_DIVERGENCE_NONE;
}

uint8_t pdl_flow_divergence_at_call(const struct pdl_flow *flow, const struct pdl_instruction *call,
                                    uint8_t divergence)
{
    return divergence == PDL_DIVERGENCE_CALLER
               ? divergence_of(flow, pdl_arguments_depend(flow->values, flow->body, call))
               : divergence;
}

static uint8_t branch_divergence(const struct pdl_flow *flow, const struct pdl_block *block)
{
    uint8_t depends = 0;
    if (block->branch == PDL_NONE) {
        return PDL_DIVERGENCE_NONE;
    }
    const struct pdl_instruction *branch = &flow->body->instructions[block->branch];
    if (branch->guard != PDL_NONE) {
        const struct pdl_operand guard = {.kind = PDL_OPERAND_SYMBOL, .symbol = branch->guard};
        depends |= pdl_operand_value(flow->values, flow->body, &guard).depends;
    }
    if (branch->opcode.op == PDL_OP_BRANCH_TABLE && branch->operand_count > 0) {
        depends |= pdl_operand_value(flow->values, flow->body,
                                     &flow->body->operands[branch->first_operand])
                       .depends;
    }
    return divergence_of(flow, depends);
}

/* The facts of an edge; the one behind the successors is an exit. */
static uint8_t edge_facts(const struct pdl_flow *flow, const struct pdl_block *block, uint32_t edge)
{
    return edge < block->successor_count
               ? flow->facts[flow->cfg->successors[block->first_successor + edge]]
               : PDL_BLOCK_MAY_NOT_WAIT;
}

static bool add_decision(struct pdl_flow *flow, struct pdl_decision decision)
{
    if (!PDL_ARRAY_ROOM(flow->decisions, flow->decision_count, flow->decision_capacity)) {
        return false;
    }
    flow->decisions[flow->decision_count++] = decision;
    if (flow->decision_of[decision.block] == 0) {
        flow->decision_of[decision.block] = flow->decision_count;
    }
    return true;
}

static bool find_decisions(struct pdl_flow *flow)
{
    for (uint32_t i = 0; i < flow->cfg->block_count; i++) {
        const struct pdl_block *block = &flow->cfg->blocks[i];
        const struct pdl_instruction *last = pdl_flow_last(flow, i);
        const uint32_t edges = block->successor_count + (block->exits ? 1u : 0u);
        bool some_wait = false, some_always = false;
        if (last != NULL && last->opcode.op == PDL_OP_CALL &&
            end_waits(flow, i) == (PDL_BLOCK_MAY_WAIT | PDL_BLOCK_MAY_NOT_WAIT)) {
            bool harmless;
            const struct pdl_summary *summary = pdl_flow_callee(flow->module, last, &harmless);
            const struct pdl_decision decision = {
                .block = i,
                .divergence = pdl_flow_divergence_at_call(flow, last, summary->divergence),
                .never = block->successor_count > 0 &&
                         !(edge_facts(flow, block, 0) & PDL_BLOCK_MAY_WAIT),
                .call = true};
            if (!add_decision(flow, decision)) {
                return false;
            }
            continue;
        }
        if (edges < 2) {
            continue;
        }
        for (uint32_t j = 0; j < edges; j++) {
            const uint8_t facts = edge_facts(flow, block, j);
            some_wait = some_wait || (facts & PDL_BLOCK_MAY_WAIT);
            some_always = some_always || facts == PDL_BLOCK_MAY_WAIT;
        }
        for (uint32_t j = 0; j < edges; j++) {
            const uint8_t facts = edge_facts(flow, block, j);
            const bool never = !(facts & PDL_BLOCK_MAY_WAIT);
            if (!(facts & PDL_BLOCK_MAY_NOT_WAIT) || !(some_always || (some_wait && never))) {
                continue;
            }
            const struct pdl_decision decision = {.block = i,
                                                  .edge = j,
                                                  .divergence = branch_divergence(flow, block),
                                                  .never = never};
            if (!add_decision(flow, decision)) {
                return false;
            }
        }
    }
    return true;
}

uint32_t pdl_flow_decision_at(const struct pdl_flow *flow, uint32_t block, uint32_t edge)
{
    const uint32_t first = flow->decision_of[block];
    for (uint32_t i = first; i > 0 && i <= flow->decision_count; i++) {
        const struct pdl_decision *decision = &flow->decisions[i - 1];
        if (decision->block != block) {
            break;
        }
        if (decision->edge == edge && !decision->call) {
            return i;
        }
    }
    return 0;
}

/* The one of two decisions that weighs more: by divergence, then the later one. */
static uint32_t heavier(const struct pdl_flow *flow, uint32_t a, uint32_t b)
{
    if (a == 0 || b == 0) {
        return a + b;
    }
    const uint8_t of_a = flow->decisions[a - 1].divergence;
    const uint8_t of_b = flow->decisions[b - 1].divergence;
    if (of_a != of_b) {
        return of_a > of_b ? a : b;
    }
    return a > b ? a : b;
}

/* ---- branches --------------------------------------------------------------------------------------- */

/* Whether those for whom its guard holds go no further: the successor is for the others. */
static bool ends_path(const struct pdl_instruction *branch)
{
    return branch->opcode.op == PDL_OP_RETURN || branch->opcode.op == PDL_OP_EXIT ||
           branch->opcode.op == PDL_OP_TRAP;
}

/* Whether threads that have not waited, of whom `known` is known, may take an edge. */
static bool may_take(const struct pdl_flow *flow, uint32_t block, uint32_t edge,
                     const struct pdl_tracked *known)
{
    const struct pdl_block *at = &flow->cfg->blocks[block];
    int64_t value = 0;
    if (at->branch == PDL_NONE) {
        return true;
    }
    const struct pdl_instruction *branch = &flow->body->instructions[at->branch];
    if (branch->guard == PDL_NONE || branch->opcode.op == PDL_OP_BRANCH_TABLE ||
        !pdl_conditions_value(&flow->conditions, known, branch->guard, &value)) {
        return true;
    }
    const bool holds = (value != 0) != branch->guard_negated;
    if (ends_path(branch)) {
        return (edge == at->successor_count) == holds;
    }
    return (edge == 0) == holds;
}

bool pdl_flow_may_exit(const struct pdl_flow *flow, uint32_t block)
{
    struct pdl_tracked known;
    pdl_conditions_behind(&flow->conditions, block, &known);
    return may_take(flow, block, flow->cfg->blocks[block].successor_count, &known);
}

/* The registers that decide who goes around a wait. */
static void track_conditions(struct pdl_flow *flow)
{
    for (uint32_t i = 0; i < flow->decision_count; i++) {
        const struct pdl_block *block = &flow->cfg->blocks[flow->decisions[i].block];
        if (block->branch != PDL_NONE &&
            flow->body->instructions[block->branch].guard != PDL_NONE) {
            pdl_conditions_track(&flow->conditions, flow->values,
                                 flow->body->instructions[block->branch].guard);
        }
    }
}

/* ---- the flow --------------------------------------------------------------------------------------- */

/* States with those of `from` made `to`. */
static uint8_t change_states(uint8_t states, uint8_t from, uint8_t to)
{
    return (states & from) != 0 ? (uint8_t)((states & ~from) | to) : states;
}

void pdl_flow_decide(struct pdl_flow *flow, uint32_t decision, struct pdl_point *point)
{
    flow->decisions[decision - 1].reached = true;
    point->states = change_states(point->states, PDL_STATE_UNWAITED, PDL_STATE_DECIDED);
}

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
            point->states = change_states(point->states, PDL_STATE_DECIDED | PDL_STATE_MBARRIER,
                                          PDL_STATE_BARRIER);
        }
        break;
    case PDL_OP_BARRIER_CLUSTER:
        if (divergence != PDL_DIVERGENCE_NONE) {
            point->states = change_states(point->states, PDL_STATE_DECIDED | PDL_STATE_MBARRIER,
                                          PDL_STATE_BARRIER);
        }
        break;
    case PDL_OP_BARRIER_MEMORY:
        if (divergence != PDL_DIVERGENCE_NONE) {
            point->states = change_states(point->states, PDL_STATE_DECIDED, PDL_STATE_MBARRIER);
        }
        break;
    default:
        break;
    }
}

/* What holds behind a call of a function that was analysed. */
static void pass_call(const struct pdl_flow *flow, const struct pdl_summary *summary,
                      uint32_t block, struct pdl_point *point)
{
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
            point->decision = heavier(flow, point->decision, flow->decision_of[block]);
        }
    }
    point->states = states;
    if (summary->barriers) {
        const struct pdl_instruction barrier = {.opcode = {.op = PDL_OP_BARRIER_BLOCK}};
        pdl_flow_step(flow, &barrier, point);
    }
    if (summary->triggers) {
        point->triggers =
            summary->triggers_always ? PDL_TRIGGERED : (uint8_t)(point->triggers | PDL_TRIGGERED);
    }
}

struct pdl_point pdl_flow_behind(const struct pdl_flow *flow, uint32_t index)
{
    const struct pdl_block *block = &flow->cfg->blocks[index];
    struct pdl_point point = flow->points[index];
    bool harmless;
    for (uint32_t i = 0; i < block->count; i++) {
        pdl_flow_step(flow, &flow->body->instructions[block->first + i], &point);
    }
    const struct pdl_instruction *last = pdl_flow_last(flow, index);
    if (last == NULL) {
        return point;
    }
    if (last->opcode.op == PDL_OP_WAIT) {
        point.states = PDL_STATE_WAITED;
        point.decision = 0;
    } else if (last->opcode.op == PDL_OP_TRIGGER) {
        point.triggers = PDL_TRIGGERED;
    } else if (last->opcode.op == PDL_OP_CALL) {
        const struct pdl_summary *summary = pdl_flow_callee(flow->module, last, &harmless);
        if (summary != NULL) {
            pass_call(flow, summary, index, &point);
        } else if (!harmless) { /* it may wait */
            point.states = change_states(
                point.states, PDL_STATE_UNWAITED | PDL_STATE_DECIDED | PDL_STATE_MBARRIER,
                PDL_STATE_BARRIER);
        }
    }
    return point;
}

/* Brings what is known behind a block to a successor, and what its branch says there. */
static bool join_conditions(struct pdl_flow *flow, uint32_t from, uint32_t edge, uint32_t to,
                            const struct pdl_tracked *known)
{
    const struct pdl_block *block = &flow->cfg->blocks[from];
    const struct pdl_instruction *branch =
        block->branch != PDL_NONE ? &flow->body->instructions[block->branch] : NULL;
    if (flow->conditions.count == 0) {
        return false;
    }
    if (branch == NULL || branch->guard == PDL_NONE || branch->opcode.op == PDL_OP_BRANCH_TABLE) {
        return pdl_conditions_join(&flow->conditions, to, known);
    }
    struct pdl_tracked there = *known;
    pdl_conditions_assume(&flow->conditions, &there, branch->guard,
                          (edge == 0 && !ends_path(branch)) != branch->guard_negated);
    return pdl_conditions_join(&flow->conditions, to, &there);
}

/* Brings what holds behind a block to one of its successors; true if that changed it. */
static bool take_edge(struct pdl_flow *flow, uint32_t from, uint32_t edge, struct pdl_point point,
                      const struct pdl_tracked *known)
{
    const uint32_t to = flow->cfg->successors[flow->cfg->blocks[from].first_successor + edge];
    bool changed = false;
    if ((point.states & PDL_STATE_NOT_WAITED) && !may_take(flow, from, edge, known)) {
        point.states &= PDL_STATE_WAITED;
    }
    if (point.states == 0) {
        return false;
    }
    if (point.states & PDL_STATE_NOT_WAITED) {
        const uint32_t decision = pdl_flow_decision_at(flow, from, edge);
        changed = join_conditions(flow, from, edge, to, known);
        if (decision != 0) {
            point.decision = heavier(flow, point.decision, decision);
            pdl_flow_decide(flow, decision, &point);
        }
    } else {
        point.decision = 0;
    }
    struct pdl_point *at = &flow->points[to];
    const struct pdl_point before = *at;
    at->states |= point.states;
    at->triggers |= point.triggers;
    at->decision = heavier(flow, at->decision, point.decision);
    return changed || at->states != before.states || at->triggers != before.triggers ||
           at->decision != before.decision;
}

/* From the entry on, as long as something changes. The queue is a ring. */
static void run(struct pdl_flow *flow)
{
    const uint32_t size = flow->cfg->block_count;
    uint32_t head = 0, tail = size > 1 ? 1 : 0, queued = 1;
    flow->points[0] =
        (struct pdl_point){.states = PDL_STATE_UNWAITED, .triggers = PDL_NOT_TRIGGERED};
    flow->queue[0] = 0;
    flow->queued[0] = 1;
    while (queued > 0) {
        const uint32_t index = flow->queue[head];
        struct pdl_tracked known;
        head = head + 1 == size ? 0 : head + 1;
        queued--;
        flow->queued[index] = 0;
        const struct pdl_block *block = &flow->cfg->blocks[index];
        const struct pdl_point point = pdl_flow_behind(flow, index);
        pdl_conditions_behind(&flow->conditions, index, &known);
        for (uint32_t i = 0; i < block->successor_count && point.states != 0; i++) {
            const uint32_t to = flow->cfg->successors[block->first_successor + i];
            if (take_edge(flow, index, i, point, &known) && !flow->queued[to]) {
                flow->queued[to] = 1;
                flow->queue[tail] = to;
                tail = tail + 1 == size ? 0 : tail + 1;
                queued++;
            }
        }
    }
}

/* The barriers of the block that threads who waited come to, or arrive at. All, if a function that is
 * called has some. */
static uint32_t barriers_of_waiters(const struct pdl_flow *flow)
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

static bool reserve(struct pdl_flow *flow)
{
    const size_t count = (size_t)flow->cfg->block_count;
    return PDL_ARRAY_RESERVE(flow->points, count, flow->point_capacity) &&
           PDL_ARRAY_RESERVE(flow->facts, count, flow->fact_capacity) &&
           PDL_ARRAY_RESERVE(flow->queue, count, flow->queue_capacity) &&
           PDL_ARRAY_RESERVE(flow->queued, count, flow->queued_capacity) &&
           PDL_ARRAY_RESERVE(flow->decision_of, count, flow->decision_of_capacity);
}

pdl_status pdl_flow_run(struct pdl_flow *flow, const struct pdl_ptx_module *module,
                        const struct pdl_body *body, const struct pdl_cfg *cfg,
                        const struct pdl_values *values)
{
    const size_t count = cfg->block_count;
    flow->module = module;
    flow->body = body;
    flow->cfg = cfg;
    flow->values = values;
    flow->decision_count = 0;
    if (!reserve(flow)) {
        return pdl_ptx_no_memory();
    }
    memset(flow->points, 0, count * sizeof(*flow->points));
    memset(flow->facts, 0, count);
    memset(flow->queued, 0, count);
    memset(flow->decision_of, 0, count * sizeof(*flow->decision_of));
    find_facts(flow);
    if (!find_decisions(flow)) {
        return pdl_ptx_no_memory();
    }
    pdl_status status = pdl_conditions_start(&flow->conditions, module, body, cfg);
    if (status == PDL_SUCCESS) {
        track_conditions(flow);
        status = pdl_conditions_ready(&flow->conditions);
    }
    if (status == PDL_SUCCESS) {
        flow->waits = (flow->facts[0] & PDL_BLOCK_MAY_WAIT) != 0;
        flow->barriers = UINT32_MAX;
        run(flow);
        /* Once more, if threads that go around the wait meet at barriers of their own. */
        flow->barriers = barriers_of_waiters(flow);
        if (flow->waits && flow->decision_count > 0 && flow->barriers != UINT32_MAX) {
            memset(flow->points, 0, count * sizeof(*flow->points));
            for (uint32_t i = 0; i < flow->decision_count; i++) {
                flow->decisions[i].reached = false;
            }
            status = pdl_conditions_ready(&flow->conditions);
            run(flow);
        }
    }
    return status;
}

void pdl_flow_free(struct pdl_flow *flow)
{
    free(flow->points);
    free(flow->facts);
    free(flow->queue);
    free(flow->queued);
    pdl_conditions_free(&flow->conditions);
    free(flow->decisions);
    free(flow->decision_of);
}
