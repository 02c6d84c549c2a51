/* SPDX-License-Identifier: MIT */
#include "inspect/flow/mbarrier.h"

#include <string.h>

#include "inspect/flow/flow.h"

/* What is made of a wait's result is followed through so many registers. */
#define CHAIN_MAX 16u
#include "inspect/flow/phases.h"

/* ---- finding ------------------------------------------------------------------------------------- */

/* Another slot of an address that operations are on; PDL_NONE if there are too many. */
static uint32_t place_of(struct pdl_mbarriers *mbarriers, const struct pdl_shared *address)
{
    for (uint32_t i = 0; i < mbarriers->place_count; i++) {
        if (pdl_shared_same(&mbarriers->places[i].address, address)) {
            return i;
        }
    }
    if (mbarriers->place_count == PDL_MBARRIER_PLACES) {
        return PDL_NONE;
    }
    mbarriers->places[mbarriers->place_count] = (struct pdl_mbarrier_place){.address = *address};
    return mbarriers->place_count++;
}

static bool kind_of(const struct pdl_flow *flow, const struct pdl_instruction *instruction,
                    uint8_t *kind)
{
    const struct pdl_name *name = &flow->module->names.names[instruction->name];
    switch (instruction->opcode.op) {
    case PDL_OP_BARRIER_MEMORY:
        *kind = PDL_MBARRIER_TOKEN;
        for (uint32_t i = 0; i + 7 <= name->length; i++) {
            if (memcmp(name->text + i, ".parity", 7) == 0) {
                *kind = PDL_MBARRIER_WAIT;
            }
        }
        return true;
    case PDL_OP_MBARRIER_INIT:
        *kind = PDL_MBARRIER_INIT;
        return true;
    case PDL_OP_MBARRIER_ARRIVE:
        *kind = pdl_name_begins(name, "mbarrier.expect_tx") ||
                        pdl_name_begins(name, "mbarrier.complete_tx")
                    ? PDL_MBARRIER_COMPLETE
                    : PDL_MBARRIER_ARRIVE;
        return true;
    default:
        *kind = PDL_MBARRIER_COMPLETE;
        return instruction->opcode.completes;
    }
}

/* The address of the mbarrier: of operations that have more than one, the last. */
static const struct pdl_operand *address_of(const struct pdl_body *body,
                                            const struct pdl_instruction *instruction)
{
    const struct pdl_operand *address = NULL;
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        const struct pdl_operand *operand = &body->operands[instruction->first_operand + i];
        address = operand->address ? operand : address;
    }
    return address;
}

const struct pdl_operand *pdl_mbarrier_operand(const struct pdl_flow *flow, uint32_t instruction,
                                               unsigned slot)
{
    const struct pdl_instruction *at = &flow->body->instructions[instruction];
    for (uint32_t i = 0; i < at->operand_count; i++) {
        const struct pdl_operand *operand = &flow->body->operands[at->first_operand + i];
        if (operand->slot == slot && !operand->memory) {
            return operand;
        }
    }
    return NULL;
}

/* The only term that is a register; PDL_FORMULA_TERMS if there is none, or more than one. */
static unsigned only_register(const struct pdl_formula *formula)
{
    unsigned found = PDL_FORMULA_TERMS;
    for (unsigned i = 0; i < formula->count; i++) {
        if (formula->terms[i].symbol != PDL_NONE) {
            if (found != PDL_FORMULA_TERMS) {
                return PDL_FORMULA_TERMS;
            }
            found = i;
        }
    }
    return found;
}

/* What formulas, the last one first, make of a result. */
static struct pdl_range made_of(const struct pdl_formula *chain, unsigned count, int64_t result)
{
    struct pdl_range value = pdl_range_value(result);
    while (count-- > 0 && pdl_range_is_value(&value)) {
        const struct pdl_formula *formula = &chain[count];
        const unsigned of = only_register(formula);
        struct pdl_range terms[PDL_FORMULA_TERMS];
        for (unsigned i = 0; i < formula->count; i++) {
            const int64_t in = i != of                     ? formula->terms[i].value
                               : formula->terms[i].negated ? value.low == 0
                                                           : value.low;
            terms[i] = pdl_formula_number(formula, i, in);
        }
        value = pdl_formula_result(formula, terms, false);
    }
    return value;
}

