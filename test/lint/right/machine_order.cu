// SPDX-License-Identifier: MIT
// Code in which ptxas moves what it likes, and nothing of it is wrong.
//
// NOT plain: names of parameters need lines of the source
// NOT debug: nothing is moved in code that is not optimized
// LINT: --constant-param *constant_moved*:x
#include <pdl/device.cuh>

// The load that is moved above the wait is of memory that nobody writes.
__global__ void constant_moved(const float *__restrict__ x, float *y, int n)
{
    __shared__ float s[256];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i;
    __syncthreads();
    PDL_WAIT();
    y[i] = x[i] * s[255 - threadIdx.x] + x[n + i];
}

// A table of the compiler's own comes first: sinf reduces large arguments with it.
__global__ void table_first(const float *x, float *y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float phase = sinf(i * 1.5f) + cosf(i * 0.5f);
    PDL_WAIT();
    y[i] = x[i] * phase;
}

// Coherent loads stay behind the wait, however much there is to hide them behind.
__global__ void coherent(const float *x, const float *w, float *y, int n)
{
    __shared__ float s[256];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i;
    __syncthreads();
    PDL_WAIT();
    float sum = 0;
    for (int k = 0; k < 8; k++) {
        sum += x[i + k * n] * w[i * 8 + k] * s[(threadIdx.x + k) & 255];
    }
    y[i] = sum;
}

__device__ __noinline__ float helper(const float *x, int i)
{
    return x[i] * 3;
}

// A function that is called behind the wait, after one that is called before it.
__global__ void calls(const float *x, float *y, double d, int n)
{
    const double share = d / n;
    PDL_WAIT();
    y[threadIdx.x] = helper(x, threadIdx.x) + static_cast<float>(share);
}

// A branch through a table in front of the wait.
__global__ void table_branch(const float *x, float *y, int n)
{
    __shared__ float s[64];
    float a = 0;
    s[threadIdx.x & 63] = n;
    switch (n) {
    case 0:
        a = s[1] + 1;
        break;
    case 1:
        a = s[n * 3] * 2;
        break;
    case 2:
        a = s[5] / 3;
        break;
    case 3:
        a = s[7] * s[n];
        break;
    case 4:
        a = sqrtf(s[n]);
        break;
    case 5:
        a = s[n] - s[3];
        break;
    case 6:
        a = __expf(s[n + 1]);
        break;
    default:
        break;
    }
    PDL_WAIT();
    y[threadIdx.x] = a + x[threadIdx.x];
}

// A load that is coherent because the pointer is not restrict, twice in one line with the store.
__global__ void in_place(float *x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    x[i] = x[i] * 2 + x[i + 1];
}
