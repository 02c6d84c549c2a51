/* SPDX-License-Identifier: MIT */
/* The machine code of a kernel beside its PTX: loads that ptxas moved above the wait, and code without PTX. */
#ifndef PDL_INSPECT_RULES_MACHINE_H
#define PDL_INSPECT_RULES_MACHINE_H

#include "inspect/flow/effects.h"

/* Notes where the kernel that was added last accesses global memory, before constants are taken out of its
 * effects (noted.c). */
void pdl_machine_note(struct pdl_ptx_module *module, const struct pdl_flow *flow,
                      const struct pdl_effects *effects);

/* Compares the code of the kernels of one name: adds findings, and says what was not checked. */
void pdl_machine_compare(pdl_inspection *inspection, const struct pdl_named *same, uint32_t count);

/* The findings of such kernels if none of them is in PTX for sm_90 or newer (machine_only.c). */
void pdl_machine_alone(pdl_inspection *inspection, const struct pdl_named *same, uint32_t count);

/* "sm_90a". */
const char *pdl_machine_target(pdl_inspection *inspection, const pdl_inspect_image *image);

/* Whether two chains of places are the same as far as both go, columns aside. The compilers' ways to write a path
 * differ: the last part of it counts. */
bool pdl_machine_same_place(const pdl_inspect_place *const *a, uint32_t a_count,
                            const pdl_inspect_place *const *b, uint32_t b_count);

#endif /* PDL_INSPECT_RULES_MACHINE_H */
