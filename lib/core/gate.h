/* SPDX-License-Identifier: MIT */
/* The gate: what kernel, device, code and process say about an overlap. A launch asks pdl_launch_decide()
 * (launch/lower.h), which asks here.
 *
 * The first that holds is the reason:
 *   DISABLED       the environment or a policy turned overlap off (launch/policy.h)
 *   EXCLUDED       the kernel is in the list of a policy
 *   DEVICE         the device has no Programmatic Dependent Launch
 *   COOPERATIVE    the launch is cooperative
 *   CODE           the code was compiled without its waits
 *   NO_WAIT        the code is known not to wait
 *   WAITS_UNKNOWN  it is unknown whether it does
 *   STRICT         the kernel is not proved to wait before it touches memory, in strict mode
 *   RACE           libpdl-inspect finds a race in the kernel
 * A policy may still withdraw what is granted.
 */
#ifndef PDL_LIB_GATE_H
#define PDL_LIB_GATE_H

#include <stdatomic.h>
#include <stdbool.h>

#include <pdl/pdl.h>

#include "os/compiler.h"

/* The least compute capability of devices and code, 10 * major + minor. */
#define PDL_GATE_CAPABILITY 90

/* What the decision depends on. */
struct pdl_gate {
    bool disabled;    /* for the process */
    bool excluded;    /* for the kernel */
    int capability;   /* of the device */
    int code;         /* that the kernel was compiled for; PDL_GATE_CAPABILITY if not known */
    uint32_t waits;   /* a pdl_known */
    bool strict;      /* strict mode does not find the kernel proved to wait */
    bool race;        /* there is one in the kernel */
    bool cooperative; /* the launch */
};

/* For a launch that asks for overlap. */
pdl_reason pdl_gate_decide(const struct pdl_gate *gate);

/* A decision for a launch that is not cooperative, made for one that is. */
static inline pdl_reason pdl_gate_cooperative(pdl_reason reason)
{
    const bool earlier = reason == PDL_REASON_DISABLED || reason == PDL_REASON_EXCLUDED ||
                         reason == PDL_REASON_DEVICE;
    return earlier ? reason : PDL_REASON_COOPERATIVE;
}

/* What makes launches look twice; zero in most processes, so that a launch tests one word. */
enum {
    PDL_GATE_OFF = 1,   /* the policy turns overlap off */
    PDL_GATE_LOG = 2,   /* PDL_LOG is set */
    PDL_GATE_POLICY = 4 /* there is or was a policy */
};
extern PDL_HIDDEN atomic_uint pdl_gate_special;

static inline unsigned pdl_gate_is_special(void)
{
    return atomic_load_explicit(&pdl_gate_special, memory_order_relaxed);
}

#endif /* PDL_LIB_GATE_H */
