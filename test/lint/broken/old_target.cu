// SPDX-License-Identifier: MIT
// Right source code, compiled for less than 9.0: the waits are gone, and the launch is overlapped.
// COMPILERS: nvcc
// OPTIONS: -arch=sm_80
// LINT: --overlapped *compiled_*
#include <pdl/device.cuh>

__global__ void compiled_for_80(const float *x, float *y) // EXPECT: compiled-out
{
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x];
    PDL_LAUNCH_DEPENDENTS();
}
