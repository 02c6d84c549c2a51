/* SPDX-License-Identifier: MIT */
/* A pair of kernels that show whether they overlap, compiled for 9.0 and once more for 8.0 alone.
 */
#ifndef PDL_TEST_OVERLAP_KERNELS_CUH
#define PDL_TEST_OVERLAP_KERNELS_CUH

#include "gpu_test.cuh"

/* Times of device_clock(). */
struct pair_times {
    unsigned long long first_end;
    unsigned long long second_start;
    unsigned long long second_after_wait;
};

/* The secondary as code for compute capability 8.0, which the driver compiles for the device. */
typedef void (*second_kernel)(pair_times *times);
second_kernel second_for_80(void);

#endif /* PDL_TEST_OVERLAP_KERNELS_CUH */
