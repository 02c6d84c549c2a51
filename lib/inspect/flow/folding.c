/* SPDX-License-Identifier: MIT */
#include "inspect/flow/folding.h"

#include <string.h>

#include "inspect/flow/formulas.h"

/* A parameter that more stores than this set is not looked at. */
#define STORES_MAX 64u

static const struct pdl_constant unset = {.kind = PDL_CONSTANT_UNSET};
static const struct pdl_constant varies = {.kind = PDL_CONSTANT_VARIES};

static struct pdl_constant number(int64_t value)
{
    return (struct pdl_constant){value, PDL_CONSTANT_NUMBER};
}

static bool same_constant(struct pdl_constant a, struct pdl_constant b)
{
    return a.kind == b.kind && a.value == b.value;
}

static bool is_known(struct pdl_constant constant)
{
    return constant.kind == PDL_CONSTANT_NUMBER || constant.kind == PDL_CONSTANT_FUNCTION;
}

/* ---- parameters ----------------------------------------------------------------------------------- */

/* The parameter of the function that a load reads, and the byte in it; false if it reads another
 * memory, or not known which. The byte is not known where it is PDL_OFFSET_UNKNOWN. */
static bool parameter_of(const struct pdl_body *body, const struct pdl_values *values,
                         const struct pdl_instruction *load, uint32_t *parameter, int64_t *offset)
{
    const struct pdl_operand *operand = pdl_address_operand(body, load, 1);
    if (operand == NULL || operand->kind != PDL_OPERAND_SYMBOL) {
        return false;
    }
    const struct pdl_symbol *symbol = &body->symbols[operand->symbol];
    if (symbol->kind == PDL_SYMBOL_PARAMETER && symbol->space == PDL_SPACE_PARAM) {
        *parameter = symbol->index;
        *offset = operand->value;
        return true;
    }
    const struct pdl_value *value = &values->values[operand->symbol];
    if (symbol->kind != PDL_SYMBOL_REGISTER || value->count != 1 || value->untraced ||
        value->spaces != 1u << PDL_SPACE_PARAM || value->sources[0].kind != PDL_SOURCE_ADDRESS) {
        return false;
    }
    *parameter = value->sources[0].index;
    *offset = value->sources[0].indexed || value->sources[0].offset == PDL_OFFSET_UNKNOWN
                  ? PDL_OFFSET_UNKNOWN
                  : value->sources[0].offset + operand->value;
    return true;
}

/* What is passed in bytes of a parameter. */
static struct pdl_constant passed(const struct pdl_arguments *arguments, uint32_t parameter,
                                  int64_t offset, struct pdl_type type)
{
    for (uint32_t i = 0; arguments != NULL && i < arguments->count; i++) {
        const struct pdl_argument *item = &arguments->items[i];
        const int64_t within = offset - (int64_t)item->offset;
        if (item->parameter != parameter || within < 0 ||
            within + type.bits / 8 > (int64_t)item->size || type.bits < 8) {
            continue;
        }
        if (item->constant.kind == PDL_CONSTANT_FUNCTION) {
            return within == 0 && type.bits == 64 ? item->constant : varies;
        }
        return number(
            pdl_type_number(type, (int64_t)((uint64_t)item->constant.value >> (8 * within))));
    }
    return varies;
}

/* ---- one instruction ------------------------------------------------------------------------------ */

struct pdl_constant pdl_folding_operand(const struct pdl_folding *folding,
                                        const struct pdl_body *body,
                                        const struct pdl_operand *operand)
{
    if (operand->kind == PDL_OPERAND_NUMBER) {
        return operand->memory || operand->negated ? varies : number(operand->value);
    }
    if (operand->kind != PDL_OPERAND_SYMBOL || operand->memory || operand->value != 0) {
        return varies;
    }
    const struct pdl_symbol *symbol = &body->symbols[operand->symbol];
    if (symbol->kind == PDL_SYMBOL_FUNCTION) {
        return (struct pdl_constant){symbol->name, PDL_CONSTANT_FUNCTION};
    }
    if (symbol->kind != PDL_SYMBOL_REGISTER && symbol->kind != PDL_SYMBOL_PARAMETER) {
        return varies;
    }
    const struct pdl_constant constant = folding->constants[operand->symbol];
    return operand->negated && constant.kind == PDL_CONSTANT_NUMBER ? number(constant.value == 0)
                                                                    : constant;
}

