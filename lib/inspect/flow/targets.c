/* SPDX-License-Identifier: MIT */
#include "inspect/flow/targets.h"

#include <stdlib.h>
#include <string.h>

#include "code/system.h"
#include "inspect/flow/effects.h"

/* What a pointer may come from; from more, it may be anything. */
#define SOURCES_MAX 8u
/* Slots of tables that are looked at in all: of more, a table is as good as any. */
#define STEPS_OF_TABLES (UINT64_C(1) << 24)
/* Registers that are followed from one call. */
#define STEPS_MAX 32u

/* Functions that were joined, or are. */
enum set_kind {
    SET_FUNCTION,  /* one; `name` */
    SET_TABLE,     /* in the initializer of variable `name`, at any offset */
    SET_SLOT,      /* in the initializer of variable `name`, at `offset` */
    SET_VIRTUAL,   /* in tables of classes, at `offset` */
    SET_PROTOTYPE, /* all whose address is taken */
};

struct set {
    uint32_t kind; /* set_kind */
    uint32_t name, offset;
    uint32_t prototype; /* of all but a function */
};

struct pdl_joined {
    struct set set;
    const struct pdl_summary *summary; /* NULL: there is no such function */
    uint32_t round;
    bool is_final;
};

/* ---- where a pointer comes from ------------------------------------------------------------------- */

struct trace {
    const struct pdl_ptx_module *module;
    struct pdl_body *body;
    const struct pdl_values *values;
    const struct pdl_folding *folding;
    const struct pdl_instruction *call;
    uint32_t prototype;
    struct set sets[SOURCES_MAX];
    uint32_t set_count;
    bool any;
    uint32_t queue[STEPS_MAX];
    uint32_t queued;
};

static void add_set(struct trace *trace, uint32_t kind, uint32_t name, uint32_t offset)
{
    const struct set set = {kind, name, offset, kind == SET_FUNCTION ? PDL_NONE : trace->prototype};
    for (uint32_t i = 0; i < trace->set_count; i++) {
        if (memcmp(&trace->sets[i], &set, sizeof(set)) == 0) {
            return;
        }
    }
    if (trace->set_count == SOURCES_MAX) {
        trace->any = true;
        return;
    }
    trace->sets[trace->set_count++] = set;
}

static void follow(struct trace *trace, uint32_t symbol)
{
    for (uint32_t i = 0; i < trace->queued; i++) {
        if (trace->queue[i] == symbol) {
            return;
        }
    }
    if (trace->queued == STEPS_MAX) {
        trace->any = true;
        return;
    }
    trace->queue[trace->queued++] = symbol;
}

/* An address: in a variable, or behind a pointer that was loaded. */
struct address {
    uint32_t variable;                  /* name, or PDL_NONE */
    const struct pdl_instruction *load; /* what loaded it, or NULL */
    int64_t offset;
    bool known; /* the offset */
};

static bool is_register(const struct trace *trace, const struct pdl_operand *operand)
{
    return operand->kind == PDL_OPERAND_SYMBOL && !operand->memory &&
           trace->body->symbols[operand->symbol].kind == PDL_SYMBOL_REGISTER;
}

/* Goes from an operand to what it is computed from: one step; false at the end of the way. */
static bool step_back(const struct trace *trace, const struct pdl_instruction *from,
                      struct address *address, uint32_t *symbol)
{
    const struct pdl_operand *operands = &trace->body->operands[from->first_operand];
    const struct pdl_name *name = &trace->module->names.names[from->name];
    const struct pdl_operand *base = NULL;
    for (uint32_t i = 1; i < from->operand_count; i++) {
        const struct pdl_operand *operand = &operands[i];
        if (operand->kind == PDL_OPERAND_NUMBER) {
            address->offset += operand->value;
            continue;
        }
        const bool pointer =
            operand->kind == PDL_OPERAND_SYMBOL &&
            (!is_register(trace, operand) ||
             trace->values->values[operand->symbol].strength >= PDL_STRENGTH_VALUE);
        if (pointer && base == NULL) {
            base = operand;
        } else {
            address->known = false;
        }
    }
    if (base == NULL || (from->opcode.op != PDL_OP_CARRY && from->opcode.op != PDL_OP_CVTA) ||
        (from->operand_count > 2 && !pdl_name_begins(name, "add") &&
         !pdl_name_begins(name, "mad"))) {
        return false;
    }
    address->known = address->known && !pdl_name_begins(name, "mad");
    address->offset += base->value;
    *symbol = base->symbol;
    return true;
}

