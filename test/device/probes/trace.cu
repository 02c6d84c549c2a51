// SPDX-License-Identifier: MIT
// What a trace adds: with it one thread stamps and stores at once, before and after the wait and before the
// trigger; without it, or with PDL_TRACE=0, nothing at all.
//
// VARIANT on: -DPDL_TRACE=1
// VARIANT defined: -DPDL_TRACE
// VARIANT off: -DPDL_TRACE=0
#include <pdl/trace.cuh>

#if !defined(__CUDACC__) // clang without CUDA's headers
#define __global__ __attribute__((global))
#endif

// EXPECT traced below sm_90 plain|off: ld.global, st.global
// EXPECT traced below sm_90 on|defined: globaltimer, st.global.v2 x3, globaltimer, globaltimer, st.global.v2, ld.global, st.global, globaltimer, st.global, globaltimer, st.global.v2
// EXPECT traced sm_90+ plain|off: griddepcontrol.wait, ld.global, st.global, griddepcontrol.launch_dependents
// EXPECT traced sm_90+ on|defined: globaltimer, st.global.v2 x3, globaltimer, griddepcontrol.wait, globaltimer, st.global.v2, ld.global, st.global, globaltimer, st.global, griddepcontrol.launch_dependents, globaltimer, st.global.v2
extern "C" __global__ void traced(int *y PDL_TRACE_PARAMETER)
{
    PDL_TRACE_BEGIN();
    PDL_TRACE_WAIT();
    y[0] = y[1] + 1;
    PDL_TRACE_LAUNCH_DEPENDENTS();
    PDL_TRACE_END();
}

// EXPECT alone below sm_90 plain|off: nothing
// EXPECT alone below sm_90 on|defined: globaltimer, st.global.v2 x3, globaltimer, st.global, globaltimer, st.global.v2
// EXPECT alone sm_90+ plain|off: griddepcontrol.launch_dependents
// EXPECT alone sm_90+ on|defined: globaltimer, st.global.v2 x3, globaltimer, st.global, griddepcontrol.launch_dependents, globaltimer, st.global.v2
extern "C" __global__ void alone(PDL_TRACE_ONLY_PARAMETER)
{
    PDL_TRACE_BEGIN();
    PDL_TRACE_TRIGGER_POINT(0);
    PDL_TRACE_TRIGGER_POINT(1);
    PDL_TRACE_END();
}
