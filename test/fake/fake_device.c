/* SPDX-License-Identifier: MIT */
/* The fake driver: initialization, devices, contexts, and cuGetProcAddress. */
#define _GNU_SOURCE
#include "fake_cuda.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "h200.h"

#define MOST_DEVICES 8
#define STACK        16

struct CUctx_st {
    int device;
    bool primary;
    int retained;
};

static struct CUctx_st primary[MOST_DEVICES];
static _Thread_local CUcontext stack[STACK]; /* the last one is current */
static _Thread_local int depth;
static atomic_bool initialized;

static CUcontext current(void)
{
    return depth > 0 ? stack[depth - 1] : NULL;
}

int fake_current_device(void)
{
    const CUcontext context = current();
    return context != NULL ? context->device : -1;
}

CUcontext fake_current_context(void)
{
    return current();
}

int fake_context_device(CUcontext context)
{
    return context->device;
}

static bool is_device(CUdevice device)
{
    return device >= 0 && device < fake.devices && device < MOST_DEVICES;
}

/* ---- initialization and devices ------------------------------------------------------------- */

FAKE_ENTRY(cuInit, unsigned flags)
{
    FAKE_LOG("cuInit flags=%u", flags);
    if (flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (fake.devices <= 0) {
        return CUDA_ERROR_NO_DEVICE;
    }
    atomic_store(&initialized, true);
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuDriverGetVersion, int *version)
{
    FAKE_LOG("cuDriverGetVersion");
    if (version == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *version = fake.driver_version;
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuDeviceGetCount, int *count)
{
    FAKE_LOG("cuDeviceGetCount");
    if (!atomic_load(&initialized)) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    *count = fake.devices < MOST_DEVICES ? fake.devices : MOST_DEVICES;
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuDeviceGet, CUdevice *device, int ordinal)
{
    FAKE_LOG("cuDeviceGet ordinal=%d", ordinal);
    if (!atomic_load(&initialized)) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (!is_device(ordinal)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *device = ordinal;
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuDeviceGetName, char *name, int size, CUdevice device)
{
    FAKE_LOG("cuDeviceGetName device=%d", device);
    if (!is_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    (void)snprintf(name, (size_t)size, "libpdl fake device (records calls, runs nothing)");
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuDeviceGetUuid_v2, CUuuid *uuid, CUdevice device)
{
    FAKE_LOG("cuDeviceGetUuid device=%d", device);
    if (!is_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    memset(uuid, 0, sizeof(*uuid));
    uuid->bytes[15] = (char)device;
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuDeviceTotalMem_v2, size_t *bytes, CUdevice device)
{
    FAKE_LOG("cuDeviceTotalMem device=%d", device);
    if (!is_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *bytes = (size_t)1 << 34;
    return CUDA_SUCCESS;
}

static int attribute_of(CUdevice_attribute attribute)
{
    switch ((int)attribute) {
#define CASE(name, value)                                                                          \
    case CU_DEVICE_ATTRIBUTE_##name:                                                               \
        return value;
        H200_ATTRIBUTES(CASE)
#undef CASE
    default:
        return 0;
    }
}

FAKE_ENTRY(cuDeviceGetAttribute, int *value, CUdevice_attribute attribute, CUdevice device)
{
    FAKE_LOG("cuDeviceGetAttribute attribute=%d device=%d", (int)attribute, device);
    if (!is_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    switch ((int)attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = fake.major;
        break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = fake.minor;
        break;
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
        *value = fake.major >= 9;
        break;
    default:
        *value = attribute_of(attribute);
        break;
    }
    return CUDA_SUCCESS;
}

/* ---- contexts ------------------------------------------------------------------------------- */

static CUresult create_context(CUcontext *context, CUdevice device)
{
    if (!atomic_load(&initialized)) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (!is_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    if (depth == STACK) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUcontext made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->device = device;
    stack[depth++] = made;
    *context = made;
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuCtxCreate_v2, CUcontext *context, unsigned flags, CUdevice device)
{
    FAKE_LOG("cuCtxCreate flags=%u device=%d", flags, device);
    return create_context(context, device);
}

FAKE_ENTRY(cuCtxCreate_v4, CUcontext *context, void *parameters, unsigned flags, CUdevice device)
{
    FAKE_LOG("cuCtxCreate flags=%u device=%d", flags, device);
    (void)parameters;
    return create_context(context, device);
}

FAKE_ENTRY(cuCtxDestroy_v2, CUcontext context)
{
    FAKE_LOG("cuCtxDestroy");
    if (context == NULL || context->primary) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (current() == context) {
        depth--;
    }
    free(context);
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuDevicePrimaryCtxRetain, CUcontext *context, CUdevice device)
{
    FAKE_LOG("cuDevicePrimaryCtxRetain device=%d", device);
    if (!atomic_load(&initialized)) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (!is_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    primary[device].device = device;
    primary[device].primary = true;
    primary[device].retained++;
    *context = &primary[device];
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuDevicePrimaryCtxRelease_v2, CUdevice device)
{
    FAKE_LOG("cuDevicePrimaryCtxRelease device=%d", device);
    if (!is_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    if (primary[device].retained == 0) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    primary[device].retained--;
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuCtxSetCurrent, CUcontext context)
{
    FAKE_LOG("cuCtxSetCurrent device=%d", context != NULL ? context->device : -1);
    if (depth > 0) {
        depth--;
    }
    if (context != NULL) {
        stack[depth++] = context;
    }
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuCtxGetCurrent, CUcontext *context)
{
    FAKE_LOG("cuCtxGetCurrent");
    *context = current();
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuCtxPushCurrent_v2, CUcontext context)
{
    FAKE_LOG("cuCtxPushCurrent");
    if (context == NULL || depth == STACK) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuCtxPopCurrent_v2, CUcontext *context)
{
    FAKE_LOG("cuCtxPopCurrent");
    if (depth == 0) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    depth--;
    if (context != NULL) {
        *context = stack[depth];
    }
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuCtxGetDevice, CUdevice *device)
{
    FAKE_LOG("cuCtxGetDevice");
    if (current() == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    *device = current()->device;
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuCtxSynchronize, void)
{
    FAKE_LOG("cuCtxSynchronize");
    return current() != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* ---- cuGetProcAddress ----------------------------------------------------------------------- */

/* The exported name of an entry and since when it has been what it is. Entries with several
 * versions stand newest first. */
static const struct {
    const char *name;
    int since;
    const char *symbol;
} entries[] = {
    {"cuInit", 2000, "cuInit"},
    {"cuDriverGetVersion", 2020, "cuDriverGetVersion"},
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
    {"cuGetErrorName", 6000, "cuGetErrorName"},
    {"cuGetErrorString", 6000, "cuGetErrorString"},
    {"cuDeviceGet", 2000, "cuDeviceGet"},
    {"cuDeviceGetCount", 2000, "cuDeviceGetCount"},
    {"cuDeviceGetName", 2000, "cuDeviceGetName"},
    {"cuDeviceGetUuid", 11040, "cuDeviceGetUuid_v2"},
    {"cuDeviceGetAttribute", 2000, "cuDeviceGetAttribute"},
    {"cuDeviceTotalMem", 3020, "cuDeviceTotalMem_v2"},
    {"cuDevicePrimaryCtxRetain", 7000, "cuDevicePrimaryCtxRetain"},
    {"cuDevicePrimaryCtxRelease", 11000, "cuDevicePrimaryCtxRelease_v2"},
    {"cuCtxCreate", 13000, "cuCtxCreate_v4"},
    {"cuCtxCreate", 3020, "cuCtxCreate_v2"},
    {"cuCtxDestroy", 4000, "cuCtxDestroy_v2"},
    {"cuCtxSetCurrent", 4000, "cuCtxSetCurrent"},
    {"cuCtxGetCurrent", 4000, "cuCtxGetCurrent"},
    {"cuCtxPushCurrent", 4000, "cuCtxPushCurrent_v2"},
    {"cuCtxPopCurrent", 4000, "cuCtxPopCurrent_v2"},
    {"cuCtxGetDevice", 2000, "cuCtxGetDevice"},
    {"cuCtxSynchronize", 2000, "cuCtxSynchronize"},
    {"cuMemAlloc", 3020, "cuMemAlloc_v2"},
    {"cuMemFree", 3020, "cuMemFree_v2"},
    {"cuMemcpyHtoD", 3020, "cuMemcpyHtoD_v2"},
    {"cuMemcpyDtoH", 3020, "cuMemcpyDtoH_v2"},
    {"cuMemcpyDtoD", 3020, "cuMemcpyDtoD_v2"},
    {"cuMemcpyHtoDAsync", 3020, "cuMemcpyHtoDAsync_v2"},
    {"cuMemcpyDtoHAsync", 3020, "cuMemcpyDtoHAsync_v2"},
    {"cuMemsetD8", 3020, "cuMemsetD8_v2"},
    {"cuMemsetD32", 3020, "cuMemsetD32_v2"},
    {"cuMemsetD8Async", 3020, "cuMemsetD8Async"},
    {"cuMemsetD32Async", 3020, "cuMemsetD32Async"},
    {"cuStreamCreate", 2000, "cuStreamCreate"},
    {"cuStreamCreateWithPriority", 5050, "cuStreamCreateWithPriority"},
    {"cuStreamDestroy", 4000, "cuStreamDestroy_v2"},
    {"cuStreamSynchronize", 2000, "cuStreamSynchronize"},
    {"cuStreamWaitEvent", 3020, "cuStreamWaitEvent"},
    {"cuStreamGetCtx", 9020, "cuStreamGetCtx"},
    {"cuStreamGetDevice", 12080, "cuStreamGetDevice"},
    {"cuEventCreate", 2000, "cuEventCreate"},
    {"cuEventDestroy", 4000, "cuEventDestroy_v2"},
    {"cuEventRecord", 2000, "cuEventRecord"},
    {"cuEventQuery", 2000, "cuEventQuery"},
    {"cuEventSynchronize", 2000, "cuEventSynchronize"},
    {"cuEventElapsedTime", 2000, "cuEventElapsedTime_v2"},
    {"cuModuleLoadData", 2000, "cuModuleLoadData"},
    {"cuModuleLoadDataEx", 2010, "cuModuleLoadDataEx"},
    {"cuModuleGetFunction", 2000, "cuModuleGetFunction"},
    {"cuModuleUnload", 2000, "cuModuleUnload"},
    {"cuLibraryLoadData", 12000, "cuLibraryLoadData"},
    {"cuLibraryUnload", 12000, "cuLibraryUnload"},
    {"cuLibraryGetKernel", 12000, "cuLibraryGetKernel"},
    {"cuKernelGetFunction", 12000, "cuKernelGetFunction"},
    {"cuKernelGetAttribute", 12000, "cuKernelGetAttribute"},
    {"cuKernelSetAttribute", 12000, "cuKernelSetAttribute"},
    {"cuKernelGetName", 12030, "cuKernelGetName"},
    {"cuFuncGetAttribute", 2020, "cuFuncGetAttribute"},
    {"cuFuncSetAttribute", 9000, "cuFuncSetAttribute"},
    {"cuFuncGetName", 12030, "cuFuncGetName"},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050,
     "cuOccupancyMaxActiveBlocksPerMultiprocessor"},
    {"cuOccupancyMaxActiveClusters", 11070, "cuOccupancyMaxActiveClusters"},
    {"cuOccupancyMaxPotentialClusterSize", 11070, "cuOccupancyMaxPotentialClusterSize"},
    {"cuFuncGetParamInfo", 12040, "cuFuncGetParamInfo"},
    {"cuKernelGetParamInfo", 12040, "cuKernelGetParamInfo"},
    {"cuGraphCreate", 10000, "cuGraphCreate"},
    {"cuGraphDestroy", 10000, "cuGraphDestroy"},
    {"cuGraphAddNode", 12030, "cuGraphAddNode_v2"},
    {"cuGraphDestroyNode", 10000, "cuGraphDestroyNode"},
    {"cuGraphGetNodes", 10000, "cuGraphGetNodes"},
    {"cuGraphGetEdges", 12030, "cuGraphGetEdges_v2"},
    {"cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3"},
    {"cuGraphNodeGetType", 10000, "cuGraphNodeGetType"},
    {"cuGraphKernelNodeGetParams", 12000, "cuGraphKernelNodeGetParams_v2"},
    {"cuGraphKernelNodeGetAttribute", 11000, "cuGraphKernelNodeGetAttribute"},
    {"cuGraphKernelNodeSetAttribute", 11000, "cuGraphKernelNodeSetAttribute"},
    {"cuGraphInstantiateWithFlags", 11040, "cuGraphInstantiateWithFlags"},
    {"cuGraphExecDestroy", 10000, "cuGraphExecDestroy"},
    {"cuGraphExecKernelNodeSetParams", 12000, "cuGraphExecKernelNodeSetParams_v2"},
    {"cuGraphUpload", 11010, "cuGraphUpload"},
    {"cuGraphLaunch", 10000, "cuGraphLaunch"},
    {"cuLaunchKernel", 4000, "cuLaunchKernel"},
    {"cuLaunchKernelEx", 11060, "cuLaunchKernelEx"},
};

/* The address of one of this library's own exports. */
static void *own_symbol(const char *symbol)
{
    Dl_info self;
    if (dladdr(&fake, &self) == 0) {
        return NULL;
    }
    void *library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) {
        return NULL;
    }
    void *address = dlsym(library, symbol);
    (void)dlclose(library);
    return address;
}

FAKE_ENTRY(cuGetProcAddress_v2, const char *name, void **address, int version, cuuint64_t flags,
           CUdriverProcAddressQueryResult *found)
{
    CUdriverProcAddressQueryResult result = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    *address = NULL;
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        if (strcmp(entries[i].name, name) != 0) {
            continue;
        }
        result = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
        if (entries[i].since <= version && entries[i].since <= fake.driver_version) {
            result = CU_GET_PROC_ADDRESS_SUCCESS;
            *address = own_symbol(entries[i].symbol);
            break;
        }
    }
    FAKE_LOG("cuGetProcAddress name=%s version=%d flags=%llu found=%d", name, version,
             (unsigned long long)flags, (int)result);
    if (found != NULL) {
        *found = result;
    }
    return *address != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* NVRTC asks for a table where there is a driver, and takes "none" for an answer, but not that this entry is
 * missing. */
FAKE_ENTRY(cuGetExportTable, const void **table, const CUuuid *id)
{
    (void)id;
    *table = NULL;
    return CUDA_ERROR_NOT_FOUND;
}

/* ---- results -------------------------------------------------------------------------------- */

/* Those that this driver returns, and the commonest others. */
#define RESULTS(X)                                                                                 \
    X(CUDA_SUCCESS, "no error")                                                                    \
    X(CUDA_ERROR_INVALID_VALUE, "invalid argument")                                                \
    X(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")                                                   \
    X(CUDA_ERROR_NOT_INITIALIZED, "initialization error")                                          \
    X(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected")                                  \
    X(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal")                                         \
    X(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid")                                  \
    X(CUDA_ERROR_INVALID_CONTEXT, "invalid device context")                                        \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device")    \
    X(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle")                                        \
    X(CUDA_ERROR_NOT_FOUND, "named symbol not found")                                              \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered")                      \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch")               \
    X(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure")                                      \
    X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch")            \
    X(CUDA_ERROR_NOT_SUPPORTED, "operation not supported")                                         \
    X(CUDA_ERROR_UNKNOWN, "unknown error")

FAKE_ENTRY(cuGetErrorName, CUresult error, const char **name)
{
    *name = NULL;
    switch (error) {
#define CASE(value, text)                                                                          \
    case value:                                                                                    \
        *name = #value;                                                                            \
        return CUDA_SUCCESS;
        RESULTS(CASE)
#undef CASE
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

FAKE_ENTRY(cuGetErrorString, CUresult error, const char **string)
{
    *string = NULL;
    switch (error) {
#define CASE(value, text)                                                                          \
    case value:                                                                                    \
        *string = text;                                                                            \
        return CUDA_SUCCESS;
        RESULTS(CASE)
#undef CASE
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}
