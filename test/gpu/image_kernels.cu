/* SPDX-License-Identifier: MIT */
/* Compiled to a fatbin, to PTX text and to a cubin for another architecture: kernels to load. */
#include <pdl/device.cuh>

extern "C" __global__ void set_all(unsigned *to, unsigned value, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    if (i < n) {
        to[i] = value + i;
    }
}
