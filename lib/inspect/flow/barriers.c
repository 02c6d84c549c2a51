/* SPDX-License-Identifier: MIT */
/* What barriers do for threads that have not waited. */
#include "inspect/flow/flow.h"

#include <string.h>

#include "inspect/ring.h"

/* With a barrier of the block: others than all threads of the block may complete it. */
#define SOME UINT32_C(0x80000000)

#define NUMBERS ((UINT32_C(1) << PDL_MEET_NUMBERS) - 1)

/* `ahead` counts, for threads at the beginning of a block that have not waited, the arrivals before
 * their wait. In the order of this list the most of two paths is the greater number. */
enum {
    NO_WAIT, /* no path waits */
    NO_PART, /* behind the wait they do not arrive at that barrier */
    AHEAD_0, /* they do, and do not before it */
    AHEAD_MANY = 7
};

/* ---- what instructions do -------------------------------------------------------------------------- */

struct meeting {
    uint32_t at; /* bit by barrier; more than one if its number is computed */
    bool arrives, completes;
    bool known; /* which barrier it is, and that all threads of the block meet there */
};

static bool is_barrier(const struct pdl_instruction *instruction)
{
    return instruction->opcode.op >= PDL_OP_BARRIER_BLOCK &&
           instruction->opcode.op <= PDL_OP_BARRIER_WARP;
}

/* Whether an operand of an instruction is a number that is known. */
static bool number_of(struct pdl_flow *flow, const struct pdl_instruction *instruction,
                      uint32_t operand, int64_t *number)
{
    return operand < instruction->operand_count &&
           pdl_shared_number(&flow->shared,
                             &flow->body->operands[instruction->first_operand + operand], number);
}

/* Whether a barrier of the block is not completed by fewer threads than the kernel says that a block has. If it does not
 * say so, those that a barrier counts are taken for all that come to it. */
static bool is_of_all(struct pdl_flow *flow, const struct pdl_instruction *instruction)
{
    const uint32_t result =
        !instruction->opcode.no_result; /* of a reduction, whose last is what is reduced */
    int64_t count = 0;
    return instruction->operand_count <= 1 + 2 * result ||
           (number_of(flow, instruction, 1 + result, &count) &&
            (flow->threads == 0 || count >= flow->threads));
}

/* The barriers that an instruction may be on: all of the block if the number is computed. Hardware has 16. A mask of fewer lanes orders nothing that is known. */
static uint32_t barriers_of(struct pdl_flow *flow, const struct pdl_instruction *instruction)
{
    const uint8_t op = instruction->opcode.op;
    int64_t number = 0;
    const bool known = number_of(flow, instruction, !instruction->opcode.no_result, &number);
    if (op == PDL_OP_CLUSTER_ARRIVE || op == PDL_OP_BARRIER_CLUSTER) {
        return UINT32_C(1) << PDL_MEET_CLUSTER;
    }
    if (op == PDL_OP_BARRIER_WARP) {
        /* Code that is not optimized passes the mask through memory. */
        return (known && (uint32_t)number == UINT32_MAX) || (!known && flow->module->debug)
                   ? UINT32_C(1) << PDL_MEET_WARP
                   : 0;
    }
    if (instruction->callee != PDL_NONE) {
        return 1; /* of the whole grid */
    }
    return (known && number >= 0 && number < PDL_MEET_NUMBERS ? UINT32_C(1) << number : NUMBERS) |
           (is_of_all(flow, instruction) ? 0 : SOME);
}

static struct meeting meeting_of(const struct pdl_flow *flow,
                                 const struct pdl_instruction *instruction)
{
    const uint8_t op = instruction->opcode.op;
    struct meeting meeting = {0};
    if (flow->counted && is_barrier(instruction)) {
        const uint32_t barriers = flow->barriers[instruction - flow->body->instructions];
        meeting.at = barriers & ~SOME;
        meeting.arrives = op != PDL_OP_BARRIER_CLUSTER;
        meeting.completes = op != PDL_OP_BARRIER_ARRIVE && op != PDL_OP_CLUSTER_ARRIVE &&
                            instruction->guard == PDL_NONE;
        meeting.known = !(barriers & SOME) && (meeting.at & (meeting.at - 1)) == 0;
    }
    return meeting;
}

