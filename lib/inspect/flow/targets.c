/* SPDX-License-Identifier: MIT */
#include "inspect/flow/targets.h"

#include <string.h>

#include "code/system.h"
#include "inspect/flow/effects.h"

/* What all functions of a prototype do whose address is taken. */
struct pdl_joined {
    const struct pdl_summary *summary; /* NULL: there is no such function */
    uint32_t round;                    /* that it was joined in, + 1 */
    bool is_final;
};

/* ---- joining -------------------------------------------------------------------------------------- */

struct join {
    struct pdl_ptx_module *module;
    struct pdl_summary sum;
    const struct pdl_summary *only; /* if there was but one */
    uint32_t count, capacity;
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

static void join_function(struct join *join, const struct pdl_ptx_function *function)
{
    static const struct pdl_summary harmless = {.out = PDL_STATE_UNWAITED,
                                                .unknown_name = PDL_NONE};
    if (function == NULL || function->is_entry) {
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
        *kept = unknown;
        join_summary(join, kept);
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
    *summary = join->sum;
    return summary;
}

/* Joins all functions of a prototype whose address is taken: once a round, or once if none of them changes any more. */
static void join_prototype(struct pdl_targets *targets, struct join *join, uint32_t number)
{
    const struct pdl_ptx_module *module = join->module;
    PDL_RESERVE(targets->joined, (size_t)number + 1, targets->joined_capacity);
    struct pdl_joined *joined = &targets->joined[number];
    if (!joined->is_final && joined->round != targets->round + 1) {
        const struct pdl_prototype *prototype = &module->pointers.prototypes[number];
        struct join inner = {.module = join->module, .is_final = true};
        for (uint32_t i = 0; i < prototype->count; i++) {
            join_function(&inner,
                          &module->functions[module->pointers.by_prototype[prototype->first + i]]);
        }
        joined->summary = finish(&inner);
        joined->is_final = inner.is_final;
        joined->round = targets->round + 1;
    }
    if (joined->summary != NULL) {
        join_summary(join, joined->summary);
    }
}

/* ---- the call ------------------------------------------------------------------------------------- */

/* Joins the functions that a call names, if it names them. Returns the prototype that it names, or PDL_NONE. */
static uint32_t join_named(struct join *join, const struct pdl_body *body,
                           const struct pdl_instruction *call)
{
    uint32_t prototype = PDL_NONE;
    for (uint32_t i = 0; i < call->operand_count; i++) {
        const struct pdl_operand *operand = &body->operands[call->first_operand + i];
        if (operand->kind != PDL_OPERAND_SYMBOL) {
            continue;
        }
        const struct pdl_symbol *symbol = &body->symbols[operand->symbol];
        if (symbol->kind == PDL_SYMBOL_PROTOTYPE && symbol->index > 0) {
            prototype = symbol->index - 1u;
        } else if (symbol->kind == PDL_SYMBOL_TARGETS && symbol->index > 0) {
            const struct pdl_target_list *list = &body->lists[symbol->index - 1u];
            for (uint32_t j = 0; j < list->count; j++) {
                join_function(join, pdl_ptx_function_find(join->module,
                                                          body->targets[list->first + j].symbol));
            }
        }
    }
    return prototype;
}

/* The function whose address a register is set to, once; or NULL. */
static const struct pdl_ptx_function *named_by(const struct pdl_ptx_module *module,
                                               const struct pdl_body *body,
                                               const struct pdl_values *values, uint32_t symbol)
{
    const struct pdl_instruction *move = pdl_values_definition(values, body, symbol);
    const struct pdl_operand *from =
        move != NULL && move->operand_count == 2 && move->guard == PDL_NONE &&
                pdl_name_begins(&module->names.names[move->name], "mov.")
            ? &body->operands[move->first_operand + 1]
            : NULL;
    return from != NULL && from->kind == PDL_OPERAND_SYMBOL && from->value == 0 &&
                   body->symbols[from->symbol].kind == PDL_SYMBOL_FUNCTION
               ? pdl_ptx_function_find(module, body->symbols[from->symbol].name)
               : NULL;
}

/* A pointer that is loaded from a variable whose initializer has addresses is what the module says. */
static void forget_load(const struct pdl_ptx_module *module, struct pdl_body *body,
                        const struct pdl_values *values, uint32_t symbol)
{
    const struct pdl_instruction *load = pdl_values_definition(values, body, symbol);
    const struct pdl_operand *from =
        load != NULL && load->opcode.op == PDL_OP_LOAD ? pdl_address_operand(body, load, 1) : NULL;
    const struct pdl_value address =
        from != NULL ? pdl_operand_value(values, body, from) : (struct pdl_value){.count = 0};
    bool known = address.count > 0 && !address.untraced;
    for (unsigned i = 0; i < address.count && known; i++) {
        const struct pdl_source *source = &address.sources[i];
        known = source->kind == PDL_SOURCE_VARIABLE &&
                source->index < module->by_name_space_capacity &&
                (module->space_of[source->index] & PDL_PTX_ADDRESSES) != 0;
    }
    if (known) {
        body->instructions[load - body->instructions].opcode.reads = false;
    }
}

void pdl_targets_resolve(struct pdl_targets *targets, struct pdl_ptx_module *module,
                         struct pdl_body *body, const struct pdl_values *values,
                         struct pdl_instruction *call)
{
    struct join join = {.module = module, .is_final = true};
    const uint32_t prototype = join_named(&join, body, call);
    if (join.count == 0 && call->target != PDL_NONE &&
        body->symbols[call->target].kind == PDL_SYMBOL_REGISTER) {
        join_function(&join, named_by(module, body, values, call->target));
        forget_load(module, body, values, call->target);
    }
    if (join.count == 0) {
        if (prototype != PDL_NONE) {
            join_prototype(targets, &join, prototype);
        }
        call->called_is |= PDL_CALLED_GUESSED;
    }
    call->called = finish(&join);
    if (call->called != NULL && call->called->unknown) {
        call->called_is |= PDL_CALLED_GUESSED;
    }
}
