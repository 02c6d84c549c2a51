/* SPDX-License-Identifier: MIT */
#include "inspect/flow/values.h"

#include <string.h>

#include "inspect/flow/summary.h"

/* ---- joining ------------------------------------------------------------------------------------ */

static bool same_source(const struct pdl_source *a, const struct pdl_source *b)
{
    return a->index == b->index && a->offset == b->offset && a->kind == b->kind;
}

/* Whether a source is in a value, or what the value has is more: an array covers its first element, and
 * an unknown byte every index. */
static bool covers(const struct pdl_source *has, const struct pdl_source *source)
{
    return has->indexed >= source->indexed &&
           (same_source(has, source) ||
            (has->offset == PDL_OFFSET_UNKNOWN && has->index == source->index &&
             has->kind == source->kind && source->indexed));
}

static bool add_source(struct pdl_value *value, const struct pdl_source *source)
{
    for (unsigned i = 0; i < value->count; i++) {
        if (covers(&value->sources[i], source)) {
            return false;
        }
    }
    for (unsigned i = 0; i < value->count; i++) {
        struct pdl_source *has = &value->sources[i];
        if (same_source(has, source)) {
            has->indexed = source->indexed;
            return true;
        }
        /* Few arrays meet. What steps through one by a way that is not followed has ever more bytes. */
        if (value->count == PDL_VALUE_SOURCES && source->indexed && has->indexed &&
            has->index == source->index && has->kind == source->kind) {
            has->offset = PDL_OFFSET_UNKNOWN;
            return true;
        }
    }
    if (value->count == PDL_VALUE_SOURCES) {
        const bool before = value->untraced;
        value->untraced = true;
        return !before;
    }
    value->sources[value->count++] = *source;
    return true;
}

bool pdl_value_join(struct pdl_value *to, const struct pdl_value *from)
{
    const struct pdl_value before = *to;
    bool added = false;
    if (!from->defined) {
        return false;
    }
    /* One of them in no known space, and possibly an address: then it may be in any. */
    if (before.defined && before.strength >= PDL_STRENGTH_VALUE &&
        from->strength >= PDL_STRENGTH_VALUE && (before.spaces == 0) != (from->spaces == 0)) {
        to->spaces |= 1u << PDL_SPACE_GENERIC;
    }
    to->strength = to->strength > from->strength ? to->strength : from->strength;
    to->spaces |= from->spaces;
    to->depends |= from->depends;
    to->untraced = to->untraced || from->untraced;
    to->defined = true;
    for (unsigned i = 0; i < from->count; i++) {
        added = add_source(to, &from->sources[i]) || added;
    }
    return added || to->strength != before.strength || to->spaces != before.spaces ||
           to->depends != before.depends || to->untraced != before.untraced || !before.defined;
}

/* Adds an operand of a sum or a selection: what looks most like a pointer gives the sources. */
static void combine(struct pdl_value *to, const struct pdl_value *from)
{
    const uint8_t depends = to->depends | from->depends;
    if (from->strength > to->strength) {
        *to = *from;
    } else if (from->strength == to->strength && from->strength >= PDL_STRENGTH_VALUE) {
        (void)pdl_value_join(to, from);
    }
    to->depends = depends;
    to->defined = true;
}

static struct pdl_value number(uint8_t depends)
{
    return (struct pdl_value){.strength = PDL_STRENGTH_NUMBER, .depends = depends, .defined = true};
}

/* ---- operands ------------------------------------------------------------------------------------ */

/* An offset moved by a number of bytes. */
static int32_t moved(int32_t offset, int64_t by)
{
    if (offset == PDL_OFFSET_UNKNOWN || by < -(1 << 20) || by > 1 << 20 || offset < -(1 << 20) ||
        offset > 1 << 20) {
        return PDL_OFFSET_UNKNOWN; /* in no parameter */
    }
    return offset + (int32_t)by;
}

