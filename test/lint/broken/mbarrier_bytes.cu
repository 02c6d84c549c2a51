// SPDX-License-Identifier: MIT
// The thread that awaits the bytes announces them itself, and neither it nor who copies them waits.
#include <pdl/device.cuh>

#include "../ring.cuh"

constexpr int STAGES = 4;
constexpr int TILE = 128;

static __device__ __forceinline__ void announce(unsigned long long *barrier, unsigned bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(ring_address(barrier)),
        "r"(bytes)
        : "memory");
}

static __device__ __forceinline__ void copy_to(float *to, const float *from, unsigned bytes,
                                               unsigned long long *barrier)
{
    // EXPECT: partial-wait in copied_too_early
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1], %2, [%3];" ::"r"(ring_address(to)),
                 "l"(from), "r"(bytes), "r"(ring_address(barrier))
                 : "memory");
}

// Only the warp that prefetches waits.
__global__ void copied_too_early(const float *x, float *y, int tiles)
{
    __shared__ alignas(128) float ring[STAGES][TILE];
    __shared__ float total;
    __shared__ unsigned long long full[STAGES], empty[STAGES], done;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            ring_init(&full[s], 1);
            ring_init(&empty[s], 1);
        }
        ring_init(&done, 1);
    }
    __syncthreads();
    const unsigned warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    unsigned phases = 0xffff0000u;
    if (warp == 0 && ring_elect()) {
        for (int t = 0, s = 0; t < tiles; t++, s = (s + 1) % STAGES) {
            ring_await(&empty[s], phases >> (s + 16) & 1);
            phases ^= 1u << (s + 16);
            copy_to(ring[s], x + t * TILE, TILE * 4, &full[s]);
        }
    } else if (warp == 1 && ring_elect()) {
        float sum = 0;
        for (int t = 0, s = 0; t < tiles; t++, s = (s + 1) % STAGES) {
            announce(&full[s], TILE * 4);
            ring_await(&full[s], phases >> s & 1);
            phases ^= 1u << s;
            sum += ring[s][t % TILE];
            ring_arrive(&empty[s]);
        }
        total = sum;
        ring_arrive(&done);
    } else if (warp == 2) {
        ring_await(&done, 0);
        y[warp * 32 + lane] = total; // EXPECT: partial-wait
    } else if (warp == 7) {
        PDL_WAIT();
    }
}

// The warp that waits is not the one that arrives, although both do so one after the other in the code.
__global__ void one_waits_and_another_arrives(const float *x, float *y)
{
    __shared__ float tile[TILE];
    __shared__ unsigned long long full;
    const unsigned warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    if (threadIdx.x == 0) {
        ring_init(&full, 1);
    }
    __syncthreads();
    if (warp == 7) {
        PDL_WAIT();
    }
    if (warp == 0) {
        tile[lane] = x[lane]; // EXPECT: partial-wait
        if (lane == 0) {
            ring_arrive(&full);
        }
    } else if (warp == 1) {
        ring_await(&full, 0);
        y[lane] = tile[lane]; // EXPECT: partial-wait
    }
}
