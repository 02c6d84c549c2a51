// SPDX-License-Identifier: MIT
// What is called through a pointer is called after the wait.
// COMPILERS: nvcc nvrtc clang
#include <pdl/device.cuh>

#if !defined(__CUDACC_RTC__)
#include "../math.cuh"
#endif

typedef float (*Operation)(const float *, int);

static __device__ __noinline__ float add_pair(const float *x, int i)
{
    return x[i] + x[i + 1];
}

static __device__ __noinline__ float multiply_pair(const float *x, int i)
{
    return x[i] * x[i + 1];
}

static __device__ Operation pick(int which)
{
    Operation operations[2] = {add_pair, multiply_pair};
    return operations[which & 1];
}

__global__ void indirect_after(const float *x, float *y, int which)
{
    PDL_WAIT();
    y[threadIdx.x] = pick(which)(x, threadIdx.x);
}
