/* SPDX-License-Identifier: MIT */
/* The entries of the watched driver that the fake one does not have, and those in whose place it puts its own. Each is
 * shown_SYMBOL() in C. */
#ifndef PDL_TEST_WATCH_WATCHED_ENTRIES_H
#define PDL_TEST_WATCH_WATCHED_ENTRIES_H

#include "mock_entry.h"

/* X(name, since, symbol): as MOCK_ENTRIES. */
#define WATCHED_ENTRIES(X)                                                                         \
    X(cuLaunchKernel, 4000, cuLaunchKernel)                                                        \
    X(cuLaunchCooperativeKernel, 9000, cuLaunchCooperativeKernel)                                  \
    X(cuMemcpyHtoDAsync, 3020, cuMemcpyHtoDAsync_v2)                                               \
    X(cuMemsetD8Async, 3020, cuMemsetD8Async)                                                      \
    X(cuMemAllocAsync, 11020, cuMemAllocAsync)                                                     \
    X(cuMemFreeAsync, 11020, cuMemFreeAsync)                                                       \
    X(cuEventRecord, 2000, cuEventRecord)                                                          \
    X(cuEventSynchronize, 2000, cuEventSynchronize)                                                \
    X(cuStreamWaitEvent, 3020, cuStreamWaitEvent)                                                  \
    X(cuStreamWriteValue32, 11070, cuStreamWriteValue32_v2)                                        \
    X(cuLaunchHostFunc, 10000, cuLaunchHostFunc)                                                   \
    X(cuStreamBeginCapture, 10010, cuStreamBeginCapture_v2)                                        \
    X(cuCtxSynchronize, 2000, cuCtxSynchronize)                                                    \
    X(cuDevicePrimaryCtxReset, 11000, cuDevicePrimaryCtxReset_v2)

#define WATCHED_EXPORT_ __attribute__((visibility("default")))
#define WATCHED_DECLARE_MODEL_(name, since, symbol)                                                \
    mock_##name##_type shown_##symbol __asm__(#symbol) WATCHED_EXPORT_;
MOCK_SHOWN_ENTRIES(WATCHED_DECLARE_MODEL_)
#undef WATCHED_DECLARE_MODEL_

#define WATCHED_ENTRY_(symbol, ...)                                                                \
    WATCHED_EXPORT_ CUresult shown_##symbol(__VA_ARGS__) __asm__(#symbol)
#define WATCHED_SHAPE_                                                                             \
    unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,         \
        unsigned block_z, unsigned shared
WATCHED_ENTRY_(cuLaunchKernel, CUfunction function, WATCHED_SHAPE_, CUstream stream,
               void **arguments, void **extra);
WATCHED_ENTRY_(cuLaunchKernel_ptsz, CUfunction function, WATCHED_SHAPE_, CUstream stream,
               void **arguments, void **extra);
WATCHED_ENTRY_(cuLaunchKernelEx_ptsz, const CUlaunchConfig *config, CUfunction function,
               void **arguments, void **extra);
WATCHED_ENTRY_(cuLaunchCooperativeKernel, CUfunction function, WATCHED_SHAPE_, CUstream stream,
               void **arguments);
WATCHED_ENTRY_(cuMemcpyHtoDAsync_v2, CUdeviceptr to, const void *from, size_t bytes,
               CUstream stream);
WATCHED_ENTRY_(cuMemsetD8Async, CUdeviceptr to, unsigned char byte, size_t count, CUstream stream);
WATCHED_ENTRY_(cuMemAllocAsync, CUdeviceptr *address, size_t bytes, CUstream stream);
WATCHED_ENTRY_(cuMemFreeAsync, CUdeviceptr address, CUstream stream);
WATCHED_ENTRY_(cuEventRecord, CUevent event, CUstream stream);
WATCHED_ENTRY_(cuEventSynchronize, CUevent event);
WATCHED_ENTRY_(cuStreamWaitEvent, CUstream stream, CUevent event, unsigned flags);
WATCHED_ENTRY_(cuStreamWriteValue32_v2, CUstream stream, CUdeviceptr address, cuuint32_t value,
               unsigned flags);
WATCHED_ENTRY_(cuLaunchHostFunc, CUstream stream, CUhostFn function, void *user);
WATCHED_ENTRY_(cuStreamBeginCapture_v2, CUstream stream, CUstreamCaptureMode mode);
WATCHED_ENTRY_(cuCtxSynchronize, void);
WATCHED_ENTRY_(cuDevicePrimaryCtxReset_v2, CUdevice device);

#endif /* PDL_TEST_WATCH_WATCHED_ENTRIES_H */
