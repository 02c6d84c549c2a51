/* SPDX-License-Identifier: MIT */
/* What takes more than one image to see: a newer device may be given older code without waits. */
#ifndef PDL_INSPECT_ACROSS_H
#define PDL_INSPECT_ACROSS_H

#include "inspect/inspection.h"

/* Adds the findings that take more than one image to see. */
pdl_status pdl_rules_across(pdl_inspection *inspection);

#endif /* PDL_INSPECT_ACROSS_H */