static struct pdl_constant term_constant(const struct pdl_folding *folding,
                                         const struct pdl_body *body, const struct pdl_term *term)
{
    const struct pdl_operand operand = {.kind = term->symbol == PDL_NONE ? PDL_OPERAND_NUMBER
                                                                         : PDL_OPERAND_SYMBOL,
                                        .symbol = term->symbol,
                                        .negated = term->negated,
                                        .value = term->value};
    return pdl_folding_operand(folding, body, &operand);
}

/* What is known of a function's address where no number is: it goes from register to register, and is
 * not NULL. */
static struct pdl_constant function_result(const struct pdl_formula *formula,
                                           const struct pdl_constant *in)
{
    const bool first = in[0].kind == PDL_CONSTANT_FUNCTION;
    const struct pdl_constant other = in[first ? 1 : 0];
    if (formula->op == PDL_FORMULA_COPY && formula->bits == formula->result_bits) {
        return in[0];
    }
    return formula->op == PDL_FORMULA_COMPARE && formula->relation == PDL_RELATION_EQUAL &&
                   formula->count == 2 && other.kind == PDL_CONSTANT_NUMBER && other.value == 0
               ? number(formula->inverted)
               : varies;
}

/* What a formula gives: one side can be enough, as of `and` and `or`. */
static struct pdl_constant result_of(const struct pdl_folding *folding, const struct pdl_body *body,
                                     const struct pdl_formula *formula)
{
    struct pdl_constant in[PDL_FORMULA_TERMS] = {{0}};
    struct pdl_range terms[PDL_FORMULA_TERMS];
    bool missing = false, function = false;
    for (unsigned i = 0; i < formula->count; i++) {
        in[i] = term_constant(folding, body, &formula->terms[i]);
        missing = missing || in[i].kind == PDL_CONSTANT_UNSET;
        function = function || in[i].kind == PDL_CONSTANT_FUNCTION;
        terms[i] = in[i].kind == PDL_CONSTANT_NUMBER
                       ? pdl_formula_number(formula, i, in[i].value)
                       : pdl_formula_type(pdl_formula_term_bits(formula, i));
    }
    if (formula->op == PDL_FORMULA_SELECT &&
        (in[2].kind == PDL_CONSTANT_NUMBER || same_constant(in[0], in[1]))) {
        return in[in[2].value != 0 ? 0 : 1];
    }
    const struct pdl_range result = pdl_formula_result(formula, terms, false);
    if (pdl_range_is_value(&result)) {
        return number(result.low);
    }
    return missing ? unset : function ? function_result(formula, in) : varies;
}

/* Whether a symbol is a result of an instruction in front of a number of slots. */
static bool is_result(const struct pdl_body *body, const struct pdl_instruction *instruction,
                      const struct pdl_operand *operand)
{
    const uint32_t slots = instruction->opcode.op == PDL_OP_CALL
                               ? instruction->target_slot
                               : (instruction->opcode.no_result ? 0u : 1u);
    return operand->kind == PDL_OPERAND_SYMBOL && operand->slot < slots && !operand->memory &&
           body->symbols[operand->symbol].kind == PDL_SYMBOL_REGISTER;
}

/* What an instruction gives its results. */
static struct pdl_constant evaluate(const struct pdl_folding *folding,
                                    const struct pdl_ptx_module *module,
                                    const struct pdl_body *body, const struct pdl_values *values,
                                    const struct pdl_arguments *arguments,
                                    const struct pdl_instruction *instruction)
{
    struct pdl_formula formula;
    uint32_t parameter;
    int64_t offset;
    switch (instruction->opcode.op) {
    case PDL_OP_LOAD:
        return arguments != NULL && instruction->operand_count == 2 &&
                       parameter_of(body, values, instruction, &parameter, &offset)
                   ? passed(arguments, parameter, offset,
                            pdl_type_of(&module->names.names[instruction->name]))
                   : varies;
    case PDL_OP_CARRY:
    case PDL_OP_SCALE:
        formula = pdl_formula_read(module, body, instruction, 0);
        return formula.op != PDL_FORMULA_NONE ? result_of(folding, body, &formula) : varies;
    default:
        return varies;
    }
}

