/* SPDX-License-Identifier: MIT */
#include "inspect/flow/effects.h"

#include <string.h>

#include "inspect/ptx/places.h"

/* A collection while it goes on. */
struct collection {
    struct pdl_effects *effects;
    struct pdl_ptx_module *module;
    struct pdl_flow *flow;
    uint32_t limit;
};

/* Effects in all summaries of a text, from which on each keeps fewer. */
#define KEPT_MANY (UINT64_C(1) << 18)

/* Where an effect is: the instruction of this body that has it, or calls what has it. */
struct site {
    const struct pdl_instruction *instruction;
    uint32_t block;
    struct pdl_point point;
    bool waits_later;
};

/* ---- one effect for all that are alike ------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t part)
{
    hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 31;
}

static bool same_place(const struct pdl_effect *a, const struct pdl_effect *b)
{
    if (a->place_count != b->place_count) {
        return false;
    }
    if (a->place_count == 0) {
        return a->line == b->line;
    }
    for (uint32_t i = 0; i < a->place_count; i++) {
        if (a->places[i]->line != b->places[i]->line || a->places[i]->file != b->places[i]->file) {
            return false;
        }
    }
    return true;
}

static uint64_t hash_of(const struct pdl_effect *effect, uint32_t decision)
{
    uint64_t hash = mix(effect->kind * 2u + effect->non_coherent, decision);
    for (uint32_t i = 0; i < effect->place_count; i++) {
        hash = mix(hash, effect->places[i]->line);
        hash = mix(hash, (uint64_t)(uintptr_t)effect->places[i]->file);
    }
    hash = mix(hash, effect->place_count > 0 ? effect->place_count : effect->line);
    if (effect->address.count > 0) {
        hash = mix(hash, effect->address.sources[0].index);
        hash = mix(hash, (uint32_t)effect->address.sources[0].offset);
    }
    return mix(hash, effect->states * 2u + effect->waits_later);
}

static bool same_effect(const struct pdl_effect *a, const struct pdl_effect *b)
{
    return a->kind == b->kind && a->non_coherent == b->non_coherent && a->states == b->states &&
           a->waits_later == b->waits_later && a->divergence == b->divergence &&
           a->address.count == b->address.count && a->address.untraced == b->address.untraced &&
           memcmp(a->address.sources, b->address.sources,
                  a->address.count * sizeof(a->address.sources[0])) == 0 &&
           same_place(a, b);
}

static void grow_slots(struct pdl_effects *effects)
{
    const uint32_t count = effects->slot_count == 0 ? 64 : effects->slot_count * 2;
    uint32_t *slots = pdl_take(count, sizeof(*slots));
    pdl_give_back(effects->slots);
    effects->slots = slots;
    effects->slot_count = count;
    for (uint32_t i = 0; i < effects->effect_count; i++) {
        uint64_t at = hash_of(&effects->effects[i], effects->decisions[i]);
        while (slots[at & (count - 1)] != 0) {
            at++;
        }
        slots[at & (count - 1)] = i + 1;
    }
}

static void add(struct collection *collection, const struct pdl_effect *effect, uint32_t decision)
{
    struct pdl_effects *effects = collection->effects;
    if (effects->effect_count >= effects->slot_count / 2) {
        grow_slots(effects);
    }
    uint32_t *slot;
    for (uint64_t at = hash_of(effect, decision);; at++) {
        slot = &effects->slots[at & (effects->slot_count - 1)];
        if (*slot == 0) {
            break;
        }
        struct pdl_effect *other = &effects->effects[*slot - 1];
        if (effects->decisions[*slot - 1] == decision && same_effect(other, effect)) {
            other->count += effect->count;
            return;
        }
    }
    if (effects->effect_count == collection->limit) {
        effects->cut = true;
        return;
    }
    PDL_RESERVE(effects->effects, (size_t)effects->effect_count + 1, effects->effect_capacity);
    PDL_RESERVE(effects->decisions, (size_t)effects->effect_count + 1, effects->decision_capacity);
    effects->effects[effects->effect_count] = *effect;
    effects->decisions[effects->effect_count] = decision;
    effects->effect_count++;
    *slot = effects->effect_count;
}

/* ---- what an instruction does ----------------------------------------------------------------------- */

