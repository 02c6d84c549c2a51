/* SPDX-License-Identifier: MIT */
/* What a wait on an mbarrier waits for the first time: constants on the paths that have not yet waited
 * on it. */
#include <stdlib.h>
#include <string.h>

#include "inspect/flow/flow.h"

/* Larger bodies do without. */
#define BLOCKS_MAX 50000u

#define CONSTANTS_MAX 62

/* The tracked registers at a point: not set yet, known, or neither. */
struct constants {
    uint64_t set;   /* bit by register: some path sets it */
    uint64_t known; /* bit by register: all that do agree on values[] */
    int64_t values[CONSTANTS_MAX];
};

struct first {
    const struct pdl_flow *flow;
    uint32_t place;
    uint8_t *number; /* by symbol: of what is tracked + 1, or 0 */
    uint32_t symbols[CONSTANTS_MAX];
    uint32_t count;
    struct constants *points; /* by block */
    uint8_t *state;           /* by block: REACHED, QUEUED */
    uint32_t *stack;
    uint32_t depth;
    struct pdl_mbarriers *mbarriers;
};

enum { REACHED = 1, QUEUED = 2 };

/* ---- numbers ------------------------------------------------------------------------------------- */

/* A type at the end of an opcode: ".u32". */
struct type {
    unsigned bits;
    bool is_signed;
};

static struct type type_at(const struct pdl_name *name, uint32_t end)
{
    struct type type = {.bits = 32};
    uint32_t at = end;
    unsigned bits = 0, scale = 1;
    while (at > 0 && name->text[at - 1] >= '0' && name->text[at - 1] <= '9') {
        bits += (unsigned)(name->text[--at] - '0') * scale;
        scale *= 10;
    }
    if (bits == 8 || bits == 16 || bits == 32 || bits == 64) {
        type.bits = bits;
    }
    if (end >= 5 && memcmp(name->text + end - 5, ".pred", 5) == 0) {
        type.bits = 1;
    }
    type.is_signed = at > 0 && name->text[at - 1] == 's';
    return type;
}

static int64_t fit(int64_t value, struct type type)
{
    if (type.bits >= 64) {
        return value;
    }
    const uint64_t mask = (UINT64_C(1) << type.bits) - 1;
    const uint64_t low = (uint64_t)value & mask;
    return type.is_signed && (low >> (type.bits - 1) & 1u) ? (int64_t)(low | ~mask) : (int64_t)low;
}

static bool compare(const struct pdl_name *name, int64_t a, int64_t b, int64_t *value)
{
    static const char *const relations[] = {"eq", "ne", "lt", "le", "gt",
                                            "ge", "lo", "ls", "hi", "hs"};
    const bool results[] = {a == b, a != b, a<b, a <= b, a> b, a >= b, a<b, a <= b, a> b, a >= b};
    for (size_t i = 0; i < sizeof(relations) / sizeof(relations[0]); i++) {
        if (name->length > 7 && memcmp(name->text + 5, relations[i], 2) == 0 &&
            name->text[7] == '.') {
            *value = results[i];
            return true;
        }
    }
    return false;
}

static int64_t lookup(int64_t a, int64_t b, int64_t c, int64_t table)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < 8; i++) {
        if ((uint64_t)table >> i & 1u) {
            result |= ((i & 4u) ? (uint64_t)a : ~(uint64_t)a) &
                      ((i & 2u) ? (uint64_t)b : ~(uint64_t)b) &
                      ((i & 1u) ? (uint64_t)c : ~(uint64_t)c);
        }
    }
    return (int64_t)result;
}

