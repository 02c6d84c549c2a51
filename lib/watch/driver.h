/* SPDX-License-Identifier: MIT */
/* Calls of libcuda that libpdl-watch makes itself: the driver's own, never the interposed ones. */
#ifndef PDL_LIB_WATCH_DRIVER_H
#define PDL_LIB_WATCH_DRIVER_H

#include <cuda.h>
#include <cudaTypedefs.h>
#include <stdint.h>

/* Member, and the version of its type. The symbol is the name, but for a _v2 that cuda.h hides. */
#define PDL_WATCH_DRIVER_ENTRIES(X)                                                                \
    X(cuCtxGetCurrent, cuCtxGetCurrent, v4000)                                                     \
    X(cuCtxGetDevice, cuCtxGetDevice, v2000)                                                       \
    X(cuCtxPopCurrent, cuCtxPopCurrent_v2, v4000)                                                  \
    X(cuCtxPushCurrent, cuCtxPushCurrent_v2, v4000)                                                \
    X(cuDeviceGetAttribute, cuDeviceGetAttribute, v2000)                                           \
    X(cuDeviceGetCount, cuDeviceGetCount, v2000)                                                   \
    X(cuDeviceGetName, cuDeviceGetName, v2000)                                                     \
    X(cuDeviceGetUuid, cuDeviceGetUuid_v2, v11040)                                                 \
    X(cuDriverGetVersion, cuDriverGetVersion, v2020)                                               \
    X(cuFuncGetAttribute, cuFuncGetAttribute, v2020)                                               \
    X(cuFuncGetModule, cuFuncGetModule, v11000)                                                    \
    X(cuFuncGetName, cuFuncGetName, v12030)                                                        \
    X(cuGraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph, v10000)                        \
    X(cuGraphGetEdges, cuGraphGetEdges_v2, v12030)                                                 \
    X(cuGraphGetNodes, cuGraphGetNodes, v10000)                                                    \
    X(cuGraphKernelNodeGetAttribute, cuGraphKernelNodeGetAttribute, v11000)                        \
    X(cuGraphKernelNodeGetParams, cuGraphKernelNodeGetParams_v2, v12000)                           \
    X(cuGraphNodeGetType, cuGraphNodeGetType, v10000)                                              \
    X(cuKernelGetFunction, cuKernelGetFunction, v12000)                                            \
    X(cuKernelGetName, cuKernelGetName, v12030)                                                    \
    X(cuLaunchKernel, cuLaunchKernel, v4000)                                                       \
    X(cuLibraryGetModule, cuLibraryGetModule, v12000)                                              \
    X(cuLibraryUnload, cuLibraryUnload, v12000)                                                    \
    X(cuModuleGetFunction, cuModuleGetFunction, v2000)                                             \
    X(cuModuleLoadData, cuModuleLoadData, v2000)                                                   \
    X(cuStreamCreateWithPriority, cuStreamCreateWithPriority, v5050)                               \
    X(cuStreamIsCapturing, cuStreamIsCapturing, v10000)                                            \
    X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, v10010)

struct pdl_watch_driver {
#define PDL_WATCH_MEMBER(member, symbol, version) PFN_##member##_##version member;
    PDL_WATCH_DRIVER_ENTRIES(PDL_WATCH_MEMBER)
#undef PDL_WATCH_MEMBER
};

/* The table; members that the driver lacks are NULL. NULL as long as the process has no libcuda.so.1 open: it is not
 * opened here. Thread-safe. */
const struct pdl_watch_driver *pdl_watch_driver(void);

/* The compute capability of a device, 90 for 9.0; 0: not known. */
uint32_t pdl_watch_capability(CUdevice device);

/* The least and the highest one of all devices; 0: not known. */
void pdl_watch_capabilities(uint32_t *least, uint32_t *highest);

#endif /* PDL_LIB_WATCH_DRIVER_H */