/* Whether an address may be in global memory. */
static bool may_be_global(const struct pdl_value *address)
{
    const uint8_t global = (1u << PDL_SPACE_GLOBAL) | (1u << PDL_SPACE_GENERIC);
    return address->spaces == 0 || (address->spaces & global) != 0 || address->untraced;
}

/* Says which barrier does not order those who come to a point. */
static void name_barrier(struct collection *collection, const struct pdl_point *point,
                         struct pdl_effect *effect)
{
    if (point->missed == 0 || !(point->states & PDL_STATE_DECIDED)) {
        return;
    }
    const struct pdl_instruction *barrier =
        &collection->flow->body->instructions[point->missed - 1];
    uint32_t count;
    const pdl_inspect_place *const *places =
        pdl_places_chain(collection->module, collection->flow->body, barrier->place, &count);
    effect->why = point->why;
    effect->barrier_line = count > 0 ? places[count - 1]->line : barrier->line;
}

static void touch(struct collection *collection, const struct pdl_point *point)
{
    const uint8_t around = PDL_STATE_DECIDED | PDL_STATE_MBARRIER | PDL_STATE_BARRIER;
    if (point->decision != 0 && (point->states & around) != 0) {
        collection->effects->touched[point->decision - 1] = true;
    }
}

bool pdl_effects_in_own_table(const struct pdl_ptx_module *module, const struct pdl_value *address)
{
    bool own = address->count > 0 && !address->untraced;
    for (unsigned i = 0; i < address->count && own; i++) {
        const struct pdl_source *source = &address->sources[i];
        own = source->kind == PDL_SOURCE_VARIABLE &&
              source->index < module->by_name_space_capacity &&
              (module->space_of[source->index] & PDL_PTX_TABLE) != 0;
    }
    return own;
}

/* Whether an access needs what a lane of the same warp loaded, which is the one that waits: as its
 * address, or to be stored. It is known only behind that wait. */
static bool follows_leader(const struct pdl_flow *flow, const struct pdl_point *point,
                           const struct pdl_instruction *instruction)
{
    const struct pdl_decision *decision =
        point->decision != 0 ? &flow->decisions[point->decision - 1] : NULL;
    bool follows = false;
    if (decision == NULL || decision->divergence != PDL_DIVERGENCE_THREAD ||
        (decision->depends & (PDL_DEPENDS_WARP | PDL_DEPENDS_MEMORY)) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        const struct pdl_operand *operand = &flow->body->operands[instruction->first_operand + i];
        const struct pdl_value value = pdl_operand_value(flow->values, flow->body, operand);
        const bool result = operand->slot == 0 && !operand->memory;
        follows = follows || (!result && (value.depends & PDL_DEPENDS_LEADER) != 0);
    }
    return follows;
}

