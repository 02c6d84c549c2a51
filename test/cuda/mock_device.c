/* SPDX-License-Identifier: MIT */
/* The model of CUDA: devices and results. */
#include <stdio.h>

#include "mock_entry.h"

CUresult mock_cuInit(unsigned flags)
{
    MOCK_ENTER(cuInit);
    if (flags != 0) {
        mock_misused("cuInit was called with flags %u", flags);
    }
    mock.initialized = mock.table.device_count > 0;
    return mock_leave(mock.initialized ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
}

bool mock_is_device(CUdevice device)
{
    return device >= 0 && device < mock.table.device_count;
}

static bool needs_init(void)
{
    return mock.is_fake && !mock.initialized;
}

CUresult mock_cuDeviceGet(CUdevice *device, int ordinal)
{
    MOCK_ENTER(cuDeviceGet);
    MOCK_FAIL_IF(needs_init(), CUDA_ERROR_NOT_INITIALIZED);
    MOCK_FAIL_IF(!mock_is_device(ordinal), CUDA_ERROR_INVALID_DEVICE);
    *device = ordinal;
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuDeviceGetCount(int *count)
{
    MOCK_ENTER(cuDeviceGetCount);
    MOCK_FAIL_IF(needs_init(), CUDA_ERROR_NOT_INITIALIZED);
    *count = mock.table.device_count;
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuDeviceGetName(char *name, int size, CUdevice device)
{
    MOCK_ENTER(cuDeviceGetName);
    MOCK_FAIL_IF(!mock_is_device(device), CUDA_ERROR_INVALID_DEVICE);
    (void)snprintf(name, (size_t)size, "%s", mock.devices[device].name);
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    MOCK_ENTER(cuDeviceGetAttribute);
    MOCK_FAIL_IF(!mock_is_device(device), CUDA_ERROR_INVALID_DEVICE);
    MOCK_FAIL_IF((int)attribute <= 0 || (int)attribute > 150 ||
                     ((int)attribute > 147 && mock.table.version < 13040),
                 CUDA_ERROR_INVALID_VALUE);
    *value = mock.devices[device].attributes[attribute];
    MOCK_LOG("attribute=%d device=%d value=%d", (int)attribute, device, *value);
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuGetErrorName(CUresult error, const char **name)
{
    MOCK_ENTER(cuGetErrorName);
    *name = NULL;
    switch (error) {
#define RESULT(name_)                                                                              \
    case name_:                                                                                    \
        *name = #name_;                                                                            \
        break;
        RESULT(CUDA_SUCCESS)
        RESULT(CUDA_ERROR_INVALID_VALUE)
        RESULT(CUDA_ERROR_OUT_OF_MEMORY)
        RESULT(CUDA_ERROR_NOT_INITIALIZED)
        RESULT(CUDA_ERROR_STUB_LIBRARY)
        RESULT(CUDA_ERROR_NO_DEVICE)
        RESULT(CUDA_ERROR_INVALID_DEVICE)
        RESULT(CUDA_ERROR_INVALID_IMAGE)
        RESULT(CUDA_ERROR_INVALID_CONTEXT)
        RESULT(CUDA_ERROR_NO_BINARY_FOR_GPU)
        RESULT(CUDA_ERROR_INVALID_PTX)
        RESULT(CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
        RESULT(CUDA_ERROR_INVALID_SOURCE)
        RESULT(CUDA_ERROR_INVALID_HANDLE)
        RESULT(CUDA_ERROR_NOT_FOUND)
        RESULT(CUDA_ERROR_ILLEGAL_ADDRESS)
        RESULT(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
        RESULT(CUDA_ERROR_LAUNCH_TIMEOUT)
        RESULT(CUDA_ERROR_ASSERT)
        RESULT(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)
        RESULT(CUDA_ERROR_HARDWARE_STACK_ERROR)
        RESULT(CUDA_ERROR_ILLEGAL_INSTRUCTION)
        RESULT(CUDA_ERROR_MISALIGNED_ADDRESS)
        RESULT(CUDA_ERROR_INVALID_ADDRESS_SPACE)
        RESULT(CUDA_ERROR_INVALID_PC)
        RESULT(CUDA_ERROR_LAUNCH_FAILED)
        RESULT(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)
        RESULT(CUDA_ERROR_NOT_PERMITTED)
        RESULT(CUDA_ERROR_NOT_SUPPORTED)
        RESULT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        RESULT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
        RESULT(CUDA_ERROR_INVALID_CLUSTER_SIZE)
        RESULT(CUDA_ERROR_UNKNOWN)
#undef RESULT
    default:
        break;
    }
    return mock_leave(*name != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
