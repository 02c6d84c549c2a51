/* SPDX-License-Identifier: MIT */
#include "inspect/flow/targets.h"

#include <string.h>

#include "code/system.h"
#include "inspect/flow/effects.h"
#include "inspect/flow/methods.h"
#include "inspect/flow/origins.h"

struct pdl_joined {
    struct pdl_set set;
    const struct pdl_summary *summary; /* NULL: there is no such function */
    uint32_t round;
    bool is_final;
};

/* ---- joining -------------------------------------------------------------------------------------- */

struct join {
    struct pdl_ptx_module *module;
    struct pdl_summary sum;
    const struct pdl_summary *only; /* if there was but one */
    uint32_t count, capacity;
    uint64_t steps; /* through tables */
    struct pdl_methods methods;
    bool by_method; /* classes that have nothing to do with each other may be among them */
    bool is_final;
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
    }
    for (uint32_t i = 0; i < summary->use_count; i++) {
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
        if (join->by_method) {
            pdl_methods_note(&join->methods, name, function->summary);
        }
    } else if (pdl_code_is_system(name->text, name->length)) {
        join_summary(join, &harmless);
    } else {
        const struct pdl_summary unknown = {
            .out = PDL_STATE_CALLED, .unknown = true, .unknown_name = function->name};
        struct pdl_summary *kept = pdl_arena_alloc(&join->module->arena, sizeof(*kept));
        *kept = unknown;
        join_summary(join, kept);
    }
}

/* The functions of a set. */
static void join_set(struct join *join, const struct pdl_set *set)
{
    const struct pdl_ptx_module *module = join->module;
    const struct pdl_ptx_pointers *pointers = &module->pointers;
    uint32_t count;
    if (set->kind == PDL_SET_FUNCTION) {
        join_function(join, pdl_ptx_function_find(module, set->name), PDL_NONE);
    } else if (set->kind == PDL_SET_TABLE || set->kind == PDL_SET_SLOT) {
        const struct pdl_pointer_slot *slots = pdl_pointers_of(pointers, set->name, &count);
        uint32_t first = 0, end = set->kind == PDL_SET_SLOT ? count : 0;
        while (first < end) {
            const uint32_t middle = first + (end - first) / 2;
            first = slots[middle].offset < set->offset ? middle + 1 : first;
            end = slots[middle].offset < set->offset ? end : middle;
        }
        join->steps += count;
        for (uint32_t i = first;
             i < count && (set->kind == PDL_SET_TABLE || slots[i].offset == set->offset); i++) {
            join_function(join, pdl_ptx_function_find(module, slots[i].symbol), set->prototype);
        }
    } else if (set->kind == PDL_SET_VIRTUAL) {
        const struct pdl_virtual_slot *slots = pdl_virtuals_at(pointers, set->offset, &count);
        join->steps += count;
        join->by_method = true;
        for (uint32_t i = 0; i < count; i++) {
            join_function(join, &module->functions[slots[i].function], set->prototype);
        }
    } else if (set->prototype != PDL_NONE) {
        const struct pdl_prototype *prototype = &pointers->prototypes[set->prototype];
        count = prototype->free_count > 0 ? prototype->free_count : prototype->count;
        join->by_method = prototype->free_count == 0;
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
    pdl_methods_settle(&join->methods, &join->sum);
    struct pdl_summary *summary = pdl_arena_alloc(&join->module->arena, sizeof(*summary));
    *summary = join->sum;
    return summary;
}

static uint64_t hash_of(const struct pdl_set *set)
{
    uint64_t hash = set->kind;
    hash = pdl_prototype_key(hash, set->name);
    hash = pdl_prototype_key(hash, set->offset);
    return pdl_prototype_key(hash, set->prototype);
}

static void grow(struct pdl_targets *targets)
{
    const uint32_t count = targets->slot_count == 0 ? 64 : targets->slot_count * 2;
    uint32_t *slots = pdl_take(count, sizeof(*slots));
    pdl_give_back(targets->slots);
    targets->slots = slots;
    targets->slot_count = count;
    for (uint32_t i = 0; i < targets->joined_count; i++) {
        uint64_t at = hash_of(&targets->joined[i].set);
        while (slots[at & (count - 1)] != 0) {
            at++;
        }
        slots[at & (count - 1)] = i + 1;
    }
}

/* The place of a set among those that were joined. */
static struct pdl_joined *place_of(struct pdl_targets *targets, const struct pdl_set *set)
{
    if (targets->joined_count >= targets->slot_count / 2) {
        grow(targets);
    }
    uint64_t at = hash_of(set);
    uint32_t *slot;
    while (*(slot = &targets->slots[at & (targets->slot_count - 1)]) != 0) {
        if (memcmp(&targets->joined[*slot - 1].set, set, sizeof(*set)) == 0) {
            return &targets->joined[*slot - 1];
        }
        at++;
    }
    PDL_ADD(targets->joined, targets->joined_count, targets->joined_capacity,
            (struct pdl_joined){.set = *set, .round = targets->round - 1});
    *slot = targets->joined_count;
    return &targets->joined[targets->joined_count - 1];
}

/* Adds what a set does to a join; sets of many functions are joined once. */
static void join_once(struct pdl_targets *targets, struct join *join, const struct pdl_set *set)
{
    if (set->kind == PDL_SET_FUNCTION) {
        join_set(join, set);
        return;
    }
    struct pdl_joined *joined = place_of(targets, set);
    if (!joined->is_final && joined->round != targets->round) {
        struct join inner = {.module = join->module, .is_final = true};
        const bool table = set->kind == PDL_SET_TABLE || set->kind == PDL_SET_VIRTUAL;
        if (table &&
            targets->steps > PDL_STEPS_OF_TABLES) { /* every prototype has each table anew */
            const struct pdl_set all = {PDL_SET_PROTOTYPE, PDL_NONE, 0, set->prototype};
            join_set(&inner, &all);
        } else {
            join_set(&inner, set);
        }
        targets->steps += table ? inner.steps : 0;
        joined->summary = finish(&inner);
        joined->is_final = inner.is_final;
        joined->round = targets->round;
    }
    if (joined->summary != NULL) {
        join_summary(join, joined->summary);
    }
}

/* ---- the call ------------------------------------------------------------------------------------- */

void pdl_targets_resolve(struct pdl_targets *targets, struct pdl_ptx_module *module,
                         struct pdl_body *body, const struct pdl_values *values,
                         const struct pdl_folding *folding, struct pdl_instruction *call)
{
    struct pdl_origins origins = {.module = module,
                                  .body = body,
                                  .values = values,
                                  .folding = folding,
                                  .call = call,
                                  .prototype = PDL_NONE,
                                  .steps = &targets->steps};
    struct join join = {.module = module, .is_final = true};
    pdl_origins_find(&origins);
    for (uint32_t i = 0; i < origins.set_count; i++) {
        join_once(targets, &join, &origins.sets[i]);
    }
    if (origins.any || join.count == 0) {
        const struct pdl_set all = {PDL_SET_PROTOTYPE, PDL_NONE, 0, origins.prototype};
        join_once(targets, &join, &all);
        call->called_is |= PDL_CALLED_GUESSED;
    }
    call->called = finish(&join);
    if (call->called != NULL && call->called->unknown) {
        call->called_is |= PDL_CALLED_GUESSED;
    }
}
