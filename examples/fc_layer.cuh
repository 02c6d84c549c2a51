/* SPDX-License-Identifier: MIT */
/* A fully connected layer, y = W x, that reads its weights before it waits. Of 03_fc_chain and
 * 12_timeline.
 *
 * W is rows x cols, row-major, in bf16; products are summed in fp32 by the tensor cores. The time is that
 * of reading W once, so everything here serves keeping many reads in flight: each thread copies 16-byte
 * pieces of W and x into a ring in shared memory that only it reads, which needs no barrier. A first
 * ringful of W is on its way before the wait, because W does not depend on the kernel before. */
#ifndef PDL_EXAMPLES_FC_LAYER_CUH
#define PDL_EXAMPLES_FC_LAYER_CUH

#include <cuda_bf16.h>
#include <pdl/device.cuh>
#include <pdl/trace.cuh>

#include "common.cuh"

typedef __nv_bfloat16 bf16;

/* Half of an SM's shared memory, registers and threads at most is one layer's share: the next one's
 * blocks need the other half to start early. */
static const int fc_warps = 8, fc_threads = 32 * fc_warps;
static const int fc_stages = 4;           /* of the ring */
static const int fc_rows = 16;            /* that a block works on */
static const int fc_cols = 32 * fc_warps; /* that a block works on at a time */
static const int fc_pieces = 3;           /* a thread's in a stage: two of W, one of x */
static const int fc_ring_bytes = 16 * fc_stages * fc_pieces * fc_threads;
static const int fc_shared_bytes = fc_ring_bytes + 4 * fc_warps * fc_rows;

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

/* Waits for all groups but the last `Newer`. */
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

/* A grid of rows / 16 blocks; `cols` is a multiple of 256. Out is bf16 or float. */
template <typename Out>
__global__ void __launch_bounds__(fc_threads, 4)
    fc_layer(const bf16 *weights, const bf16 *x, Out *y, int cols PDL_TRACE_PARAMETER)
{
    extern __shared__ uint4 ring[];
    float *const sums = reinterpret_cast<float *>(ring) + fc_ring_bytes / 4; /* [warp][row] */
    PDL_CONSTANT_PARAM(weights);
    PDL_TRACE_BEGIN();

    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
    const int group =
        lane / 4; /* the tensor core takes two rows of W from a lane: this, and 8 on */
    const int first = 32 * warp + 8 * (lane % 4); /* of the lane's columns */
    const int first_row = static_cast<int>(blockIdx.x) * fc_rows;
    const bf16 *const w = weights + static_cast<size_t>(first_row + group) * cols + first;
    const int steps = cols / fc_cols;
    auto piece = [&](int step, int index) {
        return ring + (step % fc_stages * fc_pieces + index) * fc_threads + thread;
    };
    auto fetch_weights = [&](int step) {
        copy_async(piece(step, 0), w + step * fc_cols, 16);
        copy_async(piece(step, 1), w + static_cast<size_t>(8) * cols + step * fc_cols, 16);
    };
    auto fetch_x = [&](int step) { /* one column of eight, and zeros */
                                   copy_async(piece(step, 2),
                                              group == 0 ? x + first + step * fc_cols : x,
                                              group == 0 ? 16 : 0);
    };

    for (int step = 0; step < fc_stages && step < steps; step++) {
        fetch_weights(step);
    }
    copy_commit();
    PDL_TRACE_WAIT(); /* x is there from here on, and nobody reads the old y any more */
    PDL_TRACE_LAUNCH_DEPENDENTS(); /* the next layer may start on its weights */
    for (int step = 0; step < fc_stages; step++) {
        if (step < steps) {
            fetch_x(step);
        }
        copy_commit();
    }

    float sum[4] = {};
    for (int step = 0; step < steps; step++) {
        copy_wait<fc_stages - 1>();
        /* Which 16 of the 32 columns are multiplied first does not matter, as long as W and x agree: so
         * each lane's 8 neighbouring columns go 4 and 4. */
        const uint4 a = *piece(step, 0), b = *piece(step, 1), v = *piece(step, 2);
        multiply(sum, a.x, b.x, a.y, b.y, v.x, v.y);
        multiply(sum, a.z, b.z, a.w, b.w, v.z, v.w);
        if (step + fc_stages < steps) {
            fetch_weights(step + fc_stages);
            fetch_x(step + fc_stages);
        }
        copy_commit();
    }
    if (lane % 4 == 0) { /* these have the product's first column, the only one that is x */
        sums[warp * fc_rows + group] = sum[0];
        sums[warp * fc_rows + group + 8] = sum[2];
    }
    __syncthreads();
    if (thread < fc_rows) {
        float total = 0;
        for (int i = 0; i < fc_warps; i++) {
            total += sums[i * fc_rows + thread];
        }
        y[first_row + thread] = static_cast<Out>(total);
    }
    PDL_TRACE_END();
}

/* Lets a kernel have the shared memory that it uses, and the SM that of the next one's blocks, too. */
template <typename Kernel> void prepare(Kernel *kernel)
{
    CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, fc_shared_bytes));
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                               cudaSharedmemCarveoutMaxShared));
}

#endif /* PDL_EXAMPLES_FC_LAYER_CUH */
