/* SPDX-License-Identifier: MIT */
/* The model of CUDA: kernels. */
#include <string.h>

#include "mock_entry.h"

enum { AFTER_RESET = 1 + MOCK_DEVICES };

/* The kernel that a handle is of, and which of its handles that is: 0 the CUkernel, else the
 * CUfunction of that device + 1; NULL if there is none. */
static struct mock_kernel *kernel_of(const void *handle, int *which)
{
    struct mock_kernel *kernel = NULL;
    while ((kernel = mock_next_kernel(kernel)) != NULL) {
        const uintptr_t first = (uintptr_t)kernel->handles;
        if ((uintptr_t)handle >= first && (uintptr_t)handle < first + sizeof(kernel->handles)) {
            const int at = (int)((uintptr_t)handle - first);
            if (at > 0 && (at >= AFTER_RESET) != (mock.resets % 2 != 0)) {
                mock_misused("a CUfunction from before the device was reset");
                return NULL;
            }
            *which = at >= AFTER_RESET ? at - MOCK_DEVICES : at;
            return kernel;
        }
    }
    return NULL;
}

static CUfunction function_on(struct mock_kernel *kernel, int device)
{
    return (CUfunction)(void *)&kernel->handles[device + (mock.resets % 2 != 0 ? AFTER_RESET : 1)];
}

CUkernel mock_cu_kernel(unsigned kernel)
{
    return (CUkernel)(void *)&mock.kernels[kernel].handles[0];
}

CUfunction mock_function(unsigned kernel, int device)
{
    return function_on(&mock.kernels[kernel], device);
}

struct mock_kernel *mock_kernel_of_function(CUfunction function, int *device)
{
    int which = 0;
    struct mock_kernel *kernel = kernel_of(function, &which);
    *device = which - 1;
    return which > 0 ? kernel : NULL;
}

struct mock_kernel *mock_kernel_of_cu_kernel(CUkernel handle)
{
    int which = 0;
    struct mock_kernel *kernel = kernel_of(handle, &which);
    return which == 0 ? kernel : NULL;
}

struct mock_kernel *mock_kernel_of_either(CUfunction function, int *device)
{
    int which = 0;
    struct mock_kernel *kernel = kernel_of(function, &which);
    *device = which > 0 ? which - 1 : mock_current_device();
    return kernel;
}

void mock_device_reset(void)
{
    mock.resets++;
    mock_set_current(-1);
}

void mock_init_kernel(struct mock_kernel *kernel, const char *name)
{
    kernel->name = name;
    kernel->in_image = true;
    for (int d = 0; d < MOCK_DEVICES; d++) {
        const int *const device = mock.devices[d].attributes;
        int *attributes = kernel->attributes[d];
        attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024;
        attributes[CU_FUNC_ATTRIBUTE_NUM_REGS] = 32;
        attributes[CU_FUNC_ATTRIBUTE_PTX_VERSION] = mock.code;
        attributes[CU_FUNC_ATTRIBUTE_BINARY_VERSION] =
            10 * device[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] +
            device[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR];
        attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = 49152;
    }
}

static CUresult read_attribute(struct mock_kernel *kernel, int device,
                               CUfunction_attribute attribute, int *value)
{
    if ((int)attribute < 0 || (int)attribute > 17 ||
        ((int)attribute == 17 && mock.table.version < 13040)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    mock_write_late_logs();
    kernel->reads[device][attribute]++;
    *value = kernel->attributes[device][attribute];
    MOCK_LOG("f=%s device=%d attribute=%d value=%d", kernel->name, device, (int)attribute, *value);
    return CUDA_SUCCESS;
}

static CUresult write_attribute(struct mock_kernel *kernel, int device,
                                CUfunction_attribute attribute, int value)
{
    kernel->writes++;
    kernel->last_written = attribute;
    kernel->last_value = value;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        const int most =
            mock.devices[device].attributes[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN] -
            kernel->attributes[device][CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES];
        if (value < 0 || value > most) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    kernel->attributes[device][attribute] = value;
    MOCK_LOG("f=%s device=%d attribute=%d value=%d", kernel->name, device, (int)attribute, value);
    return CUDA_SUCCESS;
}

CUresult mock_cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    MOCK_ENTER(cuFuncGetAttribute);
    int device = 0;
    struct mock_kernel *kernel = mock_kernel_of_function(function, &device);
    MOCK_FAIL_IF(kernel == NULL, CUDA_ERROR_INVALID_HANDLE);
    MOCK_FAIL_IF(mock_current_device() < 0, CUDA_ERROR_INVALID_CONTEXT);
    return mock_leave(read_attribute(kernel, device, attribute, value));
}

CUresult mock_cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    MOCK_ENTER(cuFuncSetAttribute);
    int device = 0;
    struct mock_kernel *kernel = mock_kernel_of_function(function, &device);
    MOCK_FAIL_IF(kernel == NULL, CUDA_ERROR_INVALID_HANDLE);
    MOCK_FAIL_IF(mock_current_device() < 0, CUDA_ERROR_INVALID_CONTEXT);
    return mock_leave(write_attribute(kernel, device, attribute, value));
}

CUresult mock_cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel handle,
                                   CUdevice device)
{
    MOCK_ENTER(cuKernelGetAttribute);
    struct mock_kernel *kernel = mock_kernel_of_cu_kernel(handle);
    MOCK_FAIL_IF(kernel == NULL, CUDA_ERROR_INVALID_HANDLE);
    MOCK_FAIL_IF(!mock_is_device(device), CUDA_ERROR_INVALID_DEVICE);
    return mock_leave(read_attribute(kernel, device, attribute, value));
}

