// SPDX-License-Identifier: MIT
// mbarriers that hold threads behind those who have waited, in loops as libraries write them.
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

struct Ring {
    float tile[STAGES][TILE];
    unsigned long long full[STAGES];
    unsigned long long empty[STAGES];
};

static __device__ void set_up(Ring &ring, unsigned consumers)
{
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            ring_init(&ring.full[s], 1);
            ring_init(&ring.empty[s], consumers);
        }
    }
    __syncthreads();
}

// Stage and phase are counted along, as in a pipeline's state.
__global__ void counted_phases(const float *x, float *y, int tiles)
{
    __shared__ alignas(128) Ring ring;
    set_up(ring, 128);
    int s = 0;
    if (threadIdx.x >= 128) {
        if (threadIdx.x == 128) {
            PDL_WAIT();
            unsigned phase = 1;
            for (int t = 0; t < tiles; t++) {
                ring_await(&ring.empty[s], phase);
                ring_copy(ring.tile[s], x + t * TILE, TILE * 4, &ring.full[s]);
                if (++s == STAGES) {
                    s = 0;
                    phase ^= 1;
                }
            }
        }
    } else {
        unsigned phase = 0;
        for (int t = 0; t < tiles; t++) {
            ring_await(&ring.full[s], phase);
            y[t * TILE + threadIdx.x] = ring.tile[s][threadIdx.x];
            ring_arrive(&ring.empty[s]);
            if (++s == STAGES) {
                s = 0;
                phase ^= 1;
            }
        }
    }
}

// The phase is a bit of the number of the turn.
__global__ void phases_of_the_turn(const float *x, float *y, int tiles)
{
    __shared__ alignas(128) Ring ring;
    set_up(ring, 128);
    if (threadIdx.x == 128) {
        PDL_WAIT();
        for (int t = 0; t < tiles; t++) {
            ring_await(&ring.empty[t % STAGES], (t / STAGES & 1) ^ 1);
            ring_copy(ring.tile[t % STAGES], x + t * TILE, TILE * 4, &ring.full[t % STAGES]);
        }
    } else if (threadIdx.x < 128) {
        for (int t = 0; t < tiles; t++) {
            ring_await(&ring.full[t % STAGES], t / STAGES & 1);
            y[t * TILE + threadIdx.x] = ring.tile[t % STAGES][threadIdx.x];
            ring_arrive(&ring.empty[t % STAGES]);
        }
    }
}

// The consumers write after the loop; without a turn there is nothing to write.
__global__ void written_after_the_loop(const float *x, const float *bias, float *y, int tiles)
{
    __shared__ alignas(128) Ring ring;
    set_up(ring, 128);
    if (threadIdx.x == 128) {
        PDL_WAIT();
        for (int t = 0; t < tiles; t++) {
            ring_await(&ring.empty[t % STAGES], (t / STAGES & 1) ^ 1);
            ring_copy(ring.tile[t % STAGES], x + t * TILE, TILE * 4, &ring.full[t % STAGES]);
        }
    } else if (threadIdx.x < 128) {
        float sum = 0;
        for (int t = 0; t < tiles; t++) {
            ring_await(&ring.full[t % STAGES], t / STAGES & 1);
            sum += ring.tile[t % STAGES][threadIdx.x];
            ring_arrive(&ring.empty[t % STAGES]);
        }
        y[blockIdx.x * TILE + threadIdx.x] = sum + bias[threadIdx.x];
    }
}

// Persistent: the phases go on from tile to tile.
__global__ void from_tile_to_tile(const float *x, float *y, int tiles, int steps)
{
    __shared__ alignas(128) Ring ring;
    set_up(ring, 128);
    unsigned s = 0;
    if (threadIdx.x == 128) {
        PDL_WAIT();
        unsigned phase = 1;
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            for (int k = 0; k < steps; k++) {
                ring_await(&ring.empty[s], phase);
                ring_copy(ring.tile[s], x + (tile * steps + k) * TILE, TILE * 4, &ring.full[s]);
                s = (s + 1) % STAGES;
                phase ^= s == 0;
            }
        }
    } else if (threadIdx.x < 128) {
        unsigned phase = 0;
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            float sum = 0;
            for (int k = 0; k < steps; k++) {
                ring_await(&ring.full[s], phase);
                sum += ring.tile[s][threadIdx.x];
                ring_arrive(&ring.empty[s]);
                s = (s + 1) % STAGES;
                phase ^= s == 0;
            }
            y[tile * TILE + threadIdx.x] = sum;
        }
    }
}

// It asks first, and waits only if the answer was no.
__global__ void ask_and_then_wait(const float *x, float *y)
{
    __shared__ alignas(128) Ring ring;
    set_up(ring, 128);
    if (threadIdx.x == 128) {
        PDL_WAIT();
        ring_copy(ring.tile[0], x, TILE * 4, &ring.full[0]);
    } else if (threadIdx.x < 128) {
        const bool done = ring_try(&ring.full[0], 0);
        float value = (float)threadIdx.x;
        for (int i = 0; i < 8; i++) {
            value = value * value + 1;
        }
        if (!done) {
            ring_await(&ring.full[0], 0);
        }
        y[threadIdx.x] = value + ring.tile[0][threadIdx.x];
    }
}

// An arrival gives a token, and the wait is for the phase of that: all threads meet.
__global__ void by_a_token(const float *x, float *y)
{
    __shared__ unsigned long long barrier;
    if (threadIdx.x == 0) {
        ring_init(&barrier, blockDim.x);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        PDL_WAIT();
    }
    unsigned long long token;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];"
                 : "=l"(token)
                 : "r"(ring_address(&barrier))
                 : "memory");
    unsigned done;
    do {
        asm volatile("{ .reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2;"
                     " selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(ring_address(&barrier)), "l"(token)
                     : "memory");
    } while (!done);
    y[blockIdx.x * blockDim.x + threadIdx.x] = x[threadIdx.x];
}

// The weights are announced and copied before the wait, and the activations behind it: the phase is
// complete when both are there.
__global__ void one_phase_for_both(const float *weights, const float *x, float *y)
{
    PDL_CONSTANT_PARAM(weights);
    __shared__ alignas(128) float tile[2][TILE];
    __shared__ unsigned long long full;
    if (threadIdx.x == 0) {
        ring_init(&full, 1);
    }
    __syncthreads();
    if (threadIdx.x == 128) {
        ring_copy(tile[0], weights, TILE * 8, &full); // announces twice as many bytes
        PDL_WAIT();
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                     " [%0], [%1], 512, [%2];" ::"r"(ring_address(tile[1])),
                     "l"(x), "r"(ring_address(&full))
                     : "memory");
    } else if (threadIdx.x < 128) {
        ring_await(&full, 0);
        y[threadIdx.x] = tile[0][threadIdx.x] * tile[1][threadIdx.x];
    }
}
