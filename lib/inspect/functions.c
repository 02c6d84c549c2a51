/* SPDX-License-Identifier: MIT */
/* Device functions: what each does, for any arguments and for constants that are passed. */
#include "inspect/analysis.h"

/* Rounds until the summaries of functions that call each other agree. */
#define ROUNDS_MAX 8
/* Functions in functions that are put in place of their calls. */
#define SPLICES_MAX 4
/* Sets of constants that one function is analysed for. */
#define SPECIALS_MAX 8
/* Code that is analysed for constants: so much, and as much as there is. */
#define SPECIAL_BYTES (UINT64_C(1) << 16)

/* What a function does for some constant arguments. */
struct pdl_special {
    struct pdl_special *next;
    struct pdl_arguments arguments;
    const struct pdl_summary *summary; /* NULL while it is made */
};

/* What is called with constants is analysed while its caller is: PDL_SPECIAL_DEPTH deep. */
/* NOLINTBEGIN(misc-no-recursion) */

/* ---- one function --------------------------------------------------------------------------------- */

static void make_special(struct analysis *analysis, struct pdl_ptx_function *function,
                         const struct pdl_arguments *arguments, unsigned depth,
                         const struct pdl_summary **found);

/* Finds the summaries of what a direct call calls. */
static void resolve_direct(struct analysis *analysis, struct pdl_instruction *call, unsigned depth)
{
    struct pdl_ptx_module *module = &analysis->module;
    const struct pdl_work *work = &analysis->work[depth];
    struct pdl_ptx_function *callee = pdl_ptx_function_find(module, call->callee);
    struct pdl_arguments arguments;
    if (callee->summary->parameters == 0 || callee->in_group || depth == PDL_SPECIAL_DEPTH) {
        return;
    }
    pdl_folding_arguments(&work->folding, module, &work->body, &work->values, call,
                          callee->summary->parameters, &arguments);
    if (arguments.count > 0) {
        make_special(analysis, callee, &arguments, depth + 1, &call->called);
    }
}

/* Finds the summaries of what a body calls. */
static void resolve_calls(struct analysis *analysis, const struct pdl_arguments *arguments,
                          unsigned depth)
{
    struct pdl_ptx_module *module = &analysis->module;
    struct pdl_work *work = &analysis->work[depth];
    struct pdl_body *body = &work->body;
    bool wanted = arguments != NULL;
    if (body->function->callee_count == 0 && !wanted) {
        return;
    }
    for (uint32_t i = 0; i < body->instruction_count; i++) {
        struct pdl_instruction *call = &body->instructions[i];
        if (call->opcode.op != PDL_OP_CALL) {
            continue;
        }
        const struct pdl_ptx_function *callee =
            call->callee != PDL_NONE ? pdl_ptx_function_find(module, call->callee) : NULL;
        call->called = callee != NULL ? callee->summary : NULL;
        wanted = wanted || call->callee == PDL_NONE ||
                 (call->called != NULL && call->called->parameters != 0);
    }
    if (!wanted) {
        return;
    }
    pdl_folding_find(&work->folding, module, body, &work->values, arguments);
    pdl_folding_apply(&work->folding, module, body);
    for (uint32_t i = 0; i < body->instruction_count; i++) {
        struct pdl_instruction *call = &body->instructions[i];
        if (call->opcode.op == PDL_OP_CALL && call->callee == PDL_NONE) {
            pdl_targets_resolve(&analysis->targets, module, body, &work->values, &work->folding,
                                call);
        } else if (call->opcode.op == PDL_OP_CALL && call->called != NULL) {
            resolve_direct(analysis, call, depth);
        }
    }
}

/* Puts small functions that decide who waits in place of their calls. */
static void splice_calls(struct analysis *analysis)
{
    struct pdl_work *work = &analysis->work[0];
    for (unsigned i = 0; i < SPLICES_MAX && work->body.function->callee_count > 0 &&
                         pdl_splice(&analysis->splice, &analysis->module, &work->body);
         i++) {
        pdl_values_find(&work->values, &analysis->module, &work->body);
        resolve_calls(analysis, NULL, 0);
    }
}

