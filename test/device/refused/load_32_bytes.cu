// SPDX-License-Identifier: MIT
// REFUSED: PDL_LOAD takes types of 1, 2, 4, 8 or 16 bytes
#include <pdl/device.cuh>

#if !defined(__CUDACC__) // clang without CUDA's headers
#define __global__ __attribute__((global))
#endif

struct alignas(32) wide {
    double parts[4];
};

extern "C" __global__ void refused(const wide *x, wide *y)
{
    *y = PDL_LOAD(x);
}
