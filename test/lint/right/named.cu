// SPDX-License-Identifier: MIT
// Constant parameters that the command line names: by name, by number, for one kernel only.
// COMPILERS: nvcc nvrtc clang
// LINT: --constant-param weights
// LINT: --constant-param *numbered*:2
// LINT: --constant-param *table_user*:table
// NOT plain: the names of parameters are found through the line information
#include <pdl/device.cuh>

#if !defined(__CUDACC_RTC__)
#include "../math.cuh"
#endif

__global__ void named_weights(const float *weights, const float *x, float *y)
{
    const float w = weights[threadIdx.x];
    PDL_WAIT();
    y[threadIdx.x] = w * x[threadIdx.x];
}

__global__ void numbered_parameter(float *y, const float *q, const float *x)
{
    const float w = q[threadIdx.x];
    PDL_WAIT();
    y[threadIdx.x] = w * x[threadIdx.x];
}

__global__ void table_user(const float *x, float *y, const int *table)
{
    const int at = table[threadIdx.x];
    PDL_WAIT();
    y[threadIdx.x] = x[at];
}
