// SPDX-License-Identifier: MIT
// Writes before the wait: the kernel before may still read, or write, the same memory.
// COMPILERS: nvcc nvrtc clang
#include <pdl/device.cuh>

#if !defined(__CUDACC_RTC__)
#include "../math.cuh"
#endif

// Split-K wants a zeroed output, and zeroes it where there is time.
__global__ void split_k_zero(const float *partial, float *y)
{
    y[blockIdx.x * blockDim.x + threadIdx.x] = 0; // EXPECT: write-before-wait
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    y[threadIdx.x] += partial[threadIdx.x];
}

// The counter of a "last block done" scheme is reset for the next launch.
__global__ void reset_counter(unsigned *counter, const float *x, float *y)
{
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        *counter = 0; // EXPECT: write-before-wait
    }
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x];
}

// An atomic is a write, and the ticket is drawn from what the kernel before left.
__global__ void ticket(unsigned *counter, const float *x, float *y)
{
    const unsigned mine = atomicAdd(counter, 1); // EXPECT: write-before-wait
    PDL_WAIT();
    y[mine] = x[mine];
}

// The same without a result: red, not atom.
__global__ void arrive(unsigned *counter, const float *x, float *y)
{
    atomicAdd(&counter[blockIdx.x], 1); // EXPECT: write-before-wait
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x];
}

// The scale of an epilogue is a constant, but the place where it goes is not its own.
__global__ void store_scale(const float *x, float *scale, float *y, float value)
{
    if (threadIdx.x == 0) {
        scale[blockIdx.x] = value; // EXPECT: write-before-wait
    }
    PDL_WAIT();
    y[threadIdx.x] = value * x[threadIdx.x];
}

// Read and write both, each on its own line.
__global__ void accumulate(float *sum, const float *x, float *y)
{
    float value = sum[threadIdx.x]; // EXPECT: read-before-wait
    value += 1;
    sum[threadIdx.x] = value; // EXPECT: write-before-wait
    PDL_WAIT();
    y[threadIdx.x] = value + x[threadIdx.x];
}

// Published by hand: release stores count as other stores do.
__global__ void publish(int *flag, const float *x, float *y)
{
    asm volatile("st.release.gpu.global.s32 [%0], %1;" // EXPECT: write-before-wait
                 ::"l"(flag + blockIdx.x),
                 "r"(1)
                 : "memory");
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x];
}