struct pdl_value pdl_operand_value(const struct pdl_values *values, const struct pdl_body *body,
                                   const struct pdl_operand *operand)
{
    struct pdl_value value = {.defined = true};
    if (operand->kind != PDL_OPERAND_SYMBOL) {
        return value;
    }
    const struct pdl_symbol *symbol = &body->symbols[operand->symbol];
    switch (symbol->kind) {
    case PDL_SYMBOL_SPECIAL:
        return number((uint8_t)symbol->index);
    case PDL_SYMBOL_PARAMETER:
        if (symbol->space != PDL_SPACE_PARAM) { /* a register: what was passed */
            value.strength = PDL_STRENGTH_VALUE;
            value.depends = PDL_DEPENDS_PARAMETER;
            value.count = 1;
            value.sources[0] = (struct pdl_source){symbol->index, 0, PDL_SOURCE_PARAMETER, 0};
            return value;
        }
        value.strength = PDL_STRENGTH_POINTER;
        value.spaces = 1u << PDL_SPACE_PARAM;
        value.count = 1;
        value.sources[0] =
            (struct pdl_source){symbol->index, moved(0, operand->value), PDL_SOURCE_ADDRESS, 0};
        return value;
    case PDL_SYMBOL_VARIABLE:
        value.strength = PDL_STRENGTH_POINTER;
        value.spaces = (uint8_t)(1u << symbol->space);
        if (symbol->space == PDL_SPACE_GLOBAL) {
            value.count = 1;
            value.sources[0] = (struct pdl_source){symbol->name, 0, PDL_SOURCE_VARIABLE, 0};
        }
        return value;
    case PDL_SYMBOL_FUNCTION:
        return number(0);
    default:
        return values->values[operand->symbol];
    }
}

const struct pdl_operand *pdl_address_operand(const struct pdl_body *body,
                                              const struct pdl_instruction *instruction,
                                              unsigned slot)
{
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        const struct pdl_operand *operand = &body->operands[instruction->first_operand + i];
        if (operand->slot == slot && operand->address) {
            return operand;
        }
    }
    return NULL;
}

/* The symbol that a store to parameter space defines, or PDL_NONE. */
static uint32_t stored_parameter(const struct pdl_body *body,
                                 const struct pdl_instruction *instruction)
{
    if (instruction->opcode.op != PDL_OP_STORE || instruction->opcode.space != PDL_SPACE_PARAM) {
        return PDL_NONE;
    }
    const struct pdl_operand *address = pdl_address_operand(body, instruction, 0);
    if (address == NULL || address->kind != PDL_OPERAND_SYMBOL) {
        return PDL_NONE;
    }
    const uint8_t kind = body->symbols[address->symbol].kind;
    return kind == PDL_SYMBOL_LOCAL_PARAMETER || kind == PDL_SYMBOL_RESULT ? address->symbol
                                                                           : PDL_NONE;
}

/* Whether an operand of an instruction is its result. */
static bool is_result(const struct pdl_body *body, const struct pdl_instruction *instruction,
                      const struct pdl_operand *operand)
{
    if (operand->kind != PDL_OPERAND_SYMBOL) {
        return false;
    }
    if (instruction->opcode.op == PDL_OP_CALL) {
        return operand->slot < instruction->target_slot &&
               body->symbols[operand->symbol].kind != PDL_SYMBOL_FUNCTION;
    }
    return !instruction->opcode.no_result && operand->slot == 0 && !operand->memory;
}

/* ---- what an instruction gives -------------------------------------------------------------------- */

/* A load from parameter space, through an address whose sources are addresses of parameters. */
static struct pdl_value loaded_parameter(const struct pdl_value *address, int64_t offset)
{
    struct pdl_value value = {
        .strength = PDL_STRENGTH_VALUE, .depends = PDL_DEPENDS_PARAMETER, .defined = true};
    value.depends |= address->depends; /* an element of an array */
    value.untraced = address->untraced || address->count == 0;
    for (unsigned i = 0; i < address->count; i++) {
        struct pdl_source source = address->sources[i];
        if (source.kind == PDL_SOURCE_ADDRESS) {
            source.kind = PDL_SOURCE_PARAMETER;
            source.offset = moved(source.offset, offset);
            (void)add_source(&value, &source);
        }
    }
    return value;
}

static struct pdl_value loaded(const struct pdl_value *address, bool local)
{
    struct pdl_value value = {
        .strength = PDL_STRENGTH_VALUE, .depends = PDL_DEPENDS_MEMORY, .defined = true};
    value.depends |= address->depends & PDL_DEPENDS_LEADER;
    value.untraced = local || address->untraced || address->count == 0;
    for (unsigned i = 0; i < address->count && !local; i++) {
        struct pdl_source source = address->sources[i];
        source.kind = source.kind == PDL_SOURCE_VARIABLE ? PDL_SOURCE_VARIABLE : PDL_SOURCE_POINTEE;
        (void)add_source(&value, &source);
    }
    return value;
}

static bool only_space(const struct pdl_value *value, enum pdl_space space)
{
    return value->spaces == 1u << space && !value->untraced;
}

