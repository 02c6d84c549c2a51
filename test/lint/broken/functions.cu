// SPDX-License-Identifier: MIT
// The access is in a function that the kernel calls, inlined or not.
// COMPILERS: nvcc nvrtc clang
#include <pdl/device.cuh>

#if !defined(__CUDACC_RTC__)
#include "../math.cuh"
#endif

static __device__ __noinline__ float sum_of_four(const float *p)
{
    return p[0] + p[1] + p[2] + p[3]; // EXPECT: read-before-wait in noinline_reads_early
}

__global__ void noinline_reads_early(const float *x, float *y)
{
    const float sum = sum_of_four(x + 4 * threadIdx.x);
    PDL_WAIT();
    y[threadIdx.x] = sum;
}

static __device__ __noinline__ void store_all(float *p, float value)
{
    p[threadIdx.x] = value; // EXPECT: write-before-wait in noinline_writes_early
}

__global__ void noinline_writes_early(const float *x, float *y)
{
    store_all(y, 0);
    PDL_WAIT();
    y[threadIdx.x] += x[threadIdx.x];
}

// Two levels, both inlined: the line is the innermost.
static __device__ __forceinline__ float load_pair(const float *p)
{
    return p[0] * p[1]; // EXPECT: read-before-wait in inlined_twice
}

static __device__ __forceinline__ float load_quad(const float *p)
{
    return load_pair(p) + load_pair(p + 2);
}

__global__ void inlined_twice(const float *x, float *y)
{
    const float quad = load_quad(x + 4 * threadIdx.x);
    PDL_WAIT();
    y[threadIdx.x] = quad;
}

// The wait is in a helper, and the helper is called too late.
static __device__ __noinline__ void wait_for_the_primary()
{
    PDL_WAIT();
}

__global__ void helper_waits_late(const float *x, float *y)
{
    const float value = x[threadIdx.x]; // EXPECT: read-before-wait
    wait_for_the_primary();
    y[threadIdx.x] = value * x[threadIdx.x + 1];
}

// A template, in two types: each instance has the finding.
template <typename T> __global__ void scaled_copy(const T *x, T *y, T factor)
{
    const T value = x[threadIdx.x]; // EXPECT: read-before-wait
    PDL_WAIT();
    y[threadIdx.x] = value * factor;
}
template __global__ void scaled_copy<float>(const float *, float *, float);
template __global__ void scaled_copy<int>(const int *, int *, int);

// A lambda that captured the pointer.
__global__ void lambda_reads_early(const float *x, float *y)
{
    auto at = [=](int i) {
        return x[i]; // EXPECT: read-before-wait
    };
    const float value = at(threadIdx.x);
    PDL_WAIT();
    y[threadIdx.x] = value + at(threadIdx.x + 1);
}

// A prologue as a policy, with a member function.
struct Prologue {
    const float *bias;
    __device__ float operator()(int i) const
    {
        return bias[i] * 0.5f; // EXPECT: read-before-wait in policy_reads_early
    }
};

template <typename Policy> static __device__ float run_policy(const Policy &policy)
{
    return policy((int)threadIdx.x);
}

__global__ void policy_reads_early(Prologue prologue, float *y)
{
    const float bias = run_policy(prologue);
    PDL_WAIT();
    y[threadIdx.x] += bias;
}

// A function waits on one of its paths only, and its caller relies on it.
static __device__ __noinline__ void wait_if_first(unsigned thread)
{
    if (thread < 32) {
        PDL_WAIT();
    }
}

__global__ void helper_waits_partly(const float *x, float *y)
{
    wait_if_first(threadIdx.x);
    y[threadIdx.x] = x[threadIdx.x]; // EXPECT: partial-wait
}
