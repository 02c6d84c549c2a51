// SPDX-License-Identifier: MIT
// What __restrict__ lets the compiler do with the wait. These are the controls of barrier.cu: they show
// that this compiler uses the freedom it is given, so that the expectations there can fail. A compiler
// that uses it less makes this probe fail, and nothing is wrong with the header then.
#include <pdl/device.cuh>

#if !defined(__CUDACC__) // clang without CUDA's headers
#define __global__ __attribute__((global))
#define THREAD     __nvvm_read_ptx_sreg_tid_x()
#else
#define THREAD threadIdx.x
#endif

// The value that was read before the wait is used after it, and is non-coherent besides.
// EXPECT hazard_const_restrict sm_90+: ld.global.nc, griddepcontrol.wait, st.global
// EXPECT hazard_const_restrict below sm_90: ld.global.nc, st.global
extern "C" __global__ void hazard_const_restrict(const float *__restrict__ x, float *__restrict__ y)
{
    const float before = x[THREAD];
    PDL_WAIT();
    y[THREAD] = before + x[THREAD];
}

// Also where it is read after the wait only, the load is non-coherent.
// EXPECT hazard_non_coherent sm_90+: griddepcontrol.wait, ld.global.nc, st.global
// EXPECT hazard_non_coherent below sm_90: ld.global.nc, st.global
extern "C" __global__ void hazard_non_coherent(const float *__restrict__ x, float *__restrict__ y)
{
    PDL_WAIT();
    y[THREAD] = x[THREAD];
}

// Without const the load is coherent, but the earlier value is still used.
// EXPECT hazard_restrict sm_90+: ld.global, griddepcontrol.wait, st.global
// EXPECT hazard_restrict below sm_90: ld.global, st.global
extern "C" __global__ void hazard_restrict(float *__restrict__ y)
{
    const float before = y[THREAD];
    PDL_WAIT();
    y[THREAD] = before + y[THREAD];
}

// And a store before the wait is left out for the one after it.
// EXPECT hazard_restrict_store sm_90+: griddepcontrol.wait, st.global
// EXPECT hazard_restrict_store below sm_90: st.global
extern "C" __global__ void hazard_restrict_store(float *__restrict__ y)
{
    y[THREAD] = 1;
    PDL_WAIT();
    y[THREAD] = 2;
}

// An output that is __restrict__ makes an input non-coherent that is neither const nor __restrict__.
// EXPECT hazard_restrict_output sm_90+: griddepcontrol.wait, ld.global.nc, st.global
// EXPECT hazard_restrict_output below sm_90: ld.global.nc, st.global
// EXPECT hazard_restrict_output sm_90+ clang: griddepcontrol.wait, ld.global, st.global
// EXPECT hazard_restrict_output below sm_90 clang: ld.global, st.global
extern "C" __global__ void hazard_restrict_output(float *x, float *__restrict__ y)
{
    PDL_WAIT();
    y[THREAD] = x[THREAD];
}

// A local pointer is no better than a parameter.
// EXPECT hazard_local_restrict sm_90+: ld.global.nc, griddepcontrol.wait, st.global
// EXPECT hazard_local_restrict below sm_90: ld.global.nc, st.global
// EXPECT hazard_local_restrict sm_90+ clang: ld.global, griddepcontrol.wait, ld.global, st.global
// EXPECT hazard_local_restrict below sm_90 clang: ld.global, st.global
extern "C" __global__ void hazard_local_restrict(const float *x, float *y)
{
    const float *__restrict__ from = x;
    const float before = from[THREAD];
    PDL_WAIT();
    y[THREAD] = before + from[THREAD];
}