/* The value that a load gives its `element`-th result. */
static struct pdl_value load_value(const struct pdl_ptx_module *module,
                                   const struct pdl_values *values, const struct pdl_body *body,
                                   const struct pdl_instruction *instruction, unsigned element)
{
    const struct pdl_operand *operand = pdl_address_operand(body, instruction, 1);
    const uint8_t space = instruction->opcode.space;
    if (operand == NULL) {
        return number(PDL_DEPENDS_MEMORY);
    }
    const struct pdl_value address = pdl_operand_value(values, body, operand);
    const uint8_t kind = operand->kind == PDL_OPERAND_SYMBOL ? body->symbols[operand->symbol].kind
                                                             : PDL_SYMBOL_SPECIAL;
    if (space == PDL_SPACE_PARAM &&
        (kind == PDL_SYMBOL_LOCAL_PARAMETER || kind == PDL_SYMBOL_RESULT)) {
        return address; /* what a call left there */
    }
    if (space == PDL_SPACE_PARAM || only_space(&address, PDL_SPACE_PARAM)) {
        const struct pdl_name *name = &module->names.names[instruction->name];
        unsigned bits = 0, scale = 1;
        for (uint32_t i = name->length;
             i > 0 && name->text[i - 1] >= '0' && name->text[i - 1] <= '9'; i--) {
            bits += (unsigned)(name->text[i - 1] - '0') * scale;
            scale *= 10;
        }
        const int64_t base = kind == PDL_SYMBOL_PARAMETER ? 0 : operand->value;
        return loaded_parameter(&address, moved(0, base) + (int64_t)element * (bits / 8));
    }
    if (space == PDL_SPACE_CONST || only_space(&address, PDL_SPACE_CONST)) {
        /* Of what it says where it is, the same for all. */
        struct pdl_value value = {.strength = PDL_STRENGTH_VALUE,
                                  .depends = address.depends,
                                  .untraced = true,
                                  .defined = true};
        return value;
    }
    return loaded(&address, space == PDL_SPACE_LOCAL || only_space(&address, PDL_SPACE_LOCAL));
}

/* An address in parameter space moved by a number that is known, or by an index; or, if it `steps`, by
 * that number again and again. */
static void move_address(struct pdl_value *value, bool known, bool steps, int64_t by)
{
    for (unsigned i = 0; i < value->count; i++) {
        struct pdl_source *source = &value->sources[i];
        if (source->kind != PDL_SOURCE_ADDRESS) {
            continue;
        }
        source->indexed |= !known || steps;
        if (known) {
            source->offset = !steps    ? moved(source->offset, by)
                             : by >= 0 ? source->offset
                                       : PDL_OFFSET_UNKNOWN;
        }
    }
}

static bool is_address(const struct pdl_value *value)
{
    return value->count > 0 && value->sources[0].kind == PDL_SOURCE_ADDRESS;
}

/* Whether an instruction's result is also an operand of it, as in a loop's `add.s64 x, x, 8`. */
static bool steps(const struct pdl_body *body, const struct pdl_instruction *instruction)
{
    const struct pdl_operand *operands = &body->operands[instruction->first_operand];
    bool same = false;
    for (uint32_t i = 1; i < instruction->operand_count; i++) {
        same = same ||
               (operands[i].kind == PDL_OPERAND_SYMBOL && operands[0].kind == PDL_OPERAND_SYMBOL &&
                operands[i].symbol == operands[0].symbol);
    }
    return same;
}

/* What the remainder of a division by `by` depends on: of a thread's number the lane, of a block's that
 * in its cluster. */
static uint8_t low_bits(uint8_t depends, int64_t by)
{
    if (by > 0 && by <= 32 && (by & (by - 1)) == 0) {
        depends &= (uint8_t)~PDL_DEPENDS_WARP;
    }
    return by > 0 && by <= 16 ? depends & (uint8_t)~PDL_DEPENDS_CLUSTER : depends;
}

