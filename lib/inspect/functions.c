/* SPDX-License-Identifier: MIT */
/* Device functions: what each does. */
#include "inspect/analysis.h"

/* Rounds until the summaries of functions that call each other agree. */
#define ROUNDS_MAX 8
/* Functions in functions that are put in place of their calls. */
#define SPLICES_MAX 4

/* ---- one function --------------------------------------------------------------------------------- */

/* Finds the summaries of what a body calls. */
static void resolve_calls(struct analysis *analysis)
{
    struct pdl_ptx_module *module = &analysis->module;
    struct pdl_body *body = &analysis->work.body;
    for (uint32_t i = 0; i < body->instruction_count && body->function->callee_count > 0; i++) {
        struct pdl_instruction *call = &body->instructions[i];
        if (call->opcode.op == PDL_OP_CALL && call->callee == PDL_NONE) {
            pdl_targets_resolve(&analysis->targets, module, body, &analysis->work.values, call);
        } else if (call->opcode.op == PDL_OP_CALL) {
            const struct pdl_ptx_function *callee = pdl_ptx_function_find(module, call->callee);
            call->called = callee != NULL ? callee->summary : NULL;
        }
    }
}

/* Puts small functions that decide who waits in place of their calls. */
static void splice_calls(struct analysis *analysis)
{
    struct pdl_work *work = &analysis->work;
    for (unsigned i = 0; i < SPLICES_MAX && work->body.function->callee_count > 0 &&
                         pdl_splice(&analysis->splice, &analysis->module, &work->body);
         i++) {
        pdl_values_find(&work->values, &analysis->module, &work->body);
        resolve_calls(analysis);
    }
}

void pdl_function_analyse(struct analysis *analysis, const struct pdl_ptx_function *function)
{
    struct pdl_ptx_module *module = &analysis->module;
    struct pdl_work *work = &analysis->work;
    const uint32_t limit = function->is_entry ? UINT32_MAX : pdl_summary_limit(module);
    pdl_ptx_body_read(module, function, &work->body);
    pdl_inspection_spend(module->inspection, work->body.instruction_count);
    pdl_ptx_labels_resolve(module, &work->body);
    pdl_values_find(&work->values, module, &work->body);
    resolve_calls(analysis);
    splice_calls(analysis);
    pdl_cfg_build(&work->cfg, module, &work->body);
    pdl_flow_run(&work->flow, module, &work->body, &work->cfg, &work->values);
    pdl_effects_collect(&work->effects, module, &work->flow, limit);
    pdl_allows_note(&analysis->allows, module, &work->body);
}

/* A summary of the function that was just analysed: over `before` or, where that is NULL, a new one. */
static struct pdl_summary *summarize(struct analysis *analysis, struct pdl_summary *before)
{
    struct pdl_ptx_module *module = &analysis->module;
    struct pdl_work *work = &analysis->work;
    pdl_constants_filter(&work->effects, module, &work->flow, NULL);
    return pdl_effects_summary(&work->effects, module, &work->flow, before);
}

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
    pdl_function_analyse(analysis, function);
    function->summary = summarize(analysis, function->summary);
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
