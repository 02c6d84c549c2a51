// SPDX-License-Identifier: MIT
// Virtual functions before the wait: the slot says which of them.
// COMPILERS: nvcc
// NOT debug: pointers pass through local memory then, and are not traced through that: notes
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
        return values[i]; // EXPECT: read-before-wait in reads_early, own_object
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
        return factor * values[i]; // EXPECT: read-before-wait in reads_early, own_object
    }
    __device__ float scale() const override
    {
        return factor;
    }
    __device__ void synchronize() override
    {
    }
};

__global__ void make_sources(Source **to, const float *x)
{
    to[2] = nullptr; // EXPECT: write-before-wait
    PDL_WAIT();
    Vector *vector = new Vector;
    vector->values = x;
    Scaled *scaled = new Scaled;
    scaled->values = x;
    scaled->factor = 2;
    to[0] = vector;
    to[1] = scaled;
}

__global__ void reads_early(Source **sources, float *y)
{
    Source *source = sources[blockIdx.x];          // EXPECT: read-before-wait
    const float value = source->load(threadIdx.x); // EXPECT: read-before-wait
    PDL_WAIT();
    y[threadIdx.x] = value;
}

// One class waits in synchronize() and the other does not.
__global__ void wait_of_one_class(Source *const *sources, const float *x, float *y)
{
    PDL_CONSTANT_PARAM(sources);
    Source *source = sources[blockIdx.x];
    source->synchronize();           // EXPECT: read-before-wait
    y[threadIdx.x] = x[threadIdx.x]; // EXPECT: partial-wait
}

// The object is the thread's own, so that only what the function reads counts.
__global__ void own_object(const float *x, float *y, int which)
{
    Vector vector;
    Scaled scaled;
    vector.values = scaled.values = x;
    scaled.factor = 3;
    Source *source = which != 0 ? static_cast<Source *>(&vector) : static_cast<Source *>(&scaled);
    const float value = source->load(threadIdx.x);
    PDL_WAIT();
    y[threadIdx.x] = value;
}

// Another class's methods take the same parameters, and read nothing.
struct Order {
    __device__ virtual int at(const int *values, int i) const = 0;
};

struct Strided : Order {
    __device__ int at(const int *values, int i) const override
    {
        return 2 * i;
    }
};

struct Lookup {
    __device__ virtual int get(const int *values, int i) const = 0;
};

struct Plain : Lookup {
    __device__ int get(const int *values, int i) const override
    {
        return values[i]; // EXPECT: read-before-wait in lookup_early
    }
};

struct Next : Lookup {
    __device__ int get(const int *values, int i) const override
    {
        return values[i + 1]; // EXPECT: read-before-wait in lookup_early
    }
};

__global__ void lookup_early(const int *x, int *y, int which)
{
    Plain plain;
    Next next;
    const Lookup *lookup = which & 1 ? static_cast<const Lookup *>(&plain) : &next;
    const int value = lookup->get(x, threadIdx.x);
    PDL_WAIT();
    y[threadIdx.x] = value;
}

__global__ void order_early(const int *x, int *y)
{
    Strided strided;
    const Order *order = &strided;
    asm volatile("" : "+l"(order));
    const int i = order->at(x, threadIdx.x);
    const int value = x[i]; // EXPECT: read-before-wait
    PDL_WAIT();
    y[i] = value;
}
