/* SPDX-License-Identifier: MIT */
/* One PTX text: its functions, then its kernels. */
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
                                       const pdl_inspect_place *place)
{
    struct pdl_ptx_module *module = &analysis->module;
    struct pdl_arena *arena = &module->inspection->arena;
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
    for (uint32_t i = 0; i < function->parameter_count; i++) {
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
    }
    return made;
}

static void add_kernel(struct analysis *analysis, const struct pdl_ptx_function *function)
{
    struct pdl_ptx_module *module = &analysis->module;
    struct pdl_work *work = &analysis->work[0];
    const struct pdl_body *body = &work->body;
    const struct pdl_flow *flow = &work->flow;
    const struct pdl_effects *effects = &work->effects;
    const struct pdl_name *name = &module->names.names[function->name];
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
    kernel.place = pdl_places_first(module, body);
    pdl_inspection_add_kernel(module->inspection, &kernel, &info);
    if (module->inspection->options->flags & PDL_INSPECT_FACTS_ONLY) {
        return;
    }
    const char *const *names = pdl_parameter_names(analysis, function, info.name, kernel.place);
    pdl_machine_note(module, flow, effects);
    pdl_constants_filter(&work->effects, module, &work->flow, names);
    pdl_rules_apply(module, flow, effects, &analysis->allows, names);
}

static void read_all(struct analysis *analysis)
{
    struct pdl_ptx_module *module = &analysis->module;
    pdl_ptx_module_read(module);
    pdl_places_sort_files(module);
    pdl_inspect_image *image = &module->inspection->images[module->image];
    image->kind = PDL_INSPECT_PTX;
    image->target = module->target;
    image->target_suffix = module->target_suffix;
    image->ptx_version = (uint16_t)module->version;
    for (uint32_t i = 0; i < module->function_count; i++) {
        image->function_count += module->functions[i].has_body && !module->functions[i].is_entry;
    }
    pdl_functions_summarize(analysis);
    const uint32_t names = module->names.count; /* which summaries may have */
    for (uint32_t i = 0; i < module->function_count; i++) {
        const struct pdl_ptx_function *function = &module->functions[i];
        if (function->is_entry && function->has_body) {
            pdl_function_analyse(analysis, function, NULL, 0);
            add_kernel(analysis, function);
            pdl_ptx_forget_names(module, names);
        }
    }
}

struct analysis *pdl_analysis_open(pdl_inspection *inspection, const char *text, size_t size,
                                   uint32_t image)
{
    pdl_inspection_spend(inspection, size / 32);
    if (size > UINT32_MAX) {
        pdl_fail(PDL_ERROR_INVALID_IMAGE, 0, 0, "a PTX text of %zu bytes is too long", size);
    }
    while (size > 0 && text[size - 1] == '\0') { /* as NVRTC hands it out */
        size--;
    }
    struct analysis *made = pdl_take(1, sizeof(*made));
    made->module.inspection = inspection;
    made->module.image = image;
    made->module.text = text;
    made->module.end = text + size;
    return made;
}

void pdl_ptx_read(pdl_inspection *inspection, const char *text, size_t size, uint32_t image)
{
    read_all(pdl_analysis_open(inspection, text, size, image));
}