void pdl_function_analyse(struct analysis *analysis, const struct pdl_ptx_function *function,
                          const struct pdl_arguments *arguments, unsigned depth)
{
    struct pdl_ptx_module *module = &analysis->module;
    struct pdl_work *work = &analysis->work[depth];
    const uint32_t limit = function->is_entry ? UINT32_MAX : pdl_summary_limit(module);
    pdl_ptx_body_read(module, function, &work->body);
    pdl_inspection_spend(module->inspection, work->body.instruction_count);
    pdl_ptx_labels_resolve(module, &work->body);
    pdl_values_find(&work->values, module, &work->body);
    resolve_calls(analysis, arguments, depth);
    if (arguments == NULL) {
        splice_calls(analysis);
    }
    pdl_cfg_build(&work->cfg, module, &work->body);
    work->flow.special = arguments != NULL;
    pdl_flow_run(&work->flow, module, &work->body, &work->cfg, &work->values);
    pdl_effects_collect(&work->effects, module, &work->flow, limit);
    if (arguments == NULL) {
        pdl_allows_note(&analysis->allows, module, &work->body);
    }
}

/* The parameters that decide what the function does that was just analysed: those that its branches
 * test, outside of loops unless they decide who waits, and those that it passes to such functions. */
static uint64_t find_parameters(struct pdl_work *work)
{
    const struct pdl_body *body = &work->body;
    const struct pdl_flow *flow = &work->flow;
    const struct pdl_effects *effects = &work->effects;
    uint64_t mask = 0;
    if (body->function->parameter_count == 0 ||
        (!flow->waits && effects->effect_count == 0 && !effects->unknown &&
         effects->trigger.count == 0)) {
        return 0;
    }
    pdl_folding_start(&work->folding, body);
    for (uint32_t i = 0; i < work->cfg.block_count; i++) {
        const struct pdl_block *block = &work->cfg.blocks[i];
        const struct pdl_instruction *last = pdl_flow_last(flow, i);
        if (block->branch != PDL_NONE && (!block->in_loop || flow->decision_of[i] != 0)) {
            const struct pdl_instruction *branch = &body->instructions[block->branch];
            const struct pdl_operand *index =
                branch->opcode.op == PDL_OP_BRANCH_TABLE && branch->operand_count > 0
                    ? &body->operands[branch->first_operand]
                    : NULL;
            if (branch->guard != PDL_NONE) {
                mask |= pdl_folding_parameters(&work->folding, body, &work->values, branch->guard);
            }
            if (index != NULL && index->kind == PDL_OPERAND_SYMBOL) {
                mask |= pdl_folding_parameters(&work->folding, body, &work->values, index->symbol);
            }
        }
        if (last != NULL && last->opcode.op == PDL_OP_CALL && last->callee == PDL_NONE &&
            last->target != PDL_NONE) {
            mask |= pdl_folding_parameters(&work->folding, body, &work->values, last->target);
        } else if (last != NULL && last->opcode.op == PDL_OP_CALL && last->called != NULL) {
            mask |= pdl_folding_passed(&work->folding, body, &work->values, last,
                                       last->called->parameters);
        }
    }
    return mask;
}

/* A summary of the function that was just analysed: over `before` or, where that is NULL, a new one. */
static struct pdl_summary *summarize(struct analysis *analysis, unsigned depth,
                                     struct pdl_summary *before)
{
    struct pdl_ptx_module *module = &analysis->module;
    struct pdl_work *work = &analysis->work[depth];
    pdl_constants_filter(&work->effects, module, &work->flow, NULL);
    const uint64_t parameters = depth == 0 ? find_parameters(work) : 0;
    struct pdl_summary *summary = pdl_effects_summary(&work->effects, module, &work->flow, before);
    summary->parameters = parameters;
    return summary;
}