static struct address address_of(const struct trace *trace, const struct pdl_operand *operand)
{
    struct address address = {.variable = PDL_NONE, .offset = operand->value, .known = true};
    uint32_t symbol = operand->symbol;
    for (unsigned steps = 0; steps < STEPS_MAX; steps++) {
        const struct pdl_symbol *at = &trace->body->symbols[symbol];
        if (at->kind == PDL_SYMBOL_VARIABLE) {
            address.variable = at->name;
            return address;
        }
        const struct pdl_instruction *from =
            at->kind == PDL_SYMBOL_REGISTER
                ? pdl_values_definition(trace->values, trace->body, symbol)
                : NULL;
        if (from == NULL) {
            return address;
        }
        if (from->opcode.op == PDL_OP_LOAD) {
            const struct pdl_operand *loaded = pdl_address_operand(trace->body, from, 1);
            if (loaded != NULL && from->opcode.space != PDL_SPACE_PARAM &&
                pdl_operand_value(trace->values, trace->body, loaded).spaces !=
                    1u << PDL_SPACE_PARAM) {
                address.load = from;
            }
            return address;
        }
        if (!step_back(trace, from, &address, &symbol)) {
            return address;
        }
    }
    return address;
}

/* Whether the first argument of the call is the object whose table was loaded, or that is the thread's
 * own. */
static bool passes_object(const struct trace *trace, const struct pdl_instruction *load)
{
    const struct pdl_body *body = trace->body;
    const struct pdl_operand *object = pdl_address_operand(body, load, 1);
    if (load->opcode.space == PDL_SPACE_LOCAL) {
        return true;
    }
    for (uint32_t i = 0; i < trace->call->operand_count; i++) {
        const struct pdl_operand *operand = &body->operands[trace->call->first_operand + i];
        if (operand->slot != trace->call->target_slot + 1u || object == NULL ||
            operand->kind != PDL_OPERAND_SYMBOL) {
            continue;
        }
        if (operand->symbol == object->symbol) {
            return true;
        }
        const struct pdl_instruction *store =
            pdl_values_definition(trace->values, body, operand->symbol);
        for (uint32_t j = 0; store != NULL && j < store->operand_count; j++) {
            const struct pdl_operand *stored = &body->operands[store->first_operand + j];
            if (stored->slot == 1 && stored->symbol == object->symbol) {
                return true;
            }
        }
        return false;
    }
    return false;
}

/* A pointer that was loaded. */
static void trace_load(struct trace *trace, struct pdl_instruction *load, uint32_t symbol)
{
    const struct pdl_operand *operand = pdl_address_operand(trace->body, load, 1);
    uint32_t count = 0;
    if (operand == NULL || operand->kind != PDL_OPERAND_SYMBOL) {
        trace->any = true;
        return;
    }
    struct address address = address_of(trace, operand);
    for (uint32_t i = 0; i < load->operand_count && i < 16; i++) { /* of a vector */
        const struct pdl_operand *result = &trace->body->operands[load->first_operand + i];
        if (result->slot == 0 && result->symbol == symbol) {
            address.offset += 8 * (int64_t)i;
            break;
        }
    }
    const bool known = address.known && address.offset >= 0 && address.offset < UINT32_MAX;
    if (address.variable != PDL_NONE) {
        (void)pdl_pointers_of(&trace->module->pointers, address.variable, &count);
        if (count == 0) { /* the host may fill it */
            trace->any = true;
        } else {
            add_set(trace, known ? SET_SLOT : SET_TABLE, address.variable,
                    known ? (uint32_t)address.offset : 0);
            load->opcode.reads = false; /* what it holds is what the module says */
        }
        return;
    }
    if (address.load != NULL && known) {
        (void)pdl_virtuals_at(&trace->module->pointers, (uint32_t)address.offset, &count);
    }
    if (count == 0) {
        trace->any = true;
        return;
    }
    add_set(trace, SET_VIRTUAL, PDL_NONE, (uint32_t)address.offset);
    if (passes_object(trace, address.load)) {
        load->opcode.reads = false; /* the table of a class, which nobody writes */
    } else {
        trace->any = true;
    }
}

