/* SPDX-License-Identifier: MIT */
/* The mocked driver: kernels and the images that they come from. */
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "mock_entry.h"

static void write_late_logs(void);

static CUresult read_attribute(struct mock_kernel *kernel, int device,
                               CUfunction_attribute attribute, int *value)
{
    if ((int)attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    write_late_logs();
    kernel->reads[device][attribute]++;
    *value = kernel->attributes[device][attribute];
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
    return CUDA_SUCCESS;
}

CUresult mock_cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    MOCK_ENTER(cuFuncGetAttribute);
    int device = 0;
    struct mock_kernel *kernel = mock_kernel_of_function(function, &device);
    if (kernel == NULL) {
        return mock_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    if (mock_current_device < 0) {
        return mock_leave(CUDA_ERROR_INVALID_CONTEXT);
    }
    return mock_leave(read_attribute(kernel, device, attribute, value));
}

CUresult mock_cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    MOCK_ENTER(cuFuncSetAttribute);
    int device = 0;
    struct mock_kernel *kernel = mock_kernel_of_function(function, &device);
    if (kernel == NULL) {
        return mock_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    if (mock_current_device < 0) {
        return mock_leave(CUDA_ERROR_INVALID_CONTEXT);
    }
    return mock_leave(write_attribute(kernel, device, attribute, value));
}

CUresult mock_cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel handle,
                                   CUdevice device)
{
    MOCK_ENTER(cuKernelGetAttribute);
    struct mock_kernel *kernel = mock_kernel_of_cu_kernel(handle);
    if (kernel == NULL) {
        return mock_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    if (!mock_is_device(device)) {
        return mock_leave(CUDA_ERROR_INVALID_DEVICE);
    }
    return mock_leave(read_attribute(kernel, device, attribute, value));
}

CUresult mock_cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle,
                                   CUdevice device)
{
    MOCK_ENTER(cuKernelSetAttribute);
    struct mock_kernel *kernel = mock_kernel_of_cu_kernel(handle);
    if (kernel == NULL) {
        return mock_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    if (!mock_is_device(device)) {
        return mock_leave(CUDA_ERROR_INVALID_DEVICE);
    }
    return mock_leave(write_attribute(kernel, device, attribute, value));
}

CUresult mock_cuKernelGetFunction(CUfunction *function, CUkernel handle)
{
    MOCK_ENTER(cuKernelGetFunction);
    const struct mock_kernel *kernel = mock_kernel_of_cu_kernel(handle);
    if (kernel == NULL) {
        return mock_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    if (mock_current_device < 0) {
        return mock_leave(CUDA_ERROR_INVALID_CONTEXT);
    }
    *function = mock_function((unsigned)(kernel - mock.kernels), mock_current_device);
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuFuncGetName(const char **name, CUfunction function)
{
    MOCK_ENTER(cuFuncGetName);
    int device = 0;
    const struct mock_kernel *kernel = mock_kernel_of_function(function, &device);
    if (kernel == NULL) {
        return mock_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    *name = kernel->name;
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuKernelGetName(const char **name, CUkernel handle)
{
    MOCK_ENTER(cuKernelGetName);
    const struct mock_kernel *kernel = mock_kernel_of_cu_kernel(handle);
    if (kernel == NULL) {
        return mock_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    *name = kernel->name;
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function,
                                                          int block, size_t shared)
{
    MOCK_ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor);
    int device = 0;
    struct mock_kernel *kernel = mock_kernel_of_either(function, &device);
    if (kernel == NULL) {
        return mock_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    kernel->occupancy_block = block;
    kernel->occupancy_shared = shared;
    *blocks = kernel->occupancy;
    return mock_leave(CUDA_SUCCESS);
}

/* Both take no other attribute than the cluster. */
static CUresult mock_clusters(int *answer, CUfunction function, const CUlaunchConfig *config,
                              int found)
{
    int device = 0;
    const unsigned known =
        config->numAttrs == 1 && config->attrs[0].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    if (config->numAttrs != known) {
        mock_misused("an occupancy of clusters was asked with %u attributes", config->numAttrs);
    }
    if (mock_kernel_of_function(function, &device) == NULL) {
        return mock_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    *answer = found;
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuOccupancyMaxActiveClusters(int *clusters, CUfunction function,
                                           const CUlaunchConfig *config)
{
    MOCK_ENTER(cuOccupancyMaxActiveClusters);
    return mock_clusters(clusters, function, config, 33);
}

CUresult mock_cuOccupancyMaxPotentialClusterSize(int *size, CUfunction function,
                                                 const CUlaunchConfig *config)
{
    MOCK_ENTER(cuOccupancyMaxPotentialClusterSize);
    return mock_clusters(size, function, config, 8);
}

/* ------------------------------------------------------------------------------------------------
 * Images
 * ---------------------------------------------------------------------------------------------- */

/* Reads every byte, so that the address sanitizer sees a load that goes past the caller's copy. */
static void touch(const unsigned char *bytes, size_t count)
{
    volatile unsigned char sink = 0;
    for (size_t i = 0; i < count; i++) {
        sink = (unsigned char)(sink ^ bytes[i]);
    }
    mock.image_size = count;
}

/* As the driver: a binary is as long as its own header says, anything else is text that ends in a
 * NUL. */
static CUresult look_at_image(const void *image)
{
    static const unsigned char fatbin[4] = {0x50, 0xed, 0x55, 0xba};
    if (memcmp(image, ELFMAG, SELFMAG) == 0) {
        Elf64_Ehdr header;
        memcpy(&header, image, sizeof(header));
        touch(image, (size_t)header.e_shoff + (size_t)header.e_shnum * header.e_shentsize);
        return CUDA_SUCCESS;
    }
    if (memcmp(image, fatbin, sizeof(fatbin)) == 0) {
        uint16_t header_size;
        uint64_t size;
        memcpy(&header_size, (const char *)image + 6, sizeof(header_size));
        memcpy(&size, (const char *)image + 8, sizeof(size));
        touch(image, header_size + (size_t)size);
        return CUDA_SUCCESS;
    }
    const size_t length = strlen(image);
    touch(image, length);
    return strstr(image, ".version") != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

/* Where each loaded library wants its log. */
static struct log {
    char *buffer;
    size_t size;
} logs[MOCK_POOL];

static struct log log_of(const CUjit_option *options, void **values, unsigned count)
{
    struct log log = {NULL, 0};
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER) {
            log.buffer = values[i];
        } else if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
            log.size = (size_t)(uintptr_t)values[i];
            values[i] = NULL; /* the driver writes how much there is */
        }
    }
    return log;
}

static void write_log(const struct log *log)
{
    if (mock.jit_log != NULL && log->buffer != NULL && log->size != 0) {
        (void)snprintf(log->buffer, log->size, "%s", mock.jit_log);
    }
}

/* The driver may compile an image any time until it is unloaded, and write its log then. */
static void write_late_logs(void)
{
    for (size_t i = 0; i < MOCK_POOL; i++) {
        if (mock_libraries.used[i]) {
            write_log(&logs[i]);
        }
    }
}

CUresult mock_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *options,
                                void **values, unsigned count, CUlibraryOption *library_options,
                                void **library_values, unsigned library_count)
{
    MOCK_ENTER(cuLibraryLoadData);
    (void)library_values;
    for (unsigned i = 0; i < library_count; i++) {
        if (library_options[i] == CU_LIBRARY_BINARY_IS_PRESERVED) {
            mock_misused("an image that may be freed was declared to be preserved");
        }
    }
    const struct log log = log_of(options, values, count);
    CUresult result = look_at_image(code);
    if (mock.image_result != CUDA_SUCCESS) {
        result = mock.image_result;
    }
    if (result != CUDA_SUCCESS) {
        *library = (CUlibrary)(void *)&mock; /* nobody promises what a failure leaves there */
        write_log(&log);
        return mock_leave(result);
    }
    void *handle = mock_pool_take(&mock_libraries);
    if (handle == NULL) {
        return mock_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    logs[(char *)handle - mock_libraries.handles] = log;
    *library = (CUlibrary)handle;
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuLibraryUnload(CUlibrary library)
{
    MOCK_ENTER(cuLibraryUnload);
    return mock_leave(mock_pool_give(&mock_libraries, library, "cuLibraryUnload")
                          ? CUDA_SUCCESS
                          : CUDA_ERROR_INVALID_HANDLE);
}

CUresult mock_cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    MOCK_ENTER(cuLibraryGetKernel);
    if (!mock_pool_has(&mock_libraries, library, "cuLibraryGetKernel")) {
        return mock_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    if (mock.find_result != CUDA_SUCCESS) {
        write_late_logs();
        return mock_leave(mock.find_result);
    }
    for (unsigned i = 0; i < MOCK_KERNELS; i++) {
        if (mock.kernels[i].in_image && strcmp(mock.kernels[i].name, name) == 0) {
            *kernel = mock_cu_kernel(i);
            return mock_leave(CUDA_SUCCESS);
        }
    }
    return mock_leave(CUDA_ERROR_NOT_FOUND);
}