static struct pdl_value carried(const struct pdl_ptx_module *module,
                                const struct pdl_values *values, const struct pdl_body *body,
                                const struct pdl_instruction *instruction)
{
    const struct pdl_name *name = &module->names.names[instruction->name];
    const bool mad = pdl_name_begins(name, "mad");
    const bool sum = pdl_name_begins(name, "add") || pdl_name_begins(name, "sub");
    const bool either = pdl_name_begins(name, "selp") || pdl_name_begins(name, "slct") ||
                        pdl_name_begins(name, "min") || pdl_name_begins(name, "max");
    struct pdl_value value = {.defined = true};
    int64_t by = 0;
    bool known = true;
    bool some_space = false, any_space = false;
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        const struct pdl_operand *operand = &body->operands[instruction->first_operand + i];
        if (is_result(body, instruction, operand)) {
            continue;
        }
        struct pdl_value part = pdl_operand_value(values, body, operand);
        if (mad && operand->slot < 3) {
            part = number(part.depends);
        }
        if (operand->kind == PDL_OPERAND_NUMBER) {
            by = operand->value;
        } else if (part.strength < PDL_STRENGTH_VALUE || mad || !is_address(&part)) {
            known = false;
        }
        if (either && operand->kind == PDL_OPERAND_SYMBOL && operand->slot < 3 &&
            part.strength >= PDL_STRENGTH_VALUE) {
            /* One or the other: one that is in no known space may be in any. */
            some_space = some_space || part.spaces != 0;
            any_space = any_space || part.spaces == 0;
            (void)pdl_value_join(&value, &part);
        } else {
            combine(&value, &part);
        }
    }
    if (by > 0 && pdl_name_begins(name, "and.")) {
        value.depends = low_bits(value.depends, by + 1);
    }
    if (some_space && any_space) {
        value.spaces |= 1u << PDL_SPACE_GENERIC;
    }
    if (sum || mad) {
        move_address(&value, known, steps(body, instruction),
                     pdl_name_begins(name, "sub") ? (int64_t)(0 - (uint64_t)by) : by);
    }
    /* What comes from 32 bits is no address, unless one in shared memory. */
    if (pdl_name_begins(name, "cvt.") && value.spaces == 0 && name->length > 3 &&
        memcmp(name->text + name->length - 2, "64", 2) != 0 &&
        value.strength > PDL_STRENGTH_NUMBER) {
        return number(value.depends);
    }
    return value;
}

static uint8_t depends_on_operands(const struct pdl_values *values, const struct pdl_body *body,
                                   const struct pdl_instruction *instruction)
{
    uint8_t depends = 0;
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        const struct pdl_operand *operand = &body->operands[instruction->first_operand + i];
        if (!is_result(body, instruction, operand)) {
            depends |= pdl_operand_value(values, body, operand).depends;
        }
    }
    return depends;
}

static struct pdl_value call_value(const struct pdl_ptx_module *module,
                                   const struct pdl_values *values, const struct pdl_body *body,
                                   const struct pdl_instruction *call)
{
    const struct pdl_ptx_function *callee =
        call->callee != PDL_NONE ? pdl_ptx_function_find(module, call->callee) : NULL;
    if (callee == NULL || callee->summary == NULL || !callee->summary->result.defined) {
        return (struct pdl_value){.strength = PDL_STRENGTH_VALUE,
                                  .depends = PDL_DEPENDS_MEMORY | PDL_DEPENDS_THREAD,
                                  .untraced = true,
                                  .defined = true};
    }
    struct pdl_value value = pdl_value_at_call(&callee->summary->result, values, body, call);
    value.depends |= depends_on_operands(values, body, call);
    return value;
}

/* What an instruction gives its `element`-th result. */
static struct pdl_value result_of(const struct pdl_ptx_module *module,
                                  const struct pdl_values *values, const struct pdl_body *body,
                                  const struct pdl_instruction *instruction, unsigned element)
{
    struct pdl_value value;
    switch (instruction->opcode.op) {
    case PDL_OP_CARRY:
        return carried(module, values, body, instruction);
    case PDL_OP_CVTA:
        value = carried(module, values, body, instruction);
        value.strength = PDL_STRENGTH_POINTER;
        /* A table of the compiler's own counts as constant memory, and stays that. */
        if (instruction->opcode.space != PDL_SPACE_GENERIC &&
            value.spaces != 1u << PDL_SPACE_CONST) {
            value.spaces = (uint8_t)(1u << instruction->opcode.space);
        }
        return value;
    case PDL_OP_LANE:
        value = carried(module, values, body, instruction);
        if ((value.depends & PDL_DEPENDS_MEMORY) &&
            pdl_name_begins(&module->names.names[instruction->name], "shfl.sync.")) {
            value.depends |= PDL_DEPENDS_LEADER;
        }
        value.depends |= PDL_DEPENDS_THREAD;
        return value;
    case PDL_OP_SCALE:
        value = number(depends_on_operands(values, body, instruction));
        if (instruction->operand_count == 3 &&
            body->operands[instruction->first_operand + 2].kind == PDL_OPERAND_NUMBER &&
            pdl_name_begins(&module->names.names[instruction->name], "rem.")) {
            value.depends =
                low_bits(value.depends, body->operands[instruction->first_operand + 2].value);
        }
        return value;
    case PDL_OP_LOAD:
        return load_value(module, values, body, instruction, element);
    case PDL_OP_STORE: /* to parameter space */
        return carried(module, values, body, instruction);
    case PDL_OP_CALL:
        return call_value(module, values, body, instruction);
    default:
        value = carried(module, values, body, instruction);
        value.depends |= PDL_DEPENDS_MEMORY;
        value.untraced = true;
        return value;
    }
}