/* Counts one more, up to a number that stands for more. */
static uint64_t count_up(uint64_t counts, uint32_t at, unsigned least, unsigned most)
{
    for (unsigned i = 0; i < PDL_MEETS; i++) {
        const unsigned count = pdl_count_at(counts, i);
        if ((at >> i & 1u) && count >= least && count < most) {
            counts = pdl_count_set(counts, i, count + 1);
        }
    }
    return counts;
}

/* ---- threads around the wait ------------------------------------------------------------------------- */

#define AROUND ((uint8_t)(PDL_STATE_DECIDED | PDL_STATE_MBARRIER))

static void order(struct pdl_point *point)
{
    point->states = pdl_change_states(point->states, AROUND, PDL_STATE_BARRIER);
    point->need = 0;
    point->missed = 0;
    point->why = PDL_BARRIER_NONE_PASSED;
}

static void miss(struct pdl_point *point, uint32_t instruction, enum pdl_barrier_why why)
{
    if (instruction + 1 > point->missed) {
        point->missed = instruction + 1;
        point->why = (uint8_t)why;
    }
}

/* Threads that are around the wait complete a phase. Those who arrive many times before they wait have
 * waited all the same at a barrier that they come to by the same instruction, and none of them sooner. */
static void complete(const struct pdl_flow *flow, uint32_t at, uint32_t instruction,
                     struct pdl_point *point)
{
    const uint8_t reach =
        instruction != PDL_NONE ? flow->reach[flow->cfg->block_of[instruction]] : (uint8_t)0;
    const bool together = (reach & PDL_STATE_WAITED) != 0 && (reach & PDL_STATE_UNWAITED) == 0;
    for (unsigned i = 0; i < PDL_MEETS && (point->states & AROUND) != 0; i++) {
        const unsigned need = pdl_count_at(point->need, i);
        if (!(at >> i & 1u) || need == PDL_NEED_NEVER) {
            continue;
        }
        if (need <= 1 || (need == PDL_NEED_MANY && together)) {
            order(point);
            return;
        }
        if (need < PDL_NEED_MANY) {
            point->need = pdl_count_set(point->need, i, need - 1);
        }
        if (instruction != PDL_NONE) {
            miss(point, instruction, PDL_BARRIER_TOO_EARLY);
        }
    }
}

/* They arrive, and go on: the next phase is another one, and this one does not order them. */
static void only_arrive(uint32_t at, struct pdl_point *point)
{
    for (unsigned i = 0; i < PDL_MEET_NUMBERS && (point->states & AROUND) != 0; i++) {
        const unsigned need = pdl_count_at(point->need, i);
        if ((at >> i & 1u) && need > 1 && need < PDL_NEED_MANY) {
            point->need = pdl_count_set(point->need, i, need - 1);
        }
    }
}

void pdl_flow_step(const struct pdl_flow *flow, const struct pdl_instruction *instruction,
                   struct pdl_point *point)
{
    const uint32_t index = (uint32_t)(instruction - flow->body->instructions);
    if (instruction->opcode.op == PDL_OP_BARRIER_MEMORY) {
        pdl_flow_await(flow, index, point);
        return;
    }
    const struct meeting meeting = meeting_of(flow, instruction);
    if (meeting.at == 0) {
        return;
    }
    if (meeting.arrives) {
        point->most = count_up(point->most, meeting.at, 0, PDL_NEED_MANY);
        point->open = point->open || (meeting.at >> PDL_MEET_CLUSTER & 1u);
    }
    if (!meeting.known) {
        return; /* it may be another barrier than the one that those who wait come to */
    }
    if (meeting.completes) {
        point->least = count_up(point->least, meeting.at, 0, PDL_NEED_MANY);
        complete(flow, meeting.at, index, point);
        point->open = point->open && !(meeting.at >> PDL_MEET_CLUSTER & 1u);
    } else {
        only_arrive(meeting.at, point);
    }
}

void pdl_flow_await(const struct pdl_flow *flow, uint32_t instruction, struct pdl_point *point)
{
    const struct pdl_mbarriers *mbarriers = &flow->mbarriers;
    const struct pdl_mbarrier_operation *wait = pdl_mbarriers_at(mbarriers, instruction);
    for (; wait != NULL && wait < mbarriers->operations + mbarriers->count &&
           wait->instruction == instruction;
         wait++) {
        if (wait->kind <= PDL_MBARRIER_TOKEN && wait->used && !wait->on_edge) {
            pdl_flow_awaited(wait, point);
        }
    }
}