/* The wait on an mbarrier whose result a register holds, or what is made of that and of numbers; NULL if
 * it holds anything else. */
static struct pdl_mbarrier_operation *result_of(const struct pdl_flow *flow,
                                                const struct pdl_mbarriers *mbarriers,
                                                uint32_t symbol, bool *success)
{
    struct pdl_formula chain[CHAIN_MAX];
    unsigned count = 0;
    for (;;) {
        const struct pdl_instruction *at = pdl_values_definition(flow->values, flow->body, symbol);
        if (at != NULL && at->opcode.op == PDL_OP_BARRIER_MEMORY) {
            const struct pdl_range failed = made_of(chain, count, 0);
            const struct pdl_range succeeded = made_of(chain, count, 1);
            *success = pdl_range_is_value(&succeeded) && succeeded.low != 0;
            return pdl_range_is_value(&failed) && pdl_range_is_value(&succeeded) &&
                           (failed.low != 0) != *success
                       ? pdl_mbarriers_at(mbarriers, (uint32_t)(at - flow->body->instructions))
                       : NULL;
        }
        if (at == NULL || count == CHAIN_MAX) {
            return NULL;
        }
        chain[count] = pdl_conditions_formula(&flow->conditions, symbol);
        const unsigned of = only_register(&chain[count]);
        if (of == PDL_FORMULA_TERMS) {
            return NULL;
        }
        symbol = chain[count++].terms[of].symbol;
    }
}

/* The branches that go by a wait's result. */
static void find_edges(struct pdl_mbarriers *mbarriers, const struct pdl_flow *flow)
{
    for (uint32_t i = 0; i < flow->cfg->block_count; i++) {
        const uint32_t branch = flow->cfg->blocks[i].branch;
        bool success = false;
        mbarriers->edge_of[i] = 0;
        if (branch == PDL_NONE || flow->body->instructions[branch].guard == PDL_NONE ||
            flow->body->instructions[branch].opcode.op != PDL_OP_BRANCH) {
            continue;
        }
        const struct pdl_instruction *at = &flow->body->instructions[branch];
        struct pdl_mbarrier_operation *wait = result_of(flow, mbarriers, at->guard, &success);
        if (wait != NULL) {
            wait->on_edge = true;
            mbarriers->edge_of[i] = (uint32_t)(wait - mbarriers->operations) + 1;
            mbarriers->success[i] = success != at->guard_negated ? 0 : 1;
        }
    }
}

/* ---- which are the same --------------------------------------------------------------------------- */

/* Whether an mbarrier at an offset is one of those of an array from another offset on. The next array
 * begins where something else is indexed. */
static bool in_array(const struct pdl_mbarriers *mbarriers, const struct pdl_shared *array,
                     int64_t offset)
{
    bool in = offset >= array->offset;
    for (uint32_t i = 0; i < mbarriers->place_count && in; i++) {
        const struct pdl_shared *other = &mbarriers->places[i].address;
        in = !other->indexed || other->root != array->root || other->base != array->base ||
             other->argument != array->argument || other->offset <= array->offset ||
             other->offset > offset;
    }
    return in;
}

static void compare(const struct pdl_mbarriers *mbarriers, const struct pdl_shared *a,
                    const struct pdl_shared *b, bool *exact, bool *may)
{
    *exact = false;
    *may = true;
    if (a->kind != PDL_SHARED_ADDRESS || b->kind != PDL_SHARED_ADDRESS || a->argument ||
        b->argument || a->root == PDL_NONE || b->root == PDL_NONE) {
        *exact = a->kind == PDL_SHARED_ADDRESS && pdl_shared_same(a, b) && !a->indexed;
        return;
    }
    if (a->root != b->root) {
        *may = false;
    } else if (a->base == b->base) {
        *exact = a->indexed == b->indexed ? a->offset == b->offset
                 : a->indexed             ? in_array(mbarriers, a, b->offset)
                                          : in_array(mbarriers, b, a->offset);
        *may = *exact;
    }
}

