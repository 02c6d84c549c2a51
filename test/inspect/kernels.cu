// SPDX-License-Identifier: MIT
// Kernels whose code toolkit.py has read, for several architectures.
// Below sm_90 the waits and triggers are empty.
#include <pdl/device.cuh>

#include <assert.h>
#include <stdio.h>

struct large {
    int numbers[2000]; // more than 4 KiB of parameters
};

static __device__ __noinline__ void helper(float *to)
{
    PDL_WAIT();
    to[1] += 1;
}

extern "C" __global__ void waits_and_triggers(float *to, int n)
{
    __shared__ float shared[64];
    shared[threadIdx.x] = threadIdx.x;
    PDL_WAIT();
    __syncthreads();
    to[threadIdx.x] = shared[63 - threadIdx.x] + n;
    PDL_LAUNCH_DEPENDENTS();
}

extern "C" __global__ void waits_in_a_call(float *to)
{
    helper(to);
}

extern "C" __global__ void only_triggers(float *to)
{
    PDL_LAUNCH_DEPENDENTS();
    to[0] = 1;
}

extern "C" __global__ void prints(float *to)
{
    assert(to[0] > 0);
    printf("%f\n", to[0]);
}

extern "C" __global__ void calls_through_a_pointer(float *to, int (*function)(float *, int))
{
    to[0] = function(to, 1);
}

extern "C" __global__ void has_large_parameters(float *to, struct large numbers, int i)
{
    to[0] = numbers.numbers[i];
}

int main()
{
    return 0;
}
