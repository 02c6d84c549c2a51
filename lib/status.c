/* SPDX-License-Identifier: MIT */
/* Statuses, their names, and the detail of the last error on a thread. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"

static _Thread_local pdl_error last_error;

const char *pdl_status_name(pdl_status status)
{
    switch (status) {
#define PDL_STATUS_NAME_(name, value, message)                                                     \
    case name:                                                                                     \
        return strncmp(#name, "PDL_ERROR_", 10) == 0 ? &#name[10] : &#name[4];
        PDL_STATUS_LIST(PDL_STATUS_NAME_)
#undef PDL_STATUS_NAME_
    default:
        return "UNKNOWN";
    }
}

const char *pdl_status_string(pdl_status status)
{
    switch (status) {
#define PDL_STATUS_MESSAGE_(name, value, message)                                                  \
    case name:                                                                                     \
        return message;
        PDL_STATUS_LIST(PDL_STATUS_MESSAGE_)
#undef PDL_STATUS_MESSAGE_
    default:
        return "not a status of this library";
    }
}

const pdl_error *pdl_last_error(void)
{
    return &last_error;
}

uint32_t pdl_version(void)
{
    return PDL_VERSION;
}

pdl_status(pdl_error_set)(pdl_status status, struct pdl_error_source source, const char *format,
                          ...)
{
    va_list arguments;
    va_start(arguments, format);
    last_error.status = status;
    last_error.cuda_result = source.cuda_result;
    last_error.call = source.call;
    last_error.field = source.field;
    (void)vsnprintf(last_error.message, sizeof(last_error.message), format, arguments);
    va_end(arguments);
    return status;
}

pdl_status pdl_error_record(const pdl_error *error)
{
    last_error = *error;
    return (pdl_status)error->status;
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
