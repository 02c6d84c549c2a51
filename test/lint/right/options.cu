// SPDX-License-Identifier: MIT
// Helpers that are told to wait by a constant in a struct.
// COMPILERS: nvcc
// NOT debug: a struct is copied to local memory then (by clang always), which is not followed
#include <pdl/device.cuh>

// A flag in a struct that is passed by value.
struct Options {
    bool trace;
    int overlap;
};

__device__ __noinline__ void wait_by_options(Options options)
{
    if (options.overlap == 1) {
        PDL_WAIT();
    }
}

__global__ void told_in_a_struct(const float *x, float *y)
{
    wait_by_options(Options{true, 1});
    y[threadIdx.x] = x[threadIdx.x];
}

// Behind another field, with one that is not constant.
struct Launch {
    float scale;
    unsigned char overlapped;
    const float *x;
};

__device__ __noinline__ float load_as_told(Launch launch)
{
    if (launch.overlapped) {
        PDL_WAIT();
    }
    return launch.scale * launch.x[threadIdx.x];
}

__global__ void told_in_a_struct_with_a_pointer(const float *x, float *y, float scale)
{
    y[threadIdx.x] = load_as_told(Launch{scale, 1, x});
}
