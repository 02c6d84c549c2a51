/* SPDX-License-Identifier: MIT */
#include "inspect/flow/formulas.h"

#include <string.h>

/* ---- opcodes -------------------------------------------------------------------------------------- */

static struct pdl_type type_named(const char *text, uint32_t length)
{
    static const struct {
        const char *digits;
        uint8_t bits;
    } widths[] = {{"8", 8}, {"16", 16}, {"32", 32}, {"64", 64}};
    struct pdl_type type = {0, false};
    if (length == 4 && memcmp(text, "pred", 4) == 0) {
        type.bits = 1;
    }
    if (length < 2 || (text[0] != 'u' && text[0] != 's' && text[0] != 'b')) {
        return type;
    }
    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        if (length - 1 == strlen(widths[i].digits) &&
            memcmp(text + 1, widths[i].digits, length - 1) == 0) {
            type.bits = widths[i].bits;
        }
    }
    type.is_signed = text[0] == 's';
    return type;
}

static struct pdl_type type_at(const struct pdl_parts *parts, uint32_t index)
{
    return index < parts->count ? type_named(parts->text[index], parts->length[index])
                                : (struct pdl_type){0, false};
}

struct pdl_type pdl_type_of(const struct pdl_name *name)
{
    uint32_t at = name->length;
    while (at > 0 && name->text[at - 1] != '.') {
        at--;
    }
    return type_named(name->text + at, name->length - at);
}

/* ---- terms ---------------------------------------------------------------------------------------- */

/* Fills the terms with the operands behind the result, one a slot; false if they are others. */
static bool read_terms(const struct pdl_body *body, const struct pdl_instruction *instruction,
                       struct pdl_formula *formula)
{
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        const struct pdl_operand *operand = &body->operands[instruction->first_operand + i];
        if (operand->slot == 0) {
            continue;
        }
        const bool number = operand->kind == PDL_OPERAND_NUMBER && !operand->negated;
        const bool symbol = operand->kind == PDL_OPERAND_SYMBOL && operand->value == 0;
        if (operand->slot != formula->count + 1 || formula->count == PDL_FORMULA_TERMS ||
            operand->memory || (!number && !symbol)) {
            return false;
        }
        formula->terms[formula->count++] =
            (struct pdl_term){operand->symbol, operand->negated, operand->value};
    }
    return formula->count > 0;
}

static uint32_t result_count(const struct pdl_body *body, const struct pdl_instruction *instruction)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        count += body->operands[instruction->first_operand + i].slot == 0;
    }
    return count;
}

static void swap_terms(struct pdl_formula *formula)
{
    const struct pdl_term first = formula->terms[0];
    formula->terms[0] = formula->terms[1];
    formula->terms[1] = first;
}

/* A load from parameter or constant memory, but not of what a call left. */
static struct pdl_formula read_load(const struct pdl_body *body,
                                    const struct pdl_instruction *instruction,
                                    const struct pdl_name *name, unsigned element)
{
    const struct pdl_formula none = {.op = PDL_FORMULA_NONE};
    const struct pdl_type type = pdl_type_of(name);
    const struct pdl_operand *address = NULL;
    if (instruction->opcode.space != PDL_SPACE_PARAM &&
        instruction->opcode.space != PDL_SPACE_CONST) {
        return none;
    }
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        const struct pdl_operand *operand = &body->operands[instruction->first_operand + i];
        address = operand->slot == 1 && operand->address ? operand : address;
    }
    if (address == NULL || address->kind != PDL_OPERAND_SYMBOL) {
        return none;
    }
    const uint8_t kind = body->symbols[address->symbol].kind;
    if (kind == PDL_SYMBOL_LOCAL_PARAMETER || kind == PDL_SYMBOL_RESULT) {
        return none;
    }
    struct pdl_formula formula = {.op = PDL_FORMULA_LOAD,
                                  .bits = type.bits != 0 ? type.bits : 64,
                                  .is_signed = type.is_signed,
                                  .count = 1};
    /* Narrow values are extended to the register's width, which is that or more. */
    formula.result_bits = type.bits == 0 ? 64 : type.bits == 8 ? 16 : type.bits;
    formula.terms[0] = (struct pdl_term){address->symbol, false,
                                         address->value + (int64_t)element * (formula.bits / 8)};
    return formula;
}

/* ---- comparisons ---------------------------------------------------------------------------------- */

