// SPDX-License-Identifier: MIT
// Every macro of pdl/trace.cuh.
#include <pdl/trace.cuh>
extern "C" __global__ void k(int *x PDL_TRACE_PARAMETER)
{
    PDL_TRACE_BEGIN();
    PDL_TRACE_WAIT();
    *x = 1;
    PDL_TRACE_LAUNCH_DEPENDENTS();
    PDL_TRACE_END();
}
