/* SPDX-License-Identifier: MIT */
/* A job of three stages, written once for the host and for five ways to run it on the device.
 *
 * A stage multiplies a vector by a block-sparse matrix: each block of 64 rows needs the whole
 * output of four blocks of the stage before, its own and three others, `stride` apart. The 64 KiB
 * of weights that a block needs depend on nothing: they go into registers before the block waits
 * for its inputs. */
#ifndef PDL_BENCH_WAYS_STAGES_CUH
#define PDL_BENCH_WAYS_STAGES_CUH

#include <cmath>

#include <cooperative_groups.h>
#include <cuda/atomic>

#include "common.cuh"

static const int stages = 3;
static const int rows = 64;              /* of a block */
static const int sources = 4;            /* blocks whose output a block needs */
static const int columns = 64 * sources; /* of a block's weights */
static const int threads = 256;

__host__ __device__ inline int stride_of(int stage)
{
    return stage == 0 ? 1 : stage == 1 ? 5 : 25;
}

__host__ __device__ inline float activation(float sum)
{
    return sum > 0 ? sum : 0.125f * sum;
}

/* A thread's share of its block's weights: 4 + 4 columns in each of its warp's 8 rows. */
struct weight_tile {
    float4 half[8][2];
};

__device__ inline void load_weights(weight_tile &tile, const float4 *weights)
{
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const size_t row = static_cast<size_t>(blockIdx.x) * rows + static_cast<size_t>(8 * warp);
    const float4 *const from = weights + row * (columns / 4) + lane;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        tile.half[i][0] = from[i * (columns / 4)];
        tile.half[i][1] = from[i * (columns / 4) + 32];
    }
}

/* The block's rows of y from what it needs of x. Inputs are read with PDL_LOAD: other blocks have
 * just written them, perhaps of this very grid. */
__device__ inline void multiply(const weight_tile &tile, const float *x, float *y, int stride)
{
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int block = static_cast<int>(blockIdx.x), blocks = static_cast<int>(gridDim.x);
    float4 input[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int source = (block + (2 * half + lane / 16) * stride) % blocks;
        input[half] = PDL_LOAD(reinterpret_cast<const float4 *>(x + source * rows) + lane % 16);
    }
    float mine = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        float sum = 0;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            sum = __fmaf_rn(tile.half[i][half].x, input[half].x, sum);
            sum = __fmaf_rn(tile.half[i][half].y, input[half].y, sum);
            sum = __fmaf_rn(tile.half[i][half].z, input[half].z, sum);
            sum = __fmaf_rn(tile.half[i][half].w, input[half].w, sum);
        }
        for (int other = 16; other > 0; other /= 2) {
            sum = __fadd_rn(sum, __shfl_xor_sync(~0u, sum, other));
        }
        mine = lane == i ? sum : mine;
    }
    if (lane < 8) {
        y[block * rows + 8 * warp + lane] = activation(mine);
    }
}

/* ---- one kernel a stage --------------------------------------------------------------------- */

__global__ void __launch_bounds__(threads, 2)
    stage_kernel(const float4 *weights, const float *x, float *y, int stride)
{
    weight_tile tile;
    PDL_LINT_ALLOW("read-before-wait", "nobody writes the weights");
    load_weights(tile, weights);
    PDL_LAUNCH_DEPENDENTS(); /* the next stage may load its weights */
    PDL_WAIT();
    multiply(tile, x, y, stride);
}

/* ---- one kernel for the job ----------------------------------------------------------------- */

/* Stage by stage, x to the two vectors of `middle` to `out`; `before` and `after` stand around the
 * reading and writing of what blocks exchange. */
template <typename Before, typename After>
__device__ inline void all_stages(const float4 *weights, const float *x, float *middle, float *out,
                                  Before &&before, After &&after)
{
    const size_t n = static_cast<size_t>(gridDim.x) * rows;
    for (int stage = 0; stage < stages; stage++) {
        weight_tile tile;
        load_weights(tile, weights + static_cast<size_t>(stage) * n * (columns / 4));
        if (stage > 0) {
            before(stage);
        }
        multiply(tile, stage == 0 ? x : middle + static_cast<size_t>(stage - 1) * n,
                 stage == stages - 1 ? out : middle + static_cast<size_t>(stage) * n,
                 stride_of(stage));
        if (stage < stages - 1) {
            after(stage);
        }
    }
}

/* All blocks wait for all blocks. */
__global__ void __launch_bounds__(threads, 2)
    grid_sync_kernel(const float4 *weights, const float *x, float *middle, float *out)
{
    all_stages(
        weights, x, middle, out, [](int) { cooperative_groups::this_grid().sync(); }, [](int) {});
}

/* A block waits for the four blocks that it needs: each says in a flag of its own which job it has
 * done the stage of. All blocks must be on the device together, which a cooperative launch
 * guarantees. */
__global__ void __launch_bounds__(threads, 2)
    megakernel(const float4 *weights, const float *x, float *middle, float *out, unsigned *flags,
               unsigned job, unsigned *failed)
{
    typedef cuda::atomic_ref<unsigned, cuda::thread_scope_device> flag;
    all_stages(
        weights, x, middle, out,
        [=](int stage) {
            if (threadIdx.x < sources) {
                const unsigned source =
                    (blockIdx.x + threadIdx.x * static_cast<unsigned>(stride_of(stage))) %
                    gridDim.x;
                const flag done(flags[static_cast<unsigned>(stage - 1) * gridDim.x + source]);
                unsigned long long begin = 0;
                for (unsigned i = 1; done.load(cuda::memory_order_acquire) != job; i++) {
                    if (i % 1024 == 0) { /* nothing should hang: give up after 2 s */
                        begin = begin == 0 ? device_clock() : begin;
                        if (!in_time(begin)) {
                            atomicExch(failed, 1u);
                            break;
                        }
                    }
                }
            }
            __syncthreads();
        },
        [=](int stage) {
            __syncthreads(); /* the block's rows are written */
            if (threadIdx.x == 0) {
                const flag done(flags[static_cast<unsigned>(stage) * gridDim.x + blockIdx.x]);
                done.store(job, cuda::memory_order_release);
            }
        });
}

/* ---- host ----------------------------------------------------------------------------------- */

/* The job in the same order of operations as on the device, so that the bits are the same. */
inline std::vector<float> three_stages(const std::vector<float> &weights, std::vector<float> x)
{
    const int n = static_cast<int>(x.size()), blocks = n / rows;
    std::vector<float> y(x.size());
    for (int stage = 0; stage < stages; stage++) {
        for (int row = 0; row < n; row++) {
            const float *const w =
                weights.data() +
                (static_cast<size_t>(stage) * x.size() + static_cast<size_t>(row)) * columns;
            float sums[32];
            for (int lane = 0; lane < 32; lane++) {
                sums[lane] = 0;
                for (int i = 0; i < 8; i++) {
                    const int column = i / 4 * 128 + 4 * lane + i % 4;
                    const int source = (row / rows + column / rows * stride_of(stage)) % blocks;
                    sums[lane] = std::fma(w[column], x[source * rows + column % rows], sums[lane]);
                }
            }
            for (int other = 16; other > 0; other /= 2) {
                for (int lane = 0; lane < other; lane++) {
                    sums[lane] += sums[lane + other];
                }
            }
            y[row] = activation(sums[0]);
        }
        std::swap(x, y);
    }
    return x;
}

#endif /* PDL_BENCH_WAYS_STAGES_CUH */
