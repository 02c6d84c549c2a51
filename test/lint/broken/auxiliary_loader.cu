// SPDX-License-Identifier: MIT
// A persistent kernel with two loaders of which one waits. The other one's first wait on the ring returns at
// once, and what it waits for in later tiles is not known.
// NOT debug: addresses go through local memory there, so that mbarriers are not told apart
#include <pdl/device.cuh>

#include "../ring.cuh"

constexpr int STAGES = 4;
constexpr int TILE = 128;

__global__ void auxiliary_loader(const float *x, const float *scales, float *y, int tiles,
                                 int turns)
{
    __shared__ alignas(128) float data[STAGES][TILE];
    __shared__ float factors[STAGES];
    __shared__ unsigned long long full[STAGES];
    __shared__ unsigned long long scaled[STAGES];
    __shared__ unsigned long long empty[STAGES];
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            ring_init(&full[i], 1);
            ring_init(&scaled[i], 1);
            ring_init(&empty[i], 1);
        }
    }
    __syncthreads();
    unsigned stage = 0, parity = 0;
    if (threadIdx.x == 128) {
        PDL_WAIT();
        parity = 1;
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
#pragma unroll 1
            for (int i = 0; i < turns; i++) {
                ring_await(&empty[stage], parity);
                ring_copy(data[stage], x + (tile * turns + i) * TILE, TILE * 4, &full[stage]);
                stage = (stage + 1) % STAGES;
                parity ^= stage == 0;
            }
        }
    } else if (threadIdx.x == 160) {
        parity = 1;
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            unsigned at = stage, wanted = parity;
#pragma unroll 1
            for (int i = 0; i < turns; i++) {
                ring_await(&empty[at], wanted);
                factors[at] = scales[tile * turns + i]; // EXPECT: partial-wait
                ring_arrive(&scaled[at]);
                at = (at + 1) % STAGES;
                wanted ^= at == 0;
            }
            parity ^= (stage + turns) / STAGES & 1;
            stage = (stage + turns) % STAGES;
        }
    } else if (threadIdx.x < 128) {
        if (threadIdx.x == 0) {
            PDL_WAIT(); // it hands the stages back
        }
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            float sum = 0;
#pragma unroll 1
            for (int i = 0; i < turns; i++) {
                ring_await(&full[stage], parity);
                ring_await(&scaled[stage], parity);
                sum += data[stage][threadIdx.x] * factors[stage];
                asm volatile("bar.sync 1, 128;" ::: "memory");
                if (threadIdx.x == 0) {
                    ring_arrive(&empty[stage]);
                }
                stage = (stage + 1) % STAGES;
                parity ^= stage == 0;
            }
            y[tile * TILE + threadIdx.x] = sum;
        }
    }
}
