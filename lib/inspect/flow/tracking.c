/* SPDX-License-Identifier: MIT */
/* Which registers are tracked: those that decide, and what they are made of. */
#include "inspect/flow/conditions.h"

/* How far down a register's value is taken apart. */
#define DEPTH_MAX 16

bool pdl_tracked_is_name(const struct pdl_conditions *conditions, uint32_t symbol, const char *word)
{
    const struct pdl_name *name =
        &conditions->module->names.names[conditions->body->symbols[symbol].name];
    return pdl_name_begins(name, word);
}

/* A special register whose value changes from one look to the next. */
static bool is_volatile(const struct pdl_conditions *conditions, uint32_t symbol)
{
    return pdl_tracked_is_name(conditions, symbol, "%clock") ||
           pdl_tracked_is_name(conditions, symbol, "%globaltimer") ||
           pdl_tracked_is_name(conditions, symbol, "%pm");
}

/* The one instruction that defines a register always, and which of its results it is; or NULL. */
static const struct pdl_instruction *definition_of(const struct pdl_conditions *conditions,
                                                   uint32_t symbol, unsigned *element)
{
    const struct pdl_instruction *instruction =
        pdl_values_definition(conditions->values, conditions->body, symbol);
    *element = 0;
    for (uint32_t i = 0; instruction != NULL && i < instruction->operand_count; i++) {
        const struct pdl_operand *operand =
            &conditions->body->operands[instruction->first_operand + i];
        if (operand->slot > 0) {
            break;
        }
        *element += operand->negated; /* behind one that is not wanted */
        if (operand->symbol == symbol) {
            break;
        }
        ++*element;
    }
    return instruction != NULL && instruction->guard == PDL_NONE ? instruction : NULL;
}

struct pdl_formula pdl_conditions_formula(const struct pdl_conditions *conditions, uint32_t symbol)
{
    unsigned element = 0;
    const struct pdl_instruction *instruction =
        conditions->body->symbols[symbol].kind == PDL_SYMBOL_REGISTER
            ? definition_of(conditions, symbol, &element)
            : NULL;
    if (instruction == NULL) {
        return (struct pdl_formula){.op = PDL_FORMULA_NONE};
    }
    return pdl_formula_read(conditions->module, conditions->body, instruction, element);
}

/* Whether a term has the same value throughout. */
static bool term_invariant(const struct pdl_conditions *conditions, const struct pdl_term *term)
{
    const uint32_t number = pdl_tracked_number(conditions, term->symbol);
    return term->symbol == PDL_NONE || pdl_tracked_is_address(conditions, term->symbol) ||
           (number != 0 && (conditions->invariant & pdl_tracked_bit(number - 1)) != 0);
}

/* The thread's index in a block of one dimension, divided by the size of a warp or more. */
static bool is_warp_number(const struct pdl_conditions *conditions, const struct pdl_term *term)
{
    const uint32_t number = pdl_tracked_number(conditions, term->symbol);
    if (number == 0) {
        return false;
    }
    const struct pdl_formula *formula = &conditions->formulas[number - 1];
    return formula->op == PDL_FORMULA_SHR && formula->terms[1].symbol == PDL_NONE &&
           formula->terms[1].value >= 5 && formula->terms[0].symbol != PDL_NONE &&
           pdl_tracked_number(conditions, formula->terms[0].symbol) != 0 &&
           pdl_tracked_is_name(
               conditions,
               conditions->symbols[pdl_tracked_number(conditions, formula->terms[0].symbol) - 1],
               "%tid.x");
}

static bool same_term(const struct pdl_conditions *conditions, const struct pdl_term *a,
                      const struct pdl_term *b)
{
    const uint32_t of_a = pdl_tracked_number(conditions, a->symbol);
    const uint32_t of_b = pdl_tracked_number(conditions, b->symbol);
    const bool negated_a =
        a->negated != (of_a != 0 && (conditions->tracked[a->symbol] & PDL_TRACKED_NEGATED));
    const bool negated_b =
        b->negated != (of_b != 0 && (conditions->tracked[b->symbol] & PDL_TRACKED_NEGATED));
    return (of_a != 0 || of_b != 0 ? of_a == of_b : a->symbol == b->symbol) &&
           a->value == b->value && negated_a == negated_b;
}

