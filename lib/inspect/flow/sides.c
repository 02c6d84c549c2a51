/* SPDX-License-Identifier: MIT */
#include "inspect/flow/sides.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t hash, uint64_t part)
{
    hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 31;
}

/* Marks the blocks that can be reached from one, but not through another. */
static void reach(struct pdl_sides *sides, const struct pdl_cfg *cfg, uint32_t from,
                  uint32_t except, uint8_t mark)
{
    uint32_t queued = 0;
    if (from != except && !(sides->reached[from] & mark)) {
        sides->reached[from] |= mark;
        sides->queue[queued++] = from;
    }
    while (queued > 0) {
        const struct pdl_block *block = &cfg->blocks[sides->queue[--queued]];
        for (uint32_t i = 0; i < block->successor_count; i++) {
            const uint32_t to = cfg->successors[block->first_successor + i];
            if (to != except && !(sides->reached[to] & mark)) {
                sides->reached[to] |= mark;
                sides->queue[queued++] = to;
            }
        }
    }
}

/* Whether an instruction does more than compute. */
static bool counts(const struct pdl_flow *flow, const struct pdl_instruction *instruction)
{
    bool harmless = false;
    switch (instruction->opcode.op) {
    case PDL_OP_CALL:
        return pdl_flow_callee(flow->module, instruction, &harmless) != NULL || !harmless;
    case PDL_OP_BARRIER_BLOCK:
    case PDL_OP_BARRIER_ARRIVE:
    case PDL_OP_BARRIER_CLUSTER:
    case PDL_OP_TRAP:
        return true;
    default:
        return instruction->opcode.reads || instruction->opcode.writes;
    }
}

/* What makes an instruction the same as its copy elsewhere: the innermost line, or, without lines, the
 * opcode; and where its addresses come from. */
static uint64_t key_of(const struct pdl_flow *flow, const struct pdl_instruction *instruction,
                       bool lines)
{
    uint64_t key = mix(instruction->opcode.reads, instruction->opcode.writes);
    if (lines && instruction->place != PDL_NONE) {
        const struct pdl_place *place = &flow->body->places[instruction->place];
        key = mix(mix(key, place->file), place->line);
    } else {
        key = mix(mix(key, instruction->name), instruction->callee);
    }
    for (unsigned slot = 0; slot < 3; slot++) {
        const struct pdl_operand *operand = pdl_address_operand(flow->body, instruction, slot);
        if (operand != NULL) {
            const struct pdl_value value = pdl_operand_value(flow->values, flow->body, operand);
            key = mix(key, value.count > 0 ? value.sources[0].index : PDL_NONE);
            key = mix(key, value.count > 0 ? (uint32_t)value.sources[0].offset : 0);
        }
    }
    return key;
}

static int compare_keys(const void *left, const void *right)
{
    const uint64_t *a = left;
    const uint64_t *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* Collects what only one side does; each once. */
static void collect(struct pdl_sides *sides, const struct pdl_flow *flow, unsigned side, bool lines)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < flow->cfg->block_count; i++) {
        const struct pdl_block *block = &flow->cfg->blocks[i];
        if (sides->reached[i] != 1u << side) {
            continue;
        }
        for (uint32_t j = 0; j < block->count; j++) {
            const struct pdl_instruction *at = &flow->body->instructions[block->first + j];
            if (!counts(flow, at)) {
                continue;
            }
            PDL_ADD(sides->keys[side], count, sides->key_capacity[side], key_of(flow, at, lines));
        }
    }
    if (count > 1) {
        qsort(sides->keys[side], count, sizeof(*sides->keys[side]), compare_keys);
    }
    sides->counts[side] = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || sides->keys[side][i] != sides->keys[side][i - 1]) {
            sides->keys[side][sides->counts[side]++] = sides->keys[side][i];
        }
    }
}

bool pdl_sides_compare(struct pdl_sides *sides, const struct pdl_flow *flow, uint32_t block)
{
    const struct pdl_cfg *cfg = flow->cfg;
    const struct pdl_block *at = &cfg->blocks[block];
    bool same = false;
    if (at->successor_count == 0 || at->successor_count > 2) {
        return false;
    }
    PDL_RESERVE(sides->reached, cfg->block_count, sides->reached_capacity);
    PDL_RESERVE(sides->queue, cfg->block_count, sides->queue_capacity);
    memset(sides->reached, 0, cfg->block_count);
    for (uint32_t i = 0; i < at->successor_count; i++) {
        reach(sides, cfg, cfg->successors[at->first_successor + i], block, (uint8_t)(1u << i));
    }
    for (unsigned i = 0; i < 2 && !same; i++) {
        collect(sides, flow, 0, i == 0);
        collect(sides, flow, 1, i == 0);
        same = sides->counts[0] == sides->counts[1] &&
               (sides->counts[0] == 0 || memcmp(sides->keys[0], sides->keys[1],
                                                sides->counts[0] * sizeof(*sides->keys[0])) == 0);
    }
    return same;
}
