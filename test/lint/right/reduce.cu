// SPDX-License-Identifier: MIT
// Reductions by CUB and cooperative groups: they work in shared memory and registers.
// NOT debug: code of the libraries that is not optimized passes pointers through memory
#include <cooperative_groups.h>
#include <cub/block/block_reduce.cuh>
#include <pdl/device.cuh>

namespace cg = cooperative_groups;

// CUB works in shared memory, and after the wait.
__global__ void block_reduce_after(const float *x, float *y)
{
    using Reduce = cub::BlockReduce<float, 128>;
    __shared__ typename Reduce::TempStorage storage;
    PDL_WAIT();
    const float sum = Reduce(storage).Sum(x[blockIdx.x * 128 + threadIdx.x]);
    if (threadIdx.x == 0) {
        y[blockIdx.x] = sum;
    }
    PDL_LAUNCH_DEPENDENTS();
}

// Reductions over what the block computed itself, before the wait.
__global__ void block_reduce_of_indices(const float *x, float *y)
{
    using Reduce = cub::BlockReduce<int, 128>;
    __shared__ typename Reduce::TempStorage storage;
    __shared__ int total;
    const int sum = Reduce(storage).Sum((int)(threadIdx.x * threadIdx.x % 7));
    if (threadIdx.x == 0) {
        total = sum;
    }
    __syncthreads();
    PDL_WAIT();
    y[threadIdx.x] = x[threadIdx.x] * total;
}

__global__ void groups_before(const float *x, float *y)
{
    const auto block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<32>(block);
    const auto grid = cg::this_grid();
    const int lane = tile.thread_rank();
    const int sum = tile.shfl_xor(lane, 3) + tile.any(lane > 3);
    block.sync();
    PDL_WAIT();
    y[grid.thread_rank()] = x[grid.thread_rank()] * sum;
}
