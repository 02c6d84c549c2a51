/* SPDX-License-Identifier: MIT */
/* The log of decisions, for PDL_LOG: each kernel's first decision about overlap, and every change. */
#ifndef PDL_LIB_LOG_H
#define PDL_LIB_LOG_H

#include "launch/lower.h"

PDL_COLD void pdl_log_write(const pdl_kernel *kernel, const struct pdl_lowered *lowered);

/* A launch, or a node of a graph, was made of this. */
static inline void pdl_log_decision(const pdl_kernel *kernel, const struct pdl_lowered *lowered)
{
    if (pdl_gate_is_special()) {
        pdl_log_write(kernel, lowered);
    }
}

#endif /* PDL_LIB_LOG_H */
