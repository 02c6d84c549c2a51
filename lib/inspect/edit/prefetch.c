/* SPDX-License-Identifier: MIT */
/* A prefetch has the guard of its load, so that it has no address that the kernel would not read itself. */
#include "inspect/edit/prefetch.h"

/* Bytes that one prefetch is for. */
#define LINE 128

/* Whether a thread may end in a function that the kernel calls. */
static bool may_leave(const struct pdl_needs *needs)
{
    bool leaves = false;
    for (uint32_t i = 0; i < needs->body->instruction_count && !leaves; i++) {
        const struct pdl_instruction *at = &needs->body->instructions[i];
        leaves = at->opcode.op == PDL_OP_CALL && !pdl_needs_nothing(needs, at);
    }
    return leaves;
}

/* Whether every thread that waits comes to an instruction behind the wait. `leaves` is of may_leave(); no call is between
 * two instructions of a block. */
static bool is_certain(const struct pdl_points *points, const struct pdl_cfg *cfg, bool leaves,
                       uint32_t instruction)
{
    const uint32_t block = cfg->block_of[instruction];
    if (block == points->block) {
        return instruction >= points->wait.instruction;
    }
    return !leaves && pdl_dominators_reach(&points->before, block) &&
           pdl_dominators_reach(&points->behind, block) &&
           pdl_dominators_above(&points->before, points->block, block) &&
           pdl_dominators_above(&points->behind, block, points->block);
}

/* The only instruction that defines a register, if every thread executes it once before the wait; else PDL_NONE. */
static uint32_t definition(const struct pdl_points *points, const struct pdl_needs *needs,
                           const struct pdl_cfg *cfg, uint32_t symbol)
{
    const struct pdl_instruction *at =
        needs->body->symbols[symbol].kind == PDL_SYMBOL_REGISTER
            ? pdl_values_definition(needs->values, needs->body, symbol)
            : NULL;
    if (at == NULL || at->guard != PDL_NONE || at->opcode.op == PDL_OP_CALL) {
        return PDL_NONE;
    }
    const uint32_t index = (uint32_t)(at - needs->body->instructions);
    const uint32_t block = cfg->block_of[index];
    const bool before = block == points->block
                            ? index < points->wait.instruction
                            : pdl_dominators_reach(&points->before, block) &&
                                  pdl_dominators_above(&points->before, block, points->block);
    return before && !cfg->blocks[block].in_loop ? index : PDL_NONE;
}

/* Whether the first of two such instructions comes before the other. */
static bool comes_before(const struct pdl_points *points, const struct pdl_cfg *cfg, uint32_t a,
                         uint32_t b)
{
    const uint32_t of_a = cfg->block_of[a], of_b = cfg->block_of[b];
    return of_a == of_b ? a <= b : pdl_dominators_above(&points->before, of_a, of_b);
}

static bool is_known(const struct pdl_prefetch *prefetches, uint32_t count,
                     const struct pdl_needs *needs, const struct pdl_prefetch *one)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct pdl_instruction *load = &needs->body->instructions[one->load];
        const struct pdl_instruction *other = &needs->body->instructions[prefetches[i].load];
        const int64_t apart = one->address->value - prefetches[i].address->value;
        if (prefetches[i].address->symbol == one->address->symbol && other->guard == load->guard &&
            other->guard_negated == load->guard_negated && apart < LINE && apart > -LINE) {
            return true;
        }
    }
    return false;
}

/* Whether an address is behind constant pointers: neither a tensor map nor a parameter itself. */
static bool is_memory(const struct pdl_needs *needs, const struct pdl_value *address)
{
    bool memory = pdl_constants_have(needs->constants, address);
    for (unsigned i = 0; i < address->count; i++) {
        memory = memory && address->sources[i].kind != PDL_SOURCE_ADDRESS;
    }
    return memory;
}

static bool find_one(struct pdl_prefetch *one, const struct pdl_points *points,
                     const struct pdl_needs *needs, const struct pdl_cfg *cfg, bool leaves)
{
    const struct pdl_instruction *load = &needs->body->instructions[one->load];
    /* A fourth operand of a copy may say that it reads less, or nothing. */
    const bool copies = load->opcode.op == PDL_OP_COPY && load->operand_count == 3;
    if ((load->opcode.op != PDL_OP_LOAD && !copies) || !load->opcode.reads ||
        !is_certain(points, cfg, leaves, one->load)) {
        return false;
    }
    one->address = pdl_address_operand(needs->body, load, load->opcode.read_slot);
    if (one->address == NULL || one->address->kind != PDL_OPERAND_SYMBOL ||
        one->address->value != (int32_t)one->address->value) {
        return false;
    }
    const struct pdl_name *name = &needs->module->names.names[load->name];
    struct pdl_parts parts;
    pdl_parts_split(&parts, name->text, name->length);
    const struct pdl_value value = pdl_operand_value(needs->values, needs->body, one->address);
    if (pdl_part_find(&parts, "tensor") != 0 || pdl_part_is(&parts, 0, "multimem") ||
        !is_memory(needs, &value)) {
        return false;
    }
    one->from = one->behind = definition(points, needs, cfg, one->address->symbol);
    if (one->from != PDL_NONE && load->guard != PDL_NONE) {
        const uint32_t guard = definition(points, needs, cfg, load->guard);
        if (guard == PDL_NONE) {
            return false;
        }
        *(comes_before(points, cfg, guard, one->from) ? &one->from : &one->behind) = guard;
    }
    return one->from != PDL_NONE;
}

uint32_t pdl_prefetches_find(struct pdl_prefetch *prefetches, const struct pdl_points *points,
                             const struct pdl_needs *needs, const struct pdl_cfg *cfg)
{
    uint32_t count = 0;
    if (points->block == PDL_NONE || !pdl_dominators_reach(&points->behind, points->block)) {
        return 0;
    }
    const bool leaves = may_leave(needs);
    for (uint32_t i = 0; i < needs->body->instruction_count && count < PDL_PREFETCHES_MAX; i++) {
        struct pdl_prefetch one = {.load = i};
        if (find_one(&one, points, needs, cfg, leaves) &&
            !is_known(prefetches, count, needs, &one)) {
            prefetches[count++] = one;
        }
    }
    return count;
}
