// SPDX-License-Identifier: MIT
// Loads that the wait does not protect although they come after it.
// COMPILERS: nvcc nvrtc
#include <pdl/device.cuh>

// By hand.
__global__ void load_by_ldg(const float *x, float *y)
{
    PDL_WAIT();
    y[threadIdx.x] = __ldg(&x[threadIdx.x]); // EXPECT: nc-after-wait
}

// By hand, in assembly, with a cache hint, as fast kernels do.
__global__ void load_by_asm(const float *x, float *y)
{
    float value;
    PDL_WAIT();
    asm volatile("ld.global.nc.L1::no_allocate.f32 %0, [%1];" // EXPECT: nc-after-wait
                 : "=f"(value)
                 : "l"(x + threadIdx.x));
    y[threadIdx.x] = value;
}

// Read before the wait and again after it: the compiler keeps the first value.
__global__ void value_from_before(const float *__restrict__ x, float *__restrict__ y)
{
    const float before = x[threadIdx.x]; // EXPECT: read-before-wait
    PDL_WAIT();
    y[threadIdx.x] = before - 2 * x[threadIdx.x];
}

// In a function: the pointer is __restrict__ there, which is as bad.
static __device__ __forceinline__ float dot4(const float *__restrict__ a,
                                             const float *__restrict__ b)
{
    return __ldg(a) * __ldg(b) +        // EXPECT: nc-after-wait in dot_in_function
           __ldg(a + 1) * __ldg(b + 1); // EXPECT: nc-after-wait in dot_in_function
}

__global__ void dot_in_function(const float *a, const float *b, float *y)
{
    PDL_WAIT();
    y[threadIdx.x] = dot4(a + 2 * threadIdx.x, b + 2 * threadIdx.x);
}
