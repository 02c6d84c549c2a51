// SPDX-License-Identifier: MIT
// The weights of the first stages are copied before the wait, and the rest of these stages behind it.
// LINT: --constant-param weights
// NOT plain: the names of parameters are found through the line information
#include <pdl/device.cuh>

#include "../ring.cuh"

constexpr int STAGES = 2;
constexpr int TILE = 128;

static __device__ __forceinline__ void announce(unsigned long long *barrier, unsigned bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(ring_address(barrier)),
        "r"(bytes)
        : "memory");
}

static __device__ __forceinline__ void copy(void *to, const void *from, unsigned long long *barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1], %2, [%3];" ::"r"(ring_address(to)),
                 "l"(from), "r"(TILE * 4), "r"(ring_address(barrier))
                 : "memory");
}

__global__ void weights_first(const float *weights, const float *x, float *y, int turns)
{
    __shared__ alignas(128) float a[STAGES][TILE];
    __shared__ alignas(128) float b[STAGES][TILE];
    __shared__ unsigned long long full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            ring_init(&full[i], 1);
            ring_init(&empty[i], TILE);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        const int first = turns < STAGES ? turns : STAGES;
        for (int i = 0; i < first; i++) {
            announce(&full[i], 2 * TILE * 4);
            copy(b[i], weights + i * TILE, &full[i]);
        }
        PDL_WAIT();
        for (int i = 0; i < first; i++) {
            copy(a[i], x + i * TILE, &full[i]);
        }
        for (int i = STAGES; i < turns; i++) {
            const int stage = i % STAGES;
            ring_await(&empty[stage], i / STAGES % 2 ^ 1);
            announce(&full[stage], 2 * TILE * 4);
            copy(b[stage], weights + i * TILE, &full[stage]);
            copy(a[stage], x + i * TILE, &full[stage]);
        }
    } else if (threadIdx.x >= 128) {
        float sum = 0;
        for (int i = 0; i < turns; i++) {
            const int stage = i % STAGES;
            ring_await(&full[stage], i / STAGES % 2);
            sum += a[stage][threadIdx.x - 128] * b[stage][threadIdx.x - 128];
            ring_arrive(&empty[stage]);
        }
        y[blockIdx.x * TILE + threadIdx.x - 128] = sum;
    }
}
