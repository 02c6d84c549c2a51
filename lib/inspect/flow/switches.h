/* SPDX-License-Identifier: MIT */
#ifndef PDL_INSPECT_SWITCHES_H
#define PDL_INSPECT_SWITCHES_H

#include "inspect/flow/flow.h"

/* Finds the decisions of a kernel that a flag of its launch makes (`launch`), and has the flow run with
 * these flags set. */
pdl_status pdl_flow_find_switches(struct pdl_flow *flow);

#endif /* PDL_INSPECT_SWITCHES_H */
