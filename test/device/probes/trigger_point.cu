// SPDX-License-Identifier: MIT
// PDL_TRIGGER_POINT is the trigger at the one place that PDL_TRIGGER_SELECT names: place 0 without it,
// none for -1 and for a place that there is not.
//
// VARIANT first: -DPDL_TRIGGER_SELECT=0
// VARIANT second: -DPDL_TRIGGER_SELECT=1
// VARIANT third: -DPDL_TRIGGER_SELECT=2
// VARIANT none: -DPDL_TRIGGER_SELECT=-1
// VARIANT beyond: -DPDL_TRIGGER_SELECT=3
#include <pdl/device.cuh>

#if !defined(__CUDACC__) // clang without CUDA's headers
#define __global__ __attribute__((global))
#endif

// EXPECT places below sm_90: st.global x2
// EXPECT places sm_90+ plain|first: griddepcontrol.launch_dependents, st.global x2
// EXPECT places sm_90+ second: st.global, griddepcontrol.launch_dependents, st.global
// EXPECT places sm_90+ third: st.global x2, griddepcontrol.launch_dependents
// EXPECT places sm_90+ none|beyond: st.global x2
extern "C" __global__ void places(int *y)
{
    PDL_TRIGGER_POINT(0);
    y[0] = 1;
    PDL_TRIGGER_POINT(1);
    y[32] = 2;
    PDL_TRIGGER_POINT(2);
}
