// SPDX-License-Identifier: MIT
// A lane waits, and hands what it loaded to its warp.
// NOT debug: the shuffle goes through memory
#include <pdl/device.cuh>

// The warp reads where its leader's row is, which only the leader's wait can tell.
__global__ void a_row_from_the_leader(const int *rows, const float *x, float *y)
{
    const unsigned lane = threadIdx.x & 31;
    int row = 0;
    if (lane == 0) {
        PDL_WAIT();
        row = rows[threadIdx.x >> 5];
    }
    row = __shfl_sync(0xffffffff, row, 0);
    y[threadIdx.x] = x[32 * row + lane];
}

__global__ void a_sum_from_the_leader(const float *x, float *y, int n)
{
    float sum = 0;
    if ((threadIdx.x & 31) == 0) {
        PDL_WAIT();
        for (int i = 0; i < n; i++) {
            sum += x[i];
        }
    }
    y[threadIdx.x] = __shfl_sync(0xffffffff, sum, 0);
}