static void access(struct collection *collection, const struct site *site, uint8_t kind,
                   unsigned slot)
{
    const struct pdl_flow *flow = collection->flow;
    const struct pdl_instruction *instruction = site->instruction;
    const struct pdl_operand *operand = pdl_address_operand(flow->body, instruction, slot);
    /* A kernel that never waits gets no findings for its accesses. */
    const bool only_whether = flow->body->function->is_entry && !flow->waits;
    if (operand == NULL || (only_whether && collection->effects->touches)) {
        return;
    }
    struct pdl_effect effect = {
        .kind = kind,
        .states = site->point.states,
        .divergence = site->point.decision != 0
                          ? flow->decisions[site->point.decision - 1].divergence
                          : (uint8_t)PDL_DIVERGENCE_NONE,
        .non_coherent = kind == PDL_EFFECT_READ && instruction->opcode.non_coherent,
        .waits_later = site->waits_later,
        .copies = instruction->opcode.op == PDL_OP_COPY && !instruction->opcode.unknown,
        .address = pdl_operand_value(flow->values, flow->body, operand),
        .name = instruction->name,
        .line = instruction->line,
        .column = instruction->column,
        .count = 1,
        .phases = site->point.least,
    };
    if (follows_leader(flow, &site->point, instruction)) {
        effect.states = pdl_change_states(effect.states, PDL_STATE_DECIDED, PDL_STATE_BARRIER);
    }
    const bool any_space = instruction->opcode.space == PDL_SPACE_GENERIC && !effect.copies;
    const bool constant =
        (effect.address.spaces == 1u << PDL_SPACE_CONST && !effect.address.untraced &&
         !effect.copies) ||
        (effect.non_coherent && pdl_effects_in_own_table(collection->module, &effect.address));
    if (constant || (any_space && !may_be_global(&effect.address))) {
        return;
    }
    collection->effects->touches = true;
    if (only_whether) {
        return;
    }
    /* After the wait only what is non-coherent is of interest. */
    if (!(effect.states & PDL_STATE_NOT_WAITED) && !effect.non_coherent) {
        return;
    }
    effect.places =
        pdl_places_chain(collection->module, flow->body, instruction->place, &effect.place_count);
    name_barrier(collection, &site->point, &effect);
    touch(collection, &site->point);
    add(collection, &effect, site->point.decision);
}

static void mention(struct pdl_mention *mention, const struct pdl_instruction *instruction)
{
    if (mention->count++ == 0) {
        mention->instruction = instruction;
    }
}

static void wait(struct collection *collection, const struct site *site, bool in_loop)
{
    mention(&collection->effects->wait, site->instruction);
    if (in_loop) {
        mention(&collection->effects->wait_in_loop, site->instruction);
    }
}

/* `unwaited`: where the threads have not waited, they have not either when they trigger. */
static void trigger(struct collection *collection, const struct site *site, bool unwaited)
{
    struct pdl_effects *effects = collection->effects;
    mention(&effects->trigger, site->instruction);
    if (unwaited && (site->point.states & (PDL_STATE_UNWAITED | PDL_STATE_DECIDED))) {
        mention(&effects->trigger_before_wait, site->instruction);
    }
    if (unwaited && (site->point.states & PDL_STATE_DECIDED)) {
        touch(collection, &site->point);
    }
}

/* The states of a callee's effect, where it is called. */
static uint8_t states_at_call(const struct pdl_flow *flow, const struct pdl_effect *effect,
                              uint32_t block, uint8_t at_call)
{
    const uint8_t in = at_call & PDL_STATE_NOT_WAITED;
    uint8_t states = at_call & PDL_STATE_WAITED;
    if (in != 0) {
        const uint8_t of = pdl_flow_states_of_callee(flow, effect->states, block);
        states |= (of & PDL_STATE_UNWAITED) != 0 ? in : 0;
        states |= of & (uint8_t)~PDL_STATE_UNWAITED;
    }
    return states;
}

/* A call before the wait of what cannot be followed, or not to its end. */
static void mention_call(struct collection *collection, const struct site *site, uint8_t kind)
{
    struct pdl_effect effect = {
        .kind = kind,
        .states = site->point.states,
        .waits_later = site->waits_later,
        .name = site->instruction->callee,
        .line = site->instruction->line,
        .column = site->instruction->column,
        .count = 1,
    };
    if (!(effect.states & PDL_STATE_NOT_WAITED)) {
        return;
    }
    effect.places = pdl_places_chain(collection->module, collection->flow->body,
                                     site->instruction->place, &effect.place_count);
    add(collection, &effect, site->point.decision);
}

/* Whether a function's effect came through this very call before: it is recursive. */
static bool calls_again(const struct pdl_effect *effect, const pdl_inspect_place *const *around,
                        uint32_t count)
{
    bool again = count == 0 || effect->place_count >= PDL_CHAIN_MAX;
    for (uint32_t i = 0; i < effect->place_count && !again; i++) {
        again = effect->places[i]->line == around[0]->line &&
                effect->places[i]->file == around[0]->file;
    }
    return again;
}

/* Notes a call of what cannot be read. */
static void know_unknown(struct pdl_effects *effects, uint32_t name)
{
    if (!effects->unknown) {
        effects->unknown_name = name;
    }
    effects->unknown = true;
}