/* What an instruction makes of numbers; false if it is not known. */
static bool compute(const struct pdl_name *name, const int64_t *in, const bool *has, unsigned count,
                    int64_t *value)
{
    struct type type = type_at(name, name->length);
    const int64_t a = fit(in[0], type), b = fit(in[1], type), c = fit(in[2], type);
    const uint64_t ua = (uint64_t)a, ub = (uint64_t)b, uc = (uint64_t)c;
    const unsigned shift = (unsigned)(in[1] & 0xff);
    if (count == 2 && pdl_name_begins(name, "and.") && ((has[0] && a == 0) || (has[1] && b == 0))) {
        *value = 0;
        return true;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!has[i]) {
            return false;
        }
    }
    if (count == 1 && pdl_name_begins(name, "cvt.")) {
        uint32_t end = name->length;
        while (end > 0 && name->text[end - 1] != '.') {
            end--;
        }
        *value = fit(a, type_at(name, end > 0 ? end - 1 : 0));
        return true;
    }
    if (count == 1 && pdl_name_begins(name, "mov.")) {
        *value = a;
    } else if (count == 1 && pdl_name_begins(name, "not.")) {
        *value = fit(~a, type);
    } else if (count == 1 && pdl_name_begins(name, "neg.")) {
        *value = fit((int64_t)(0 - ua), type);
    } else if (count == 2 && pdl_name_begins(name, "add.")) {
        *value = fit((int64_t)(ua + ub), type);
    } else if (count == 2 && pdl_name_begins(name, "sub.")) {
        *value = fit((int64_t)(ua - ub), type);
    } else if (count == 2 && pdl_name_begins(name, "and.")) {
        *value = a & b;
    } else if (count == 2 && pdl_name_begins(name, "or.")) {
        *value = a | b;
    } else if (count == 2 && pdl_name_begins(name, "xor.")) {
        *value = fit(a ^ b, type);
    } else if (count == 2 && pdl_name_begins(name, "min.")) {
        *value = a < b ? a : b;
    } else if (count == 2 && pdl_name_begins(name, "max.")) {
        *value = a > b ? a : b;
    } else if (count == 2 && pdl_name_begins(name, "shl.")) {
        *value = shift < type.bits ? fit((int64_t)(ua << shift), type) : 0;
    } else if (count == 2 && pdl_name_begins(name, "shr.")) {
        *value = shift < type.bits ? (type.is_signed ? a >> shift : (int64_t)(ua >> shift))
                                   : (type.is_signed && a < 0 ? -1 : 0);
    } else if (count == 2 && pdl_name_begins(name, "mul.lo.")) {
        *value = fit((int64_t)(ua * ub), type);
    } else if (count == 2 && pdl_name_begins(name, "mul.wide.")) {
        *value = (int64_t)(ua * ub);
    } else if (count == 2 && type.bits == 32 && pdl_name_begins(name, "mul.hi.")) {
        *value = fit(type.is_signed ? a * b >> 32 : (int64_t)(ua * ub >> 32), type);
    } else if (count == 3 && pdl_name_begins(name, "mad.lo.")) {
        *value = fit((int64_t)(ua * ub + uc), type);
    } else if (count == 2 && type.bits == 32 && b != 0 && pdl_name_begins(name, "div.")) {
        *value = fit(a / b, type);
    } else if (count == 2 && type.bits == 32 && b != 0 && pdl_name_begins(name, "rem.")) {
        *value = fit(a % b, type);
    } else if (count == 2 && pdl_name_begins(name, "setp.")) {
        return compare(name, a, b, value);
    } else if (count == 3 && (pdl_name_begins(name, "selp."))) {
        *value = in[2] != 0 ? a : b;
    } else if (count == 3 && pdl_name_begins(name, "bfe.u") && in[1] >= 0 && in[1] < 32 &&
               in[2] > 0 && in[2] < 32) {
        *value = (int64_t)(ua >> in[1] & ((UINT64_C(1) << in[2]) - 1));
    } else if (count == 4 && pdl_name_begins(name, "lop3.")) {
        *value = fit(lookup(a, b, c, in[3]), type);
    } else {
        return false;
    }
    return true;
}

/* ---- registers ------------------------------------------------------------------------------------ */

static void track(struct first *first, uint32_t symbol)
{
    if (first->count < CONSTANTS_MAX && first->number[symbol] == 0) {
        first->symbols[first->count++] = symbol;
        first->number[symbol] = (uint8_t)first->count;
    }
}

/* Adds what the registers that are tracked are made of. */
static void track_origins(struct first *first)
{
    const struct pdl_values *values = first->flow->values;
    for (uint32_t i = 0; i < first->count; i++) {
        const uint32_t symbol = first->symbols[i];
        for (uint32_t j = values->first_definition[symbol];
             j < values->first_definition[symbol + 1]; j++) {
            const struct pdl_instruction *at =
                &first->flow->body->instructions[values->definitions[j]];
            if (at->guard != PDL_NONE) {
                track(first, at->guard);
            }
            for (uint32_t k = 0; k < at->operand_count; k++) {
                const struct pdl_operand *operand =
                    &first->flow->body->operands[at->first_operand + k];
                if (operand->kind == PDL_OPERAND_SYMBOL && operand->slot > 0 &&
                    first->flow->body->symbols[operand->symbol].kind == PDL_SYMBOL_REGISTER &&
                    (at->opcode.op == PDL_OP_CARRY || at->opcode.op == PDL_OP_SCALE ||
                     at->opcode.op == PDL_OP_LANE)) {
                    track(first, operand->symbol);
                }
            }
        }
    }
}

