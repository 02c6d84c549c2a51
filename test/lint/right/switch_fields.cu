// SPDX-License-Identifier: MIT
// Flags of the launch in structs, in bits of a word, in constant memory, and beside a loop's own flag.
// COMPILERS: nvcc nvrtc clang
// NOT debug: what is not optimized goes through local memory
#include <pdl/device.cuh>

#if !defined(__CUDACC_RTC__)
#include "../math.cuh"
#endif

struct options {
    const float *x;
    float *y;
    int n;
    bool overlapped;
    unsigned flags;
    int mode;
};

// One of the members.
__global__ void field(const options o)
{
    if (o.overlapped) { // EXPECT note: no-wait
        PDL_WAIT();
    }
    for (int i = threadIdx.x; i < o.n; i += blockDim.x) {
        o.y[i] = o.x[i];
    }
}

// One bit of several, of which others decide what is computed.
__global__ void one_bit(const options o)
{
    if (o.flags & 4) { // EXPECT note: no-wait
        PDL_WAIT();
    }
    float value = o.x[threadIdx.x];
    if (o.flags & 1) {
        value = o.x[threadIdx.x + 128] * 3;
    }
    o.y[threadIdx.x] = value;
}

// A value of an enumeration.
__global__ void launch_mode(const options o)
{
    if (o.mode == 2) { // EXPECT note: no-wait
        PDL_WAIT();
    }
    o.y[threadIdx.x] = o.x[threadIdx.x];
}

// The compiler may unswitch the loop.
__global__ void in_a_loop(const float *x, float *y, int tiles, bool enable_pdl)
{
    bool first = true;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        if (enable_pdl && first) {
            PDL_WAIT();
            first = false;
        }
        y[tile * 128 + threadIdx.x] = x[tile * 128 + threadIdx.x];
    }
}

__constant__ int overlap_switch;

// The host sets it.
__global__ void constant_switch(const float *x, float *y)
{
    if (overlap_switch) { // EXPECT note: no-wait
        PDL_WAIT();
    }
    y[threadIdx.x] = x[threadIdx.x];
}