/* ---- the fixed point ------------------------------------------------------------------------------ */

static bool join(struct pdl_constant *to, struct pdl_constant from)
{
    if (from.kind == PDL_CONSTANT_UNSET || to->kind == PDL_CONSTANT_VARIES ||
        same_constant(*to, from)) {
        return false;
    }
    *to = to->kind == PDL_CONSTANT_UNSET ? from : varies;
    return true;
}

void pdl_folding_find(struct pdl_folding *folding, const struct pdl_ptx_module *module,
                      const struct pdl_body *body, const struct pdl_values *values,
                      const struct pdl_arguments *arguments)
{
    const uint32_t count = body->instruction_count;
    const size_t symbols = (size_t)body->symbol_count + 1;
    PDL_RESERVE(folding->constants, symbols, folding->constant_capacity);
    PDL_RESERVE(folding->queue, (size_t)count + 1, folding->queue_capacity);
    PDL_RESERVE(folding->queued, (size_t)count + 1, folding->queued_capacity);
    memset(folding->constants, 0, symbols * sizeof(*folding->constants));
    for (uint32_t i = 0; i < body->symbol_count; i++) {
        if (body->symbols[i].kind == PDL_SYMBOL_PARAMETER) { /* one in a register */
            folding->constants[i] =
                body->symbols[i].space == PDL_SPACE_GENERIC
                    ? passed(arguments, body->symbols[i].index, 0, (struct pdl_type){64, true})
                    : varies;
        }
    }
    struct pdl_ring ring = {.items = folding->queue, .queued = folding->queued, .size = count};
    pdl_ring_fill(&ring);
    while (ring.count > 0) {
        const struct pdl_instruction *instruction = &body->instructions[pdl_ring_take(&ring)];
        if (instruction->guard != PDL_NONE) {
            const struct pdl_constant guard = folding->constants[instruction->guard];
            if (guard.kind == PDL_CONSTANT_UNSET ||
                (guard.kind == PDL_CONSTANT_NUMBER &&
                 (guard.value != 0) == instruction->guard_negated)) {
                continue; /* not executed, as far as is known */
            }
        }
        uint32_t results = 0;
        for (uint32_t i = 0; i < instruction->operand_count; i++) {
            results +=
                is_result(body, instruction, &body->operands[instruction->first_operand + i]);
        }
        if (results == 0) {
            continue;
        }
        const struct pdl_constant result =
            results > 1 ? varies : evaluate(folding, module, body, values, arguments, instruction);
        for (uint32_t i = 0; i < instruction->operand_count; i++) {
            const struct pdl_operand *operand = &body->operands[instruction->first_operand + i];
            if (is_result(body, instruction, operand) &&
                join(&folding->constants[operand->symbol], operand->negated ? varies : result)) {
                pdl_values_queue_users(values, operand->symbol, &ring);
            }
        }
    }
}

/* ---- what follows --------------------------------------------------------------------------------- */

static void take_out(struct pdl_instruction *instruction)
{
    instruction->opcode = (struct pdl_opcode){.op = PDL_OP_OTHER, .no_result = true};
    instruction->guard = PDL_NONE;
    instruction->operand_count = 0;
    instruction->callee = instruction->target = PDL_NONE;
}

/* A branch through a table whose index is known. */
static void take_target(const struct pdl_folding *folding, struct pdl_body *body,
                        struct pdl_instruction *branch)
{
    struct pdl_operand *operands = &body->operands[branch->first_operand];
    if (branch->operand_count != 2 || branch->guard != PDL_NONE ||
        operands[1].kind != PDL_OPERAND_TARGET) {
        return;
    }
    const struct pdl_target_list *list = &body->lists[operands[1].symbol];
    const struct pdl_constant index = pdl_folding_operand(folding, body, &operands[0]);
    if (index.kind == PDL_CONSTANT_NUMBER && index.value >= 0 && index.value < list->count) {
        operands[1] = body->targets[list->first + (uint32_t)index.value];
        branch->opcode.op = PDL_OP_BRANCH;
    }
}

