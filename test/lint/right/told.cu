// SPDX-License-Identifier: MIT
// Functions that are not inlined and decide who waits: by a flag of the launch, by the thread, by the turn.
// COMPILERS: nvcc nvrtc clang
#include <pdl/device.cuh>

#include "../math.cuh"

static __device__ __noinline__ void wait_if(bool on)
{
    if (on) {
        PDL_WAIT();
    }
}

static __device__ __noinline__ void wait_by_bit(int flags)
{
    wait_if((flags & 2) != 0);
}

static __device__ __noinline__ bool waited_by_bit(int flags)
{
    if (flags & 4) {
        PDL_WAIT();
        return true;
    }
    return false;
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

struct Launch {
    const float *x;
    float *y;
    int count;
    bool overlapped;
};

static __device__ __noinline__ void wait_if_overlapped(const Launch &launch)
{
    if (launch.overlapped) {
        PDL_WAIT();
    }
}

__global__ void flag(const float *x, float *y, bool overlapped)
{
    wait_if(overlapped); // EXPECT note: no-wait
    y[threadIdx.x] = x[threadIdx.x];
}

__global__ void number(const float *x, float *y, int overlapped)
{
    wait_if(overlapped != 0);
    y[threadIdx.x] = x[threadIdx.x];
}

__global__ void bit_through_two(const float *x, float *y, int flags)
{
    wait_by_bit(flags);
    y[threadIdx.x] = x[threadIdx.x];
}

__global__ void member(Launch launch)
{
    wait_if_overlapped(launch);
    launch.y[threadIdx.x] = launch.x[threadIdx.x];
}

__global__ void waits_if_the_function_has_not(const float *x, float *y, int flags)
{
    if (!waited_by_bit(flags)) {
        PDL_WAIT();
    }
    y[threadIdx.x] = x[threadIdx.x];
}

__global__ void warp_that_waited_reads(const float *x, float *y)
{
    wait_in_first_warp();
    if (threadIdx.x < 16) {
        y[threadIdx.x] = x[threadIdx.x];
    }
}

__global__ void barrier_behind_the_function(const float *x, float *y)
{
    wait_in_first_warp();
    __syncthreads();
    y[threadIdx.x] = x[threadIdx.x];
}

__global__ void first_turn(const float *x, float *y, int n)
{
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        wait_in_first_turn(i);
        y[64 * i + threadIdx.x] = x[64 * i + threadIdx.x];
    }
}
