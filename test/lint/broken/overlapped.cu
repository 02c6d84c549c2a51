// SPDX-License-Identifier: MIT
// Kernels without any PDL that the user says are launched with overlap.
// COMPILERS: nvcc nvrtc clang
// LINT: --overlapped *overlapped_*
#include <pdl/device.cuh>

#if !defined(__CUDACC_RTC__)
#include "../math.cuh"
#endif

__global__ void overlapped_copy(const float *x, float *y) // EXPECT: no-wait
{
    y[threadIdx.x] = x[threadIdx.x];
}

__global__ void overlapped_fill(float *y, float value) // EXPECT: no-wait
{
    y[blockIdx.x * blockDim.x + threadIdx.x] = value;
}
