// SPDX-License-Identifier: MIT
// Kernels that a log of libpdl says were launched without overlap only, and some that overlap and wait.
// COMPILERS: nvcc nvrtc
// LINT: --launches CORPUS/launched.log
#include <pdl/device.cuh>

#if !defined(__CUDACC_RTC__)
#include "../math.cuh"
#endif

extern "C" {

__global__ void head_read(const float *x, float *y)
{
    const float early = x[threadIdx.x];
    PDL_WAIT();
    y[threadIdx.x] = early;
    PDL_LAUNCH_DEPENDENTS();
}

__global__ void head_write(float *y)
{
    y[threadIdx.x] = 0.0f;
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
}

__global__ void head_some(const float *x, float *y)
{
    if (threadIdx.x == 0) {
        PDL_WAIT();
    }
    y[threadIdx.x] = x[threadIdx.x];
    PDL_LAUNCH_DEPENDENTS();
}

__global__ void head_only_triggers(const float *x, float *y)
{
    PDL_LAUNCH_DEPENDENTS(); // of the first kernel of a chain
    y[threadIdx.x] = x[threadIdx.x];
}

__global__ void head_never(const float *x, float *y)
{
    y[threadIdx.x] = x[threadIdx.x];
}

__global__ void head_loop(const float *x, float *y, int n)
{
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        sum += x[i];
    }
    PDL_WAIT();
    y[threadIdx.x] = sum;
    PDL_LAUNCH_DEPENDENTS();
}

__global__ void head_path(const float *x, float *y, int n)
{
    if (n > 1) {
        PDL_WAIT();
    }
    y[threadIdx.x] += x[threadIdx.x];
    PDL_LAUNCH_DEPENDENTS();
}

__global__ void head_atomic(int *counts)
{
    atomicAdd(counts, 1);
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
}

__global__ void head_pointer(const float *const *table, float *y)
{
    const float *x = table[blockIdx.x];
    const float first = x[0];
    PDL_WAIT();
    y[threadIdx.x] = first;
    PDL_LAUNCH_DEPENDENTS();
}

__global__ void head_shared(const float *x, float *y)
{
    __shared__ float tile[128];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    PDL_WAIT();
    y[threadIdx.x] = tile[127 - threadIdx.x];
    PDL_LAUNCH_DEPENDENTS();
}

// These overlap.

__global__ void link_waits(const float *x, float *y)
{
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x];
    PDL_LAUNCH_DEPENDENTS();
}

__global__ void link_flag(const float *x, float *y, bool overlaps)
{
    if (overlaps) { // EXPECT note: no-wait
        PDL_WAIT();
    }
    y[threadIdx.x] = x[threadIdx.x];
}
}
