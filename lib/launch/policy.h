/* SPDX-License-Identifier: MIT */
/* The policies of the program, and above them those of its environment. They are written once and
 * never freed: launches read them without a lock, and kernels point into them. */
#ifndef PDL_LIB_POLICY_H
#define PDL_LIB_POLICY_H

#include <stdatomic.h>

#include "core/driver.h"
#include "core/gate.h"
#include "launch/tuned.h"

struct pdl_policies {
    bool capture_only;
    bool tuned_auto;
    char *exclude; /* patterns, a NUL behind each */
    size_t exclude_size;
    struct pdl_tuned_file tuned;
    const struct pdl_policies *before; /* so that what is kept can be found */
};

/* Looks at the environment, once. Called before a kernel can be launched. */
void pdl_policy_start(void);

/* Those that the program has set last, or the environment's. Never NULL. */
const struct pdl_policies *pdl_policy_now(void);

bool pdl_policy_excludes(const struct pdl_policies *policies, const char *name);

/* A kernel's lines in the tuned file. */
const struct pdl_tuned_line *pdl_policy_lines(const struct pdl_policies *policies,
                                              const char *name);

/* The stream of a descriptor that becomes a node of a graph: no stream has this address. */
#define PDL_NODE_STREAM ((CUstream)(void *)&pdl_gate_special)

/* The stream of a launch. A NULL stream is named, because it would mean something else to a Runtime of another
 * translation unit. */
static inline CUstream pdl_desc_stream(const pdl_launch_desc *desc)
{
    const bool own = desc->default_stream == PDL_DEFAULT_STREAM_PER_THREAD;
    return desc->stream != NULL ? desc->stream : own ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

/* What they make of a launch that the gate grants; `lines` are the kernel's. */
pdl_reason pdl_policy_decide(const struct pdl_driver *driver, const struct pdl_tuned_line *lines,
                             const pdl_launch_desc *desc);

#endif /* PDL_LIB_POLICY_H */
