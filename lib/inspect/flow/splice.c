/* SPDX-License-Identifier: MIT */
/* `maybe_wait(flag)` that the compiler did not inline. Its condition is followed only in the body that
 * its argument comes from: whether it is a flag of the launch, or a range of threads that reads later. */
#include "inspect/flow/splice.h"

#include <string.h>

#include "inspect/flow/summary.h"

/* Functions with more stay calls. */
#define INSTRUCTIONS_MAX 256u
#define PARAMETERS_MAX   16u
/* Calls in one body that functions are put in place of; where there are more, none is. */
#define CALLS_MAX 64u
/* Functions that are put in place of calls: so much text, and as much as there is. */
#define BYTES_MAX (UINT64_C(1) << 16)

/* Bytes of a .param that are stored and loaded as one: they become a register. */
struct pdl_cell {
    uint32_t symbol, next; /* the .param, and its next cell, + 1 */
    int64_t offset;
    uint32_t value; /* the register, or PDL_NONE */
    bool stored, loaded;
};

/* ---- which calls ------------------------------------------------------------------------------------ */

static const struct pdl_ptx_function *wanted(const struct pdl_splice *splice,
                                             const struct pdl_ptx_module *module,
                                             const struct pdl_body *body,
                                             const struct pdl_instruction *call)
{
    const struct pdl_summary *summary = call->called;
    const struct pdl_ptx_function *function =
        call->opcode.op == PDL_OP_CALL && call->callee != PDL_NONE && summary != NULL
            ? pdl_ptx_function_find(module, call->callee)
            : NULL;
    if (function == NULL || function == body->function || function->in_group ||
        function->summary != summary || call->guard != PDL_NONE ||
        function->parameter_count > PARAMETERS_MAX) {
        return NULL;
    }
    const uint64_t bytes = function->body_end - function->body;
    const bool decides = summary->waits && (summary->out & PDL_STATE_NOT_WAITED) != 0;
    const bool only = summary->effect_count == 0 && !summary->touches && !summary->unknown &&
                      !summary->cut && summary->use_count == 0;
    return decides && only &&
                   splice->bytes + bytes <= BYTES_MAX + (uint64_t)(module->end - module->text)
               ? function
               : NULL;
}

/* The `index`-th operand of a call in a slot; PDL_NONE if it is no symbol. */
static uint32_t passed(const struct pdl_body *body, const struct pdl_instruction *call,
                       unsigned slot, uint32_t index)
{
    for (uint32_t i = 0; i < call->operand_count; i++) {
        const struct pdl_operand *operand = &body->operands[call->first_operand + i];
        if (operand->slot == slot && index-- == 0) {
            return operand->kind == PDL_OPERAND_SYMBOL ? operand->symbol : PDL_NONE;
        }
    }
    return PDL_NONE;
}

/* ---- the callee's symbols --------------------------------------------------------------------------- */

static uint32_t add_symbol(struct pdl_body *body, struct pdl_symbol symbol)
{
    PDL_ADD(body->symbols, body->symbol_count, body->symbol_capacity, symbol);
    return body->symbol_count - 1;
}

/* A special register has one symbol in a body. */
static uint32_t special(struct pdl_splice *splice, struct pdl_body *body, struct pdl_symbol symbol)
{
    for (uint32_t i = 0; i < splice->special_count; i++) {
        if (body->symbols[splice->specials[i]].name == symbol.name) {
            return splice->specials[i];
        }
    }
    const uint32_t added = add_symbol(body, symbol);
    if (splice->special_count < PDL_SPLICE_SPECIALS) {
        splice->specials[splice->special_count++] = added;
    }
    return added;
}

static void find_specials(struct pdl_splice *splice, const struct pdl_body *body)
{
    splice->special_count = 0;
    for (uint32_t i = 0; i < body->symbol_count; i++) {
        if (body->symbols[i].kind == PDL_SYMBOL_SPECIAL &&
            splice->special_count < PDL_SPLICE_SPECIALS) {
            splice->specials[splice->special_count++] = i;
        }
    }
}