static void match_places(struct pdl_mbarriers *mbarriers)
{
    for (uint32_t i = 0; i < mbarriers->place_count; i++) {
        struct pdl_mbarrier_place *place = &mbarriers->places[i];
        for (uint32_t j = 0; j < mbarriers->place_count; j++) {
            bool exact, may;
            compare(mbarriers, &place->address, &mbarriers->places[j].address, &exact, &may);
            place->exact |= (uint64_t)exact << j;
            place->may |= (uint64_t)may << j;
        }
    }
}

/* Whether each mbarrier that a place may be is initialized for one arrival. */
static void find_counts(struct pdl_mbarriers *mbarriers, struct pdl_flow *flow)
{
    uint64_t some = 0, more = 0;
    for (uint32_t i = 0; i < mbarriers->count; i++) {
        const struct pdl_mbarrier_operation *init = &mbarriers->operations[i];
        const struct pdl_instruction *at = &flow->body->instructions[init->instruction];
        int64_t count = 0;
        if (init->kind != PDL_MBARRIER_INIT) {
            continue;
        }
        const struct pdl_operand *operand = pdl_mbarrier_operand(flow, init->instruction, 1);
        const bool one =
            operand != NULL && pdl_shared_number(&flow->shared, operand, &count) && count == 1;
        const struct pdl_shared address =
            pdl_shared_operand(&flow->shared, address_of(flow->body, at));
        for (uint32_t j = 0; j < mbarriers->place_count; j++) {
            bool exact, may;
            compare(mbarriers, &mbarriers->places[j].address, &address, &exact, &may);
            some |= (uint64_t)may << j;
            more |= (uint64_t)(may && !one) << j;
        }
    }
    for (uint32_t j = 0; j < mbarriers->place_count; j++) {
        mbarriers->places[j].counts_one = (some & ~more) >> j & 1u;
    }
}

/* What is passed to a parameter of a function that is called: what was stored there, or the argument
 * itself. NULL if it is not known. */
static const struct pdl_operand *argument_of(const struct pdl_flow *flow,
                                             const struct pdl_instruction *call, uint32_t index)
{
    const struct pdl_operand *argument = pdl_call_argument(flow->body, call, index);
    if (argument == NULL || argument->kind != PDL_OPERAND_SYMBOL ||
        flow->body->symbols[argument->symbol].kind != PDL_SYMBOL_LOCAL_PARAMETER) {
        return argument;
    }
    const struct pdl_instruction *store =
        pdl_values_definition(flow->values, flow->body, argument->symbol);
    return store != NULL && store->operand_count == 2
               ? &flow->body->operands[store->first_operand + 1]
               : NULL;
}

static void add_operation(struct pdl_mbarriers *mbarriers, struct pdl_mbarrier_operation operation)
{
    PDL_RESERVE(mbarriers->operations, (size_t)mbarriers->count + 1, mbarriers->capacity);
    mbarriers->waits = mbarriers->waits || operation.kind <= PDL_MBARRIER_TOKEN;
    mbarriers->operations[mbarriers->count++] = operation;
}

/* Registers that are made of a wait's result. */
struct made {
    uint32_t symbols[CHAIN_MAX];
    uint32_t count;
};

/* Whether an instruction may decide something by a register, or pass it on to what is not followed. The
 * register that it makes of it is added otherwise. */