void pdl_flow_awaited(const struct pdl_mbarrier_operation *wait, struct pdl_point *point)
{
    if (!(point->states & AROUND) || pdl_count_at(point->need, PDL_MEET_MEMORY) == PDL_NEED_NEVER) {
        return;
    }
    if (wait->verdict == PDL_MBARRIER_ORDERS) {
        order(point);
    } else if (wait->verdict == PDL_MBARRIER_DOUBT) {
        point->states = pdl_change_states(point->states, PDL_STATE_DECIDED, PDL_STATE_MBARRIER);
    } else if (wait->why != PDL_BARRIER_NONE_PASSED) {
        miss(point, wait->instruction, (enum pdl_barrier_why)wait->why);
    }
}

void pdl_flow_presume(const struct pdl_mbarrier_operation *wait, struct pdl_point *point)
{
    struct pdl_mbarrier_operation doubt = *wait;
    if (wait->verdict == PDL_MBARRIER_ORDERS || wait->verdict == PDL_MBARRIER_DOUBT) {
        doubt.verdict = PDL_MBARRIER_DOUBT;
        pdl_flow_awaited(&doubt, point);
    }
}

void pdl_flow_pass_phases(const struct pdl_flow *flow, uint64_t phases, struct pdl_point *point)
{
    for (unsigned i = 0; i < PDL_MEETS && phases != 0; i++) {
        for (unsigned j = 0; j < pdl_count_at(phases, i); j++) {
            complete(flow, UINT32_C(1) << i, PDL_NONE, point);
        }
    }
}

/* ---- calls ------------------------------------------------------------------------------------------- */

static uint64_t add_counts(uint64_t a, uint64_t b)
{
    for (unsigned i = 0; i < PDL_MEETS && b != 0; i++) {
        const unsigned sum = pdl_count_at(a, i) + pdl_count_at(b, i);
        a = pdl_count_set(a, i, sum < PDL_NEED_MANY ? sum : (unsigned)PDL_NEED_MANY);
    }
    return a;
}

void pdl_flow_enter_call(const struct pdl_flow *flow, const struct pdl_summary *summary,
                         uint32_t block, struct pdl_point *point)
{
    if (summary->use_count > 0) {
        pdl_flow_await(flow, (uint32_t)(pdl_flow_last(flow, block) - flow->body->instructions),
                       point);
    }
    pdl_flow_pass_phases(flow, summary->phases, point);
    point->least = add_counts(point->least, summary->phases);
    point->most = add_counts(point->most, summary->arrivals);
}

void pdl_flow_leave_call(const struct pdl_flow *flow, uint32_t block, bool around,
                         struct pdl_point *point)
{
    const uint32_t decision = flow->decision_of[block];
    if (around && (point->states & AROUND)) {
        point->need = pdl_counts_most(
            point->need, decision != 0 ? flow->decisions[decision - 1].need : PDL_NEEDS_NEVER);
    }
}

/* ---- what comes before the wait ---------------------------------------------------------------------- */

static const struct pdl_summary *callee_of(const struct pdl_flow *flow, uint32_t block)
{
    const struct pdl_instruction *last = pdl_flow_last(flow, block);
    bool harmless;
    return last != NULL && last->opcode.op == PDL_OP_CALL
               ? pdl_flow_callee(flow->module, last, &harmless)
               : NULL;
}

/* Whether a body has barriers, or calls what has; and whether some arrivals at the cluster's order nothing. */
static void find_barriers(struct pdl_flow *flow)
{
    flow->counted = flow->relaxed = false;
    for (uint32_t i = 0; i < flow->body->instruction_count; i++) {
        const struct pdl_instruction *at = &flow->body->instructions[i];
        bool harmless;
        flow->counted = flow->counted || is_barrier(at);
        flow->relaxed =
            flow->relaxed || (at->opcode.op == PDL_OP_CLUSTER_ARRIVE && at->opcode.relaxed);
        if (at->opcode.op == PDL_OP_CALL) {
            const struct pdl_summary *summary = pdl_flow_callee(flow->module, at, &harmless);
            flow->counted = flow->counted || (summary != NULL && summary->meets != 0);
            flow->relaxed = flow->relaxed || (summary != NULL && summary->relaxed);
        }
    }
}

