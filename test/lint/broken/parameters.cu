// SPDX-License-Identifier: MIT
// Where the address comes from: structs, tables of pointers, variables of the module.
// COMPILERS: nvcc nvrtc clang
// NOT debug: a struct is copied to local memory then, and pointers are not traced through that: notes
#include <pdl/device.cuh>

#if !defined(__CUDACC_RTC__)
#include "../math.cuh"
#endif

struct Tensors {
    const float *weights;
    const float *x;
    float *y;
    int n;
};

// Only the weights of the struct are constant.
__global__ void struct_of_pointers(Tensors t)
{
    PDL_CONSTANT_PARAM(t.weights);
    const float w = t.weights[threadIdx.x];
    const float x = t.x[threadIdx.x]; // EXPECT: read-before-wait
    PDL_WAIT();
    t.y[threadIdx.x] = w * x;
}

// The struct itself is in memory: reading the pointer is a read, reading through it is another.
__global__ void struct_in_memory(const Tensors *t, float *y)
{
    const float *x = t->x;              // EXPECT: read-before-wait
    const float value = x[threadIdx.x]; // EXPECT: read-before-wait
    PDL_WAIT();
    y[threadIdx.x] = value;
}

// A table of pointers in the parameter, indexed by the block: grouped matrix products do that.
struct Group {
    const float *x[8];
};

__global__ void grouped(Group group, float *y)
{
    const float *x = group.x[blockIdx.x & 7];
    const float value = x[threadIdx.x]; // EXPECT: read-before-wait
    PDL_WAIT();
    y[threadIdx.x] = value;
}

__device__ float module_scale[4];
__device__ unsigned module_counter;

// A variable of the module that the kernel before writes.
__global__ void module_variable(const float *x, float *y)
{
    const float scale = module_scale[threadIdx.x & 3]; // EXPECT: read-before-wait
    PDL_WAIT();
    y[threadIdx.x] = scale * x[threadIdx.x];
}

__global__ void module_variable_written(const float *x, float *y)
{
    module_counter = blockIdx.x; // EXPECT: write-before-wait
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x];
}

// Sixteen bytes at once.
struct alignas(16) Four {
    float a, b, c, d;
};

__global__ void vector_load(const Four *x, Four *y)
{
    const Four value = x[threadIdx.x]; // EXPECT: read-before-wait
    PDL_WAIT();
    y[threadIdx.x] = value;
}

// A pointer that may be one parameter or the other is still global memory.
__global__ void either_pointer(const float *a, const float *b, float *y, int which)
{
    const float *x = which != 0 ? a : b;
    const float value = x[threadIdx.x]; // EXPECT: read-before-wait
    PDL_WAIT();
    y[threadIdx.x] = value;
}

// An address computed from an integer: nothing is known of it but that it is global.
__global__ void address_as_integer(unsigned long long base, float *y)
{
    const float value = ((const float *)base)[threadIdx.x]; // EXPECT: read-before-wait
    PDL_WAIT();
    y[threadIdx.x] = value;
}

// Constant is what one pointer points to, not what the pointers in it point to.
__global__ void constant_table_of_pointers(const float *const *table, float *y)
{
    PDL_CONSTANT_PARAM(table);
    const float *x = table[blockIdx.x];
    const float value = x[threadIdx.x]; // EXPECT: read-before-wait
    PDL_WAIT();
    y[threadIdx.x] = value;
}
