/* SPDX-License-Identifier: MIT */
/* Flags of the launch: `if (overlapped) { wait }`, with the host setting the flag where it launches with
 * overlap. Such a flag is a parameter or a constant, it is set where the kernel waits, and it decides
 * nothing but that. */
#include "inspect/flow/flow.h"

#include "inspect/flow/sides.h"

/* Flags of one kernel that are looked at, and registers made of one. */
#define FLAGS_MAX 16
#define USES_MAX  64
/* Copies, masks and shifts between a flag and what is compared. */
#define STEPS_MAX 16
/* A number that is compared with no more than this says how many there are. */
#define COUNT_MAX 2

/* A test of a flag: a predicate that is `on` where the flag is set. */
struct test {
    uint32_t predicate;
    uint32_t value; /* the register that is compared */
    bool on;
    bool order; /* not with one number, but with all from some number on */
};

struct search {
    struct pdl_flow *flow;
    struct pdl_sides sides;
    struct test tests[8]; /* of one decision */
    uint32_t test_count;
    uint32_t looked; /* at flags */
    bool found;
};

/* ---- the tests of a branch ------------------------------------------------------------------------ */

static bool is_number(const struct pdl_term *term)
{
    return term->symbol == PDL_NONE;
}

/* The predicate that chose between two numbers, one of which a register is; PDL_NONE. */
static uint32_t chooser(const struct search *search, uint32_t symbol)
{
    for (unsigned depth = 0; depth < STEPS_MAX && symbol != PDL_NONE; depth++) {
        const struct pdl_formula formula =
            pdl_conditions_formula(&search->flow->conditions, symbol);
        if (formula.op == PDL_FORMULA_SELECT) {
            return is_number(&formula.terms[0]) && is_number(&formula.terms[1])
                       ? formula.terms[2].symbol
                       : PDL_NONE;
        }
        const bool carries = formula.op == PDL_FORMULA_COPY ||
                             (formula.op == PDL_FORMULA_AND && is_number(&formula.terms[1]));
        symbol = carries ? formula.terms[0].symbol : PDL_NONE;
    }
    return PDL_NONE;
}

/* Adds a comparison of a register with a number, if it is one. */
static void add_comparison(struct search *search, uint32_t predicate,
                           const struct pdl_formula *formula)
{
    const unsigned number = is_number(&formula->terms[0]) ? 0 : 1;
    const struct pdl_term *with = &formula->terms[number];
    const struct pdl_term *of = &formula->terms[1 - number];
    struct test test = {.predicate = predicate, .value = of->symbol};
    if (!is_number(with) || is_number(of) ||
        search->test_count == sizeof(search->tests) / sizeof(search->tests[0]) ||
        formula->combine != PDL_COMBINE_NONE) {
        return;
    }
    if (formula->relation == PDL_RELATION_EQUAL) {
        test.on = (with->value != 0) != formula->inverted;
    } else { /* NUMBER < value, or value < NUMBER: on where it is greater */
        test.on = (number == 0) != formula->inverted;
        test.order = true;
    }
    search->tests[search->test_count++] = test;
}

/* The tests that a predicate is made of. */
static void find_tests(struct search *search, uint32_t guard)
{
    uint32_t waiting[16];
    uint32_t count = 1;
    search->test_count = 0;
    waiting[0] = guard;
    for (uint32_t i = 0; i < count; i++) {
        const struct pdl_formula formula =
            pdl_conditions_formula(&search->flow->conditions, waiting[i]);
        const bool bits =
            formula.bits == 1 && (formula.op == PDL_FORMULA_AND || formula.op == PDL_FORMULA_OR ||
                                  formula.op == PDL_FORMULA_XOR || formula.op == PDL_FORMULA_COPY);
        if (formula.op == PDL_FORMULA_COMPARE) {
            const uint32_t by = chooser(search, formula.terms[0].symbol);
            add_comparison(search, waiting[i], &formula);
            if (by != PDL_NONE && count < sizeof(waiting) / sizeof(waiting[0])) {
                waiting[count++] = by;
            }
        }
        for (unsigned j = 0; j < formula.count; j++) {
            const bool predicate = bits || (formula.op == PDL_FORMULA_COMPARE && j == 2);
            if (predicate && !is_number(&formula.terms[j]) &&
                count < sizeof(waiting) / sizeof(waiting[0])) {
                waiting[count++] = formula.terms[j].symbol;
            }
        }
    }
}

/* ---- what else a flag decides --------------------------------------------------------------------- */

/* The formula of a load that a register's value is, or a part of; its op is PDL_FORMULA_NONE if it is
 * something else. *mask: the bits that are looked at. */