/* A load whose result is one number, for those who look at single paths. */
static void make_move(const struct pdl_folding *folding, struct pdl_body *body,
                      struct pdl_instruction *load, uint32_t name)
{
    struct pdl_operand *operands = &body->operands[load->first_operand];
    if (load->operand_count != 2 || !is_result(body, load, &operands[0])) {
        return;
    }
    const struct pdl_constant constant = folding->constants[operands[0].symbol];
    if (constant.kind == PDL_CONSTANT_NUMBER) {
        load->name = name;
        load->opcode = (struct pdl_opcode){.op = PDL_OP_CARRY};
        operands[1] = (struct pdl_operand){
            .symbol = PDL_NONE, .slot = 1, .kind = PDL_OPERAND_NUMBER, .value = constant.value};
    }
}

void pdl_folding_apply(const struct pdl_folding *folding, struct pdl_ptx_module *module,
                       struct pdl_body *body)
{
    static const char move[] = "mov.b64";
    const uint32_t name = pdl_names_add(&module->names, move, sizeof(move) - 1);
    for (uint32_t i = 0; i < body->instruction_count; i++) {
        struct pdl_instruction *instruction = &body->instructions[i];
        if (instruction->guard != PDL_NONE) {
            const struct pdl_constant guard = folding->constants[instruction->guard];
            if (guard.kind != PDL_CONSTANT_NUMBER) {
                continue;
            }
            if ((guard.value != 0) == instruction->guard_negated) {
                take_out(instruction);
                continue;
            }
            instruction->guard = PDL_NONE;
        }
        if (instruction->opcode.op == PDL_OP_BRANCH_TABLE) {
            take_target(folding, body, instruction);
        } else if (instruction->opcode.op == PDL_OP_LOAD) {
            make_move(folding, body, instruction, name);
        }
    }
}

/* ---- arguments ------------------------------------------------------------------------------------ */

static void add_argument(struct pdl_arguments *arguments, struct pdl_argument item)
{
    for (uint32_t i = 0; i < arguments->count; i++) {
        struct pdl_argument *other = &arguments->items[i];
        if (other->parameter == item.parameter && other->offset < item.offset + item.size &&
            item.offset < other->offset + other->size) {
            if (other->offset != item.offset || other->size != item.size ||
                !same_constant(other->constant, item.constant)) {
                other->constant = varies; /* it is stored to twice */
            }
            return;
        }
    }
    if (arguments->count < PDL_ARGUMENTS_MAX) {
        arguments->items[arguments->count++] = item;
    }
}

/* What is stored to a parameter of a call. */
static void add_stored(const struct pdl_folding *folding, const struct pdl_ptx_module *module,
                       const struct pdl_body *body, const struct pdl_values *values,
                       uint32_t symbol, uint32_t parameter, struct pdl_arguments *arguments)
{
    const uint32_t first = values->first_definition[symbol];
    const uint32_t end = values->first_definition[symbol + 1];
    if (end - first > STORES_MAX) {
        return;
    }
    for (uint32_t i = first; i < end; i++) {
        const struct pdl_instruction *store = &body->instructions[values->definitions[i]];
        const struct pdl_operand *address = pdl_address_operand(body, store, 0);
        const uint32_t size = pdl_type_of(&module->names.names[store->name]).bits / 8u;
        if (store->opcode.op != PDL_OP_STORE || address == NULL || size == 0 ||
            address->value < 0 || address->value > UINT16_MAX) {
            continue;
        }
        struct pdl_argument item = {
            .parameter = parameter, .offset = (uint32_t)address->value, .size = size};
        for (uint32_t j = 0; j < store->operand_count; j++) {
            const struct pdl_operand *operand = &body->operands[store->first_operand + j];
            if (operand->slot == 1) {
                item.constant =
                    store->guard == PDL_NONE ? pdl_folding_operand(folding, body, operand) : varies;
                add_argument(arguments, item);
                item.offset += size;
            }
        }
    }
}

