/* SPDX-License-Identifier: MIT */
/* The fake libcuda.so.1: entries that the library does not call, but programs do. Everything is done
 * at once, so that streams and events have nothing to wait for. */
#include "fake_cuda.h"

#include <string.h>

static CUresult need_context(void)
{
    return mock_current_device() >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* ---- devices --------------------------------------------------------------------------------- */

FAKE_ENTRY(cuDriverGetVersion, int *version)
{
    mock_lock("cuDriverGetVersion");
    *version = mock.table.version;
    return mock_leave(CUDA_SUCCESS);
}

FAKE_ENTRY(cuGetErrorString, CUresult error, const char **string)
{
    return mock_cuGetErrorName(error, string);
}

FAKE_ENTRY(cuDeviceGetUuid_v2, CUuuid *uuid, CUdevice device)
{
    mock_lock("cuDeviceGetUuid");
    memset(uuid, 0, sizeof(*uuid));
    uuid->bytes[15] = (char)device;
    return mock_leave(mock_is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE);
}

FAKE_ENTRY(cuDeviceTotalMem_v2, size_t *bytes, CUdevice device)
{
    mock_lock("cuDeviceTotalMem");
    *bytes = (size_t)1 << 34;
    return mock_leave(mock_is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE);
}

/* ---- contexts -------------------------------------------------------------------------------- */

static CUresult check_device(CUdevice device)
{
    if (!mock.initialized) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    return mock_is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult create_context(CUcontext *context, unsigned flags, CUdevice device)
{
    mock_lock("cuCtxCreate");
    MOCK_LOG("flags=%u device=%d", flags, device);
    CUresult result = check_device(device);
    if (result == CUDA_SUCCESS) {
        result = mock_create_context(context, device);
    }
    return mock_leave(result);
}

FAKE_ENTRY(cuCtxCreate_v2, CUcontext *context, unsigned flags, CUdevice device)
{
    return create_context(context, flags, device);
}

FAKE_ENTRY(cuCtxCreate_v4, CUcontext *context, void *parameters, unsigned flags, CUdevice device)
{
    (void)parameters;
    return create_context(context, flags, device);
}

FAKE_ENTRY(cuCtxDestroy_v2, CUcontext context)
{
    mock_lock("cuCtxDestroy");
    return mock_leave(mock_destroy_context(context));
}

FAKE_ENTRY(cuDevicePrimaryCtxRetain, CUcontext *context, CUdevice device)
{
    mock_lock("cuDevicePrimaryCtxRetain");
    const CUresult result = check_device(device);
    if (result == CUDA_SUCCESS) {
        *context = mock_context(device);
        (*context)->retained++;
    }
    return mock_leave(result);
}

FAKE_ENTRY(cuDevicePrimaryCtxRelease_v2, CUdevice device)
{
    mock_lock("cuDevicePrimaryCtxRelease");
    CUresult result = check_device(device);
    if (result == CUDA_SUCCESS && mock_context(device)->retained-- == 0) {
        mock_context(device)->retained = 0;
        result = CUDA_ERROR_INVALID_CONTEXT;
    }
    return mock_leave(result);
}

FAKE_ENTRY(cuCtxSetCurrent, CUcontext context)
{
    mock_lock("cuCtxSetCurrent");
    if (context != NULL && !mock_has_context(context, "cuCtxSetCurrent")) {
        return mock_leave(CUDA_ERROR_INVALID_CONTEXT);
    }
    mock_make_current(context);
    MOCK_LOG("device=%d", mock_current_device());
    return mock_leave(CUDA_SUCCESS);
}

FAKE_ENTRY(cuCtxGetCurrent, CUcontext *context)
{
    mock_lock("cuCtxGetCurrent");
    *context = mock_current_context();
    return mock_leave(CUDA_SUCCESS);
}

FAKE_ENTRY(cuCtxSynchronize, void)
{
    mock_lock("cuCtxSynchronize");
    return mock_leave(need_context());
}

/* ---- memory ---------------------------------------------------------------------------------- */

static CUresult copy(const char *call, CUdeviceptr to, CUdeviceptr from, CUdeviceptr device,
                     size_t bytes)
{
    mock_lock(call);
    MOCK_LOG("bytes=%zu", bytes);
    CUresult result = need_context();
    if (result == CUDA_SUCCESS && !mock_has_memory(device, bytes, call)) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        memcpy(mock_memory(to), mock_memory(from), bytes);
    }
    return mock_leave(result);
}

static CUresult fill(const char *call, CUdeviceptr address, const void *value, size_t size,
                     size_t number)
{
    mock_lock(call);
    MOCK_LOG("count=%zu", number);
    CUresult result = need_context();
    if (result == CUDA_SUCCESS && !mock_has_memory(address, number * size, call)) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t i = 0; result == CUDA_SUCCESS && i < number; i++) {
        memcpy(mock_memory(address + i * size), value, size);
    }
    return mock_leave(result);
}

