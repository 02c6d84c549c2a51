/* SPDX-License-Identifier: MIT */
/* The mocked driver: devices, contexts, results and events. */
#include <stdio.h>

#include "mock_entry.h"

CUresult mock_cuInit(unsigned flags)
{
    MOCK_ENTER(cuInit);
    if (flags != 0) {
        mock_misused("cuInit was called with flags %u", flags);
    }
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuDeviceGet(CUdevice *device, int ordinal)
{
    MOCK_ENTER(cuDeviceGet);
    if (!mock_is_device(ordinal)) {
        return mock_leave(CUDA_ERROR_INVALID_DEVICE);
    }
    *device = ordinal;
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuDeviceGetCount(int *count)
{
    MOCK_ENTER(cuDeviceGetCount);
    *count = mock.table.device_count;
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuDeviceGetName(char *name, int size, CUdevice device)
{
    MOCK_ENTER(cuDeviceGetName);
    if (!mock_is_device(device)) {
        return mock_leave(CUDA_ERROR_INVALID_DEVICE);
    }
    (void)snprintf(name, (size_t)size, "%s", mock.devices[device].name);
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    MOCK_ENTER(cuDeviceGetAttribute);
    if (!mock_is_device(device)) {
        return mock_leave(CUDA_ERROR_INVALID_DEVICE);
    }
    if ((int)attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) {
        return mock_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *value = mock.devices[device].attributes[attribute];
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuGetErrorName(CUresult error, const char **name)
{
    MOCK_ENTER(cuGetErrorName);
    *name = NULL;
    switch (error) {
#define MOCK_RESULT(name_)                                                                         \
    case name_:                                                                                    \
        *name = #name_;                                                                            \
        return mock_leave(CUDA_SUCCESS);
        MOCK_RESULT(CUDA_SUCCESS)
        MOCK_RESULT(CUDA_ERROR_INVALID_VALUE)
        MOCK_RESULT(CUDA_ERROR_OUT_OF_MEMORY)
        MOCK_RESULT(CUDA_ERROR_NOT_INITIALIZED)
        MOCK_RESULT(CUDA_ERROR_STUB_LIBRARY)
        MOCK_RESULT(CUDA_ERROR_NO_DEVICE)
        MOCK_RESULT(CUDA_ERROR_INVALID_DEVICE)
        MOCK_RESULT(CUDA_ERROR_INVALID_IMAGE)
        MOCK_RESULT(CUDA_ERROR_INVALID_CONTEXT)
        MOCK_RESULT(CUDA_ERROR_NO_BINARY_FOR_GPU)
        MOCK_RESULT(CUDA_ERROR_INVALID_PTX)
        MOCK_RESULT(CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
        MOCK_RESULT(CUDA_ERROR_INVALID_SOURCE)
        MOCK_RESULT(CUDA_ERROR_INVALID_HANDLE)
        MOCK_RESULT(CUDA_ERROR_NOT_FOUND)
        MOCK_RESULT(CUDA_ERROR_ILLEGAL_ADDRESS)
        MOCK_RESULT(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
        MOCK_RESULT(CUDA_ERROR_LAUNCH_TIMEOUT)
        MOCK_RESULT(CUDA_ERROR_ASSERT)
        MOCK_RESULT(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)
        MOCK_RESULT(CUDA_ERROR_HARDWARE_STACK_ERROR)
        MOCK_RESULT(CUDA_ERROR_ILLEGAL_INSTRUCTION)
        MOCK_RESULT(CUDA_ERROR_MISALIGNED_ADDRESS)
        MOCK_RESULT(CUDA_ERROR_INVALID_ADDRESS_SPACE)
        MOCK_RESULT(CUDA_ERROR_INVALID_PC)
        MOCK_RESULT(CUDA_ERROR_LAUNCH_FAILED)
        MOCK_RESULT(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)
        MOCK_RESULT(CUDA_ERROR_NOT_PERMITTED)
        MOCK_RESULT(CUDA_ERROR_NOT_SUPPORTED)
        MOCK_RESULT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        MOCK_RESULT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
        MOCK_RESULT(CUDA_ERROR_INVALID_CLUSTER_SIZE)
        MOCK_RESULT(CUDA_ERROR_UNKNOWN)
#undef MOCK_RESULT
    default:
        return mock_leave(CUDA_ERROR_INVALID_VALUE);
    }
}

CUresult mock_cuCtxGetDevice(CUdevice *device)
{
    MOCK_ENTER(cuCtxGetDevice);
    if (mock_current_device < 0) {
        return mock_leave(CUDA_ERROR_INVALID_CONTEXT);
    }
    *device = mock_current_device;
    return mock_leave(CUDA_SUCCESS);
}

/* ------------------------------------------------------------------------------------------------
 * Events
 * ---------------------------------------------------------------------------------------------- */

CUresult mock_cuEventCreate(CUevent *event, unsigned flags)
{
    MOCK_ENTER(cuEventCreate);
    if (mock_current_device < 0) {
        return mock_leave(CUDA_ERROR_INVALID_CONTEXT);
    }
    void *handle = mock_pool_take(&mock_events);
    if (handle == NULL) {
        return mock_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    mock.event_flags = flags;
    *event = (CUevent)handle;
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuEventDestroy(CUevent event)
{
    MOCK_ENTER(cuEventDestroy);
    return mock_leave(mock_pool_give(&mock_events, event, "cuEventDestroy")
                          ? CUDA_SUCCESS
                          : CUDA_ERROR_INVALID_HANDLE);
}
