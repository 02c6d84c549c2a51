// SPDX-License-Identifier: MIT
// The wait and what it protects stand behind two conditions that overlap, and not in full.
// COMPILERS: nvcc nvrtc clang
#include <pdl/device.cuh>

#if !defined(__CUDACC_RTC__)
#include "../math.cuh"
#endif

// So that the two branches stay two.
#define PAUSE() asm volatile("nanosleep.u32 20;")

// Half a warp too few.
__global__ void half_a_warp(const float *x, float *y)
{
    if (threadIdx.x < 16) {
        PDL_WAIT();
    }
    PAUSE();
    if (threadIdx.x < 32) {
        y[threadIdx.x] = // EXPECT: partial-wait
            x[threadIdx.x];
    }
}

// Off by one: thread 32 belongs to the next warp.
__global__ void off_by_one(const float *x, float *y)
{
    const unsigned warp = threadIdx.x >> 5;
    if (warp == 0) {
        PDL_WAIT();
    }
    PAUSE();
    if (threadIdx.x <= 32) {
        y[threadIdx.x] = // EXPECT: partial-wait
            x[threadIdx.x];
    }
}

// The first lane of each warp is not the first warp.
__global__ void lane_is_not_warp(const float *x, float *y)
{
    const unsigned warp = threadIdx.x >> 5;
    const unsigned lane = threadIdx.x & 31;
    if (warp == 0) {
        PDL_WAIT();
    }
    PAUSE();
    if (lane == 0) {
        y[warp] = // EXPECT: partial-wait
            x[warp];
    }
}

// Waiters and readers are the two halves.
__global__ void the_wrong_half(const float *x, float *y)
{
    if (threadIdx.x >= 128) {
        PDL_WAIT();
    }
    PAUSE();
    if (threadIdx.x < 64) {
        y[threadIdx.x] = // EXPECT: partial-wait
            x[threadIdx.x];
    }
}

// One of two coordinates: the other rows' first threads read without a wait.
__global__ void other_rows(const float *x, float *y)
{
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        PDL_WAIT();
    }
    PAUSE();
    if (threadIdx.x == 0) {
        y[threadIdx.y] = // EXPECT: partial-wait
            x[threadIdx.y];
    }
}

// The wait is in the second turn.
__global__ void second_turn(const float *x, float *y, int tiles)
{
    int turn = 0;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, turn++) {
        if (turn == 1) {
            PDL_WAIT();
        }
        const float value = x[tile * 128 + threadIdx.x]; // EXPECT: read-before-wait
        y[tile * 128 + threadIdx.x] = value;             // EXPECT: write-before-wait
    }
}

// The flag is set where it should not be.
__global__ void waited_too_soon(const float *x, float *y)
{
    bool waited = threadIdx.x != 0;
    if (!waited) {
        PDL_WAIT();
        waited = true;
    }
    PAUSE();
    if (waited) {
        y[threadIdx.x] = // EXPECT: partial-wait
            x[threadIdx.x];
    }
}

// Signed against unsigned: a negative difference is a large number.
__global__ void signed_difference(const float *x, float *y)
{
    const int behind = (int)threadIdx.x - 32;
    if ((unsigned)behind < 64) {
        PDL_WAIT();
    }
    PAUSE();
    if (behind < 64) {
        y[threadIdx.x] = // EXPECT: partial-wait
            x[threadIdx.x];
    }
}

// A mask that says less than it seems to: every other warp.
__global__ void masked(const float *x, float *y)
{
    if ((threadIdx.x & 32) == 0) {
        PDL_WAIT();
    }
    PAUSE();
    if (threadIdx.x < 48) {
        y[threadIdx.x] = // EXPECT: partial-wait
            x[threadIdx.x];
    }
}

// The guard of the read is the wrong one of two results.
__global__ void wrong_result(const float *x, float *y)
{
    asm volatile("{\n" // EXPECT: partial-wait
                 ".reg .pred in, out;\n"
                 ".reg .f32 v;\n"
                 "setp.lo.u32 in|out, %0, 32;\n"
                 "@in griddepcontrol.wait;\n"
                 "@in bra OUT;\n"
                 "ld.f32 v, [%1];\n"
                 "st.f32 [%2], v;\n"
                 "OUT:\n"
                 "}" ::"r"(threadIdx.x),
                 "l"(x), "l"(y)
                 : "memory");
}

// Or, not and.
__global__ void either_condition(const float *x, float *y)
{
    if (threadIdx.x < 32 && threadIdx.y == 0) {
        PDL_WAIT();
    }
    PAUSE();
    if (threadIdx.x < 32 || threadIdx.y == 0) {
        y[threadIdx.x] = // EXPECT: partial-wait
            x[threadIdx.x];
    }
}

// The third warp, and the first two wait.
__global__ void third_warp(const float *x, float *y)
{
    const int thread = (int)(threadIdx.y * 32 + threadIdx.x);
    if (thread < 64) {
        PDL_WAIT();
    }
    PAUSE();
    if (thread >= 64 && thread < 96) {
        y[thread] = // EXPECT: partial-wait
            x[thread];
    }
}