/* ---- the fixed point ------------------------------------------------------------------------------ */

/* The next symbol, from *at on, that an instruction defines (`results`) or uses; PDL_NONE behind the
 * last. */
static uint32_t next_symbol(const struct pdl_body *body, const struct pdl_instruction *instruction,
                            bool results, uint32_t *at)
{
    const uint32_t count = instruction->operand_count;
    while (*at < count) {
        const struct pdl_operand *operand = &body->operands[instruction->first_operand + (*at)++];
        if (operand->kind == PDL_OPERAND_SYMBOL &&
            is_result(body, instruction, operand) == results &&
            !(results && body->symbols[operand->symbol].kind == PDL_SYMBOL_SPECIAL)) {
            return operand->symbol;
        }
    }
    if (*at == count) {
        ++*at;
        const uint32_t stored = results ? stored_parameter(body, instruction) : instruction->guard;
        if (stored != PDL_NONE) {
            return stored;
        }
    }
    return PDL_NONE;
}

/* Fills first (by symbol) and items with the instructions that use or define each symbol. */
/* NOLINTBEGIN(readability-non-const-parameter): PDL_RESERVE() writes the capacities */
static void index_symbols(const struct pdl_body *body, bool results, uint32_t **first,
                          size_t *first_capacity, uint32_t **items, size_t *item_capacity)
/* NOLINTEND(readability-non-const-parameter) */
{
    const size_t symbols = body->symbol_count;
    uint32_t at, symbol;
    PDL_RESERVE(*first, symbols + 2, *first_capacity);
    memset(*first, 0, (symbols + 2) * sizeof(**first));
    for (uint32_t i = 0; i < body->instruction_count; i++) {
        at = 0;
        while ((symbol = next_symbol(body, &body->instructions[i], results, &at)) != PDL_NONE) {
            (*first)[symbol + 2]++;
        }
    }
    for (size_t i = 2; i < symbols + 2; i++) {
        (*first)[i] += (*first)[i - 1];
    }
    PDL_RESERVE(*items, (*first)[symbols + 1], *item_capacity);
    for (uint32_t i = 0; i < body->instruction_count; i++) {
        at = 0;
        while ((symbol = next_symbol(body, &body->instructions[i], results, &at)) != PDL_NONE) {
            (*items)[(*first)[symbol + 1]++] = i;
        }
    }
}

/* Whether every symbol that an instruction uses and that something defines has a value yet. */
static bool ready(const struct pdl_values *values, const struct pdl_body *body,
                  const struct pdl_instruction *instruction)
{
    uint32_t at = 0, symbol;
    while ((symbol = next_symbol(body, instruction, false, &at)) != PDL_NONE) {
        if (!values->values[symbol].defined &&
            values->first_definition[symbol] != values->first_definition[symbol + 1]) {
            return false;
        }
    }
    return true;
}

void pdl_values_queue_users(const struct pdl_values *values, uint32_t symbol, struct pdl_ring *ring)
{
    for (uint32_t i = values->first_use[symbol]; i < values->first_use[symbol + 1]; i++) {
        pdl_ring_add(ring, values->uses[i]);
    }
}

const struct pdl_instruction *pdl_values_definition(const struct pdl_values *values,
                                                    const struct pdl_body *body, uint32_t symbol)
{
    const uint32_t first = values->first_definition[symbol];
    return values->first_definition[symbol + 1] - first == 1
               ? &body->instructions[values->definitions[first]]
               : NULL;
}

