/* SPDX-License-Identifier: MIT */
#include "inspect/flow/shared.h"

#include <string.h>

#include "inspect/flow/formulas.h"

/* Definitions are followed through no more registers than this. */
#define DEPTH_MAX 200u

enum { NOT_SEEN, IN_PROGRESS, DONE };

/* What a register is made of while that is being found out: itself, on the way around a loop. */
#define CYCLE ((uint8_t)(PDL_SHARED_ADDRESS + 1))

void pdl_shared_start(struct pdl_shared_values *shared, const struct pdl_ptx_module *module,
                      const struct pdl_body *body, const struct pdl_cfg *cfg,
                      const struct pdl_values *values)
{
    const size_t count = (size_t)body->symbol_count + 1;
    shared->module = module;
    shared->body = body;
    shared->cfg = cfg;
    shared->values = values;
    PDL_RESERVE(shared->found, count, shared->found_capacity);
    PDL_RESERVE(shared->progress, count, shared->progress_capacity);
    memset(shared->progress, NOT_SEEN, count);
    shared->work = 4 * (uint32_t)(count < UINT32_MAX / 4 ? count : UINT32_MAX / 4);
}

static struct pdl_shared number(int64_t value)
{
    return (struct pdl_shared){
        .kind = PDL_SHARED_NUMBER, .root = PDL_NONE, .base = PDL_NONE, .offset = value};
}

static struct pdl_shared some_number(void)
{
    struct pdl_shared value = number(0);
    value.indexed = true;
    return value;
}

/* Whether it is a number that is known. */
static bool is_number(const struct pdl_shared *value)
{
    return value->kind == PDL_SHARED_NUMBER && !value->indexed;
}

/* Whatever a register holds, and of an address what variable it is in. It may be another one each
 * time that its instruction is executed. */
static struct pdl_shared opaque(const struct pdl_shared_values *shared, uint32_t symbol,
                                const struct pdl_shared *in)
{
    const uint32_t first = shared->values->first_definition[symbol];
    const uint32_t count = shared->values->first_definition[symbol + 1] - first;
    struct pdl_shared value = {
        .kind = PDL_SHARED_ADDRESS, .root = PDL_NONE, .base = symbol, .indexed = count != 1};
    if (in != NULL && in->kind == PDL_SHARED_ADDRESS) {
        value.root = in->root;
        value.argument = in->argument;
    }
    if (count == 1) {
        const uint32_t at = shared->values->definitions[first];
        value.indexed = shared->cfg->blocks[shared->cfg->block_of[at]].in_loop;
    }
    return value;
}

/* a + b, or a - b. */
static struct pdl_shared sum(const struct pdl_shared_values *shared, uint32_t symbol,
                             struct pdl_shared a, struct pdl_shared b, bool minus)
{
    if (a.kind == CYCLE || b.kind == CYCLE) {
        return (struct pdl_shared){.kind = CYCLE, .root = PDL_NONE, .base = PDL_NONE};
    }
    if (b.kind == PDL_SHARED_ADDRESS && a.kind == PDL_SHARED_NUMBER && !minus) {
        const struct pdl_shared swap = a;
        a = b;
        b = swap;
    }
    if (a.kind == PDL_SHARED_ADDRESS && b.kind == PDL_SHARED_ADDRESS) {
        if (minus) {
            return some_number();
        }
        /* An index that was loaded looks like an address that nothing is known of. */
        if ((a.root != PDL_NONE) == (b.root != PDL_NONE)) {
            return opaque(shared, symbol, NULL);
        }
        a = a.root != PDL_NONE ? a : b;
        a.indexed = true;
        return a;
    }
    if (b.kind != PDL_SHARED_NUMBER || a.kind == PDL_SHARED_UNKNOWN) {
        return opaque(shared, symbol, NULL);
    }
    if (b.indexed) {
        a.indexed = true;
    } else {
        a.offset = minus ? a.offset - b.offset : a.offset + b.offset;
    }
    return a;
}

/* One or the other. */
static struct pdl_shared either(const struct pdl_shared_values *shared, uint32_t symbol,
                                struct pdl_shared a, struct pdl_shared b)
{
    if (a.kind == CYCLE || b.kind == CYCLE) {
        struct pdl_shared value = a.kind == CYCLE ? b : a;
        value.indexed = value.kind == PDL_SHARED_ADDRESS || value.kind == PDL_SHARED_NUMBER;
        return value;
    }
    if (pdl_shared_same(&a, &b)) {
        return a;
    }
    if (a.kind == PDL_SHARED_NUMBER && b.kind == PDL_SHARED_NUMBER) {
        return some_number();
    }
    if (a.kind != b.kind || a.argument != b.argument || a.root != b.root) {
        return opaque(shared, symbol, NULL);
    }
    if (a.base != b.base) {
        return opaque(shared, symbol, &a);
    }
    a.indexed = true;
    a.offset = a.offset < b.offset ? a.offset : b.offset;
    return a;
}

