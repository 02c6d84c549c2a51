/* SPDX-License-Identifier: MIT */
/* bench_tensor_parallel with kernels that hold a wait and never reach it: its comparison must see that. */
#include <pdl/device.cuh>

#undef PDL_WAIT
#define PDL_WAIT()                                                                                 \
    asm volatile("{ .reg .pred never; setp.eq.u32 never, %0, 0;"                                   \
                 " @never griddepcontrol.wait; }" ::"r"(gridDim.z)                                 \
                 : "memory")

#include "../../tools/bench/tensor_parallel.cu"
