// SPDX-License-Identifier: MIT
// Calls through pointers that are right: what may be called waits first, or touches nothing before.
// COMPILERS: nvcc
#include <pdl/device.cuh>

typedef float (*Operation)(const float *, int);
typedef float (*Number)(float, float);
typedef void (*Hook)(int);
typedef void (*Pair)(int, int);

static __device__ __noinline__ float take_one(const float *x, int i)
{
    return x[i];
}

static __device__ __noinline__ float take_two(const float *x, int i)
{
    return x[i] + x[i + 1];
}

static __device__ __noinline__ float add(float a, float b)
{
    return a + b;
}

static __device__ __noinline__ float multiply(float a, float b)
{
    return a * b;
}

static __device__ __noinline__ void wait_hook(int)
{
    PDL_WAIT();
}

static __device__ __noinline__ void wait_twice_hook(int n)
{
    if (n > 0) {
        PDL_WAIT();
    } else {
        wait_hook(n);
    }
}

static __device__ __noinline__ void pair_that_writes(int, int)
{
    PDL_WAIT();
}

__device__ Operation operations[2] = {take_one, take_two};
__device__ Number numbers[2] = {add, multiply};
__constant__ Number constant_numbers[2] = {multiply, add};
__device__ Hook hooks[2] = {wait_hook, wait_twice_hook};
__device__ Pair pairs[1] = {pair_that_writes};

__global__ void from_a_table_behind_the_wait(const float *x, float *y, int which)
{
    PDL_WAIT();
    y[threadIdx.x] = operations[which](x, threadIdx.x);
}

// Functions that touch no memory, in front of the wait.
__global__ void numbers_in_front(const float *x, float *y, int which)
{
    const float value = constant_numbers[which](threadIdx.x, blockIdx.x);
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x] * value;
}

__global__ void chosen_numbers_in_front(const float *x, float *y, int which)
{
    Number number = which != 0 ? add : multiply;
    const float value = number(threadIdx.x, blockIdx.x);
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x] * value;
}

// The host hands over one of the functions: all of that prototype touch no memory.
__global__ void numbers_from_a_parameter(Number number, const float *x, float *y)
{
    const float value = number(threadIdx.x, blockIdx.x);
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x] * value;
}

// Each function of the table waits.
__global__ void waits_through_a_pointer(const float *x, float *y, int which)
{
    hooks[which](which);
    y[threadIdx.x] = x[threadIdx.x];
}

__global__ void waits_through_a_slot(const float *x, float *y)
{
    pairs[0](1, 2);
    y[threadIdx.x] = x[threadIdx.x];
}

static __device__ __noinline__ float apply(Operation operation, const float *x, int i)
{
    return operation(x, i) * 2;
}

__global__ void by_a_helper_behind_the_wait(const float *x, float *y)
{
    PDL_WAIT();
    y[threadIdx.x] = apply(take_one, x, threadIdx.x) + apply(take_two, x, threadIdx.x);
}

__global__ void numbers_for_the_host(Number *to, Hook *hook)
{
    PDL_WAIT();
    to[0] = numbers[threadIdx.x & 1];
    hook[0] = wait_hook;
}