/* NOLINTBEGIN(misc-no-recursion): no deeper than DEPTH_MAX registers */
static struct pdl_shared find(struct pdl_shared_values *shared, uint32_t symbol, unsigned depth);

static struct pdl_shared operand_value(struct pdl_shared_values *shared,
                                       const struct pdl_operand *operand, unsigned depth)
{
    if (operand->kind == PDL_OPERAND_NUMBER) {
        return number(operand->value);
    }
    if (operand->kind != PDL_OPERAND_SYMBOL) {
        return some_number();
    }
    struct pdl_shared value = find(shared, operand->symbol, depth);
    if (value.kind == PDL_SHARED_ADDRESS || value.kind == PDL_SHARED_NUMBER) {
        value.offset += operand->value;
    }
    return value;
}

static bool begins(const struct pdl_shared_values *shared,
                   const struct pdl_instruction *instruction, const char *word)
{
    return pdl_name_begins(&shared->module->names.names[instruction->name], word);
}

/* What an instruction makes of what is in its slots, where all of that is numbers. */
static bool compute(const struct pdl_shared_values *shared,
                    const struct pdl_instruction *instruction,
                    const struct pdl_operand *const *in_slot, const struct pdl_shared *in,
                    int64_t *value)
{
    const struct pdl_formula formula =
        pdl_formula_read(shared->module, shared->body, instruction, 0);
    struct pdl_range terms[PDL_FORMULA_TERMS];
    if (formula.op <= PDL_FORMULA_OPAQUE) {
        return false;
    }
    for (unsigned i = 0; i < formula.count; i++) {
        int64_t of = formula.terms[i].value;
        bool known = formula.terms[i].symbol == PDL_NONE;
        for (unsigned j = 1; j < 4 && !known; j++) {
            known = in_slot[j] != NULL && in_slot[j]->symbol == formula.terms[i].symbol &&
                    is_number(&in[j]);
            of = in[j].offset;
        }
        if (!known || formula.terms[i].negated) {
            return false;
        }
        terms[i] = pdl_formula_number(&formula, i, of);
    }
    const struct pdl_range result = pdl_formula_result(&formula, terms, false);
    *value = result.low;
    return pdl_range_is_value(&result);
}

/* What an instruction gives its result, a register. */
static struct pdl_shared definition(struct pdl_shared_values *shared, uint32_t symbol,
                                    const struct pdl_instruction *instruction, unsigned depth)
{
    const struct pdl_operand *operands = &shared->body->operands[instruction->first_operand];
    const struct pdl_operand *in_slot[4] = {NULL};
    struct pdl_shared in[4];
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        if (operands[i].slot < 4) {
            in_slot[operands[i].slot] = &operands[i];
        }
    }
    const uint8_t op = instruction->opcode.op;
    if (op == PDL_OP_LOAD && instruction->opcode.space == PDL_SPACE_PARAM && in_slot[1] != NULL &&
        in_slot[1]->kind == PDL_OPERAND_SYMBOL) {
        const struct pdl_symbol *parameter = &shared->body->symbols[in_slot[1]->symbol];
        if (parameter->kind == PDL_SYMBOL_PARAMETER && !shared->body->function->is_entry) {
            return (struct pdl_shared){.kind = PDL_SHARED_ADDRESS,
                                       .argument = true,
                                       .root = parameter->index,
                                       .base = PDL_NONE};
        }
        /* No kernel is passed an address in its own shared memory. */
        return parameter->kind == PDL_SYMBOL_PARAMETER ? some_number()
                                                       : opaque(shared, symbol, NULL);
    }
    if (op != PDL_OP_CARRY && op != PDL_OP_CVTA && op != PDL_OP_SCALE && op != PDL_OP_LANE) {
        return opaque(shared, symbol, NULL);
    }
    for (unsigned i = 1; i < 4; i++) {
        in[i] = in_slot[i] != NULL ? operand_value(shared, in_slot[i], depth + 1) : some_number();
    }
    int64_t value;
    if (compute(shared, instruction, in_slot, in, &value)) {
        return number(value);
    }
    if (op == PDL_OP_SCALE) {
        return some_number();
    }
    if (in_slot[1] == NULL) {
        return opaque(shared, symbol, NULL);
    }
    if (begins(shared, instruction, "add.") || begins(shared, instruction, "or.")) {
        return sum(shared, symbol, in[1], in[2], false);
    }
    if (begins(shared, instruction, "sub.")) {
        return sum(shared, symbol, in[1], in[2], true);
    }
    if (begins(shared, instruction, "mad.")) {
        const bool known = is_number(&in[1]) && is_number(&in[2]) && in[1].offset < 1 << 30 &&
                           in[2].offset < 1 << 30 && in[1].offset >= 0 && in[2].offset >= 0;
        return sum(shared, symbol, known ? number(in[1].offset * in[2].offset) : some_number(),
                   in[3], false);
    }
    if (begins(shared, instruction, "and.")) {
        /* The address of the same barrier in the first block of a pair, or an alignment. */
        const bool mask = is_number(&in[2]);
        if (in[1].kind == PDL_SHARED_ADDRESS && in[1].root != PDL_NONE) {
            return mask && (in[2].offset & 0xfffff) == 0xfffff ? in[1]
                                                               : opaque(shared, symbol, &in[1]);
        }
        return some_number();
    }
    if (begins(shared, instruction, "selp.") || begins(shared, instruction, "slct.") ||
        begins(shared, instruction, "min.") || begins(shared, instruction, "max.")) {
        return either(shared, symbol, in[1], in[2]);
    }
    if (op == PDL_OP_CVTA || begins(shared, instruction, "mov.") ||
        begins(shared, instruction, "cvt.") || begins(shared, instruction, "shfl.")) {
        return instruction->operand_count >= 2 && in[1].kind != PDL_SHARED_UNKNOWN
                   ? in[1]
                   : opaque(shared, symbol, NULL);
    }
    return op == PDL_OP_LANE ? some_number() : opaque(shared, symbol, NULL);
}

