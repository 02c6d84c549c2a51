/* SPDX-License-Identifier: MIT */
/* Loading libcuda.so.1 into the driver table. */
#include "core/driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/once.h"

/* cuGetProcAddress of CUDA 12, which also says why an entry was not found. */
typedef PFN_cuGetProcAddress_v12000 get_proc_address;

struct entry {
    const char *name;
    int version;
    bool required;
    void **slot;
};

static pdl_status resolve(struct pdl_driver *driver, get_proc_address get)
{
#define PDL_DRIVER_REQUIRED_(name, version_) {#name, version_, true, (void **)&driver->name},
#define PDL_DRIVER_OPTIONAL_(name, version_) {#name, version_, false, (void **)&driver->name},
    const struct entry entries[] = {PDL_DRIVER_ENTRIES(PDL_DRIVER_REQUIRED_, PDL_DRIVER_OPTIONAL_)};
#undef PDL_DRIVER_REQUIRED_
#undef PDL_DRIVER_OPTIONAL_
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        const struct entry *entry = &entries[i];
        CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
        void *address = NULL;
        const CUresult result =
            get(entry->name, &address, entry->version, CU_GET_PROC_ADDRESS_DEFAULT, &found);
        if (result != CUDA_SUCCESS || found != CU_GET_PROC_ADDRESS_SUCCESS) {
            address = NULL;
        }
        if (address == NULL && entry->required) {
            const struct pdl_error_source source = {.call = "cuGetProcAddress",
                                                    .cuda_result = (int32_t)result};
            return pdl_error_set(PDL_ERROR_DRIVER_TOO_OLD, source,
                                 "the CUDA driver %d.%d has no %s of version %d.%d",
                                 driver->version / 1000, driver->version % 1000 / 10, entry->name,
                                 entry->version / 1000, entry->version % 1000 / 10);
        }
        *entry->slot = address;
    }
    return PDL_SUCCESS;
}

static pdl_status start(struct pdl_driver *driver)
{
    const char *call = "cuInit";
    CUresult result = driver->cuInit(0);
    if (result == CUDA_SUCCESS) {
        call = "cuDeviceGetCount";
        result = driver->cuDeviceGetCount(&driver->device_count);
    }
    if (result == CUDA_SUCCESS && driver->device_count == 0) {
        result = CUDA_ERROR_NO_DEVICE;
    }
    if (result != CUDA_SUCCESS) {
        return pdl_error_from_cuda(driver, call, (int32_t)result, "while looking for devices");
    }
    if (driver->device_count > PDL_DEVICE_MAX) {
        driver->device_count = PDL_DEVICE_MAX;
    }
    return PDL_SUCCESS;
}

pdl_status pdl_driver_load(const char *soname, struct pdl_driver *driver)
{
    struct pdl_driver loaded = {0};
    pdl_status status;
    CUresult result;
    void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *why = dlerror();
        const struct pdl_error_source source = {.call = "dlopen"};
        return pdl_error_set(PDL_ERROR_NO_DRIVER, source, "%s cannot be loaded: %s", soname,
                             why != NULL ? why : "no reason given");
    }
    PFN_cuDriverGetVersion_v2020 get_version = NULL;
    get_proc_address get = NULL;
    *(void **)&get_version = dlsym(library, "cuDriverGetVersion");
    *(void **)&get = dlsym(library, "cuGetProcAddress_v2");
    if (get_version == NULL) {
        status = PDL_FAIL(PDL_ERROR_NO_DRIVER,
                          "%s is not a CUDA driver: it has no cuDriverGetVersion", soname);
        goto unload;
    }
    result = get_version(&loaded.version);
    if (result == CUDA_ERROR_STUB_LIBRARY) {
        const struct pdl_error_source source = {.call = "cuDriverGetVersion",
                                                .cuda_result = (int32_t)result};
        status =
            pdl_error_set(PDL_ERROR_STUB_DRIVER, source,
                          "%s is the toolkit's stub for linking, not a driver: take its folder "
                          "out of the library path",
                          soname);
        goto unload;
    }
    if (result != CUDA_SUCCESS) {
        status = pdl_error_from_cuda(&loaded, "cuDriverGetVersion", (int32_t)result,
                                     "while loading the driver");
        goto unload;
    }
    if (loaded.version < PDL_DRIVER_VERSION_MIN || get == NULL) {
        status = PDL_FAIL(PDL_ERROR_DRIVER_TOO_OLD,
                          "the CUDA driver is for CUDA %d.%d and %d.%d or newer is needed",
                          loaded.version / 1000, loaded.version % 1000 / 10,
                          PDL_DRIVER_VERSION_MIN / 1000, PDL_DRIVER_VERSION_MIN % 1000 / 10);
        goto unload;
    }
    status = resolve(&loaded, get);
    if (status != PDL_SUCCESS) {
        goto unload;
    }
    status = start(&loaded);
    if (status != PDL_SUCCESS) {
        goto unload;
    }
    const char *overlap = getenv("PDL_OVERLAP");
    loaded.overlap_disabled = overlap != NULL && strcmp(overlap, "0") == 0;
    *driver = loaded;
    return PDL_SUCCESS; /* The driver stays loaded: it cannot be unloaded safely. */

