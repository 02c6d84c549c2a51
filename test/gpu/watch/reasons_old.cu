/* SPDX-License-Identifier: MIT */
/* Compiled to PTX for compute_80 and to nothing else: its wait is compiled out. */
#include "programs.cuh"

static __global__ void secondary_old(unsigned *out)
{
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
    spin(3000);
    out[blockIdx.x] = 1;
}

void launch_old(cudaStream_t stream, unsigned *out);

void launch_old(cudaStream_t stream, unsigned *out)
{
    launch(secondary_old, static_cast<unsigned>(sm_count()), 128, 0, stream, true, out);
}
