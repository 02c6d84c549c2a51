// SPDX-License-Identifier: MIT
// Functions that wait, that are called before the wait, or that nobody can follow.
// COMPILERS: nvcc nvrtc clang
#include <pdl/device.cuh>

#if !defined(__CUDACC_RTC__)
#include "../math.cuh"
#endif

static __device__ __noinline__ void wait_here()
{
    PDL_WAIT();
}

__global__ void helper_waits(const float *x, float *y)
{
    wait_here();
    y[threadIdx.x] = x[threadIdx.x];
}

static __device__ __noinline__ void wait_on_both(int mode, float *y)
{
    if (mode != 0) {
        PDL_WAIT();
    } else {
        wait_here();
        y[0] = 1;
    }
}

__global__ void helper_waits_on_both_paths(const float *x, float *y, int mode)
{
    wait_on_both(mode, y);
    y[threadIdx.x] = x[threadIdx.x];
}

static __device__ __forceinline__ float wait_and_load(const float *x)
{
    PDL_WAIT();
    return x[threadIdx.x];
}

__global__ void inlined_wait(const float *x, float *y)
{
    const float value = wait_and_load(x);
    y[threadIdx.x] = value;
}

// The pointer into shared memory is generic inside the function.
static __device__ __noinline__ void fill(float *p, float value)
{
    p[threadIdx.x] = value;
}

__global__ void shared_through_a_function(const float *x, float *y)
{
    __shared__ float table[128];
    fill(table, 0.5f);
    __syncthreads();
    const float value = table[127 - threadIdx.x];
    PDL_WAIT();
    fill(y, 1);
    y[threadIdx.x] += value * x[threadIdx.x];
}

// The function reads through what it is given, which is constant here.
static __device__ __noinline__ float sum_four(const float *p)
{
    return p[0] + p[1] + p[2] + p[3];
}

__global__ void constant_through_a_function(const float *weights, const float *x, float *y)
{
    PDL_CONSTANT_PARAM(weights);
    const float w = sum_four(weights + 4 * threadIdx.x);
    PDL_WAIT();
    y[threadIdx.x] = w * sum_four(x + 4 * threadIdx.x);
}

// An array of the thread, handed to a function.
__global__ void local_through_a_function(const float *x, float *y, int n)
{
    float mine[8];
    for (int i = 0; i < 8; i++) {
        mine[i] = (float)(i * n);
    }
    const float sum = sum_four(mine + (n & 3));
    PDL_WAIT();
    y[threadIdx.x] = sum * x[threadIdx.x];
}

static __device__ __noinline__ int arithmetic(int a, int b)
{
    return a * a + b / (a + 1);
}

__global__ void pure_function_first(const float *x, float *y, int n)
{
    const int at = arithmetic(n, (int)threadIdx.x);
    PDL_WAIT();
    y[at & 127] = x[at & 127];
}

// A recursion, after the wait.
static __device__ __noinline__ float tree_sum(const float *x, int n)
{
    if (n == 1) {
        return x[0];
    }
    return tree_sum(x, n / 2) + tree_sum(x + n / 2, n - n / 2);
}

__global__ void recursion_after(const float *x, float *y, int n)
{
    PDL_WAIT();
    y[threadIdx.x] = tree_sum(x, n);
}

// A recursion of arithmetic, before it.
static __device__ __noinline__ int ackermann(int m, int n)
{
    if (m == 0) {
        return n + 1;
    }
    return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

__global__ void recursion_before(const float *x, float *y, int m)
{
    const int at = ackermann(m & 1, (int)threadIdx.x) & 127;
    PDL_WAIT();
    y[at] = x[at];
}

__global__ void lambda_after(const float *x, float *y)
{
    auto at = [=](int i) { return x[i]; };
    PDL_WAIT();
    y[threadIdx.x] = at(threadIdx.x) + at(threadIdx.x + 1);
}

// Two instances of a template, one waits in a function of its policy.
struct WaitPolicy {
    static __device__ void begin()
    {
        PDL_WAIT();
    }
};

template <typename Policy> __global__ void policy_waits(const float *x, float *y)
{
    Policy::begin();
    y[threadIdx.x] = x[threadIdx.x];
    PDL_LAUNCH_DEPENDENTS();
}
template __global__ void policy_waits<WaitPolicy>(const float *, float *);
