// SPDX-License-Identifier: MIT
// A path that the whole grid takes goes around the wait, or there is none.
// COMPILERS: nvcc nvrtc clang
// LINT: --overlapped *flag_skips_the_wait*
#include <pdl/device.cuh>

#if !defined(__CUDACC_RTC__)
#include "../math.cuh"
#endif

// It triggers, so it is meant for PDL, and breaks the chain: the kernel after waits for this one only.
__global__ void trigger_without_wait(float *y)
{
    PDL_LAUNCH_DEPENDENTS(); // EXPECT: no-wait
    y[threadIdx.x] = 2;
}

// The trigger is deep in a loop, and there is still no wait.
__global__ void late_trigger_without_wait(const float *x, float *y, int n)
{
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        sum += x[i];
        if (i == n / 2) {
            PDL_LAUNCH_DEPENDENTS(); // EXPECT: no-wait
        }
    }
    y[threadIdx.x] = sum;
}

// With one item "there is nothing to wait for".
__global__ void wait_for_many_only(const float *x, float *y, int n)
{
    float sum = 0;
    if (n > 1) { // EXPECT: no-wait
        PDL_WAIT();
        sum = 1;
    }
    y[threadIdx.x] = sum + x[threadIdx.x];
}

// A flag says whether the launch is overlapped, and somebody passes the wrong one.
__global__ void flag_skips_the_wait(const float *x, float *y, bool overlapped)
{
    if (overlapped) { // EXPECT: no-wait
        PDL_WAIT();
    }
    y[threadIdx.x] = x[threadIdx.x];
}

// A fast path in front.
__global__ void fast_path(const float *x, float *y, int n, int stride)
{
    if (stride == 1) { // EXPECT: no-wait
        y[threadIdx.x] = x[threadIdx.x];
        return;
    }
    PDL_WAIT();
    for (int i = 0; i < n; i++) {
        y[i * stride + threadIdx.x] = x[i * stride + threadIdx.x];
    }
}

// A mode without a wait; each branch reads something else.
__global__ void modes(const float *x, const float *z, float *y, int mode)
{
    if (mode == 0) { // EXPECT: no-wait
        PDL_WAIT();
        y[threadIdx.x] = x[threadIdx.x];
    } else {
        y[threadIdx.x] = z[threadIdx.x] * 3;
    }
}

// The path around the wait touches no memory, but lets the kernel after start.
__global__ void nothing_to_do_but_trigger(const float *x, float *y, int n)
{
    if (n == 0) { // EXPECT: no-wait
        PDL_LAUNCH_DEPENDENTS();
        return;
    }
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x];
    PDL_LAUNCH_DEPENDENTS();
}

// Read before the branch as well as after it.
__global__ void early_and_around(const float *x, float *y, int n)
{
    float sum = x[0]; // EXPECT: read-before-wait
    if (n > 1) {      // EXPECT: no-wait
        PDL_WAIT();
        sum += x[threadIdx.x];
    }
    y[threadIdx.x] = sum;
}
