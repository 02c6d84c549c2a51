/* SPDX-License-Identifier: MIT */
/* An inspection while it is made, and what its readers share. */
#ifndef PDL_INSPECT_INSPECTION_H
#define PDL_INSPECT_INSPECTION_H

#include "inspect/error.h"
#include "inspect/machine.h"
#include "inspect/memory.h"

struct pdl_launches;

struct pdl_inspection {
    struct pdl_arena arena; /* every string and small array in it */
    pdl_inspect_image *images;
    pdl_inspect_kernel **kernels;
    pdl_lint_finding *findings;
    pdl_lint_suppression *markers;
    uint32_t image_count, kernel_count, finding_count, marker_count;
    /* What is compared once all images are read. */
    struct pdl_machine *machines;
    struct pdl_noted *noted;
    uint32_t machine_count, noted_count;
    size_t machine_capacity, noted_capacity;
    bool in_container;          /* machine code may stand beside PTX */
    uint32_t compared_findings; /* those of the images themselves */
    uint64_t compare_left;      /* steps */
    size_t image_capacity, kernel_capacity, finding_capacity, marker_capacity;
    const pdl_inspect_options *options; /* of the size of this library; NULL once it is made */
    bool facts_only;                    /* PDL_INSPECT_FACTS_ONLY was among them */
    uint64_t steps;                     /* of max_steps */
    struct pdl_launches *launches;      /* the names in the options; NULL once it is made */
    unsigned char *unpacked;            /* what was decompressed last; NULL once it is made */
    uint32_t *matches; /* by entry of the options' lists, one list behind the other */
    uint64_t list_counts[PDL_INSPECT_LAUNCHED_PLAIN + 1]; /* by pdl_inspect_list */
};

/* Takes steps of max_steps, beyond which the inspection fails. */
void pdl_inspection_spend(pdl_inspection *inspection, uint64_t steps);

/* Each adds a copy. Their sizes, and an image's and a kernel's ranges (first_kernel, first_finding
 * and their counts) are kept by these. Kernels are added to the last image, findings to the kernel
 * that they name. */
void pdl_inspection_add_image(pdl_inspection *inspection, const pdl_inspect_image *image);
void pdl_inspection_add_kernel(pdl_inspection *inspection, const pdl_inspect_kernel *kernel,
                               const pdl_kernel_info *info);
void pdl_inspection_add_finding(pdl_inspection *inspection, const pdl_lint_finding *finding);

/* What was read of a kernel's machine code; NULL if nothing was, as of one that does not wait. */
const struct pdl_machine *pdl_machine_find(const pdl_inspection *inspection, uint32_t kernel);

/* A kernel of an inspection by its name. */
struct pdl_named {
    const char *name;
    uint32_t kernel;
};

/* All kernels in the order of their names; how many of the first `count` have the same name. */
void pdl_kernels_by_name(const pdl_inspection *inspection, struct pdl_named *sorted);
uint32_t pdl_kernels_of_name(const struct pdl_named *sorted, uint32_t count);

/* Whether a finding says that something was not shown: of the rules about waiting even a note does. */
bool pdl_finding_is_doubt(const pdl_lint_finding *finding);

/* By entry of a list of the options, how often it matched: a part of `matches`. */
uint32_t *pdl_inspection_counts(const pdl_inspection *inspection, pdl_inspect_list list);

/* ---- what callers give (given.c) ----------------------------------------------------------------- */

/* Makes `copy` (of `known` bytes) of a caller's options, of at least `smallest` bytes, or of NULL. What
 * is missing is zero, and what this library does not know must be. */
void pdl_given_resize(void *copy, size_t known, const void *options, size_t smallest,
                      const char *initializer);

/* Refuses a list that is NULL or has a NULL in it. */
void pdl_given_check_list(const char *const *list, uint64_t count, const char *name);

#endif /* PDL_INSPECT_INSPECTION_H */
