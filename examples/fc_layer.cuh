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
#include <pdl/device.cuh>

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

/* The rows must be a multiple of 32, the columns of 256; the grid at most rows / fc_shape::rows. */
template <int Tiles, typename Out>
__global__ void __launch_bounds__(fc_shape<Tiles>::threads, 2 * fc_shape<Tiles>::blocks_per_sm)
    fc_layer(const __nv_bfloat16 *weights, const __nv_bfloat16 *x, Out *y, int rows, int cols,
             int batch, kernel_stamps *stamps)
{
    using shape = fc_shape<Tiles>;
    extern __shared__ uint4 ring[];
    float *sums = reinterpret_cast<float *>(ring) + shape::ring_bytes / 4; /* [warp][batch][row] */

    stamp_start(stamps);

    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int group = lane / 4; /* which row of W and of x the tensor core takes from this lane */
    const int quad = lane % 4;  /* which columns */
    const int first_col = warp * shape::step_cols + quad * 8;
    const int grid = static_cast<int>(gridDim.x);
    const int block = static_cast<int>(blockIdx.x);
    const int steps_per_tile = cols / shape::block_cols;
    const int steps = (rows / shape::rows - block + grid - 1) / grid * steps_per_tile;

    auto piece = [&](int step, int index) {
        return ring + ((step % shape::stages) * shape::pieces + index) * shape::threads +
               threadIdx.x;
    };

    const __nv_bfloat16 *next_w =
        weights + static_cast<size_t>(block * shape::rows + group) * cols + first_col;
    int next_w_col = 0;
    auto fetch_weights = [&](int step) {
#pragma unroll
        for (int i = 0; i < 2 * Tiles; i++) {
            copy_async(piece(step, i), next_w + static_cast<size_t>(8 * i) * cols, 16);
        }
        next_w += shape::block_cols;
        next_w_col += shape::block_cols;
        if (next_w_col == cols) { /* on to the block's next rows */
            next_w_col = 0;
            next_w += static_cast<size_t>(grid * shape::rows - 1) * cols;
        }
    };
    int next_x_col = 0;
    auto fetch_x = [&](int step) {
#pragma unroll
        for (int i = 0; i < Tiles; i++) {
            const int n = group + 8 * i;
            const __nv_bfloat16 *from =
                n < batch ? x + static_cast<size_t>(n) * cols + first_col + next_x_col : x;
            copy_async(piece(step, 2 * Tiles + i), from, n < batch ? 16 : 0);
        }
        next_x_col = next_x_col + shape::block_cols == cols ? 0 : next_x_col + shape::block_cols;
    };

    for (int step = 0; step < shape::stages && step < steps; step++) {
        fetch_weights(step);
    }
    copy_commit();

    PDL_WAIT();              /* x is there from here on, and nobody reads the old y any more */
    PDL_LAUNCH_DEPENDENTS(); /* the next layer may start on its weights */

    for (int step = 0; step < shape::stages; step++) {
        if (step < steps) {
            fetch_x(step);
        }
        copy_commit();
    }

    float sum[Tiles][Tiles][4] = {};
    int col = 0;
    int tile = block;
    for (int step = 0; step < steps; step++) {
        copy_wait<shape::stages - 1>();
        uint4 w[2 * Tiles], v[Tiles];
#pragma unroll
        for (int i = 0; i < 2 * Tiles; i++) {
            w[i] = *piece(step, i);
        }
#pragma unroll
        for (int i = 0; i < Tiles; i++) {
            v[i] = *piece(step, 2 * Tiles + i);
        }
        /* Which 16 of the 32 columns are multiplied first does not matter, as long as W and x
         * agree: so each lane's 8 neighbouring columns go 4 and 4. */
#pragma unroll
        for (int m = 0; m < Tiles; m++) {
            const uint4 &a = w[2 * m], &b = w[2 * m + 1]; /* rows `group` and `group` + 8 */
#pragma unroll
            for (int n = 0; n < Tiles; n++) {
                multiply(sum[m][n], a.x, b.x, a.y, b.y, v[n].x, v[n].y);
                multiply(sum[m][n], a.z, b.z, a.w, b.w, v[n].z, v[n].w);
            }
        }
        if (step + shape::stages < steps) {
            fetch_weights(step + shape::stages);
            fetch_x(step + shape::stages);
        }
        copy_commit();

        col += shape::block_cols;
        if (col < cols) {
            continue;
        }
        /* The rows are done: add up the warps' shares. */
#pragma unroll
        for (int m = 0; m < Tiles; m++) {
#pragma unroll
            for (int n = 0; n < Tiles; n++) {
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    const int in_batch = 8 * n + 2 * quad + i % 2;
                    const int row = 16 * m + group + 8 * (i / 2);
                    sums[(warp * shape::batch + in_batch) * shape::rows + row] = sum[m][n][i];
                    sum[m][n][i] = 0;
                }
            }
        }
        __syncthreads();
        for (int i = static_cast<int>(threadIdx.x); i < shape::batch * shape::rows;
             i += shape::threads) {
            const int in_batch = i / shape::rows;
            float total = 0;
#pragma unroll
            for (int j = 0; j < shape::warps; j++) {
                total += sums[j * shape::batch * shape::rows + i];
            }
            if (in_batch < batch) {
                store(y + static_cast<size_t>(in_batch) * rows + tile * shape::rows +
                          i % shape::rows,
                      total);
            }
        }
        __syncthreads();
        col = 0;
        tile += grid;
    }
    stamp_end(stamps);
}

#endif /* PDL_EXAMPLES_FC_LAYER_CUH */
