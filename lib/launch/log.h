/* SPDX-License-Identifier: MIT */
/* The log of decisions, for PDL_LOG: each kernel's first decision about overlap, and every change. */
#ifndef PDL_LIB_LOG_H
#define PDL_LIB_LOG_H

#include "launch/kernel.h"

PDL_COLD void pdl_log_write(const pdl_kernel *kernel, struct pdl_kernel_facts *facts,
                            pdl_reason reason);

/* A launch, or a node of a graph, was made with this decision. */
static inline void pdl_log_decision(const pdl_kernel *kernel, struct pdl_kernel_facts *facts,
                                    pdl_reason reason)
{
    if ((pdl_gate_is_special() & PDL_GATE_LOG) != 0) {
        pdl_log_write(kernel, facts, reason);
    }
}

#endif /* PDL_LIB_LOG_H */
