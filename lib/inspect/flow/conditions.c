/* SPDX-License-Identifier: MIT */
#include "inspect/flow/conditions.h"

#include <stdlib.h>
#include <string.h>

/* What is kept of a body, of all its blocks together; larger ones track fewer registers. */
#define FACTS_MAX (UINT32_C(1) << 19)
/* How far down a register's value is taken apart. */
#define DEPTH_MAX 10
/* As often what is known at a block may change before it is widened, and given up. */
#define JOINS_WIDEN 4
#define JOINS_MAX   12

#define NEGATED 0x80u

static uint64_t bit(uint32_t number)
{
    return UINT64_C(1) << number;
}

pdl_status pdl_conditions_start(struct pdl_conditions *conditions,
                                const struct pdl_ptx_module *module, const struct pdl_body *body,
                                const struct pdl_cfg *cfg, const struct pdl_values *values)
{
    const uint32_t room = FACTS_MAX / (cfg->block_count + 1);
    conditions->module = module;
    conditions->body = body;
    conditions->cfg = cfg;
    conditions->values = values;
    conditions->count = 0;
    conditions->invariant = 0;
    conditions->limit = room < PDL_TRACKED_MAX ? room : PDL_TRACKED_MAX;
    if (!PDL_ARRAY_RESERVE(conditions->tracked, (size_t)body->symbol_count + 1,
                           conditions->tracked_capacity)) {
        return pdl_ptx_no_memory();
    }
    memset(conditions->tracked, 0, (size_t)body->symbol_count + 1);
    return PDL_SUCCESS;
}

void pdl_conditions_free(struct pdl_conditions *conditions)
{
    free(conditions->tracked);
    free(conditions->facts);
    free(conditions->set);
    free(conditions->fresh);
    free(conditions->joins);
}

/* ---- what is tracked ------------------------------------------------------------------------------ */

/* The number of a tracked symbol, + 1; 0 if it is not. */
static uint32_t number_of(const struct pdl_conditions *conditions, uint32_t symbol)
{
    return symbol == PDL_NONE ? 0 : conditions->tracked[symbol] & ~NEGATED;
}

static bool is_name(const struct pdl_conditions *conditions, uint32_t symbol, const char *word)
{
    const struct pdl_name *name =
        &conditions->module->names.names[conditions->body->symbols[symbol].name];
    return pdl_name_begins(name, word);
}

/* A special register whose value changes from one look to the next. */
static bool is_volatile(const struct pdl_conditions *conditions, uint32_t symbol)
{
    return is_name(conditions, symbol, "%clock") || is_name(conditions, symbol, "%globaltimer") ||
           is_name(conditions, symbol, "%pm");
}

/* Addresses of parameters and variables: they stand for themselves in formulas. */
static bool is_address(const struct pdl_conditions *conditions, uint32_t symbol)
{
    const struct pdl_symbol *at = &conditions->body->symbols[symbol];
    return at->kind == PDL_SYMBOL_VARIABLE || at->kind == PDL_SYMBOL_FUNCTION ||
           (at->kind == PDL_SYMBOL_PARAMETER && at->space == PDL_SPACE_PARAM);
}

/* The one instruction that defines a register always, and which of its results it is; or NULL. */
static const struct pdl_instruction *definition_of(const struct pdl_conditions *conditions,
                                                   uint32_t symbol, unsigned *element)
{
    const struct pdl_values *values = conditions->values;
    const uint32_t first = values->first_definition[symbol];
    if (values->first_definition[symbol + 1] - first != 1) {
        return NULL;
    }
    const struct pdl_instruction *instruction =
        &conditions->body->instructions[values->definitions[first]];
    *element = 0;
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
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
    return instruction->guard == PDL_NONE ? instruction : NULL;
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
    const uint32_t number = number_of(conditions, term->symbol);
    return term->symbol == PDL_NONE || is_address(conditions, term->symbol) ||
           (number != 0 && (conditions->invariant & bit(number - 1)) != 0);
}