static bool decides(const struct pdl_flow *flow, const struct pdl_instruction *at, uint32_t symbol,
                    struct made *made)
{
    const bool store = at->opcode.op == PDL_OP_STORE;
    if (at->guard == symbol || at->opcode.op == PDL_OP_BRANCH_TABLE ||
        at->opcode.op == PDL_OP_CALL || (store && at->opcode.space != PDL_SPACE_GLOBAL)) {
        return true;
    }
    for (uint32_t i = 0; i < at->operand_count && !at->opcode.no_result; i++) {
        const struct pdl_operand *operand = &flow->body->operands[at->first_operand + i];
        bool known = operand->slot != 0 || operand->kind != PDL_OPERAND_SYMBOL;
        for (uint32_t j = 0; j < made->count && !known; j++) {
            known = made->symbols[j] == operand->symbol;
        }
        if (!known && made->count == CHAIN_MAX) {
            return true;
        }
        if (!known) {
            made->symbols[made->count++] = operand->symbol;
        }
    }
    return false;
}

/* Whether a wait's result decides anything: a `try_wait` that nobody looks at does not order. */
static bool is_used(const struct pdl_flow *flow, const struct pdl_operand *result)
{
    const struct pdl_values *values = flow->values;
    struct made made = {.count = 0};
    if (result == NULL || result->kind != PDL_OPERAND_SYMBOL) {
        return false;
    }
    made.symbols[made.count++] = result->symbol;
    for (uint32_t i = 0; i < made.count; i++) {
        const uint32_t first = values->first_use[made.symbols[i]];
        const uint32_t end = values->first_use[made.symbols[i] + 1];
        if (end - first > CHAIN_MAX) {
            return true;
        }
        for (uint32_t j = first; j < end; j++) {
            if (decides(flow, &flow->body->instructions[values->uses[j]], made.symbols[i], &made)) {
                return true;
            }
        }
    }
    return false;
}

/* The operation of an instruction, or none. */
static void find_operation(struct pdl_mbarriers *mbarriers, struct pdl_flow *flow, uint32_t index)
{
    const struct pdl_instruction *at = &flow->body->instructions[index];
    struct pdl_mbarrier_operation operation = {.instruction = index,
                                               .constant = PDL_PARITY_UNKNOWN,
                                               .states = PDL_STATE_UNWAITED,
                                               .relaxed = at->opcode.relaxed,
                                               .place = PDL_NONE};
    const struct pdl_operand *address =
        kind_of(flow, at, &operation.kind) ? address_of(flow->body, at) : NULL;
    if (address == NULL) {
        return;
    }
    if (operation.kind != PDL_MBARRIER_INIT) {
        const struct pdl_shared value = pdl_shared_operand(&flow->shared, address);
        operation.place = place_of(mbarriers, &value);
    }
    if (operation.kind <= PDL_MBARRIER_TOKEN) {
        const struct pdl_operand *result = pdl_mbarrier_operand(flow, index, 0);
        operation.wanted = pdl_mbarrier_operand(flow, index, 2);
        operation.used = is_used(flow, result);
    }
    add_operation(mbarriers, operation);
}

/* The operations of a function that is called. */
static void find_uses(struct pdl_mbarriers *mbarriers, struct pdl_flow *flow, uint32_t index)
{
    const struct pdl_instruction *at = &flow->body->instructions[index];
    bool harmless;
    const struct pdl_summary *summary = pdl_flow_callee(flow->module, at, &harmless);
    for (uint32_t i = 0; summary != NULL && i < summary->use_count; i++) {
        const struct pdl_mbarrier_use *use = &summary->uses[i];
        struct pdl_shared address = use->address;
        struct pdl_mbarrier_operation operation = {.instruction = index,
                                                   .kind = use->kind,
                                                   .constant = use->constant,
                                                   .states = use->states,
                                                   .relaxed = use->relaxed,
                                                   .used = true};
        if (address.argument) {
            const struct pdl_operand *passed = argument_of(flow, at, address.root);
            const struct pdl_shared nothing = {.root = PDL_NONE, .base = PDL_NONE};
            address = passed != NULL ? pdl_shared_operand(&flow->shared, passed) : nothing;
            address.offset += use->address.offset;
            address.indexed = address.indexed || use->address.indexed;
        } else if (address.base != PDL_NONE) {
            address.base = PDL_NONE; /* a register of that function */
            address.root = PDL_NONE;
        }
        operation.place = place_of(mbarriers, &address);
        if (use->argument != PDL_NONE) {
            operation.wanted = argument_of(flow, at, use->argument);
        }
        add_operation(mbarriers, operation);
    }
}

