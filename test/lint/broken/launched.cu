// SPDX-License-Identifier: MIT
// Kernels that never wait, and that a log of libpdl or a list says were launched with overlap.
// COMPILERS: nvcc nvrtc
// LINT: --launches CORPUS/launched.log
#include <pdl/device.cuh>

#if !defined(__CUDACC_RTC__)
#include "../math.cuh"
#endif

extern "C" {

__global__ void launched_combine(const unsigned *parts, unsigned *bins, int n) // EXPECT: no-wait
{
    unsigned sum = 0;
    for (int i = 0; i < n; i++) {
        sum += parts[i * blockDim.x + threadIdx.x];
    }
    bins[threadIdx.x] = sum;
}

__global__ void launched_topk(const float *x, float *best, int *which, int n) // EXPECT: no-wait
{
    __shared__ float value[256];
    __shared__ int index[256];
    const unsigned t = threadIdx.x;
    value[t] = t < n ? x[blockIdx.x * n + t] : -1.0f;
    index[t] = t < n ? static_cast<int>(t) : -1;
    __syncthreads();
    for (unsigned step = 128; step > 0; step /= 2) {
        if (t < step && value[t + step] > value[t]) {
            value[t] = value[t + step];
            index[t] = index[t + step];
        }
        __syncthreads();
    }
    if (t == 0) {
        best[blockIdx.x] = value[0];
        which[blockIdx.x] = index[0];
    }
}

struct launched_group {
    const float *a, *b;
    float *c;
    int n;
};

__global__ void launched_groups(const launched_group *groups) // EXPECT: no-wait
{
    const launched_group group = groups[blockIdx.y];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < group.n) {
        group.c[i] = group.a[i] * group.b[i];
    }
}

__global__ void launched_fill(float *y, float value) // EXPECT: no-wait
{
    y[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void launched_count(const int *x, int *counts) // EXPECT: no-wait
{
    atomicAdd(&counts[x[threadIdx.x]], 1);
}

__global__ void launched_reset(int *counts) // EXPECT: no-wait
{
    atomicExch(&counts[threadIdx.x], 0);
}

__global__ void launched_early_trigger(const float *x, float *y)
{
    PDL_LAUNCH_DEPENDENTS(); // EXPECT: no-wait
    y[threadIdx.x] = x[threadIdx.x];
}

__global__ void launched_late_trigger(const float *x, float *y)
{
    y[threadIdx.x] = x[threadIdx.x];
    PDL_LAUNCH_DEPENDENTS(); // EXPECT: no-wait
}

__global__ void launched_both_ways(const float *x, float *y) // EXPECT: no-wait
{
    y[threadIdx.x] += x[threadIdx.x];
}

__global__ void launched_on_another_device(const float *x, float *y) // EXPECT: no-wait
{
    y[threadIdx.x] -= x[threadIdx.x];
}

__global__ void launched_against_advice(const float *x, float *y) // EXPECT: no-wait
{
    y[threadIdx.x] *= x[threadIdx.x];
}

__global__ void launched_for_its_barrier(float *y) // EXPECT: no-wait
{
    __shared__ float tile[128];
    tile[threadIdx.x] = y[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[127 - threadIdx.x];
}
}

template <typename T> __global__ void launched_scale(const T *x, T *y, T by) // EXPECT: no-wait
{
    y[threadIdx.x] = x[threadIdx.x] * by;
}
template __global__ void launched_scale<float>(const float *, float *, float);
template __global__ void launched_scale<int>(const int *, int *, int);
