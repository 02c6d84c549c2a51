/* SPDX-License-Identifier: MIT */
/* What kernels call, directly or not. */
#ifndef PDL_INSPECT_REACH_H
#define PDL_INSPECT_REACH_H

#include "inspect/ptx/module.h"

/* What was found in one kernel and all that it may call. */
enum {
    PDL_REACH_COOPERATIVE = 1, /* it uses what only a cooperative launch has */
    PDL_REACH_LAUNCHES = 2     /* it launches from the device */
};

struct pdl_reach {
    bool *seen; /* by function: it was reached since they were last cleared */
    uint32_t *reached;
    uint32_t count; /* in reached */
    size_t seen_capacity, reached_capacity;
};

/* Adds a function and all that it may call to those that were reached; *found has what they do. */
void pdl_reach_add(struct pdl_reach *reach, const struct pdl_ptx_module *module, uint32_t function,
                   unsigned *found);

/* Makes room for the functions of a text and clears; it is always of the same text. */
void pdl_reach_clear(struct pdl_reach *reach, const struct pdl_ptx_module *module);

#endif /* PDL_INSPECT_REACH_H */