static void trace_symbol(struct trace *trace, uint32_t symbol)
{
    const struct pdl_constant constant = trace->folding->constants[symbol];
    if (constant.kind == PDL_CONSTANT_FUNCTION) {
        add_set(trace, SET_FUNCTION, (uint32_t)constant.value, 0);
        return;
    }
    const uint32_t first = trace->values->first_definition[symbol];
    const uint32_t end = trace->values->first_definition[symbol + 1];
    if (first == end || end - first > STEPS_MAX) {
        trace->any = true;
        return;
    }
    for (uint32_t i = first; i < end; i++) {
        struct pdl_instruction *from = &trace->body->instructions[trace->values->definitions[i]];
        const struct pdl_name *name = &trace->module->names.names[from->name];
        if (from->opcode.op == PDL_OP_LOAD) {
            trace_load(trace, from, symbol);
            continue;
        }
        const bool selects = pdl_name_begins(name, "selp.");
        if (!selects && !(pdl_name_begins(name, "mov.") && from->operand_count == 2)) {
            trace->any = true;
            continue;
        }
        for (uint32_t j = 1; j < from->operand_count && j < 3; j++) {
            const struct pdl_operand *operand = &trace->body->operands[from->first_operand + j];
            const struct pdl_constant value =
                pdl_folding_operand(trace->folding, trace->body, operand);
            if (value.kind == PDL_CONSTANT_FUNCTION) {
                add_set(trace, SET_FUNCTION, (uint32_t)value.value, 0);
            } else if (is_register(trace, operand)) {
                follow(trace, operand->symbol);
            } else if (value.kind != PDL_CONSTANT_NUMBER) { /* NULL is not called */
                trace->any = true;
            }
        }
    }
}

/* ---- joining -------------------------------------------------------------------------------------- */

struct join {
    struct pdl_ptx_module *module;
    struct pdl_summary sum;
    const struct pdl_summary *only; /* if there was but one */
    uint32_t count, capacity;
    uint64_t steps; /* through tables */
    bool is_final, failed;
};

static void join_effects(struct join *join, const struct pdl_summary *summary)
{
    struct pdl_summary *sum = &join->sum;
    const uint32_t limit = pdl_summary_limit(join->module);
    uint32_t room = sum->effect_count < limit ? limit - sum->effect_count : 0;
    const uint32_t wanted = summary->effect_count < room ? summary->effect_count : room;
    sum->cut = sum->cut || wanted < summary->effect_count;
    if (wanted == 0) {
        return;
    }
    if (sum->effect_count + wanted > join->capacity) {
        const uint32_t capacity = sum->effect_count + wanted < limit / 2 ? limit / 2 : limit;
        struct pdl_effect *effects =
            pdl_arena_alloc(&join->module->arena, capacity * sizeof(*effects));
        if (effects == NULL) {
            join->failed = true;
            return;
        }
        if (sum->effect_count > 0) {
            memcpy(effects, sum->effects, sum->effect_count * sizeof(*effects));
        }
        join->module->kept_effects += capacity;
        join->capacity = capacity;
        sum->effects = effects;
    }
    memcpy(sum->effects + sum->effect_count, summary->effects, wanted * sizeof(*sum->effects));
    sum->effect_count += wanted;
}

