/* SPDX-License-Identifier: MIT */
/* Instrumentation: each kernel is looked at, the changes are made at once, and the result is inspected. */
#include <pdl/instrument.h>

#include <fnmatch.h>
#include <stdlib.h>

#include "inspect/analysis.h"
#include "inspect/edit/edits.h"
#include "inspect/edit/reach.h"
#include "inspect/ptx/places.h"
#include "inspect/rules/launched.h"

struct pdl_instrumentation {
    struct pdl_arena arena; /* all that is in it */
    pdl_instrument_kernel *kernels;
    uint32_t kernel_count;
    char *text;
    size_t size;
};

/* One text while it is instrumented. */
struct job {
    const pdl_instrument_options *options;
    pdl_instrumentation *result;
    pdl_inspection *inspection, *checked; /* of the text, and of the result */
    struct analysis *analysis;
    uint32_t *functions; /* by kernel: its number */
    struct pdl_constants constants;
    struct pdl_points points;
    struct pdl_edits edits;
    struct pdl_reach reach;
    const char *text, *name;
    size_t size;
    bool raise;
};

/* Later PTX has neither shfl nor vote without `.sync`. */
#define RAISE_FROM 64u

/* ---- options -------------------------------------------------------------------------------------- */

static void check_options(const pdl_instrument_options *options)
{
    const uint32_t flags = PDL_INSTRUMENT_RAISE_TARGET | PDL_INSTRUMENT_NO_SOURCES;
    if ((options->flags & ~flags) != 0) {
        pdl_fail(PDL_ERROR_INVALID_ARGUMENT, 0, 0, "options->flags has unknown bits: %#x",
                 options->flags & ~flags);
    }
    if (options->wait < PDL_INSTRUMENT_ENTRY || options->wait > PDL_INSTRUMENT_HOIST) {
        pdl_fail(PDL_ERROR_INVALID_ARGUMENT, 0, 0, "options->wait is %d: no pdl_instrument_wait",
                 options->wait);
    }
    const int32_t point = options->trigger - PDL_INSTRUMENT_TRIGGER_POINT;
    if (options->trigger < PDL_INSTRUMENT_NO_TRIGGER ||
        (options->trigger > PDL_INSTRUMENT_TRIGGER_LAST_READ &&
         (point < 0 || point > PDL_INSTRUMENT_POINT_MAX))) {
        pdl_fail(PDL_ERROR_INVALID_ARGUMENT, 0, 0,
                 "options->trigger is %d: no pdl_instrument_trigger", options->trigger);
    }
    pdl_given_check_list(options->constant_params, options->constant_param_count,
                         "constant_params");
    pdl_given_check_list(options->kernels, options->kernel_count, "kernels");
}

