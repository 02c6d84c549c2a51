// SPDX-License-Identifier: MIT
// The wait is per thread: here only some threads execute it.
// COMPILERS: nvcc nvrtc clang
#include <pdl/device.cuh>

#if !defined(__CUDACC_RTC__)
#include "../math.cuh"
#endif

// Only the first warp waits.
__global__ void first_warp_waits(const float *x, float *y)
{
    if (threadIdx.x < 32) {
        PDL_WAIT();
    }
    const float value = x[threadIdx.x]; // EXPECT: partial-wait
    y[threadIdx.x] = value;             // EXPECT: partial-wait
}

// One thread waits, as for a barrier, but there is no barrier.
__global__ void one_thread_waits(const float *x, float *y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        PDL_WAIT();
        PDL_LAUNCH_DEPENDENTS();
    }
    y[i] = x[i] + 1; // EXPECT: partial-wait
}

// Warps have roles. The second warp was given something to load later, and no wait.
__global__ void second_load_warp(const float *a, const float *b, float *y)
{
    __shared__ float tile_a[32];
    __shared__ float tile_b[32];
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    if (warp == 0) {
        PDL_WAIT();
        tile_a[lane] = a[lane];
    } else if (warp == 1) {
        tile_b[lane] = b[lane]; // EXPECT: partial-wait
    }
    __syncthreads();
    if (warp == 0) {
        y[lane] = tile_a[lane] + tile_b[lane];
    }
}

// The split-K reduction: only the block that reduces waits, all of them read.
__global__ void reducing_block_waits(const float *partial, float *y)
{
    if (blockIdx.x == 0) {
        PDL_WAIT();
    }
    float sum = 0;
    for (int k = 0; k < 4; k++) {
        sum += partial[k * 128 + threadIdx.x]; // EXPECT: partial-wait
    }
    y[blockIdx.x * 128 + threadIdx.x] = sum; // EXPECT: partial-wait
}

// The wait is predicated by hand.
__global__ void predicated_wait(const float *x, float *y)
{
    asm volatile(
        "{ .reg .pred p; setp.lt.u32 p, %0, 32; @p griddepcontrol.wait; }" ::"r"(threadIdx.x)
        : "memory");
    y[threadIdx.x] = x[threadIdx.x]; // EXPECT: partial-wait
}

// Threads beyond the end leave a default behind, and do not wait for it.
__global__ void default_for_the_rest(const float *x, float *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        y[i] = -1; // EXPECT: partial-wait
        return;
    }
    PDL_WAIT();
    y[i] = x[i];
}

// One case of the switch over roles lacks the wait.
__global__ void roles_in_a_switch(const float *a, const float *b, const float *c, float *y,
                                  unsigned char *done)
{
    float value = 0;
    switch (threadIdx.x >> 5) {
    case 0:
        PDL_WAIT();
        value = a[threadIdx.x];
        y[threadIdx.x] = value * 2;
        break;
    case 1:
        PDL_WAIT();
        value = b[threadIdx.x];
        y[threadIdx.x] = value * 3;
        break;
    case 2:
        value = c[threadIdx.x];     // EXPECT: partial-wait
        y[threadIdx.x] = value * 5; // EXPECT: partial-wait
        done[threadIdx.x] = 1;      // EXPECT: partial-wait
        break;
    default:
        break;
    }
}

// Which threads wait depends on data in shared memory, that is on nothing that all share.
__global__ void wait_by_data(const float *x, float *y)
{
    __shared__ int role[128];
    role[threadIdx.x] = (threadIdx.x * 7) % 3;
    __syncthreads();
    if (role[threadIdx.x ^ 1] == 0) {
        PDL_WAIT();
    }
    y[threadIdx.x] = x[threadIdx.x]; // EXPECT: partial-wait
}

// The barrier came before the wait: it orders nobody behind it.
__global__ void barrier_too_early(const float *x, float *y)
{
    __shared__ float ready;
    if (threadIdx.x == 0) {
        ready = 1;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        PDL_WAIT();
    }
    y[threadIdx.x] = ready * x[threadIdx.x]; // EXPECT: partial-wait
}

// A jump through a table, by the warp; one target lacks the wait.
__global__ void table_by_warp(const float *x, float *y)
{
    asm volatile("{\n"
                 "TARGETS: .branchtargets FIRST, SECOND, THIRD;\n"
                 "brx.idx %0, TARGETS;\n"
                 "FIRST: griddepcontrol.wait; bra DONE;\n"
                 "SECOND: bra DONE;\n"
                 "THIRD: griddepcontrol.wait;\n"
                 "DONE:\n"
                 "}" ::"r"(threadIdx.x >> 5)
                 : "memory");
    y[threadIdx.x] = x[threadIdx.x]; // EXPECT: partial-wait
}

// A barrier of the block orders the threads of a block, and here whole blocks do not wait.
__global__ void barrier_of_the_wrong_block(const float *x, float *y)
{
    if (blockIdx.x == 0) {
        PDL_WAIT();
    }
    __syncthreads();
    y[threadIdx.x] = x[threadIdx.x]; // EXPECT: partial-wait
}