/* What happens at barriers: completed phases count if all do so, arrivals if one does, and waits on an
 * mbarrier not at all. */
static void join_barriers(struct join *join, const struct pdl_summary *summary)
{
    struct pdl_summary *sum = &join->sum;
    sum->depends |= summary->depends;
    sum->phases =
        join->count == 1 ? summary->phases : pdl_counts_least(sum->phases, summary->phases);
    sum->arrivals = pdl_counts_most(sum->arrivals, summary->arrivals);
    sum->ahead = pdl_counts_most(sum->ahead, summary->ahead);
    sum->need = pdl_counts_most(sum->need, summary->need);
    sum->meets |= summary->meets;
    if (summary->use_count > 0 && sum->uses == NULL) {
        sum->uses = pdl_arena_alloc(&join->module->arena, PDL_MBARRIER_USES * sizeof(*sum->uses));
        join->failed = join->failed || sum->uses == NULL;
    }
    for (uint32_t i = 0; i < summary->use_count && !join->failed; i++) {
        if (summary->uses[i].kind != PDL_MBARRIER_WAIT && sum->use_count < PDL_MBARRIER_USES) {
            sum->uses[sum->use_count++] = summary->uses[i];
        }
    }
}

static void join_summary(struct join *join, const struct pdl_summary *summary)
{
    struct pdl_summary *sum = &join->sum;
    if (join->count++ == 0) {
        join->only = summary;
        sum->triggers_always = true;
        sum->unknown_name = PDL_NONE;
    } else if (join->count == 2) {
        join_effects(join, join->only);
    }
    if (join->count > 1) {
        join_effects(join, summary);
    }
    sum->out |= summary->out;
    sum->divergence = sum->divergence > summary->divergence ? sum->divergence : summary->divergence;
    sum->waits = sum->waits || summary->waits;
    sum->triggers = sum->triggers || summary->triggers;
    sum->triggers_always = sum->triggers_always && summary->triggers_always;
    sum->triggers_unwaited = sum->triggers_unwaited || summary->triggers_unwaited;
    sum->barriers = sum->barriers || summary->barriers;
    if (summary->unknown && !sum->unknown) {
        sum->unknown_name = summary->unknown_name;
    }
    sum->unknown = sum->unknown || summary->unknown;
    sum->cut = sum->cut || summary->cut;
    sum->touches = sum->touches || summary->touches;
    join_barriers(join, summary);
    (void)pdl_value_join(&sum->result, &summary->result);
}

static void join_function(struct join *join, const struct pdl_ptx_function *function,
                          uint32_t prototype)
{
    static const struct pdl_summary harmless = {.out = PDL_STATE_UNWAITED,
                                                .unknown_name = PDL_NONE};
    if (function == NULL || function->is_entry ||
        (prototype != PDL_NONE && function->prototype != prototype)) {
        return;
    }
    const struct pdl_name *name = &join->module->names.names[function->name];
    if (function->summary != NULL) {
        join->is_final = join->is_final && !function->in_group;
        join_summary(join, function->summary);
    } else if (pdl_code_is_system(name->text, name->length)) {
        join_summary(join, &harmless);
    } else {
        const struct pdl_summary unknown = {
            .out = PDL_STATE_CALLED, .unknown = true, .unknown_name = function->name};
        struct pdl_summary *kept = pdl_arena_alloc(&join->module->arena, sizeof(*kept));
        if (kept == NULL) {
            join->failed = true;
            return;
        }
        *kept = unknown;
        join_summary(join, kept);
    }
}

