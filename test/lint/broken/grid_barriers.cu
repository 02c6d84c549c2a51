// SPDX-License-Identifier: MIT
// One block of the grid has somebody who waits, and a barrier that does not reach the others.
// NOT debug: conditions are put together in memory
#include <pdl/device.cuh>

// The cluster of the first block is ordered. The others have nobody who waits.
__global__ void __cluster_dims__(2) one_cluster_of_the_grid(const float *x, float *y)
{
    if (blockIdx.x == 0) {
        PDL_WAIT();
    }
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    y[threadIdx.x] = x[threadIdx.x]; // EXPECT: partial-wait
}

// One thread of the grid waits, and the barrier is one of the block.
__global__ void one_thread_of_the_grid(const float *x, float *y)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        PDL_WAIT();
    }
    __syncthreads();
    y[threadIdx.x] = x[threadIdx.x]; // EXPECT: partial-wait
}

// The same, by the number of a thread in the grid.
__global__ void one_thread_by_its_number(const float *x, float *y)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) {
        PDL_WAIT();
    }
    __syncthreads();
    y[i] = x[i]; // EXPECT: partial-wait
}
