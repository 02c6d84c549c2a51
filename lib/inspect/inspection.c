/* SPDX-License-Identifier: MIT */
#include "inspect/inspection.h"

#include <stdlib.h>

/* ---- making --------------------------------------------------------------------------------- */

bool pdl_inspection_add_image(pdl_inspection *inspection, const pdl_inspect_image *image,
                              uint32_t *index)
{
    if (!PDL_ARRAY_ROOM(inspection->images, inspection->image_count, inspection->image_capacity)) {
        return false;
    }
    pdl_inspect_image *made = &inspection->images[inspection->image_count];
    *made = *image;
    made->size = (uint32_t)sizeof(*made);
    made->first_kernel = inspection->kernel_count;
    made->kernel_count = 0;
    *index = inspection->image_count++;
    return true;
}

bool pdl_inspection_add_kernel(pdl_inspection *inspection, const pdl_inspect_kernel *kernel,
                               const pdl_kernel_info *info)
{
    pdl_inspect_kernel *made = pdl_arena_alloc(&inspection->arena, sizeof(*made));
    pdl_kernel_info *about = pdl_arena_alloc(&inspection->arena, sizeof(*about));
    if (made == NULL || about == NULL ||
        !PDL_ARRAY_ROOM(inspection->kernels, inspection->kernel_count,
                        inspection->kernel_capacity)) {
        return false;
    }
    *about = *info;
    *made = *kernel;
    made->size = (uint32_t)sizeof(*made);
    made->info = about;
    made->image = inspection->image_count - 1;
    made->first_finding = inspection->finding_count;
    made->finding_count = 0;
    inspection->images[made->image].kernel_count++;
    inspection->kernels[inspection->kernel_count++] = made;
    return true;
}

bool pdl_inspection_add_finding(pdl_inspection *inspection, const pdl_lint_finding *finding)
{
    if (!PDL_ARRAY_ROOM(inspection->findings, inspection->finding_count,
                        inspection->finding_capacity)) {
        return false;
    }
    pdl_lint_finding *made = &inspection->findings[inspection->finding_count++];
    *made = *finding;
    made->size = (uint32_t)sizeof(*made);
    inspection->kernels[made->kernel]->finding_count++;
    return true;
}

bool pdl_inspection_add_marker(pdl_inspection *inspection, const pdl_lint_suppression *marker)
{
    if (!PDL_ARRAY_ROOM(inspection->markers, inspection->marker_count,
                        inspection->marker_capacity)) {
        return false;
    }
    inspection->markers[inspection->marker_count] = *marker;
    inspection->markers[inspection->marker_count++].size = (uint32_t)sizeof(*marker);
    return true;
}

void pdl_inspection_destroy(pdl_inspection *inspection)
{
    if (inspection != NULL) {
        pdl_arena_free(&inspection->arena);
        free(inspection->images);
        free(inspection->kernels);
        free(inspection->findings);
        free(inspection->markers);
        free(inspection->matches);
        free(inspection->machines);
        for (uint32_t i = 0; i < inspection->noted_count; i++) {
            free(inspection->noted[i].accesses);
        }
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
