// SPDX-License-Identifier: MIT
// Loops that are pipelined by hand, or by the compiler, across the wait.
// COMPILERS: nvcc nvrtc clang
#include <pdl/device.cuh>

#if !defined(__CUDACC_RTC__)
#include "../math.cuh"
#endif

// The first tile is fetched in the prologue, where the weights' first tile once was.
__global__ void first_tile_early(const float *x, float *y, int tiles)
{
    float next = x[threadIdx.x]; // EXPECT: read-before-wait
    float sum = 0;
    PDL_WAIT();
    for (int t = 1; t < tiles; t++) {
        const float now = next;
        next = x[t * 128 + threadIdx.x];
        sum += now * now;
    }
    y[threadIdx.x] = sum + next;
    PDL_LAUNCH_DEPENDENTS();
}

// Three stages are filled before the wait, the third is not a constant's.
__global__ void three_stages(const float *a, const float *b, const float *x, float *y)
{
    PDL_CONSTANT_PARAM(a);
    PDL_CONSTANT_PARAM(b);
    float stage[3];
    stage[0] = a[threadIdx.x];
    stage[1] = b[threadIdx.x];
    stage[2] = x[threadIdx.x]; // EXPECT: read-before-wait
    PDL_WAIT();
    y[threadIdx.x] = stage[0] + stage[1] + stage[2];
}

// The wait stands at the end of the first iteration instead of its beginning.
__global__ void wait_at_the_end(const float *x, float *y, int n)
{
    float sum = 0;
    int i = threadIdx.x;
    do {
        sum += x[i]; // EXPECT: read-before-wait
        PDL_WAIT();
        y[i] = sum;
        i += blockDim.x;
    } while (i < n);
}

// The loop polls a flag that the kernel before sets, which the wait would have made needless.
__global__ void polling(const volatile int *flag, const float *x, float *y)
{
    while (*flag == 0) { // EXPECT: read-before-wait
    }
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x];
}

// A search runs in front; the wait comes after the loop.
__global__ void search_first(const int *offsets, const float *x, float *y, int n)
{
    int low = 0;
    int high = n;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (offsets[middle] < (int)blockIdx.x) { // EXPECT: read-before-wait
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    PDL_WAIT();
    y[blockIdx.x * blockDim.x + threadIdx.x] = x[low];
}
