// SPDX-License-Identifier: MIT
// Each macro is its one instruction for sm_90 and newer, in the place where it is written, and nothing
// below. A relocatable compilation does not change that.
//
// VARIANT relocatable by nvcc: -rdc=true
// VARIANT debug by nvcc: -lineinfo
#include <pdl/device.cuh>

#if !defined(__CUDACC__) // clang without CUDA's headers
#define __global__ __attribute__((global))
#endif

// EXPECT nothing_at_all: st.global
extern "C" __global__ void nothing_at_all(int *y)
{
    *y = 1;
}

// EXPECT waits sm_90+: griddepcontrol.wait
// EXPECT waits below sm_90: nothing
extern "C" __global__ void waits()
{
    PDL_WAIT();
}

// EXPECT triggers sm_90+: griddepcontrol.launch_dependents
// EXPECT triggers below sm_90: nothing
extern "C" __global__ void triggers()
{
    PDL_LAUNCH_DEPENDENTS();
}

// EXPECT waits_then_triggers sm_90+: griddepcontrol.wait, st.global, griddepcontrol.launch_dependents
// EXPECT waits_then_triggers below sm_90: st.global
extern "C" __global__ void waits_then_triggers(int *y)
{
    PDL_WAIT();
    *y = 1;
    PDL_LAUNCH_DEPENDENTS();
}

// EXPECT triggers_then_waits sm_90+: griddepcontrol.launch_dependents, griddepcontrol.wait, st.global
// EXPECT triggers_then_waits below sm_90: st.global
extern "C" __global__ void triggers_then_waits(int *y)
{
    PDL_LAUNCH_DEPENDENTS();
    PDL_WAIT();
    *y = 1;
}

// Two waits are two instructions: the compiler does not take one for the other.
// EXPECT waits_twice sm_90+: griddepcontrol.wait x2
// EXPECT waits_twice below sm_90: nothing
extern "C" __global__ void waits_twice()
{
    PDL_WAIT();
    PDL_WAIT();
}

// The macros are statements: they stand after an if without braces.
// EXPECT waits_in_a_branch sm_90+: griddepcontrol.wait, griddepcontrol.launch_dependents
// EXPECT waits_in_a_branch below sm_90: nothing
extern "C" __global__ void waits_in_a_branch(int n)
{
    if (n > 3)
        PDL_WAIT();
    else
        PDL_LAUNCH_DEPENDENTS();
}

// EXPECT prefetches_a_line sm_90+: prefetch.global.L2, griddepcontrol.wait
// EXPECT prefetches_a_line below sm_90: nothing
extern "C" __global__ void prefetches_a_line(const float *x)
{
    PDL_PREFETCH_L2(x + 32);
    PDL_WAIT();
}

// EXPECT prefetches_a_range sm_90+: loop, cp.async.bulk.prefetch.L2.global, again, griddepcontrol.wait
// EXPECT prefetches_a_range below sm_90: nothing
extern "C" __global__ void prefetches_a_range(const float *x, unsigned long long bytes)
{
    PDL_PREFETCH_L2_RANGE(x, bytes);
    PDL_WAIT();
}

// EXPECT prefetches_an_empty_range: nothing
extern "C" __global__ void prefetches_an_empty_range(const float *x)
{
    PDL_PREFETCH_L2_RANGE(x, 0);
}

struct alignas(64) tensor_map {
    unsigned long long opaque[16];
};

// EXPECT prefetches_a_tensor_map sm_90+: prefetch.tensormap, griddepcontrol.wait
// EXPECT prefetches_a_tensor_map below sm_90: nothing
extern "C" __global__ void prefetches_a_tensor_map(const tensor_map *map)
{
    PDL_PREFETCH_TENSORMAP(map);
    PDL_WAIT();
}

#if defined(__CUDACC__) && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700)
#define GRID_CONSTANT __grid_constant__
#elif defined(__clang__) && __has_attribute(grid_constant)
#define GRID_CONSTANT __attribute__((grid_constant))
#else
#define GRID_CONSTANT
#endif
// EXPECT prefetches_a_tensor_map_parameter sm_90+: prefetch.tensormap
// EXPECT prefetches_a_tensor_map_parameter below sm_90: nothing
extern "C" __global__ void prefetches_a_tensor_map_parameter(const GRID_CONSTANT tensor_map map)
{
    PDL_PREFETCH_TENSORMAP(&map);
}
