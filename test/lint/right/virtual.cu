// SPDX-License-Identifier: MIT
// Virtual functions that wait in every class, or that are called behind the wait.
// COMPILERS: nvcc
#include <new>

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

// Classes that have nothing to do with each other, and whose methods take the same parameters.
struct Order {
    __device__ virtual int at(const int *values, int i) const = 0;
};

struct Strided : Order {
    __device__ int at(const int *values, int i) const override
    {
        return 2 * i;
    }
};

struct Shifted : Order {
    int by;
    __device__ int at(const int *values, int i) const override
    {
        return i + by;
    }
};

struct Lookup {
    __device__ virtual int get(const int *values, int i) const = 0;
};

struct Plain : Lookup {
    __device__ int get(const int *values, int i) const override
    {
        return values[i];
    }
};

struct Next : Lookup {
    __device__ int get(const int *values, int i) const override
    {
        return values[i + 1];
    }
};

__global__ void order_of_own_objects(const int *x, int *y, int which)
{
    Strided strided;
    Shifted shifted;
    shifted.by = which;
    const Order *order = which & 1 ? static_cast<const Order *>(&strided) : &shifted;
    const int i = order->at(x, threadIdx.x);
    PDL_WAIT();
    y[i] = x[i];
}

// The host made the object.
__global__ void order_of_another(const Order *order, const int *x, int *y)
{
    PDL_CONSTANT_PARAM(order);
    const int i = order->at(x, threadIdx.x);
    PDL_WAIT();
    y[i] = x[i];
}

__global__ void order_in_shared_memory(const int *x, int *y)
{
    __shared__ alignas(8) char room[sizeof(Strided)];
    if (threadIdx.x == 0) {
        new (room) Strided;
    }
    __syncthreads();
    const Order *order = reinterpret_cast<const Order *>(room);
    asm volatile("" : "+l"(order));
    const int i = order->at(x, threadIdx.x);
    PDL_WAIT();
    y[i] = x[i];
}

__global__ void lookup_behind_the_wait(const int *x, int *y, int which)
{
    Plain plain;
    Next next;
    const Lookup *lookup = which & 1 ? static_cast<const Lookup *>(&plain) : &next;
    PDL_WAIT();
    y[threadIdx.x] = lookup->get(x, threadIdx.x);
}
