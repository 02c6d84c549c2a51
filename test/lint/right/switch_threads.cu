// SPDX-License-Identifier: MIT
// As switches.cu, where the flag is joined with the thread's index.
// COMPILERS: nvcc nvrtc clang
// NOT debug: the flag is not seen in what is not optimized, so that a parameter decides whether the thread waits
#include <pdl/device.cuh>

#if !defined(__CUDACC_RTC__)
#include "../math.cuh"
#endif

// The flag and the thread that waits for all; the barrier orders the others.
__global__ void flag_and_thread(const float *x, float *y, bool enable_pdl)
{
    if (enable_pdl && threadIdx.x == 0) {
        PDL_WAIT();
    }
    __syncthreads();
    y[threadIdx.x] = x[threadIdx.x];
}