/* Whether the callee is as simple as it has to be, and its parameters are what the call passes. */
static bool fits(const struct pdl_body *body, const struct pdl_body *callee,
                 const struct pdl_instruction *call)
{
    bool fit = callee->instruction_count <= INSTRUCTIONS_MAX;
    for (uint32_t i = 0; i < callee->instruction_count && fit; i++) {
        const struct pdl_instruction *at = &callee->instructions[i];
        fit = at->opcode.op != PDL_OP_BRANCH_TABLE &&
              (at->opcode.op != PDL_OP_CALL || at->callee != PDL_NONE);
    }
    for (uint32_t i = 0; i < callee->symbol_count && fit; i++) {
        const struct pdl_symbol *symbol = &callee->symbols[i];
        if (symbol->kind != PDL_SYMBOL_PARAMETER && symbol->kind != PDL_SYMBOL_RESULT) {
            continue;
        }
        const unsigned slot =
            symbol->kind == PDL_SYMBOL_RESULT ? 0 : (unsigned)call->target_slot + 1u;
        const uint32_t by = passed(body, call, slot, symbol->index);
        fit = by != PDL_NONE &&
              (symbol->kind == PDL_SYMBOL_RESULT || symbol->space != PDL_SPACE_PARAM ||
               body->symbols[by].kind == PDL_SYMBOL_LOCAL_PARAMETER);
    }
    return fit;
}

static void map_symbols(struct pdl_splice *splice, struct pdl_body *body,
                        const struct pdl_instruction *call)
{
    const struct pdl_body *callee = &splice->callee;
    PDL_RESERVE(splice->symbols, (size_t)callee->symbol_count + 1, splice->symbol_capacity);
    for (uint32_t i = 0; i < callee->symbol_count; i++) {
        const struct pdl_symbol symbol = callee->symbols[i];
        uint32_t *to = &splice->symbols[i];
        switch (symbol.kind) {
        case PDL_SYMBOL_PARAMETER:
            *to = passed(body, call, call->target_slot + 1u, symbol.index);
            break;
        case PDL_SYMBOL_RESULT:
            *to = passed(body, call, 0, symbol.index);
            break;
        case PDL_SYMBOL_SPECIAL:
            *to = special(splice, body, symbol);
            break;
        default:
            *to = add_symbol(body, symbol);
            break;
        }
    }
}

/* ---- the callee's instructions ---------------------------------------------------------------------- */

static void add_operand(struct pdl_body *body, struct pdl_operand operand)
{
    PDL_ADD(body->operands, body->operand_count, body->operand_capacity, operand);
}

static void add_instruction(struct pdl_splice *splice, const struct pdl_instruction *instruction)
{
    PDL_ADD(splice->instructions, splice->count, splice->instruction_capacity, *instruction);
}

static uint32_t symbol_of(const struct pdl_splice *splice, uint32_t symbol)
{
    return symbol != PDL_NONE ? splice->symbols[symbol] : PDL_NONE;
}

/* Says that branches lead to an instruction. */
static void add_label(struct pdl_body *body, uint32_t instruction)
{
    PDL_ADD(body->labels, body->label_count, body->label_capacity,
            (struct pdl_label){.name = PDL_NONE, .scope = PDL_NONE, .instruction = instruction});
}

/* Puts the callee that was read in place of a call: a return goes to what is behind it, and all of it
 * is where the call is in the source. */
static void put(struct pdl_splice *splice, struct pdl_ptx_module *module, struct pdl_body *body,
                const struct pdl_instruction *call)
{
    const struct pdl_body *callee = &splice->callee;
    const uint32_t first = splice->count;
    const uint32_t bra = pdl_names_add(&module->names, "bra", 3);
    map_symbols(splice, body, call);
    for (uint32_t i = 0; i < callee->instruction_count; i++) {
        struct pdl_instruction at = callee->instructions[i];
        const uint32_t from = at.first_operand;
        at.guard = symbol_of(splice, at.guard);
        at.target = symbol_of(splice, at.target);
        at.line = call->line;
        at.column = call->column;
        at.place = call->place;
        at.first_operand = body->operand_count;
        if (at.opcode.op == PDL_OP_RETURN) {
            at.name = bra;
            at.opcode = pdl_opcode_class("bra", 3);
            at.operand_count = 1;
            add_operand(body, (struct pdl_operand){.kind = PDL_OPERAND_TARGET,
                                                   .symbol = first + callee->instruction_count});
        }
        for (uint32_t j = 0; j < callee->instructions[i].operand_count; j++) {
            struct pdl_operand operand = callee->operands[from + j];
            if (operand.kind == PDL_OPERAND_SYMBOL) {
                operand.symbol = symbol_of(splice, operand.symbol);
            } else if (operand.kind == PDL_OPERAND_TARGET) {
                operand.symbol += first;
            }
            add_operand(body, operand);
        }
        add_instruction(splice, &at);
    }
    for (uint32_t i = 0; i < callee->label_count; i++) {
        add_label(body, first + callee->labels[i].instruction);
    }
    add_label(body, splice->count);
}

