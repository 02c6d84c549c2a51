/* SPDX-License-Identifier: MIT */
/* The branches around a loop that waits on an mbarrier in each turn, or around its first turn: who would
 * launch that without one? */
#include <string.h>

#include "inspect/flow/flow.h"

/* Whether a branch asks for all threads of a block alike whether there is something to do: whether a
 * number is greater than another, and not what a flag says. */
static bool asks_for_work(const struct pdl_flow *flow, const struct pdl_block *block)
{
    const struct pdl_values *values = flow->values;
    if (block->branch == PDL_NONE || block->successor_count != 2) {
        return false;
    }
    const struct pdl_instruction *branch = &flow->body->instructions[block->branch];
    const uint32_t guard = branch->guard;
    if (branch->opcode.op != PDL_OP_BRANCH || guard == PDL_NONE ||
        (values->values[guard].depends &
         (flow->module->debug ? PDL_DEPENDS_THREAD : PDL_DEPENDS_THREAD | PDL_DEPENDS_MEMORY)) !=
            0) {
        return false;
    }
    struct pdl_formula test = pdl_conditions_formula(&flow->conditions, guard);
    if (test.op == PDL_FORMULA_XOR && test.bits == 1 &&
        test.terms[0].symbol != PDL_NONE) { /* not */
        test = pdl_conditions_formula(&flow->conditions, test.terms[0].symbol);
    }
    return test.op == PDL_FORMULA_COMPARE && test.relation == PDL_RELATION_LESS;
}

/* Where other ways join what comes from a block, if nothing is done with memory before; PDL_NONE. */
static uint32_t joined(const struct pdl_flow *flow, uint32_t block)
{
    for (unsigned i = 0; i < 4; i++) {
        const struct pdl_block *at = &flow->cfg->blocks[block];
        if (at->predecessor_count > 1) {
            return block;
        }
        for (uint32_t j = at->first; j < at->first + at->count; j++) {
            const uint8_t op = flow->body->instructions[j].opcode.op;
            if (op != PDL_OP_CARRY && op != PDL_OP_SCALE && op != PDL_OP_BRANCH) {
                return PDL_NONE;
            }
        }
        if (at->successor_count != 1) {
            break;
        }
        block = flow->cfg->successors[at->first_successor];
    }
    return PDL_NONE;
}

/* Blocks that a search has come to. */
struct search {
    uint32_t blocks[48];
    uint32_t count;
    bool full;
};

static void come_to(struct search *search, uint32_t block)
{
    for (uint32_t i = 0; i < search->count; i++) {
        if (search->blocks[i] == block) {
            return;
        }
    }
    if (search->count == sizeof(search->blocks) / sizeof(search->blocks[0])) {
        search->full = true;
        return;
    }
    search->blocks[search->count++] = block;
}

/* Whether every way from a block leads back to another one: they are in a loop that ends nowhere else. */
static bool comes_back(const struct pdl_flow *flow, uint32_t from, uint32_t to)
{
    struct search search = {.blocks = {from}, .count = 1};
    for (uint32_t i = 0; i < search.count; i++) {
        const struct pdl_block *at = &flow->cfg->blocks[search.blocks[i]];
        if (at->exits || search.full) {
            return false;
        }
        for (uint32_t j = 0; j < at->successor_count; j++) {
            const uint32_t next = flow->cfg->successors[at->first_successor + j];
            if (next != to) {
                come_to(&search, next);
            }
        }
    }
    return !search.full;
}

/* The wait on an mbarrier at the end of a block, by its branch or in a function that it calls, + 1. */
static uint32_t wait_of(const struct pdl_mbarriers *mbarriers, const struct pdl_flow *flow,
                        uint32_t block)
{
    const struct pdl_instruction *last = pdl_flow_last(flow, block);
    const struct pdl_mbarrier_operation *wait =
        last != NULL && last->opcode.op == PDL_OP_CALL
            ? pdl_mbarriers_at(mbarriers, (uint32_t)(last - flow->body->instructions))
            : NULL;
    return wait != NULL && wait->kind <= PDL_MBARRIER_TOKEN
               ? (uint32_t)(wait - mbarriers->operations) + 1
               : mbarriers->edge_of[block];
}

/* Marks the ways around the waits on mbarriers to which every other way from a block on soon comes.
 * Asserts and their like are on the way, and rests of a number of turns. */
static void mark_ways(struct pdl_mbarriers *mbarriers, const struct pdl_flow *flow, uint32_t index,
                      uint32_t edge)
{
    const uint32_t *to = &flow->cfg->successors[flow->cfg->blocks[index].first_successor];
    const uint32_t behind = to[edge];
    const uint32_t join = joined(flow, behind);
    struct search search = {.blocks = {to[1 - edge]}, .count = 1};
    uint32_t wait = 0;
    const bool loop = join == PDL_NONE && flow->cfg->blocks[index].in_loop &&
                      comes_back(flow, to[1 - edge], index);
    if (join == PDL_NONE && !loop) {
        return;
    }
    for (uint32_t i = 0; i < search.count; i++) {
        const uint32_t block = search.blocks[i];
        const struct pdl_block *at = &flow->cfg->blocks[block];
        if (wait_of(mbarriers, flow, block) != 0) {
            wait = wait == 0 ? wait_of(mbarriers, flow, block) : wait;
            continue;
        }
        if (at->exits || at->successor_count == 0 || at->successor_count > 2 || search.full) {
            return;
        }
        for (uint32_t j = 0; j < at->successor_count; j++) {
            const uint32_t next = flow->cfg->successors[at->first_successor + j];
            if (next != behind && (join == PDL_NONE || joined(flow, next) != join)) {
                come_to(&search, next);
            } else if (at->successor_count == 1) {
                return; /* around all waits, whatever there is to do */
            }
        }
    }
    if (wait == 0 || search.full) {
        return;
    }
    mbarriers->around[index] = wait;
    mbarriers->none[index] = (uint8_t)edge;
    for (uint32_t i = 0; i < search.count; i++) {
        const uint32_t block = search.blocks[i];
        const struct pdl_block *at = &flow->cfg->blocks[block];
        for (uint32_t j = 0; j < at->successor_count && mbarriers->edge_of[block] == 0; j++) {
            const uint32_t next = flow->cfg->successors[at->first_successor + j];
            if (at->successor_count == 2 &&
                (next == behind || (join != PDL_NONE && joined(flow, next) == join))) {
                mbarriers->around[block] = wait;
                mbarriers->none[block] = (uint8_t)j;
            }
        }
    }
}

void pdl_mbarriers_find_turns(struct pdl_mbarriers *mbarriers, const struct pdl_flow *flow)
{
    memset(mbarriers->around, 0, flow->cfg->block_count * sizeof(*mbarriers->around));
    for (uint32_t i = 0; i < flow->cfg->block_count; i++) {
        const struct pdl_block *block = &flow->cfg->blocks[i];
        if (mbarriers->edge_of[i] != 0 || !asks_for_work(flow, block)) {
            continue;
        }
        for (uint32_t j = 0; j < 2 && mbarriers->around[i] == 0; j++) {
            mark_ways(mbarriers, flow, i, j);
        }
    }
}