FAKE_ENTRY(cuMemcpyHtoD_v2, CUdeviceptr to, const void *from, size_t bytes)
{
    return copy("cuMemcpyHtoD", to, (CUdeviceptr)(uintptr_t)from, to, bytes);
}

FAKE_ENTRY(cuMemcpyDtoD_v2, CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return copy("cuMemcpyDtoD", to, from, to, bytes);
}

FAKE_ENTRY(cuMemcpyHtoDAsync_v2, CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    (void)stream;
    return copy("cuMemcpyHtoDAsync", to, (CUdeviceptr)(uintptr_t)from, to, bytes);
}

FAKE_ENTRY(cuMemcpyDtoHAsync_v2, void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    return copy("cuMemcpyDtoHAsync", (CUdeviceptr)(uintptr_t)to, from, from, bytes);
}

FAKE_ENTRY(cuMemsetD32_v2, CUdeviceptr address, unsigned word, size_t count)
{
    return fill("cuMemsetD32", address, &word, sizeof(word), count);
}

FAKE_ENTRY(cuMemsetD8Async, CUdeviceptr address, unsigned char byte, size_t count, CUstream stream)
{
    (void)stream;
    return fill("cuMemsetD8Async", address, &byte, sizeof(byte), count);
}

FAKE_ENTRY(cuMemsetD32Async, CUdeviceptr address, unsigned word, size_t count, CUstream stream)
{
    (void)stream;
    return fill("cuMemsetD32Async", address, &word, sizeof(word), count);
}

/* ---- streams and events ---------------------------------------------------------------------- */

static CUresult create_stream(const char *call, CUstream *stream, unsigned flags, int priority)
{
    mock_lock(call);
    MOCK_LOG("flags=%u priority=%d", flags, priority);
    const CUresult result = need_context();
    if (result == CUDA_SUCCESS) {
        mock_create_stream(stream);
    }
    return mock_leave(result);
}

FAKE_ENTRY(cuStreamCreate, CUstream *stream, unsigned flags)
{
    return create_stream("cuStreamCreate", stream, flags, 0);
}

FAKE_ENTRY(cuStreamCreateWithPriority, CUstream *stream, unsigned flags, int priority)
{
    return create_stream("cuStreamCreateWithPriority", stream, flags, priority);
}

FAKE_ENTRY(cuStreamDestroy_v2, CUstream stream)
{
    mock_lock("cuStreamDestroy");
    return mock_leave(mock_destroy_stream(stream));
}

FAKE_ENTRY(cuStreamSynchronize, CUstream stream)
{
    mock_lock("cuStreamSynchronize");
    return mock_leave(mock_check_stream(stream));
}

/* Calls with an event, and a stream. */
static CUresult use_event(const char *call, CUevent event, CUstream stream)
{
    mock_lock(call);
    MOCK_LOG("event=%p stream=%p", (void *)event, (void *)stream);
    return mock_leave(mock_has_event(event, call) ? mock_check_stream(stream)
                                                  : CUDA_ERROR_INVALID_HANDLE);
}

FAKE_ENTRY(cuStreamWaitEvent, CUstream stream, CUevent event, unsigned flags)
{
    (void)flags;
    return use_event("cuStreamWaitEvent", event, stream);
}

FAKE_ENTRY(cuEventRecord, CUevent event, CUstream stream)
{
    return use_event("cuEventRecord", event, stream);
}

