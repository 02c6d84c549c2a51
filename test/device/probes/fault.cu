// SPDX-License-Identifier: MIT
// Fault injection: with -DPDL_FAULT_INJECT each trigger is followed by a sleep until the clock says that
// it was long enough; with =2 each wait by a trigger and a sleep. Without it, and with =0, neither is
// there.
//
// VARIANT off: -DPDL_FAULT_INJECT=0
// VARIANT on: -DPDL_FAULT_INJECT
// VARIANT one: -DPDL_FAULT_INJECT=1
// VARIANT two: -DPDL_FAULT_INJECT=2
// VARIANT longer: -DPDL_FAULT_INJECT -DPDL_FAULT_INJECT_NS=2000000
// VARIANT relocatable by nvcc: -DPDL_FAULT_INJECT=2 -rdc=true
#include <pdl/device.cuh>

#if !defined(__CUDACC__) // clang without CUDA's headers
#define __global__ __attribute__((global))
#endif

// EXPECT waits below sm_90: st.global
// EXPECT waits sm_90+ plain|off|on|one|longer: griddepcontrol.wait, st.global
// EXPECT waits sm_90+ two|relocatable: griddepcontrol.wait, griddepcontrol.launch_dependents, globaltimer, loop, nanosleep, globaltimer, again, st.global
extern "C" __global__ void waits(int *y)
{
    PDL_WAIT();
    *y = 1;
}

// EXPECT triggers below sm_90: st.global
// EXPECT triggers sm_90+ plain|off: griddepcontrol.launch_dependents, st.global
// EXPECT triggers sm_90+ on|one|longer|two|relocatable: griddepcontrol.launch_dependents, globaltimer, loop, nanosleep, globaltimer, again, st.global
extern "C" __global__ void triggers(int *y)
{
    PDL_LAUNCH_DEPENDENTS();
    *y = 1;
}
