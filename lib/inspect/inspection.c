/* SPDX-License-Identifier: MIT */
#include "inspect/inspection.h"

#include <stdlib.h>
#include <string.h>

/* ---- making --------------------------------------------------------------------------------- */

void pdl_inspection_spend(pdl_inspection *inspection, uint64_t steps)
{
    const uint64_t most = inspection->options->max_steps;
    inspection->steps += steps;
    if (most != 0 && inspection->steps > most) {
        pdl_fail(PDL_ERROR_CANCELLED, 0, 0, "the analysis takes more than max_steps (%llu)",
                 (unsigned long long)most);
    }
}

void pdl_inspection_add_image(pdl_inspection *inspection, const pdl_inspect_image *image)
{
    PDL_KEEP(inspection->images, inspection->image_count, inspection->image_capacity, *image);
    pdl_inspect_image *made = &inspection->images[inspection->image_count - 1];
    made->size = (uint32_t)sizeof(*made);
    made->first_kernel = inspection->kernel_count;
}

void pdl_inspection_add_kernel(pdl_inspection *inspection, const pdl_inspect_kernel *kernel,
                               const pdl_kernel_info *info)
{
    pdl_inspect_kernel *made = pdl_arena_alloc(&inspection->arena, sizeof(*made));
    pdl_kernel_info *about = pdl_arena_alloc(&inspection->arena, sizeof(*about));
    *about = *info;
    *made = *kernel;
    made->size = (uint32_t)sizeof(*made);
    made->info = about;
    made->image = inspection->image_count - 1;
    made->first_finding = inspection->finding_count;
    PDL_KEEP(inspection->kernels, inspection->kernel_count, inspection->kernel_capacity, made);
    inspection->images[made->image].kernel_count++;
}

void pdl_inspection_add_finding(pdl_inspection *inspection, const pdl_lint_finding *finding)
{
    PDL_KEEP(inspection->findings, inspection->finding_count, inspection->finding_capacity,
             *finding);
    inspection->findings[inspection->finding_count - 1].size = (uint32_t)sizeof(*finding);
    inspection->kernels[finding->kernel]->finding_count++;
}

void pdl_inspection_destroy(pdl_inspection *inspection)
{
    if (inspection != NULL) {
        pdl_arena_free(&inspection->arena);
        free(inspection->images);
        free(inspection->kernels);
        free(inspection->findings);
        free(inspection->markers);
        free(inspection->machines);
        free(inspection->noted);
        free(inspection);
    }
}

/* ---- asking --------------------------------------------------------------------------------- */

size_t pdl_inspection_image_count(const pdl_inspection *inspection)
{
    return inspection != NULL ? inspection->image_count : 0;
}

const pdl_inspect_image *pdl_inspection_image(const pdl_inspection *inspection, size_t index)
{
    return index < pdl_inspection_image_count(inspection) ? &inspection->images[index] : NULL;
}

size_t pdl_inspection_kernel_count(const pdl_inspection *inspection)
{
    return inspection != NULL ? inspection->kernel_count : 0;
}

const pdl_inspect_kernel *pdl_inspection_kernel(const pdl_inspection *inspection, size_t index)
{
    return index < pdl_inspection_kernel_count(inspection) ? inspection->kernels[index] : NULL;
}

size_t pdl_inspection_finding_count(const pdl_inspection *inspection)
{
    return inspection != NULL ? inspection->finding_count : 0;
}

const pdl_lint_finding *pdl_inspection_finding(const pdl_inspection *inspection, size_t index)
{
    return index < pdl_inspection_finding_count(inspection) ? &inspection->findings[index] : NULL;
}

size_t pdl_inspection_marker_count(const pdl_inspection *inspection)
{
    return inspection != NULL ? inspection->marker_count : 0;
}

const pdl_lint_suppression *pdl_inspection_marker(const pdl_inspection *inspection, size_t index)
{
    return index < pdl_inspection_marker_count(inspection) ? &inspection->markers[index] : NULL;
}

static int by_kernel(const void *key, const void *item)
{
    const uint32_t kernel = *(const uint32_t *)key;
    const uint32_t other = ((const struct pdl_machine *)item)->kernel;
    return (kernel > other) - (kernel < other);
}

const struct pdl_machine *pdl_machine_find(const pdl_inspection *inspection, uint32_t kernel)
{
    return inspection->machine_count == 0
               ? NULL
               : bsearch(&kernel, inspection->machines, inspection->machine_count,
                         sizeof(*inspection->machines), by_kernel);
}

static int by_name(const void *left, const void *right)
{
    const struct pdl_named *a = left;
    const struct pdl_named *b = right;
    const int order = strcmp(a->name, b->name);
    return order != 0 ? order : (a->kernel > b->kernel) - (a->kernel < b->kernel);
}

void pdl_kernels_by_name(const pdl_inspection *inspection, struct pdl_named *sorted)
{
    for (uint32_t i = 0; i < inspection->kernel_count; i++) {
        sorted[i] = (struct pdl_named){inspection->kernels[i]->info->name, i};
    }
    qsort(sorted, inspection->kernel_count, sizeof(*sorted), by_name);
}

uint32_t pdl_kernels_of_name(const struct pdl_named *sorted, uint32_t count)
{
    uint32_t same = 1;
    while (same < count && strcmp(sorted[0].name, sorted[same].name) == 0) {
        same++;
    }
    return same;
}

uint32_t *pdl_inspection_counts(const pdl_inspection *inspection, pdl_inspect_list list)
{
    uint64_t first = 0;
    for (int i = PDL_INSPECT_CONSTANT_PARAMS; i < (int)list; i++) {
        first += inspection->list_counts[i];
    }
    return inspection->matches != NULL ? inspection->matches + first : NULL;
}

uint64_t pdl_inspection_matches(const pdl_inspection *inspection, pdl_inspect_list list,
                                uint64_t index)
{
    const bool exists = inspection != NULL && inspection->matches != NULL &&
                        (int)list >= PDL_INSPECT_CONSTANT_PARAMS &&
                        (int)list <= PDL_INSPECT_LAUNCHED_PLAIN &&
                        index < inspection->list_counts[list];
    return exists ? pdl_inspection_counts(inspection, list)[index] : 0;
}

void pdl_lint_suppress_finding(pdl_inspection *inspection, const pdl_lint_finding *finding,
                               const char *reason)
{
    if (inspection == NULL || finding == NULL || finding < inspection->findings ||
        finding >= inspection->findings + inspection->finding_count || reason == NULL ||
        finding->suppressed != NULL) {
        return;
    }
    inspection->findings[finding - inspection->findings].suppressed = reason;
}
