// SPDX-License-Identifier: MIT
// mbarriers that do not hold threads behind those who have waited.
// NOT debug: addresses go through local memory there, so that mbarriers are not told apart
#include <pdl/device.cuh>

#include "../ring.cuh"

constexpr int STAGES = 4;
constexpr int TILE = 128;

static __device__ __forceinline__ bool ring_try(unsigned long long *barrier, unsigned parity)
{
    unsigned done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
                 " selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(ring_address(barrier)), "r"(parity)
                 : "memory");
    return done != 0;
}

// The second loader does not wait. Those who go by its mbarrier are not ordered.
__global__ void the_other_loader_s_barrier(const float *x, const float *w, float *y)
{
    __shared__ alignas(128) float a[TILE];
    __shared__ alignas(128) float b[TILE];
    __shared__ unsigned long long full_a;
    __shared__ unsigned long long full_b;
    PDL_CONSTANT_PARAM(w);
    if (threadIdx.x == 0) {
        ring_init(&full_a, 1);
        ring_init(&full_b, 1);
    }
    __syncthreads();
    if (threadIdx.x == 128) {
        PDL_WAIT();
        ring_copy(a, x, TILE * 4, &full_a);
    } else if (threadIdx.x == 160) {
        ring_copy(b, w, TILE * 4, &full_b);
    } else if (threadIdx.x < 128) {
        ring_await(&full_b, 0);
        y[threadIdx.x] = b[threadIdx.x]; // EXPECT: partial-wait
        ring_await(&full_a, 0);
        y[threadIdx.x + TILE] = a[threadIdx.x]; // this one is ordered
    }
}

// A fresh mbarrier is passed at once for parity 1.
__global__ void parity_one(const float *x, float *y)
{
    __shared__ alignas(128) float tile[TILE];
    __shared__ unsigned long long full;
    if (threadIdx.x == 0) {
        ring_init(&full, 1);
    }
    __syncthreads();
    if (threadIdx.x == 128) {
        PDL_WAIT();
        ring_copy(tile, x, TILE * 4, &full);
    } else if (threadIdx.x < 128) {
        ring_await(&full, 1);
        y[threadIdx.x] = tile[threadIdx.x] + x[threadIdx.x]; // EXPECT: partial-wait
    }
}

// A second loader goes by the stages that consumers free: the first ones are free from the start.
__global__ void free_from_the_start(const float *x, const float *scales, float *y, int tiles)
{
    __shared__ alignas(128) float ring[STAGES][TILE];
    __shared__ float scale[STAGES];
    __shared__ unsigned long long full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            ring_init(&full[s], 2);
            ring_init(&empty[s], 128);
        }
    }
    __syncthreads();
    if (threadIdx.x == 128) {
        PDL_WAIT();
        for (int t = 0, s = 0, phase = 1; t < tiles; t++) {
            ring_await(&empty[s], phase);
            ring_copy(ring[s], x + t * TILE, TILE * 4, &full[s]);
            if (++s == STAGES) {
                s = 0;
                phase ^= 1;
            }
        }
    } else if (threadIdx.x == 160) {
        for (int t = 0, s = 0, phase = 1; t < tiles; t++) {
            ring_await(&empty[s], phase);
            scale[s] = scales[t]; // EXPECT: partial-wait
            ring_arrive(&full[s]);
            if (++s == STAGES) {
                s = 0;
                phase ^= 1;
            }
        }
    } else if (threadIdx.x < 128) {
        float sum = 0;
        for (int t = 0, s = 0, phase = 0; t < tiles; t++) {
            ring_await(&full[s], phase);
            sum += ring[s][threadIdx.x] * scale[s];
            ring_arrive(&empty[s]);
            if (++s == STAGES) {
                s = 0;
                phase ^= 1;
            }
        }
        PDL_WAIT();
        y[threadIdx.x] = sum;
    }
}

struct Storage {
    float tile[TILE];
    unsigned long long ready[STAGES];
    unsigned long long started;
};

// Two mbarriers of one struct: the one that is awaited is completed by others.
__global__ void the_wrong_field(const float *x, float *y)
{
    __shared__ alignas(128) Storage storage;
    if (threadIdx.x == 0) {
        ring_init(&storage.ready[0], 1);
        ring_init(&storage.started, 1);
    }
    __syncthreads();
    if (threadIdx.x == 128) {
        PDL_WAIT();
        ring_copy(storage.tile, x, TILE * 4, &storage.ready[0]);
    } else if (threadIdx.x == 160) {
        ring_arrive(&storage.started);
    } else if (threadIdx.x < 128) {
        ring_await(&storage.started, 0);
        y[threadIdx.x] = x[threadIdx.x + TILE]; // EXPECT: partial-wait
    }
}

// It asks once and goes on whatever the answer.
__global__ void it_asks_once(const float *x, float *y)
{
    __shared__ alignas(128) float tile[TILE];
    __shared__ unsigned long long full;
    if (threadIdx.x == 0) {
        ring_init(&full, 1);
    }
    __syncthreads();
    if (threadIdx.x == 128) {
        PDL_WAIT();
        ring_copy(tile, x, TILE * 4, &full);
    } else if (threadIdx.x < 128) {
        float value = 0;
        if (ring_try(&full, 0)) {
            value = tile[threadIdx.x];
        }
        y[threadIdx.x] = value + x[threadIdx.x]; // EXPECT: partial-wait
    }
}

// It reads while it waits.
__global__ void it_reads_while_it_waits(const float *x, const float *guess, float *y)
{
    __shared__ alignas(128) float tile[TILE];
    __shared__ unsigned long long full;
    if (threadIdx.x == 0) {
        ring_init(&full, 1);
    }
    __syncthreads();
    if (threadIdx.x == 128) {
        PDL_WAIT();
        ring_copy(tile, x, TILE * 4, &full);
    } else if (threadIdx.x < 128) {
        float value = 0;
        while (!ring_try(&full, 0)) {
            value += *(volatile const float *)&guess[threadIdx.x]; // EXPECT: partial-wait
        }
        y[threadIdx.x] = tile[threadIdx.x] + value;
    }
}

// Weights complete the first phase, before the wait; the activations complete the second.
__global__ void prefilled(const float *weights, const float *x, float *y)
{
    PDL_CONSTANT_PARAM(weights);
    __shared__ alignas(128) float tile[2][TILE];
    __shared__ unsigned long long full;
    if (threadIdx.x == 0) {
        ring_init(&full, 1);
    }
    __syncthreads();
    if (threadIdx.x == 128) {
        ring_copy(tile[0], weights, TILE * 4, &full);
        PDL_WAIT();
        ring_copy(tile[1], x, TILE * 4, &full);
    } else if (threadIdx.x < 128) {
        ring_await(&full, 0);
        y[threadIdx.x] = tile[0][threadIdx.x]; // EXPECT: partial-wait
        ring_await(&full, 1);
        y[threadIdx.x + TILE] = tile[1][threadIdx.x]; // EXPECT: partial-wait
    }
}

// Nobody asks whether the one try was enough.
__global__ void a_try_of_which_nothing_depends(const float *x, float *y)
{
    __shared__ unsigned long long full;
    if (threadIdx.x == 0) {
        ring_init(&full, 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        PDL_WAIT();
        ring_arrive(&full);
    } else {
        const bool done = ring_try(&full, 0);
        y[threadIdx.x] = x[threadIdx.x] + done; // EXPECT: partial-wait
    }
}
