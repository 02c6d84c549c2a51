/* SPDX-License-Identifier: MIT */
/* Kernels for tune_gpu.py, which compiles them for each trigger. */
#include <pdl/device.cuh>

/* y = W x, a warp a row. The places of the trigger: 0 at the start, 1 after the wait, 2 before the last row.
 * With 3 there is none, and no thread waits: a planted mistake. The wait that is there all the same lets the
 * kernel overlap, which libpdl does not grant to one without. */
extern "C" __global__ void fc(const float *w, const float *PDL_RESTRICT x, float *y, int rows,
                              int cols)
{
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const int warps = gridDim.x * blockDim.x / 32;
    PDL_TRIGGER_POINT(0);
    for (int i = lane; i < cols; i += 32) {
        PDL_PREFETCH_L2(w + (size_t)(warp % rows) * cols + i);
    }
#if PDL_TRIGGER_SELECT != 3
    PDL_WAIT();
#else
    if (x == nullptr) {
        PDL_WAIT();
    }
#endif
    PDL_TRIGGER_POINT(1);
    for (int row = warp; row < rows; row += warps) {
        float sum = 0;
        for (int i = lane; i < cols; i += 32) {
            sum += w[(size_t)row * cols + i] * PDL_LOAD(x + i);
        }
        for (int d = 16; d > 0; d /= 2) {
            sum += __shfl_xor_sync(~0u, sum, d);
        }
        if (row + warps >= rows) {
            PDL_TRIGGER_POINT(2);
        }
        if (lane == 0) {
            y[row] = sum * 0.03125f; /* about as large as x */
        }
    }
}

struct scale_args {
    const float *x;
    float *y;
    int small; /* moves what comes after it */
    int n;
    float by;
};

extern "C" __global__ void scale(const scale_args a)
{
    PDL_TRIGGER_POINT(0);
    PDL_WAIT();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += gridDim.x * blockDim.x) {
        a.y[i] = a.by * PDL_LOAD(a.x + i);
    }
}