static bool value_of(const struct first *first, const struct constants *known,
                     const struct pdl_operand *operand, int64_t *value)
{
    *value = operand->value;
    if (operand->kind == PDL_OPERAND_NUMBER) {
        return true;
    }
    const uint32_t number =
        operand->kind == PDL_OPERAND_SYMBOL && operand->value == 0 && !operand->memory
            ? first->number[operand->symbol]
            : 0u;
    if (number == 0 || !(known->known >> (number - 1) & 1u)) {
        return false;
    }
    *value = known->values[number - 1];
    return true;
}

static bool register_value(const struct first *first, const struct constants *known,
                           uint32_t symbol, int64_t *value)
{
    const struct pdl_operand operand = {.kind = PDL_OPERAND_SYMBOL, .symbol = symbol};
    return value_of(first, known, &operand, value);
}

static void define(const struct first *first, const struct pdl_instruction *instruction,
                   struct constants *known)
{
    const struct pdl_operand *operands = &first->flow->body->operands[instruction->first_operand];
    const struct pdl_name *name = &first->flow->module->names.names[instruction->name];
    int64_t in[4] = {0}, value = 0, guard = 0;
    bool has[4] = {false}, sure = true, computed = false;
    if (instruction->opcode.no_result) {
        return;
    }
    for (uint32_t i = 0; i < instruction->operand_count && operands[i].slot == 0; i++) {
        const uint32_t number = operands[i].kind == PDL_OPERAND_SYMBOL && !operands[i].memory
                                    ? first->number[operands[i].symbol]
                                    : 0u;
        if (number == 0) {
            continue;
        }
        const uint64_t bit = UINT64_C(1) << (number - 1);
        if (instruction->guard != PDL_NONE) {
            sure = register_value(first, known, instruction->guard, &guard);
            if (sure && (guard != 0) == instruction->guard_negated) {
                continue; /* not executed */
            }
        }
        const uint32_t count = instruction->operand_count - 1;
        const bool plain = i == 0 && count >= 1 && count <= 4 && operands[count].slot == count;
        if (plain) {
            for (uint32_t j = 0; j < count; j++) {
                has[j] = value_of(first, known, &operands[j + 1], &in[j]);
            }
            if (instruction->opcode.op == PDL_OP_LANE) { /* shfl: what all lanes have */
                computed = has[0] && pdl_name_begins(name, "shfl.");
                value = in[0];
            } else {
                computed = (instruction->opcode.op == PDL_OP_CARRY ||
                            instruction->opcode.op == PDL_OP_SCALE) &&
                           compute(name, in, has, count, &value);
            }
        }
        known->set |= bit;
        known->known = computed && sure ? known->known | bit : known->known & ~bit;
        known->values[number - 1] = value;
    }
}

/* ---- paths ---------------------------------------------------------------------------------------- */

static void reach(struct first *first, uint32_t block, const struct constants *from)
{
    struct constants *to = &first->points[block];
    bool changed = !(first->state[block] & REACHED);
    for (uint32_t i = 0; i < first->count; i++) {
        const uint64_t bit = UINT64_C(1) << i;
        if (!(from->set & bit)) {
            continue;
        }
        if (!(to->set & bit)) {
            to->set |= bit;
            to->known |= from->known & bit;
            to->values[i] = from->values[i];
            changed = true;
        } else if ((to->known & bit) &&
                   (!(from->known & bit) || from->values[i] != to->values[i])) {
            to->known &= ~bit;
            changed = true;
        }
    }
    if (changed && !(first->state[block] & QUEUED)) {
        first->stack[first->depth++] = block;
        first->state[block] |= QUEUED;
    }
    first->state[block] |= REACHED;
}

/* The wait is come to for the first time. */
static void await(const struct first *first, struct pdl_mbarrier_operation *wait,
                  const struct constants *known)
{
    int64_t value = wait->constant;
    const bool has = wait->constant != PDL_PARITY_UNKNOWN ||
                     (wait->wanted != NULL && value_of(first, known, wait->wanted, &value));
    const uint8_t parity = has ? (uint8_t)(value & 1) : (uint8_t)PDL_PARITY_UNKNOWN;
    /* That it returns at once on one way, as at a producer's start, is not undone by another way where
     * nothing is known, as behind a loop without a turn. */
    const bool passes = wait->parity == 1 && parity == PDL_PARITY_UNKNOWN;
    if (!passes) {
        wait->parity = wait->parity == PDL_PARITY_LATER || wait->parity == parity
                           ? parity
                           : (uint8_t)PDL_PARITY_UNKNOWN;
    }
}