/* The barriers that are arrived at in a block; in one that calls what cannot be read, all. */
static uint32_t own_meets(const struct pdl_flow *flow, uint32_t index)
{
    const struct pdl_block *block = &flow->cfg->blocks[index];
    const struct pdl_instruction *last = pdl_flow_last(flow, index);
    uint32_t meets = 0;
    bool harmless;
    for (uint32_t i = 0; i < block->count; i++) {
        const struct meeting meeting =
            meeting_of(flow, &flow->body->instructions[block->first + i]);
        meets |= meeting.arrives && meeting.known ? meeting.at : 0;
    }
    if (last != NULL && last->opcode.op == PDL_OP_CALL) {
        const struct pdl_summary *summary = pdl_flow_callee(flow->module, last, &harmless);
        meets |= summary != NULL ? summary->meets : harmless ? 0 : UINT32_MAX;
    }
    return meets;
}

static void queue_predecessors(const struct pdl_flow *flow, struct pdl_ring *ring, uint32_t index)
{
    const struct pdl_block *block = &flow->cfg->blocks[index];
    for (uint32_t i = 0; i < block->predecessor_count; i++) {
        pdl_ring_add(ring, flow->cfg->predecessors[block->first_predecessor + i]);
    }
}

static uint32_t meets_behind(const struct pdl_flow *flow, uint32_t index)
{
    const struct pdl_block *block = &flow->cfg->blocks[index];
    /* A function's callers may come to any. */
    uint32_t meets = block->exits && !flow->body->function->is_entry ? UINT32_MAX : 0;
    for (uint32_t i = 0; i < block->successor_count; i++) {
        meets |= flow->meets[flow->cfg->successors[block->first_successor + i]];
    }
    return meets;
}

static void find_meets(struct pdl_flow *flow)
{
    struct pdl_ring ring = {
        .items = flow->queue, .queued = flow->queued, .size = flow->cfg->block_count};
    for (uint32_t i = flow->cfg->block_count; i-- > 0;) {
        flow->meets[i] = own_meets(flow, i);
        pdl_ring_add(&ring, i);
    }
    while (ring.count > 0) {
        const uint32_t index = pdl_ring_take(&ring);
        const uint32_t meets = flow->meets[index] | meets_behind(flow, index);
        if (meets != flow->meets[index]) {
            flow->meets[index] = meets;
            queue_predecessors(flow, &ring, index);
        }
    }
}

/* `ahead` with a wait that comes now, where `meets` are arrived at behind it. */
static uint64_t wait_now(uint32_t meets)
{
    uint64_t ahead = 0;
    for (unsigned i = 0; i < PDL_MEETS; i++) {
        ahead = pdl_count_set(ahead, i, (meets >> i & 1u) ? AHEAD_0 : NO_PART);
    }
    return ahead;
}

static uint64_t ahead_at(const struct pdl_flow *flow, uint32_t index)
{
    const struct pdl_block *block = &flow->cfg->blocks[index];
    const struct pdl_instruction *last = pdl_flow_last(flow, index);
    const struct pdl_summary *summary = callee_of(flow, index);
    uint64_t ahead = 0;
    if (last != NULL && last->opcode.op == PDL_OP_WAIT) {
        ahead = wait_now(meets_behind(flow, index));
    } else {
        for (uint32_t i = 0; i < block->successor_count; i++) {
            const uint32_t edge = block->first_successor + i;
            if (flow->taken[edge]) {
                ahead = pdl_counts_most(ahead, flow->ahead[flow->cfg->successors[edge]]);
            }
        }
    }
    if (summary != NULL) {
        const uint32_t meets = summary->meets | meets_behind(flow, index);
        ahead = (summary->out & PDL_STATE_UNWAITED) != 0 ? ahead : 0;
        for (unsigned i = 0; i < PDL_MEETS; i++) {
            for (unsigned j = 0; j < pdl_count_at(summary->arrivals, i); j++) {
                ahead = count_up(ahead, UINT32_C(1) << i, AHEAD_0, AHEAD_MANY);
            }
            const unsigned in = pdl_count_at(summary->ahead, i);
            const unsigned there = in >= AHEAD_0 && !(meets >> i & 1u) ? (unsigned)NO_PART : in;
            if (there > pdl_count_at(ahead, i)) {
                ahead = pdl_count_set(ahead, i, there);
            }
        }
    }
    for (uint32_t i = 0; i < block->count && ahead != 0; i++) {
        const struct meeting meeting =
            meeting_of(flow, &flow->body->instructions[block->first + i]);
        if (meeting.arrives) {
            ahead = count_up(ahead, meeting.at, AHEAD_0, AHEAD_MANY);
        }
    }
    return ahead;
}

