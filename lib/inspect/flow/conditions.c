/* SPDX-License-Identifier: MIT */
#include "inspect/flow/conditions.h"

#include <string.h>

/* What is kept of a body, of all its blocks together; larger ones track fewer registers. */
#define FACTS_MAX (UINT32_C(1) << 19)
/* As often what is known at a block may change before it is widened, and given up. */
#define JOINS_WIDEN 4
#define JOINS_MAX   12

void pdl_conditions_start(struct pdl_conditions *conditions, const struct pdl_ptx_module *module,
                          const struct pdl_body *body, const struct pdl_cfg *cfg,
                          const struct pdl_values *values)
{
    const uint32_t room = FACTS_MAX / (cfg->block_count + 1);
    conditions->module = module;
    conditions->body = body;
    conditions->cfg = cfg;
    conditions->values = values;
    conditions->count = 0;
    conditions->settled = false;
    conditions->invariant = 0;
    conditions->limit = room < PDL_TRACKED_MAX ? room : PDL_TRACKED_MAX;
    PDL_RESERVE(conditions->tracked, (size_t)body->symbol_count + 1, conditions->tracked_capacity);
    memset(conditions->tracked, 0, (size_t)body->symbol_count + 1);
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
    return (known->set & pdl_tracked_bit(number)) != 0 ? known->facts[number].range
                                                       : pdl_range_all();
}

struct pdl_range pdl_conditions_range(const struct pdl_conditions *conditions,
                                      const struct pdl_tracked *known, uint32_t symbol)
{
    const uint32_t number = pdl_tracked_number(conditions, symbol);
    if (number == 0) {
        return pdl_range_all();
    }
    const struct pdl_range range = range_of(known, number - 1);
    return (conditions->tracked[symbol] & PDL_TRACKED_NEGATED) != 0 ? negated(&range) : range;
}

static struct pdl_range term_range(const struct pdl_conditions *conditions,
                                   const struct pdl_tracked *known,
                                   const struct pdl_formula *formula, unsigned index)
{
    const struct pdl_term *term = &formula->terms[index];
    const struct pdl_range type = pdl_formula_type(pdl_formula_term_bits(formula, index));
    struct pdl_range range = type;
    if (term->symbol == PDL_NONE) {
        return pdl_formula_number(formula, index, term->value); /* 0xffffffff is -1 */
    }
    if (!pdl_tracked_is_address(conditions, term->symbol)) {
        range = pdl_conditions_range(conditions, known, term->symbol);
        (void)pdl_range_meet(&range, &type);
        if (pdl_range_is_empty(&range) && pdl_tracked_number(conditions, term->symbol) != 0) {
            range = type; /* of another width than was thought */
        }
    }
    return term->negated ? negated(&range) : range;
}

/* The register that another is a copy of, or itself. */
static uint32_t original(const struct pdl_tracked *known, uint32_t number)
{
    const uint32_t same =
        (known->set & pdl_tracked_bit(number)) != 0 ? known->facts[number].same : 0;
    return same != 0 ? same - 1 : number;
}

/* Whether the first two terms are one register, or copies. */
static bool equal_terms(const struct pdl_conditions *conditions, const struct pdl_tracked *known,
                        const struct pdl_formula *formula)
{
    if (formula->count < 2 || formula->bits == 1) {
        return false;
    }
    const uint32_t a = pdl_tracked_number(conditions, formula->terms[0].symbol);
    const uint32_t b = pdl_tracked_number(conditions, formula->terms[1].symbol);
    return a != 0 && b != 0 && original(known, a - 1) == original(known, b - 1);
}

