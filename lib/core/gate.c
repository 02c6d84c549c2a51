/* SPDX-License-Identifier: MIT */
/* The gate: the order of the reasons, their sentences, and the switch of the process. */
#include "core/gate.h"

atomic_uint pdl_gate_special;

pdl_reason pdl_gate_decide(const struct pdl_gate *gate)
{
    if (gate->disabled) {
        return PDL_REASON_DISABLED;
    }
    if (gate->excluded) {
        return PDL_REASON_EXCLUDED;
    }
    if (gate->capability < PDL_GATE_CAPABILITY) {
        return PDL_REASON_DEVICE;
    }
    if (gate->cooperative) {
        return PDL_REASON_COOPERATIVE;
    }
    if (gate->code < PDL_GATE_CAPABILITY) {
        return PDL_REASON_CODE;
    }
    if (gate->waits != PDL_YES) {
        return gate->waits == PDL_NO ? PDL_REASON_NO_WAIT : PDL_REASON_WAITS_UNKNOWN;
    }
    if (gate->strict) {
        return PDL_REASON_STRICT;
    }
    return gate->race ? PDL_REASON_RACE : PDL_REASON_GRANTED;
}

const char *pdl_reason_string(pdl_reason reason)
{
    switch (reason) {
    case PDL_REASON_GRANTED:
        return "the launch may overlap";
    case PDL_REASON_NOT_REQUESTED:
        return "the descriptor asks for no overlap";
    case PDL_REASON_DISABLED:
        return "PDL_OVERLAP=0 or a policy turned overlap off";
    case PDL_REASON_DEVICE:
        return "the device is below compute capability 9.0";
    case PDL_REASON_COOPERATIVE:
        return "a cooperative launch does not start before the previous work has ended";
    case PDL_REASON_CODE:
        return "the kernel was compiled for less than compute capability 9.0, without its waits";
    case PDL_REASON_NO_WAIT:
        return "the kernel is known not to wait for the kernel before";
    case PDL_REASON_WAITS_UNKNOWN:
        return "it is unknown whether the kernel waits for the kernel before";
    case PDL_REASON_PREDECESSOR:
        return "the kernel before does not wait for the kernels before it";
    case PDL_REASON_NODE:
        return "what it depends on is not a kernel";
    case PDL_REASON_NOT_CAPTURING:
        return "only launches that are captured into a graph may overlap";
    case PDL_REASON_EXCLUDED:
        return "a policy excludes the kernel from overlap";
    case PDL_REASON_STRICT:
        return "the kernel is not proved to wait on every path before it touches memory";
    case PDL_REASON_RACE:
        return "the analysis of the kernel's code finds a race";
    default:
        return "not a reason of this library";
    }
}