static void call(struct collection *collection, const struct site *site, bool in_loop)
{
    const struct pdl_flow *flow = collection->flow;
    const struct pdl_instruction *instruction = site->instruction;
    bool harmless;
    const struct pdl_summary *summary = pdl_flow_callee(collection->module, instruction, &harmless);
    if (summary == NULL) {
        if (harmless) {
            return;
        }
        know_unknown(collection->effects, instruction->callee);
        mention_call(collection, site, PDL_EFFECT_UNKNOWN_CALL);
        return;
    }
    if (summary->unknown) {
        know_unknown(collection->effects, summary->unknown_name);
    }
    collection->effects->barriers = collection->effects->barriers || summary->barriers;
    collection->effects->cut = collection->effects->cut || summary->cut;
    collection->effects->touches = collection->effects->touches || summary->touches;
    if (summary->waits) {
        wait(collection, site, in_loop);
    }
    if (summary->triggers) {
        trigger(collection, site, summary->triggers_unwaited);
    }
    if (summary->cut) {
        mention_call(collection, site, PDL_EFFECT_CUT_CALL);
    }
    if (instruction->called_is & PDL_CALLED_GUESSED) {
        mention_call(collection, site, PDL_EFFECT_GUESSED_CALL);
    }
    for (uint32_t i = 0; i < summary->effect_count; i++) {
        struct pdl_effect effect = summary->effects[i];
        struct pdl_point point = site->point;
        pdl_flow_pass_phases(flow, summary->effects[i].phases, &point);
        effect.states = states_at_call(flow, &summary->effects[i], site->block, point.states);
        if (effect.states == 0 ||
            (!(effect.states & PDL_STATE_NOT_WAITED) && !effect.non_coherent)) {
            continue;
        }
        if (effect.kind == PDL_EFFECT_READ || effect.kind == PDL_EFFECT_WRITE) {
            effect.address =
                pdl_value_at_call(&effect.address, flow->values, flow->body, instruction);
            if (!effect.copies && !may_be_global(&effect.address)) {
                continue;
            }
        }
        if (effect.why == PDL_BARRIER_NONE_PASSED) {
            name_barrier(collection, &point, &effect);
        }
        effect.waits_later = effect.waits_later || site->waits_later;
        effect.divergence = pdl_flow_divergence_at_call(flow, instruction, effect.divergence);
        if (!(effect.states & PDL_STATE_DECIDED & summary->effects[i].states) &&
            site->point.decision != 0) {
            effect.divergence = flow->decisions[site->point.decision - 1].divergence;
        }
        const struct pdl_point reached = {.states = effect.states,
                                          .decision = site->point.decision};
        if (effect.kind == PDL_EFFECT_READ || effect.kind == PDL_EFFECT_WRITE) {
            touch(collection, &reached);
        }
        if (flow->decision_of[site->block] != 0 &&
            !(summary->effects[i].states & PDL_STATE_UNWAITED)) {
            /* The branch in the function, and what is done behind it there. */
            collection->effects->touched[flow->decision_of[site->block] - 1] = true;
        }
        /* The places of the function, and the call behind them. */
        if (effect.place_count > 0 && instruction->place != PDL_NONE) {
            uint32_t count;
            const pdl_inspect_place *const *around =
                pdl_places_chain(collection->module, flow->body, instruction->place, &count);
            if (!calls_again(&effect, around, count)) {
                effect.places =
                    pdl_places_join(&collection->module->inspection->arena, effect.places,
                                    effect.place_count, around, count, &effect.place_count);
            }
        }
        add(collection, &effect, site->point.decision);
    }
}

