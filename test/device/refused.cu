// SPDX-License-Identifier: MIT
// What PDL_LOAD does not compile for. probe.py compiles it once for each type that is named here.
//
// REFUSED wide: PDL_LOAD takes types of 1, 2, 4, 8 or 16 bytes
// REFUSED triple: PDL_LOAD takes types of 1, 2, 4, 8 or 16 bytes
// REFUSED pair: PDL_LOAD takes types aligned to their size, or 16-byte types aligned to 8
#include <pdl/device.cuh>

#if !defined(__CUDACC__) // clang without CUDA's headers
#define __global__ __attribute__((global))
#endif

struct alignas(32) wide {
    double parts[4];
};

struct triple {
    char bytes[3];
};

struct pair { // 8 bytes, aligned to 4
    float first, second;
};

extern "C" __global__ void refused(const REFUSED *x, REFUSED *y)
{
    *y = PDL_LOAD(x);
}