/* The functions of a set. */
static void join_set(struct join *join, const struct set *set)
{
    const struct pdl_ptx_module *module = join->module;
    const struct pdl_ptx_pointers *pointers = &module->pointers;
    uint32_t count;
    if (set->kind == SET_FUNCTION) {
        join_function(join, pdl_ptx_function_find(module, set->name), PDL_NONE);
    } else if (set->kind == SET_TABLE || set->kind == SET_SLOT) {
        const struct pdl_pointer_slot *slots = pdl_pointers_of(pointers, set->name, &count);
        uint32_t first = 0, end = set->kind == SET_SLOT ? count : 0;
        while (first < end) {
            const uint32_t middle = first + (end - first) / 2;
            first = slots[middle].offset < set->offset ? middle + 1 : first;
            end = slots[middle].offset < set->offset ? end : middle;
        }
        join->steps += count;
        for (uint32_t i = first;
             i < count && (set->kind == SET_TABLE || slots[i].offset == set->offset); i++) {
            join_function(join, pdl_ptx_function_find(module, slots[i].symbol), set->prototype);
        }
    } else if (set->kind == SET_VIRTUAL) {
        const struct pdl_virtual_slot *slots = pdl_virtuals_at(pointers, set->offset, &count);
        join->steps += count;
        for (uint32_t i = 0; i < count; i++) {
            join_function(join, &module->functions[slots[i].function], set->prototype);
        }
    } else if (set->prototype != PDL_NONE) {
        const struct pdl_prototype *prototype = &pointers->prototypes[set->prototype];
        count = prototype->free_count > 0 ? prototype->free_count : prototype->count;
        for (uint32_t i = 0; i < count; i++) {
            join_function(join, &module->functions[pointers->by_prototype[prototype->first + i]],
                          PDL_NONE);
        }
    }
}

/* What all that were joined do, whichever is called; NULL if there are none. */
static const struct pdl_summary *finish(struct join *join)
{
    if (join->count < 2) {
        return join->only;
    }
    /* Some wait and others do not: which is called decides it. */
    if ((join->sum.out & PDL_STATE_UNWAITED) && join->sum.waits) {
        join->sum.out = (uint8_t)((join->sum.out & ~PDL_STATE_UNWAITED) | PDL_STATE_DECIDED);
        for (unsigned i = 0; i < PDL_MEETS && join->sum.meets == 0; i++) {
            join->sum.need = pdl_count_set(join->sum.need, i, 1); /* the callers' first barrier */
        }
    }
    struct pdl_summary *summary = pdl_arena_alloc(&join->module->arena, sizeof(*summary));
    if (summary == NULL) {
        join->failed = true;
        return NULL;
    }
    *summary = join->sum;
    return summary;
}

static uint64_t hash_of(const struct set *set)
{
    uint64_t hash = set->kind;
    hash = pdl_prototype_key(hash, set->name);
    hash = pdl_prototype_key(hash, set->offset);
    return pdl_prototype_key(hash, set->prototype);
}

static bool grow(struct pdl_targets *targets)
{
    const uint32_t count = targets->slot_count == 0 ? 64 : targets->slot_count * 2;
    uint32_t *slots = count == 0 ? NULL : calloc(count, sizeof(*slots));
    if (slots == NULL) {
        return false;
    }
    free(targets->slots);
    targets->slots = slots;
    targets->slot_count = count;
    for (uint32_t i = 0; i < targets->joined_count; i++) {
        uint64_t at = hash_of(&targets->joined[i].set);
        while (slots[at & (count - 1)] != 0) {
            at++;
        }
        slots[at & (count - 1)] = i + 1;
    }
    return true;
}

/* The place of a set among those that were joined; NULL if there is no memory. */
static struct pdl_joined *place_of(struct pdl_targets *targets, const struct set *set)
{
    if (targets->joined_count >= targets->slot_count / 2 && !grow(targets)) {
        return NULL;
    }
    uint64_t at = hash_of(set);
    uint32_t *slot;
    while (*(slot = &targets->slots[at & (targets->slot_count - 1)]) != 0) {
        if (memcmp(&targets->joined[*slot - 1].set, set, sizeof(*set)) == 0) {
            return &targets->joined[*slot - 1];
        }
        at++;
    }
    if (!PDL_ARRAY_ROOM(targets->joined, targets->joined_count, targets->joined_capacity)) {
        return NULL;
    }
    struct pdl_joined *joined = &targets->joined[targets->joined_count++];
    *joined = (struct pdl_joined){.set = *set, .round = targets->round - 1};
    *slot = targets->joined_count;
    return joined;
}

