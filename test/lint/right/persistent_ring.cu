// SPDX-License-Identifier: MIT
// A persistent producer that waits before its first tile only, and remembers it in a flag.
// NOT debug: the flag is a variable then, and not the shape of the loop
#include <pdl/device.cuh>

#include "../ring.cuh"

constexpr int STAGES = 4;
constexpr int TILE = 128;

// Persistent, with a tile scheduler in shared memory: the producer waits once, before its first tile.
__global__ void persistent_roles(const float *x, float *y, int tiles)
{
    __shared__ alignas(128) float ring[STAGES][TILE];
    __shared__ unsigned long long full[STAGES];
    __shared__ unsigned long long empty[STAGES];
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            ring_init(&full[s], 1);
            ring_init(&empty[s], 128);
        }
    }
    __syncthreads();
    if (threadIdx.x >= TILE) {
        if (threadIdx.x == TILE) {
            bool waited = false;
            int n = 0;
            for (int t = blockIdx.x; t < tiles; t += gridDim.x, n++) {
                ring_await(&empty[n % STAGES], ((n / STAGES) & 1) ^ 1);
                if (!waited) {
                    PDL_WAIT();
                    waited = true;
                }
                ring_copy(ring[n % STAGES], x + t * TILE, TILE * 4, &full[n % STAGES]);
            }
        }
        return;
    }
    PDL_WAIT();
    int n = 0;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x, n++) {
        ring_await(&full[n % STAGES], (n / STAGES) & 1);
        const float value = ring[n % STAGES][threadIdx.x];
        ring_arrive(&empty[n % STAGES]);
        y[t * TILE + threadIdx.x] = value * value;
    }
    PDL_LAUNCH_DEPENDENTS();
}
