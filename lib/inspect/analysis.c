/* SPDX-License-Identifier: MIT */
/* One PTX text: its functions from callees to callers, then its kernels. */
#include <stdlib.h>
#include <string.h>

#include "code/info.h"
#include "inspect/image.h"
#include "inspect/ptx/labels.h"
#include "inspect/ptx/places.h"
#include "inspect/rules/rules.h"
#include "inspect/rules/source.h"

/* Rounds until the summaries of functions that call each other agree. */
#define ROUNDS_MAX 8
/* More functions than this that call each other are not analysed. */
#define GROUP_MAX 256

/* Everything that is used again from one function to the next. */
struct analysis {
    struct pdl_ptx_module module;
    struct pdl_body body;
    struct pdl_cfg cfg;
    struct pdl_values values;
    struct pdl_flow flow;
    struct pdl_effects effects;
    struct pdl_allows allows;
    struct pdl_source_file source;
};

static pdl_status analyse(struct analysis *analysis, const struct pdl_ptx_function *function)
{
    struct pdl_ptx_module *module = &analysis->module;
    const uint32_t limit = function->is_entry ? UINT32_MAX : PDL_SUMMARY_EFFECTS;
    pdl_status status = pdl_ptx_body_read(module, function, &analysis->body);
    if (status == PDL_SUCCESS) {
        status = pdl_ptx_labels_resolve(module, &analysis->body);
    }
    if (status == PDL_SUCCESS) {
        status = pdl_cfg_build(&analysis->cfg, module, &analysis->body);
    }
    if (status == PDL_SUCCESS) {
        status = pdl_values_find(&analysis->values, module, &analysis->body);
    }
    if (status == PDL_SUCCESS) {
        status = pdl_flow_run(&analysis->flow, module, &analysis->body, &analysis->cfg,
                              &analysis->values);
    }
    if (status == PDL_SUCCESS) {
        status = pdl_effects_collect(&analysis->effects, module, &analysis->flow, limit);
    }
    if (status == PDL_SUCCESS) {
        status = pdl_allows_note(&analysis->allows, module, &analysis->body);
    }
    return status;
}

/* ---- device functions ------------------------------------------------------------------------- */

/* The functions that call each other form groups (strongly connected components of the calls):
 * groups[] holds them from callees to callers, ends[i] is 1 at the last of a group. */
struct order {
    uint32_t *groups;
    uint8_t *ends;
    uint32_t count;
};

static uint32_t callee_index(const struct pdl_ptx_module *module,
                             const struct pdl_ptx_function *function, uint32_t call)
{
    const struct pdl_ptx_function *callee =
        pdl_ptx_function_find(module, module->callees[function->first_callee + call]);
    return callee != NULL && callee->has_body && !callee->is_entry
               ? (uint32_t)(callee - module->functions)
               : PDL_NONE;
}

static bool find_order(const struct pdl_ptx_module *module, struct order *order)
{
    const size_t count = module->function_count;
    uint32_t *memory = calloc(count * 5 + 1, sizeof(*memory));
    order->groups = calloc(count + 1, sizeof(*order->groups));
    order->ends = calloc(count + 1, sizeof(*order->ends));
    if (memory == NULL || order->groups == NULL || order->ends == NULL) {
        free(memory);
        return false;
    }
    uint32_t *number = memory;      /* from 1; 0: not seen */
    uint32_t *low = memory + count; /* 0 once its group is known */
    uint32_t *call = memory + 2 * count;
    uint32_t *path = memory + 3 * count;
    uint32_t *stack = memory + 4 * count;
    uint32_t numbers = 0, stacked = 0;
    for (uint32_t root = 0; root < count; root++) {
        uint32_t depth = 0;
        if (number[root] == 0 && module->functions[root].has_body &&
            !module->functions[root].is_entry) {
            path[depth++] = root;
        }
        while (depth > 0) {
            const uint32_t at = path[depth - 1];
            const struct pdl_ptx_function *function = &module->functions[at];
            if (number[at] == 0) {
                number[at] = low[at] = ++numbers;
                stack[stacked++] = at;
            }
            if (call[at] < function->callee_count) {
                const uint32_t to = callee_index(module, function, call[at]++);
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
                    order->groups[order->count++] = member;
                } while (member != at);
                order->ends[order->count - 1] = 1;
            }
        }
    }
    free(memory);
    return true;
}

static bool calls_itself(const struct pdl_ptx_module *module, uint32_t index)
{
    const struct pdl_ptx_function *function = &module->functions[index];
    for (uint32_t i = 0; i < function->callee_count; i++) {
        if (callee_index(module, function, i) == index) {
            return true;
        }
    }
    return false;
}