void pdl_mbarriers_find(struct pdl_mbarriers *mbarriers, struct pdl_flow *flow)
{
    mbarriers->count = mbarriers->place_count = 0;
    mbarriers->waits = false;
    if (flow->body->function->is_entry && flow->decision_count == 0) {
        return; /* nobody goes around a wait */
    }
    for (uint32_t i = 0; i < flow->body->instruction_count; i++) {
        const bool call = flow->body->instructions[i].opcode.op == PDL_OP_CALL;
        (call ? find_uses : find_operation)(mbarriers, flow, i);
    }
    if (!mbarriers->waits) {
        return;
    }
    PDL_RESERVE(mbarriers->edge_of, flow->cfg->block_count, mbarriers->edge_capacity);
    PDL_RESERVE(mbarriers->success, flow->cfg->block_count, mbarriers->success_capacity);
    PDL_RESERVE(mbarriers->around, flow->cfg->block_count, mbarriers->around_capacity);
    PDL_RESERVE(mbarriers->none, flow->cfg->block_count, mbarriers->none_capacity);
    find_edges(mbarriers, flow);
    pdl_mbarriers_find_turns(mbarriers, flow);
    match_places(mbarriers);
    find_counts(mbarriers, flow);
}

struct pdl_mbarrier_operation *pdl_mbarriers_at(const struct pdl_mbarriers *mbarriers,
                                                uint32_t instruction)
{
    uint32_t low = 0, high = mbarriers->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (mbarriers->operations[middle].instruction < instruction) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < mbarriers->count && mbarriers->operations[low].instruction == instruction
               ? &mbarriers->operations[low]
               : NULL;
}

/* ---- who arrives ----------------------------------------------------------------------------------- */

/* Bit by place. */
struct arrivals {
    uint64_t ordered;  /* by threads that have waited, or are ordered behind those */
    uint64_t early;    /* by threads that wait later */
    uint64_t again;    /* by threads that have waited, as one of those that a phase needs */
    uint64_t doubtful; /* by threads that an mbarrier may order */
    uint64_t renewed;  /* by threads that have waited, for another phase */
    uint64_t pending;  /* bytes by threads that have waited, before that: of a phase begun early */
    bool anywhere;     /* ordered ones on places that are not known */
};

static void add_arrival(const struct pdl_mbarriers *mbarriers, struct arrivals *arrivals,
                        const struct pdl_mbarrier_operation *operation, uint8_t states,
                        bool waits_ahead)
{
    const uint64_t bit =
        operation->place != PDL_NONE ? UINT64_C(1) << operation->place : UINT64_C(0);
    if ((states & (PDL_STATE_WAITED | PDL_STATE_BARRIER)) != 0 && !operation->relaxed) {
        arrivals->ordered |= bit;
        arrivals->anywhere = arrivals->anywhere || bit == 0;
    }
    arrivals->doubtful |= (states & PDL_STATE_MBARRIER) != 0 && !operation->relaxed ? bit : 0;
    if (operation->kind == PDL_MBARRIER_ARRIVE) {
        arrivals->early |= (states & PDL_STATE_UNWAITED) != 0 && waits_ahead ? bit : 0;
        arrivals->again |= (states & PDL_STATE_WAITED) != 0 ? bit : 0;
    }
    if (!(states & PDL_STATE_WAITED) || bit == 0) {
        return;
    }
    if (operation->kind == PDL_MBARRIER_ARRIVE) {
        arrivals->renewed |= mbarriers->places[operation->place].may;
    } else {
        arrivals->pending |= bit & ~arrivals->renewed;
    }
}

