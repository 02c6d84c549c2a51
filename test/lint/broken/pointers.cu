// SPDX-License-Identifier: MIT
// What is called through a pointer before the wait reads or writes memory, or does not wait.
// COMPILERS: nvcc
#include <pdl/device.cuh>

typedef float (*Operation)(const float *, int);
typedef float (*Access)(int, const float *);
typedef void (*Step)(float *);
typedef void (*Hook)(int);

static __device__ __noinline__ float take_one(const float *x, int i)
{
    return x[i]; // EXPECT: read-before-wait in by_table, by_const, by_param, chosen, in_array
}

static __device__ __noinline__ float take_two(const float *x, int i)
{
    return x[2 * i]; // EXPECT: read-before-wait in by_table, by_const, by_param, chosen, in_array
}

static __device__ __noinline__ float take_at(int i, const float *x)
{
    return x[i]; // EXPECT: read-before-wait in by_helper
}

static __device__ __noinline__ void clear(float *y)
{
    y[threadIdx.x] = 0; // EXPECT: write-before-wait in by_struct
}

static __device__ __noinline__ void no_step(float *)
{
}

__device__ Operation operations[2] = {take_one, take_two};
__constant__ Operation constant_operations[2] = {take_one, take_two};

struct Stage {
    int number;
    Step first;
    Step second;
};

__device__ Stage stages[2] = {{1, no_step, clear}, {2, no_step, clear}};

__global__ void by_table(const float *x, float *y, int which)
{
    const float value = operations[which](x, threadIdx.x);
    PDL_WAIT();
    y[threadIdx.x] = value;
}

__global__ void by_const(const float *x, float *y, int which)
{
    const float value = constant_operations[which](x, threadIdx.x);
    PDL_WAIT();
    y[threadIdx.x] = value;
}

// The host hands over a pointer that it read from a symbol.
__global__ void by_param(Operation operation, const float *x, float *y)
{
    const float value = operation(x, threadIdx.x);
    PDL_WAIT();
    y[threadIdx.x] = value;
}

__global__ void chosen(const float *x, float *y, int which)
{
    Operation operation = which != 0 ? take_two : take_one;
    const float value = operation(x, threadIdx.x);
    PDL_WAIT();
    y[threadIdx.x] = value;
}

__global__ void in_array(const float *x, float *y, int which)
{
    Operation all[2] = {take_one, take_two};
    const float value = all[which & 1](x, threadIdx.x);
    PDL_WAIT();
    y[threadIdx.x] = value;
}

__global__ void by_struct(const float *x, float *y, int which)
{
    stages[which].second(y);
    PDL_WAIT();
    y[threadIdx.x] += x[threadIdx.x];
}

// A function that is given what it calls.
static __device__ __noinline__ float apply(Access access, const float *x, int i)
{
    return access(i, x) * 2;
}

__global__ void by_helper(const float *x, float *y)
{
    const float value = apply(take_at, x, threadIdx.x);
    PDL_WAIT();
    y[threadIdx.x] = value;
}

// The wait is behind a pointer too, and one of the two functions has none.
static __device__ __noinline__ void wait_hook(int)
{
    PDL_WAIT();
}

static __device__ __noinline__ void empty_hook(int)
{
}

__device__ Hook hooks[2] = {wait_hook, empty_hook};

__global__ void waits_in_one_of_two(const float *x, float *y, int which)
{
    hooks[which](3);
    y[threadIdx.x] = x[threadIdx.x]; // EXPECT: partial-wait
}

// The wait comes through a pointer, and too late.
__device__ Hook only_hook[1] = {wait_hook};

__global__ void waits_late_through_a_pointer(const float *x, float *y)
{
    const float value = x[threadIdx.x]; // EXPECT: read-before-wait
    only_hook[blockIdx.x](3);
    y[threadIdx.x] = value;
}