CUresult mock_cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle,
                                   CUdevice device)
{
    MOCK_ENTER(cuKernelSetAttribute);
    struct mock_kernel *kernel = mock_kernel_of_cu_kernel(handle);
    MOCK_FAIL_IF(kernel == NULL, CUDA_ERROR_INVALID_HANDLE);
    MOCK_FAIL_IF(!mock_is_device(device), CUDA_ERROR_INVALID_DEVICE);
    return mock_leave(write_attribute(kernel, device, attribute, value));
}

CUresult mock_cuKernelGetFunction(CUfunction *function, CUkernel handle)
{
    MOCK_ENTER(cuKernelGetFunction);
    struct mock_kernel *kernel = mock_kernel_of_cu_kernel(handle);
    MOCK_FAIL_IF(kernel == NULL, CUDA_ERROR_INVALID_HANDLE);
    MOCK_FAIL_IF(mock_current_device() < 0, CUDA_ERROR_INVALID_CONTEXT);
    *function = function_on(kernel, mock_current_device());
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuFuncGetName(const char **name, CUfunction function)
{
    MOCK_ENTER(cuFuncGetName);
    int device = 0;
    const struct mock_kernel *kernel = mock_kernel_of_function(function, &device);
    MOCK_FAIL_IF(kernel == NULL, CUDA_ERROR_INVALID_HANDLE);
    *name = kernel->name;
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuKernelGetName(const char **name, CUkernel handle)
{
    MOCK_ENTER(cuKernelGetName);
    const struct mock_kernel *kernel = mock_kernel_of_cu_kernel(handle);
    MOCK_FAIL_IF(kernel == NULL, CUDA_ERROR_INVALID_HANDLE);
    *name = kernel->name;
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function,
                                                          int block, size_t shared)
{
    MOCK_ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor);
    int device = 0;
    struct mock_kernel *kernel = mock_kernel_of_either(function, &device);
    MOCK_FAIL_IF(kernel == NULL, CUDA_ERROR_INVALID_HANDLE);
    kernel->occupancy_block = block;
    kernel->occupancy_shared = shared;
    MOCK_FAIL_IF(block <= 0, CUDA_ERROR_INVALID_VALUE);
    if (device >= 0 && kernel->device_occupancy[device] > 0) {
        *blocks = kernel->device_occupancy[device];
    } else if (kernel->occupancy >= 0) {
        *blocks = kernel->occupancy;
    } else {
        const int by_threads = 2048 / ((block + 31) / 32 * 32);
        const int by_shared = (int)(233472 / (shared + 1024)); /* 1 KiB is CUDA's own */
        *blocks = by_threads < by_shared ? by_threads : by_shared;
        *blocks = *blocks < 32 ? *blocks : 32;
    }
    return mock_leave(CUDA_SUCCESS);
}

/* Whether an occupancy of clusters can be had. Only the
 * cluster and the modes may be asked for. */
static CUresult check_clusters(CUfunction function, const CUlaunchConfig *config)
{
    int device = 0;
    const unsigned known =
        config->numAttrs > 0 && config->attrs[0].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    for (unsigned i = known; i < config->numAttrs; i++) {
        if (config->attrs[i].id != ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE &&
            config->attrs[i].id != ATTRIBUTE_SHARED_MEMORY_MODE) {
            mock_misused("an occupancy of clusters was asked with attribute %d",
                         (int)config->attrs[i].id);
        }
    }
    if (mock_kernel_of_function(function, &device) == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (device != mock_stream_device(config->hStream)) {
        mock_misused("clusters of a function of device %d were asked for a stream of device %d",
                     device, mock_stream_device(config->hStream));
    }
    return CUDA_SUCCESS;
}

static unsigned largest_cluster(const CUlaunchConfig *config)
{
    for (unsigned i = 0; i < config->numAttrs; i++) {
        if (config->attrs[i].id == ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE &&
            config->attrs[i].value.cooperative == 2) { /* as is portableClusterSizeMode */
            return 16;
        }
    }
    return 8;
}

/* Of a device whose SMs are in groups of 16 and 18, as an H200's: clusters of up to 8, or 16. */
CUresult mock_cuOccupancyMaxActiveClusters(int *clusters, CUfunction function,
                                           const CUlaunchConfig *config)
{
    MOCK_ENTER(cuOccupancyMaxActiveClusters);
    const CUresult result = check_clusters(function, config);
    MOCK_FAIL_IF(result != CUDA_SUCCESS, result);
    MOCK_FAIL_IF(config->numAttrs == 0 ||
                     config->attrs[0].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                 CUDA_ERROR_INVALID_VALUE);
    const CUlaunchAttributeValue *value = &config->attrs[0].value;
    const unsigned blocks = value->clusterDim.x * value->clusterDim.y * value->clusterDim.z;
    *clusters = blocks > largest_cluster(config) ? 0 : (int)(132 / blocks);
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuOccupancyMaxPotentialClusterSize(int *size, CUfunction function,
                                                 const CUlaunchConfig *config)
{
    MOCK_ENTER(cuOccupancyMaxPotentialClusterSize);
    *size = (int)largest_cluster(config);
    return mock_leave(check_clusters(function, config));
}
