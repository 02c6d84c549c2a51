/* SPDX-License-Identifier: MIT */
/* From what the flow found to findings. */
#ifndef PDL_INSPECT_RULES_H
#define PDL_INSPECT_RULES_H

#include "inspect/rules/markers.h"

/* Adds the findings of a kernel, which is the inspection's last. */
void pdl_rules_apply(struct pdl_ptx_module *module, const struct pdl_flow *flow,
                     const struct pdl_effects *effects, const struct pdl_allows *allows,
                     const char *const *names);

/* Adds the findings that take more than one image to see: a newer device may be given older code without
 * waits (across.c). */
void pdl_rules_across(pdl_inspection *inspection);

#endif /* PDL_INSPECT_RULES_H */
