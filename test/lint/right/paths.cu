// SPDX-License-Identifier: MIT
// Branches and loops around waits, where every thread that touches memory has waited.
// COMPILERS: nvcc nvrtc clang
#include <pdl/device.cuh>

#if !defined(__CUDACC_RTC__)
#include "../math.cuh"
#endif

__global__ void waits_in_both_branches(const float *a, const float *b, float *y, int mode)
{
    if (mode == 0) {
        PDL_WAIT();
        y[threadIdx.x] = a[threadIdx.x];
    } else {
        const float factor = 1.0f / mode;
        PDL_WAIT();
        y[threadIdx.x] = b[threadIdx.x] * factor;
    }
}

__global__ void waits_in_every_case(const float *a, const float *b, float *y, int mode)
{
    float value = 0;
    switch (mode) {
    case 0:
        PDL_WAIT();
        value = a[threadIdx.x];
        break;
    case 1:
        PDL_WAIT();
        value = b[threadIdx.x] * 2;
        break;
    case 5:
        PDL_WAIT();
        value = a[threadIdx.x] + b[threadIdx.x];
        break;
    default:
        PDL_WAIT();
        break;
    }
    y[threadIdx.x] = value;
}

// Enough cases for a jump through a table.
__global__ void jump_table(const float *x, float *y, int mode)
{
    float value = 0;
    PDL_WAIT();
    switch (mode) {
    case 0:
        value = x[0] * 3;
        break;
    case 1:
        value = x[1] / (1 + x[7]);
        break;
    case 2:
        value = rsqrtf(x[2]);
        break;
    case 3:
        value = expf(x[3]);
        break;
    case 4:
        value = x[4] - x[5] * x[6];
        break;
    case 5:
        value = x[5] + x[9] + x[11];
        break;
    case 6:
        value = x[threadIdx.x & 3];
        break;
    default:
        value = 1;
        break;
    }
    y[threadIdx.x] = value;
}

// A jump through a table by hand; each target waits.
__global__ void jump_table_by_hand(const float *x, float *y, int mode)
{
    asm volatile("{\n"
                 "TARGETS: .branchtargets FIRST, SECOND, THIRD;\n"
                 "brx.idx.uni %0, TARGETS;\n"
                 "FIRST: griddepcontrol.wait; bra.uni DONE;\n"
                 "SECOND: griddepcontrol.wait; bra.uni DONE;\n"
                 "THIRD: griddepcontrol.wait;\n"
                 "DONE:\n"
                 "}" ::"r"(mode)
                 : "memory");
    y[threadIdx.x] = x[threadIdx.x];
}

// A loop that each block runs until nothing is left.
__global__ void persistent(const float *x, float *y, int tiles)
{
    __shared__ float factor;
    if (threadIdx.x == 0) {
        factor = 2;
    }
    __syncthreads();
    PDL_WAIT();
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        y[tile * blockDim.x + threadIdx.x] = factor * x[tile * blockDim.x + threadIdx.x];
    }
    PDL_LAUNCH_DEPENDENTS();
}

// The wait is in the first iteration only.
__global__ void wait_in_the_first_iteration(const float *x, float *y, int tiles)
{
    for (int tile = 0; tile < tiles; tile++) {
        if (tile == 0) {
            PDL_WAIT();
        }
        y[tile * 128 + threadIdx.x] = x[tile * 128 + threadIdx.x];
    }
}

// In each iteration: once would do, and it costs nothing.
__global__ void wait_in_each_iteration(const float *x, float *y, int tiles)
{
    for (int tile = 0; tile < tiles; tile++) {
        PDL_WAIT();
        y[tile * 128 + threadIdx.x] = x[tile * 128 + threadIdx.x];
    }
}

__global__ void grid_stride(const float *x, float *y, int n)
{
    PDL_WAIT();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        y[i] = x[i];
    }
}

__global__ void waits_twice(const float *x, float *y)
{
    PDL_WAIT();
    const float value = x[threadIdx.x];
    PDL_WAIT();
    y[threadIdx.x] = value;
}

__global__ void trigger_first(const float *x, float *y)
{
    PDL_LAUNCH_DEPENDENTS(); // EXPECT note: trigger-before-wait
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x];
}

// Each path triggers once.
__global__ void trigger_in_each_branch(const float *x, float *y, int early)
{
    PDL_WAIT();
    if (early != 0) {
        PDL_LAUNCH_DEPENDENTS();
        y[threadIdx.x] = x[threadIdx.x];
    } else {
        y[threadIdx.x] = x[threadIdx.x] * 2;
        PDL_LAUNCH_DEPENDENTS();
    }
}

__global__ void trigger_in_a_loop(const float *x, float *y, int n)
{
    PDL_WAIT();
    for (int i = 0; i < n; i++) {
        y[i * 128 + threadIdx.x] = x[i * 128 + threadIdx.x];
        PDL_LAUNCH_DEPENDENTS();
    }
}

// A whole kernel for the sake of the chain.
__global__ void only_waits()
{
    PDL_WAIT();
}

__global__ void waits_and_triggers()
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
}

// A path of the whole grid around the wait that does nothing at all.
__global__ void nothing_to_do(const float *x, float *y, int n)
{
    if (n == 0) {
        return;
    }
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x];
}

// No PDL at all: right, as long as nobody launches it with overlap.
__global__ void without_pdl(const float *x, float *y)
{
    y[threadIdx.x] = x[threadIdx.x];
}

// The block synchronizes before it waits, which costs what the slowest warp costs.
__global__ void barrier_first(const float *x, float *y)
{
    __shared__ float part[128];
    part[threadIdx.x] = (float)threadIdx.x;
    __syncthreads();
    const float value = part[127 - threadIdx.x];
    PDL_WAIT();
    y[threadIdx.x] = value * x[threadIdx.x];
}

// The compiler may merge the loads of two waits' branches; each comes after its own wait.
__global__ void same_load_in_both(const float *x, float *y, int mode)
{
    float value;
    if (mode > 3) {
        PDL_WAIT();
        value = x[threadIdx.x] + 1;
    } else {
        PDL_WAIT();
        value = x[threadIdx.x] * 5;
    }
    y[threadIdx.x] = value;
}
