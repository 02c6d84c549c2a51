/* SPDX-License-Identifier: MIT */
/* The second of a pair of kernels that show whether they overlap, as code for compute capability 8.0. */
#ifndef PDL_TEST_OVERLAP_KERNELS_CUH
#define PDL_TEST_OVERLAP_KERNELS_CUH

/* Times of device_clock(). */
struct pair_times {
    unsigned long long first_end;
    unsigned long long second_start;
    unsigned long long second_after_wait;
};

/* The driver compiles it for the device. */
typedef void (*second_kernel)(pair_times *times);
second_kernel second_for_80(void);

#endif /* PDL_TEST_OVERLAP_KERNELS_CUH */
