/* SPDX-License-Identifier: MIT */
/* The driver table: every CUDA driver call that the library makes goes through it. */
#ifndef PDL_LIB_DRIVER_H
#define PDL_LIB_DRIVER_H

#include "core/libcuda.h"

/* Devices beyond this many are not shown. */
#define PDL_DEVICE_MAX 64

/* Types of entries that the oldest supported headers lack. */
#if CUDA_VERSION < 12040
typedef CUresult(CUDAAPI *PFN_cuFuncGetParamInfo_v12040)(CUfunction function, size_t index,
                                                         size_t *offset, size_t *size);
typedef CUresult(CUDAAPI *PFN_cuKernelGetParamInfo_v12040)(CUkernel kernel, size_t index,
                                                           size_t *offset, size_t *size);
struct pdl_dev_resource {
    unsigned char padding[96]; /* the type */
    struct {
        unsigned smCount, rest[11];
    } sm;
};
#define PDL_DEV_RESOURCE      struct pdl_dev_resource
#define PDL_DEV_RESOURCE_TYPE int
typedef CUresult(CUDAAPI *PFN_cuCtxGetDevResource_v12040)(CUcontext context,
                                                          PDL_DEV_RESOURCE *resource, int type);
#else
#define PDL_DEV_RESOURCE      CUdevResource
#define PDL_DEV_RESOURCE_TYPE CUdevResourceType
#endif
#if CUDA_VERSION < 12080
typedef CUresult(CUDAAPI *PFN_cuStreamGetDevice_v12080)(CUstream stream, CUdevice *device);
#define CU_GRAPH_COND_TYPE_SWITCH ((CUgraphConditionalNodeType)2)
#endif
/* What only newer headers name, since CUDA 13.4: so are modes 3 and 4 of shared memory. */
#define PDL_OVERSIZED_SINCE                   13040
#define PDL_FUNC_ATTRIBUTE_SHARED_MEMORY_MODE ((CUfunction_attribute)17)
#define PDL_DEV_RESOURCE_SM                   ((PDL_DEV_RESOURCE_TYPE)1) /* CU_DEV_RESOURCE_TYPE_SM */
#define PDL_DEVICE_ATTRIBUTE_OVERSIZED        ((CUdevice_attribute)150)

/* R(name, version): required. O(name, version): optional, NULL where the driver is older.
 * The version is the one that cuGetProcAddress is asked for and the typedef is named after. */
