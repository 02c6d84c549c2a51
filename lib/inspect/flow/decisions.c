/* SPDX-License-Identifier: MIT */
/* Which blocks come to a wait, and the branches that decide it. */
#include "inspect/flow/flow.h"

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

/* Whether threads that have not waited may go from one block to another, as far as that is known. */
static bool may_go(const struct pdl_flow *flow, uint32_t from, uint32_t to)
{
    const struct pdl_block *block = &flow->cfg->blocks[from];
    bool may = !flow->narrowed || block->successor_count > 4;
    for (uint32_t i = 0; i < block->successor_count && !may; i++) {
        const uint32_t edge = block->first_successor + i;
        may = flow->possible[edge] && flow->cfg->successors[edge] == to;
    }
    return may;
}

/* Spreads a fact from the queued blocks to those that lead there, through blocks that let it. */
static void spread(struct pdl_flow *flow, uint32_t queued, uint8_t fact)
{
    while (queued > 0) {
        const uint32_t to = flow->queue[--queued];
        const struct pdl_block *block = &flow->cfg->blocks[to];
        for (uint32_t i = 0; i < block->predecessor_count; i++) {
            const uint32_t from = flow->cfg->predecessors[block->first_predecessor + i];
            const bool passes =
                fact == PDL_BLOCK_MAY_WAIT || (end_waits(flow, from) & PDL_BLOCK_MAY_NOT_WAIT);
            if (passes && !(flow->facts[from] & fact) && may_go(flow, from, to)) {
                flow->facts[from] |= fact;
                flow->queue[queued++] = from;
            }
        }
    }
}

void pdl_flow_find_facts(struct pdl_flow *flow)
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

uint8_t pdl_flow_divergence_of(const struct pdl_flow *flow, uint8_t depends)
{
    if (depends & (PDL_DEPENDS_THREAD | PDL_DEPENDS_MEMORY)) {
        return PDL_DIVERGENCE_THREAD;
    }
    if ((depends & PDL_DEPENDS_PARAMETER) && !flow->body->function->is_entry) {
        return PDL_DIVERGENCE_CALLER;
    }
    return (depends & PDL_DEPENDS_BLOCK) != 0 ? PDL_DIVERGENCE_BLOCK : PDL_DIVERGENCE_NONE;
}

uint8_t pdl_flow_branch_depends(const struct pdl_flow *flow, const struct pdl_block *block)
{
    uint8_t depends = 0;
    if (block->branch == PDL_NONE) {
        return 0;
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
    return depends;
}

/* The facts of an edge; the one behind the successors is an exit. None of one that is never taken. */
static uint8_t edge_facts(const struct pdl_flow *flow, const struct pdl_block *block, uint32_t edge)
{
    if (flow->narrowed && edge < block->successor_count && block->successor_count <= 4 &&
        !flow->possible[block->first_successor + edge]) {
        return 0;
    }
    return edge < block->successor_count
               ? flow->facts[flow->cfg->successors[block->first_successor + edge]]
               : PDL_BLOCK_MAY_NOT_WAIT;
}

static void add_decision(struct pdl_flow *flow, struct pdl_decision decision)
{
    PDL_ADD(flow->decisions, flow->decision_count, flow->decision_capacity, decision);
    if (flow->decision_of[decision.block] == 0) {
        flow->decision_of[decision.block] = flow->decision_count;
    }
}

void pdl_flow_find_decisions(struct pdl_flow *flow)
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
                .depends = summary->divergence == PDL_DIVERGENCE_CALLER
                               ? pdl_arguments_depend(flow->values, flow->body, last)
                               : summary->depends,
                .call = true};
            add_decision(flow, decision);
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
            const uint8_t depends = pdl_flow_branch_depends(flow, block);
            const struct pdl_decision decision = {.block = i,
                                                  .edge = j,
                                                  .divergence =
                                                      pdl_flow_divergence_of(flow, depends),
                                                  .depends = depends,
                                                  .never = never,
                                                  .data = (depends & PDL_DEPENDS_MEMORY) != 0};
            add_decision(flow, decision);
        }
    }
}

/* By halves: those of a block follow one another in the order of their edges. */
uint32_t pdl_flow_decision_at(const struct pdl_flow *flow, uint32_t block, uint32_t edge)
{
    const uint32_t first = flow->decision_of[block];
    if (first == 0) {
        return 0;
    }
    uint32_t low = first - 1, high = flow->decision_count;
    high = edge < high - low ? low + edge + 1 : high;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const struct pdl_decision *decision = &flow->decisions[middle];
        if (decision->block > block || decision->edge > edge) {
            high = middle;
        } else if (decision->edge < edge) {
            low = middle + 1;
        } else {
            return decision->call ? 0 : middle + 1;
        }
    }
    return 0;
}

/* The one of two decisions that weighs more: by divergence, then the later one. */
uint32_t pdl_flow_heavier(const struct pdl_flow *flow, uint32_t a, uint32_t b)
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
