/* SPDX-License-Identifier: MIT */
/* The kernels of 01_launch_c, compiled to a file that the program loads. */
#include <pdl/device.cuh>

extern "C" __global__ void scale(const float *x, float *y, float factor, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();              /* whoever reads the old y has ended */
    PDL_LAUNCH_DEPENDENTS(); /* the next kernel may start: its own wait keeps it from reading y */
    if (i < n) {
        y[i] = factor * x[i];
    }
}

extern "C" __global__ void add(const float *PDL_RESTRICT y, float *z, float what, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT(); /* y is there from here on */
    if (i < n) {
        z[i] = y[i] + what;
    }
}
