/* SPDX-License-Identifier: MIT */
/* The attributes of an H200, as the driver reports them: what the mock's and the fake's devices
 * are. */
#ifndef PDL_TEST_CUDA_H200_H
#define PDL_TEST_CUDA_H200_H

/* X(attribute without CU_DEVICE_ATTRIBUTE_, value) */
#define H200_ATTRIBUTES(X)                                                                         \
    X(MAX_THREADS_PER_BLOCK, 1024)                                                                 \
    X(MAX_BLOCK_DIM_X, 1024)                                                                       \
    X(MAX_BLOCK_DIM_Y, 1024)                                                                       \
    X(MAX_BLOCK_DIM_Z, 64)                                                                         \
    X(MAX_GRID_DIM_X, 2147483647)                                                                  \
    X(MAX_GRID_DIM_Y, 65535)                                                                       \
    X(MAX_GRID_DIM_Z, 65535)                                                                       \
    X(MAX_SHARED_MEMORY_PER_BLOCK, 49152)                                                          \
    X(TOTAL_CONSTANT_MEMORY, 65536)                                                                \
    X(WARP_SIZE, 32)                                                                               \
    X(MAX_REGISTERS_PER_BLOCK, 65536)                                                              \
    X(CLOCK_RATE, 1980000)                                                                         \
    X(MULTIPROCESSOR_COUNT, 132)                                                                   \
    X(UNIFIED_ADDRESSING, 1)                                                                       \
    X(L2_CACHE_SIZE, 62914560)                                                                     \
    X(MAX_THREADS_PER_MULTIPROCESSOR, 2048)                                                        \
    X(COMPUTE_CAPABILITY_MAJOR, 9)                                                                 \
    X(COMPUTE_CAPABILITY_MINOR, 0)                                                                 \
    X(STREAM_PRIORITIES_SUPPORTED, 1)                                                              \
    X(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472)                                                \
    X(MAX_REGISTERS_PER_MULTIPROCESSOR, 65536)                                                     \
    X(COOPERATIVE_LAUNCH, 1)                                                                       \
    X(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448)                                                   \
    X(MAX_BLOCKS_PER_MULTIPROCESSOR, 32)                                                           \
    X(MAX_PERSISTING_L2_CACHE_SIZE, 39321600)                                                      \
    X(MAX_ACCESS_POLICY_WINDOW_SIZE, 134213632)                                                    \
    X(RESERVED_SHARED_MEMORY_PER_BLOCK, 1024)                                                      \
    X(CLUSTER_LAUNCH, 1)

#endif /* PDL_TEST_CUDA_H200_H */
