// SPDX-License-Identifier: MIT
// Barriers that complete before those who wait have waited, or that those come to too far away.
#include <pdl/device.cuh>

static __device__ __forceinline__ void named_sync(int number, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

static __device__ __forceinline__ void named_arrive(int number, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

static __device__ __noinline__ void meet()
{
    __syncthreads();
}

// The barrier of the block stands in front of the wait, and not behind it.
__global__ void barrier_before_the_wait(const float *x, float *y)
{
    if (threadIdx.x < 32) {
        __syncthreads();
        PDL_WAIT();
        y[threadIdx.x] = x[threadIdx.x];
    } else {
        __syncthreads();
        y[threadIdx.x] = 2 * x[threadIdx.x]; // EXPECT: partial-wait
    }
    __syncthreads();
}

// The first warp arrives, waits, and comes to the same barrier again: the others read one phase early.
__global__ void one_phase_early(const float *x, float *y)
{
    float value;
    if (threadIdx.x < 32) {
        named_arrive(1, blockDim.x);
        PDL_WAIT();
        value = x[threadIdx.x];
    } else {
        named_sync(1, blockDim.x);
        value = 2 * x[threadIdx.x + 32]; // EXPECT: partial-wait
    }
    __syncthreads();
    named_sync(1, blockDim.x);
    y[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

// Two phases go by in front of the wait, and the readers go by the second.
__global__ void two_phases_early(const float *x, float *y)
{
    __shared__ float table[64];
    float value = 0;
    if (threadIdx.x < 32) {
        table[threadIdx.x] = 1;
        __syncthreads();
        table[threadIdx.x + 32] = 2;
        __syncthreads();
        PDL_WAIT();
        __syncthreads();
    } else {
        __syncthreads();
        value = table[threadIdx.x & 31];
        __syncthreads();
        value += x[threadIdx.x]; // EXPECT: partial-wait
        __syncthreads();
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] =
        value + table[32]; // the third phase is behind the wait
}

// Any number of phases go by in front of the wait.
__global__ void a_loop_of_phases(const float *x, float *y, int n)
{
    __shared__ volatile float table[64];
    if (threadIdx.x < 32) {
        for (int i = 0; i < n; i++) {
            table[threadIdx.x] = (float)i;
            named_sync(2, 64);
        }
        PDL_WAIT();
        named_sync(2, 64);
    } else {
        named_sync(2, 64);
        y[threadIdx.x] = x[threadIdx.x] + table[0]; // EXPECT: partial-wait
    }
}

// The barrier is in a function.
__global__ void a_barrier_in_a_function(const float *x, float *y)
{
    if (threadIdx.x < 32) {
        meet();
        PDL_WAIT();
    } else {
        meet();
        y[threadIdx.x] = x[threadIdx.x]; // EXPECT: partial-wait
    }
    meet();
}

// Each thread arrives at the cluster's barrier before the first block has waited.
__global__ void __cluster_dims__(2) cluster_arrives_early(const float *x, float *y)
{
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
    if (rank == 0) {
        PDL_WAIT();
    }
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
    const float value = x[threadIdx.x]; // EXPECT: partial-wait
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    y[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

// The first thread is one of the first warp, and the barrier is one of each warp.
__global__ void a_warp_s_barrier_for_the_block(const float *x, float *y)
{
    if (threadIdx.x == 0) {
        PDL_WAIT();
    }
    __syncwarp();
    y[threadIdx.x] = x[threadIdx.x]; // EXPECT: partial-wait
}

// The lanes of the other half do not come to the barrier.
__global__ void half_of_the_warp(const float *x, float *y)
{
    const unsigned lane = threadIdx.x & 31;
    if (lane == 0) {
        PDL_WAIT();
    }
    if (lane < 16) {
        __syncwarp(0xffff);
    }
    y[threadIdx.x] = x[threadIdx.x]; // EXPECT: partial-wait
}

// A shuffle brings the lanes together, and orders no memory.
__global__ void a_shuffle_is_no_barrier(const float *x, float *y, int n)
{
    const unsigned lane = threadIdx.x & 31;
    if (lane == 0) {
        PDL_WAIT();
    }
    const int i = __shfl_sync(0xffffffff, n, 0);
    y[threadIdx.x] = x[threadIdx.x + i]; // EXPECT: partial-wait
}

// The elected lane waits after the warp's barrier.
__global__ void the_warp_meets_early(const float *x, float *y)
{
    const unsigned lane = threadIdx.x & 31;
    float value = 0;
    if (lane == 0) {
        __syncwarp();
        PDL_WAIT();
    } else {
        __syncwarp();
        value = x[threadIdx.x]; // EXPECT: partial-wait
    }
    __syncwarp();
    y[threadIdx.x] = value;
}

// Those who arrive only do not wait for those who sync.
__global__ void an_arrival_orders_others(const float *x, float *y)
{
    if (threadIdx.x < 32) {
        PDL_WAIT();
        named_sync(1, 64);
        y[threadIdx.x] = x[threadIdx.x + 64];
    } else if (threadIdx.x < 64) {
        named_arrive(1, 64);             // and does not wait there
        y[threadIdx.x] = x[threadIdx.x]; // EXPECT: partial-wait
    }
}

// The second warp lets the third one go before it is behind the wait itself.
__global__ void named_barriers_in_the_wrong_row(const float *x, float *y)
{
    const unsigned warp = threadIdx.x >> 5;
    if (warp == 0) {
        PDL_WAIT();
        named_arrive(1, 64);
    } else if (warp == 1) {
        named_arrive(2, 64);
        named_sync(1, 64);
        y[threadIdx.x] = x[threadIdx.x];
    } else if (warp == 2) {
        named_sync(2, 64);
        y[threadIdx.x] = x[threadIdx.x] + 1; // EXPECT: partial-wait
    }
}

// Of one warp the leader waits, and the others have leaders as well.
__global__ void a_row_from_another_leader(const int *rows, const float *x, float *y)
{
    const unsigned lane = threadIdx.x & 31;
    int row = 0;
    if (threadIdx.x == 0) {
        PDL_WAIT();
        row = rows[0];
    }
    row = __shfl_sync(0xffffffff, row, 0);
    y[threadIdx.x] = x[32 * row + lane]; // EXPECT: partial-wait
}