static struct pdl_formula source_of(const struct search *search, uint32_t symbol, int64_t *mask)
{
    *mask = -1;
    for (unsigned depth = 0; depth < STEPS_MAX; depth++) {
        const struct pdl_formula formula =
            pdl_conditions_formula(&search->flow->conditions, symbol);
        const bool part = formula.op == PDL_FORMULA_COPY || formula.op == PDL_FORMULA_AND ||
                          formula.op == PDL_FORMULA_SHR || formula.op == PDL_FORMULA_FIELD;
        if (formula.op == PDL_FORMULA_LOAD) {
            return formula;
        }
        if (!part || is_number(&formula.terms[0]) ||
            (formula.count > 1 && !is_number(&formula.terms[1]))) {
            break;
        }
        if (formula.op == PDL_FORMULA_AND) {
            *mask &= formula.terms[1].value;
        } else if (formula.op != PDL_FORMULA_COPY) {
            *mask = -1; /* of other bits than those that are there then */
        }
        symbol = formula.terms[0].symbol;
    }
    return (struct pdl_formula){.op = PDL_FORMULA_NONE};
}

static bool same_load(const struct pdl_formula *a, const struct pdl_formula *b)
{
    return b->op == PDL_FORMULA_LOAD && a->terms[0].symbol == b->terms[0].symbol &&
           a->terms[0].value == b->terms[0].value;
}

struct uses {
    uint32_t symbols[USES_MAX];
    uint32_t count;
    bool full;
};

static void add_use(struct uses *uses, uint32_t symbol)
{
    for (uint32_t i = 0; i < uses->count; i++) {
        if (uses->symbols[i] == symbol) {
            return;
        }
    }
    if (uses->count == USES_MAX) {
        uses->full = true;
        return;
    }
    uses->symbols[uses->count++] = symbol;
}

/* The registers that a parameter or a constant is loaded to. */
static void add_loads(const struct search *search, const struct pdl_formula *load,
                      struct uses *uses)
{
    const struct pdl_flow *flow = search->flow;
    const struct pdl_values *values = flow->values;
    const uint32_t symbol = load->terms[0].symbol;
    for (uint32_t i = values->first_use[symbol]; i < values->first_use[symbol + 1]; i++) {
        const struct pdl_instruction *at = &flow->body->instructions[values->uses[i]];
        unsigned element = 0;
        for (uint32_t j = 0; j < at->operand_count; j++) {
            const struct pdl_operand *operand = &flow->body->operands[at->first_operand + j];
            if (operand->slot > 0 || operand->kind != PDL_OPERAND_SYMBOL) {
                break;
            }
            const struct pdl_formula formula =
                pdl_formula_read(flow->module, flow->body, at, element++);
            if (same_load(load, &formula)) {
                add_use(uses, operand->symbol);
            }
        }
    }
}

/* Whether an instruction that uses a flag's register only takes it on to another, which is added, or to
 * a branch that decides nothing but waits and triggers. */
static bool is_harmless(struct search *search, const struct pdl_instruction *instruction,
                        uint32_t symbol, int64_t mask, struct uses *uses)
{
    const struct pdl_flow *flow = search->flow;
    bool harmless = false;
    if (instruction->guard == symbol) {
        const uint32_t index = (uint32_t)(instruction - flow->body->instructions);
        const uint32_t block = flow->cfg->block_of[index];
        switch (instruction->opcode.op) {
        case PDL_OP_WAIT:
        case PDL_OP_TRIGGER:
            return true;
        case PDL_OP_BRANCH:
            return pdl_sides_compare(&search->sides, flow, block);
        default:
            return false;
        }
    }
    const struct pdl_formula formula = pdl_formula_read(flow->module, flow->body, instruction, 0);
    bool numbers = true;
    for (unsigned i = 0; i < formula.count; i++) {
        numbers = numbers && (is_number(&formula.terms[i]) || formula.terms[i].symbol == symbol);
    }
    switch (formula.op) {
    case PDL_FORMULA_AND:
        /* Other bits than those that are the flag are no matter. */
        if (numbers && formula.bits > 1 && mask != -1 && (formula.terms[1].value & mask) == 0) {
            return true;
        }
        harmless = numbers || formula.bits == 1;
        break;
    case PDL_FORMULA_OR:
    case PDL_FORMULA_XOR:
        harmless = formula.bits == 1;
        break;
    case PDL_FORMULA_COPY:
    case PDL_FORMULA_SHR:
    case PDL_FORMULA_FIELD:
        harmless = numbers;
        break;
    case PDL_FORMULA_SELECT:
        harmless = is_number(&formula.terms[0]) && is_number(&formula.terms[1]);
        break;
    case PDL_FORMULA_COMPARE:
        harmless = true;
        break;
    default:
        break;
    }
    for (uint32_t i = 0; i < instruction->operand_count && harmless; i++) {
        const struct pdl_operand *operand = &flow->body->operands[instruction->first_operand + i];
        if (operand->slot == 0 && operand->kind == PDL_OPERAND_SYMBOL) {
            add_use(uses, operand->symbol);
        }
    }
    return harmless;
}

