// SPDX-License-Identifier: MIT
// What decides whether the kernel waits is not what decides how it is launched.
// COMPILERS: nvcc nvrtc clang
#include <pdl/device.cuh>

#if !defined(__CUDACC_RTC__)
#include "../math.cuh"
#endif

// The first of several launches has nothing to wait for, or so it seems.
__global__ void not_the_first(const float *x, float *y, bool first)
{
    if (!first) { // EXPECT: no-wait
        PDL_WAIT();
    }
    y[threadIdx.x] = x[threadIdx.x];
}

__global__ void later_steps(const float *x, float *y, int step)
{
    if (step > 0) { // EXPECT: no-wait
        PDL_WAIT();
    }
    y[threadIdx.x] = x[threadIdx.x];
}

// The number is used for more.
__global__ void nothing_there(const float *x, float *y, unsigned n)
{
    if (n != 0) { // EXPECT: no-wait
        PDL_WAIT();
    }
    float sum = 0;
    for (unsigned i = threadIdx.x; i < n; i += 128) {
        sum += x[i];
    }
    y[threadIdx.x] = sum;
}

// The flag also says which memory is read.
__global__ void residual(const float *r, float *y, bool use_residual)
{
    float sum = threadIdx.x;
    if (use_residual) { // EXPECT: no-wait
        PDL_WAIT();
        sum += r[threadIdx.x];
    }
    y[threadIdx.x] = sum;
}

// And so does this one, later.
__global__ void flag_decides_more(const float *x, const float *z, float *y, bool flag)
{
    if (flag) { // EXPECT: no-wait
        PDL_WAIT();
    }
    float value = x[threadIdx.x];
    if (flag) {
        value += z[threadIdx.x];
    }
    y[threadIdx.x] = value;
}

// Turned round: it waits where it is not overlapped.
__global__ void turned_round(const float *x, float *y, bool enable_pdl)
{
    if (!enable_pdl) { // EXPECT: no-wait
        PDL_WAIT();
    }
    y[threadIdx.x] = x[threadIdx.x];
}

// Two copies of a body, and the one without the wait does more.
__device__ __forceinline__ void body(const float *x, float *y, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        y[i] = x[i] * 2 + x[i + n];
    }
}

__global__ void unequal_copies(const float *x, float *y, float *z, int n, bool flag)
{
    if (flag) { // EXPECT: no-wait
        PDL_WAIT();
        body(x, y, n);
    } else {
        body(x, y, n);
        z[threadIdx.x] = 1;
    }
}

// The flag is not the only thing: some threads go around the wait with it as well.
__global__ void flag_and_some_threads(const float *x, float *y, bool enable_pdl)
{
    if (enable_pdl && threadIdx.x < 32) {
        PDL_WAIT();
    }
    const float value = x[threadIdx.x]; // EXPECT: partial-wait
    y[threadIdx.x] = value;             // EXPECT: partial-wait
}

// Read before the flag is asked.
__global__ void too_early_for_any_flag(const float *x, float *y, bool enable_pdl)
{
    const float value = x[threadIdx.x]; // EXPECT: read-before-wait
    if (enable_pdl) {
        PDL_WAIT();
    }
    y[threadIdx.x] = value;
}

// Whether to wait is read from memory, which another kernel writes.
__global__ void ready_flag(const float *x, float *y, const int *ready)
{
    if (*ready) { // EXPECT: read-before-wait
        PDL_WAIT();
    }
    const float value = x[threadIdx.x]; // EXPECT: partial-wait
    y[threadIdx.x] = value;             // EXPECT: partial-wait
}

// The same by block.
__global__ void counter_by_block(const float *x, float *y, const unsigned *counter)
{
    if (counter[blockIdx.x] != 0) { // EXPECT: read-before-wait
        PDL_WAIT();
    }
    const float value = x[threadIdx.x]; // EXPECT: partial-wait
    y[threadIdx.x] = value;             // EXPECT: partial-wait
}

__device__ int ready_in_a_variable;

// In a variable of the module.
__global__ void ready_variable(const float *x, float *y)
{
    if (ready_in_a_variable) { // EXPECT: read-before-wait
        PDL_WAIT();
    }
    const float value = x[threadIdx.x]; // EXPECT: partial-wait
    y[threadIdx.x] = value;             // EXPECT: partial-wait
}
