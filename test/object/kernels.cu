/* SPDX-License-Identifier: MIT */
/* Kernels of each kind, in a program or in a shared object: PREFIX keeps apart what is to be kept
 * apart, and where SAME is given a kernel of one name does something else in each object. */
#include <cstdio>

#include <pdl/device.cuh>

#ifndef PREFIX
#define PREFIX own
#endif
#define NAME_(prefix, name) prefix##_##name
#define NAME(prefix, name)  NAME_(prefix, name)

#ifdef NO_WAITS
#undef PDL_WAIT
#define PDL_WAIT()
#endif

#ifdef RELOCATABLE
extern __device__ void wait_elsewhere(void); /* in elsewhere.cu */
#endif

typedef int (*pointer)(int);

extern "C" __global__ void NAME(PREFIX, waits)(int *out)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    *out = 1;
}

extern "C" __global__ void NAME(PREFIX, never)(int *out)
{
    *out = 2;
}

extern "C" __global__ void NAME(PREFIX, pointer)(int *out, pointer call)
{
    *out = call(3);
}

extern "C" __global__ void NAME(PREFIX, elsewhere)(int *out)
{
#ifdef RELOCATABLE
    wait_elsewhere();
#else
    PDL_WAIT();
#endif
    *out = 4;
}

template <typename T, bool Wait> __global__ void instance(T *out)
{
    if (Wait) {
        PDL_WAIT();
    }
    *out = 5;
}

/* The same name, and a stub that is exported, in several objects. */
#ifdef SAME
#if SAME
extern "C" __global__ void same(int *out)
{
    PDL_WAIT();
    *out = 6;
}
#else
extern "C" __global__ void same(int *out)
{
    *out = 7;
}
#endif
#endif

struct symbol {
    const void *stub;
    const char *name;
};

#define STRING_(name) #name
#define STRING(name)  STRING_(name)
#define OWN(name)                                                                                  \
    {                                                                                              \
        (const void *)NAME(PREFIX, name), STRING(PREFIX) "_" #name                                 \
    }

extern "C" __attribute__((visibility("default"))) const symbol *NAME(PREFIX, symbols)(void)
{
    static const symbol symbols[] = {
        OWN(waits),
        OWN(never),
        OWN(pointer),
        OWN(elsewhere),
        {(const void *)instance<float, true>, "_Z8instanceIfLb1EEvPT_"},
        {(const void *)instance<int, false>, "_Z8instanceIiLb0EEvPT_"},
#ifdef SAME
        {(const void *)same, "same"},
#endif
        {nullptr, nullptr},
    };
    return symbols;
}
