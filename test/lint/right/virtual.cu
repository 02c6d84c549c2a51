// SPDX-License-Identifier: MIT
// Virtual functions that are called behind the wait.
// COMPILERS: nvcc
#include <pdl/device.cuh>

struct Source {
    __device__ virtual float load(int i) const = 0;
    __device__ virtual float scale() const = 0;
};

struct Vector : Source {
    const float *values;
    __device__ float load(int i) const override
    {
        return values[i];
    }
    __device__ float scale() const override
    {
        return 1;
    }
};

struct Scaled : Source {
    const float *values;
    float factor;
    __device__ float load(int i) const override
    {
        return factor * values[i];
    }
    __device__ float scale() const override
    {
        return factor;
    }
};

__global__ void make_sources(Source **to, const float *x)
{
    PDL_WAIT();
    Vector *vector = new Vector;
    vector->values = x;
    Scaled *scaled = new Scaled;
    scaled->values = x;
    scaled->factor = 2;
    to[0] = vector;
    to[1] = scaled;
}

__global__ void virtual_behind_the_wait(Source **sources, float *y)
{
    PDL_WAIT();
    y[threadIdx.x] = sources[blockIdx.x]->load(threadIdx.x) * sources[blockIdx.x]->scale();
}

__global__ void own_object_behind_the_wait(const float *x, float *y, int which)
{
    Vector vector;
    Scaled scaled;
    vector.values = scaled.values = x;
    scaled.factor = 3;
    Source *source = which != 0 ? static_cast<Source *>(&vector) : static_cast<Source *>(&scaled);
    PDL_WAIT();
    y[threadIdx.x] = source->load(threadIdx.x);
}
