/* SPDX-License-Identifier: MIT */
#include "inspect/edit/points.h"

#define PDL_LAST_POINT UINT32_MAX

/* The first instruction of a block that needs the wait, or PDL_NONE. */
static uint32_t first_need(const struct pdl_needs *needs, const struct pdl_block *block)
{
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        if (pdl_needs_wait(needs, &needs->body->instructions[i])) {
            return i;
        }
    }
    return PDL_NONE;
}

/* The last one that reads, or PDL_NONE. */
static uint32_t last_read(const struct pdl_needs *needs, const struct pdl_block *block)
{
    for (uint32_t i = block->first + block->count; i-- > block->first;) {
        if (pdl_needs_reads(needs, &needs->body->instructions[i])) {
            return i;
        }
    }
    return PDL_NONE;
}

static bool leads_away(const struct pdl_instruction *instruction)
{
    const uint8_t op = instruction->opcode.op;
    return op == PDL_OP_BRANCH || op == PDL_OP_BRANCH_TABLE || op == PDL_OP_RETURN ||
           op == PDL_OP_EXIT || op == PDL_OP_TRAP;
}

/* The end of a block, before the branch that ends it. */
static struct pdl_place_at end_of(const struct pdl_needs *needs, const struct pdl_block *block)
{
    if (block->count == 0) {
        return (struct pdl_place_at){PDL_BESIDE_BEFORE, block->first};
    }
    const uint32_t last = block->first + block->count - 1;
    return (struct pdl_place_at){
        leads_away(&needs->body->instructions[last]) ? PDL_BESIDE_BEFORE : PDL_BESIDE_BEHIND, last};
}

/* The nearest block that dominates what needs the wait and every end of the kernel, outside of loops. A kernel
 * with an end that was not waited for would not keep the next one from starting too early. Returns
 * PDL_NONE if all are in loops. */
static uint32_t wait_block(const struct pdl_points *points, const struct pdl_needs *needs,
                           const struct pdl_cfg *cfg)
{
    uint32_t found = PDL_NONE;
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        const struct pdl_block *block = &cfg->blocks[i];
        if (pdl_dominators_reach(&points->before, i) &&
            (block->exits || first_need(needs, block) != PDL_NONE)) {
            found = found == PDL_NONE ? i : pdl_dominators_meet(&points->before, found, i);
        }
    }
    /* A kernel that neither ends nor needs anything may wait anywhere. */
    found = found == PDL_NONE ? 0 : found;
    while (cfg->blocks[found].in_loop && found != 0) {
        found = points->before.parent[found];
    }
    return cfg->blocks[found].in_loop ? PDL_NONE : found;
}

static struct pdl_place_at find_wait(const struct pdl_needs *needs, const struct pdl_cfg *cfg,
                                     uint32_t at)
{
    if (at == PDL_NONE) {
        return (struct pdl_place_at){PDL_BESIDE_FIRST_LABEL, 0};
    }
    const struct pdl_block *block = &cfg->blocks[at];
    const uint32_t need = first_need(needs, block);
    return need != PDL_NONE ? (struct pdl_place_at){PDL_BESIDE_BEFORE, need} : end_of(needs, block);
}

/* Whether a block only ends the kernel, which triggers as well. */
static bool only_ends(const struct pdl_block *block)
{
    return block->exits && block->count <= 1;
}

/* Whether every way to a block comes through the wait's block `at`, which is PDL_NONE before all blocks. */
static bool is_behind(const struct pdl_points *points, uint32_t at, uint32_t block)
{
    return pdl_dominators_reach(&points->before, block) &&
           (at == PDL_NONE || pdl_dominators_above(&points->before, at, block));
}

/* Behind the last read: the nearest block that every path comes to behind all reads, outside of loops. Threads that
 * leave without it trigger by that. `at` is the wait's block; *end is the one of the result, or PDL_NONE if
 * that is the wait. */
