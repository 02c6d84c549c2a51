// SPDX-License-Identifier: MIT
// Helpers that are told by a constant to wait.
// COMPILERS: nvcc clang
#include <pdl/device.cuh>

#include "../math.cuh"

__device__ __noinline__ void wait_if(bool on)
{
    if (on) {
        PDL_WAIT();
    }
}

__global__ void told_to_wait(const float *x, float *y)
{
    wait_if(true);
    y[threadIdx.x] = x[threadIdx.x];
}

__global__ void told_not_to_wait_yet(const float *x, float *y)
{
    wait_if(false);
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x];
}

__device__ __noinline__ void begin(bool overlapped, short tile)
{
    if (tile >= 0) {
        wait_if(overlapped);
    }
}

__global__ void told_through_two_to_wait(const float *x, float *y)
{
    begin(true, 7);
    y[threadIdx.x] = x[threadIdx.x];
}

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

__global__ void mode_that_waits(const float *x, float *y)
{
    wait_by_mode(4);
    y[threadIdx.x] = x[threadIdx.x];
    wait_by_mode(2);
}

// Each of several has to be what it is.
__device__ __noinline__ void wait_if_all(int mode, unsigned char on, long long size)
{
    if (mode == 2 && on && size > 100) {
        PDL_WAIT();
    }
}

__global__ void several_constants(const float *x, float *y)
{
    wait_if_all(2, 1, 128);
    y[threadIdx.x] = x[threadIdx.x];
}

// The constant says that the helper does not read yet.
__device__ __noinline__ float first_value(const float *x, bool early)
{
    float value = 0;
    if (early) {
        value = x[threadIdx.x];
    }
    PDL_WAIT();
    return early ? value : x[threadIdx.x];
}

__global__ void told_to_read_late(const float *x, float *y)
{
    y[threadIdx.x] = first_value(x, false);
}