/* Evaluates one instruction, and queues the users of what changed. */
static void evaluate(struct pdl_values *values, const struct pdl_ptx_module *module,
                     const struct pdl_body *body, uint32_t index, struct pdl_ring *ring)
{
    const struct pdl_instruction *instruction = &body->instructions[index];
    const bool wait_for_all = instruction->opcode.op != PDL_OP_STORE;
    uint32_t at = 0, symbol;
    unsigned element = 0;
    struct pdl_value value = {0};
    if (wait_for_all && !ready(values, body, instruction)) {
        return;
    }
    while ((symbol = next_symbol(body, instruction, true, &at)) != PDL_NONE) {
        if (element < 16) { /* no vector is longer */
            value = result_of(module, values, body, instruction, element++);
        }
        if (instruction->guard != PDL_NONE) {
            value.depends |= values->values[instruction->guard].depends;
        }
        if (pdl_value_join(&values->values[symbol], &value)) {
            pdl_values_queue_users(values, symbol, ring);
        }
    }
}

void pdl_values_find(struct pdl_values *values, const struct pdl_ptx_module *module,
                     const struct pdl_body *body)
{
    const size_t symbols = body->symbol_count;
    const uint32_t count = body->instruction_count;
    PDL_RESERVE(values->values, symbols + 1, values->value_capacity);
    PDL_RESERVE(values->queue, (size_t)count + 1, values->queue_capacity);
    PDL_RESERVE(values->queued, (size_t)count + 1, values->queued_capacity);
    index_symbols(body, true, &values->first_definition, &values->first_definition_capacity,
                  &values->definitions, &values->definition_capacity);
    index_symbols(body, false, &values->first_use, &values->first_use_capacity, &values->uses,
                  &values->use_capacity);
    memset(values->values, 0, symbols * sizeof(*values->values));
    struct pdl_ring ring = {.items = values->queue, .queued = values->queued, .size = count};
    pdl_ring_fill(&ring);
    while (ring.count > 0) {
        evaluate(values, module, body, pdl_ring_take(&ring), &ring);
    }
}

/* ---- calls ---------------------------------------------------------------------------------------- */

const struct pdl_operand *pdl_call_argument(const struct pdl_body *body,
                                            const struct pdl_instruction *call, uint32_t index)
{
    uint32_t seen = 0;
    for (uint32_t i = 0; i < call->operand_count; i++) {
        const struct pdl_operand *operand = &body->operands[call->first_operand + i];
        if (operand->slot == call->target_slot + 1u && seen++ == index) {
            return operand;
        }
    }
    return NULL;
}

/* The value of a call's argument. */
static struct pdl_value argument(const struct pdl_values *values, const struct pdl_body *body,
                                 const struct pdl_instruction *call, uint32_t index)
{
    const struct pdl_operand *operand = pdl_call_argument(body, call, index);
    const struct pdl_value unknown = {
        .strength = PDL_STRENGTH_VALUE, .untraced = true, .defined = true};
    return operand != NULL ? pdl_operand_value(values, body, operand) : unknown;
}

uint8_t pdl_arguments_depend(const struct pdl_values *values, const struct pdl_body *body,
                             const struct pdl_instruction *call)
{
    return depends_on_operands(values, body, call);
}

struct pdl_value pdl_value_at_call(const struct pdl_value *value, const struct pdl_values *values,
                                   const struct pdl_body *body, const struct pdl_instruction *call)
{
    struct pdl_value made = *value;
    made.count = 0;
    made.spaces = value->spaces & (uint8_t) ~(1u << PDL_SPACE_PARAM);
    for (unsigned i = 0; i < value->count; i++) {
        const struct pdl_source *source = &value->sources[i];
        if (source->kind == PDL_SOURCE_VARIABLE) {
            (void)add_source(&made, source);
            continue;
        }
        const struct pdl_value passed = argument(values, body, call, source->index);
        made.depends |= passed.depends;
        made.untraced = made.untraced || passed.untraced || !passed.defined;
        if (source->kind == PDL_SOURCE_PARAMETER) {
            /* The address that was passed: it is where the caller says it is. */
            made.spaces |= passed.spaces;
        }
        for (unsigned j = 0; j < passed.count; j++) {
            struct pdl_source through = passed.sources[j];
            if (source->kind == PDL_SOURCE_POINTEE) {
                /* The byte that the function adds to the address of a parameter is not kept. */
                through.offset =
                    through.kind == PDL_SOURCE_ADDRESS ? PDL_OFFSET_UNKNOWN : through.offset;
                through.kind = through.kind == PDL_SOURCE_VARIABLE  ? PDL_SOURCE_VARIABLE
                               : through.kind == PDL_SOURCE_ADDRESS ? PDL_SOURCE_PARAMETER
                                                                    : PDL_SOURCE_POINTEE;
            }
            (void)add_source(&made, &through);
        }
    }
    return made;
}