static void find_ahead(struct pdl_flow *flow)
{
    struct pdl_ring ring = {
        .items = flow->queue, .queued = flow->queued, .size = flow->cfg->block_count};
    for (uint32_t i = flow->cfg->block_count; i-- > 0;) {
        flow->ahead[i] = 0;
        if (flow->reach[i] & PDL_STATE_NOT_WAITED) {
            pdl_ring_add(&ring, i);
        }
    }
    while (ring.count > 0) {
        const uint32_t index = pdl_ring_take(&ring);
        if (!(flow->reach[index] & PDL_STATE_NOT_WAITED)) {
            continue;
        }
        const uint64_t ahead = pdl_counts_most(flow->ahead[index], ahead_at(flow, index));
        if (ahead != flow->ahead[index]) {
            flow->ahead[index] = ahead;
            queue_predecessors(flow, &ring, index);
        }
    }
}

/* ---- decisions --------------------------------------------------------------------------------------- */

/* Whether a condition compares what differs between blocks with a number: then those of other blocks
 * have nobody who waits. */
/* NOLINTNEXTLINE(misc-no-recursion): no deeper than 8 */
static bool picks_block(const struct pdl_flow *flow, uint32_t symbol, unsigned depth)
{
    const struct pdl_values *values = flow->values;
    bool picks = values->first_definition[symbol + 1] - values->first_definition[symbol] > 64;
    for (uint32_t i = values->first_definition[symbol];
         i < values->first_definition[symbol + 1] && depth < 8 && !picks; i++) {
        const struct pdl_instruction *at = &flow->body->instructions[values->definitions[i]];
        const struct pdl_operand *operands = &flow->body->operands[at->first_operand];
        const struct pdl_name *name = &flow->module->names.names[at->name];
        if (pdl_name_begins(name, "setp.eq") || pdl_name_begins(name, "setp.ne")) {
            picks = picks || (at->operand_count == 3 && operands[2].kind == PDL_OPERAND_NUMBER &&
                              (pdl_operand_value(values, flow->body, &operands[1]).depends &
                               (PDL_DEPENDS_CLUSTER | PDL_DEPENDS_MEMORY)) == PDL_DEPENDS_CLUSTER);
            continue;
        }
        for (uint32_t j = 1; j < at->operand_count && !picks; j++) {
            picks = operands[j].kind == PDL_OPERAND_SYMBOL && operands[j].symbol != symbol &&
                    (pdl_name_begins(name, "and.pred") || pdl_name_begins(name, "or.pred") ||
                     pdl_name_begins(name, "not.pred")) &&
                    picks_block(flow, operands[j].symbol, depth + 1);
        }
    }
    return picks;
}

/* The phase in which each barrier orders those that go around the wait at a block's decisions: the edges
 * of those are not taken by any who stay undecided. */
