// SPDX-License-Identifier: MIT
// Members of a struct, and numbers beside a flag, that decide whether the kernel waits.
// COMPILERS: nvcc nvrtc clang
// NOT plain: the names of parameters are in the source
// NOT debug: what is not optimized goes through local memory, and conditions through branches
#include <pdl/device.cuh>

#if !defined(__CUDACC_RTC__)
#include "../math.cuh"
#endif

struct options {
    const float *x;
    float *y;
    int n;
    bool last;
    unsigned flags;
    int mode;
};

// A bit that says that something is to be left out.
__global__ void bit_for_the_others(const options o)
{
    if (!(o.flags & 4)) { // EXPECT: no-wait
        PDL_WAIT();
    }
    o.y[threadIdx.x] = o.x[threadIdx.x];
}

// Every mode but one.
__global__ void all_modes_but_one(const options o)
{
    if (o.mode != 3) { // EXPECT: no-wait
        PDL_WAIT();
    }
    o.y[threadIdx.x] = o.x[threadIdx.x];
}

// The flag is the launch's, and the number beside it is not.
__global__ void flag_and_count(const float *x, float *y, bool enable_pdl, int splits)
{
    if (enable_pdl && splits > 1) { // EXPECT: no-wait
        PDL_WAIT();
    }
    y[threadIdx.x] = x[threadIdx.x];
}

// A number by its name, and nothing else is done with it.
__global__ void any_step_but_the_first(const float *x, float *y, int step)
{
    if (step != 0) { // EXPECT: no-wait
        PDL_WAIT();
    }
    y[threadIdx.x] = x[threadIdx.x];
}

__constant__ int roles[32];

// Constant memory, but each warp has an entry of its own.
__global__ void role_of_the_warp(const float *x, float *y)
{
    if (roles[threadIdx.x >> 5] != 0) {
        PDL_WAIT();
    }
    const float value = x[threadIdx.x]; // EXPECT: partial-wait
    y[threadIdx.x] = value;             // EXPECT: partial-wait
}