/* Whether two formulas of invariant terms give the same, or, of comparisons, the opposite. */
static bool same_formula(const struct pdl_conditions *conditions, const struct pdl_formula *a,
                         const struct pdl_formula *b)
{
    bool same = a->op == b->op && a->relation == b->relation && a->combine == b->combine &&
                a->bits == b->bits && a->result_bits == b->result_bits &&
                a->is_signed == b->is_signed && a->count == b->count &&
                (a->op != PDL_FORMULA_OPAQUE || a->name == b->name) &&
                (a->inverted == b->inverted || a->combine == PDL_COMBINE_NONE);
    for (unsigned i = 0; i < a->count && same; i++) {
        same = same_term(conditions, &a->terms[i], &b->terms[i]);
    }
    return same;
}

/* Adds a symbol whose terms were added, as a register of its own or as one that has its value. */
static void add(struct pdl_conditions *conditions, uint32_t symbol)
{
    const struct pdl_formula none = {.op = PDL_FORMULA_NONE};
    struct pdl_formula formula = pdl_conditions_formula(conditions, symbol);
    bool invariant = conditions->body->symbols[symbol].kind != PDL_SYMBOL_REGISTER;
    if (conditions->tracked[symbol] != 0 || conditions->count == conditions->limit) {
        return;
    }
    for (unsigned i = 0; i < formula.count; i++) {
        if (formula.terms[i].symbol == symbol) { /* made of itself */
            formula = none;
        }
    }
    if (formula.op == PDL_FORMULA_OPAQUE && formula.count == 4 &&
        is_warp_number(conditions, &formula.terms[0])) {
        formula.op = PDL_FORMULA_COPY; /* a shuffle of what is the same in the warp */
        formula.bits = formula.result_bits = 32;
        formula.count = 1;
    }
    if (formula.op != PDL_FORMULA_NONE) {
        invariant = true;
        for (unsigned i = 0; i < formula.count; i++) {
            invariant = invariant && term_invariant(conditions, &formula.terms[i]);
        }
    }
    if (invariant && formula.op == PDL_FORMULA_COPY && formula.bits == formula.result_bits &&
        pdl_tracked_number(conditions, formula.terms[0].symbol) != 0) {
        conditions->tracked[symbol] =
            (uint8_t)(conditions->tracked[formula.terms[0].symbol] ^
                      (formula.terms[0].negated ? PDL_TRACKED_NEGATED : 0));
        return;
    }
    for (uint32_t i = 0; i < conditions->count && invariant && formula.op != PDL_FORMULA_NONE;
         i++) {
        if ((conditions->invariant & pdl_tracked_bit(i)) &&
            same_formula(conditions, &formula, &conditions->formulas[i])) {
            conditions->tracked[symbol] =
                (uint8_t)((i + 1) | (formula.inverted != conditions->formulas[i].inverted
                                         ? PDL_TRACKED_NEGATED
                                         : 0));
            return;
        }
    }
    const uint32_t number = conditions->count++;
    conditions->symbols[number] = symbol;
    conditions->formulas[number] = formula;
    conditions->users[number] = 0;
    conditions->invariant |= invariant ? pdl_tracked_bit(number) : 0;
    conditions->tracked[symbol] = (uint8_t)(number + 1);
    /* It may be a term of those that were added before it. */
    for (uint32_t i = 0; i < conditions->count; i++) {
        for (unsigned j = 0; j < conditions->formulas[i].count; j++) {
            const uint32_t term = conditions->formulas[i].terms[j].symbol;
            if (pdl_tracked_number(conditions, term) != 0 && (i == number || term == symbol)) {
                conditions->users[pdl_tracked_number(conditions, term) - 1] |= pdl_tracked_bit(i);
            }
        }
    }
}

static bool can_track(const struct pdl_conditions *conditions, uint32_t symbol)
{
    if (symbol == PDL_NONE || conditions->tracked[symbol] != 0) {
        return false;
    }
    const struct pdl_symbol *at = &conditions->body->symbols[symbol];
    return (at->kind == PDL_SYMBOL_REGISTER && conditions->values->first_definition[symbol + 1] >
                                                   conditions->values->first_definition[symbol]) ||
           (at->kind == PDL_SYMBOL_PARAMETER && at->space != PDL_SPACE_PARAM) ||
           (at->kind == PDL_SYMBOL_SPECIAL && !is_volatile(conditions, symbol));
}

