// SPDX-License-Identifier: MIT
// The wait and what it protects stand behind two conditions, and the second holds only where the first
// does.
// COMPILERS: nvcc nvrtc clang
#include <pdl/device.cuh>

#if !defined(__CUDACC_RTC__)
#include "../math.cuh"
#endif

// So that the two branches stay two.
#define PAUSE() asm volatile("nanosleep.u32 20;")

// A warp waits, and its first thread reads.
__global__ void warp_waits_thread_reads(const float *x, float *y)
{
    __shared__ float factor;
    if (threadIdx.x < 32) {
        PDL_WAIT();
    }
    __shared__ float scratch[64];
    scratch[threadIdx.x & 63] = (float)threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        factor = x[0] + scratch[5];
        y[0] = factor;
    }
}

// The same set of threads, once by the warp and once by the thread.
__global__ void warp_number_and_thread_number(const float *x, float *y)
{
    const unsigned warp = threadIdx.x >> 5;
    float value = 0;
    if (warp == 0) {
        PDL_WAIT();
    }
    PAUSE();
    if (threadIdx.x < 32) {
        value = x[threadIdx.x];
        y[threadIdx.x] = value;
    }
}

// The other way: the waiters are named by the thread, the readers by the warp.
__global__ void thread_number_and_warp_number(const float *x, float *y)
{
    const int warp = threadIdx.x / 32;
    if (threadIdx.x < 64) {
        PDL_WAIT();
    }
    PAUSE();
    if (warp <= 1) {
        y[threadIdx.x] = x[threadIdx.x];
    }
}

// Upper half: the complement of a range is a range.
__global__ void upper_half(const float *x, float *y)
{
    if (threadIdx.x >= 128) {
        PDL_WAIT();
    }
    PAUSE();
    if (threadIdx.x > 200) {
        y[threadIdx.x] = x[threadIdx.x];
    }
}

// Everybody but one warp, and readers that are not in it.
__global__ void all_but_the_first_warp(const float *x, float *y)
{
    const unsigned warp = threadIdx.x >> 5;
    if (warp != 0) {
        PDL_WAIT();
    }
    PAUSE();
    if (warp == 2 || warp == 3) {
        y[threadIdx.x] = x[threadIdx.x];
    }
}

// The first tile of a persistent block is its own number.
__global__ void first_tile(const float *x, float *y, int tiles)
{
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        if (tile == (int)blockIdx.x) {
            PDL_WAIT();
        }
        y[tile * 128 + threadIdx.x] = x[tile * 128 + threadIdx.x];
    }
}

// A counter of turns.
__global__ void first_turn(const float *x, float *y, int tiles)
{
    int turn = 0;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, turn++) {
        if (turn == 0) {
            PDL_WAIT();
        }
        y[tile * 128 + threadIdx.x] = x[tile * 128 + threadIdx.x];
    }
}

// Once waited, never again.
__global__ void waited_flag(const float *x, float *y, int tiles)
{
    bool waited = false;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        float value = (float)tile * 3;
        if (!waited) {
            PDL_WAIT();
            waited = true;
        }
        y[tile * 128 + threadIdx.x] = value * x[tile * 128 + threadIdx.x];
    }
}

// Two coordinates.
__global__ void first_thread_of_a_plane(const float *x, float *y)
{
    const bool first = threadIdx.x == 0 && threadIdx.y == 0;
    if (first) {
        PDL_WAIT();
    }
    PAUSE();
    if (first) {
        y[blockIdx.x] = x[blockIdx.x];
    }
}

// Two coordinates, of which the wait asks one.
__global__ void first_row_waits(const float *x, float *y)
{
    if (threadIdx.y == 0) {
        PDL_WAIT();
    }
    PAUSE();
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        y[blockIdx.x] = x[blockIdx.x];
    }
}

// The flattened index, computed once.
__global__ void flattened(const float *x, float *y)
{
    const unsigned rank = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    if (rank < 32) {
        PDL_WAIT();
    }
    PAUSE();
    if (rank == 0) {
        y[blockIdx.x] = x[blockIdx.x];
    }
}

// A condition that is kept.
__global__ void kept_condition(const float *x, float *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool inside = i < n;
    if (inside) {
        PDL_WAIT();
    }
    PAUSE();
    if (inside) {
        y[i] = x[i];
    }
}

// Lanes: the first eight wait, the first four read.
__global__ void lanes(const float *x, float *y)
{
    const unsigned lane = threadIdx.x & 31;
    if (lane < 8) {
        PDL_WAIT();
    }
    PAUSE();
    if (lane < 4) {
        y[threadIdx.x] = x[threadIdx.x];
    }
}

// By hand, with predicates that are combined, and guards instead of branches.
__global__ void predicated(const float *x, float *y)
{
    asm volatile("{\n"
                 ".reg .pred p, q, both;\n"
                 "setp.lt.u32 p, %0, 64;\n"
                 "setp.gt.and.u32 q, %0, 7, p;\n"
                 "@p griddepcontrol.wait;\n"
                 "and.pred both, p, q;\n"
                 "@!both bra OUT;\n"
                 ".reg .f32 v;\n"
                 "ld.f32 v, [%1];\n"
                 "st.f32 [%2], v;\n"
                 "OUT:\n"
                 "}" ::"r"(threadIdx.x),
                 "l"(x), "l"(y)
                 : "memory");
}

// Both results of one comparison.
__global__ void two_results(const float *x, float *y)
{
    asm volatile("{\n"
                 ".reg .pred in, out;\n"
                 ".reg .f32 v;\n"
                 "setp.lo.u32 in|out, %0, 32;\n"
                 "@in griddepcontrol.wait;\n"
                 "@out bra OUT;\n"
                 "ld.f32 v, [%1];\n"
                 "st.f32 [%2], v;\n"
                 "OUT:\n"
                 "}" ::"r"(threadIdx.x),
                 "l"(x), "l"(y)
                 : "memory");
}

// The second warp of those that wait: the compiler makes `(thread & -32) == 32` of it.
__global__ void second_warp(const float *x, float *y)
{
    const int thread = (int)(threadIdx.y * 32 + threadIdx.x);
    if (thread < 64) {
        PDL_WAIT();
    }
    PAUSE();
    if (thread >= 32 && thread < 64) {
        y[thread] = x[thread];
    }
}
