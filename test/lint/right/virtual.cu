// SPDX-License-Identifier: MIT
// Virtual functions that wait in every class, or that are called behind the wait.
// COMPILERS: nvcc
#include <pdl/device.cuh>

struct Source {
    __device__ virtual float load(int i) const = 0;
    __device__ virtual float scale() const = 0;
    __device__ virtual void synchronize() = 0;
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
    __device__ void synchronize() override
    {
        PDL_WAIT();
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
    __device__ void synchronize() override
    {
        PDL_WAIT();
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

// Every class waits.
__global__ void virtual_wait_of_all_classes(const float *x, float *y, int which)
{
    Vector vector;
    Scaled scaled;
    vector.values = scaled.values = x;
    scaled.factor = 3;
    Source *source = which != 0 ? static_cast<Source *>(&vector) : static_cast<Source *>(&scaled);
    source->synchronize();
    y[threadIdx.x] = source->load(threadIdx.x);
}

// The slot of scale(), which reads the thread's own object, and not that of load().
__global__ void virtual_of_another_slot(const float *x, float *y, int which)
{
    Vector vector;
    Scaled scaled;
    vector.values = scaled.values = x;
    scaled.factor = 3;
    Source *source = which != 0 ? static_cast<Source *>(&vector) : static_cast<Source *>(&scaled);
    const float scale = source->scale();
    PDL_WAIT();
    y[threadIdx.x] = scale * x[threadIdx.x];
}
