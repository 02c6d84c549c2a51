// SPDX-License-Identifier: MIT
// A warp-specialized matrix product in small, as it should be.
#include <pdl/device.cuh>

#include "../ring.cuh"

constexpr int STAGES = 4;
constexpr int TILE = 128;

// Both producers wait, and the consumers before they write.
__global__ void two_waiting_producers(const float *x, const float *scales, float *y, int tiles)
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
            PDL_WAIT();
            for (int t = 0; t < tiles; t++) {
                ring_await(&empty[t % STAGES], ((t / STAGES) & 1) ^ 1);
                scale[t % STAGES] = scales[t];
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
        PDL_LAUNCH_DEPENDENTS();
    }
}

// The weights go into the ring before the wait, the activations after it; the same loop for both.
__global__ void weights_in_the_prologue(const float *weights, const float *x, float *y)
{
    PDL_CONSTANT_PARAM(weights);
    __shared__ alignas(128) float w[STAGES][TILE];
    __shared__ alignas(128) float a[STAGES][TILE];
    __shared__ unsigned long long full[STAGES];
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            ring_init(&full[s], 2);
        }
        for (int s = 0; s < STAGES; s++) {
            ring_copy(w[s], weights + (blockIdx.x * STAGES + s) * TILE, TILE * 4, &full[s]);
        }
    }
    __syncthreads();
    PDL_WAIT();
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            ring_copy(a[s], x + s * TILE, TILE * 4, &full[s]);
        }
    }
    float sum = 0;
    for (int s = 0; s < STAGES; s++) {
        ring_await(&full[s], 0);
        sum += w[s][threadIdx.x] * a[s][threadIdx.x];
    }
    y[blockIdx.x * TILE + threadIdx.x] = sum;
    PDL_LAUNCH_DEPENDENTS();
}

// Right as well: all wait at the top, the roles come after.
__global__ void wait_at_the_top(const float *x, float *y, int tiles)
{
    __shared__ alignas(128) float ring[TILE];
    __shared__ unsigned long long full;
    if (threadIdx.x == 0) {
        ring_init(&full, 1);
    }
    __syncthreads();
    PDL_WAIT();
    for (int t = 0; t < tiles; t++) {
        if (threadIdx.x == 0) {
            ring_copy(ring, x + t * TILE, TILE * 4, &full);
        }
        ring_await(&full, t & 1);
        y[t * TILE + threadIdx.x] = ring[threadIdx.x];
        __syncthreads();
    }
}