static void visit(struct collection *collection, const struct site *site, bool in_loop)
{
    const struct pdl_opcode *opcode = &site->instruction->opcode;
    switch (opcode->op) {
    case PDL_OP_WAIT:
        wait(collection, site, in_loop);
        return;
    case PDL_OP_TRIGGER:
        trigger(collection, site, true);
        return;
    case PDL_OP_BARRIER_BLOCK:
        collection->effects->barriers = true;
        return;
    case PDL_OP_CALL:
        call(collection, site, in_loop);
        return;
    default:
        break;
    }
    if (opcode->reads) {
        access(collection, site, PDL_EFFECT_READ, opcode->read_slot);
    }
    if (opcode->writes) {
        access(collection, site, PDL_EFFECT_WRITE, opcode->write_slot);
    }
}

/* Whether an access in a block has a guard. */
static bool has_guards(const struct pdl_flow *flow, const struct pdl_block *block)
{
    bool found = false;
    for (uint32_t i = 0; i < block->count && !found; i++) {
        const struct pdl_instruction *at = &flow->body->instructions[block->first + i];
        found = at->guard != PDL_NONE && (at->opcode.reads || at->opcode.writes);
    }
    return found;
}

static void walk_block(struct collection *collection, uint32_t index)
{
    struct pdl_flow *flow = collection->flow;
    const struct pdl_block *block = &flow->cfg->blocks[index];
    struct site site = {.block = index, .point = flow->points[index]};
    const bool ends_with_call =
        block->count > 0 && pdl_flow_last(flow, index)->opcode.op == PDL_OP_CALL;
    /* What is known is looked at where an access has a guard. */
    struct pdl_tracked known;
    const bool guards = flow->conditions.count > 0 && has_guards(flow, block) &&
                        (site.point.states & PDL_STATE_NOT_WAITED) != 0;
    if (guards) {
        pdl_conditions_at(&flow->conditions, index, &known);
    }
    for (uint32_t i = 0; i < block->count; i++) {
        site.instruction = &flow->body->instructions[block->first + i];
        const uint8_t states = site.point.states;
        if (guards && !pdl_flow_executes(flow, site.instruction, &known)) {
            site.point.states &= PDL_STATE_WAITED;
        }
        site.waits_later = ends_with_call && i + 1 == block->count
                               ? pdl_flow_waits_behind(flow, index)
                               : pdl_flow_waits_later(flow, index);
        if (site.point.states != 0) {
            visit(collection, &site, block->in_loop);
        }
        site.point.states = states;
        if (guards) {
            pdl_conditions_step(&flow->conditions, block->first + i, 1, &known);
        }
        pdl_flow_step(flow, site.instruction, &site.point);
    }
    if (block->exits) {
        struct pdl_effects *effects = collection->effects;
        struct pdl_point point = pdl_flow_behind(flow, index);
        const uint32_t edge = block->successor_count;
        if ((point.states & PDL_STATE_NOT_WAITED) && !pdl_flow_may_exit(flow, index)) {
            point.states &= PDL_STATE_WAITED;
        }
        /* A guarded ret is a decision too. */
        const uint32_t decision = pdl_flow_decision_at(flow, index, edge);
        if (decision != 0 && (point.states & PDL_STATE_NOT_WAITED)) {
            point.decision = point.decision == 0 ? decision : point.decision;
            pdl_flow_decide(flow, decision, &point);
        }
        effects->out |= point.states;
        effects->triggers_out |= point.states != 0 ? point.triggers : 0;
        if (point.decision > effects->out_decision) {
            effects->out_decision = point.decision;
        }
    }
}

void pdl_effects_collect(struct pdl_effects *effects, struct pdl_ptx_module *module,
                         struct pdl_flow *flow, uint32_t limit)
{
    struct collection collection = {effects, module, flow, limit};
    const struct pdl_mention none = {0};
    effects->effect_count = 0;
    if (effects->slot_count > 0) {
        memset(effects->slots, 0, effects->slot_count * sizeof(*effects->slots));
    }
    effects->trigger_before_wait = effects->trigger = none;
    effects->wait = effects->wait_in_loop = none;
    effects->out = effects->triggers_out = 0;
    effects->out_decision = 0;
    effects->barriers = effects->unknown = effects->cut = effects->touches = false;
    effects->unknown_name = PDL_NONE;
    PDL_RESERVE(effects->touched, (size_t)flow->decision_count + 1, effects->touched_capacity);
    memset(effects->touched, 0, ((size_t)flow->decision_count + 1) * sizeof(*effects->touched));
    for (uint32_t i = 0; i < flow->cfg->block_count; i++) {
        if (flow->points[i].states != 0) {
            walk_block(&collection, i);
        }
    }
}