/* The thread's index in a block of one dimension, divided by the size of a warp or more. */
static bool is_warp_number(const struct pdl_conditions *conditions, const struct pdl_term *term)
{
    const uint32_t number = number_of(conditions, term->symbol);
    if (number == 0) {
        return false;
    }
    const struct pdl_formula *formula = &conditions->formulas[number - 1];
    return formula->op == PDL_FORMULA_SHR && formula->terms[1].symbol == PDL_NONE &&
           formula->terms[1].value >= 5 && formula->terms[0].symbol != PDL_NONE &&
           number_of(conditions, formula->terms[0].symbol) != 0 &&
           is_name(conditions,
                   conditions->symbols[number_of(conditions, formula->terms[0].symbol) - 1],
                   "%tid.x");
}

static bool same_term(const struct pdl_conditions *conditions, const struct pdl_term *a,
                      const struct pdl_term *b)
{
    const uint32_t of_a = number_of(conditions, a->symbol);
    const uint32_t of_b = number_of(conditions, b->symbol);
    const bool negated_a = a->negated != (of_a != 0 && (conditions->tracked[a->symbol] & NEGATED));
    const bool negated_b = b->negated != (of_b != 0 && (conditions->tracked[b->symbol] & NEGATED));
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
        number_of(conditions, formula.terms[0].symbol) != 0) {
        conditions->tracked[symbol] = (uint8_t)(conditions->tracked[formula.terms[0].symbol] ^
                                                (formula.terms[0].negated ? NEGATED : 0));
        return;
    }
    for (uint32_t i = 0; i < conditions->count && invariant && formula.op != PDL_FORMULA_NONE;
         i++) {
        if ((conditions->invariant & bit(i)) &&
            same_formula(conditions, &formula, &conditions->formulas[i])) {
            conditions->tracked[symbol] =
                (uint8_t)((i + 1) |
                          (formula.inverted != conditions->formulas[i].inverted ? NEGATED : 0));
            return;
        }
    }
    const uint32_t number = conditions->count++;
    conditions->symbols[number] = symbol;
    conditions->formulas[number] = formula;
    conditions->users[number] = 0;
    conditions->invariant |= invariant ? bit(number) : 0;
    conditions->tracked[symbol] = (uint8_t)(number + 1);
    /* It may be a term of those that were added before it. */
    for (uint32_t i = 0; i < conditions->count; i++) {
        for (unsigned j = 0; j < conditions->formulas[i].count; j++) {
            const uint32_t term = conditions->formulas[i].terms[j].symbol;
            if (number_of(conditions, term) != 0 && (i == number || term == symbol)) {
                conditions->users[number_of(conditions, term) - 1] |= bit(i);
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
        if ((conditions->invariant & bit(i)) || conditions->formulas[i].op != PDL_FORMULA_NONE) {
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
    const uint32_t end = values->first_definition[symbol + 1];
    for (uint32_t i = values->first_definition[symbol]; i < end && count < room; i++) {
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
            related = related || number_of(conditions, parts[i]) != 0;
            if (count < sizeof(waiting) / sizeof(waiting[0]) && can_track(conditions, parts[i])) {
                waiting[count++] = parts[i];
            }
        }
    }
    if (related) {
        pdl_conditions_track(conditions, symbol);
    }
}

/* ---- what follows from what ----------------------------------------------------------------------- */

static struct pdl_range negated(const struct pdl_range *range)
{
    if (pdl_range_is_value(range)) {
        return pdl_range_value(range->low == 0);
    }
    return *range;
}

static struct pdl_range range_of(const struct pdl_tracked *known, uint32_t number)
{
    return known->set & bit(number) ? known->facts[number].range : pdl_range_all();
}

struct pdl_range pdl_conditions_range(const struct pdl_conditions *conditions,
                                      const struct pdl_tracked *known, uint32_t symbol)
{
    const uint32_t number = number_of(conditions, symbol);
    if (number == 0) {
        return pdl_range_all();
    }
    const struct pdl_range range = range_of(known, number - 1);
    return conditions->tracked[symbol] & NEGATED ? negated(&range) : range;
}

static struct pdl_range term_range(const struct pdl_conditions *conditions,
                                   const struct pdl_tracked *known, const struct pdl_term *term,
                                   unsigned bits)
{
    const struct pdl_range type = pdl_formula_type(bits);
    struct pdl_range range = type;
    if (term->symbol == PDL_NONE) {
        int64_t value = term->value;
        if (bits < 64 && bits > 1) { /* 0xffffffff is -1 */
            const uint64_t sign = UINT64_C(1) << (bits - 1);
            value = (int64_t)((((uint64_t)value & ((sign << 1) - 1)) ^ sign) - sign);
        }
        return pdl_range_value(value);
    }
    if (!is_address(conditions, term->symbol)) {
        range = pdl_conditions_range(conditions, known, term->symbol);
        (void)pdl_range_meet(&range, &type);
        if (pdl_range_is_empty(&range) && number_of(conditions, term->symbol) != 0) {
            range = type; /* of another width than was thought */
        }
    }
    return term->negated ? negated(&range) : range;
}

/* The bits of a formula's term. */
static unsigned term_bits(const struct pdl_formula *formula, unsigned term)
{
    if ((formula->op == PDL_FORMULA_SELECT || formula->op == PDL_FORMULA_COMPARE) && term == 2) {
        return 1;
    }
    if (formula->op == PDL_FORMULA_SHL || formula->op == PDL_FORMULA_SHR ||
        formula->op == PDL_FORMULA_FIELD) {
        return term > 0 ? 32 : formula->bits;
    }
    return formula->op == PDL_FORMULA_MAD && term == 2 ? formula->result_bits : formula->bits;
}

/* The register that another is a copy of, or itself. */
static uint32_t original(const struct pdl_tracked *known, uint32_t number)
{
    const uint32_t same = known->set & bit(number) ? known->facts[number].same : 0;
    return same != 0 ? same - 1 : number;
}

/* Whether the first two terms are one register, or copies. */
static bool equal_terms(const struct pdl_conditions *conditions, const struct pdl_tracked *known,
                        const struct pdl_formula *formula)
{
    if (formula->count < 2 || formula->bits == 1) {
        return false;
    }
    const uint32_t a = number_of(conditions, formula->terms[0].symbol);
    const uint32_t b = number_of(conditions, formula->terms[1].symbol);
    return a != 0 && b != 0 && original(known, a - 1) == original(known, b - 1);
}

static void fill_terms(const struct pdl_conditions *conditions, const struct pdl_tracked *known,
                       const struct pdl_formula *formula, struct pdl_range *terms)
{
    for (unsigned i = 0; i < PDL_FORMULA_TERMS; i++) {
        terms[i] = i < formula->count
                       ? term_range(conditions, known, &formula->terms[i], term_bits(formula, i))
                       : pdl_range_value(0);
    }
}

static struct pdl_range evaluate(const struct pdl_conditions *conditions,
                                 const struct pdl_tracked *known, const struct pdl_formula *formula)
{
    struct pdl_range terms[PDL_FORMULA_TERMS];
    fill_terms(conditions, known, formula, terms);
    return pdl_formula_result(formula, terms, equal_terms(conditions, known, formula));
}

/* Whether a register's formula may be used. */
static bool holds(const struct pdl_conditions *conditions, const struct pdl_tracked *known,
                  uint32_t number)
{
    return conditions->formulas[number].op > PDL_FORMULA_OPAQUE &&
           ((conditions->invariant | known->fresh) & bit(number)) != 0;
}

/* Narrows what is known of a register; false if nothing is left. */
static bool narrow(struct pdl_tracked *known, uint32_t number, const struct pdl_range *range,
                   uint64_t *changed)
{
    struct pdl_fact *fact = &known->facts[number];
    if (!(known->set & bit(number))) {
        fact->range = pdl_range_all();
        fact->same = 0;
        known->set |= bit(number);
    }
    if (pdl_range_meet(&fact->range, range)) {
        *changed |= bit(number);
    }
    return !pdl_range_is_empty(&fact->range);
}

/* What is known of a register, to its terms. */
static bool to_terms(const struct pdl_conditions *conditions, struct pdl_tracked *known,
                     uint32_t number, uint64_t *changed)
{
    const struct pdl_formula *formula = &conditions->formulas[number];
    struct pdl_range terms[PDL_FORMULA_TERMS];
    fill_terms(conditions, known, formula, terms);
    if (!pdl_formula_refine(formula, &known->facts[number].range, terms,
                            equal_terms(conditions, known, formula))) {
        return false;
    }
    for (unsigned i = 0; i < formula->count; i++) {
        const uint32_t term = number_of(conditions, formula->terms[i].symbol);
        if (term == 0) {
            continue;
        }
        const bool inverse = formula->terms[i].negated !=
                             ((conditions->tracked[formula->terms[i].symbol] & NEGATED) != 0);
        const struct pdl_range range = inverse ? negated(&terms[i]) : terms[i];
        if (!narrow(known, term - 1, &range, changed)) {
            return false;
        }
    }
    return true;
}

/* Takes what changed to the terms of formulas, which come before them, and from there to all that is
 * made of those. False if it is a contradiction. */
static bool propagate(const struct pdl_conditions *conditions, struct pdl_tracked *known,
                      uint64_t changed)
{
    bool possible = true;
    for (uint32_t i = conditions->count; i-- > 0 && possible;) {
        if (!(changed & bit(i))) {
            continue;
        }
        const uint32_t of = original(known, i);
        if (of != i) {
            possible = narrow(known, of, &known->facts[i].range, &changed);
        }
        if (possible && holds(conditions, known, i)) {
            possible = to_terms(conditions, known, i, &changed);
        }
    }
    for (uint32_t i = 0; i < conditions->count && possible; i++) {
        const uint32_t of = original(known, i);
        uint64_t from = 0;
        for (unsigned j = 0; j < conditions->formulas[i].count; j++) {
            const uint32_t term = number_of(conditions, conditions->formulas[i].terms[j].symbol);
            from |= term != 0 ? bit(term - 1) : 0;
        }
        if (of != i && (changed & bit(of))) {
            const struct pdl_range range = range_of(known, of);
            possible = narrow(known, i, &range, &changed);
        }
        if (possible && (from & changed) != 0 && holds(conditions, known, i)) {
            const struct pdl_range range = evaluate(conditions, known, &conditions->formulas[i]);
            possible = narrow(known, i, &range, &changed);
        }
    }
    return possible;
}

bool pdl_conditions_assume(const struct pdl_conditions *conditions, struct pdl_tracked *known,
                           uint32_t symbol, int64_t value)
{
    const uint32_t number = number_of(conditions, symbol);
    uint64_t changed = 0;
    if (number == 0) {
        return true;
    }
    const struct pdl_range range =
        pdl_range_value(conditions->tracked[symbol] & NEGATED ? value == 0 : value);
    return narrow(known, number - 1, &range, &changed) &&
           (changed == 0 || propagate(conditions, known, changed));
}

/* ---- the entry ------------------------------------------------------------------------------------ */

/* The values of a special register. */
static struct pdl_range special_range(const struct pdl_conditions *conditions, uint32_t symbol)
{
    static const struct {
        const char *name;
        int64_t low, high;
    } limits[] = {
        {"%tid.z", 0, 63},
        {"%tid.", 0, 1023},
        {"%ntid.z", 1, 64},
        {"%ntid.", 1, 1024},
        {"%laneid", 0, 31},
        {"%warpid", 0, 63},
        {"%ctaid.", 0, INT32_MAX},
        {"%nctaid.", 1, INT32_MAX},
        {"%cluster_ctaid.", 0, 31},
        {"%cluster_ctarank", 0, 31},
        {"%clusterid.", 0, INT32_MAX},
    };
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        if (is_name(conditions, symbol, limits[i].name)) {
            return pdl_range_of(limits[i].low, limits[i].high);
        }
    }
    return pdl_range_all();
}

static void find_entry(struct pdl_conditions *conditions)
{
    struct pdl_tracked *entry = &conditions->entry;
    entry->set = entry->fresh = 0;
    for (uint32_t i = 0; i < conditions->count; i++) {
        const uint32_t symbol = conditions->symbols[i];
        struct pdl_range range = pdl_range_all();
        if (!(conditions->invariant & bit(i))) {
            continue;
        }
        if (conditions->body->symbols[symbol].kind == PDL_SYMBOL_SPECIAL) {
            range = special_range(conditions, symbol);
        } else if (conditions->formulas[i].op > PDL_FORMULA_OPAQUE) {
            range = evaluate(conditions, entry, &conditions->formulas[i]);
        }
        entry->facts[i] = (struct pdl_fact){.range = range};
        entry->set |= bit(i);
    }
}

static void put(struct pdl_conditions *conditions, uint32_t block, const struct pdl_tracked *known)
{
    memcpy(&conditions->facts[(size_t)block * conditions->count], known->facts,
           conditions->count * sizeof(*known->facts));
    conditions->set[block] = known->set;
    conditions->fresh[block] = known->fresh;
}

void pdl_conditions_again(struct pdl_conditions *conditions)
{
    const size_t count = conditions->cfg->block_count;
    if (conditions->count > 0) {
        memset(conditions->set, 0, count * sizeof(*conditions->set));
        memset(conditions->fresh, 0, count * sizeof(*conditions->fresh));
        memset(conditions->joins, 0, count);
        put(conditions, 0, &conditions->entry);
    }
}

pdl_status pdl_conditions_ready(struct pdl_conditions *conditions)
{
    const size_t count = conditions->cfg->block_count;
    if (conditions->count == 0) {
        return PDL_SUCCESS;
    }
    if (!PDL_ARRAY_RESERVE(conditions->facts, count * conditions->count,
                           conditions->fact_capacity) ||
        !PDL_ARRAY_RESERVE(conditions->set, count, conditions->set_capacity) ||
        !PDL_ARRAY_RESERVE(conditions->fresh, count, conditions->fresh_capacity) ||
        !PDL_ARRAY_RESERVE(conditions->joins, count, conditions->join_capacity)) {
        return pdl_ptx_no_memory();
    }
    find_entry(conditions);
    pdl_conditions_again(conditions);
    return PDL_SUCCESS;
}

/* Keeps at the entry what was found to follow. */
static bool know(struct pdl_conditions *conditions, uint32_t symbol, int64_t value)
{
    struct pdl_tracked entry = conditions->entry;
    if (!pdl_conditions_assume(conditions, &entry, symbol, value)) {
        return false;
    }
    conditions->entry = entry;
    put(conditions, 0, &entry);
    return true;
}

bool pdl_conditions_is_invariant(const struct pdl_conditions *conditions, uint32_t symbol)
{
    const uint32_t number = number_of(conditions, symbol);
    return number != 0 && (conditions->invariant & bit(number - 1)) != 0;
}

bool pdl_conditions_know(struct pdl_conditions *conditions, uint32_t symbol, bool value)
{
    return pdl_conditions_is_invariant(conditions, symbol) && know(conditions, symbol, value);
}

bool pdl_conditions_know_parameter(struct pdl_conditions *conditions, uint32_t index, int64_t value)
{
    bool possible = true;
    for (uint32_t i = 0; i < conditions->count && possible; i++) {
        const struct pdl_formula *formula = &conditions->formulas[i];
        const uint32_t own = conditions->symbols[i];
        const uint32_t symbol = formula->op == PDL_FORMULA_LOAD ? formula->terms[0].symbol : own;
        const struct pdl_symbol *at = &conditions->body->symbols[symbol];
        if (at->kind == PDL_SYMBOL_PARAMETER && at->index == index &&
            (formula->op != PDL_FORMULA_LOAD || formula->terms[0].value == 0)) {
            possible = know(conditions, own, value);
        }
    }
    return possible;
}

/* ---- one instruction ------------------------------------------------------------------------------ */

/* What a definition gives, and what it is a copy of. */
static struct pdl_fact defined(const struct pdl_conditions *conditions,
                               const struct pdl_tracked *known,
                               const struct pdl_instruction *instruction, unsigned element)
{
    struct pdl_fact fact = {.range = pdl_range_all()};
    const struct pdl_formula formula =
        pdl_formula_read(conditions->module, conditions->body, instruction, element);
    if (formula.op <= PDL_FORMULA_OPAQUE) {
        return fact;
    }
    fact.range = evaluate(conditions, known, &formula);
    if (pdl_range_is_empty(&fact.range)) {
        fact.range = pdl_range_all();
    }
    if (formula.op == PDL_FORMULA_COPY && formula.bits == formula.result_bits && formula.bits > 1) {
        const uint32_t number = number_of(conditions, formula.terms[0].symbol);
        fact.same = number != 0 ? original(known, number - 1) + 1 : 0;
    }
    return fact;
}

/* Forgets what was said of a register that gets another value. */
static void forget(const struct pdl_conditions *conditions, struct pdl_tracked *known,
                   uint32_t number)
{
    known->fresh &= ~(conditions->users[number] | bit(number));
    for (uint32_t i = 0; i < conditions->count; i++) {
        if ((known->set & bit(i)) && known->facts[i].same == number + 1) {
            known->facts[i].same = 0;
        }
    }
}

void pdl_conditions_step(const struct pdl_conditions *conditions,
                         const struct pdl_instruction *instruction, struct pdl_tracked *known)
{
    unsigned element = 0;
    if (instruction->opcode.no_result || conditions->count == 0) {
        return;
    }
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        const struct pdl_operand *operand =
            &conditions->body->operands[instruction->first_operand + i];
        if (operand->slot > 0) {
            break;
        }
        element += operand->negated;
        if (operand->kind != PDL_OPERAND_SYMBOL || operand->memory) {
            continue;
        }
        const uint32_t number = number_of(conditions, operand->symbol);
        const unsigned own = element++;
        if (number == 0 || (conditions->invariant & bit(number - 1))) {
            continue;
        }
        struct pdl_fact fact = defined(conditions, known, instruction, own);
        bool always = true;
        if (instruction->guard != PDL_NONE) {
            const struct pdl_range guard =
                pdl_conditions_range(conditions, known, instruction->guard);
            always = pdl_range_is_value(&guard);
            if (always && (guard.low != 0) == instruction->guard_negated) {
                continue; /* not executed */
            }
        }
        forget(conditions, known, number - 1);
        struct pdl_fact *to = &known->facts[number - 1];
        if (!always) {
            const struct pdl_range before = range_of(known, number - 1);
            (void)pdl_range_join(&fact.range, &before);
            fact.same = 0;
        } else if (conditions->formulas[number - 1].op != PDL_FORMULA_NONE) {
            known->fresh |= bit(number - 1);
        }
        fact.same = fact.same == number ? 0 : fact.same;
        *to = fact;
        known->set |= bit(number - 1);
    }
}