/* Adds what a set does to a join; sets of many functions are joined once. */
static void join_once(struct pdl_targets *targets, struct join *join, const struct set *set)
{
    if (set->kind == SET_FUNCTION) {
        join_set(join, set);
        return;
    }
    struct pdl_joined *joined = place_of(targets, set);
    if (joined == NULL) {
        join->failed = true;
        return;
    }
    if (!joined->is_final && joined->round != targets->round) {
        struct join inner = {.module = join->module, .is_final = true};
        const bool table = set->kind == SET_TABLE || set->kind == SET_VIRTUAL;
        if (table && targets->steps > STEPS_OF_TABLES) { /* every prototype has each table anew */
            const struct set all = {SET_PROTOTYPE, PDL_NONE, 0, set->prototype};
            join_set(&inner, &all);
        } else {
            join_set(&inner, set);
        }
        targets->steps += table ? inner.steps : 0;
        joined->summary = finish(&inner);
        joined->is_final = inner.is_final;
        joined->round = targets->round;
        join->failed = join->failed || inner.failed;
    }
    if (joined->summary != NULL) {
        join_summary(join, joined->summary);
    }
}

/* ---- the call ------------------------------------------------------------------------------------- */

/* The prototype that a call names, and the functions, if it names them. */
static void read_operands(struct trace *trace)
{
    const struct pdl_body *body = trace->body;
    for (uint32_t i = 0; i < trace->call->operand_count; i++) {
        const struct pdl_operand *operand = &body->operands[trace->call->first_operand + i];
        if (operand->kind != PDL_OPERAND_SYMBOL) {
            continue;
        }
        const struct pdl_symbol *symbol = &body->symbols[operand->symbol];
        if (symbol->kind == PDL_SYMBOL_PROTOTYPE && symbol->index > 0) {
            trace->prototype = symbol->index - 1u;
        } else if (symbol->kind == PDL_SYMBOL_TARGETS && symbol->index > 0) {
            const struct pdl_target_list *list = &body->lists[symbol->index - 1u];
            for (uint32_t j = 0; j < list->count; j++) {
                add_set(trace, SET_FUNCTION, body->targets[list->first + j].symbol, 0);
            }
        }
    }
}

pdl_status pdl_targets_resolve(struct pdl_targets *targets, struct pdl_ptx_module *module,
                               struct pdl_body *body, const struct pdl_values *values,
                               const struct pdl_folding *folding, struct pdl_instruction *call)
{
    struct trace trace = {.module = module,
                          .body = body,
                          .values = values,
                          .folding = folding,
                          .call = call,
                          .prototype = PDL_NONE};
    struct join join = {.module = module, .is_final = true};
    read_operands(&trace);
    if (trace.set_count == 0 && call->target != PDL_NONE &&
        body->symbols[call->target].kind == PDL_SYMBOL_REGISTER) {
        trace.queue[trace.queued++] = call->target;
        for (uint32_t i = 0; i < trace.queued; i++) {
            trace_symbol(&trace, trace.queue[i]);
        }
    }
    for (uint32_t i = 0; i < trace.set_count; i++) {
        join_once(targets, &join, &trace.sets[i]);
    }
    if (trace.any || join.count == 0) {
        const struct set all = {SET_PROTOTYPE, PDL_NONE, 0, trace.prototype};
        join_once(targets, &join, &all);
        call->called_is |= PDL_CALLED_GUESSED;
    }
    call->called = finish(&join);
    if (call->called != NULL && call->called->unknown) {
        call->called_is |= PDL_CALLED_GUESSED;
    }
    return join.failed ? pdl_ptx_no_memory() : PDL_SUCCESS;
}

void pdl_targets_free(struct pdl_targets *targets)
{
    free(targets->joined);
    free(targets->slots);
}
