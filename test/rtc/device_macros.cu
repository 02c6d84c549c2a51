// SPDX-License-Identifier: MIT
// Every macro of pdl/device.cuh.
#include <pdl/device.cuh>
template <unsigned Size, unsigned Align> struct alignas(Align) bits {
    unsigned char b[Size];
};
template <typename T> __device__ void load(T *x, const T *c, volatile T *v)
{
    const T before = PDL_LOAD(c);
    PDL_WAIT();
    *x = PDL_LOAD(x);
    x[1] = before;
}
#define LOADS(name, size, align)                                                                   \
    extern "C" __global__ void name(bits<size, align> *PDL_RESTRICT x,                             \
                                    const bits<size, align> *PDL_RESTRICT c)                       \
    {                                                                                              \
        load(x, c, (volatile bits<size, align> *)x);                                               \
    }
LOADS(load_1, 1, 1)
LOADS(load_2, 2, 2)
LOADS(load_4, 4, 4)
LOADS(load_8, 8, 8)
LOADS(load_16, 16, 16)
LOADS(load_halves, 16, 8)
struct pair {
    unsigned long long next, value;
};
extern "C" __global__ void follow(const volatile int *v, const pair *p, unsigned long long *y)
{
    unsigned long long sum = PDL_LOAD(v);
    while (p != nullptr) {
        const pair one = PDL_LOAD(p);
        sum += one.value;
        p = (const pair *)one.next;
    }
    *y = sum;
}
extern "C" __global__ void rest(const float *weights, float *x, unsigned long long bytes)
{
    PDL_CONSTANT_PARAM(weights);
    PDL_LINT_ALLOW("read-before-wait", "it is a test");
    PDL_PREFETCH_L2(weights);
    PDL_PREFETCH_L2_RANGE(weights, bytes);
    PDL_PREFETCH_TENSORMAP(weights);
    PDL_WAIT();
    PDL_TRIGGER_POINT(0);
    PDL_TRIGGER_POINT(1);
    *x = PDL_DEVICE_ENABLED;
    PDL_LAUNCH_DEPENDENTS();
}
