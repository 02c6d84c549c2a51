/* SPDX-License-Identifier: MIT */
/* A fully connected layer for small batches, y = W x, that reads its weights before it waits.
 *
 * W is rows x cols, row-major; x is batch x cols and y is batch x rows, so that one layer's y is
 * the next one's x. bf16 in, products summed in fp32 by the tensor cores. The time is that of
 * reading W once, so everything here serves keeping many reads in flight: each thread copies
 * 16-byte pieces of W (and of x) into a ring in shared memory that only it reads, which needs no
 * barrier, and a first ringful of W is on its way before PDL_WAIT(), because W does not depend on
 * the kernel before. */
#ifndef PDL_EXAMPLES_FC_LAYER_CUH
#define PDL_EXAMPLES_FC_LAYER_CUH

#include <cuda_bf16.h>
#include <pdl/trace.cuh>

#include "timing.cuh"

/* Tiles 1 serves batches of up to 8, Tiles 2 up to 16. Half of an SM's shared memory, registers and
 * threads is one layer's share: the next one's blocks need the other half to start early. */
template <int Tiles> struct fc_shape {
    static constexpr int warps = 8;
    static constexpr int threads = 32 * warps;
    static constexpr int stages = 4;        /* of the ring */
    static constexpr int rows = 16 * Tiles; /* that a block works on at a time */
    static constexpr int batch = 8 * Tiles; /* the largest */
    static constexpr int step_cols = 32;    /* that a warp works on at a time */
    static constexpr int block_cols = warps * step_cols;
    static constexpr int pieces = 2 * Tiles + Tiles; /* a thread's of W and of x, a stage */
    static constexpr int ring_bytes = 16 * stages * pieces * threads;
    static constexpr int shared_bytes = ring_bytes + 4 * warps * rows * batch;
    static constexpr int blocks_per_sm = 2 / Tiles;
};

/* Copies 16 bytes to shared memory in the background; `bytes` 0 writes zeros and reads nothing. */
__device__ inline void copy_async(uint4 *to, const void *from, unsigned bytes)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(from), "r"(bytes)
                 : "memory");
}

__device__ inline void copy_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int Newer> __device__ inline void copy_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(Newer) : "memory");
}

/* sum += a b: 16 x 16 by 16 x 8. */
__device__ inline void multiply(float (&sum)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                                unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

__device__ inline void store(__nv_bfloat16 *to, float value)
{
    *to = __float2bfloat16(value);
}

__device__ inline void store(float *to, float value)
{
    *to = value;
}

#include "fc_layer_kernel.cuh"

#endif /* PDL_EXAMPLES_FC_LAYER_CUH */
