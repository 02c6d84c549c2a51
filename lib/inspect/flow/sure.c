/* SPDX-License-Identifier: MIT */
/* A barrier orders the threads of a block behind a wait only if some thread of that very block waits. Here are those that
 * every block has, whatever its size: each is followed from the function's entry, along what is known of it, to its
 * wait. */
#include "inspect/flow/flow.h"

#include <string.h>

/* Instructions that the condition of one branch is made of, as far as it is looked at. */
#define STEPS_MAX 64u

/* Blocks that it came through last, and places that set a register, as far as they are looked at. */
#define WAY_MAX         16u
#define DEFINITIONS_MAX 8u

#define WARP        32
#define THREADS_MAX 1024

/* A thread that is followed. */
struct thread {
    const struct pdl_flow *flow;
    uint8_t kind;                    /* PDL_SURE_… */
    bool lanes;                      /* any of its warp */
    const struct pdl_tracked *known; /* where it is; or NULL */
    unsigned left;
    uint32_t way[WAY_MAX]; /* blocks one behind the other, the last one is where it is */
    uint32_t way_count;
};

/* Where on its way a thread executes an instruction; 0: before, or not at all. */
static uint64_t spot_of(const struct thread *thread, uint32_t instruction)
{
    const uint32_t block = thread->flow->cfg->block_of[instruction];
    uint32_t i = thread->way_count;
    while (i > 0 && thread->way[i - 1] != block) {
        i--;
    }
    return i > 0 ? (uint64_t)i << 32 | instruction : 0;
}

/* The instruction that sets a register, as it is before `spot`, and its own spot; NULL if it is not known. */
static const struct pdl_instruction *definition(const struct thread *thread, uint32_t symbol,
                                                uint64_t spot, uint64_t *own)
{
    const struct pdl_values *values = thread->flow->values;
    const uint32_t *defined = values->definitions + values->first_definition[symbol];
    const uint32_t count = values->first_definition[symbol + 1] - values->first_definition[symbol];
    uint32_t found = count == 1 ? defined[0] : PDL_NONE;
    *own = count == 1 ? spot_of(thread, defined[0]) : 0;
    for (uint32_t i = 0; i < count && count > 1 && count <= DEFINITIONS_MAX; i++) {
        const uint64_t at = spot_of(thread, defined[i]);
        if (at < spot && at > *own) {
            *own = at;
            found = defined[i];
        }
    }
    const struct pdl_instruction *at =
        found != PDL_NONE ? &thread->flow->body->instructions[found] : NULL;
    return at != NULL && at->guard == PDL_NONE ? at : NULL;
}

static bool is_named(const struct pdl_flow *flow, uint32_t name, const char *word)
{
    return pdl_name_begins(&flow->module->names.names[name], word);
}

static struct pdl_range of_special(const struct thread *thread, uint32_t symbol)
{
    const uint32_t name = thread->flow->body->symbols[symbol].name;
    const bool lane = is_named(thread->flow, name, "%laneid");
    if (lane || is_named(thread->flow, name, "%tid.")) {
        return thread->lanes || thread->kind == PDL_SURE_ELECTED ? pdl_range_of(0, WARP - 1)
               : thread->kind != PDL_SURE_OTHERS                 ? pdl_range_value(0)
               : is_named(thread->flow, name, "%tid.x")          ? pdl_range_of(1, THREADS_MAX - 1)
                                                                 : pdl_range_all();
    }
    return thread->kind == PDL_SURE_RANK && (is_named(thread->flow, name, "%cluster_cta") ||
                                             is_named(thread->flow, name, "%ctaid."))
               ? pdl_range_value(0) /* what differs between clusters is not asked for */
               : pdl_range_all();
}

static struct pdl_range value_of(struct thread *thread, uint32_t symbol, uint64_t spot);

/* What a lane gets from the others, or has them choose. */
/* NOLINTNEXTLINE(misc-no-recursion): of so many steps */
static struct pdl_range of_lanes(struct thread *thread, const struct pdl_instruction *at,
                                 uint32_t symbol, uint64_t spot)
{
    const struct pdl_flow *flow = thread->flow;
    const struct pdl_operand *operands = &flow->body->operands[at->first_operand];
    uint32_t results = 0;
    while (results < at->operand_count && operands[results].slot == 0) {
        results++;
    }
    const bool last = results > 0 && operands[results - 1].symbol == symbol;
    if (results == at->operand_count) {
        return pdl_range_all();
    }
    if (is_named(flow, at->name, "elect.") && last && thread->kind == PDL_SURE_ELECTED &&
        !thread->lanes) {
        return pdl_range_value(1);
    }
    if (is_named(flow, at->name, "shfl.") && operands[0].symbol == symbol &&
        operands[results].kind == PDL_OPERAND_SYMBOL) {
        struct thread any = *thread;
        any.lanes = true;
        const struct pdl_range value = value_of(&any, operands[results].symbol, spot);
        thread->left = any.left;
        return value;
    }
    return pdl_range_all();
}

