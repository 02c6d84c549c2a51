/* SPDX-License-Identifier: MIT */
/* Which instructions need the kernels before this one to have ended. */
#ifndef PDL_INSPECT_NEEDS_H
#define PDL_INSPECT_NEEDS_H

#include "inspect/rules/markers.h"

/* The body that is looked at. */
struct pdl_needs {
    const struct pdl_ptx_module *module;
    const struct pdl_body *body;
    const struct pdl_values *values;
    const struct pdl_constants *constants;
    bool hoist; /* PDL_INSTRUMENT_HOIST */
};

/* Whether an instruction may not be executed before the wait. */
bool pdl_needs_wait(const struct pdl_needs *needs, const struct pdl_instruction *instruction);

/* Whether it may read global memory. */
bool pdl_needs_reads(const struct pdl_needs *needs, const struct pdl_instruction *instruction);

/* Whether it is a non-coherent load of memory that a kernel in flight may write, with a coherent twin. */
bool pdl_needs_coherence(const struct pdl_needs *needs, const struct pdl_instruction *instruction);

#endif /* PDL_INSPECT_NEEDS_H */
