// SPDX-License-Identifier: MIT
// PDL_LOAD stays where it is written: one load each, coherent, whatever the pointer was declared as, on
// every architecture. Each kernel loads the same address before and after the wait through the pointer
// that gives the compiler the most freedom.
#include <pdl/device.cuh>

#if !defined(__CUDACC__) // clang without CUDA's headers
#define __global__ __attribute__((global))
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) double2 {
    double x, y;
};
#endif

#define LOADS_TWICE(name, type)                                                                    \
    extern "C" __global__ void name(const type *__restrict__ x, type *__restrict__ y)              \
    {                                                                                              \
        const type before = PDL_LOAD(x);                                                           \
        PDL_WAIT();                                                                                \
        const type after = PDL_LOAD(x);                                                            \
        y[0] = before;                                                                             \
        y[1] = after;                                                                              \
    }

// A class with a constructor, as the half-width floating types of CUDA are.
struct alignas(2) half_like {
    half_like() = default;
    __attribute__((device)) half_like(unsigned short from) : bits(from)
    {
    }
    unsigned short bits;
};

struct pair_of_doubles { // 16 bytes, aligned to 8
    double first, second;
};

// EXPECT loads_char sm_90+: ld.u8, griddepcontrol.wait, ld.u8, st.global x2
// EXPECT loads_char below sm_90: ld.u8 x2, st.global x2
LOADS_TWICE(loads_char, char)
// EXPECT loads_bool sm_90+: ld.u8, griddepcontrol.wait, ld.u8, st.global x2
// EXPECT loads_bool below sm_90: ld.u8 x2, st.global x2
LOADS_TWICE(loads_bool, bool)
// EXPECT loads_half_like sm_90+: ld.u16, griddepcontrol.wait, ld.u16, st.global x2
// EXPECT loads_half_like below sm_90: ld.u16 x2, st.global x2
LOADS_TWICE(loads_half_like, half_like)
// EXPECT loads_float sm_90+: ld.u32, griddepcontrol.wait, ld.u32, st.global x2
// EXPECT loads_float below sm_90: ld.u32 x2, st.global x2
LOADS_TWICE(loads_float, float)
// EXPECT loads_double sm_90+: ld.u64, griddepcontrol.wait, ld.u64, st.global x2
// EXPECT loads_double below sm_90: ld.u64 x2, st.global x2
LOADS_TWICE(loads_double, double)
// EXPECT loads_float4 sm_90+: ld.v2.u64, griddepcontrol.wait, ld.v2.u64, st.global x2
// EXPECT loads_float4 below sm_90: ld.v2.u64 x2, st.global x2
LOADS_TWICE(loads_float4, float4)
// EXPECT loads_double2 sm_90+: ld.v2.u64, griddepcontrol.wait, ld.v2.u64, st.global x2
// EXPECT loads_double2 below sm_90: ld.v2.u64 x2, st.global x2
LOADS_TWICE(loads_double2, double2)
// EXPECT loads_pair sm_90+: ld.u64 x2, griddepcontrol.wait, ld.u64 x2, st.global x4
// EXPECT loads_pair below sm_90: ld.u64 x4, st.global x4
LOADS_TWICE(loads_pair, pair_of_doubles)

// Two loads of one address without anything between them are two loads.
// EXPECT loads_again: ld.u32 x2, st.global
extern "C" __global__ void loads_again(const unsigned *__restrict__ x, unsigned *__restrict__ y)
{
    const unsigned first = PDL_LOAD(x);
    *y = first + PDL_LOAD(x);
}

// A load whose value nobody uses stays.
// EXPECT loads_in_vain: ld.u32
extern "C" __global__ void loads_in_vain(const unsigned *__restrict__ x)
{
    PDL_LOAD(x);
}

// A store before it stays before it.
// EXPECT loads_what_it_stored: st.global, ld.u32, st.global
extern "C" __global__ void loads_what_it_stored(unsigned *x)
{
    *x = 1;
    *x = PDL_LOAD(x) + 1;
}

// Pointers to const, volatile and const volatile give the plain type.
// EXPECT loads_qualified: ld.u32 x3, st.global
extern "C" __global__ void loads_qualified(const unsigned *a, volatile unsigned *b,
                                           const volatile unsigned *c, unsigned *y)
{
    unsigned sum = PDL_LOAD(a);
    sum += PDL_LOAD(b);
    sum += PDL_LOAD(c);
    *y = sum;
}
