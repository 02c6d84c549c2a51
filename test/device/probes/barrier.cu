// SPDX-License-Identifier: MIT
// What the compiler may not carry across the wait and the trigger. The kernels of hazards.cu are the
// controls.
#include <pdl/device.cuh>

#if !defined(__CUDACC__) // clang without CUDA's headers
#define __global__ __attribute__((global))
#define THREAD     __nvvm_read_ptx_sreg_tid_x()
#else
#define THREAD threadIdx.x
#endif

// ---- PDL_RESTRICT: nothing is carried across, and below sm_90 the optimization is kept

// EXPECT safe_const_restrict sm_90+: ld.global, griddepcontrol.wait, ld.global, st.global
// EXPECT safe_const_restrict below sm_90: ld.global.nc, st.global
extern "C" __global__ void safe_const_restrict(const float *PDL_RESTRICT x, float *PDL_RESTRICT y)
{
    const float before = x[THREAD];
    PDL_WAIT();
    y[THREAD] = before + x[THREAD];
}

// EXPECT safe_non_coherent sm_90+: griddepcontrol.wait, ld.global, st.global
// EXPECT safe_non_coherent below sm_90: ld.global.nc, st.global
extern "C" __global__ void safe_non_coherent(const float *PDL_RESTRICT x, float *PDL_RESTRICT y)
{
    PDL_WAIT();
    y[THREAD] = x[THREAD];
}

// EXPECT safe_restrict sm_90+: ld.global, griddepcontrol.wait, ld.global, st.global
// EXPECT safe_restrict below sm_90: ld.global, st.global
extern "C" __global__ void safe_restrict(float *PDL_RESTRICT y)
{
    const float before = y[THREAD];
    PDL_WAIT();
    y[THREAD] = before + y[THREAD];
}

// EXPECT safe_restrict_store sm_90+: st.global, griddepcontrol.wait, st.global
// EXPECT safe_restrict_store below sm_90: st.global
extern "C" __global__ void safe_restrict_store(float *PDL_RESTRICT y)
{
    y[THREAD] = 1;
    PDL_WAIT();
    y[THREAD] = 2;
}

// ---- plain pointers: the macros are barriers for the compiler

// EXPECT plain_read_wait_read sm_90+: ld.global, griddepcontrol.wait, ld.global, st.global
// EXPECT plain_read_wait_read below sm_90: ld.global, st.global
extern "C" __global__ void plain_read_wait_read(const float *x, float *y)
{
    const float before = x[THREAD];
    PDL_WAIT();
    y[THREAD] = before + x[THREAD];
}

// EXPECT plain_write_wait_write sm_90+: st.global, griddepcontrol.wait, st.global
// EXPECT plain_write_wait_write below sm_90: st.global
extern "C" __global__ void plain_write_wait_write(float *y)
{
    y[THREAD] = 1;
    PDL_WAIT();
    y[THREAD] = 2;
}

// EXPECT plain_read_trigger_read sm_90+: ld.global, griddepcontrol.launch_dependents, ld.global, st.global
// EXPECT plain_read_trigger_read below sm_90: ld.global, st.global
extern "C" __global__ void plain_read_trigger_read(const float *x, float *y)
{
    const float before = x[THREAD];
    PDL_LAUNCH_DEPENDENTS();
    y[THREAD] = before + x[THREAD];
}

// EXPECT plain_write_trigger_write sm_90+: st.global, griddepcontrol.launch_dependents, st.global
// EXPECT plain_write_trigger_write below sm_90: st.global
extern "C" __global__ void plain_write_trigger_write(float *y)
{
    y[THREAD] = 1;
    PDL_LAUNCH_DEPENDENTS();
    y[THREAD] = 2;
}
