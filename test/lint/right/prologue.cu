// SPDX-License-Identifier: MIT
// What a prologue may do before the wait.
// COMPILERS: nvcc nvrtc clang
#include <pdl/device.cuh>

#if !defined(__CUDACC_RTC__)
#include "../math.cuh"
#endif

// Nobody writes the weights.
__global__ void weights_before_the_wait(const float *weights, const float *x, float *y)
{
    PDL_CONSTANT_PARAM(weights);
    const float w = weights[threadIdx.x];
    PDL_WAIT();
    y[threadIdx.x] = w * x[threadIdx.x];
    PDL_LAUNCH_DEPENDENTS();
}

// A pointer in a struct, with the address computed in between.
struct Layer {
    const float *weights;
    const float *bias;
    int stride;
};

__global__ void weights_in_a_struct(Layer layer, const float *x, float *y)
{
    PDL_CONSTANT_PARAM(layer.weights);
    PDL_CONSTANT_PARAM(layer.bias);
    const float *row = layer.weights + blockIdx.x * layer.stride;
    float w[4];
    for (int i = 0; i < 4; i++) {
        w[i] = row[4 * threadIdx.x + i];
    }
    const float b = layer.bias[blockIdx.x];
    PDL_WAIT();
    float sum = b;
    for (int i = 0; i < 4; i++) {
        sum += w[i] * x[4 * threadIdx.x + i];
    }
    y[threadIdx.x] = sum;
}

// Both that a pointer may be are constant.
__global__ void either_constant(const float *a, const float *b, const float *x, float *y, int which)
{
    PDL_CONSTANT_PARAM(a);
    PDL_CONSTANT_PARAM(b);
    const float *p = which != 0 ? a : b;
    const float w = p[threadIdx.x];
    PDL_WAIT();
    y[threadIdx.x] = w * x[threadIdx.x];
}

// The pointer walks through a loop, and is still the parameter's.
__global__ void constant_in_a_loop(const int *offsets, const float *x, float *y, int n)
{
    PDL_CONSTANT_PARAM(offsets);
    int low = 0;
    int high = n;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (offsets[middle] < (int)blockIdx.x) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    PDL_WAIT();
    y[blockIdx.x * blockDim.x + threadIdx.x] = x[low];
}

__global__ void walking_pointer(const float *weights, const float *x, float *y, int n)
{
    PDL_CONSTANT_PARAM(weights);
    float sum = 0;
    for (const float *p = weights + threadIdx.x; n > 0; n--) {
        sum += *p;
        p += 128;
    }
    PDL_WAIT();
    y[threadIdx.x] = sum * x[threadIdx.x];
}

// Prefetches read nothing.
__global__ void prefetches(const float *weights, const float *x, float *y)
{
    PDL_PREFETCH_L2(weights + 32 * threadIdx.x);
    if (threadIdx.x == 0) {
        PDL_PREFETCH_L2_RANGE(weights + 4096 * blockIdx.x, 16384);
    }
    PDL_WAIT();
    y[threadIdx.x] = weights[threadIdx.x] * x[threadIdx.x];
}

// Shared memory is the block's own.
__global__ void shared_before_the_wait(const float *x, float *y)
{
    __shared__ float table[128];
    __shared__ unsigned count;
    table[threadIdx.x] = 1.0f / (1 + threadIdx.x);
    if (threadIdx.x == 0) {
        count = 0;
    }
    __syncthreads();
    atomicAdd(&count, 1);
    __syncthreads();
    const float value = table[127 - threadIdx.x] * count;
    PDL_WAIT();
    y[threadIdx.x] = value * x[threadIdx.x];
}

// An array of the thread's own.
__global__ void local_array(const float *x, float *y, int n)
{
    float table[16];
    for (int i = 0; i < 16; i++) {
        table[(i * n) & 15] = i * 0.5f;
    }
    const float value = table[n & 15];
    PDL_WAIT();
    y[threadIdx.x] = value * x[threadIdx.x];
}

__constant__ float coefficients[64];

// __constant__ memory cannot be written by a kernel.
__global__ void constant_memory(const float *x, float *y, int n)
{
    const float value = coefficients[n & 63] + coefficients[threadIdx.x & 63];
    PDL_WAIT();
    y[threadIdx.x] = value * x[threadIdx.x];
}

// A parameter by value, indexed.
struct Table {
    float values[32];
};

__global__ void parameter_by_value(const Table table, const float *x, float *y)
{
    const float value = table.values[threadIdx.x & 31];
    PDL_WAIT();
    y[threadIdx.x] = value * x[threadIdx.x];
}

// Clocks and special registers are no memory.
__global__ void clocks(unsigned long long *when, const float *x, float *y)
{
    unsigned long long start;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start)::"memory");
    PDL_WAIT();
    unsigned long long end;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end)::"memory");
    when[threadIdx.x] = end - start;
    y[threadIdx.x] = x[threadIdx.x];
}
