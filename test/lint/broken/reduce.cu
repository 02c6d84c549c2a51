// SPDX-License-Identifier: MIT
// Reductions by CUB and cooperative groups of what was read too early.
// NOT debug: code of the libraries that is not optimized passes pointers through memory
#include <cooperative_groups.h>
#include <cub/block/block_reduce.cuh>
#include <pdl/device.cuh>

namespace cg = cooperative_groups;

// CUB reduces in shared memory; what it reduces was read too early.
__global__ void block_reduce_early(const float *x, float *y)
{
    using Reduce = cub::BlockReduce<float, 128>;
    __shared__ typename Reduce::TempStorage storage;
    const int i = blockIdx.x * 128 + threadIdx.x;
    const float sum = Reduce(storage).Sum(x[i]); // EXPECT: read-before-wait
    PDL_WAIT();
    if (threadIdx.x == 0) {
        y[blockIdx.x] = sum;
    }
}

__global__ void tile_reduce_early(const float *x, float *y)
{
    const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    float value = x[cg::this_grid().thread_rank()]; // EXPECT: read-before-wait
    for (int offset = 16; offset > 0; offset /= 2) {
        value += tile.shfl_down(value, offset);
    }
    PDL_WAIT();
    if (tile.thread_rank() == 0) {
        y[blockIdx.x] = value;
    }
}