/* Nobody who returns has waited: a branch around a wait that is never taken decided nothing. */
static void never_waited(struct pdl_summary *summary)
{
    summary->waits = false;
    summary->out = (summary->out & PDL_STATE_CALLED) != 0 ? summary->out : PDL_STATE_UNWAITED;
    for (uint32_t i = 0; i < summary->effect_count; i++) {
        struct pdl_effect *effect = &summary->effects[i];
        if ((effect->states & PDL_STATE_NOT_WAITED) == PDL_STATE_DECIDED) {
            effect->states = (uint8_t)((effect->states & ~PDL_STATE_DECIDED) | PDL_STATE_UNWAITED);
        }
    }
}

/* Finds what a function does for constant arguments. *found stays what it was if there are too many of
 * them, or the function passes them to itself. */
static void make_special(struct analysis *analysis, struct pdl_ptx_function *function,
                         const struct pdl_arguments *arguments, unsigned depth,
                         const struct pdl_summary **found)
{
    struct pdl_ptx_module *module = &analysis->module;
    unsigned count = 0;
    for (const struct pdl_special *at = function->specials; at != NULL; at = at->next) {
        if (pdl_arguments_same(&at->arguments, arguments)) {
            *found = at->summary != NULL ? at->summary : *found;
            return;
        }
        count++;
    }
    const uint64_t bytes = function->body_end - function->body;
    if (count == SPECIALS_MAX ||
        analysis->special_bytes + bytes > SPECIAL_BYTES + (uint64_t)(module->end - module->text)) {
        return;
    }
    struct pdl_special *special = pdl_arena_alloc(&module->arena, sizeof(*special));
    special->arguments = *arguments;
    special->next = function->specials;
    function->specials = special;
    analysis->special_bytes += bytes;
    pdl_function_analyse(analysis, function, &special->arguments, depth);
    struct pdl_summary *summary = summarize(analysis, depth, NULL);
    if (!(summary->out & PDL_STATE_WAITED) && summary->out != 0) {
        never_waited(summary);
    }
    *found = special->summary = summary;
}

/* NOLINTEND(misc-no-recursion) */

/* ---- the order of functions ----------------------------------------------------------------------- */

/* What calls and is called: the functions, and behind them the prototypes of indirect calls, which
 * stand for all functions that have them and whose address is taken. */
struct calls {
    const struct pdl_ptx_module *module;
    uint32_t count;
};

static uint32_t call_count(const struct calls *calls, uint32_t node)
{
    const struct pdl_ptx_module *module = calls->module;
    return node < module->function_count
               ? module->functions[node].callee_count
               : module->pointers.prototypes[node - module->function_count].count;
}

/* The `call`-th that a function or prototype calls; PDL_NONE if that has no body here. */
static uint32_t called(const struct calls *calls, uint32_t node, uint32_t call)
{
    const struct pdl_ptx_module *module = calls->module;
    const struct pdl_ptx_function *callee;
    if (node < module->function_count) {
        const uint32_t name = module->callees[module->functions[node].first_callee + call];
        if (name & PDL_PTX_INDIRECT) {
            return module->function_count + (name & ~PDL_PTX_INDIRECT);
        }
        callee = pdl_ptx_function_find(module, name);
    } else {
        const struct pdl_ptx_pointers *pointers = &module->pointers;
        const uint32_t first = pointers->prototypes[node - module->function_count].first;
        callee = &module->functions[pointers->by_prototype[first + call]];
    }
    return callee != NULL && callee->has_body && !callee->is_entry
               ? (uint32_t)(callee - module->functions)
               : PDL_NONE;
}

/* Those that call each other form groups (strongly connected components of the calls): groups[] holds
 * them from callees to callers, ends[i] is 1 at the last of a group. */
struct order {
    uint32_t *groups;
    uint8_t *ends;
    uint32_t count;
};

