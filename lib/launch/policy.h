/* SPDX-License-Identifier: MIT */
/* The policies of the program, and above them those of its environment. They are written once and
 * never freed: launches read them without a lock. */
#ifndef PDL_LIB_POLICY_H
#define PDL_LIB_POLICY_H

#include <stdatomic.h>

#include "core/driver.h"
#include "core/gate.h"

struct pdl_policies {
    bool off;
    bool capture_only;
    char *exclude; /* patterns, a NUL behind each */
    size_t exclude_size;
    const struct pdl_policies *before; /* so that what is kept can be found */
};

/* Looks at the environment, once. Called before a kernel can be launched. */
void pdl_policy_start(void);

/* Those that the program has set last, or the environment's. Never NULL. */
const struct pdl_policies *pdl_policy_now(void);

bool pdl_policy_excludes(const struct pdl_policies *policies, const char *name);

/* The function's own name of a mangled one: "fc2" of "_ZN2nn3fc2IfEEvPKT_"; others as they are.
 * Kernels are members of namespaces only, so that names alone are in front of it. */
enum { PDL_PLAIN_NAME = 256 };
const char *pdl_name_plain(const char *name, char plain[PDL_PLAIN_NAME]);

/* The stream of a descriptor that becomes a node of a graph: no stream has this address. */
#define PDL_NODE_STREAM ((CUstream)(void *)&pdl_gate_special)

/* The stream of a launch. A NULL stream is named, because it would mean something else to a Runtime of another
 * translation unit. */
static inline CUstream pdl_desc_stream(const pdl_launch_desc *desc)
{
    const bool own = desc->default_stream == PDL_DEFAULT_STREAM_PER_THREAD;
    return desc->stream != NULL ? desc->stream : own ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

/* Whether a launch that the gate grants is captured into a graph, or need not be. */
bool pdl_policy_allows(const struct pdl_driver *driver, const pdl_launch_desc *desc);

#endif /* PDL_LIB_POLICY_H */
