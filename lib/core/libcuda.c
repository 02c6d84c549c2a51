/* SPDX-License-Identifier: MIT */
/* Loading libcuda, and what its results mean. */
#include "core/libcuda.h"

#include <string.h>

#include "os/library.h"

/* cuGetProcAddress of CUDA 12, which also says why an entry was not found. */
typedef PFN_cuGetProcAddress_v12000 get_proc_address;

/* ---- entries --------------------------------------------------------------------------------- */

static pdl_status resolve(get_proc_address look_up, const struct pdl_libcuda_entry *entries,
                          size_t count, void *table, int version)
{
    for (size_t i = 0; i < count; i++) {
        const struct pdl_libcuda_entry *entry = &entries[i];
        CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
        void *address = NULL;
        /* A driver is not asked for what is newer than it is: it might give an older variant of the
         * entry, which takes other arguments. */
        const CUresult result = entry->version <= version
                                    ? look_up(entry->name, &address, entry->version,
                                              CU_GET_PROC_ADDRESS_DEFAULT, &found)
                                    : CUDA_ERROR_NOT_FOUND;
        if (result != CUDA_SUCCESS || found != CU_GET_PROC_ADDRESS_SUCCESS) {
            address = NULL;
        }
        if (address == NULL && entry->required) {
            return PDL_FAIL_CALL(PDL_ERROR_DRIVER_TOO_OLD, "cuGetProcAddress", result,
                                 "the CUDA driver %d.%d has no %s of version %d.%d", version / 1000,
                                 version % 1000 / 10, entry->name, entry->version / 1000,
                                 entry->version % 1000 / 10);
        }
        *(void **)((char *)table + entry->slot) = address;
    }
    return PDL_SUCCESS;
}

static pdl_status fill(void *library, const char *soname, const struct pdl_libcuda_entry *entries,
                       size_t count, void *table, int *version)
{
    PFN_cuDriverGetVersion_v2020 get_version = NULL;
    get_proc_address look_up = NULL;
    *(void **)&get_version = pdl_library_symbol(library, "cuDriverGetVersion");
    *(void **)&look_up = pdl_library_symbol(library, "cuGetProcAddress_v2");
    if (get_version == NULL) {
        return PDL_FAIL(PDL_ERROR_NO_DRIVER,
                        "%s is not a CUDA driver: it has no cuDriverGetVersion", soname);
    }
    const CUresult result = get_version(version);
    if (result == CUDA_ERROR_STUB_LIBRARY) {
        return PDL_FAIL_CALL(PDL_ERROR_STUB_DRIVER, "cuDriverGetVersion", result,
                             "%s is the toolkit's stub for linking, not a driver: take its folder "
                             "out of the library path",
                             soname);
    }
    if (result != CUDA_SUCCESS) {
        return pdl_libcuda_error(NULL, "cuDriverGetVersion", (int32_t)result,
                                 "while loading the driver");
    }
    if (*version < PDL_DRIVER_VERSION_MIN || look_up == NULL) {
        return PDL_FAIL(PDL_ERROR_DRIVER_TOO_OLD,
                        "the CUDA driver is for CUDA %d.%d and %d.%d or newer is needed",
                        *version / 1000, *version % 1000 / 10, PDL_DRIVER_VERSION_MIN / 1000,
                        PDL_DRIVER_VERSION_MIN % 1000 / 10);
    }
    return resolve(look_up, entries, count, table, *version);
}

pdl_status pdl_libcuda_load(const char *soname, const struct pdl_libcuda_entry *entries,
                            size_t count, void *table, void **library, int *version)
{
    void *loaded = pdl_library_open(soname);
    if (loaded == NULL) {
        const char *why = pdl_library_error();
        const bool absent = strstr(why, "No such file") != NULL; /* it is enough */
        return PDL_FAIL_CALL(PDL_ERROR_NO_DRIVER, "dlopen", 0,
                             "no CUDA driver is installed (%s cannot be loaded%s%s)", soname,
                             absent ? "" : ": ", absent ? "" : why);
    }
    const pdl_status status = fill(loaded, soname, entries, count, table, version);
    if (status != PDL_SUCCESS) {
        pdl_library_close(loaded);
        return status;
    }
    *library = loaded;
    return PDL_SUCCESS;
}

/* ---- results --------------------------------------------------------------------------------- */

const char *pdl_libcuda_result_name(PFN_cuGetErrorName_v6000 get_name, CUresult result)
{
    const char *name = NULL;
    if (get_name != NULL && get_name(result, &name) == CUDA_SUCCESS && name != NULL) {
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

pdl_status pdl_libcuda_error(PFN_cuGetErrorName_v6000 get_name, const char *call, int32_t result,
                             const char *doing)
{
    const pdl_status status = classify(result);
    const char *hint = "";
    if (status == PDL_ERROR_DEVICE_FAULT) {
        hint = "; an earlier kernel on this context faulted, nothing was launched";
    } else if (status == PDL_ERROR_NO_CONTEXT) {
        hint = "; make one current in this thread: cudaSetDevice() or cuCtxSetCurrent()";
    }
    return PDL_FAIL_CALL(status, call, result, "%s failed %s: %s (%d)%s", call, doing,
                         pdl_libcuda_result_name(get_name, (CUresult)result), (int)result, hint);
}