static struct pdl_place_at last_trigger(const struct pdl_points *points,
                                        const struct pdl_needs *needs, const struct pdl_cfg *cfg,
                                        uint32_t at, uint32_t *end)
{
    const struct pdl_dominators *behind = &points->behind;
    uint32_t found = PDL_NONE;
    *end = PDL_NONE;
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        if (!is_behind(points, at, i) || last_read(needs, &cfg->blocks[i]) == PDL_NONE) {
            continue;
        }
        if (!pdl_dominators_reach(behind, i)) {
            return points->wait; /* no end comes behind it */
        }
        found = found == PDL_NONE ? i : pdl_dominators_meet(behind, found, i);
    }
    if (found == PDL_NONE) {
        return points->wait;
    }
    while (found != behind->root && cfg->blocks[found].in_loop) {
        found = behind->parent[found];
    }
    if (found == behind->root) {
        *end = found;
        return (struct pdl_place_at){PDL_BESIDE_NOTHING, 0};
    }
    if (!is_behind(points, at, found)) {
        return points->wait; /* there is a way to it that has not waited */
    }
    const struct pdl_block *block = &cfg->blocks[found];
    const uint32_t read = last_read(needs, block);
    if (found == at && (read == PDL_NONE || read < points->wait.instruction)) {
        return points->wait;
    }
    *end = found;
    if (read != PDL_NONE) {
        return (struct pdl_place_at){PDL_BESIDE_BEHIND, read};
    }
    return (struct pdl_place_at){only_ends(block) ? PDL_BESIDE_NOTHING : PDL_BESIDE_BEFORE,
                                 block->first};
}

/* The trigger at point `wanted`, or at the last one: right behind the wait, where each further part begins that every
 * thread comes to which does not leave, and behind the last read. */
static struct pdl_place_at find_trigger(struct pdl_points *points, const struct pdl_needs *needs,
                                        const struct pdl_cfg *cfg, uint32_t at, uint32_t wanted)
{
    const struct pdl_dominators *behind = &points->behind;
    const uint32_t from = at != PDL_NONE ? at : 0;
    uint32_t end;
    const struct pdl_place_at last = last_trigger(points, needs, cfg, at, &end);
    struct pdl_place_at trigger = points->wait;
    points->trigger_count = 1;
    if (end != PDL_NONE && pdl_dominators_reach(behind, from)) {
        const uint32_t stop = pdl_dominators_meet(behind, from, end);
        for (uint32_t i = from; i != stop;) {
            i = behind->parent[i];
            /* The last part may have its last read in it. */
            const bool whole = i != stop || (stop == end && last.beside == PDL_BESIDE_BEHIND);
            if (whole && !cfg->blocks[i].in_loop && !only_ends(&cfg->blocks[i]) &&
                is_behind(points, at, i) && points->trigger_count++ <= wanted) {
                trigger = (struct pdl_place_at){PDL_BESIDE_BEFORE, cfg->blocks[i].first};
            }
        }
    }
    const bool differs =
        last.beside != points->wait.beside || last.instruction != points->wait.instruction;
    if (differs && last.beside != PDL_BESIDE_NOTHING && points->trigger_count++ <= wanted) {
        trigger = last;
    }
    return wanted == PDL_LAST_POINT ? last : trigger;
}

void pdl_points_find(struct pdl_points *points, const struct pdl_needs *needs,
                     const struct pdl_cfg *cfg, int32_t trigger)
{
    const bool places = trigger >= PDL_INSTRUMENT_TRIGGER_LAST_READ;
    points->trigger = (struct pdl_place_at){PDL_BESIDE_NOTHING, 0};
    points->trigger_count = 0;
    pdl_dominators_find(&points->before, cfg, false);
    if (places) {
        pdl_dominators_find(&points->behind, cfg, true);
    }
    const uint32_t at = wait_block(points, needs, cfg);
    points->block = at;
    points->wait = find_wait(needs, cfg, at);
    if (trigger == PDL_INSTRUMENT_TRIGGER_WAIT) {
        points->trigger = points->wait;
    } else if (places) {
        points->trigger = find_trigger(points, needs, cfg, at,
                                       trigger == PDL_INSTRUMENT_TRIGGER_LAST_READ
                                           ? PDL_LAST_POINT
                                           : (uint32_t)(trigger - PDL_INSTRUMENT_TRIGGER_POINT));
    }
}