static uint64_t need_of(const struct pdl_flow *flow, const struct pdl_decision *decision)
{
    const struct pdl_block *block = &flow->cfg->blocks[decision->block];
    const struct pdl_summary *summary = decision->call ? callee_of(flow, decision->block) : NULL;
    uint64_t ahead = 0, need = PDL_NEEDS_NEVER;
    if (decision->divergence == PDL_DIVERGENCE_NONE) {
        return need;
    }
    for (uint32_t i = 0; i < block->successor_count && !decision->call; i++) {
        const uint32_t edge = block->first_successor + i;
        if (flow->taken[edge]) {
            ahead = pdl_counts_most(ahead, flow->ahead[flow->cfg->successors[edge]]);
        }
    }
    const bool differ = decision->divergence >= PDL_DIVERGENCE_CALLER;
    const uint8_t sure = summary != NULL ? decision->sure & summary->sure : decision->sure;
    const bool in_block = differ && (sure & PDL_SURE_IN_BLOCK) != 0;
    const bool in_warp =
        in_block && decision->divergence == PDL_DIVERGENCE_THREAD &&
        (!(decision->depends & (PDL_DEPENDS_WARP | PDL_DEPENDS_MEMORY)) || flow->one_warp);
    const bool in_cluster = differ || !(decision->depends & PDL_DEPENDS_CLUSTER);
    const bool meet_in_cluster = (in_block || (sure & PDL_SURE_RANK) != 0) && !flow->relaxed;
    const uint32_t guard =
        block->branch != PDL_NONE ? flow->body->instructions[block->branch].guard : PDL_NONE;
    const bool picks = flow->mbarriers.waits && guard != PDL_NONE && !decision->call &&
                       picks_block(flow, guard, 0);
    for (unsigned i = 0; i < PDL_MEETS; i++) {
        const bool near = i == PDL_MEET_WARP      ? in_warp
                          : i == PDL_MEET_CLUSTER ? meet_in_cluster
                          : i == PDL_MEET_MEMORY  ? in_cluster && !picks
                                                  : in_block;
        const unsigned count = pdl_count_at(ahead, i);
        unsigned one = i == PDL_MEET_MEMORY || (count < AHEAD_0 && (flow->chained >> i & 1u)) ? 1u
                       : count < AHEAD_0 ? (unsigned)PDL_NEED_NEVER
                                         : count - AHEAD_0 + 1;
        if (summary != NULL) {
            const uint32_t meets = summary->meets | meets_behind(flow, decision->block);
            one = i == PDL_MEET_MEMORY || (meets >> i & 1u) ? pdl_count_at(summary->need, i)
                                                            : (unsigned)PDL_NEED_NEVER;
        }
        need = pdl_count_set(need, i, near ? one : (unsigned)PDL_NEED_NEVER);
    }
    return need;
}