/* Whether nothing but waits and triggers depends on what a register was loaded from. */
static bool decides_nothing_else(struct search *search, uint32_t value)
{
    const struct pdl_flow *flow = search->flow;
    int64_t mask;
    struct uses uses = {.count = 0};
    const struct pdl_formula load = source_of(search, value, &mask);
    if (load.op != PDL_FORMULA_LOAD || search->looked++ >= FLAGS_MAX) {
        return false;
    }
    add_loads(search, &load, &uses);
    for (uint32_t i = 0; i < uses.count; i++) {
        const uint32_t symbol = uses.symbols[i];
        const uint32_t end = flow->values->first_use[symbol + 1];
        if (end - flow->values->first_use[symbol] > USES_MAX) {
            return false;
        }
        for (uint32_t j = flow->values->first_use[symbol]; j < end; j++) {
            if (!is_harmless(search, &flow->body->instructions[flow->values->uses[j]], symbol, mask,
                             &uses)) {
                return false;
            }
        }
    }
    return uses.count > 0 && !uses.full;
}

/* The parameter that a flag is all of, + 1, if it is wide enough for a number; else 0. */
static uint32_t numeric_parameter(const struct search *search, uint32_t value)
{
    int64_t mask;
    const struct pdl_flow *flow = search->flow;
    const struct pdl_formula load = source_of(search, value, &mask);
    const struct pdl_symbol *symbol =
        load.op == PDL_FORMULA_LOAD ? &flow->body->symbols[load.terms[0].symbol] : NULL;
    if (symbol == NULL || symbol->kind != PDL_SYMBOL_PARAMETER || load.bits < 32 ||
        load.terms[0].value != 0 || mask != -1) {
        return 0;
    }
    return symbol->index + 1u;
}

/* ---- decisions ------------------------------------------------------------------------------------ */

/* Whether a register has one value for the whole grid. */
static bool is_uniform(const struct search *search, uint32_t symbol)
{
    const struct pdl_operand operand = {.kind = PDL_OPERAND_SYMBOL, .symbol = symbol};
    const struct pdl_value value =
        pdl_operand_value(search->flow->values, search->flow->body, &operand);
    return (value.depends & ~PDL_DEPENDS_PARAMETER) == 0;
}

/* Whether a branch goes a way for certain where a test comes out so. */
static bool goes(const struct search *search, const struct pdl_instruction *branch, bool holds,
                 uint32_t predicate, bool value)
{
    const struct pdl_conditions *conditions = &search->flow->conditions;
    struct pdl_tracked known = conditions->entry;
    known.fresh = ~UINT64_C(0); /* all as at the branch, of which nothing else is known */
    if (!pdl_conditions_assume(conditions, &known, predicate, value)) {
        return false;
    }
    const struct pdl_range range = pdl_conditions_range(conditions, &known, branch->guard);
    return pdl_range_is_value(&range) && ((range.low != 0) != branch->guard_negated) == holds;
}

/* A test like `version >= 90`: not of how many there are. */
static bool asks_for_much(const struct search *search, const struct test *test)
{
    const struct pdl_conditions *conditions = &search->flow->conditions;
    struct pdl_tracked known = conditions->entry;
    if (!pdl_conditions_assume(conditions, &known, test->value, COUNT_MAX)) {
        return false;
    }
    const struct pdl_range range = pdl_conditions_range(conditions, &known, test->predicate);
    return pdl_range_is_value(&range) && (range.low != 0) != test->on;
}

/* Whether a decision goes around the wait where a flag of the launch is not set; then the flag is taken
 * for set from here on. */
static void look_at(struct search *search, struct pdl_decision *decision, bool order)
{
    struct pdl_flow *flow = search->flow;
    const struct pdl_block *block = &flow->cfg->blocks[decision->block];
    if (!decision->reached || decision->call || block->branch == PDL_NONE || decision->edge > 1 ||
        block->successor_count != 2) {
        return;
    }
    const struct pdl_instruction *branch = &flow->body->instructions[block->branch];
    if (branch->guard == PDL_NONE || branch->opcode.op == PDL_OP_BRANCH_TABLE) {
        return;
    }
    find_tests(search, branch->guard);
    for (uint32_t i = 0; i < search->test_count; i++) {
        const struct test *test = &search->tests[i];
        if (test->order != order || !is_uniform(search, test->value) ||
            !pdl_conditions_is_invariant(&flow->conditions, test->predicate) ||
            !goes(search, branch, decision->edge == 0, test->predicate, !test->on) ||
            (order && !asks_for_much(search, test))) {
            continue;
        }
        if (decides_nothing_else(search, test->value) &&
            pdl_conditions_know(&flow->conditions, test->predicate, test->on)) {
            decision->launch = true;
            decision->flag = numeric_parameter(search, test->value);
            search->found = true;
        }
    }
}

void pdl_flow_find_switches(struct pdl_flow *flow)
{
    struct search search = {.flow = flow};
    flow->switched = false;
    if (!flow->body->function->is_entry || flow->conditions.count == 0) {
        return;
    }
    /* What is compared by order counts only beside a flag. */
    for (int order = 0; order < 2; order++) {
        for (uint32_t i = 0;
             i < flow->decision_count && search.looked < FLAGS_MAX && (order == 0 || search.found);
             i++) {
            look_at(&search, &flow->decisions[i], order != 0);
        }
    }
    flow->switched = search.found;
    pdl_give_back(search.sides.reached);
    pdl_give_back(search.sides.queue);
    pdl_give_back(search.sides.keys[0]);
    pdl_give_back(search.sides.keys[1]);
}