static struct order find_order(const struct calls *calls)
{
    const struct pdl_ptx_module *module = calls->module;
    const size_t count = calls->count;
    struct order order = {.groups = pdl_take(count + 1, sizeof(*order.groups)),
                          .ends = pdl_take(count + 1, sizeof(*order.ends))};
    uint32_t *memory = pdl_take(count * 5 + 1, sizeof(*memory));
    uint32_t *number = memory;      /* from 1; 0: not seen */
    uint32_t *low = memory + count; /* 0 once its group is known */
    uint32_t *call = memory + 2 * count;
    uint32_t *path = memory + 3 * count;
    uint32_t *stack = memory + 4 * count;
    uint32_t numbers = 0, stacked = 0;
    for (uint32_t root = 0; root < module->function_count; root++) {
        uint32_t depth = 0;
        if (number[root] == 0 && module->functions[root].has_body &&
            !module->functions[root].is_entry) {
            path[depth++] = root;
        }
        while (depth > 0) {
            const uint32_t at = path[depth - 1];
            if (number[at] == 0) {
                number[at] = low[at] = ++numbers;
                stack[stacked++] = at;
            }
            if (call[at] < call_count(calls, at)) {
                const uint32_t to = called(calls, at, call[at]++);
                if (to != PDL_NONE && number[to] == 0) {
                    path[depth++] = to;
                } else if (to != PDL_NONE && low[to] != 0 && number[to] < low[at]) {
                    low[at] = number[to];
                }
                continue;
            }
            depth--;
            if (depth > 0 && low[at] < low[path[depth - 1]]) {
                low[path[depth - 1]] = low[at];
            }
            if (low[at] == number[at]) {
                uint32_t member;
                do {
                    member = stack[--stacked];
                    low[member] = 0;
                    order.groups[order.count++] = member;
                } while (member != at);
                order.ends[order.count - 1] = 1;
            }
        }
    }
    pdl_give_back(memory);
    return order;
}

static bool calls_itself(const struct calls *calls, uint32_t index)
{
    for (uint32_t i = 0; i < call_count(calls, index); i++) {
        if (called(calls, index, i) == index) {
            return true;
        }
    }
    return false;
}

/* ---- groups --------------------------------------------------------------------------------------- */

/* Analyses one function and keeps its summary; true if it is another than before. */
static bool summarize_one(struct analysis *analysis, uint32_t index)
{
    struct pdl_ptx_function *function = &analysis->module.functions[index];
    const bool first = function->summary == NULL;
    struct pdl_summary before = {0};
    if (!first) {
        before = *function->summary;
    }
    pdl_function_analyse(analysis, function, NULL, 0);
    function->summary = summarize(analysis, 0, function->summary);
    return first || !pdl_summary_same(&before, function->summary);
}

/* A group of functions that call each other starts from "never returns", and goes on until nothing
 * changes. One that goes on too long is taken for code that cannot be read. */
static void summarize_group(struct analysis *analysis, const struct calls *calls,
                            const uint32_t *group, uint32_t count)
{
    struct pdl_ptx_module *module = &analysis->module;
    struct pdl_ptx_function *functions = module->functions;
    bool changed = true;
    analysis->targets.round++;
    if (count == 1 && (group[0] >= module->function_count || !calls_itself(calls, group[0]))) {
        if (group[0] < module->function_count) {
            (void)summarize_one(analysis, group[0]);
        }
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (group[i] < module->function_count) {
            functions[group[i]].in_group = true;
            functions[group[i]].summary =
                pdl_arena_alloc(&module->arena, sizeof(struct pdl_summary));
        }
    }
    for (unsigned round = 0; changed && round < ROUNDS_MAX; round++) {
        changed = false;
        analysis->targets.round++;
        for (uint32_t i = 0; i < count; i++) {
            if (group[i] < module->function_count && summarize_one(analysis, group[i])) {
                changed = true;
            }
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (group[i] < module->function_count) {
            functions[group[i]].in_group = false;
            functions[group[i]].summary = changed ? NULL : functions[group[i]].summary;
        }
    }
    analysis->targets.round++;
}

void pdl_functions_summarize(struct analysis *analysis)
{
    const struct pdl_ptx_module *module = &analysis->module;
    const struct calls calls = {module, module->function_count + module->pointers.prototype_count};
    const struct order order = find_order(&calls);
    for (uint32_t i = 0, first = 0; i < order.count; i++) {
        if (order.ends[i]) {
            summarize_group(analysis, &calls, &order.groups[first], i + 1 - first);
            first = i + 1;
        }
    }
}
