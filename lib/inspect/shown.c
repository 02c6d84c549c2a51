/* SPDX-License-Identifier: MIT */
/* Whether a kernel is shown to wait, in the code that a device is given. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/proof.h"
#include "code/scan.h"
#include "inspect/inspection.h"

/* What libpdl takes them for. */
#define SAME_TYPE(a, b) _Static_assert(__builtin_types_compatible_p(__typeof__(a), b), #b)
#define SAME_PLACE(a, b, field)                                                                    \
    _Static_assert(offsetof(a, field) == offsetof(b, field) && sizeof(a) == sizeof(b), #field)
SAME_TYPE(pdl_inspect_memory, pdl_proof_memory);
SAME_TYPE(pdl_inspection_proofs, pdl_proof_each);
SAME_TYPE(pdl_inspection_destroy, pdl_proof_destroy);
SAME_TYPE(pdl_inspect_version, pdl_proof_version);
SAME_PLACE(pdl_inspect_options, struct pdl_proof_options, flags);
SAME_PLACE(pdl_inspect_options, struct pdl_proof_options, max_steps);
SAME_PLACE(pdl_inspect_proof, struct pdl_proof_seen, proof);
SAME_PLACE(pdl_inspect_proof, struct pdl_proof_seen, shown);
SAME_PLACE(pdl_inspect_proof, struct pdl_proof_seen, waits_always);
SAME_PLACE(pdl_inspect_proof, struct pdl_proof_seen, kernel);
SAME_PLACE(pdl_inspect_proof, struct pdl_proof_seen, race);
_Static_assert(PDL_PROOF_NO_SOURCES == PDL_INSPECT_NO_SOURCES, "options");

struct verdict {
    bool found;      /* there was something to judge */
    uint32_t shown;  /* pdl_known */
    uint32_t always; /* waits_always, a pdl_known */
    const pdl_lint_finding *race;
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
    all->race = all->race != NULL ? all->race : one.race;
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

/* The first finding of a kernel that says that there is a race. */
static const pdl_lint_finding *race_of(const pdl_inspection *inspection,
                                       const pdl_inspect_kernel *kernel)
{
    for (uint32_t i = 0; i < kernel->finding_count; i++) {
        const pdl_lint_finding *const finding = &inspection->findings[kernel->first_finding + i];
        if (finding->suppressed == NULL && finding->level >= PDL_LINT_WARNING) {
            return finding;
        }
    }
    return NULL;
}

static struct verdict judge_kernel(const pdl_inspection *inspection,
                                   const pdl_inspect_kernel *kernel)
{
    struct verdict one = {.shown = kernel->info->waits == PDL_YES ? PDL_YES : PDL_NO,
                          .always = kernel->info->waits_always,
                          .race = race_of(inspection, kernel)};
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
    struct verdict one = {.found = true,
                          .shown = info->waits_always,
                          .always = info->waits_always,
                          .race = race_of(inspection, inspection->kernels[kernel])};
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

/* Kernels of one name. */
struct namesakes {
    const struct pdl_named *kernels;
    uint32_t count;
};

/* Judges the kernel in some code. What is not shown by machine code may be shown by the PTX for its target. */
static struct verdict judge_code(const pdl_inspection *inspection, const pdl_inspect_image *code,
                                 struct namesakes names)
{
    struct verdict machine = {.found = false};
    struct verdict all = {.found = false};
    for (uint32_t i = 0; i < names.count; i++) {
        const pdl_inspect_kernel *kernel = inspection->kernels[names.kernels[i].kernel];
        const pdl_inspect_image *image = &inspection->images[kernel->image];
        if (image == code && code->kind == PDL_INSPECT_SASS) {
            join(&machine, judge_machine(inspection, names.kernels[i].kernel));
        } else if (image->kind == PDL_INSPECT_PTX && image->target == code->target &&
                   image->target_suffix == code->target_suffix) {
            join(&all, judge_kernel(inspection, kernel));
        }
    }
    return machine.shown == PDL_YES || !all.found ? machine : all;
}

static struct verdict judge(const pdl_inspection *inspection, struct namesakes names,
                            int32_t capability)
{
    struct verdict all = {.found = false};
    uint32_t best = 1;
    for (uint32_t i = 0; i < inspection->image_count; i++) {
        const pdl_inspect_image *image = &inspection->images[i];
        if (image->kind == PDL_INSPECT_UNKNOWN) { /* a driver may run what is in it */
            return (struct verdict){.found = true};
        }
        const uint32_t fitness =
            image->kind == PDL_INSPECT_LTO || image->kind == PDL_INSPECT_TILE
                ? 0
                : pdl_scan_fitness(image->kind == PDL_INSPECT_SASS, (uint32_t)image->target,
                                   image->target_suffix, (uint32_t)capability);
        if (fitness > best) {
            all = (struct verdict){.found = false};
        }
        if (fitness >= best) {
            best = fitness;
            join(&all, judge_code(inspection, image, names));
        }
    }
    return all;
}

/* ---- one kernel, and all ------------------------------------------------------------------------ */

pdl_known pdl_inspection_shown(const pdl_inspection *inspection, const char *kernel,
                               int32_t capability, pdl_known *waits_always)
{
    struct verdict all = {.found = false};
    if (inspection != NULL && kernel != NULL && capability > 0 && !inspection->facts_only) {
        struct pdl_named *const same =
            malloc(((size_t)inspection->kernel_count + 1) * sizeof(*same));
        uint32_t count = 0;
        for (uint32_t i = 0; same != NULL && i < inspection->kernel_count; i++) {
            if (strcmp(inspection->kernels[i]->info->name, kernel) == 0) {
                same[count++] = (struct pdl_named){kernel, i};
            }
        }
        if (same != NULL) {
            all = judge(inspection, (struct namesakes){same, count}, capability);
        }
        free(same);
    }
    if (waits_always != NULL) {
        *waits_always = (pdl_known)all.always;
    }
    return (pdl_known)all.shown;
}

/* The rule, the place and the remedy. The end of a long path says most. */
static void say_race(const pdl_lint_finding *finding, char *text, size_t size)
{
    enum { PATH_MOST = 96 };
    const pdl_inspect_place *const place =
        finding->place < finding->place_count ? finding->places[finding->place] : NULL;
    const char *const rule = pdl_lint_rule_id((pdl_lint_rule)finding->rule);
    const char *const advice = finding->advice != NULL ? finding->advice : "";
    if (place != NULL && place->file != NULL && place->line != 0) {
        const size_t length = strlen(place->file);
        (void)snprintf(text, size, "%s at %s%s:%u: %s", rule, length > PATH_MOST ? "..." : "",
                       place->file + (length > PATH_MOST ? length - PATH_MOST : 0), place->line,
                       advice);
    } else if (finding->line != 0) {
        (void)snprintf(text, size, "%s at line %u of the PTX: %s", rule, finding->line, advice);
    } else {
        (void)snprintf(text, size, "%s, %s: %s", rule, finding->message, advice);
    }
}

pdl_status pdl_inspection_proofs(const pdl_inspection *inspection, int32_t capability,
                                 void (*visit)(void *context, const pdl_inspect_proof *proof),
                                 void *context)
{
    if (inspection == NULL || visit == NULL || capability <= 0) {
        return pdl_inspect_fail(PDL_ERROR_INVALID_ARGUMENT, 0, 0, "%s",
                                inspection == NULL ? "inspection is NULL"
                                : visit == NULL    ? "visit is NULL"
                                                   : "capability is not positive");
    }
    const uint32_t count = inspection->facts_only ? 0 : inspection->kernel_count;
    struct pdl_named *const sorted = malloc(((size_t)count + 1) * sizeof(*sorted));
    if (sorted == NULL) {
        return pdl_inspect_fail(PDL_ERROR_OUT_OF_MEMORY, 0, 0, "no memory for %u kernels", count);
    }
    if (count > 0) {
        pdl_kernels_by_name(inspection, sorted);
    }
    for (uint32_t first = 0, same; first < count; first += same) {
        same = pdl_kernels_of_name(sorted + first, count - first);
        const struct verdict all =
            judge(inspection, (struct namesakes){sorted + first, same}, capability);
        char race[256] = "";
        if (all.race != NULL) {
            say_race(all.race, race, sizeof(race));
        }
        const pdl_inspect_proof proof = {
            .size = (uint32_t)sizeof(proof),
            .proof = all.race != NULL       ? PDL_PROOF_RACE
                     : all.shown == PDL_YES ? PDL_PROOF_PROVED
                                            : PDL_PROOF_NOT_PROVED,
            .shown = all.shown,
            .waits_always = all.always,
            .kernel = sorted[first].name,
            .race = all.race != NULL ? race : NULL,
        };
        if (all.found) {
            visit(context, &proof);
        }
    }
    free(sorted);
    return PDL_SUCCESS;
}
