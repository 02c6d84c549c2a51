// SPDX-License-Identifier: MIT
// Textures and surfaces are global memory as well.
#include <cuda_runtime.h>
#include <pdl/device.cuh>

__global__ void texture_early(cudaTextureObject_t texture, float *y)
{
    const float value = tex1Dfetch<float>(texture, threadIdx.x); // EXPECT: read-before-wait
    PDL_WAIT();
    y[threadIdx.x] = value;
}

// A texture is read through the non-coherent path.
__global__ void texture_late(cudaTextureObject_t texture, float *y)
{
    PDL_WAIT();
    y[threadIdx.x] = tex1Dfetch<float>(texture, threadIdx.x); // EXPECT: nc-after-wait
}

__global__ void surface_read_early(cudaSurfaceObject_t surface, float *y)
{
    const float value = surf1Dread<float>(surface, 4 * threadIdx.x); // EXPECT: read-before-wait
    PDL_WAIT();
    y[threadIdx.x] = value;
}

__global__ void surface_write_early(cudaSurfaceObject_t surface, const float *x, float *y)
{
    surf1Dwrite(1.0f, surface, 4 * threadIdx.x); // EXPECT: write-before-wait
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x];
}