static struct pdl_formula read_comparison(const struct pdl_parts *parts, struct pdl_formula formula,
                                          unsigned element)
{
    static const struct {
        const char *word;
        uint8_t relation;
        bool swapped, inverted, is_unsigned;
    } relations[] = {
        {"eq", PDL_RELATION_EQUAL, false, false, false},
        {"ne", PDL_RELATION_EQUAL, false, true, false},
        {"lt", PDL_RELATION_LESS, false, false, false},
        {"ge", PDL_RELATION_LESS, false, true, false},
        {"gt", PDL_RELATION_LESS, true, false, false},
        {"le", PDL_RELATION_LESS, true, true, false},
        {"lo", PDL_RELATION_LESS, false, false, true},
        {"hs", PDL_RELATION_LESS, false, true, true},
        {"hi", PDL_RELATION_LESS, true, false, true},
        {"ls", PDL_RELATION_LESS, true, true, true},
    };
    const struct pdl_type type = type_at(parts, parts->count - 1);
    formula.op = element == 0 ? PDL_FORMULA_OPAQUE : PDL_FORMULA_NONE;
    formula.result_bits = 1;
    for (size_t i = 0; i < sizeof(relations) / sizeof(relations[0]) && type.bits > 1 &&
                       formula.op != PDL_FORMULA_COMPARE;
         i++) {
        if (!pdl_part_is(parts, 1, relations[i].word)) {
            continue;
        }
        formula.op = PDL_FORMULA_COMPARE;
        formula.bits = type.bits;
        formula.is_signed = type.is_signed && !relations[i].is_unsigned;
        formula.relation = relations[i].relation;
        formula.inverted = relations[i].inverted != (element == 1);
        if (relations[i].swapped) {
            swap_terms(&formula);
        }
    }
    if (formula.op == PDL_FORMULA_COMPARE && formula.count == 3) {
        formula.combine = pdl_part_find(parts, "and") != 0  ? PDL_COMBINE_AND
                          : pdl_part_find(parts, "or") != 0 ? PDL_COMBINE_OR
                                                            : PDL_COMBINE_XOR;
    }
    if (element > 1 || formula.count < 2 || formula.count > 3) {
        formula.op = PDL_FORMULA_NONE;
    }
    return formula;
}

/* ---- the rest ------------------------------------------------------------------------------------- */

/* By an opcode's first word: what it is of integers. */
static const struct {
    const char *word;
    uint8_t op;
    uint8_t count; /* of terms */
} plain[] = {
    {"mov", PDL_FORMULA_COPY, 1}, {"add", PDL_FORMULA_ADD, 2},     {"sub", PDL_FORMULA_SUB, 2},
    {"mul", PDL_FORMULA_MUL, 2},  {"mad", PDL_FORMULA_MAD, 3},     {"shl", PDL_FORMULA_SHL, 2},
    {"shr", PDL_FORMULA_SHR, 2},  {"div", PDL_FORMULA_DIV, 2},     {"rem", PDL_FORMULA_REM, 2},
    {"and", PDL_FORMULA_AND, 2},  {"or", PDL_FORMULA_OR, 2},       {"xor", PDL_FORMULA_XOR, 2},
    {"min", PDL_FORMULA_MIN, 2},  {"max", PDL_FORMULA_MAX, 2},     {"bfe", PDL_FORMULA_FIELD, 3},
    {"not", PDL_FORMULA_XOR, 1},  {"neg", PDL_FORMULA_SUB, 1},     {"selp", PDL_FORMULA_SELECT, 3},
    {"cvt", PDL_FORMULA_COPY, 1}, {"lop3", PDL_FORMULA_LOOKUP, 4},
};

/* prmt by a constant selector that takes neighbouring bytes of the first operand, and extends them with zeros or their
 * sign: a field, as bfe has it. Others stay opaque. */
static struct pdl_formula read_permutation(const struct pdl_parts *parts,
                                           struct pdl_formula formula)
{
    const uint64_t selector = (uint64_t)formula.terms[2].value,
                   other = (uint64_t)formula.terms[1].value;
    const unsigned first = (unsigned)(selector & 0xf);
    unsigned count = 0, zeros = 0, signs = 0;
    if (parts->count != 2 || formula.count != 3 || formula.terms[2].symbol != PDL_NONE) {
        return formula;
    }
    while (count < 4 && first + count < 4 && (selector >> 4 * count & 0xf) == first + count) {
        count++;
    }
    for (unsigned i = count; count > 0 && i < 4; i++) {
        const unsigned from = (unsigned)(selector >> 4 * i & 0xf);
        zeros += formula.terms[1].symbol == PDL_NONE && from >= 4 && from < 8 &&
                 (other >> 8 * (from - 4) & 0xff) == 0;
        signs += from == 8 + first + count - 1;
    }
    if (count == 0 || (zeros != 4 - count && signs != 4 - count)) {
        return formula;
    }
    formula.bits = formula.result_bits = 32;
    formula.op = count == 4 ? PDL_FORMULA_COPY : PDL_FORMULA_FIELD;
    formula.count = count == 4 ? 1 : 3;
    formula.is_signed = zeros != 4 - count;
    formula.terms[1] = (struct pdl_term){PDL_NONE, false, INT64_C(8) * first};
    formula.terms[2] = (struct pdl_term){PDL_NONE, false, INT64_C(8) * count};
    return formula;
}

