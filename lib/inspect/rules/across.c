/* SPDX-License-Identifier: MIT */
#include "inspect/rules/across.h"

#include <stdlib.h>
#include <string.h>

#include "inspect/rules/launched.h"
#include "inspect/rules/machine.h"

/* Of machine code with PTX, for a whole inspection. */
#define COMPARE_STEPS (UINT64_C(1) << 26)

static int compare_names(const void *left, const void *right)
{
    const struct pdl_named *a = left;
    const struct pdl_named *b = right;
    const int order = strcmp(a->name, b->name);
    return order != 0 ? order : (a->kernel > b->kernel) - (a->kernel < b->kernel);
}

static int compare_findings(const void *left, const void *right)
{
    const pdl_lint_finding *a = left;
    const pdl_lint_finding *b = right;
    if (a->kernel != b->kernel) {
        return a->kernel < b->kernel ? -1 : 1;
    }
    if (a->line != b->line || a->rule != b->rule) {
        return a->line < b->line ? -1 : a->line > b->line ? 1 : a->rule - b->rule;
    }
    const uint32_t x = a->place_count > 0 ? a->places[0]->line : 0; /* machine code has no other */
    const uint32_t y = b->place_count > 0 ? b->places[0]->line : 0;
    return (x > y) - (x < y);
}

/* Brings the findings back into the order of their kernels, after some were added at the end. */
static void sort_findings(pdl_inspection *inspection)
{
    if (inspection->finding_count > 0) {
        qsort(inspection->findings, inspection->finding_count, sizeof(*inspection->findings),
              compare_findings);
    }
    for (uint32_t i = 0, first = 0; i < inspection->kernel_count; i++) {
        pdl_inspect_kernel *kernel = inspection->kernels[i];
        kernel->first_finding = first;
        first += kernel->finding_count;
    }
}

static pdl_status add(pdl_inspection *inspection, uint32_t index, pdl_lint_level level,
                      const char *message, const char *advice)
{
    const pdl_inspect_kernel *old = inspection->kernels[index];
    const pdl_lint_finding finding = {
        .message = message,
        .advice = advice,
        .rule = PDL_LINT_COMPILED_OUT,
        .level = level,
        .kernel = index,
        .parameter = -1,
        .parameter_offset = -1,
        .line = old->line,
        .column = 1,
        .place_count = old->place != NULL ? 1 : 0,
        .places = &old->place,
        .count = 1,
    };
    if (finding.message == NULL || !pdl_inspection_add_finding(inspection, &finding)) {
        return pdl_inspect_fail(PDL_ERROR_OUT_OF_MEMORY, 0, 0, "no memory for a finding");
    }
    return PDL_SUCCESS;
}

/* The kernels of one name. */
static pdl_status compare_images(pdl_inspection *inspection, const struct pdl_named *same,
                                 uint32_t count)
{
    uint32_t newest_ptx = 0;
    int newest = 0;
    int waiting = 0;
    int latest = 0; /* of machine code, too */
    for (uint32_t i = 0; i < count; i++) {
        const pdl_inspect_kernel *kernel = inspection->kernels[same[i].kernel];
        const pdl_inspect_image *image = &inspection->images[kernel->image];
        if (image->kind == PDL_INSPECT_PTX && image->target > newest) {
            newest = image->target;
            newest_ptx = same[i].kernel;
        }
        if (image->target >= 90 && kernel->info->waits == PDL_YES && image->target > waiting) {
            waiting = image->target;
        }
        latest = image->target > latest ? image->target : latest;
    }
    if (newest > 0 && newest < 90 && waiting > 0) {
        return add(inspection, newest_ptx, PDL_LINT_WARNING,
                   pdl_arena_format(&inspection->arena,
                                    "the newest PTX of the kernel is for sm_%d and has no waits, "
                                    "while its code for sm_%d waits: a newer device gets the one "
                                    "without",
                                    newest, waiting),
                   "embed PTX for compute_90 or newer too, or no PTX at all");
    }
    if (newest > 0 && latest < 90 &&
        pdl_launched_find(inspection, same[0].name) == PDL_HOW_SEEN_OVERLAPPED) {
        return add(inspection, newest_ptx, PDL_LINT_ERROR,
                   "the kernel was launched with overlap, and is compiled for less than sm_90: its "
                   "waits are not in the code",
                   "compile it for sm_90 or newer, or launch it without overlap");
    }
    return pdl_machine_compare(inspection, same, count);
}

/* Whether images have to be compared at all. */
static bool is_plain(const pdl_inspection *inspection)
{
    return inspection->image_count == 1 && inspection->images[0].kind == PDL_INSPECT_PTX &&
           inspection->images[0].target >= 90;
}

pdl_status pdl_rules_across(pdl_inspection *inspection)
{
    const uint32_t count = inspection->kernel_count;
    pdl_status status = PDL_SUCCESS;
    if (inspection->facts_only) {
        for (uint32_t i = 0; i < count; i++) {
            inspection->kernels[i]->unchecked = "only facts were requested";
        }
        return PDL_SUCCESS;
    }
    if (count == 0 || is_plain(inspection)) {
        return PDL_SUCCESS;
    }
    inspection->compared_findings = inspection->finding_count;
    inspection->compare_left = COMPARE_STEPS;
    struct pdl_named *sorted = malloc(count * sizeof(*sorted));
    if (sorted == NULL) {
        return pdl_inspect_fail(PDL_ERROR_OUT_OF_MEMORY, 0, 0, "no memory for a list of kernels");
    }
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = (struct pdl_named){inspection->kernels[i]->info->name, i};
    }
    qsort(sorted, count, sizeof(*sorted), compare_names);
    for (uint32_t first = 0, end; first < count && status == PDL_SUCCESS; first = end) {
        end = first + 1;
        while (end < count && strcmp(sorted[first].name, sorted[end].name) == 0) {
            end++;
        }
        status = compare_images(inspection, sorted + first, end - first);
    }
    free(sorted);
    sort_findings(inspection);
    return status;
}
