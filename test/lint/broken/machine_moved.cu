// SPDX-License-Identifier: MIT
// Loads without coherence that stand behind the wait in the source and in the PTX, and what ptxas makes of them:
// MACHINE says whether the machine code for sm_90 has them above the wait.
//
// NOT plain: names of parameters need lines of the source
// NOT debug: nothing is moved in code that is not optimized
// LINT: --constant-param table --constant-param *with_weights*:w
#include <pdl/device.cuh>

// What comes before the wait is in shared memory, and the load is wanted first behind it.
__global__ void reverse_scale(const float *__restrict__ x, float *y, int n)
{
    __shared__ float s[256];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i;
    __syncthreads();
    PDL_WAIT();
    const float a = s[255 - threadIdx.x];
    y[i] = x[i] * a + x[n + i]; // EXPECT: nc-after-wait // MACHINE: moved
}

// Two pointers in one line, both moved.
__global__ void reverse_add(const float *__restrict__ x, const float *__restrict__ w, float *y)
{
    __shared__ float s[256];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i;
    __syncthreads();
    PDL_WAIT();
    y[i] = x[i] + w[i] * s[255 - threadIdx.x]; // EXPECT: nc-after-wait // MACHINE: moved
}

__device__ __forceinline__ float fetch(const float *__restrict__ from, int i)
{
    return __ldg(from + i); // EXPECT: nc-after-wait in reverse_fetch // MACHINE: moved
}

// The same through a function that is inlined, which the kernel calls before the wait as well.
__global__ void reverse_fetch(const float *__restrict__ x, const float *__restrict__ table,
                              float *y)
{
    __shared__ float s[256];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = fetch(table, i);
    __syncthreads();
    PDL_WAIT();
    y[i] = fetch(x, i) * s[255 - threadIdx.x];
}

// Nothing is there to hide the load behind.
__global__ void plain_scale(const float *__restrict__ x, float *y)
{
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x] * 2; // EXPECT: nc-after-wait // MACHINE: kept
}

// The address is loaded behind the wait.
__global__ void gather(const int *__restrict__ index, const float *x, float *y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    const int from = index[i]; // EXPECT: nc-after-wait // MACHINE: kept
    y[i] = x[from];
}

// The wait is in a branch, and the load behind it in the same one.
__global__ void in_branch(const float *__restrict__ x, float *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        PDL_WAIT();
        y[i] = x[i] * 2; // EXPECT: nc-after-wait // MACHINE: kept
    }
}

// The PTX has one load before the wait, which is another parameter's.
__global__ void with_weights(const float *__restrict__ w, const float *__restrict__ x, float *y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float scale = w[i];
    PDL_WAIT();
    y[i] = x[i] * scale; // EXPECT: nc-after-wait // MACHINE: kept
}
