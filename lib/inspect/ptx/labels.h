/* SPDX-License-Identifier: MIT */
/* From the labels that branches name to instructions. */
#ifndef PDL_INSPECT_LABELS_H
#define PDL_INSPECT_LABELS_H

#include "inspect/ptx/body.h"

/* Turns the labels that the branches of a body name into the instructions behind them. */
pdl_status pdl_ptx_labels_resolve(const struct pdl_ptx_module *module, struct pdl_body *body);

#endif /* PDL_INSPECT_LABELS_H */
