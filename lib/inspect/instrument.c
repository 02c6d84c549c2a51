/* SPDX-License-Identifier: MIT */
/* Instrumentation: each kernel is looked at, the changes are made at once, and the result is inspected. */
#include <pdl/instrument.h>

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/analysis.h"
#include "inspect/edit/edits.h"
#include "inspect/edit/reach.h"
#include "inspect/given.h"
#include "inspect/ptx/labels.h"
#include "inspect/ptx/places.h"
#include "inspect/rules/launched.h"

struct pdl_instrumentation {
    struct pdl_arena arena; /* names and messages */
    pdl_instrument_kernel *kernels;
    uint32_t *functions; /* by kernel: its number */
    uint32_t kernel_count;
    size_t kernel_capacity, function_capacity;
    char *text;
    size_t size;
};

/* One text while it is instrumented. */
struct job {
    const pdl_instrument_options *options;
    pdl_instrumentation *result;
    struct analysis *analysis;
    struct pdl_constants constants;
    struct pdl_points points;
    struct pdl_edits edits;
    struct pdl_reach reach;
    const char *text;
    size_t size;
    bool raise;
};

/* Later PTX has neither shfl nor vote without `.sync`. */
#define RAISE_FROM 64u

static pdl_status no_memory(void)
{
    return pdl_inspect_fail(PDL_ERROR_OUT_OF_MEMORY, 0, 0, "no memory for an instrumented text");
}

/* ---- options -------------------------------------------------------------------------------------- */

static pdl_status check_options(const pdl_instrument_options *options)
{
    const uint32_t flags = PDL_INSTRUMENT_RAISE_TARGET | PDL_INSTRUMENT_NO_SOURCES;
    if ((options->flags & ~flags) != 0) {
        return pdl_inspect_fail(PDL_ERROR_INVALID_ARGUMENT, 0, 0,
                                "options->flags has unknown bits: %#x", options->flags & ~flags);
    }
    if (options->wait < PDL_INSTRUMENT_ENTRY || options->wait > PDL_INSTRUMENT_HOIST) {
        return pdl_inspect_fail(PDL_ERROR_INVALID_ARGUMENT, 0, 0,
                                "options->wait is %d: no pdl_instrument_wait", options->wait);
    }
    const int32_t point = options->trigger - PDL_INSTRUMENT_TRIGGER_POINT;
    if (options->trigger < PDL_INSTRUMENT_NO_TRIGGER ||
        (options->trigger > PDL_INSTRUMENT_TRIGGER_LAST_READ &&
         (point < 0 || point > PDL_INSTRUMENT_POINT_MAX))) {
        return pdl_inspect_fail(PDL_ERROR_INVALID_ARGUMENT, 0, 0,
                                "options->trigger is %d: no pdl_instrument_trigger",
                                options->trigger);
    }
    const pdl_status status = pdl_given_check_list(
        options->constant_params, options->constant_param_count, "constant_params");
    return status == PDL_SUCCESS
               ? pdl_given_check_list(options->kernels, options->kernel_count, "kernels")
               : status;
}

static pdl_status take_options(const pdl_instrument_options *options, pdl_instrument_options *copy)
{
    const pdl_status status = pdl_given_resize(copy, sizeof(*copy), options,
                                               offsetof(pdl_instrument_options, constant_params),
                                               "PDL_INSTRUMENT_OPTIONS_INIT");
    copy->size = (uint32_t)sizeof(*copy);
    return status == PDL_SUCCESS ? check_options(copy) : status;
}

/* The options of an inspection that knows what this one knows. */
static pdl_inspect_options inspect_options(const pdl_instrument_options *options)
{
    static const char *const all[] = {"*"};
    pdl_inspect_options inspect = PDL_INSPECT_OPTIONS_INIT;
    inspect.flags = (options->flags & PDL_INSTRUMENT_NO_SOURCES) != 0 ? PDL_INSPECT_NO_SOURCES : 0;
    inspect.constant_params = options->constant_params;
    inspect.constant_param_count = options->constant_param_count;
    inspect.overlapped = all;
    inspect.overlapped_count = 1;
    return inspect;
}

/* ---- one kernel ----------------------------------------------------------------------------------- */

