/* SPDX-License-Identifier: MIT */
#include "inspect/rules/rules.h"

#include <stdlib.h>

#include "inspect/rules/launched.h"
#include "inspect/rules/machine.h"

/* Of machine code with PTX, for a whole inspection. */
#define COMPARE_STEPS (UINT64_C(1) << 26)

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

static void add(pdl_inspection *inspection, uint32_t index, pdl_lint_level level,
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
    pdl_inspection_add_finding(inspection, &finding);
}

/* The kernels of one name. */
static void compare_images(pdl_inspection *inspection, const struct pdl_named *same, uint32_t count)
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
        add(inspection, newest_ptx, PDL_LINT_WARNING,
            pdl_arena_format(&inspection->arena,
                             "the newest PTX of the kernel is for sm_%d and has no waits, "
                             "while its code for sm_%d waits: a newer device gets the one "
                             "without",
                             newest, waiting),
            "embed PTX for compute_90 or newer too, or no PTX at all");
        return;
    }
    if (newest > 0 && latest < 90 &&
        pdl_launched_find(inspection, same[0].name) == PDL_HOW_SEEN_OVERLAPPED) {
        add(inspection, newest_ptx, PDL_LINT_ERROR,
            "the kernel was launched with overlap, and is compiled for less than sm_90: its "
            "waits are not in the code",
            "compile it for sm_90 or newer, or launch it without overlap");
        return;
    }
    pdl_machine_compare(inspection, same, count);
}

/* Whether images have to be compared at all. */
static bool is_plain(const pdl_inspection *inspection)
{
    return inspection->image_count == 1 && inspection->images[0].kind == PDL_INSPECT_PTX &&
           inspection->images[0].target >= 90;
}

void pdl_rules_across(pdl_inspection *inspection)
{
    const uint32_t count = inspection->kernel_count;
    if (inspection->facts_only) {
        for (uint32_t i = 0; i < count; i++) {
            inspection->kernels[i]->unchecked = "only facts were requested";
        }
        return;
    }
    if (count == 0 || is_plain(inspection)) {
        return;
    }
    inspection->compared_findings = inspection->finding_count;
    inspection->compare_left = COMPARE_STEPS;
    struct pdl_named *sorted = pdl_take(count, sizeof(*sorted));
    pdl_kernels_by_name(inspection, sorted);
    for (uint32_t first = 0, same; first < count; first += same) {
        same = pdl_kernels_of_name(sorted + first, count - first);
        compare_images(inspection, sorted + first, same);
    }
    sort_findings(inspection);
}
