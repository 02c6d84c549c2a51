/* SPDX-License-Identifier: MIT */
/* Whether a kernel is shown to wait, in the code that a device is given. */
#include <string.h>

#include "code/proof.h"
#include "code/scan.h"
#include "inspect/inspection.h"

/* What libpdl takes them for in strict mode. */
#define SAME_TYPE(a, b) _Static_assert(__builtin_types_compatible_p(__typeof__(a), b), #b)
SAME_TYPE(pdl_inspect_memory, pdl_proof_memory);
SAME_TYPE(pdl_inspection_shown, pdl_proof_shown);
SAME_TYPE(pdl_inspection_destroy, pdl_proof_destroy);
_Static_assert(sizeof(struct pdl_proof_options) == offsetof(pdl_inspect_options, constant_params) &&
                   PDL_PROOF_NO_SOURCES == PDL_INSPECT_NO_SOURCES,
               "options");

struct verdict {
    bool found;      /* there was something to judge */
    uint32_t shown;  /* pdl_known */
    uint32_t always; /* waits_always, a pdl_known */
};

/* Both have to hold: less is known of the two than of either. */
static void join(struct verdict *all, struct verdict one)
{
    if (!all->found || one.shown < all->shown) {
        all->shown = one.shown;
    }
    if (!all->found || one.always < all->always) {
        all->always = one.always;
    }
    all->found = true;
}

bool pdl_finding_is_doubt(const pdl_lint_finding *finding)
{
    switch (finding->rule) {
    case PDL_LINT_READ_BEFORE_WAIT:
    case PDL_LINT_WRITE_BEFORE_WAIT:
    case PDL_LINT_NO_WAIT:
    case PDL_LINT_PARTIAL_WAIT:
        return finding->suppressed == NULL;
    default:
        return finding->suppressed == NULL && finding->level >= PDL_LINT_WARNING;
    }
}

static struct verdict judge_kernel(const pdl_inspection *inspection,
                                   const pdl_inspect_kernel *kernel)
{
    struct verdict one = {.shown = kernel->info->waits == PDL_YES ? PDL_YES : PDL_NO,
                          .always = kernel->info->waits_always};
    for (uint32_t i = 0; i < kernel->finding_count; i++) {
        if (pdl_finding_is_doubt(&inspection->findings[kernel->first_finding + i])) {
            one.shown = PDL_NO;
        }
    }
    return one;
}

/* By the machine code alone, which is what runs. */
static struct verdict judge_machine(const pdl_inspection *inspection, uint32_t kernel)
{
    const struct pdl_machine *machine = pdl_machine_find(inspection, kernel);
    const pdl_kernel_info *info = inspection->kernels[kernel]->info;
    struct verdict one = {.found = true, .shown = info->waits_always, .always = info->waits_always};
    if (info->waits == PDL_NO) {
        one.shown = one.always = PDL_NO;
    } else if (machine != NULL && machine->count > 0) {
        one.shown = PDL_NO;
    } else if (machine != NULL && machine->unordered) {
        one.shown = PDL_UNKNOWN; /* right for memory that no kernel writes */
    } else if (machine != NULL && machine->leaves) {
        one.shown = PDL_YES;
    }
    return one;
}

/* Judges the kernel in some code. What is not shown by machine code may be shown by the PTX for its target. */
static struct verdict judge_code(const pdl_inspection *inspection, const pdl_inspect_image *code,
                                 const char *name)
{
    struct verdict machine = {.found = false};
    struct verdict all = {.found = false};
    for (uint32_t i = 0; i < inspection->kernel_count; i++) {
        const pdl_inspect_kernel *kernel = inspection->kernels[i];
        const pdl_inspect_image *image = &inspection->images[kernel->image];
        if (strcmp(kernel->info->name, name) != 0) {
            continue;
        }
        if (image == code && code->kind == PDL_INSPECT_SASS) {
            join(&machine, judge_machine(inspection, i));
        } else if (image->kind == PDL_INSPECT_PTX && image->target == code->target &&
                   image->target_suffix == code->target_suffix) {
            join(&all, judge_kernel(inspection, kernel));
        }
    }
    return machine.shown == PDL_YES || !all.found ? machine : all;
}

pdl_known pdl_inspection_shown(const pdl_inspection *inspection, const char *kernel,
                               int32_t capability, pdl_known *waits_always)
{
    struct verdict all = {.found = false};
    if (inspection != NULL && kernel != NULL && capability > 0 && !inspection->facts_only) {
        uint32_t best = 1;
        for (uint32_t i = 0; i < inspection->image_count; i++) {
            const pdl_inspect_image *image = &inspection->images[i];
            if (image->kind == PDL_INSPECT_UNKNOWN) { /* a driver may run what is in it */
                all = (struct verdict){.found = true};
                break;
            }
            const uint32_t fitness =
                image->kind == PDL_INSPECT_LTO || image->kind == PDL_INSPECT_TILE
                    ? 0
                    : pdl_scan_fitness(image->kind == PDL_INSPECT_SASS, (uint32_t)image->target,
                                       image->target_suffix, (uint32_t)capability);
            if (fitness >= best) {
                all.found = all.found && fitness == best;
                best = fitness;
                join(&all, judge_code(inspection, image, kernel));
            }
        }
    }
    if (waits_always != NULL) {
        *waits_always = (pdl_known)all.always;
    }
    return (pdl_known)all.shown;
}