void pdl_folding_arguments(const struct pdl_folding *folding, const struct pdl_ptx_module *module,
                           const struct pdl_body *body, const struct pdl_values *values,
                           const struct pdl_instruction *call, uint64_t mask,
                           struct pdl_arguments *arguments)
{
    uint32_t parameter = 0, kept = 0;
    arguments->count = 0;
    for (uint32_t i = 0; i < call->operand_count && parameter < 64; i++) {
        const struct pdl_operand *operand = &body->operands[call->first_operand + i];
        if (operand->slot != call->target_slot + 1u) {
            continue;
        }
        if (mask >> parameter & 1) {
            if (operand->kind == PDL_OPERAND_SYMBOL &&
                body->symbols[operand->symbol].kind == PDL_SYMBOL_LOCAL_PARAMETER) {
                add_stored(folding, module, body, values, operand->symbol, parameter, arguments);
            } else {
                add_argument(arguments,
                             (struct pdl_argument){parameter, 0, 8,
                                                   pdl_folding_operand(folding, body, operand)});
            }
        }
        parameter++;
    }
    for (uint32_t i = 0; i < arguments->count; i++) {
        if (is_known(arguments->items[i].constant)) {
            arguments->items[kept++] = arguments->items[i];
        }
    }
    arguments->count = kept;
}

bool pdl_arguments_same(const struct pdl_arguments *a, const struct pdl_arguments *b)
{
    bool same = a->count == b->count;
    for (uint32_t i = 0; i < a->count && same; i++) {
        const struct pdl_argument *left = &a->items[i], *right = &b->items[i];
        same = left->parameter == right->parameter && left->offset == right->offset &&
               left->size == right->size && same_constant(left->constant, right->constant);
    }
    return same;
}

/* ---- which parameters matter ---------------------------------------------------------------------- */

void pdl_folding_start(struct pdl_folding *folding, const struct pdl_body *body)
{
    const size_t symbols = (size_t)body->symbol_count + 1;
    PDL_RESERVE(folding->seen, symbols, folding->seen_capacity);
    PDL_RESERVE(folding->queue, symbols, folding->queue_capacity);
    memset(folding->seen, 0, symbols);
}

static uint64_t bit_of(uint32_t parameter)
{
    return parameter < 64 ? UINT64_C(1) << parameter : 0;
}

static void follow(struct pdl_folding *folding, uint32_t symbol, uint32_t *count)
{
    if (symbol != PDL_NONE && !folding->seen[symbol]) {
        folding->seen[symbol] = 1;
        folding->queue[(*count)++] = symbol;
    }
}

uint64_t pdl_folding_parameters(struct pdl_folding *folding, const struct pdl_body *body,
                                const struct pdl_values *values, uint32_t symbol)
{
    uint64_t mask = 0;
    uint32_t count = 0;
    follow(folding, symbol, &count);
    while (count > 0) {
        const uint32_t at = folding->queue[--count];
        if (body->symbols[at].kind == PDL_SYMBOL_PARAMETER) {
            mask |= bit_of(body->symbols[at].index);
            continue;
        }
        for (uint32_t i = values->first_definition[at]; i < values->first_definition[at + 1]; i++) {
            const struct pdl_instruction *from = &body->instructions[values->definitions[i]];
            uint32_t parameter;
            int64_t offset;
            if (from->opcode.op == PDL_OP_LOAD) {
                mask |=
                    parameter_of(body, values, from, &parameter, &offset) ? bit_of(parameter) : 0;
                continue;
            }
            if (from->opcode.op != PDL_OP_CARRY && from->opcode.op != PDL_OP_SCALE &&
                from->opcode.op != PDL_OP_STORE) {
                continue;
            }
            follow(folding, from->guard, &count);
            for (uint32_t j = 0; j < from->operand_count; j++) {
                const struct pdl_operand *operand = &body->operands[from->first_operand + j];
                if (operand->kind == PDL_OPERAND_SYMBOL && !operand->memory) {
                    follow(folding, operand->symbol, &count);
                }
            }
        }
    }
    return mask;
}

uint64_t pdl_folding_passed(struct pdl_folding *folding, const struct pdl_body *body,
                            const struct pdl_values *values, const struct pdl_instruction *call,
                            uint64_t mask)
{
    uint32_t parameter = 0;
    uint64_t from = 0;
    for (uint32_t i = 0; i < call->operand_count && parameter < 64; i++) {
        const struct pdl_operand *operand = &body->operands[call->first_operand + i];
        if (operand->slot != call->target_slot + 1u) {
            continue;
        }
        if ((mask >> parameter++ & 1) && operand->kind == PDL_OPERAND_SYMBOL) {
            from |= pdl_folding_parameters(folding, body, values, operand->symbol);
        }
    }
    return from;
}
