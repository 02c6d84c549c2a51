// SPDX-License-Identifier: MIT
// Compiled for less than 9.0, and nobody says that it is launched with overlap.
// COMPILERS: nvcc
// OPTIONS: -arch=sm_80
#include <pdl/device.cuh>

__global__ void for_80(const float *PDL_RESTRICT x, float *PDL_RESTRICT y)
{
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x];
    PDL_LAUNCH_DEPENDENTS();
}