FAKE_ENTRY(cuEventQuery, CUevent event)
{
    return use_event("cuEventQuery", event, NULL);
}

FAKE_ENTRY(cuEventSynchronize, CUevent event)
{
    return use_event("cuEventSynchronize", event, NULL);
}

FAKE_ENTRY(cuEventElapsedTime_v2, float *milliseconds, CUevent start, CUevent end)
{
    mock_lock("cuEventElapsedTime");
    if (!mock_has_event(start, "cuEventElapsedTime") ||
        !mock_has_event(end, "cuEventElapsedTime") ||
        ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0) {
        return mock_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    *milliseconds = 0.0f; /* nothing takes time here */
    return mock_leave(CUDA_SUCCESS);
}

FAKE_ENTRY(cuEventElapsedTime, float *milliseconds, CUevent start, CUevent end)
{
    return fake_cuEventElapsedTime_v2(milliseconds, start, end);
}

/* ---- modules and launches -------------------------------------------------------------------- */

static CUresult load_module(const char *call, CUmodule *module, const void *code)
{
    CUlibrary library = NULL;
    mock_lock(call);
    CUresult result = need_context();
    if (result == CUDA_SUCCESS) {
        result = mock_load(code, &library);
    }
    if (result == CUDA_SUCCESS) {
        *module = (CUmodule)(void *)library;
    }
    return mock_leave(result);
}

FAKE_ENTRY(cuModuleLoadData, CUmodule *module, const void *code)
{
    return load_module("cuModuleLoadData", module, code);
}

FAKE_ENTRY(cuModuleLoadDataEx, CUmodule *module, const void *code, unsigned count,
           CUjit_option *options, void **values)
{
    (void)count;
    (void)options;
    (void)values;
    return load_module("cuModuleLoadDataEx", module, code);
}

FAKE_ENTRY(cuModuleGetFunction, CUfunction *function, CUmodule module, const char *name)
{
    CUlibrary library = (CUlibrary)(void *)module;
    mock_lock("cuModuleGetFunction");
    if (!mock_has_library(library, "cuModuleGetFunction")) {
        return mock_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    struct mock_kernel *found = mock_find_kernel(library, name);
    if (found == NULL || need_context() != CUDA_SUCCESS) {
        return mock_leave(found == NULL ? CUDA_ERROR_NOT_FOUND : need_context());
    }
    *function = (CUfunction)(void *)&found->handles[1 + mock_current_device()];
    return mock_leave(CUDA_SUCCESS);
}

FAKE_ENTRY(cuModuleUnload, CUmodule module)
{
    return mock_cuLibraryUnload((CUlibrary)(void *)module);
}

FAKE_ENTRY(cuLaunchKernel, CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
           unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, CUstream stream,
           void **arguments, void **extra)
{
    const CUlaunchConfig config = {
        .gridDimX = grid_x,
        .gridDimY = grid_y,
        .gridDimZ = grid_z,
        .blockDimX = block_x,
        .blockDimY = block_y,
        .blockDimZ = block_z,
        .sharedMemBytes = shared,
        .hStream = stream,
    };
    mock_lock("cuLaunchKernel");
    return mock_leave(mock_launch(&config, function, arguments, extra));
}

FAKE_PER_THREAD(cuLaunchKernel, _ptsz);
FAKE_PER_THREAD(cuMemcpyHtoDAsync_v2, _ptsz);
FAKE_PER_THREAD(cuMemcpyDtoHAsync_v2, _ptsz);
FAKE_PER_THREAD(cuMemcpyHtoD_v2, _ptds);
FAKE_PER_THREAD(cuMemcpyDtoD_v2, _ptds);
FAKE_PER_THREAD(cuMemsetD32_v2, _ptds);
FAKE_PER_THREAD(cuMemsetD8Async, _ptsz);
FAKE_PER_THREAD(cuMemsetD32Async, _ptsz);
FAKE_PER_THREAD(cuStreamSynchronize, _ptsz);
FAKE_PER_THREAD(cuStreamWaitEvent, _ptsz);
FAKE_PER_THREAD(cuEventRecord, _ptsz);
