/* SPDX-License-Identifier: MIT */
/* A device function that a kernel of another file calls: -rdc. */
#include <pdl/device.cuh>

__device__ void wait_elsewhere(void)
{
    PDL_WAIT();
}
