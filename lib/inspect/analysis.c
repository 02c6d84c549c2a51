/* SPDX-License-Identifier: MIT */
/* One PTX text: its functions, then its kernels. */
#include <stdlib.h>
#include <string.h>

#include "code/info.h"
#include "inspect/analysis.h"
#include "inspect/image.h"
#include "inspect/ptx/places.h"
#include "inspect/rules/machine.h"
#include "inspect/rules/rules.h"

/* ---- kernels ---------------------------------------------------------------------------------- */

static uint32_t known(bool yes, bool unknown)
{
    return yes ? PDL_YES : unknown ? PDL_UNKNOWN : PDL_NO;
}

const char *const *pdl_parameter_names(struct analysis *analysis,
                                       const struct pdl_ptx_function *function, const char *kernel,
                                       const pdl_inspect_place *place, bool *ok)
{
    struct pdl_ptx_module *module = &analysis->module;
    struct pdl_arena *arena = &module->inspection->arena;
    *ok = true;
    if (place != NULL && place->file != NULL &&
        !(module->inspection->options->flags & PDL_INSPECT_NO_SOURCES)) {
        const char *const *names = pdl_source_parameters(
            &analysis->source, arena, place->file, place->line, kernel, function->parameter_count);
        *ok = !analysis->source.no_memory;
        if (names != NULL || !*ok) {
            return names;
        }
    }
    const char **made =
        pdl_arena_alloc(arena, ((size_t)function->parameter_count + 1) * sizeof(*made));
    *ok = made != NULL;
    for (uint32_t i = 0; made != NULL && i < function->parameter_count; i++) {
        const struct pdl_ptx_parameter *parameter =
            &module->parameters[function->first_parameter + i];
        const char *text = parameter->length > 0 ? module->text + parameter->text : "_";
        const uint32_t length = parameter->length > 0 ? parameter->length : 1;
        const size_t own = strlen(kernel);
        /* Compilers call them KERNEL_param_N. A name that a source would not have is not repeated in
         * each finding. */
        if ((length > own && memcmp(text, kernel, own) == 0) || length > PDL_SOURCE_NAME_MAX) {
            continue;
        }
        made[i] = pdl_arena_copy(arena, text, length);
        *ok = *ok && made[i] != NULL;
    }
    return made;
}

static pdl_status add_kernel(struct analysis *analysis, const struct pdl_ptx_function *function)
{
    struct pdl_ptx_module *module = &analysis->module;
    struct pdl_work *work = &analysis->work[0];
    const struct pdl_body *body = &work->body;
    const struct pdl_flow *flow = &work->flow;
    const struct pdl_effects *effects = &work->effects;
    const struct pdl_name *name = &module->names.names[function->name];
    bool ok = true;
    pdl_inspect_kernel kernel = {.line = function->line, .waits_by_flag = flow->switched};
    pdl_kernel_info info =
        pdl_code_info(pdl_arena_copy(&module->inspection->arena, name->text, name->length));
    info.ptx_version = module->target;
    info.binary_version = 0;
    info.waits = known(flow->waits, effects->unknown);
    info.triggers = known(effects->trigger.count > 0, effects->unknown);
    info.waits_always = known(
        flow->waits && !(effects->out & PDL_STATE_NOT_WAITED) && !flow->switched, effects->unknown);
    info.parameter_count = (int32_t)function->parameter_count;
    pdl_code_info_bounds(&info, &function->bounds);
    info.min_blocks_per_multiprocessor = (int32_t)function->bounds.min_blocks;
    kernel.touches_memory = known(effects->touches, effects->unknown);
    for (uint32_t i = 0; i < body->instruction_count; i++) {
        kernel.wait_count += body->instructions[i].opcode.op == PDL_OP_WAIT;
        kernel.trigger_count += body->instructions[i].opcode.op == PDL_OP_TRIGGER;
    }
    kernel.place = pdl_places_first(module, body, &ok);
    if (!ok || info.name == NULL ||
        !pdl_inspection_add_kernel(module->inspection, &kernel, &info)) {
        return pdl_ptx_no_memory();
    }
    if (module->inspection->options->flags & PDL_INSPECT_FACTS_ONLY) {
        return PDL_SUCCESS;
    }
    const char *const *names =
        pdl_parameter_names(analysis, function, info.name, kernel.place, &ok);
    if (!ok) {
        return pdl_ptx_no_memory();
    }
    pdl_status status = pdl_machine_note(module, flow, effects);
    if (status == PDL_SUCCESS) {
        status = pdl_constants_filter(&work->effects, module, &work->flow, names);
    }
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
    status = pdl_functions_summarize(analysis);
    const uint32_t names = module->names.count; /* which summaries may have */
    for (uint32_t i = 0; i < module->function_count && status == PDL_SUCCESS; i++) {
        const struct pdl_ptx_function *function = &module->functions[i];
        if (function->is_entry && function->has_body) {
            status = pdl_function_analyse(analysis, function, NULL, 0);
            if (status == PDL_SUCCESS) {
                status = add_kernel(analysis, function);
                pdl_ptx_forget_names(module, names);
            }
            if (status == PDL_SUCCESS && analysis->source.no_memory) {
                status = pdl_ptx_no_memory(); /* a message would have quoted it */
            }
        }
    }
    return status;
}

pdl_status pdl_analysis_open(pdl_inspection *inspection, const char *text, size_t size,
                             uint32_t image, struct analysis **analysis)
{
    if (!pdl_inspection_spend(inspection, size / 32)) {
        return pdl_inspect_fail(PDL_ERROR_CANCELLED, 0, 0, "max_steps is reached");
    }
    if (size > UINT32_MAX) {
        return pdl_inspect_fail(PDL_ERROR_INVALID_IMAGE, 0, 0,
                                "a PTX text of %zu bytes is too long", size);
    }
    while (size > 0 && text[size - 1] == '\0') { /* as NVRTC hands it out */
        size--;
    }
    struct analysis *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return pdl_ptx_no_memory();
    }
    made->module.inspection = inspection;
    made->module.image = image;
    made->module.text = text;
    made->module.end = text + size;
    *analysis = made;
    return PDL_SUCCESS;
}

void pdl_analysis_close(struct analysis *analysis)
{
    pdl_source_free(&analysis->source);
    pdl_allows_free(&analysis->allows);
    pdl_targets_free(&analysis->targets);
    pdl_splice_free(&analysis->splice);
    for (unsigned i = 0; i <= PDL_SPECIAL_DEPTH; i++) {
        struct pdl_work *work = &analysis->work[i];
        pdl_effects_free(&work->effects);
        pdl_flow_free(&work->flow);
        pdl_folding_free(&work->folding);
        pdl_values_free(&work->values);
        pdl_cfg_free(&work->cfg);
        pdl_ptx_body_free(&work->body);
    }
    pdl_ptx_module_free(&analysis->module);
    free(analysis);
}

pdl_status pdl_ptx_read(pdl_inspection *inspection, const char *text, size_t size, uint32_t image)
{
    struct analysis *analysis = NULL;
    pdl_status status = pdl_analysis_open(inspection, text, size, image, &analysis);
    if (analysis != NULL) {
        status = read_all(analysis);
        pdl_analysis_close(analysis);
    }
    return status;
}