/* ---- blocks --------------------------------------------------------------------------------------- */

void pdl_conditions_at(const struct pdl_conditions *conditions, uint32_t block,
                       struct pdl_tracked *known)
{
    if (conditions->count == 0) {
        known->set = known->fresh = 0;
        return;
    }
    memcpy(known->facts, &conditions->facts[(size_t)block * conditions->count],
           conditions->count * sizeof(*known->facts));
    known->set = conditions->set[block];
    known->fresh = conditions->fresh[block];
}

void pdl_conditions_behind(const struct pdl_conditions *conditions, uint32_t block,
                           struct pdl_tracked *known)
{
    const struct pdl_block *at = &conditions->cfg->blocks[block];
    pdl_conditions_at(conditions, block, known);
    for (uint32_t i = 0; i < at->count && conditions->count > 0; i++) {
        pdl_conditions_step(conditions, &conditions->body->instructions[at->first + i], known);
    }
}

/* Joins a fact into one; true if that changed it. */
static bool join_fact(struct pdl_fact *to, const struct pdl_fact *from, unsigned joins)
{
    const struct pdl_range before = to->range;
    bool changed = pdl_range_join(&to->range, &from->range);
    if (changed && joins > JOINS_MAX) {
        to->range = pdl_range_all();
    } else if (changed && joins > JOINS_WIDEN) {
        pdl_range_widen(&to->range, &before);
    }
    if (to->same != 0 && to->same != from->same) {
        to->same = 0;
        changed = true;
    }
    return changed;
}

bool pdl_conditions_join(struct pdl_conditions *conditions, uint32_t block,
                         const struct pdl_tracked *from)
{
    bool changed = false;
    if (conditions->count == 0) {
        return false;
    }
    struct pdl_fact *to = &conditions->facts[(size_t)block * conditions->count];
    for (uint32_t i = 0; i < conditions->count; i++) {
        const uint64_t one = bit(i);
        if (!(from->set & one)) {
            continue;
        }
        if (!(conditions->set[block] & one)) {
            to[i] = from->facts[i];
            conditions->set[block] |= one;
            conditions->fresh[block] |= from->fresh & one;
            changed = true;
            continue;
        }
        if (join_fact(&to[i], &from->facts[i], conditions->joins[block])) {
            changed = true;
        }
        if ((conditions->fresh[block] & ~from->fresh & one) != 0) {
            conditions->fresh[block] &= ~one;
            changed = true;
        }
    }
    conditions->joins[block] =
        (uint8_t)(conditions->joins[block] + (changed && conditions->joins[block] < UINT8_MAX));
    return changed;
}
