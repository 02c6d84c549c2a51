// SPDX-License-Identifier: MIT
// Reads what the kernel before writes, before the wait. What it needs comes from each place that a
// target's sources can get it from; without one of them it does not compile.
#include "scale.h"
#include <generated.h>
#include <pdl/device.cuh>

#if !defined(FROM_LIBRARY) || !defined(FROM_TARGET) || FROM_LANGUAGE != 1 || FROM_SOURCE != 2
#error "a definition is missing"
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define BROKEN 0
#else
#define BROKEN 1
#endif

__global__ void broken(const float *x, float *y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int unused = 0;
    const float value = BROKEN ? x[i] : 0; // too early
    PDL_WAIT();
    y[i] = SCALE * GENERATED * value;
    PDL_LAUNCH_DEPENDENTS();
}