static void refuse(pdl_instrument_kernel *kernel, pdl_instrument_reason reason, const char *message)
{
    kernel->action = PDL_INSTRUMENT_REFUSED;
    kernel->reason = reason;
    kernel->message = message;
    kernel->wait_line = kernel->trigger_line = kernel->loads = 0;
    kernel->trigger_points = 0;
}

static bool is_selected(const pdl_instrument_options *options, const char *name)
{
    bool selected = options->kernels == NULL || options->kernel_count == 0;
    for (uint64_t i = 0; i < options->kernel_count && !selected; i++) {
        selected = fnmatch(options->kernels[i], name, 0) == 0;
    }
    return selected;
}

/* Whether a body waits or triggers, itself or in what it calls. */
static void find_pdl(const struct pdl_ptx_module *module, const struct pdl_body *body, bool *waits,
                     bool *triggers)
{
    *waits = *triggers = false;
    for (uint32_t i = 0; i < body->instruction_count; i++) {
        const struct pdl_instruction *at = &body->instructions[i];
        const struct pdl_ptx_function *callee =
            at->opcode.op == PDL_OP_CALL && at->callee != PDL_NONE
                ? pdl_ptx_function_find(module, at->callee)
                : NULL;
        const struct pdl_summary *summary = callee != NULL ? callee->summary : NULL;
        *waits = *waits || at->opcode.op == PDL_OP_WAIT || (summary != NULL && summary->waits);
        *triggers =
            *triggers || at->opcode.op == PDL_OP_TRIGGER || (summary != NULL && summary->triggers);
    }
}

/* The names of the parameters of the kernel whose body was read. */
static const char *const *names_of(struct job *job, const struct pdl_ptx_function *function,
                                   bool *ok)
{
    struct pdl_ptx_module *module = &job->analysis->module;
    const struct pdl_name *name = &module->names.names[function->name];
    const pdl_inspect_place *place = pdl_places_first(module, &job->analysis->work[0].body, ok);
    const char *kernel = pdl_arena_copy(&module->inspection->arena, name->text, name->length);
    *ok = *ok && kernel != NULL;
    return *ok ? pdl_parameter_names(job->analysis, function, kernel, place, ok) : NULL;
}

/* Reads a body as far as the changes need it. */
static pdl_status read_body(struct job *job, const struct pdl_ptx_function *function)
{
    struct pdl_ptx_module *module = &job->analysis->module;
    struct pdl_work *work = &job->analysis->work[0];
    const char *const *names = NULL;
    bool ok = true;
    pdl_status status = pdl_ptx_body_read(module, function, &work->body);
    if (status == PDL_SUCCESS) {
        status = pdl_ptx_labels_resolve(module, &work->body);
    }
    if (status == PDL_SUCCESS) {
        status = pdl_values_find(&work->values, module, &work->body);
    }
    if (status == PDL_SUCCESS && function->is_entry && job->options->constant_param_count > 0) {
        names = names_of(job, function, &ok);
        status = ok ? PDL_SUCCESS : no_memory();
    }
    return status == PDL_SUCCESS
               ? pdl_constants_find(&job->constants, module, &work->body, &work->values, names)
               : status;
}

static struct pdl_needs needs_of(const struct job *job)
{
    const struct pdl_work *work = &job->analysis->work[0];
    return (struct pdl_needs){.module = &job->analysis->module,
                              .body = &work->body,
                              .values = &work->values,
                              .constants = &job->constants,
                              .hoist = job->options->wait == PDL_INSTRUMENT_HOIST};
}

/* Makes the non-coherent loads of the body coherent: ptxas moves them above the wait. */
static pdl_status make_coherent(struct job *job, uint32_t function, uint32_t *count)
{
    const struct pdl_needs needs = needs_of(job);
    struct pdl_finder finder;
    pdl_status status = PDL_SUCCESS;
    pdl_finder_start(&finder, needs.module, needs.body);
    *count = 0;
    for (uint32_t i = 0; i < needs.body->instruction_count && status == PDL_SUCCESS; i++) {
        bool found;
        if (pdl_needs_coherence(&needs, &needs.body->instructions[i])) {
            status = pdl_edits_make_coherent(&job->edits, &finder, function, i, &found);
            *count += status == PDL_SUCCESS && found;
        }
    }
    return status;
}

