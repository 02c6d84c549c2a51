// SPDX-License-Identifier: MIT
// A parameter says whether the launch is one with overlap: true where it waits, and it decides nothing
// else. Compilers make two copies of what comes behind.
// COMPILERS: nvcc nvrtc clang
#include <pdl/device.cuh>

#if !defined(__CUDACC_RTC__)
#include "../math.cuh"
#endif

// The plain form.
__global__ void enabled(const float *x, float *y, bool enable_pdl)
{
    if (enable_pdl) { // EXPECT note: no-wait
        PDL_WAIT();
    }
    y[threadIdx.x] = x[threadIdx.x];
}

// The trigger asks as well.
__global__ void trigger_asks_too(const float *x, float *y, bool enable_pdl)
{
    if (enable_pdl) { // EXPECT note: no-wait
        PDL_WAIT();
    }
    float value = x[threadIdx.x];
    if (enable_pdl) {
        PDL_LAUNCH_DEPENDENTS();
    }
    y[threadIdx.x] = value * 2;
}

// A number that is not zero.
__global__ void number_as_flag(const float *x, float *y, int pdl)
{
    if (pdl != 0) { // EXPECT note: no-wait
        PDL_WAIT();
    }
    y[threadIdx.x] = x[threadIdx.x];
}

// Two at once.
__global__ void flag_and_architecture(const float *x, float *y, bool enable_pdl, int sm)
{
    if (enable_pdl && sm >= 90) { // EXPECT note: no-wait
        PDL_WAIT();
    }
    y[threadIdx.x] = x[threadIdx.x];
}

// Two copies of the body, made by hand: the same lines, in two instances of a function.
__device__ __forceinline__ void body(const float *x, float *y, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        y[i] = x[i] * 2 + x[i + n];
    }
}

__global__ void two_copies(const float *x, float *y, int n, bool enable_pdl)
{
    if (enable_pdl) { // EXPECT note: no-wait
        PDL_WAIT();
        body(x, y, n);
        PDL_LAUNCH_DEPENDENTS();
    } else {
        body(x, y, n);
    }
}

// The flag and the warp that reads.
__global__ void flag_in_a_warp(const float *x, float *y, bool enable_pdl)
{
    __shared__ float part[32];
    if (threadIdx.x < 32) {
        if (enable_pdl) { // EXPECT note: no-wait
            PDL_WAIT();
        }
        part[threadIdx.x] = x[threadIdx.x];
        y[threadIdx.x] = part[threadIdx.x];
    }
}

// With loops and barriers behind the wait.
__global__ void sums_up(const float *x, float *y, int n, int enable_pdl)
{
    extern __shared__ float room[];
    if (enable_pdl) { // EXPECT note: no-wait
        PDL_WAIT();
    }
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        room[i] = x[i];
        sum += room[i];
    }
    __syncthreads();
    for (int i = n / 2; i > 0; i /= 2) {
        if ((int)threadIdx.x < i) {
            room[threadIdx.x] += room[threadIdx.x + i];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        y[0] = room[0] + sum;
    }
}
