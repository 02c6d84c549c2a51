// SPDX-License-Identifier: MIT
// Loads that the compiler makes non-coherent, because of __restrict__.
// COMPILERS: nvcc nvrtc
// NOT debug: only the optimizer makes these loads
#include <pdl/device.cuh>

// const and __restrict__ together make it ld.global.nc.
__global__ void restrict_input(const float *__restrict__ x, float *__restrict__ y)
{
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x]; // EXPECT: nc-after-wait
    PDL_LAUNCH_DEPENDENTS();
}

// An output that is __restrict__ is enough to make the input non-coherent.
__global__ void restrict_output_only(const float *x, float *__restrict__ y)
{
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x]; // EXPECT: nc-after-wait
}

// One of two inputs is constant, the other one is not.
__global__ void weights_and_input(const float *__restrict__ weights, const float *__restrict__ x,
                                  float *y)
{
    PDL_CONSTANT_PARAM(weights);
    const float w = weights[threadIdx.x];
    PDL_WAIT();
    const float a = x[threadIdx.x]; // EXPECT: nc-after-wait
    y[threadIdx.x] = w * a;
}
