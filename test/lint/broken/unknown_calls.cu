// SPDX-License-Identifier: MIT
// Functions whose code is elsewhere are called before the kernel's own wait: that changes nothing about
// what the kernel does itself.
// COMPILERS: nvcc clang
#include <pdl/device.cuh>

#include "../math.cuh"

extern "C" __device__ void log_start(int block);
extern "C" __device__ float scale_of(int row);
extern "C" __device__ void prepare(float *scratch);

__global__ void reads_behind_an_unknown_call(const float *x, float *y)
{
    log_start(blockIdx.x);              // EXPECT note: read-before-wait
    const float value = x[threadIdx.x]; // EXPECT: read-before-wait
    PDL_WAIT();
    y[threadIdx.x] = value;
}

__global__ void writes_behind_an_unknown_call(const float *x, float *y, float *log)
{
    log[threadIdx.x] = scale_of(threadIdx.x); // EXPECT: write-before-wait
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x];
}

// Between two of them.
__global__ void reads_between_unknown_calls(const float *x, float *y)
{
    const float first = scale_of(0);
    const float value = x[threadIdx.x] * first; // EXPECT: read-before-wait
    prepare(y + 1024);
    PDL_WAIT();
    y[threadIdx.x] = value;
}

// In a loop in front of the wait.
__global__ void unknown_call_in_a_loop(const float *x, float *y, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++) {
        sum += scale_of(i) * x[i]; // EXPECT: read-before-wait
    }
    PDL_WAIT();
    y[threadIdx.x] = sum;
}

// Half of the threads wait, and all of them call.
__global__ void partly_waited_unknown_call(const float *x, float *y)
{
    if (threadIdx.x < 32) {
        PDL_WAIT();
    }
    log_start(threadIdx.x);
    y[threadIdx.x] = x[threadIdx.x]; // EXPECT: partial-wait
}

// The call and the access are in a function of the file.
static __device__ __noinline__ float load_scaled(const float *x, int i)
{
    return scale_of(i) * x[i]; // EXPECT: read-before-wait in unknown_call_in_a_function
}

__global__ void unknown_call_in_a_function(const float *x, float *y)
{
    const float value = load_scaled(x, threadIdx.x);
    PDL_WAIT();
    y[threadIdx.x] = value;
}

// The function of the file waits, behind the call and the access.
static __device__ __noinline__ float load_and_wait(const float *x, int i)
{
    log_start(i);
    const float value = x[i]; // EXPECT: read-before-wait in waits_in_a_function
    PDL_WAIT();
    return value;
}

__global__ void waits_in_a_function(const float *x, float *y)
{
    y[threadIdx.x] = load_and_wait(x, threadIdx.x);
}
