// SPDX-License-Identifier: MIT
// Barriers that hold threads behind those who have waited, in the phase that counts.
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

static __device__ __noinline__ float meet_and_read(const float *x)
{
    __syncthreads();
    return x[threadIdx.x];
}

static __device__ __forceinline__ bool elected()
{
    unsigned is;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(is));
    return is != 0;
}

// A phase in front of the wait and one behind it, and everybody is in both.
__global__ void the_second_phase(const float *x, float *y)
{
    __shared__ float table[32];
    float value = 0;
    if (threadIdx.x < 32) {
        table[threadIdx.x] = 3;
        __syncthreads();
        PDL_WAIT();
        __syncthreads();
    } else {
        __syncthreads();
        value = table[threadIdx.x & 31];
        __syncthreads();
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] = value + x[threadIdx.x];
}

// Barriers in a loop in front of the branch are the same for all.
__global__ void a_loop_before_the_roles(const float *x, float *y, int n)
{
    __shared__ volatile float table[256];
    for (int i = 0; i < n; i++) {
        table[threadIdx.x] = (float)i;
        __syncthreads();
    }
    if (threadIdx.x < 32) {
        PDL_WAIT();
    }
    __syncthreads();
    y[blockIdx.x * blockDim.x + threadIdx.x] = x[threadIdx.x] + table[0];
}

// In the first turn the first warp waits, and all meet behind that in each turn.
__global__ void a_wait_in_the_first_turn(const float *x, float *y, int tiles)
{
    __shared__ float tile[32];
    bool first = true;
    for (int t = 0; t < tiles; t++) {
        if (threadIdx.x < 32) {
            if (first) {
                PDL_WAIT();
                first = false;
            }
            tile[threadIdx.x] = x[t * 32 + threadIdx.x];
        }
        __syncthreads();
        y[t * 256 + threadIdx.x] = tile[threadIdx.x & 31] + x[t];
        __syncthreads();
    }
}

// The producer arrives once it has waited and loaded, and goes on.
__global__ void arrive_behind_the_wait(const float *x, float *y)
{
    __shared__ float tile[32];
    if (threadIdx.x < 32) {
        named_sync(2, 64);
        PDL_WAIT();
        tile[threadIdx.x] = x[threadIdx.x];
        named_arrive(1, 64);
    } else if (threadIdx.x < 64) {
        named_arrive(2, 64);
        named_sync(1, 64);
        y[threadIdx.x] = tile[threadIdx.x & 31] + x[threadIdx.x];
    }
}

// Two warps wait, one of them late; the others go by the one that is early.
__global__ void two_who_wait(const float *x, float *y)
{
    if (threadIdx.x < 32) {
        PDL_WAIT();
        __syncthreads();
    } else if (threadIdx.x < 64) {
        __syncthreads();
        PDL_WAIT();
        y[threadIdx.x] = x[threadIdx.x];
    } else {
        __syncthreads();
        y[threadIdx.x] = 2 * x[threadIdx.x];
    }
}

// The barriers are in functions, one with the read behind it.
__global__ void barriers_in_functions(const float *x, float *y)
{
    meet();
    if (threadIdx.x < 32) {
        PDL_WAIT();
    }
    meet();
    y[threadIdx.x] = x[threadIdx.x];
}

__global__ void a_read_behind_a_barrier_in_a_function(const float *x, float *y)
{
    if (threadIdx.x < 32) {
        PDL_WAIT();
    }
    const float value = meet_and_read(x);
    y[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

// The cluster's barrier, arrived at behind the wait. One of each pair of blocks waits.
__global__ void __cluster_dims__(2) one_of_each_pair(const float *x, float *y)
{
    if (blockIdx.x % 2 == 0) {
        PDL_WAIT();
    }
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
    y[blockIdx.x * blockDim.x + threadIdx.x] = x[threadIdx.x];
}

// A phase of the cluster's barrier for what comes before the wait, and one more.
__global__ void __cluster_dims__(2) the_cluster_s_second_phase(const float *x, float *y)
{
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    if (rank == 0 && threadIdx.x == 0) {
        PDL_WAIT();
    }
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    y[blockIdx.x * blockDim.x + threadIdx.x] = x[threadIdx.x];
}

// One lane of each warp waits, and the warp meets behind it.
__global__ void the_elected_lane(const float *x, float *y)
{
    if (elected()) {
        PDL_WAIT();
    }
    __syncwarp();
    y[blockIdx.x * blockDim.x + threadIdx.x] = x[threadIdx.x];
}

__global__ void the_first_lane(const float *x, float *y)
{
    if (threadIdx.x % 32 == 0) {
        PDL_WAIT();
    }
    __syncwarp();
    y[blockIdx.x * blockDim.x + threadIdx.x] = x[threadIdx.x];
}

// A block of one warp.
__global__ void __launch_bounds__(32) the_first_thread_of_one_warp(const float *x, float *y)
{
    if (threadIdx.x == 0) {
        PDL_WAIT();
    }
    __syncwarp();
    y[blockIdx.x * 32 + threadIdx.x] = x[threadIdx.x];
}

// The first warp's elected lane waits for its warp, and the block meets later.
__global__ void a_warp_and_then_the_block(const float *x, float *y)
{
    __shared__ float tile[32];
    if (threadIdx.x < 32) {
        if (elected()) {
            PDL_WAIT();
        }
        __syncwarp();
        tile[threadIdx.x] = x[threadIdx.x];
    }
    __syncthreads();
    y[blockIdx.x * blockDim.x + threadIdx.x] = tile[threadIdx.x & 31] + x[threadIdx.x];
}

// One warp waits, the second is behind it by one barrier, and holds the third by the next.
__global__ void named_barriers_in_a_row(const float *x, float *y)
{
    const unsigned warp = threadIdx.x >> 5;
    if (warp == 0) {
        PDL_WAIT();
        named_arrive(1, 64);
    } else if (warp == 1) {
        named_sync(1, 64);
        y[threadIdx.x] = x[threadIdx.x];
        named_arrive(2, 64);
    } else if (warp == 2) {
        named_sync(2, 64);
        y[threadIdx.x] = x[threadIdx.x] + 1;
    }
}