/* Adds a symbol behind those that its formula has. */
static void add_with_terms(struct pdl_conditions *conditions, uint32_t symbol)
{
    struct {
        uint32_t symbol;
        uint32_t next; /* term */
        struct pdl_formula formula;
    } path[DEPTH_MAX];
    uint32_t depth = 0;
    if (!can_track(conditions, symbol)) {
        return;
    }
    path[depth].symbol = symbol;
    path[depth].next = 0;
    path[depth++].formula = pdl_conditions_formula(conditions, symbol);
    while (depth > 0) {
        const struct pdl_formula *formula = &path[depth - 1].formula;
        if (path[depth - 1].next < formula->count) {
            const uint32_t term = formula->terms[path[depth - 1].next++].symbol;
            bool again = false;
            for (uint32_t i = 0; i < depth; i++) {
                again = again || path[i].symbol == term;
            }
            if (depth < DEPTH_MAX && !again && can_track(conditions, term)) {
                path[depth].symbol = term;
                path[depth].next = 0;
                path[depth++].formula = pdl_conditions_formula(conditions, term);
            }
            continue;
        }
        add(conditions, path[--depth].symbol);
    }
}

void pdl_conditions_track(struct pdl_conditions *conditions, uint32_t symbol)
{
    const struct pdl_values *values = conditions->values;
    const uint32_t first = conditions->count;
    if (conditions->count == conditions->limit) {
        return;
    }
    add_with_terms(conditions, symbol);
    /* Then what those are set to that have several definitions. */
    for (uint32_t i = first; i < conditions->count; i++) {
        const uint32_t of = conditions->symbols[i];
        if ((conditions->invariant & pdl_tracked_bit(i)) ||
            conditions->formulas[i].op != PDL_FORMULA_NONE) {
            continue;
        }
        const uint32_t end = values->first_definition[of + 1];
        for (uint32_t j = values->first_definition[of]; j < end; j++) {
            const struct pdl_instruction *instruction =
                &conditions->body->instructions[values->definitions[j]];
            if (conditions->count == conditions->limit) {
                return;
            }
            if (instruction->opcode.op != PDL_OP_CARRY && instruction->opcode.op != PDL_OP_SCALE) {
                continue;
            }
            if (instruction->guard != PDL_NONE) {
                add_with_terms(conditions, instruction->guard);
            }
            for (uint32_t k = 0; k < instruction->operand_count; k++) {
                const struct pdl_operand *operand =
                    &conditions->body->operands[instruction->first_operand + k];
                if (operand->kind == PDL_OPERAND_SYMBOL && operand->slot > 0) {
                    add_with_terms(conditions, operand->symbol);
                }
            }
        }
    }
}

#define DEFINITIONS_LOOKED_AT 32u

/* The symbols that a register is made of, by its formula or, if it has several definitions, by each of
 * them. Those that do not fit are left out. */
static uint32_t made_of(const struct pdl_conditions *conditions, uint32_t symbol, uint32_t *symbols,
                        uint32_t room)
{
    const struct pdl_values *values = conditions->values;
    const struct pdl_formula formula = pdl_conditions_formula(conditions, symbol);
    uint32_t count = 0;
    for (unsigned i = 0; i < formula.count && count < room; i++) {
        if (formula.terms[i].symbol != PDL_NONE) {
            symbols[count++] = formula.terms[i].symbol;
        }
    }
    if (formula.op != PDL_FORMULA_NONE ||
        conditions->body->symbols[symbol].kind != PDL_SYMBOL_REGISTER) {
        return count;
    }
    /* Of a register that is used again and again, only some. */
    const uint32_t first = values->first_definition[symbol];
    const uint32_t all = values->first_definition[symbol + 1] - first;
    const uint32_t end = first + (all < DEFINITIONS_LOOKED_AT ? all : DEFINITIONS_LOOKED_AT);
    for (uint32_t i = first; i < end && count < room; i++) {
        const struct pdl_formula one =
            pdl_formula_read(conditions->module, conditions->body,
                             &conditions->body->instructions[values->definitions[i]], 0);
        for (unsigned j = 0; j < one.count && count < room; j++) {
            if (one.terms[j].symbol != PDL_NONE) {
                symbols[count++] = one.terms[j].symbol;
            }
        }
    }
    return count;
}

void pdl_conditions_track_related(struct pdl_conditions *conditions, uint32_t symbol)
{
    uint32_t waiting[16];
    uint32_t parts[8];
    uint32_t count = 1, looked = 0;
    bool related = false;
    if (conditions->count == 0 || conditions->count == conditions->limit) {
        return;
    }
    waiting[0] = symbol;
    while (looked < count && !related) {
        const uint32_t found = made_of(conditions, waiting[looked++], parts, 8);
        for (uint32_t i = 0; i < found; i++) {
            related = related || pdl_tracked_number(conditions, parts[i]) != 0;
            if (count < sizeof(waiting) / sizeof(waiting[0]) && can_track(conditions, parts[i])) {
                waiting[count++] = parts[i];
            }
        }
    }
    if (related) {
        pdl_conditions_track(conditions, symbol);
    }
}