/* Whether a path goes on behind the instructions of a block; *known is what holds there. */
static bool walk(const struct first *first, uint32_t index, struct constants *known)
{
    const struct pdl_block *block = &first->flow->cfg->blocks[index];
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        const struct pdl_instruction *at = &first->flow->body->instructions[i];
        if (at->opcode.op == PDL_OP_WAIT && at->guard == PDL_NONE) {
            return false;
        }
        if (at->opcode.op == PDL_OP_BARRIER_MEMORY || at->opcode.op == PDL_OP_CALL) {
            struct pdl_mbarrier_operation *wait = pdl_mbarriers_at(first->mbarriers, i);
            const struct pdl_mbarrier_operation *end =
                first->mbarriers->operations + first->mbarriers->count;
            bool passed = false;
            for (; wait != NULL && wait < end && wait->instruction == i; wait++) {
                if (wait->place == first->place && wait->kind == PDL_MBARRIER_WAIT && wait->used) {
                    await(first, wait, known);
                    passed = passed || !wait->on_edge;
                }
            }
            if (passed) {
                return false;
            }
        }
        define(first, at, known);
    }
    return true;
}

static bool may_take(const struct first *first, uint32_t index, uint32_t edge,
                     const struct constants *known)
{
    const struct pdl_flow *flow = first->flow;
    const struct pdl_block *block = &flow->cfg->blocks[index];
    const uint32_t to = flow->cfg->successors[block->first_successor + edge];
    const uint32_t wait = flow->mbarriers.edge_of[index];
    int64_t value = 0;
    if (!(flow->reach[to] & PDL_STATE_NOT_WAITED) ||
        (wait != 0 && flow->mbarriers.operations[wait - 1].place == first->place &&
         flow->mbarriers.success[index] == edge)) {
        return false;
    }
    if (block->branch == PDL_NONE) {
        return true;
    }
    const struct pdl_instruction *branch = &flow->body->instructions[block->branch];
    if (branch->guard == PDL_NONE || branch->opcode.op != PDL_OP_BRANCH ||
        !register_value(first, known, branch->guard, &value)) {
        return true;
    }
    return (edge == 0) == ((value != 0) != branch->guard_negated);
}

static void run(struct first *first)
{
    struct constants known = {0};
    reach(first, 0, &known);
    while (first->depth > 0) {
        const uint32_t index = first->stack[--first->depth];
        const struct pdl_block *block = &first->flow->cfg->blocks[index];
        first->state[index] &= (uint8_t)~QUEUED;
        known = first->points[index];
        if (!walk(first, index, &known)) {
            continue;
        }
        for (uint32_t i = 0; i < block->successor_count; i++) {
            if (may_take(first, index, i, &known)) {
                reach(first, first->flow->cfg->successors[block->first_successor + i], &known);
            }
        }
    }
}

void pdl_first_parities(struct pdl_mbarriers *mbarriers, const struct pdl_flow *flow,
                        uint32_t place)
{
    struct first first = {.flow = flow, .mbarriers = mbarriers, .place = place};
    const size_t blocks = flow->cfg->block_count;
    bool ready = false;
    if (blocks <= BLOCKS_MAX) {
        first.number = calloc((size_t)flow->body->symbol_count + 1, 1);
        first.points = calloc(blocks, sizeof(*first.points));
        first.state = calloc(blocks, 1);
        first.stack = calloc(blocks, sizeof(*first.stack));
        ready = first.number != NULL && first.points != NULL && first.state != NULL &&
                first.stack != NULL;
    }
    for (uint32_t i = 0; i < mbarriers->count; i++) {
        struct pdl_mbarrier_operation *wait = &mbarriers->operations[i];
        if (wait->place != place || wait->kind != PDL_MBARRIER_WAIT) {
            continue;
        }
        const struct pdl_operand *operand = wait->wanted;
        wait->parity = ready ? (uint8_t)PDL_PARITY_LATER : (uint8_t)PDL_PARITY_UNKNOWN;
        if (ready && operand != NULL && operand->kind == PDL_OPERAND_SYMBOL) {
            track(&first, operand->symbol);
        }
    }
    if (ready) {
        track_origins(&first);
        run(&first);
    }
    free(first.number);
    free(first.points);
    free(first.state);
    free(first.stack);
}