static struct pdl_shared find(struct pdl_shared_values *shared, uint32_t symbol, unsigned depth)
{
    const struct pdl_symbol *at = &shared->body->symbols[symbol];
    switch (at->kind) {
    case PDL_SYMBOL_SPECIAL:
        return some_number();
    case PDL_SYMBOL_VARIABLE:
        return (struct pdl_shared){.kind = PDL_SHARED_ADDRESS, .root = at->name, .base = PDL_NONE};
    case PDL_SYMBOL_PARAMETER:
        if (at->space != PDL_SPACE_PARAM && !shared->body->function->is_entry) {
            return (struct pdl_shared){
                .kind = PDL_SHARED_ADDRESS, .argument = true, .root = at->index, .base = PDL_NONE};
        }
        return opaque(shared, symbol, NULL);
    case PDL_SYMBOL_REGISTER:
    case PDL_SYMBOL_LOCAL_PARAMETER:
        break;
    default:
        return opaque(shared, symbol, NULL);
    }
    if (shared->progress[symbol] == DONE) {
        return shared->found[symbol];
    }
    if (shared->progress[symbol] == IN_PROGRESS) {
        return (struct pdl_shared){.kind = CYCLE, .root = PDL_NONE, .base = PDL_NONE};
    }
    const uint32_t first = shared->values->first_definition[symbol];
    const uint32_t end = shared->values->first_definition[symbol + 1];
    if (first == end || depth > DEPTH_MAX || shared->work == 0) {
        return opaque(shared, symbol, NULL);
    }
    shared->progress[symbol] = IN_PROGRESS;
    shared->work--;
    struct pdl_shared value = {0};
    for (uint32_t i = first; i < end; i++) {
        const struct pdl_instruction *from =
            &shared->body->instructions[shared->values->definitions[i]];
        const struct pdl_shared one =
            from->opcode.op == PDL_OP_STORE && from->operand_count == 2
                ? operand_value(shared, &shared->body->operands[from->first_operand + 1], depth + 1)
                : definition(shared, symbol, from, depth);
        value = i == first ? one : either(shared, symbol, value, one);
    }
    if (value.kind == CYCLE && depth > 0) { /* it is found once what it is made of is */
        shared->progress[symbol] = NOT_SEEN;
        return value;
    }
    if (value.kind == CYCLE || value.kind == PDL_SHARED_UNKNOWN) {
        value = opaque(shared, symbol, NULL);
    }
    shared->progress[symbol] = DONE;
    shared->found[symbol] = value;
    return value;
}

/* NOLINTEND(misc-no-recursion) */

struct pdl_shared pdl_shared_operand(struct pdl_shared_values *shared,
                                     const struct pdl_operand *operand)
{
    return operand_value(shared, operand, 0);
}

bool pdl_shared_number(struct pdl_shared_values *shared, const struct pdl_operand *operand,
                       int64_t *value)
{
    const struct pdl_shared found = operand_value(shared, operand, 0);
    *value = found.offset;
    return !operand->memory && is_number(&found);
}