static struct arrivals find_arrivals(const struct pdl_mbarriers *mbarriers,
                                     const struct pdl_flow *flow)
{
    struct arrivals arrivals = {0};
    struct pdl_point point = {0};
    uint32_t block = PDL_NONE, stepped = 0;
    for (uint32_t i = 0; i < mbarriers->count; i++) {
        const struct pdl_mbarrier_operation *operation = &mbarriers->operations[i];
        const uint32_t at = flow->cfg->block_of[operation->instruction];
        if (operation->kind != PDL_MBARRIER_ARRIVE && operation->kind != PDL_MBARRIER_COMPLETE) {
            continue;
        }
        if (at != block) {
            block = at;
            point = flow->points[at];
            stepped = flow->cfg->blocks[at].first;
        }
        for (; stepped < operation->instruction; stepped++) {
            pdl_flow_step(flow, &flow->body->instructions[stepped], &point);
        }
        uint8_t states = operation->states & (uint8_t)~PDL_STATE_UNWAITED;
        states |= (operation->states & PDL_STATE_UNWAITED) != 0 ? point.states : 0;
        add_arrival(mbarriers, &arrivals, operation, states, flow->ahead[at] != 0);
    }
    return arrivals;
}

static void judge(struct pdl_mbarriers *mbarriers, const struct pdl_flow *flow,
                  const struct arrivals *arrivals, struct pdl_mbarrier_operation *wait)
{
    struct pdl_mbarrier_place *place =
        wait->place != PDL_NONE ? &mbarriers->places[wait->place] : NULL;
    const uint64_t may = place != NULL ? place->may : UINT64_MAX;
    wait->why = PDL_BARRIER_NONE_PASSED;
    wait->verdict = PDL_MBARRIER_NOTHING;
    if (wait->relaxed) {
        return;
    }
    if (!(may & (arrivals->ordered | arrivals->doubtful)) && !arrivals->anywhere) {
        wait->why = PDL_BARRIER_NOBODY;
        return;
    }
    wait->verdict = PDL_MBARRIER_DOUBT;
    if (place == NULL) {
        return;
    }
    if (!place->judged) {
        pdl_first_parities(mbarriers, flow, wait->place);
        place->judged = true;
    }
    const uint8_t parity = wait->kind == PDL_MBARRIER_TOKEN ? (uint8_t)0 : wait->parity;
    if (parity == 1 || parity == PDL_PARITY_LATER) { /* those before it have ordered, or do not */
        wait->verdict = PDL_MBARRIER_NOTHING;
        wait->why = parity == 1 ? PDL_BARRIER_PASSES : PDL_BARRIER_NONE_PASSED;
    } else if ((may & arrivals->early) != 0 && (may & arrivals->again) != 0 &&
               !(place->exact & arrivals->pending)) {
        wait->verdict = place->counts_one ? PDL_MBARRIER_NOTHING : PDL_MBARRIER_DOUBT;
        wait->why = place->counts_one ? PDL_BARRIER_PREFILLED : PDL_BARRIER_NONE_PASSED;
    } else if (parity == 0 && (place->exact & arrivals->ordered) != 0) {
        wait->verdict = PDL_MBARRIER_ORDERS;
    }
}

static bool has_some_around(const struct pdl_flow *flow, uint32_t block)
{
    return (flow->points[block].states & PDL_STATE_NOT_WAITED & ~PDL_STATE_UNWAITED) != 0;
}

/* Finds the operations that threads around the grid's wait come to, or go around. In a function that is
 * called they may be around it only there. */