static void take_options(const pdl_instrument_options *options, pdl_instrument_options *copy)
{
    pdl_given_resize(copy, sizeof(*copy), options,
                     offsetof(pdl_instrument_options, constant_params),
                     "PDL_INSTRUMENT_OPTIONS_INIT");
    copy->size = (uint32_t)sizeof(*copy);
    check_options(copy);
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
static const char *const *names_of(struct job *job, const struct pdl_ptx_function *function)
{
    struct pdl_ptx_module *module = &job->analysis->module;
    const struct pdl_name *name = &module->names.names[function->name];
    const pdl_inspect_place *place = pdl_places_first(module, &job->analysis->work[0].body);
    const char *kernel = pdl_arena_copy(&module->inspection->arena, name->text, name->length);
    return pdl_parameter_names(job->analysis, function, kernel, place);
}

/* Reads a body as far as the changes need it. */
static void read_body(struct job *job, const struct pdl_ptx_function *function)
{
    struct pdl_ptx_module *module = &job->analysis->module;
    struct pdl_work *work = &job->analysis->work[0];
    pdl_ptx_body_read(module, function, &work->body);
    pdl_ptx_labels_resolve(module, &work->body);
    pdl_values_find(&work->values, module, &work->body);
    const bool named = function->is_entry && job->options->constant_param_count > 0;
    pdl_constants_find(&job->constants, module, &work->body, &work->values,
                       named ? names_of(job, function) : NULL);
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

/* Makes the non-coherent loads of the body coherent: ptxas moves them above the wait. How many. */
static uint32_t make_coherent(struct job *job, uint32_t function)
{
    const struct pdl_needs needs = needs_of(job);
    struct pdl_finder finder;
    uint32_t count = 0;
    pdl_finder_start(&finder, needs.module, needs.body);
    for (uint32_t i = 0; i < needs.body->instruction_count; i++) {
        count += pdl_needs_coherence(&needs, &needs.body->instructions[i]) &&
                 pdl_edits_make_coherent(&job->edits, &finder, function, i);
    }
    return count;
}

static void change_kernel(struct job *job, uint32_t index, pdl_instrument_kernel *kernel)
{
    struct pdl_work *work = &job->analysis->work[0];
    const struct pdl_ptx_module *module = &job->analysis->module;
    const struct pdl_needs needs = needs_of(job);
    bool waits, triggers;
    find_pdl(module, &work->body, &waits, &triggers);
    if (waits) {
        kernel->action = PDL_INSTRUMENT_WAITS;
        return;
    }
    pdl_cfg_build(&work->cfg, module, &work->body);
    pdl_points_find(&job->points, &needs, &work->cfg,
                    triggers ? PDL_INSTRUMENT_NO_TRIGGER : job->options->trigger);
    if (!pdl_edits_insert(&job->edits, module, &work->body, index, &job->points)) {
        refuse(kernel, PDL_INSTRUMENT_REASON_NO_PLACE,
               "there is no point that every thread passes exactly once");
        return;
    }
    kernel->action = PDL_INSTRUMENT_DONE;
    kernel->trigger_points =
        job->options->trigger >= PDL_INSTRUMENT_TRIGGER_POINT ? job->points.trigger_count : 0;
    kernel->loads = make_coherent(job, index);
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
        const char *message =
            target
                ? pdl_arena_format(&job->result->arena,
                                   "its target is sm_%d%.1s, and the wait needs sm_90 or later%s",
                                   module->target, &module->target_suffix, limit)
                : pdl_arena_format(&job->result->arena,
                                   "it is PTX %u.%u, and the wait needs 7.8 or later%s",
                                   module->version / 10, module->version % 10, limit);
        refuse(kernel, PDL_INSTRUMENT_REASON_TARGET, message);
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

static void add_kernel(struct job *job, uint32_t index)
{
    struct pdl_ptx_module *module = &job->analysis->module;
    const struct pdl_ptx_function *function = &module->functions[index];
    const struct pdl_name *name = &module->names.names[function->name];
    pdl_instrumentation *result = job->result;
    pdl_instrument_kernel *kernel = &result->kernels[result->kernel_count];
    unsigned reached;
    *kernel = (pdl_instrument_kernel){
        .size = (uint32_t)sizeof(*kernel),
        .action = PDL_INSTRUMENT_EXCLUDED,
        .line = function->line,
        .name = pdl_arena_copy(&result->arena, name->text, name->length),
    };
    job->functions[result->kernel_count++] = index;
    if (!is_selected(job->options, kernel->name)) {
        return;
    }
    pdl_reach_clear(&job->reach, module);
    pdl_reach_add(&job->reach, module, index, &reached);
    if (check_kernel(job, reached, kernel)) {
        read_body(job, function);
        change_kernel(job, index, kernel);
    }
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

/* Marks what instrumented kernels reach; true if there is one. */
static bool mark_used(struct job *job)
{
    const pdl_instrumentation *result = job->result;
    unsigned reached;
    pdl_reach_clear(&job->reach, &job->analysis->module);
    for (uint32_t i = 0; i < result->kernel_count; i++) {
        if (result->kernels[i].action == PDL_INSTRUMENT_DONE) {
            pdl_reach_add(&job->reach, &job->analysis->module, job->functions[i], &reached);
        }
    }
    return has_action(result, PDL_INSTRUMENT_DONE);
}

static void change_functions(struct job *job)
{
    struct pdl_ptx_module *module = &job->analysis->module;
    for (uint32_t i = 0; i < module->function_count; i++) {
        const struct pdl_ptx_function *function = &module->functions[i];
        if (job->reach.seen[i] && function->has_body && !function->is_entry) {
            read_body(job, function);
            (void)make_coherent(job, i);
        }
    }
}

/* ---- the result ----------------------------------------------------------------------------------- */

static void tell(void *context, struct pdl_edits_line line)
{
    const struct job *job = context;
    uint32_t low = 0, high = job->result->kernel_count;
    while (high - low > 1) { /* the functions are in order */
        const uint32_t middle = low + (high - low) / 2;
        if (job->functions[middle] <= line.function) {
            low = middle;
        } else {
            high = middle;
        }
    }
    pdl_instrument_kernel *kernel = &job->result->kernels[low];
    *(line.triggers ? &kernel->trigger_line : &kernel->wait_line) = line.line;
}

static void apply(struct job *job, bool any)
{
    pdl_instrumentation *result = job->result;
    struct pdl_edits none = {0};
    result->text = pdl_edits_apply(any ? &job->edits : &none, job->text, job->size, job->reach.seen,
                                   tell, job, &result->arena, &result->size);
}

/* Inspects the result, and refuses the kernels with findings; true if there are such. */
static bool check_result(struct job *job)
{
    pdl_instrumentation *result = job->result;
    const pdl_inspect_options options = inspect_options(job->options);
    bool refused = false;
    const pdl_status status =
        pdl_inspect_memory(result->text, result->size, job->name, &options, &job->checked);
    if (status != PDL_SUCCESS) {
        pdl_fail_again(status);
    }
    for (size_t i = 0; i < pdl_inspection_finding_count(job->checked); i++) {
        const pdl_lint_finding *finding = pdl_inspection_finding(job->checked, i);
        pdl_instrument_kernel *kernel = &result->kernels[finding->kernel];
        const bool done = kernel->action == PDL_INSTRUMENT_DONE;
        if ((done || kernel->action == PDL_INSTRUMENT_WAITS) && pdl_finding_is_doubt(finding)) {
            const char *what =
                done ? "the result would have a finding" : "it waits already, and has a finding";
            refuse(kernel, PDL_INSTRUMENT_REASON_FINDING,
                   pdl_arena_format(&result->arena, "%s, %s: %s", what,
                                    pdl_lint_rule_id((pdl_lint_rule)finding->rule),
                                    finding->message));
            refused = refused || done;
        }
    }
    return refused;
}

static void change_text(struct job *job)
{
    struct pdl_ptx_module *module = &job->analysis->module;
    pdl_ptx_module_read(module);
    pdl_places_sort_files(module);
    job->raise = (job->options->flags & PDL_INSTRUMENT_RAISE_TARGET) != 0 &&
                 (module->target < 90 || module->version < 78) && module->version >= RAISE_FROM &&
                 (module->target >= 90 || (module->target >= 70 && module->target_suffix == '\0'));
    pdl_functions_summarize(job->analysis);
    const uint32_t names = module->names.count; /* which summaries may have */
    job->functions = pdl_take((size_t)module->function_count + 1, sizeof(*job->functions));
    job->result->kernels = pdl_arena_alloc(&job->result->arena,
                                           module->function_count * sizeof(*job->result->kernels));
    for (uint32_t i = 0; i < module->function_count; i++) {
        if (module->functions[i].is_entry && module->functions[i].has_body) {
            add_kernel(job, i);
            pdl_ptx_forget_names(module, names);
        }
    }
    const bool any = mark_used(job);
    if (any) {
        change_functions(job);
    }
    if (job->raise) {
        pdl_edits_raise(&job->edits, module);
    }
    apply(job, any);
    if ((any || has_action(job->result, PDL_INSTRUMENT_WAITS)) && check_result(job)) {
        apply(job, mark_used(job));
    }
}

static void instrument(void *context)
{
    struct job *job = context;
    pdl_instrument_options options;
    take_options(job->options, &options);
    const pdl_inspect_options inspect = inspect_options(&options);
    job->options = &options;
    job->result = calloc(1, sizeof(*job->result));
    job->inspection = calloc(1, sizeof(*job->inspection));
    if (job->result == NULL || job->inspection == NULL) {
        pdl_fail_memory();
    }
    job->result->arena.lasts = job->inspection->arena.lasts = true;
    job->inspection->options = &inspect;
    pdl_launched_prepare(job->inspection);
    job->analysis = pdl_analysis_open(job->inspection, job->text, job->size, 0);
    change_text(job);
}

pdl_status pdl_instrument(const char *text, size_t size, const char *name,
                          const pdl_instrument_options *options, pdl_instrumentation **result)
{
    if (text == NULL || name == NULL || result == NULL) {
        return pdl_inspect_fail(PDL_ERROR_INVALID_ARGUMENT, 0, 0, "%s is NULL",
                                text == NULL ? "text" : (name == NULL ? "name" : "result"));
    }
    struct job job = {.options = options, .text = text, .size = size, .name = name};
    const pdl_status status = pdl_attempt(instrument, &job);
    pdl_inspection_destroy(job.checked);
    pdl_inspection_destroy(job.inspection);
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
