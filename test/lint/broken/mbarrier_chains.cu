// SPDX-License-Identifier: MIT
// mbarriers in a row, in functions, in dynamic shared memory and across blocks, of which one is not ordered.
// NOT debug: addresses go through local memory there, so that mbarriers are not told apart
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

// The warp in the middle passes on without having waited for the loader.
__global__ void a_chain_that_begins_late(const float *x, float *y)
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
        sums[lane] = (float)lane;
        ring_arrive(&done);
        ring_await(&full, 0);
    } else if (warp == 2) {
        ring_await(&done, 0);
        y[lane] = sums[lane] + x[lane]; // EXPECT: partial-wait
    }
}

// The functions are not inlined. The wait is for parity 1.
__global__ void parity_one_in_a_function(const float *x, float *y)
{
    __shared__ unsigned long long full;
    if (threadIdx.x == 0) {
        ring_init(&full, 1);
    }
    __syncthreads();
    if (threadIdx.x == 128) {
        PDL_WAIT();
        arrive_in_a_function(&full);
    } else if (threadIdx.x < 128) {
        await_in_a_function(&full, 1);
        y[threadIdx.x] = x[threadIdx.x]; // EXPECT: partial-wait
    }
}

// The function arrives on another mbarrier.
__global__ void another_barrier_in_a_function(const float *x, float *y)
{
    __shared__ unsigned long long full[2];
    if (threadIdx.x == 0) {
        ring_init(&full[0], 1);
        ring_init(&full[1], 1);
    }
    __syncthreads();
    if (threadIdx.x == 128) {
        PDL_WAIT();
        arrive_in_a_function(&full[0]);
    } else if (threadIdx.x == 160) {
        arrive_in_a_function(&full[1]);
    } else if (threadIdx.x < 128) {
        await_in_a_function(&full[1], 0);
        y[threadIdx.x] = x[threadIdx.x]; // EXPECT: partial-wait
    }
}

// Two rings behind one another in dynamic shared memory; the second is filled by one that did not wait.
__global__ void the_second_ring(const float *x, const float *scales, float *y, int tiles)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    float *ring = (float *)memory;
    float *scale = ring + STAGES * TILE;
    unsigned long long *full = (unsigned long long *)(scale + STAGES);
    unsigned long long *scaled = full + STAGES;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            ring_init(&full[s], 1);
            ring_init(&scaled[s], 1);
        }
    }
    __syncthreads();
    if (threadIdx.x == 128) {
        PDL_WAIT();
        for (int t = 0; t < tiles; t++) {
            ring_copy(ring + t % STAGES * TILE, x + t * TILE, TILE * 4, &full[t % STAGES]);
        }
    } else if (threadIdx.x == 160) {
        for (int t = 0; t < tiles; t++) {
            scale[t % STAGES] = scales[t]; // EXPECT: partial-wait
            ring_arrive(&scaled[t % STAGES]);
        }
    } else if (threadIdx.x < 128) {
        for (int t = 0; t < tiles; t++) {
            ring_await(&scaled[t % STAGES], t / STAGES & 1);
            y[t * TILE + threadIdx.x] = scale[t % STAGES]; // EXPECT: partial-wait
        }
    }
}

// The first block waits, and each block has an mbarrier of its own.
__global__ void of_its_own_block(const float *x, float *y)
{
    __shared__ alignas(128) float tile[TILE];
    __shared__ unsigned long long full;
    if (threadIdx.x == 0) {
        ring_init(&full, 1);
    }
    __syncthreads();
    if (blockIdx.x == 0) {
        PDL_WAIT();
    }
    if (threadIdx.x == 0) {
        ring_copy(tile, x, TILE * 4, &full); // EXPECT: partial-wait
    }
    ring_await(&full, 0);
    y[blockIdx.x * TILE + threadIdx.x] = tile[threadIdx.x]; // EXPECT: partial-wait
}

// A flag of the launch decides whether the mbarrier is waited on, and not how much there is to do.
__global__ void only_with_a_bias(const float *x, const float *bias, float *y, int has_bias)
{
    __shared__ alignas(128) float tile[TILE];
    __shared__ unsigned long long full;
    if (threadIdx.x == 0) {
        ring_init(&full, 1);
    }
    __syncthreads();
    if (threadIdx.x == 128) {
        PDL_WAIT();
        if (has_bias) {
            ring_copy(tile, bias, TILE * 4, &full);
        }
    } else if (threadIdx.x < 128) {
        float value = 0;
        if (has_bias) {
            ring_await(&full, 0);
            value = tile[threadIdx.x];
        }
        y[threadIdx.x] = value + x[threadIdx.x]; // EXPECT: partial-wait
    }
}
