// SPDX-License-Identifier: MIT
// What the kernels that clang compiles without CUDA's headers need of them. Nothing under nvcc.
#ifndef PDL_TEST_LINT_MATH_CUH
#define PDL_TEST_LINT_MATH_CUH

#if defined(__clang__) && !defined(__NVCC__)
#define __host__        __attribute__((host))
#define __device__      __attribute__((device))
#define __global__      __attribute__((global))
#define __shared__      __attribute__((shared))
#define __constant__    __attribute__((constant))
#define __noinline__    __attribute__((noinline))
#define __forceinline__ __attribute__((always_inline)) inline
#include <__clang_cuda_builtin_vars.h>

static __device__ inline float rsqrtf(float x)
{
    return __nvvm_rsqrt_approx_f(x);
}
static __device__ inline float expf(float x)
{
    return __nvvm_ex2_approx_f(x * 1.44269504f);
}
static __device__ inline unsigned atomicAdd(unsigned *at, unsigned value)
{
    return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}
#endif

#endif