/* ---- summaries ------------------------------------------------------------------------------------- */

/* What a function returns: the values that were stored to its result. */
static struct pdl_value result_of(const struct pdl_flow *flow)
{
    struct pdl_value result = {0};
    for (uint32_t i = 0; i < flow->body->symbol_count; i++) {
        if (flow->body->symbols[i].kind == PDL_SYMBOL_RESULT) {
            (void)pdl_value_join(&result, &flow->values->values[i]);
        }
    }
    return result;
}

uint32_t pdl_summary_limit(const struct pdl_ptx_module *module)
{
    const uint64_t kept = module->kept_effects;
    return kept < KEPT_MANY       ? PDL_SUMMARY_EFFECTS
           : kept < 2 * KEPT_MANY ? PDL_SUMMARY_EFFECTS / 16
                                  : 1;
}

struct pdl_summary *pdl_effects_summary(const struct pdl_effects *effects,
                                        struct pdl_ptx_module *module, struct pdl_flow *flow,
                                        struct pdl_summary *before)
{
    struct pdl_summary *summary =
        before != NULL ? before : pdl_arena_alloc(&module->arena, sizeof(*summary));
    const uint32_t room = summary->effect_count;
    *summary = (struct pdl_summary){.effects = summary->effects};
    if (room < effects->effect_count) {
        module->kept_effects += effects->effect_count;
        summary->effects =
            pdl_arena_alloc(&module->arena, effects->effect_count * sizeof(*summary->effects));
    }
    if (effects->effect_count > 0) {
        memcpy(summary->effects, effects->effects,
               effects->effect_count * sizeof(*summary->effects));
    }
    summary->effect_count = effects->effect_count;
    summary->out = effects->out;
    summary->divergence = effects->out_decision != 0
                              ? flow->decisions[effects->out_decision - 1].divergence
                              : (uint8_t)PDL_DIVERGENCE_NONE;
    summary->depends = effects->out_decision != 0
                           ? flow->decisions[effects->out_decision - 1].depends
                           : (uint8_t)0;
    pdl_flow_summarize_barriers(flow, summary);
    pdl_mbarriers_summarize(&flow->mbarriers, flow, &module->arena, summary);
    summary->waits = flow->waits;
    summary->sure = flow->sure;
    summary->relaxed = flow->relaxed;
    summary->triggers = (effects->triggers_out & PDL_TRIGGERED) || effects->trigger.count > 0;
    summary->triggers_always = effects->triggers_out == PDL_TRIGGERED;
    summary->triggers_unwaited = effects->trigger_before_wait.count > 0;
    summary->barriers = effects->barriers;
    for (uint32_t i = 0; i < flow->body->instruction_count; i++) {
        summary->exits = summary->exits || flow->body->instructions[i].opcode.op == PDL_OP_EXIT;
    }
    summary->unknown = effects->unknown;
    summary->cut = effects->cut;
    summary->touches = effects->touches;
    summary->unknown_name = effects->unknown_name;
    summary->result = result_of(flow);
    return summary;
}

bool pdl_summary_same(const struct pdl_summary *a, const struct pdl_summary *b)
{
    return a->effect_count == b->effect_count && a->out == b->out && a->waits == b->waits &&
           a->triggers == b->triggers && a->triggers_always == b->triggers_always &&
           a->barriers == b->barriers && a->phases == b->phases && a->arrivals == b->arrivals &&
           a->ahead == b->ahead && a->need == b->need && a->meets == b->meets &&
           a->use_count == b->use_count && a->sure == b->sure && a->relaxed == b->relaxed &&
           a->unknown == b->unknown && a->cut == b->cut && a->touches == b->touches &&
           a->result.count == b->result.count && a->result.spaces == b->result.spaces &&
           a->result.untraced == b->result.untraced;
}