/* Analyses one function and keeps its summary; *changed tells whether it is another than before. */
static pdl_status summarize(struct analysis *analysis, uint32_t index, bool *changed)
{
    struct pdl_ptx_module *module = &analysis->module;
    struct pdl_ptx_function *function = &module->functions[index];
    pdl_status status = analyse(analysis, function);
    if (status == PDL_SUCCESS) {
        status = pdl_constants_filter(&analysis->effects, module, &analysis->flow, NULL);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    struct pdl_summary *summary = pdl_effects_summary(&analysis->effects, module, &analysis->flow);
    if (summary == NULL) {
        return pdl_ptx_no_memory();
    }
    *changed = function->summary == NULL || !pdl_summary_same(function->summary, summary);
    function->summary = summary;
    return PDL_SUCCESS;
}

/* A group of functions that call each other starts from "never returns", and goes on until nothing
 * changes. One that goes on too long is taken for code that cannot be read. */
static pdl_status summarize_group(struct analysis *analysis, const uint32_t *group, uint32_t count)
{
    struct pdl_ptx_module *module = &analysis->module;
    pdl_status status = PDL_SUCCESS;
    bool changed = true;
    if (count == 1 && !calls_itself(module, group[0])) {
        return summarize(analysis, group[0], &changed);
    }
    if (count > GROUP_MAX) {
        return PDL_SUCCESS; /* without a summary they cannot be read */
    }
    for (uint32_t i = 0; i < count; i++) {
        module->functions[group[i]].summary =
            pdl_arena_alloc(&module->arena, sizeof(struct pdl_summary));
        if (module->functions[group[i]].summary == NULL) {
            return pdl_ptx_no_memory();
        }
    }
    for (unsigned round = 0; changed && round < ROUNDS_MAX && status == PDL_SUCCESS; round++) {
        changed = false;
        for (uint32_t i = 0; i < count && status == PDL_SUCCESS; i++) {
            bool one = false;
            status = summarize(analysis, group[i], &one);
            changed = changed || one;
        }
    }
    for (uint32_t i = 0; changed && i < count; i++) {
        module->functions[group[i]].summary = NULL;
    }
    return status;
}

static pdl_status summarize_functions(struct analysis *analysis)
{
    struct order order = {0};
    pdl_status status = PDL_SUCCESS;
    if (!find_order(&analysis->module, &order)) {
        status = pdl_ptx_no_memory();
    }
    for (uint32_t i = 0, first = 0; i < order.count && status == PDL_SUCCESS; i++) {
        if (order.ends[i]) {
            status = summarize_group(analysis, &order.groups[first], i + 1 - first);
            first = i + 1;
        }
    }
    free(order.groups);
    free(order.ends);
    return status;
}

/* ---- kernels ---------------------------------------------------------------------------------- */

static uint32_t known(bool yes, bool unknown)
{
    return yes ? PDL_YES : unknown ? PDL_UNKNOWN : PDL_NO;
}

/* The names of a kernel's parameters: from its source, or, in PTX that was written by hand, from
 * that. NULL if they are not known; *ok is false if there is no memory. */
static const char *const *parameter_names(struct analysis *analysis,
                                          const struct pdl_ptx_function *function,
                                          const char *kernel, const pdl_inspect_place *place,
                                          bool *ok)
{
    struct pdl_ptx_module *module = &analysis->module;
    struct pdl_arena *arena = &module->inspection->arena;
    *ok = true;
    if (place != NULL && place->file != NULL &&
        !(module->inspection->options->flags & PDL_INSPECT_NO_SOURCES)) {
        const char *const *names = pdl_source_parameters(
            &analysis->source, arena, place->file, place->line, kernel, function->parameter_count);
        if (names != NULL) {
            return names;
        }
    }
    const char **made =
        pdl_arena_alloc(arena, ((size_t)function->parameter_count + 1) * sizeof(*made));
    *ok = made != NULL;
    for (uint32_t i = 0; made != NULL && i < function->parameter_count; i++) {
        const struct pdl_name *name =
            &module->names.names[module->parameters[function->first_parameter + i].name];
        const size_t own = strlen(kernel);
        /* Compilers call them KERNEL_param_N. A name that a source would not have is not repeated in
         * each finding. */
        if ((name->length > own && memcmp(name->text, kernel, own) == 0) ||
            name->length > PDL_SOURCE_NAME_MAX) {
            continue;
        }
        made[i] = pdl_arena_copy(arena, name->text, name->length);
        *ok = *ok && made[i] != NULL;
    }
    return made;
}

static pdl_status add_kernel(struct analysis *analysis, const struct pdl_ptx_function *function)
{
    struct pdl_ptx_module *module = &analysis->module;
    const struct pdl_body *body = &analysis->body;
    const struct pdl_flow *flow = &analysis->flow;
    const struct pdl_effects *effects = &analysis->effects;
    const struct pdl_name *name = &module->names.names[function->name];
    bool ok = true;
    pdl_inspect_kernel kernel = {.line = function->line};
    pdl_kernel_info info =
        pdl_code_info(pdl_arena_copy(&module->inspection->arena, name->text, name->length));
    info.ptx_version = module->target;
    info.binary_version = 0;
    info.waits = known(flow->waits, effects->unknown);
    info.triggers = known(effects->trigger.count > 0, effects->unknown);
    info.waits_always =
        known(flow->waits && !(effects->out & PDL_STATE_NOT_WAITED) && !flow->switched,
              effects->unknown);
    info.parameter_count = (int32_t)function->parameter_count;
    kernel.touches_memory = known(effects->touches, effects->unknown);
    for (uint32_t i = 0; i < body->instruction_count; i++) {
        kernel.wait_count += body->instructions[i].opcode.op == PDL_OP_WAIT;
        kernel.trigger_count += body->instructions[i].opcode.op == PDL_OP_TRIGGER;
    }
    if (body->place_count > 0) {
        uint32_t count;
        const pdl_inspect_place *const *chain = pdl_places_chain(module, body, 0, &count, &ok);
        kernel.place = ok ? chain[count - 1] : NULL;
    }
    if (!ok || info.name == NULL ||
        !pdl_inspection_add_kernel(module->inspection, &kernel, &info)) {
        return pdl_ptx_no_memory();
    }
    if (module->inspection->options->flags & PDL_INSPECT_FACTS_ONLY) {
        return PDL_SUCCESS;
    }
    const char *const *names = parameter_names(analysis, function, info.name, kernel.place, &ok);
    if (!ok) {
        return pdl_ptx_no_memory();
    }
    const pdl_status status =
        pdl_constants_filter(&analysis->effects, module, &analysis->flow, names);
    return status == PDL_SUCCESS ? pdl_rules_apply(module, flow, effects, &analysis->allows, names)
                                 : status;
}

static pdl_status read_all(struct analysis *analysis)
{
    struct pdl_ptx_module *module = &analysis->module;
    pdl_status status = pdl_ptx_module_read(module);
    if (status != PDL_SUCCESS) {
        return status;
    }
    pdl_places_sort_files(module);
    pdl_inspect_image *image = &module->inspection->images[module->image];
    image->kind = PDL_INSPECT_PTX;
    image->target = module->target;
    image->target_suffix = module->target_suffix;
    image->ptx_version = (uint16_t)module->version;
    for (uint32_t i = 0; i < module->function_count; i++) {
        image->function_count += module->functions[i].has_body && !module->functions[i].is_entry;
    }
    status = summarize_functions(analysis);
    for (uint32_t i = 0; i < module->function_count && status == PDL_SUCCESS; i++) {
        const struct pdl_ptx_function *function = &module->functions[i];
        if (function->is_entry && function->has_body) {
            status = analyse(analysis, function);
            if (status == PDL_SUCCESS) {
                status = add_kernel(analysis, function);
            }
        }
    }
    return status;
}

pdl_status pdl_ptx_read(pdl_inspection *inspection, const char *text, size_t size, uint32_t image)
{
    if (size > UINT32_MAX) {
        return pdl_inspect_fail(PDL_ERROR_INVALID_IMAGE, 0, 0,
                                "a PTX text of %zu bytes is too long", size);
    }
    while (size > 0 && text[size - 1] == '\0') { /* as NVRTC hands it out */
        size--;
    }
    struct analysis *analysis = calloc(1, sizeof(*analysis));
    if (analysis == NULL) {
        return pdl_ptx_no_memory();
    }
    analysis->module.inspection = inspection;
    analysis->module.image = image;
    analysis->module.source = &analysis->source;
    analysis->module.text = text;
    analysis->module.end = text + size;
    const pdl_status status = read_all(analysis);
    pdl_source_free(&analysis->source);
    pdl_allows_free(&analysis->allows);
    pdl_effects_free(&analysis->effects);
    pdl_flow_free(&analysis->flow);
    pdl_values_free(&analysis->values);
    pdl_cfg_free(&analysis->cfg);
    pdl_ptx_body_free(&analysis->body);
    pdl_ptx_module_free(&analysis->module);
    free(analysis);
    return status;
}