static struct pdl_formula read_plain(const struct pdl_parts *parts, struct pdl_formula formula)
{
    const struct pdl_type type = type_at(parts, parts->count - 1);
    uint8_t op = PDL_FORMULA_OPAQUE;
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        if (formula.count == plain[i].count && pdl_part_is(parts, 0, plain[i].word)) {
            op = plain[i].op;
        }
    }
    if (op == PDL_FORMULA_MUL && pdl_part_find(parts, "hi") != 0) {
        op = PDL_FORMULA_MUL_HIGH;
    } else if (pdl_part_find(parts, "hi") != 0) {
        op = PDL_FORMULA_OPAQUE;
    }
    if (op == PDL_FORMULA_OPAQUE || type.bits == 0 || pdl_part_find(parts, "sat") != 0 ||
        pdl_part_find(parts, "relu") != 0) {
        return formula;
    }
    formula.bits = formula.result_bits = type.bits;
    formula.is_signed = type.is_signed;
    if (pdl_part_is(parts, 0, "cvt")) {
        const struct pdl_type to = type_at(parts, 1);
        if (parts->count != 3 || to.bits == 0) {
            return formula;
        }
        formula.result_bits = to.bits;
    } else if (pdl_part_find(parts, "wide") != 0) {
        formula.result_bits = (uint8_t)(type.bits * 2);
    } else if (pdl_part_is(parts, 0, "not")) {
        formula.terms[formula.count++] =
            (struct pdl_term){PDL_NONE, false, type.bits == 1 ? 1 : -1};
    } else if (pdl_part_is(parts, 0, "neg")) {
        formula.terms[formula.count++] = (struct pdl_term){PDL_NONE, false, 0};
        swap_terms(&formula);
    }
    formula.op = op;
    return formula;
}

struct pdl_formula pdl_formula_read(const struct pdl_ptx_module *module,
                                    const struct pdl_body *body,
                                    const struct pdl_instruction *instruction, unsigned element)
{
    const struct pdl_formula none = {.op = PDL_FORMULA_NONE};
    const struct pdl_name *name = &module->names.names[instruction->name];
    const uint8_t op = instruction->opcode.op;
    struct pdl_parts parts;
    if (op == PDL_OP_LOAD) {
        return read_load(body, instruction, name, element);
    }
    pdl_parts_split(&parts, name->text, name->length);
    struct pdl_formula formula = {.op = PDL_FORMULA_OPAQUE,
                                  .relation = (uint8_t)element,
                                  .bits = 64,
                                  .result_bits = 64,
                                  .name = instruction->name};
    /* Those that depend on more than their operands are none. */
    const bool pure =
        op == PDL_OP_CARRY || op == PDL_OP_SCALE || op == PDL_OP_CVTA ||
        pdl_part_is(&parts, 0, "elect") ||
        (pdl_part_is(&parts, 0, "shfl") && pdl_part_find(&parts, "idx") != 0 && element == 0);
    if (!pure || pdl_part_find(&parts, "cc") != 0 || pdl_part_is(&parts, 0, "addc") ||
        pdl_part_is(&parts, 0, "subc") || pdl_part_is(&parts, 0, "madc") ||
        !read_terms(body, instruction, &formula)) {
        return none;
    }
    if (pdl_part_is(&parts, 0, "setp")) {
        formula.relation = 0;
        return read_comparison(&parts, formula, element);
    }
    if (op == PDL_OP_LANE || element > 0 || result_count(body, instruction) > 1) {
        return formula;
    }
    return pdl_part_is(&parts, 0, "prmt") ? read_permutation(&parts, formula)
                                          : read_plain(&parts, formula);
}

struct pdl_range pdl_formula_type(unsigned bits)
{
    const struct pdl_range truth = {0, 1, 3};
    struct pdl_range type = pdl_range_all();
    if (bits < 64) { /* no type is so narrow that it leaves out a small value */
        type.low = -(INT64_C(1) << (bits - 1));
        type.high = (INT64_C(1) << (bits - 1)) - 1;
    }
    return bits == 1 ? truth : type;
}

unsigned pdl_formula_term_bits(const struct pdl_formula *formula, unsigned term)
{
    switch (formula->op) {
    case PDL_FORMULA_SELECT:
    case PDL_FORMULA_COMPARE:
        return term == 2 ? 1 : formula->bits;
    case PDL_FORMULA_SHL:
    case PDL_FORMULA_SHR:
    case PDL_FORMULA_FIELD:
        return term > 0 ? 32 : formula->bits;
    case PDL_FORMULA_MAD:
        return term == 2 ? formula->result_bits : formula->bits;
    default:
        return formula->bits;
    }
}