/* Branches of the body itself go where its instructions are now; `labels` were there before. */
static void move_targets(const struct pdl_splice *splice, struct pdl_body *body, uint32_t labels)
{
    for (uint32_t i = 0; i < labels; i++) {
        body->labels[i].instruction = splice->moved[body->labels[i].instruction];
    }
    for (uint32_t i = 0; i < body->instruction_count; i++) {
        const struct pdl_instruction *at = &body->instructions[i];
        for (uint32_t j = 0; at->opcode.op == PDL_OP_BRANCH && j < at->operand_count; j++) {
            struct pdl_operand *operand = &body->operands[at->first_operand + j];
            if (operand->kind == PDL_OPERAND_TARGET) {
                operand->symbol = splice->moved[operand->symbol];
            }
        }
    }
    for (uint32_t i = 0; i < body->target_count; i++) {
        if (body->targets[i].kind == PDL_OPERAND_TARGET) {
            body->targets[i].symbol = splice->moved[body->targets[i].symbol];
        }
    }
}

/* ---- parameters to registers ------------------------------------------------------------------------ */

/* The moves that a store to a .param and a load from it become. */
static const struct {
    const char *type, *store, *load;
} moves[] = {
    {"b8", "mov.b16", "cvt.u16.u8"}, {"u8", "mov.b16", "cvt.u16.u8"},
    {"s8", "mov.b16", "cvt.s16.s8"}, {"b16", "mov.b16", "mov.b16"},
    {"u16", "mov.b16", "mov.b16"},   {"s16", "mov.b16", "mov.b16"},
    {"b32", "mov.b32", "mov.b32"},   {"u32", "mov.b32", "mov.b32"},
    {"s32", "mov.b32", "mov.b32"},   {"b64", "mov.b64", "mov.b64"},
    {"u64", "mov.b64", "mov.b64"},   {"s64", "mov.b64", "mov.b64"},
};

/* The move that a store or load of a .param becomes, or NULL; *address: its operand. */
static const char *move_of(const struct pdl_ptx_module *module, const struct pdl_body *body,
                           const struct pdl_instruction *instruction, uint32_t *address)
{
    const struct pdl_name *name = &module->names.names[instruction->name];
    const bool store = pdl_name_begins(name, "st.param.");
    if (instruction->operand_count != 2 || (!store && !pdl_name_begins(name, "ld.param."))) {
        return NULL;
    }
    *address = instruction->first_operand + (store ? 0 : 1);
    const struct pdl_operand *operand = &body->operands[*address];
    for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
        if (strlen(moves[i].type) == name->length - 9 &&
            memcmp(moves[i].type, name->text + 9, name->length - 9) == 0) {
            return operand->address && operand->kind == PDL_OPERAND_SYMBOL &&
                           body->symbols[operand->symbol].kind == PDL_SYMBOL_LOCAL_PARAMETER
                       ? (store ? moves[i].store : moves[i].load)
                       : NULL;
        }
    }
    return NULL;
}

/* The cell of an operand, + 1; a new one if `add`. 0 if there is none. */
static uint32_t cell_of(struct pdl_splice *splice, const struct pdl_operand *operand, bool add)
{
    uint32_t *first = &splice->cells[operand->symbol];
    for (uint32_t i = *first; i != 0; i = splice->parts[i - 1].next) {
        if (splice->parts[i - 1].offset == operand->value) {
            return i;
        }
    }
    if (add) {
        PDL_ADD(splice->parts, splice->part_count, splice->part_capacity,
                (struct pdl_cell){.symbol = operand->symbol,
                                  .next = *first,
                                  .offset = operand->value,
                                  .value = PDL_NONE});
        *first = splice->part_count;
        return *first;
    }
    return 0;
}