unload:
    (void)dlclose(library);
    return status;
}

static struct pdl_driver loaded_driver;
static struct pdl_once once = PDL_ONCE_INIT;

static pdl_status load(void *room)
{
    return pdl_driver_load("libcuda.so.1", room);
}

pdl_status pdl_driver_get(const struct pdl_driver **driver)
{
    const void *table;
    const pdl_status status = pdl_once_get(&once, load, &loaded_driver, &table);
    if (status == PDL_SUCCESS) {
        *driver = table;
    }
    return status;
}

void pdl_driver_override(const struct pdl_driver *driver)
{
    pdl_once_override(&once, driver);
}

const char *pdl_driver_result_name(const struct pdl_driver *driver, CUresult result)
{
    const char *name = NULL;
    if (driver->cuGetErrorName != NULL && driver->cuGetErrorName(result, &name) == CUDA_SUCCESS &&
        name != NULL) {
        return name;
    }
    switch ((int)result) { /* the Runtime's own numbers */
    case 9:
        return "cudaErrorInvalidConfiguration";
    case 35:
        return "cudaErrorInsufficientDriver";
    case 98:
        return "cudaErrorInvalidDeviceFunction";
    default:
        return "an error without a name";
    }
}

/* ---- results -------------------------------------------------------------------------------- */

static pdl_status classify(int32_t result)
{
    switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
        return PDL_ERROR_OUT_OF_MEMORY;
    case CUDA_ERROR_STUB_LIBRARY:
        return PDL_ERROR_STUB_DRIVER;
    case 35: /* cudaErrorInsufficientDriver */
        return PDL_ERROR_DRIVER_TOO_OLD;
    case 98: /* cudaErrorInvalidDeviceFunction */
    case CUDA_ERROR_INVALID_HANDLE:
        return PDL_ERROR_INVALID_HANDLE;
    case CUDA_ERROR_NO_DEVICE:
        return PDL_ERROR_NO_DEVICE;
    case CUDA_ERROR_INVALID_DEVICE:
        return PDL_ERROR_INVALID_DEVICE;
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_INVALID_SOURCE:
        return PDL_ERROR_INVALID_IMAGE;
    case CUDA_ERROR_INVALID_CONTEXT:
        return PDL_ERROR_NO_CONTEXT;
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        return PDL_ERROR_NO_KERNEL_IMAGE;
    case CUDA_ERROR_NOT_FOUND:
        return PDL_ERROR_NOT_FOUND;
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
        return PDL_ERROR_LAUNCH_RESOURCES;
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
        return PDL_ERROR_COOPERATIVE_TOO_LARGE;
    case CUDA_ERROR_INVALID_CLUSTER_SIZE:
        return PDL_ERROR_INVALID_CLUSTER;
    case CUDA_ERROR_NOT_SUPPORTED:
        return PDL_ERROR_NOT_SUPPORTED;
    /* Faults that stay with the context: every later call on it returns them. */
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
        return PDL_ERROR_DEVICE_FAULT;
    default:
        return PDL_ERROR_DRIVER;
    }
}

pdl_status pdl_error_from_cuda(const struct pdl_driver *driver, const char *call, int32_t result,
                               const char *doing)
{
    const pdl_status status = classify(result);
    const struct pdl_error_source source = {.call = call, .cuda_result = result};
    return pdl_error_set(status, source, "%s failed %s: %s (%d)%s", call, doing,
                         pdl_driver_result_name(driver, (CUresult)result), (int)result,
                         status == PDL_ERROR_DEVICE_FAULT
                             ? "; an earlier kernel on this context faulted, nothing was launched"
                             : "");
}
