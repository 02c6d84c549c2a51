// SPDX-License-Identifier: MIT
// Functions whose code is elsewhere, and nothing in the kernels that relies on what they do.
// COMPILERS: nvcc clang
#include <pdl/device.cuh>

#include "../math.cuh"

extern "C" __device__ void log_start(int block);
extern "C" __device__ float scale_of(int row);
extern "C" __device__ void library_wait();

__global__ void unknown_call_first(const float *x, float *y)
{
    log_start(blockIdx.x);
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x];
}

__global__ void unknown_call_behind(const float *x, float *y)
{
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x] * scale_of(threadIdx.x);
}

__global__ void unknown_call_on_both_sides(const float *x, float *y)
{
    const float scale = scale_of(blockIdx.x);
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x] * scale * scale_of(threadIdx.x);
}

// The wait is in a library: that is for whoever has its code.
__global__ void waits_in_a_library(const float *x, float *y) // EXPECT note: no-wait
{
    library_wait();
    y[threadIdx.x] = x[threadIdx.x];
}

// Its own wait on one way, the library's on the other.
__global__ void waits_here_or_in_a_library(const float *x, float *y, int which)
{
    if (which != 0) {
        PDL_WAIT();
    } else {
        library_wait();
    }
    y[threadIdx.x] = x[threadIdx.x];
}

static __device__ __noinline__ void wait_in_the_library()
{
    library_wait();
}

__global__ void waits_in_a_library_through_a_function(const float *x, float *y)
{
    wait_in_the_library();
    y[threadIdx.x] = x[threadIdx.x];
}

// Only threads that touch nothing come to the call.
__global__ void unknown_call_of_some(const float *x, float *y, unsigned n)
{
    if (threadIdx.x >= n) {
        log_start(threadIdx.x);
        return;
    }
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x];
}