/* What was passed to the functions, and what they return, goes through registers from here on. */
static void use_registers(struct pdl_splice *splice, struct pdl_ptx_module *module,
                          struct pdl_body *body)
{
    uint32_t address = 0;
    PDL_RESERVE(splice->cells, body->symbol_count, splice->cell_capacity);
    memset(splice->cells, 0, body->symbol_count * sizeof(*splice->cells));
    splice->part_count = 0;
    for (uint32_t i = 0; i < body->instruction_count; i++) {
        if (move_of(module, body, &body->instructions[i], &address) != NULL) {
            const uint32_t cell = cell_of(splice, &body->operands[address], true);
            const bool store = address == body->instructions[i].first_operand;
            splice->parts[cell - 1].stored = splice->parts[cell - 1].stored || store;
            splice->parts[cell - 1].loaded = splice->parts[cell - 1].loaded || !store;
        }
    }
    for (uint32_t i = 0; i < splice->part_count; i++) {
        struct pdl_cell *cell = &splice->parts[i];
        if (cell->stored && cell->loaded) {
            cell->value = add_symbol(body, (struct pdl_symbol){
                                               .name = body->symbols[cell->symbol].name,
                                               .kind = PDL_SYMBOL_REGISTER,
                                           });
        }
    }
    for (uint32_t i = 0; i < body->instruction_count; i++) {
        struct pdl_instruction *at = &body->instructions[i];
        const char *move = move_of(module, body, at, &address);
        const uint32_t cell = move != NULL ? cell_of(splice, &body->operands[address], false) : 0;
        if (cell != 0 && splice->parts[cell - 1].value != PDL_NONE) {
            const uint16_t slot = body->operands[address].slot;
            body->operands[address] = (struct pdl_operand){
                .symbol = splice->parts[cell - 1].value, .slot = slot, .kind = PDL_OPERAND_SYMBOL};
            at->name = pdl_names_add(&module->names, move, (uint32_t)strlen(move));
            at->opcode = pdl_opcode_class(move, strlen(move));
        }
    }
}

/* ---- the whole -------------------------------------------------------------------------------------- */

/* Whether there are calls to replace, and not too many. A function that does nothing else is put in place
 * of its own calls. */
static bool is_worth_it(const struct pdl_splice *splice, const struct pdl_ptx_module *module,
                        const struct pdl_body *body)
{
    unsigned calls = 0;
    bool more = body->function->is_entry;
    for (uint32_t i = 0; i < body->instruction_count && calls <= CALLS_MAX; i++) {
        const struct pdl_instruction *at = &body->instructions[i];
        const bool call = wanted(splice, module, body, at) != NULL;
        calls += call;
        more = more || at->opcode.reads || at->opcode.writes ||
               (at->opcode.op == PDL_OP_CALL && !call);
    }
    return more && calls > 0 && calls <= CALLS_MAX;
}

bool pdl_splice(struct pdl_splice *splice, struct pdl_ptx_module *module, struct pdl_body *body)
{
    const struct pdl_body before = *body;
    bool spliced = false;
    if (!is_worth_it(splice, module, body)) {
        return false;
    }
    PDL_RESERVE(splice->moved, (size_t)body->instruction_count + 1, splice->moved_capacity);
    splice->count = 0;
    find_specials(splice, body);
    for (uint32_t i = 0; i < before.instruction_count; i++) {
        const struct pdl_instruction *at = &body->instructions[i];
        const struct pdl_ptx_function *function = wanted(splice, module, body, at);
        splice->moved[i] = splice->count;
        if (function != NULL) {
            splice->bytes += function->body_end - function->body;
            pdl_ptx_body_read(module, function, &splice->callee);
            pdl_ptx_labels_resolve(module, &splice->callee);
        }
        const bool fit = function != NULL && fits(body, &splice->callee, at);
        spliced = spliced || fit;
        if (fit) {
            put(splice, module, body, at);
        } else {
            add_instruction(splice, at);
        }
    }
    splice->moved[before.instruction_count] = splice->count;
    move_targets(splice, body, before.label_count);
    struct pdl_instruction *instructions = body->instructions;
    const size_t capacity = body->instruction_capacity;
    body->instructions = splice->instructions;
    body->instruction_capacity = splice->instruction_capacity;
    body->instruction_count = splice->count;
    splice->instructions = instructions;
    splice->instruction_capacity = capacity;
    if (spliced) {
        use_registers(splice, module, body);
    }
    return spliced;
}
