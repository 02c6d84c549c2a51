// SPDX-License-Identifier: MIT
// Helpers that are told by a constant not to wait, or to read first.
// COMPILERS: nvcc clang
#include <pdl/device.cuh>

#include "../math.cuh"

// Not static: a compiler would make a function of its own for each constant.
__device__ __noinline__ void wait_if(bool on)
{
    if (on) {
        PDL_WAIT();
    }
}

__global__ void told_not_to_wait(const float *x, float *y)
{
    wait_if(false);
    const float value = x[threadIdx.x]; // EXPECT: read-before-wait
    PDL_WAIT();
    y[threadIdx.x] = value;
}

__global__ void told_to_wait_late(const float *x, float *y)
{
    wait_if(false);
    y[threadIdx.x] = threadIdx.x; // EXPECT: write-before-wait
    wait_if(true);
    y[threadIdx.x] += x[threadIdx.x];
}

// Through two levels.
__device__ __noinline__ void begin(bool overlapped)
{
    wait_if(overlapped);
}

__global__ void told_through_two(const float *x, float *y)
{
    begin(false);
    const float value = x[threadIdx.x]; // EXPECT: read-before-wait
    begin(true);
    y[threadIdx.x] = value;
}

// A mode of several, and by a switch.
__device__ __noinline__ void wait_by_mode(int mode)
{
    switch (mode) {
    case 1:
    case 4:
        PDL_WAIT();
        break;
    case 2:
        PDL_LAUNCH_DEPENDENTS();
        break;
    default:
        break;
    }
}

__global__ void mode_without_a_wait(const float *x, float *y)
{
    wait_by_mode(2);
    const float value = x[threadIdx.x]; // EXPECT: read-before-wait
    wait_by_mode(4);
    y[threadIdx.x] = value;
}

// The constant decides whether the helper reads.
__device__ __noinline__ float first_value(const float *x, bool early)
{
    float value = 0;
    if (early) {
        value = x[threadIdx.x]; // EXPECT: read-before-wait in told_to_read_early
    }
    PDL_WAIT();
    return early ? value : x[threadIdx.x];
}

__global__ void told_to_read_early(const float *x, float *y)
{
    y[threadIdx.x] = first_value(x, true);
}

// Nobody knows what the thread passes.
__global__ void told_by_the_thread(const float *x, float *y)
{
    wait_if(threadIdx.x < 32);
    y[threadIdx.x] = x[threadIdx.x]; // EXPECT: partial-wait
}
