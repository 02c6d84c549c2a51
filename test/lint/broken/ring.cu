// SPDX-License-Identifier: MIT
// A warp-specialized matrix product in small: a producer warp fills a ring of tiles, the others compute.
#include <pdl/device.cuh>

#include "../ring.cuh"

constexpr int STAGES = 4;
constexpr int TILE = 128;

// The producer waits. A second producer, for the scales, came later.
__global__ void two_producers(const float *x, const float *scales, float *y, int tiles)
{
    __shared__ alignas(128) float ring[STAGES][TILE];
    __shared__ float scale[STAGES];
    __shared__ unsigned long long full[STAGES];
    __shared__ unsigned long long empty[STAGES];
    const int warp = threadIdx.x >> 5;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            ring_init(&full[s], 2);
            ring_init(&empty[s], 128);
        }
    }
    __syncthreads();
    if (warp == 4) {
        if (ring_elect()) {
            PDL_WAIT();
            for (int t = 0; t < tiles; t++) {
                ring_await(&empty[t % STAGES], ((t / STAGES) & 1) ^ 1);
                ring_copy(ring[t % STAGES], x + t * TILE, TILE * 4, &full[t % STAGES]);
            }
        }
    } else if (warp == 5) {
        if (ring_elect()) {
            for (int t = 0; t < tiles; t++) {
                ring_await(&empty[t % STAGES], ((t / STAGES) & 1) ^ 1);
                scale[t % STAGES] = scales[t]; // EXPECT: partial-wait
                ring_arrive(&full[t % STAGES]);
            }
        }
    } else {
        float sum = 0;
        for (int t = 0; t < tiles; t++) {
            ring_await(&full[t % STAGES], (t / STAGES) & 1);
            sum += scale[t % STAGES] * ring[t % STAGES][threadIdx.x];
            ring_arrive(&empty[t % STAGES]);
        }
        PDL_WAIT();
        y[blockIdx.x * TILE + threadIdx.x] = sum;
    }
}

// The first stages are filled before the wait, as for weights, but with the activations.
__global__ void prologue_fills_the_ring(const float *weights, const float *x, float *y, int tiles)
{
    PDL_CONSTANT_PARAM(weights);
    __shared__ alignas(128) float ring[STAGES][TILE];
    __shared__ alignas(128) float first[TILE];
    __shared__ unsigned long long full[STAGES + 1];
    if (threadIdx.x == 0) {
        for (int s = 0; s <= STAGES; s++) {
            ring_init(&full[s], 1);
        }
        ring_copy(first, weights + blockIdx.x * TILE, TILE * 4, &full[STAGES]);
        for (int s = 0; s < STAGES; s++) {
            ring_copy(ring[s], x + s * TILE, TILE * 4, &full[s]); // EXPECT: read-before-wait
        }
    }
    __syncthreads();
    PDL_WAIT();
    float sum = 0;
    ring_await(&full[STAGES], 0);
    for (int t = 0; t < tiles; t++) {
        ring_await(&full[t % STAGES], (t / STAGES) & 1);
        sum += first[threadIdx.x] * ring[t % STAGES][threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0 && t + STAGES < tiles) {
            ring_copy(ring[t % STAGES], x + (t + STAGES) * TILE, TILE * 4, &full[t % STAGES]);
        }
    }
    y[blockIdx.x * TILE + threadIdx.x] = sum;
}
