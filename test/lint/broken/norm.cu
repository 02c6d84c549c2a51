// SPDX-License-Identifier: MIT
// Fused normalisations that touch the row too early: what most reports of PDL races come down to.
// COMPILERS: nvcc nvrtc clang
#include <pdl/device.cuh>

#if !defined(__CUDACC_RTC__)
#include "../math.cuh"
#endif

// The residual is read while the address is computed, long before it is used.
__global__ void rms_norm_residual(const float *x, float *residual, const float *gamma, float *y,
                                  int width)
{
    PDL_CONSTANT_PARAM(gamma);
    __shared__ float part[32];
    const int row = blockIdx.x * width;
    const float first = x[row + threadIdx.x]; // EXPECT: read-before-wait
    const float scale = gamma[threadIdx.x];
    PDL_WAIT();
    float sum = first * first;
    for (int i = threadIdx.x + blockDim.x; i < width; i += blockDim.x) {
        const float value = x[row + i] + residual[row + i];
        residual[row + i] = value;
        sum += value * value;
    }
    part[threadIdx.x & 31] = sum;
    __syncthreads();
    PDL_LAUNCH_DEPENDENTS();
    y[row + threadIdx.x] = first * scale * rsqrtf(part[0] / width);
}

// The sum is taken before the wait, and only the write comes after.
__global__ void layer_norm_statistics(const float *x, float *mean, int width)
{
    float sum = 0;
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        sum += x[blockIdx.x * width + i]; // EXPECT: read-before-wait
    }
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    mean[blockIdx.x * blockDim.x + threadIdx.x] = sum / width;
}

// A bounds check in front of the read makes it no better.
__global__ void softmax_guarded(const float *x, float *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = -1e30f;
    if (i < n) {
        value = x[i]; // EXPECT: read-before-wait
    }
    PDL_WAIT();
    if (i < n) {
        y[i] = expf(value);
    }
    PDL_LAUNCH_DEPENDENTS();
}

// The scale that the kernel before computes is read early, since it is "only one number".
__global__ void dequantize(const signed char *q, const float *scale, float *y)
{
    const float factor = *scale; // EXPECT: read-before-wait
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    y[i] = factor * q[i];
}

// The weights are prefetched as they should be, and the activations with them, which is wrong.
__global__ void gemv_prologue(const float *weights, const float *x, float *y)
{
    PDL_CONSTANT_PARAM(weights);
    float w[4];
    float a[4];
    for (int i = 0; i < 4; i++) {
        w[i] = weights[4 * threadIdx.x + i];
        a[i] = x[4 * threadIdx.x + i]; // EXPECT: read-before-wait
    }
    PDL_WAIT();
    float sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += w[i] * a[i];
    }
    y[threadIdx.x] = sum;
    PDL_LAUNCH_DEPENDENTS();
}

// The token's id picks a row of a constant table; the id is not constant.
__global__ void embedding(const int *token, const float *table, float *y, int width)
{
    PDL_CONSTANT_PARAM(table);
    const int id = token[blockIdx.x]; // EXPECT: read-before-wait
    const float value = table[id * width + threadIdx.x];
    PDL_WAIT();
    y[blockIdx.x * width + threadIdx.x] = value;
}