void pdl_flow_decide_needs(const struct pdl_flow *flow, uint32_t decision, bool undecided,
                           struct pdl_point *point)
{
    uint64_t need = flow->decisions[decision - 1].need;
    const unsigned cluster = pdl_count_at(need, PDL_MEET_CLUSTER);
    if (point->open && cluster < PDL_NEED_MANY) { /* the phase began before the branch */
        need = pdl_count_set(need, PDL_MEET_CLUSTER, cluster + 1);
    }
    point->need = undecided                  ? need
                  : (point->states & AROUND) ? pdl_counts_least(point->need, need)
                                             : 0;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

void pdl_flow_start_barriers(struct pdl_flow *flow)
{
    const size_t blocks = flow->cfg->block_count;
    const struct pdl_ptx_function *const function = flow->body->function;
    flow->threads = function->is_entry ? function->bounds.max_threads : 0;
    flow->one_warp = flow->threads > 0 && flow->threads <= 32;
    find_barriers(flow);
    flow->chained = 0;
    for (uint32_t i = 0; i < flow->decision_count; i++) {
        flow->decisions[i].need = PDL_NEEDS_NEVER;
    }
    PDL_RESERVE(flow->reach, blocks, flow->reach_capacity);
    memset(flow->reach, 0, blocks);
    if (!flow->counted && !flow->mbarriers.waits) {
        return;
    }
    PDL_RESERVE(flow->ahead, blocks, flow->ahead_capacity);
    PDL_RESERVE(flow->meets, blocks, flow->meet_capacity);
    PDL_RESERVE(flow->taken, flow->cfg->successor_count, flow->taken_capacity);
    PDL_RESERVE(flow->barriers, flow->body->instruction_count, flow->barrier_capacity);
    for (uint32_t i = 0; i < flow->body->instruction_count; i++) {
        if (is_barrier(&flow->body->instructions[i])) {
            flow->barriers[i] = barriers_of(flow, &flow->body->instructions[i]);
        }
    }
    memset(flow->ahead, 0, blocks * sizeof(*flow->ahead));
    memset(flow->meets, 0, blocks * sizeof(*flow->meets));
}

static void decide_needs(struct pdl_flow *flow)
{
    for (uint32_t i = 0; i < flow->decision_count; i++) {
        struct pdl_decision *decision = &flow->decisions[i];
        const bool same = i > 0 && decision[-1].block == decision->block;
        decision->need = same ? decision[-1].need : need_of(flow, decision);
    }
}

bool pdl_flow_count_barriers(struct pdl_flow *flow)
{
    if ((!flow->counted && !flow->mbarriers.waits) || !flow->waits ||
        (flow->decision_count == 0 && flow->body->function->is_entry)) {
        return false;
    }
    for (uint32_t i = 0; i < flow->cfg->block_count; i++) {
        const struct pdl_block *block = &flow->cfg->blocks[i];
        flow->reach[i] = flow->points[i].states;
        for (uint32_t j = 0; j < block->successor_count; j++) {
            flow->taken[block->first_successor + j] =
                (flow->reach[i] & PDL_STATE_NOT_WAITED) != 0 &&
                pdl_flow_decision_at(flow, i, j) == 0 &&
                pdl_flow_may_go(flow, block->first_successor + j);
        }
    }
    find_meets(flow);
    find_ahead(flow);
    decide_needs(flow);
    return flow->decision_count > 0;
}

bool pdl_flow_chain_barriers(struct pdl_flow *flow)
{
    const uint32_t before = flow->chained;
    for (uint32_t i = 0; i < flow->cfg->block_count && flow->counted; i++) {
        const struct pdl_block *block = &flow->cfg->blocks[i];
        struct pdl_point point = flow->points[i];
        for (uint32_t j = 0; j < block->count && point.states != 0; j++) {
            const struct pdl_instruction *at = &flow->body->instructions[block->first + j];
            const struct meeting meeting = meeting_of(flow, at);
            const bool one = (meeting.at & (meeting.at - 1)) == 0 && meeting.at <= NUMBERS;
            if (meeting.arrives && one && point.states == PDL_STATE_BARRIER) {
                for (unsigned k = 0; k < PDL_MEET_NUMBERS; k++) {
                    const bool first = pdl_count_at(point.most, k) == 0;
                    flow->chained |= first ? meeting.at & UINT32_C(1) << k : 0;
                }
            }
            pdl_flow_step(flow, at, &point);
        }
    }
    if (flow->chained != before) {
        decide_needs(flow);
    }
    return flow->chained != before;
}

void pdl_flow_summarize_barriers(const struct pdl_flow *flow, struct pdl_summary *summary)
{
    bool set = false;
    if (!flow->counted && !flow->mbarriers.waits) {
        summary->need = flow->waits ? PDL_NEEDS_NEVER : 0;
        for (unsigned j = 0; j < PDL_MEETS && flow->decision_count > 0; j++) {
            /* Without barriers of its own, its callers' first one is the first, for some that surely wait. */
            const unsigned one =
                j == PDL_MEET_MEMORY || flow->sure != 0 ? 1u : (unsigned)PDL_NEED_NEVER;
            summary->need = pdl_count_set(summary->need, j, one);
        }
        summary->ahead = flow->waits ? wait_now(UINT32_MAX) : 0;
        return;
    }
    summary->ahead = flow->waits ? flow->ahead[0] : 0;
    for (uint32_t i = 0; i < flow->cfg->block_count; i++) {
        if (flow->points[i].states == 0) {
            continue;
        }
        summary->meets |= own_meets(flow, i);
        if (!flow->cfg->blocks[i].exits) {
            continue;
        }
        const uint32_t decision =
            pdl_flow_decision_at(flow, i, flow->cfg->blocks[i].successor_count);
        struct pdl_point point = pdl_flow_behind(flow, i);
        if (decision != 0 && (point.states & PDL_STATE_NOT_WAITED) != 0) {
            pdl_flow_decide_needs(flow, decision, (point.states & PDL_STATE_UNWAITED) != 0, &point);
        }
        summary->phases = set ? pdl_counts_least(summary->phases, point.least) : point.least;
        summary->arrivals = pdl_counts_most(summary->arrivals, point.most);
        summary->need = pdl_counts_most(summary->need, point.need);
        set = true;
    }
}