#define PDL_DRIVER_ENTRIES(R, O)                                                                   \
    R(cuInit, 2000)                                                                                \
    R(cuDeviceGet, 2000)                                                                           \
    R(cuDeviceGetCount, 2000)                                                                      \
    R(cuDeviceGetName, 2000)                                                                       \
    R(cuDeviceGetAttribute, 2000)                                                                  \
    R(cuGetErrorName, 6000)                                                                        \
    R(cuCtxGetDevice, 2000)                                                                        \
    R(cuCtxGetId, 12000)                                                                           \
    R(cuFuncGetAttribute, 2020)                                                                    \
    R(cuFuncSetAttribute, 9000)                                                                    \
    R(cuLibraryLoadData, 12000)                                                                    \
    R(cuLibraryUnload, 12000)                                                                      \
    R(cuLibraryGetKernel, 12000)                                                                   \
    R(cuKernelGetFunction, 12000)                                                                  \
    R(cuKernelGetAttribute, 12000)                                                                 \
    R(cuKernelSetAttribute, 12000)                                                                 \
    R(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050)                                           \
    R(cuOccupancyMaxActiveClusters, 11070)                                                         \
    R(cuOccupancyMaxPotentialClusterSize, 11070)                                                   \
    R(cuLaunchKernelEx, 11060)                                                                     \
    R(cuCtxPushCurrent, 4000)                                                                      \
    R(cuCtxPopCurrent, 4000)                                                                       \
    R(cuStreamGetCtx, 9020)                                                                        \
    R(cuStreamIsCapturing, 10000)                                                                  \
    R(cuGraphCreate, 10000)                                                                        \
    R(cuGraphDestroy, 10000)                                                                       \
    R(cuGraphGetNodes, 10000)                                                                      \
    R(cuGraphNodeGetType, 10000)                                                                   \
    R(cuGraphDestroyNode, 10000)                                                                   \
    R(cuGraphKernelNodeGetParams, 12000)                                                           \
    R(cuGraphKernelNodeGetAttribute, 11000)                                                        \
    R(cuGraphKernelNodeSetAttribute, 11000)                                                        \
    R(cuGraphInstantiateWithFlags, 11040)                                                          \
    R(cuGraphExecDestroy, 10000)                                                                   \
    R(cuGraphExecKernelNodeSetParams, 12000)                                                       \
    R(cuGraphLaunch, 10000)                                                                        \
    R(cuCtxGetCurrent, 4000)                                                                       \
    R(cuStreamEndCapture, 10000)                                                                   \
    R(cuGraphClone, 10000)                                                                         \
    R(cuGraphMemcpyNodeGetParams, 10000)                                                           \
    R(cuGraphMemsetNodeGetParams, 10000)                                                           \
    R(cuGraphHostNodeGetParams, 10000)                                                             \
    R(cuGraphChildGraphNodeGetGraph, 10000)                                                        \
    R(cuGraphKernelNodeCopyAttributes, 11000)                                                      \
    R(cuGraphEventRecordNodeGetEvent, 11010)                                                       \
    R(cuGraphEventWaitNodeGetEvent, 11010)                                                         \
    O(cuGraphExecNodeSetParams, 12020)                                                             \
    O(cuGraphAddDependencies, 12030)                                                               \
    O(cuGraphConditionalHandleCreate, 12030)                                                       \
    O(cuStreamBeginCaptureToGraph, 12030)                                                          \
    O(cuGraphAddNode, 12030)                                                                       \
    O(cuGraphGetEdges, 12030)                                                                      \
    O(cuGraphNodeGetDependencies, 12030)                                                           \
    O(cuStreamGetCaptureInfo, 12030)                                                               \
    O(cuFuncGetName, 12030)                                                                        \
    O(cuKernelGetName, 12030)                                                                      \
    O(cuFuncGetParamInfo, 12040)                                                                   \
    O(cuKernelGetParamInfo, 12040)                                                                 \
    O(cuCtxGetDevResource, 12040)                                                                  \
    O(cuStreamGetDevice, 12080)

struct pdl_driver {
#define PDL_DRIVER_MEMBER_(name, version_) PFN_##name##_v##version_ name;
    PDL_DRIVER_ENTRIES(PDL_DRIVER_MEMBER_, PDL_DRIVER_MEMBER_)
#undef PDL_DRIVER_MEMBER_
    int version;           /* cuDriverGetVersion */
    int device_count;      /* at least 1 */
    bool overlap_disabled; /* PDL_OVERLAP=0 */
};

/* The table, loaded on the first call; later calls repeat the first one's outcome. On failure the
 * thread's error is set and *driver is not written. */
pdl_status pdl_driver_get(const struct pdl_driver **driver);

/* For pdl_device_override(): makes pdl_driver_get() return this table (NULL: load again on the
 * next call). */
void pdl_driver_override(const struct pdl_driver *driver);

/* For tests and for pdl_driver_get(): loads libcuda from `soname` into *driver. */
PDL_COLD pdl_status pdl_driver_load(const char *soname, struct pdl_driver *driver);

/* The name of a result, such as "CUDA_ERROR_INVALID_VALUE". Never NULL. */
static inline const char *pdl_driver_result_name(const struct pdl_driver *driver, CUresult result)
{
    return pdl_libcuda_result_name(driver->cuGetErrorName, result);
}

/* pdl_libcuda_error(), with the table's names. */
static inline pdl_status pdl_error_from_cuda(const struct pdl_driver *driver, const char *call,
                                             int32_t result, const char *doing)
{
    return pdl_libcuda_error(driver->cuGetErrorName, call, result, doing);
}

/* Calls an entry of the driver's table, and records its failure; `doing` says what it was called for. */
#define PDL_CALL(driver, doing, entry, ...)                                                        \
    pdl_driver_called((driver), #entry, (int32_t)(driver)->entry(__VA_ARGS__), (doing))

static inline pdl_status pdl_driver_called(const struct pdl_driver *driver, const char *call,
                                           int32_t result, const char *doing)
{
    return result == 0 ? PDL_SUCCESS : pdl_error_from_cuda(driver, call, result, doing);
}

#endif /* PDL_LIB_DRIVER_H */
