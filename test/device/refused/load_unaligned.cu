// SPDX-License-Identifier: MIT
// REFUSED: PDL_LOAD takes types aligned to their size, or 16-byte types aligned to 8
#include <pdl/device.cuh>

#if !defined(__CUDACC__) // clang without CUDA's headers
#define __global__ __attribute__((global))
#endif

struct pair { // 8 bytes, aligned to 4
    float first, second;
};

extern "C" __global__ void refused(const pair *x, pair *y)
{
    *y = PDL_LOAD(x);
}
