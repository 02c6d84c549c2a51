// SPDX-License-Identifier: MIT
// Functions that are not inlined and decide who waits, and kernels that rely on more than they do.
// COMPILERS: nvcc nvrtc clang
#include <pdl/device.cuh>

#include "../math.cuh"

static __device__ __noinline__ void wait_if(bool on)
{
    if (on) {
        PDL_WAIT();
    }
}

static __device__ __noinline__ void wait_in_first_warp()
{
    if (threadIdx.x < 32) {
        PDL_WAIT();
    }
}

static __device__ __noinline__ void wait_in_first_turn(int turn)
{
    if (turn == 0) {
        PDL_WAIT();
    }
}

__global__ void reads_before_the_flag_is_asked(const float *x, float *y, bool overlapped)
{
    const float early = x[threadIdx.x]; // EXPECT: read-before-wait
    wait_if(overlapped);
    y[threadIdx.x] = early;
}

__global__ void flag_reads_more(const float *x, const float *z, float *y, bool overlapped)
{
    wait_if(overlapped); // EXPECT: no-wait
    float sum = x[threadIdx.x];
    if (overlapped) {
        sum += z[threadIdx.x];
    }
    y[threadIdx.x] = sum;
}

__global__ void told_by_the_thread(const float *x, float *y)
{
    wait_if(threadIdx.x != 0);
    y[threadIdx.x] = x[threadIdx.x]; // EXPECT: partial-wait
}

__global__ void more_threads_than_waited(const float *x, float *y)
{
    wait_in_first_warp();
    if (threadIdx.x < 40) {
        y[threadIdx.x] = x[threadIdx.x]; // EXPECT: partial-wait
    }
}

__global__ void second_turn(const float *x, float *y, int n)
{
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        wait_in_first_turn(i - 1);
        const float value = x[64 * i + threadIdx.x]; // EXPECT: read-before-wait
        y[64 * i + threadIdx.x] = value;             // EXPECT: write-before-wait
    }
}
