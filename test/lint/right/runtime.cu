// SPDX-License-Identifier: MIT
// With the toolkit's own headers: CUDA's functions, printf, assert, pipelines, tensor maps.
#include <cassert>
#include <cstdio>
#include <cuda/pipeline>
#include <cuda_bf16.h>
#include <pdl/device.cuh>

__global__ void runtime_functions(const float *x, float *y)
{
    cudaGridDependencySynchronize();
    y[threadIdx.x] = x[threadIdx.x];
    cudaTriggerProgrammaticLaunchCompletion();
}

__global__ void assert_before(const float *x, float *y, int n)
{
    assert(n > 0);
    assert(blockDim.x == 128);
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x] / n;
}

__global__ void printf_after(const float *x, float *y)
{
    PDL_WAIT();
    const float value = x[threadIdx.x];
    if (value < 0) {
        printf("block %d: %f\n", (int)blockIdx.x, value);
    }
    y[threadIdx.x] = value;
}

struct alignas(64) TensorMap {
    unsigned char bytes[128];
};

// The map is a parameter: reading or prefetching it is no access.
__global__ void tensor_after(const __grid_constant__ TensorMap map, float *y)
{
    __shared__ alignas(128) float tile[128];
    __shared__ alignas(8) unsigned long long barrier;
    const unsigned at = (unsigned)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0) {
        PDL_PREFETCH_TENSORMAP(&map);
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    PDL_WAIT();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" ::"r"(at)
                     : "memory");
        asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes"
                     " [%0], [%1, {%3}], [%2];" ::"r"((unsigned)__cvta_generic_to_shared(tile)),
                     "l"(&map), "r"(at), "r"(blockIdx.x * 128)
                     : "memory");
    }
    asm volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;"
                 " @!p bra AGAIN; }" ::"r"(at)
                 : "memory");
    y[blockIdx.x * 128 + threadIdx.x] = tile[threadIdx.x];
}

// A struct as __grid_constant__, read through its address.
struct Arguments {
    const float *x;
    float *y;
    float factors[16];
};

static __device__ __noinline__ float factor_of(const Arguments &arguments, int i)
{
    return arguments.factors[i & 15];
}

__global__ void grid_constant(const __grid_constant__ Arguments arguments)
{
    const float factor = arguments.factors[threadIdx.x & 15];
    PDL_WAIT();
    arguments.y[threadIdx.x] = factor * arguments.x[threadIdx.x];
}

__global__ void grid_constant_by_reference(const __grid_constant__ Arguments arguments)
{
    const float factor = factor_of(arguments, (int)threadIdx.x);
    PDL_WAIT();
    arguments.y[threadIdx.x] = factor * arguments.x[threadIdx.x];
}

// Loads that are volatile to the compiler and coherent, although the pointer is __restrict__.
__global__ void loads_by_macro(const float *__restrict__ x, float *__restrict__ y)
{
    PDL_WAIT();
    y[threadIdx.x] = PDL_LOAD(&x[threadIdx.x]);
    PDL_LAUNCH_DEPENDENTS();
}

__global__ void restrict_by_macro(const float *PDL_RESTRICT x, float *PDL_RESTRICT y)
{
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x];
    PDL_LAUNCH_DEPENDENTS();
}

__global__ void pipeline_after(const float *x, float *y)
{
    __shared__ alignas(16) float tile[128];
    auto pipeline = cuda::make_pipeline();
    PDL_WAIT();
    pipeline.producer_acquire();
    cuda::memcpy_async(&tile[threadIdx.x], &x[threadIdx.x], cuda::aligned_size_t<4>(sizeof(float)),
                       pipeline);
    pipeline.producer_commit();
    cuda::pipeline_consumer_wait_prior<0>(pipeline);
    __syncthreads();
    y[threadIdx.x] = tile[127 - threadIdx.x];
    pipeline.consumer_release();
}

__global__ void bf16_after(const __nv_bfloat162 *x, float *y)
{
    PDL_WAIT();
    const float2 value = __bfloat1622float2(PDL_LOAD(&x[threadIdx.x]));
    y[threadIdx.x] = value.x * value.y;
}

// Weights may keep the non-coherent load, after the wait too.
__global__ void weights_non_coherent(const float *__restrict__ weights, const float *x, float *y)
{
    PDL_CONSTANT_PARAM(weights);
    const float w = __ldg(&weights[threadIdx.x]);
    PDL_WAIT();
    y[threadIdx.x] = w * x[threadIdx.x] * __ldg(&weights[threadIdx.x + 128]);
}
