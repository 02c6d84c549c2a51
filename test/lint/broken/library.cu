// SPDX-License-Identifier: MIT
// With the toolkit's own headers in between: pipelines, half precision, CUDA's own PDL functions.
#include <cuda/pipeline>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <pdl/device.cuh>

// Half precision, two at a time.
__global__ void half2_early(const __half2 *x, __half2 *y)
{
    const __half2 value = x[threadIdx.x]; // EXPECT: read-before-wait
    PDL_WAIT();
    y[threadIdx.x] = __hmul2(value, value);
}

__global__ void bf16_early(const __nv_bfloat16 *x, float *y)
{
    const float value = __bfloat162float(x[threadIdx.x]); // EXPECT: read-before-wait
    PDL_WAIT();
    y[threadIdx.x] = value;
}

__global__ void float4_early(const float4 *x, float4 *y)
{
    const float4 value = x[threadIdx.x]; // EXPECT: read-before-wait
    PDL_WAIT();
    y[threadIdx.x] = make_float4(value.w, value.z, value.y, value.x);
}

// CUDA's own functions for the wait and the trigger, the wait too late.
__global__ void runtime_functions_late(const float *x, float *y)
{
    const float value = x[threadIdx.x]; // EXPECT: read-before-wait
    cudaGridDependencySynchronize();
    y[threadIdx.x] = value;
    cudaTriggerProgrammaticLaunchCompletion();
}

// ... and not at all.
__global__ void runtime_trigger_only(const float *x, float *y)
{
    cudaTriggerProgrammaticLaunchCompletion(); // EXPECT: no-wait
    y[threadIdx.x] = x[threadIdx.x];
}

// memcpy_async is cp.async below.
__global__ void pipeline_early(const float *x, float *y)
{
    __shared__ alignas(16) float tile[128];
    auto pipeline = cuda::make_pipeline();
    pipeline.producer_acquire();
    cuda::memcpy_async(&tile[threadIdx.x], &x[threadIdx.x], // EXPECT: read-before-wait
                       cuda::aligned_size_t<4>(sizeof(float)), pipeline);
    pipeline.producer_commit();
    PDL_WAIT();
    cuda::pipeline_consumer_wait_prior<0>(pipeline);
    __syncthreads();
    y[threadIdx.x] = tile[127 - threadIdx.x];
    pipeline.consumer_release();
}

// PDL_LOAD keeps a load on its side of the wait, also where that is the wrong side.
__global__ void pdl_load_early(const float *x, float *y)
{
    const float value = PDL_LOAD(&x[threadIdx.x]); // EXPECT: read-before-wait
    PDL_WAIT();
    y[threadIdx.x] = value;
}