static pdl_status change_kernel(struct job *job, uint32_t index, pdl_instrument_kernel *kernel)
{
    struct pdl_work *work = &job->analysis->work[0];
    const struct pdl_ptx_module *module = &job->analysis->module;
    const struct pdl_needs needs = needs_of(job);
    bool waits, triggers, found = false;
    find_pdl(module, &work->body, &waits, &triggers);
    if (waits) {
        kernel->action = PDL_INSTRUMENT_WAITS;
        return PDL_SUCCESS;
    }
    pdl_status status = pdl_cfg_build(&work->cfg, module, &work->body);
    if (status == PDL_SUCCESS) {
        status = pdl_points_find(&job->points, &needs, &work->cfg,
                                 triggers ? PDL_INSTRUMENT_NO_TRIGGER : job->options->trigger);
    }
    if (status == PDL_SUCCESS) {
        status = pdl_edits_insert(&job->edits, module, &work->body, index, &job->points, &found);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (!found) {
        refuse(kernel, PDL_INSTRUMENT_REASON_NO_PLACE,
               "there is no point that every thread passes exactly once");
        return PDL_SUCCESS;
    }
    kernel->action = PDL_INSTRUMENT_DONE;
    kernel->trigger_points =
        job->options->trigger >= PDL_INSTRUMENT_TRIGGER_POINT ? job->points.trigger_count : 0;
    return make_coherent(job, index, &kernel->loads);
}

/* Refuses what cannot run with overlap whatever is inserted. */
static bool check_kernel(const struct job *job, unsigned reached, pdl_instrument_kernel *kernel)
{
    const struct pdl_ptx_module *module = &job->analysis->module;
    if ((module->target < 90 || module->version < 78) && !job->raise) {
        const bool target = module->target < 90;
        const char *limit = !(job->options->flags & PDL_INSTRUMENT_RAISE_TARGET) ? ""
                            : module->version < RAISE_FROM
                                ? ": only PTX 6.4 or later can be raised"
                                : ": only sm_70 to sm_89 without a suffix can be raised";
        char *message =
            target
                ? pdl_arena_format(&job->result->arena,
                                   "its target is sm_%d%.1s, and the wait needs sm_90 or later%s",
                                   module->target, &module->target_suffix, limit)
                : pdl_arena_format(&job->result->arena,
                                   "it is PTX %u.%u, and the wait needs 7.8 or later%s",
                                   module->version / 10, module->version % 10, limit);
        refuse(kernel, PDL_INSTRUMENT_REASON_TARGET,
               message != NULL ? message : "its target is below sm_90");
        return false;
    }
    if (reached & PDL_REACH_COOPERATIVE) {
        refuse(kernel, PDL_INSTRUMENT_REASON_COOPERATIVE,
               "it uses the barrier of the whole grid, and a cooperative launch does not overlap");
        return false;
    }
    if (reached & PDL_REACH_LAUNCHES) {
        refuse(kernel, PDL_INSTRUMENT_REASON_LAUNCHES,
               "it launches from the device, and it is unknown whether the next kernel's wait "
               "covers all that it launches");
        return false;
    }
    return true;
}

static pdl_status add_kernel(struct job *job, uint32_t index)
{
    struct pdl_ptx_module *module = &job->analysis->module;
    const struct pdl_ptx_function *function = &module->functions[index];
    const struct pdl_name *name = &module->names.names[function->name];
    pdl_instrumentation *result = job->result;
    if (!PDL_ARRAY_ROOM(result->kernels, result->kernel_count, result->kernel_capacity) ||
        !PDL_ARRAY_ROOM(result->functions, result->kernel_count, result->function_capacity)) {
        return no_memory();
    }
    pdl_instrument_kernel *kernel = &result->kernels[result->kernel_count];
    *kernel = (pdl_instrument_kernel){
        .size = (uint32_t)sizeof(*kernel),
        .action = PDL_INSTRUMENT_EXCLUDED,
        .line = function->line,
        .name = pdl_arena_copy(&result->arena, name->text, name->length),
    };
    if (kernel->name == NULL) {
        return no_memory();
    }
    result->functions[result->kernel_count++] = index;
    if (!is_selected(job->options, kernel->name)) {
        return PDL_SUCCESS;
    }
    unsigned reached;
    pdl_status status = pdl_reach_clear(&job->reach, module);
    if (status == PDL_SUCCESS) {
        pdl_reach_add(&job->reach, module, index, &reached);
        if (check_kernel(job, reached, kernel)) {
            status = read_body(job, function);
            status = status == PDL_SUCCESS ? change_kernel(job, index, kernel) : status;
        }
    }
    return status;
}

/* ---- the functions that they call ----------------------------------------------------------------- */

static bool has_action(const pdl_instrumentation *result, pdl_instrument_action action)
{
    bool found = false;
    for (uint32_t i = 0; i < result->kernel_count && !found; i++) {
        found = result->kernels[i].action == (int32_t)action;
    }
    return found;
}

/* Marks what instrumented kernels reach; *any: there is one. */
static pdl_status mark_used(struct job *job, bool *any)
{
    const pdl_instrumentation *result = job->result;
    unsigned reached;
    *any = has_action(result, PDL_INSTRUMENT_DONE);
    const pdl_status status = pdl_reach_clear(&job->reach, &job->analysis->module);
    for (uint32_t i = 0; i < result->kernel_count && status == PDL_SUCCESS; i++) {
        if (result->kernels[i].action == PDL_INSTRUMENT_DONE) {
            pdl_reach_add(&job->reach, &job->analysis->module, result->functions[i], &reached);
        }
    }
    return status;
}

static pdl_status change_functions(struct job *job)
{
    struct pdl_ptx_module *module = &job->analysis->module;
    pdl_status status = PDL_SUCCESS;
    for (uint32_t i = 0; i < module->function_count && status == PDL_SUCCESS; i++) {
        const struct pdl_ptx_function *function = &module->functions[i];
        uint32_t count;
        if (job->reach.seen[i] && function->has_body && !function->is_entry) {
            status = read_body(job, function);
            status = status == PDL_SUCCESS ? make_coherent(job, i, &count) : status;
        }
    }
    return status;
}

/* ---- the result ----------------------------------------------------------------------------------- */

static void tell(void *context, struct pdl_edits_line line)
{
    pdl_instrumentation *result = context;
    uint32_t low = 0, high = result->kernel_count;
    while (high - low > 1) { /* the functions are in order */
        const uint32_t middle = low + (high - low) / 2;
        if (result->functions[middle] <= line.function) {
            low = middle;
        } else {
            high = middle;
        }
    }
    pdl_instrument_kernel *kernel = &result->kernels[low];
    *(line.triggers ? &kernel->trigger_line : &kernel->wait_line) = line.line;
}

static pdl_status apply(struct job *job, bool any)
{
    pdl_instrumentation *result = job->result;
    struct pdl_edits none = {0};
    free(result->text);
    result->text = NULL;
    return pdl_edits_apply(any ? &job->edits : &none, job->text, job->size, job->reach.seen, tell,
                           result, &result->text, &result->size);
}

/* Inspects the result, and refuses the kernels with findings; *refused: there are such. */
static pdl_status check_result(struct job *job, const char *name, bool *refused)
{
    pdl_instrumentation *result = job->result;
    const pdl_inspect_options options = inspect_options(job->options);
    pdl_inspection *inspection;
    *refused = false;
    const pdl_status status =
        pdl_inspect_memory(result->text, result->size, name, &options, &inspection);
    if (status != PDL_SUCCESS) {
        return status;
    }
    for (size_t i = 0; i < pdl_inspection_finding_count(inspection); i++) {
        const pdl_lint_finding *finding = pdl_inspection_finding(inspection, i);
        pdl_instrument_kernel *kernel = &result->kernels[finding->kernel];
        const bool done = kernel->action == PDL_INSTRUMENT_DONE;
        if ((done || kernel->action == PDL_INSTRUMENT_WAITS) && pdl_finding_is_doubt(finding)) {
            const char *what =
                done ? "the result would have a finding" : "it waits already, and has a finding";
            const char *message =
                pdl_arena_format(&result->arena, "%s, %s: %s", what,
                                 pdl_lint_rule_id((pdl_lint_rule)finding->rule), finding->message);
            refuse(kernel, PDL_INSTRUMENT_REASON_FINDING, message != NULL ? message : what);
            *refused = *refused || done;
        }
    }
    pdl_inspection_destroy(inspection);
    return PDL_SUCCESS;
}

static pdl_status run(struct job *job, const char *name)
{
    struct pdl_ptx_module *module = &job->analysis->module;
    bool any = false, refused = false;
    pdl_status status = pdl_ptx_module_read(module);
    if (status != PDL_SUCCESS) {
        return status;
    }
    pdl_places_sort_files(module);
    job->raise = (job->options->flags & PDL_INSTRUMENT_RAISE_TARGET) != 0 &&
                 (module->target < 90 || module->version < 78) && module->version >= RAISE_FROM &&
                 (module->target >= 90 || (module->target >= 70 && module->target_suffix == '\0'));
    status = pdl_functions_summarize(job->analysis);
    const uint32_t names = module->names.count; /* which summaries may have */
    for (uint32_t i = 0; i < module->function_count && status == PDL_SUCCESS; i++) {
        if (module->functions[i].is_entry && module->functions[i].has_body) {
            status = add_kernel(job, i);
            pdl_ptx_forget_names(module, names);
        }
    }
    status = status == PDL_SUCCESS ? mark_used(job, &any) : status;
    if (status == PDL_SUCCESS && any) {
        status = change_functions(job);
    }
    if (status == PDL_SUCCESS && job->raise) {
        status = pdl_edits_raise(&job->edits, module);
    }
    status = status == PDL_SUCCESS ? apply(job, any) : status;
    if (status == PDL_SUCCESS && (any || has_action(job->result, PDL_INSTRUMENT_WAITS))) {
        status = check_result(job, name, &refused);
    }
    if (status == PDL_SUCCESS && refused) {
        status = mark_used(job, &any);
        status = status == PDL_SUCCESS ? apply(job, any) : status;
    }
    return status;
}

pdl_status pdl_instrument(const char *text, size_t size, const char *name,
                          const pdl_instrument_options *options, pdl_instrumentation **result)
{
    pdl_instrument_options copy;
    if (text == NULL || name == NULL || result == NULL) {
        return pdl_inspect_fail(PDL_ERROR_INVALID_ARGUMENT, 0, 0, "%s is NULL",
                                text == NULL ? "text" : (name == NULL ? "name" : "result"));
    }
    pdl_status status = take_options(options, &copy);
    if (status != PDL_SUCCESS) {
        return status;
    }
    const pdl_inspect_options inspect = inspect_options(&copy);
    struct job job = {.options = &copy, .text = text, .size = size};
    pdl_inspection *inspection = calloc(1, sizeof(*inspection));
    job.result = calloc(1, sizeof(*job.result));
    status = inspection != NULL && job.result != NULL ? PDL_SUCCESS : no_memory();
    if (status == PDL_SUCCESS) {
        inspection->options = &inspect;
        status = pdl_launched_prepare(inspection);
    }
    if (status == PDL_SUCCESS) {
        status = pdl_analysis_open(inspection, text, size, 0, &job.analysis);
    }
    if (status == PDL_SUCCESS) {
        status = run(&job, name);
        pdl_analysis_close(job.analysis);
    }
    pdl_edits_free(&job.edits);
    pdl_points_free(&job.points);
    pdl_constants_free(&job.constants);
    pdl_reach_free(&job.reach);
    if (inspection != NULL) {
        pdl_launched_free(inspection);
        inspection->options = NULL;
        pdl_inspection_destroy(inspection);
    }
    if (status != PDL_SUCCESS) {
        pdl_instrumentation_destroy(job.result);
        return status;
    }
    *result = job.result;
    return PDL_SUCCESS;
}

/* To be raised with each change of what the same text and options give, refusals included. */
enum { REVISION = 3 };

uint32_t pdl_instrument_revision(void)
{
    return REVISION;
}

void pdl_instrumentation_destroy(pdl_instrumentation *result)
{
    if (result != NULL) {
        free(result->kernels);
        free(result->functions);
        free(result->text);
        pdl_arena_free(&result->arena);
        free(result);
    }
}

const char *pdl_instrumentation_text(const pdl_instrumentation *result, size_t *size)
{
    if (size != NULL) {
        *size = result != NULL ? result->size : 0;
    }
    return result != NULL ? result->text : NULL;
}

size_t pdl_instrumentation_kernel_count(const pdl_instrumentation *result)
{
    return result != NULL ? result->kernel_count : 0;
}

const pdl_instrument_kernel *pdl_instrumentation_kernel(const pdl_instrumentation *result,
                                                        size_t index)
{
    return result != NULL && index < result->kernel_count ? &result->kernels[index] : NULL;
}