static void fill_terms(const struct pdl_conditions *conditions, const struct pdl_tracked *known,
                       const struct pdl_formula *formula, struct pdl_range *terms)
{
    for (unsigned i = 0; i < PDL_FORMULA_TERMS; i++) {
        terms[i] =
            i < formula->count ? term_range(conditions, known, formula, i) : pdl_range_value(0);
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
           ((conditions->invariant | known->fresh) & pdl_tracked_bit(number)) != 0;
}

/* Narrows what is known of a register; false if nothing is left. */
static bool narrow(struct pdl_tracked *known, uint32_t number, const struct pdl_range *range,
                   uint64_t *changed)
{
    struct pdl_fact *fact = &known->facts[number];
    if (!(known->set & pdl_tracked_bit(number))) {
        fact->range = pdl_range_all();
        fact->same = 0;
        known->set |= pdl_tracked_bit(number);
    }
    if (pdl_range_meet(&fact->range, range)) {
        *changed |= pdl_tracked_bit(number);
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
        const uint32_t term = pdl_tracked_number(conditions, formula->terms[i].symbol);
        if (term == 0) {
            continue;
        }
        const bool inverse =
            formula->terms[i].negated !=
            ((conditions->tracked[formula->terms[i].symbol] & PDL_TRACKED_NEGATED) != 0);
        const struct pdl_range range = inverse ? negated(&terms[i]) : terms[i];
        if (!narrow(known, term - 1, &range, changed)) {
            return false;
        }
    }
    return true;
}

/* The number of the lowest of bits that are not all 0. */
static uint32_t lowest(uint64_t bits)
{
    return (uint32_t)__builtin_ctzll(bits);
}

/* The number of the highest of bits that are not all 0. */
static uint32_t highest(uint64_t bits)
{
    return 63 - (uint32_t)__builtin_clzll(bits);
}

/* Takes what changed to the terms of formulas, which come before them, and from there to all that is
 * made of those. False if it is a contradiction. */
static bool propagate(const struct pdl_conditions *conditions, struct pdl_tracked *known,
                      uint64_t changed)
{
    bool possible = true;
    uint64_t left = changed;
    while (left != 0 && possible) {
        const uint32_t i = highest(left);
        const uint32_t of = original(known, i);
        if (of != i) {
            possible = narrow(known, of, &known->facts[i].range, &changed);
        }
        if (possible && holds(conditions, known, i)) {
            possible = to_terms(conditions, known, i, &changed);
        }
        left = changed & (pdl_tracked_bit(i) - 1);
    }
    for (uint32_t i = 0; i < conditions->count && possible; i++) {
        const uint32_t of = original(known, i);
        if (of != i && (changed & pdl_tracked_bit(of))) {
            const struct pdl_range range = range_of(known, of);
            possible = narrow(known, i, &range, &changed);
        }
        if (possible && (conditions->parts[i] & changed) != 0 && holds(conditions, known, i)) {
            const struct pdl_range range = evaluate(conditions, known, &conditions->formulas[i]);
            possible = narrow(known, i, &range, &changed);
        }
    }
    return possible;
}

bool pdl_conditions_assume(const struct pdl_conditions *conditions, struct pdl_tracked *known,
                           uint32_t symbol, int64_t value)
{
    const uint32_t number = pdl_tracked_number(conditions, symbol);
    uint64_t changed = 0;
    if (number == 0) {
        return true;
    }
    const struct pdl_range range = pdl_range_value(
        (conditions->tracked[symbol] & PDL_TRACKED_NEGATED) != 0 ? value == 0 : value);
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
        if (pdl_tracked_is_name(conditions, symbol, limits[i].name)) {
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
        if (!(conditions->invariant & pdl_tracked_bit(i))) {
            continue;
        }
        if (conditions->body->symbols[symbol].kind == PDL_SYMBOL_SPECIAL) {
            range = special_range(conditions, symbol);
        } else if (conditions->formulas[i].op > PDL_FORMULA_OPAQUE) {
            range = evaluate(conditions, entry, &conditions->formulas[i]);
        }
        entry->facts[i] = (struct pdl_fact){.range = range};
        entry->set |= pdl_tracked_bit(i);
    }
}

static void put(struct pdl_conditions *conditions, uint32_t block, const struct pdl_tracked *known)
{
    memcpy(&conditions->facts[(size_t)block * conditions->count], known->facts,
           conditions->count * sizeof(*known->facts));
    conditions->set[block] = known->set;
    conditions->fresh[block] = known->fresh;
}

/* Of how many blocks something is kept. */
static size_t kept_blocks(const struct pdl_conditions *conditions)
{
    return (size_t)conditions->cfg->block_count * (conditions->both ? 2 : 1);
}

void pdl_conditions_again(struct pdl_conditions *conditions)
{
    const size_t count = kept_blocks(conditions);
    if (conditions->count > 0) {
        memset(conditions->set, 0, count * sizeof(*conditions->set));
        memset(conditions->fresh, 0, count * sizeof(*conditions->fresh));
        memset(conditions->joins, 0, count);
        put(conditions, 0, &conditions->entry);
    }
}

/* Adds the tracked registers that an instruction defines. */
static void add_definitions(struct pdl_conditions *conditions, uint32_t index)
{
    const struct pdl_instruction *instruction = &conditions->body->instructions[index];
    unsigned element = 0;
    for (uint32_t i = 0; i < instruction->operand_count && !instruction->opcode.no_result; i++) {
        const struct pdl_operand *operand =
            &conditions->body->operands[instruction->first_operand + i];
        if (operand->slot > 0) {
            break;
        }
        element += operand->negated;
        if (operand->kind != PDL_OPERAND_SYMBOL || operand->memory) {
            continue;
        }
        const uint32_t number = pdl_tracked_number(conditions, operand->symbol);
        const unsigned own = element++;
        if (number == 0 || (conditions->invariant & pdl_tracked_bit(number - 1))) {
            continue;
        }
        PDL_ADD(
            conditions->definitions, conditions->definition_count, conditions->definition_capacity,
            (struct pdl_definition){.instruction = index,
                                    .number = number - 1,
                                    .formula = pdl_formula_read(
                                        conditions->module, conditions->body, instruction, own)});
    }
}

/* The next instruction that defines a tracked register which may change; PDL_NONE behind the last.
 * next[]: by register, where its definitions go on. */
static uint32_t next_definition(const struct pdl_conditions *conditions, uint32_t *next)
{
    const struct pdl_values *values = conditions->values;
    uint32_t instruction = PDL_NONE;
    for (uint32_t i = 0; i < conditions->count; i++) {
        if (next[i] < values->first_definition[conditions->symbols[i] + 1] &&
            values->definitions[next[i]] < instruction) {
            instruction = values->definitions[next[i]];
        }
    }
    for (uint32_t i = 0; i < conditions->count; i++) {
        const uint32_t end = values->first_definition[conditions->symbols[i] + 1];
        while (next[i] < end && values->definitions[next[i]] == instruction) {
            next[i]++;
        }
    }
    return instruction;
}

/* Finds what defines the tracked registers, and what they are made of. */
static void find_definitions(struct pdl_conditions *conditions)
{
    uint32_t next[PDL_TRACKED_MAX];
    uint32_t instruction;
    conditions->definition_count = 0;
    for (uint32_t i = 0; i < conditions->count; i++) {
        const bool changes = !(conditions->invariant & pdl_tracked_bit(i));
        next[i] = conditions->values->first_definition[conditions->symbols[i] + (changes ? 0 : 1)];
    }
    while ((instruction = next_definition(conditions, next)) != PDL_NONE) {
        add_definitions(conditions, instruction);
    }
    for (uint32_t i = 0; i < conditions->count; i++) {
        const struct pdl_formula *formula = &conditions->formulas[i];
        conditions->parts[i] = 0;
        for (unsigned j = 0; j < formula->count; j++) {
            const uint32_t term = pdl_tracked_number(conditions, formula->terms[j].symbol);
            conditions->parts[i] |= term != 0 ? pdl_tracked_bit(term - 1) : 0;
        }
    }
}

void pdl_conditions_ready(struct pdl_conditions *conditions, bool both)
{
    conditions->both =
        both && (size_t)conditions->cfg->block_count * 2 * conditions->count <= FACTS_MAX;
    const size_t count = kept_blocks(conditions);
    if (conditions->count == 0) {
        return;
    }
    PDL_RESERVE(conditions->facts, count * conditions->count, conditions->fact_capacity);
    PDL_RESERVE(conditions->set, count, conditions->set_capacity);
    PDL_RESERVE(conditions->fresh, count, conditions->fresh_capacity);
    PDL_RESERVE(conditions->joins, count, conditions->join_capacity);
    find_definitions(conditions);
    find_entry(conditions);
    pdl_conditions_again(conditions);
}

bool pdl_conditions_is_invariant(const struct pdl_conditions *conditions, uint32_t symbol)
{
    const uint32_t number = pdl_tracked_number(conditions, symbol);
    return number != 0 && (conditions->invariant & pdl_tracked_bit(number - 1)) != 0;
}

bool pdl_conditions_know(struct pdl_conditions *conditions, uint32_t symbol, bool value)
{
    struct pdl_tracked entry;
    pdl_tracked_copy(conditions, &entry, &conditions->entry);
    if (!pdl_conditions_is_invariant(conditions, symbol) ||
        !pdl_conditions_assume(conditions, &entry, symbol, value)) {
        return false;
    }
    pdl_tracked_copy(conditions, &conditions->entry, &entry);
    put(conditions, 0, &entry);
    conditions->settled = false;
    return true;
}

/* ---- one instruction ------------------------------------------------------------------------------ */

/* What a definition gives, and what it is a copy of. */
static struct pdl_fact defined(const struct pdl_conditions *conditions,
                               const struct pdl_tracked *known, const struct pdl_formula *formula)
{
    struct pdl_fact fact = {.range = pdl_range_all()};
    if (formula->op <= PDL_FORMULA_OPAQUE) {
        return fact;
    }
    fact.range = evaluate(conditions, known, formula);
    if (pdl_range_is_empty(&fact.range)) {
        fact.range = pdl_range_all();
    }
    if (formula->op == PDL_FORMULA_COPY && formula->bits == formula->result_bits &&
        formula->bits > 1) {
        const uint32_t number = pdl_tracked_number(conditions, formula->terms[0].symbol);
        fact.same = number != 0 ? original(known, number - 1) + 1 : 0;
    }
    return fact;
}

/* Forgets what was said of a register that gets another value. */
static void forget(const struct pdl_conditions *conditions, struct pdl_tracked *known,
                   uint32_t number)
{
    known->fresh &= ~(conditions->users[number] | pdl_tracked_bit(number));
    for (uint64_t left = known->set; left != 0; left &= left - 1) {
        struct pdl_fact *fact = &known->facts[lowest(left)];
        fact->same = fact->same == number + 1 ? 0 : fact->same;
    }
}

/* Takes what is known over the definition of a register. */
static void define(const struct pdl_conditions *conditions, const struct pdl_definition *definition,
                   struct pdl_tracked *known)
{
    const struct pdl_instruction *instruction =
        &conditions->body->instructions[definition->instruction];
    const uint32_t number = definition->number;
    bool always = true;
    if (instruction->guard != PDL_NONE) {
        const struct pdl_range guard = pdl_conditions_range(conditions, known, instruction->guard);
        always = pdl_range_is_value(&guard);
        if (always && (guard.low != 0) == instruction->guard_negated) {
            return; /* not executed */
        }
    }
    struct pdl_fact fact = defined(conditions, known, &definition->formula);
    forget(conditions, known, number);
    if (!always) {
        const struct pdl_range before = range_of(known, number);
        (void)pdl_range_join(&fact.range, &before);
        fact.same = 0;
    } else if (conditions->formulas[number].op != PDL_FORMULA_NONE) {
        known->fresh |= pdl_tracked_bit(number);
    }
    if (fact.same != 0 && fact.same - 1 == number) {
        fact.same = 0;
    }
    known->facts[number] = fact;
    known->set |= pdl_tracked_bit(number);
}

void pdl_conditions_step(const struct pdl_conditions *conditions, uint32_t first, uint32_t count,
                         struct pdl_tracked *known)
{
    if (conditions->count == 0) {
        return;
    }
    const struct pdl_definition *definitions = conditions->definitions;
    const uint32_t end = conditions->definition_count;
    uint32_t low = 0;
    for (uint32_t high = end; low < high;) {
        const uint32_t middle = low + (high - low) / 2;
        if (definitions[middle].instruction < first) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < end && definitions[low].instruction - first < count; low++) {
        define(conditions, &definitions[low], known);
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
    const uint32_t count = conditions->cfg->block_count;
    const uint32_t own = block < count ? block : block - count;
    const struct pdl_block *at = &conditions->cfg->blocks[own];
    pdl_conditions_at(conditions, block, known);
    pdl_conditions_step(conditions, at->first, at->count, known);
}

/* Whether those for whom its guard holds go no further: the successor is for the others. */
static bool ends_path(const struct pdl_instruction *branch)
{
    return branch->opcode.op == PDL_OP_RETURN || branch->opcode.op == PDL_OP_EXIT ||
           branch->opcode.op == PDL_OP_TRAP;
}

const struct pdl_tracked *pdl_conditions_given(const struct pdl_conditions *conditions,
                                               const struct pdl_tracked *known, uint32_t symbol,
                                               int64_t value, struct pdl_tracked *room)
{
    if (pdl_tracked_number(conditions, symbol) == 0) {
        return known;
    }
    pdl_tracked_copy(conditions, room, known);
    return pdl_conditions_assume(conditions, room, symbol, value) ? room : NULL;
}

const struct pdl_tracked *pdl_conditions_take(const struct pdl_conditions *conditions,
                                              uint32_t block, uint32_t edge,
                                              const struct pdl_tracked *known,
                                              struct pdl_tracked *room)
{
    const struct pdl_block *at = &conditions->cfg->blocks[block];
    if (at->branch == PDL_NONE || conditions->count == 0) {
        return known;
    }
    const struct pdl_instruction *branch = &conditions->body->instructions[at->branch];
    if (branch->opcode.op == PDL_OP_BRANCH_TABLE) {
        const struct pdl_operand *index = &conditions->body->operands[branch->first_operand];
        return branch->guard != PDL_NONE || branch->operand_count == 0 ||
                       index->kind != PDL_OPERAND_SYMBOL
                   ? known
                   : pdl_conditions_given(conditions, known, index->symbol, edge, room);
    }
    const bool first = ends_path(branch) ? edge == at->successor_count : edge == 0;
    return pdl_conditions_given(conditions, known, branch->guard, first != branch->guard_negated,
                                room);
}

/* Joins a fact into one; true if that changed it. */
static bool join_fact(struct pdl_fact *to, const struct pdl_fact *from, unsigned joins)
{
    const struct pdl_range before = to->range;
    if (to->same == from->same && pdl_range_same(&before, &from->range)) {
        return false;
    }
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
    if (conditions->set[block] == from->set && conditions->fresh[block] == from->fresh &&
        memcmp(to, from->facts, conditions->count * sizeof(*to)) == 0) {
        return false;
    }
    if (conditions->set[block] == 0 && from->set != 0) { /* the first way */
        put(conditions, block, from);
        conditions->joins[block]++;
        return true;
    }
    for (uint64_t left = from->set; left != 0; left &= left - 1) {
        const uint32_t i = lowest(left);
        const uint64_t one = pdl_tracked_bit(i);
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
