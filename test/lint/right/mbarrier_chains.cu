// SPDX-License-Identifier: MIT
// mbarriers in a row, in functions, in dynamic shared memory and across the blocks of a cluster.
#include <pdl/device.cuh>

#include "../ring.cuh"

constexpr int STAGES = 4;
constexpr int TILE = 128;

static __device__ __noinline__ void await_in_a_function(unsigned long long *barrier,
                                                        unsigned parity)
{
    ring_await(barrier, parity);
}

static __device__ __noinline__ void arrive_in_a_function(unsigned long long *barrier)
{
    ring_arrive(barrier);
}

// The loader waits, the warp in the middle waits for it, and passes on what it made of that.
__global__ void a_chain(const float *x, const float *bias, float *y)
{
    __shared__ alignas(128) float tile[TILE];
    __shared__ float sums[32];
    __shared__ unsigned long long full, done;
    if (threadIdx.x == 0) {
        ring_init(&full, 1);
        ring_init(&done, 32);
    }
    __syncthreads();
    const unsigned warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    if (warp == 0) {
        if (ring_elect()) {
            PDL_WAIT();
            ring_copy(tile, x, TILE * 4, &full);
        }
    } else if (warp == 1) {
        ring_await(&full, 0);
        sums[lane] = tile[lane] + tile[lane + 32];
        ring_arrive(&done);
    } else if (warp == 2) {
        ring_await(&done, 0);
        y[lane] = sums[lane] + bias[lane];
    }
}

// Three in a row, and the block's barrier at the end.
__global__ void a_longer_chain(const float *x, float *y)
{
    __shared__ unsigned long long passed[3];
    if (threadIdx.x == 0) {
        for (int i = 0; i < 3; i++) {
            ring_init(&passed[i], 1);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        PDL_WAIT();
        ring_arrive(&passed[0]);
    } else if (threadIdx.x == 32) {
        ring_await(&passed[0], 0);
        ring_arrive(&passed[1]);
    } else if (threadIdx.x == 64) {
        ring_await(&passed[1], 0);
        ring_arrive(&passed[2]);
    } else if (threadIdx.x >= 96) {
        ring_await(&passed[2], 0);
        y[threadIdx.x] = x[threadIdx.x];
    }
}

// The functions are not inlined.
__global__ void in_functions(const float *x, float *y)
{
    __shared__ unsigned long long full[2];
    if (threadIdx.x == 0) {
        ring_init(&full[0], 1);
        ring_init(&full[1], 1);
    }
    __syncthreads();
    if (threadIdx.x == 128) {
        PDL_WAIT();
        arrive_in_a_function(&full[1]);
    } else if (threadIdx.x < 128) {
        await_in_a_function(&full[1], 0);
        y[threadIdx.x] = x[threadIdx.x];
    }
}

// Rings behind one another in dynamic shared memory, aligned at run time.
__global__ void in_dynamic_memory(const float *x, float *y, int tiles)
{
    extern __shared__ unsigned char memory[];
    float *ring = (float *)(((unsigned long long)memory + 1023) & ~1023ull);
    unsigned long long *full = (unsigned long long *)(ring + STAGES * TILE);
    unsigned long long *empty = full + STAGES;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            ring_init(&full[s], 1);
            ring_init(&empty[s], 128);
        }
    }
    __syncthreads();
    if (threadIdx.x == 128) {
        PDL_WAIT();
        for (int t = 0; t < tiles; t++) {
            ring_await(&empty[t % STAGES], (t / STAGES & 1) ^ 1);
            ring_copy(ring + t % STAGES * TILE, x + t * TILE, TILE * 4, &full[t % STAGES]);
        }
    } else if (threadIdx.x < 128) {
        for (int t = 0; t < tiles; t++) {
            ring_await(&full[t % STAGES], t / STAGES & 1);
            y[t * TILE + threadIdx.x] = ring[t % STAGES * TILE + threadIdx.x];
            ring_arrive(&empty[t % STAGES]);
        }
    }
}

// The first block of the cluster waits, and arrives on the mbarriers of both.
__global__ void __cluster_dims__(2) across_the_cluster(const float *x, float *y)
{
    __shared__ unsigned long long ready;
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        ring_init(&ready, 1);
    }
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    if (rank == 0 && threadIdx.x < 32) {
        PDL_WAIT();
        if (threadIdx.x < 2) {
            asm volatile(
                "{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;"
                " mbarrier.arrive.shared::cluster.b64 _, [there]; }" ::"r"(ring_address(&ready)),
                "r"(threadIdx.x)
                : "memory");
        }
    }
    ring_await(&ready, 0);
    y[blockIdx.x * TILE + threadIdx.x] = x[threadIdx.x];
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}

// Copies of a few bytes, for which each thread of the loading warp arrives.
__global__ void copies_that_arrive(const float *x, float *y)
{
    __shared__ float tile[32];
    __shared__ unsigned long long full;
    if (threadIdx.x == 0) {
        ring_init(&full, 32);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        PDL_WAIT();
        asm volatile(
            "cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(ring_address(&tile[threadIdx.x])),
            "l"(x + threadIdx.x)
            : "memory");
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(ring_address(&full))
                     : "memory");
    } else {
        ring_await(&full, 0);
        y[threadIdx.x] = tile[threadIdx.x & 31] + x[threadIdx.x];
    }
}

// A tile a thread, and no loop: all is unrolled.
__global__ void unrolled_stages(const float *x, float *y)
{
    __shared__ alignas(128) float ring[STAGES][TILE];
    __shared__ unsigned long long full[STAGES];
    if (threadIdx.x == 0) {
#pragma unroll
        for (int s = 0; s < STAGES; s++) {
            ring_init(&full[s], 1);
        }
    }
    __syncthreads();
    if (threadIdx.x == 128) {
        PDL_WAIT();
#pragma unroll
        for (int s = 0; s < STAGES; s++) {
            ring_copy(ring[s], x + s * TILE, TILE * 4, &full[s]);
        }
    } else if (threadIdx.x < 128) {
#pragma unroll
        for (int s = 0; s < STAGES; s++) {
            ring_await(&full[s], 0);
            y[s * TILE + threadIdx.x] = ring[s][threadIdx.x];
        }
    }
}