static void find_met(struct pdl_mbarriers *mbarriers, const struct pdl_flow *flow)
{
    for (uint32_t i = 0; i < mbarriers->count; i++) {
        struct pdl_mbarrier_operation *operation = &mbarriers->operations[i];
        const uint32_t at = operation->instruction;
        operation->met = flow->body->instructions[at].opcode.op == PDL_OP_CALL ||
                         has_some_around(flow, flow->cfg->block_of[at]);
    }
    for (uint32_t i = 0; i < flow->cfg->block_count; i++) {
        if (mbarriers->around[i] != 0 && has_some_around(flow, i)) {
            mbarriers->operations[mbarriers->around[i] - 1].met = true;
        }
    }
}

bool pdl_mbarriers_judge(struct pdl_mbarriers *mbarriers, const struct pdl_flow *flow)
{
    bool changed = false;
    if (!mbarriers->waits) {
        return false;
    }
    find_met(mbarriers, flow);
    const struct arrivals arrivals = find_arrivals(mbarriers, flow);
    for (uint32_t i = 0; i < mbarriers->count; i++) {
        struct pdl_mbarrier_operation *wait = &mbarriers->operations[i];
        if (wait->kind <= PDL_MBARRIER_TOKEN && wait->met) {
            const uint8_t verdict = wait->verdict, why = wait->why;
            judge(mbarriers, flow, &arrivals, wait);
            changed = changed || wait->verdict != verdict || wait->why != why;
        }
    }
    return changed;
}

/* ---- callers --------------------------------------------------------------------------------------- */

void pdl_mbarriers_summarize(const struct pdl_mbarriers *mbarriers, struct pdl_flow *flow,
                             struct pdl_arena *arena, struct pdl_summary *summary)
{
    const uint32_t count =
        mbarriers->count < PDL_MBARRIER_USES ? mbarriers->count : PDL_MBARRIER_USES;
    if (mbarriers->count == 0) {
        return;
    }
    summary->uses = pdl_arena_alloc(arena, count * sizeof(*summary->uses));
    for (uint32_t i = 0; i < mbarriers->count; i++) {
        const struct pdl_mbarrier_operation *operation = &mbarriers->operations[i];
        const uint32_t block = flow->cfg->block_of[operation->instruction];
        struct pdl_mbarrier_use use = {
            .kind = operation->kind,
            .constant = operation->constant,
            .states = flow->points[block].states,
            .relaxed = operation->relaxed,
            .argument = PDL_NONE,
            .address = {.root = PDL_NONE, .base = PDL_NONE},
        };
        if (operation->kind == PDL_MBARRIER_INIT || use.states == 0 ||
            (operation->kind <= PDL_MBARRIER_TOKEN && !operation->used)) {
            continue;
        }
        if (operation->place != PDL_NONE) {
            use.address = mbarriers->places[operation->place].address;
        }
        if (operation->wanted != NULL) {
            const struct pdl_shared wanted = pdl_shared_operand(&flow->shared, operation->wanted);
            if (wanted.kind == PDL_SHARED_NUMBER && !wanted.indexed) {
                use.constant = (uint8_t)(wanted.offset & 1);
            } else if (wanted.argument && wanted.base == PDL_NONE && wanted.offset == 0 &&
                       !wanted.indexed) {
                use.argument = wanted.root;
            }
        }
        bool same = false;
        for (uint32_t j = 0; j < summary->use_count && !same; j++) {
            const struct pdl_mbarrier_use *other = &summary->uses[j];
            same = other->kind == use.kind && other->constant == use.constant &&
                   other->states == use.states && other->relaxed == use.relaxed &&
                   other->argument == use.argument &&
                   pdl_shared_same(&other->address, &use.address);
        }
        if (!same && summary->use_count < count) {
            summary->uses[summary->use_count++] = use;
        } else if (!same) { /* of more it is only known that they are there */
            summary->uses[count - 1] = (struct pdl_mbarrier_use){
                .kind = use.kind,
                .constant = PDL_PARITY_UNKNOWN,
                .states = use.states,
                .relaxed = use.relaxed,
                .argument = PDL_NONE,
                .address = {.root = PDL_NONE, .base = PDL_NONE},
            };
        }
    }
}
