// SPDX-License-Identifier: MIT
// Findings that the source says are known and right, one of each rule, with the reason.
// COMPILERS: nvcc nvrtc
// NOT debug: one of the loads is non-coherent only by the optimizer
#include <pdl/device.cuh>

// Known and accepted, with the reason.
__global__ void allowed(const float *x, const float *table, float *y)
{
    PDL_LINT_ALLOW("read-before-wait", "the host fills the table before the chain starts");
    const float value = table[threadIdx.x];
    PDL_WAIT();
    y[threadIdx.x] = value * x[threadIdx.x];
}

// A flag that the host sets: the launch is overlapped only with it.
__global__ void allowed_path(const float *x, float *y, bool overlapped)
{
    PDL_LINT_ALLOW("no-wait", "the launcher sets the flag from the launch attribute");
    if (overlapped) {
        PDL_WAIT();
    }
    y[threadIdx.x] = x[threadIdx.x];
}

// On the line itself.
__global__ void allowed_on_the_line(const float *x, const float *table, float *y)
{
    // clang-format off
    PDL_LINT_ALLOW("read-before-wait", "the host fills it"); const float value = table[threadIdx.x];
    // clang-format on
    PDL_WAIT();
    y[threadIdx.x] = value * x[threadIdx.x];
}

__global__ void allowed_write(const float *x, float *y, int *mine)
{
    PDL_LINT_ALLOW("write-before-wait", "a buffer of this kernel's own, a new one for each launch");
    mine[threadIdx.x] = 1;
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x];
}

__global__ void allowed_partial(const float *x, float *y)
{
    float value = 0;
    if (threadIdx.x < 32) {
        PDL_WAIT();
        value = x[threadIdx.x];
    }
    PDL_LINT_ALLOW("partial-wait", "y is read by the host only, after the chain");
    y[threadIdx.x] = value;
}

__global__ void allowed_non_coherent(const float *__restrict__ x, float *__restrict__ y)
{
    PDL_WAIT();
    PDL_LINT_ALLOW("nc-after-wait", "x is written by the host before the chain only");
    y[threadIdx.x] = x[threadIdx.x];
}