/* The values that a register of the thread can have. */
/* NOLINTNEXTLINE(misc-no-recursion): of so many steps */
static struct pdl_range value_of(struct thread *thread, uint32_t symbol, uint64_t spot)
{
    uint64_t own = 0;
    const struct pdl_flow *flow = thread->flow;
    struct pdl_range terms[PDL_FORMULA_TERMS];
    if (thread->left == 0) {
        return pdl_range_all();
    }
    thread->left--;
    if (thread->known != NULL && pdl_conditions_is_invariant(&flow->conditions, symbol)) {
        const struct pdl_range of_all =
            pdl_conditions_range(&flow->conditions, thread->known, symbol);
        if (pdl_range_is_value(&of_all)) {
            return of_all;
        }
    }
    if (flow->body->symbols[symbol].kind == PDL_SYMBOL_SPECIAL) {
        return of_special(thread, symbol);
    }
    const struct pdl_instruction *at = flow->body->symbols[symbol].kind == PDL_SYMBOL_REGISTER
                                           ? definition(thread, symbol, spot, &own)
                                           : NULL;
    if (at == NULL || at->operand_count == 0) {
        return pdl_range_all();
    }
    if (at->opcode.op == PDL_OP_LANE) {
        return of_lanes(thread, at, symbol, own);
    }
    const struct pdl_formula formula =
        flow->body->operands[at->first_operand].symbol == symbol
            ? pdl_formula_read(flow->module, flow->body, at, 0)
            : pdl_conditions_formula(&flow->conditions, symbol); /* one of several results */
    if (formula.op <= PDL_FORMULA_OPAQUE || formula.op == PDL_FORMULA_LOAD) {
        return pdl_range_all();
    }
    for (unsigned i = 0; i < PDL_FORMULA_TERMS; i++) {
        const struct pdl_range type = pdl_formula_type(pdl_formula_term_bits(&formula, i));
        const struct pdl_term *term = &formula.terms[i];
        terms[i] = pdl_range_value(0);
        if (i < formula.count && term->symbol == PDL_NONE) {
            terms[i] = pdl_formula_number(&formula, i, term->value);
        } else if (i < formula.count) {
            terms[i] = value_of(thread, term->symbol, own);
            (void)pdl_range_meet(&terms[i], &type);
            terms[i] = pdl_range_is_empty(&terms[i]) ? type : terms[i]; /* of another width */
            if (term->negated && pdl_range_is_value(&terms[i])) {
                terms[i] = pdl_range_value(terms[i].low == 0);
            }
        }
    }
    return pdl_formula_result(&formula, terms, false);
}

/* The edge that the thread takes behind a block; PDL_NONE if that is not known. One behind the successors ends it. */
static uint32_t edge_of(struct thread *thread, uint32_t block)
{
    const struct pdl_flow *flow = thread->flow;
    const struct pdl_block *at = &flow->cfg->blocks[block];
    const struct pdl_instruction *branch =
        at->branch != PDL_NONE ? &flow->body->instructions[at->branch] : NULL;
    struct pdl_tracked known;
    if (branch == NULL || branch->guard == PDL_NONE) {
        return at->successor_count == 1 && !at->exits ? 0
               : at->successor_count == 0             ? at->successor_count
                                                      : PDL_NONE;
    }
    if (thread->kind == PDL_SURE_RANK &&
        (pdl_flow_branch_depends(flow, at) & PDL_DEPENDS_CLUSTER) != 0) {
        return PDL_NONE;
    }
    thread->left = STEPS_MAX;
    thread->known = NULL;
    if (flow->conditions.count > 0) {
        pdl_conditions_behind(&flow->conditions, block, &known);
        thread->known = &known;
    }
    struct pdl_range value =
        value_of(thread, branch->guard, (uint64_t)thread->way_count << 32 | UINT32_MAX);
    if (thread->known != NULL) {
        const struct pdl_range all = pdl_conditions_range(&flow->conditions, &known, branch->guard);
        (void)pdl_range_meet(&value, &all);
    }
    thread->known = NULL;
    if (!pdl_range_is_value(&value) || at->successor_count + at->exits != 2) {
        return PDL_NONE;
    }
    const bool holds = (value.low != 0) != branch->guard_negated;
    if (at->exits) { /* those for whom it holds go no further */
        return holds ? at->successor_count : 0;
    }
    return holds ? 0 : 1;
}

/* Whether all threads of the block or, of a cluster's thread, the cluster take the same way behind a block. */
static bool is_together(const struct thread *thread, uint32_t block)
{
    const uint8_t depends =
        pdl_flow_branch_depends(thread->flow, &thread->flow->cfg->blocks[block]);
    return pdl_flow_divergence_of(thread->flow, depends) <=
           (thread->kind == PDL_SURE_RANK ? PDL_DIVERGENCE_NONE : PDL_DIVERGENCE_BLOCK);
}

/* Of the ways behind a block that all take together, queues those that may still come to a wait, except if there is only
 * one: its edge, or PDL_NONE. */
static uint32_t go_together(struct pdl_flow *flow, uint32_t block, uint32_t *queued)
{
    const struct pdl_block *at = &flow->cfg->blocks[block];
    uint32_t found = PDL_NONE, count = 0;
    for (uint32_t i = 0; i < at->successor_count; i++) {
        const uint32_t edge = at->first_successor + i;
        if ((flow->facts[flow->cfg->successors[edge]] & PDL_BLOCK_MAY_WAIT) &&
            pdl_flow_may_go(flow, edge)) {
            found = i;
            count++;
        }
    }
    for (uint32_t i = 0; i < at->successor_count && count > 1; i++) {
        const uint32_t to = flow->cfg->successors[at->first_successor + i];
        if (!flow->queued[to]) {
            flow->queued[to] = 1;
            flow->queue[(*queued)++] = to;
        }
    }
    return count == 1 ? found : PDL_NONE;
}

enum step { STEP_ON, STEP_WAITS, STEP_LOST };

/* What the end of a block is to the thread. */
static enum step end_of(const struct thread *thread, uint32_t block)
{
    const struct pdl_instruction *last = pdl_flow_last(thread->flow, block);
    if (last != NULL && last->opcode.op == PDL_OP_WAIT) {
        return STEP_WAITS;
    }
    if (last == NULL || last->opcode.op != PDL_OP_CALL || last->called == NULL) {
        return STEP_ON;
    }
    const bool always = last->called->waits && !(last->called->out & PDL_STATE_NOT_WAITED);
    return always || (last->called->sure & thread->kind)   ? STEP_WAITS
           : last->called->exits || last->called->out == 0 ? STEP_LOST
                                                           : STEP_ON;
}

/* Follows a thread from a block to its wait, or to where all threads part together, which queues their ways. Where it
 * alone may go either way, it goes on where these meet. True if it waits. `mark`: says so at the decisions that it comes
 * by. */
static bool walk(struct pdl_flow *flow, struct thread *thread, uint32_t from, uint32_t *queued,
                 bool mark)
{
    const uint32_t end = flow->behind.root;
    bool together = flow->body->function->is_entry;
    uint32_t at = from, meet = end;
    thread->way_count = 0;
    for (uint32_t steps = 0; at != end && steps <= flow->cfg->block_count; steps++) {
        const struct pdl_block *block = &flow->cfg->blocks[at];
        const enum step step = end_of(thread, at);
        const uint32_t first = flow->decision_of[at];
        const bool call = first != 0 && flow->decisions[first - 1].call;
        const bool part = block->successor_count + block->exits > 1;
        if (thread->way_count == WAY_MAX) {
            memmove(thread->way, thread->way + 1, sizeof(thread->way) - sizeof(thread->way[0]));
            thread->way_count--;
        }
        thread->way[thread->way_count++] = at;
        uint32_t edge = edge_of(thread, at);
        const bool by = step == STEP_WAITS ? call
                                           : first != 0 && !call && edge != PDL_NONE &&
                                                 pdl_flow_decision_at(flow, at, edge) == 0;
        for (uint32_t i = first; mark && by && i != 0 && i <= flow->decision_count &&
                                 flow->decisions[i - 1].block == at;
             i++) {
            flow->decisions[i - 1].sure |= thread->kind;
        }
        if (step != STEP_ON) {
            return step == STEP_WAITS;
        }
        together = together || (at == meet && meet != end);
        if (together && !mark && at != from) {
            if (flow->queued[at]) {
                return false; /* it is followed from there, or was */
            }
            flow->queued[at] = 1;
        }
        const bool alone = part && !is_together(thread, at);
        if (edge == PDL_NONE && part && together && !alone) {
            edge = go_together(flow, at, queued);
            if (edge == PDL_NONE) {
                return false;
            }
        } else if (edge != PDL_NONE && together && alone) {
            together = false;
            meet = pdl_dominators_reach(&flow->behind, at) ? flow->behind.parent[at] : end;
        }
        if ((edge != PDL_NONE && edge == block->successor_count) ||
            (edge == PDL_NONE && !pdl_dominators_reach(&flow->behind, at))) {
            return false;
        }
        thread->way_count = edge != PDL_NONE ? thread->way_count : 0;
        at = edge != PDL_NONE ? flow->cfg->successors[block->first_successor + edge]
                              : flow->behind.parent[at];
    }
    return false;
}

void pdl_flow_find_sure(struct pdl_flow *flow)
{
    static const uint8_t kinds[] = {PDL_SURE_FIRST, PDL_SURE_OTHERS, PDL_SURE_ELECTED,
                                    PDL_SURE_RANK};
    flow->sure = 0;
    if (!flow->waits || flow->decision_count == 0) {
        return;
    }
    pdl_dominators_find(&flow->behind, flow->cfg, true);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct thread thread = {.flow = flow, .kind = kinds[i]};
        uint32_t queued = 1;
        flow->queue[0] = 0;
        flow->queued[0] = 1;
        for (uint32_t next = 0; next < queued; next++) { /* as many as there are blocks */
            if (walk(flow, &thread, flow->queue[next], &queued, false)) {
                (void)walk(flow, &thread, flow->queue[next], &queued, true);
                flow->sure |= next == 0 ? kinds[i] : 0;
            }
        }
        memset(flow->queued, 0, flow->cfg->block_count);
    }
}
