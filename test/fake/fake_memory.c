/* SPDX-License-Identifier: MIT */
/* The fake driver: memory, streams and events. Device memory is the host's, so that copies work;
 * everything is done at once, so that streams and events have nothing to wait for. */
#include "fake_cuda.h"

#include <stdlib.h>
#include <string.h>

struct CUstream_st {
    int priority;
    CUcontext context;
};

struct CUevent_st {
    unsigned flags;
};

static void *pointer_of(CUdeviceptr address)
{
    return (void *)(uintptr_t)address;
}

static CUresult need_context(void)
{
    return fake_current_device() >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* ---- memory --------------------------------------------------------------------------------- */

FAKE_ENTRY(cuMemAlloc_v2, CUdeviceptr *address, size_t bytes)
{
    FAKE_LOG("cuMemAlloc bytes=%zu", bytes);
    if (bytes == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (need_context() != CUDA_SUCCESS) {
        return need_context();
    }
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (memory == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *address = (CUdeviceptr)(uintptr_t)memory;
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuMemFree_v2, CUdeviceptr address)
{
    FAKE_LOG("cuMemFree");
    free(pointer_of(address));
    return CUDA_SUCCESS;
}

static CUresult copy(void *to, const void *from, size_t bytes)
{
    const CUresult result = need_context();
    if (result == CUDA_SUCCESS) {
        memcpy(to, from, bytes);
    }
    return result;
}

FAKE_ENTRY(cuMemcpyHtoD_v2, CUdeviceptr to, const void *from, size_t bytes)
{
    FAKE_LOG("cuMemcpyHtoD bytes=%zu", bytes);
    return copy(pointer_of(to), from, bytes);
}

FAKE_ENTRY(cuMemcpyDtoH_v2, void *to, CUdeviceptr from, size_t bytes)
{
    FAKE_LOG("cuMemcpyDtoH bytes=%zu", bytes);
    return copy(to, pointer_of(from), bytes);
}

FAKE_ENTRY(cuMemcpyDtoD_v2, CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    FAKE_LOG("cuMemcpyDtoD bytes=%zu", bytes);
    return copy(pointer_of(to), pointer_of(from), bytes);
}

FAKE_ENTRY(cuMemcpyHtoDAsync_v2, CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    FAKE_LOG("cuMemcpyHtoDAsync bytes=%zu stream=%p", bytes, (void *)stream);
    return copy(pointer_of(to), from, bytes);
}

FAKE_ENTRY(cuMemcpyDtoHAsync_v2, void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    FAKE_LOG("cuMemcpyDtoHAsync bytes=%zu stream=%p", bytes, (void *)stream);
    return copy(to, pointer_of(from), bytes);
}

static CUresult fill_bytes(CUdeviceptr address, unsigned char byte, size_t count)
{
    const CUresult result = need_context();
    if (result == CUDA_SUCCESS) {
        memset(pointer_of(address), byte, count);
    }
    return result;
}

static CUresult fill_words(CUdeviceptr address, unsigned word, size_t count)
{
    const CUresult result = need_context();
    char *bytes = pointer_of(address);
    for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++) {
        memcpy(bytes + i * sizeof(word), &word, sizeof(word));
    }
    return result;
}

FAKE_ENTRY(cuMemsetD8_v2, CUdeviceptr address, unsigned char byte, size_t count)
{
    FAKE_LOG("cuMemsetD8 value=%u count=%zu", byte, count);
    return fill_bytes(address, byte, count);
}

FAKE_ENTRY(cuMemsetD8Async, CUdeviceptr address, unsigned char byte, size_t count, CUstream stream)
{
    FAKE_LOG("cuMemsetD8Async value=%u count=%zu stream=%p", byte, count, (void *)stream);
    return fill_bytes(address, byte, count);
}

FAKE_ENTRY(cuMemsetD32_v2, CUdeviceptr address, unsigned word, size_t count)
{
    FAKE_LOG("cuMemsetD32 value=%u count=%zu", word, count);
    return fill_words(address, word, count);
}

FAKE_ENTRY(cuMemsetD32Async, CUdeviceptr address, unsigned word, size_t count, CUstream stream)
{
    FAKE_LOG("cuMemsetD32Async value=%u count=%zu stream=%p", word, count, (void *)stream);
    return fill_words(address, word, count);
}

/* ---- streams -------------------------------------------------------------------------------- */

static CUresult create_stream(CUstream *stream, int priority)
{
    if (need_context() != CUDA_SUCCESS) {
        return need_context();
    }
    CUstream made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->priority = priority;
    made->context = fake_current_context();
    *stream = made;
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuStreamCreate, CUstream *stream, unsigned flags)
{
    FAKE_LOG("cuStreamCreate flags=%u", flags);
    return create_stream(stream, 0);
}

FAKE_ENTRY(cuStreamCreateWithPriority, CUstream *stream, unsigned flags, int priority)
{
    FAKE_LOG("cuStreamCreateWithPriority flags=%u priority=%d", flags, priority);
    return create_stream(stream, priority);
}

FAKE_ENTRY(cuStreamDestroy_v2, CUstream stream)
{
    FAKE_LOG("cuStreamDestroy");
    free(stream);
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuStreamSynchronize, CUstream stream)
{
    FAKE_LOG("cuStreamSynchronize stream=%p", (void *)stream);
    return need_context();
}

/* The default streams are the current context's. */
static CUcontext context_of(CUstream stream)
{
    return (uintptr_t)stream <= (uintptr_t)CU_STREAM_PER_THREAD ? fake_current_context()
                                                                : stream->context;
}

FAKE_ENTRY(cuStreamGetCtx, CUstream stream, CUcontext *context)
{
    FAKE_LOG("cuStreamGetCtx stream=%p", (void *)stream);
    if (context_of(stream) == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    *context = context_of(stream);
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuStreamGetDevice, CUstream stream, CUdevice *device)
{
    FAKE_LOG("cuStreamGetDevice stream=%p", (void *)stream);
    if (context_of(stream) == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    *device = fake_context_device(context_of(stream));
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuStreamWaitEvent, CUstream stream, CUevent event, unsigned flags)
{
    FAKE_LOG("cuStreamWaitEvent stream=%p event=%p flags=%u", (void *)stream, (void *)event, flags);
    return need_context();
}

/* ---- events --------------------------------------------------------------------------------- */

FAKE_ENTRY(cuEventCreate, CUevent *event, unsigned flags)
{
    FAKE_LOG("cuEventCreate flags=%u", flags);
    if (need_context() != CUDA_SUCCESS) {
        return need_context();
    }
    CUevent made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->flags = flags;
    *event = made;
    return CUDA_SUCCESS;
}

bool fake_event_is_launchable(CUevent event)
{
    return (event->flags & CU_EVENT_DISABLE_TIMING) != 0 &&
           (event->flags & CU_EVENT_INTERPROCESS) == 0;
}

FAKE_ENTRY(cuEventDestroy_v2, CUevent event)
{
    FAKE_LOG("cuEventDestroy");
    free(event);
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuEventRecord, CUevent event, CUstream stream)
{
    FAKE_LOG("cuEventRecord event=%p stream=%p", (void *)event, (void *)stream);
    return need_context();
}

FAKE_ENTRY(cuEventQuery, CUevent event)
{
    FAKE_LOG("cuEventQuery event=%p", (void *)event);
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuEventSynchronize, CUevent event)
{
    FAKE_LOG("cuEventSynchronize event=%p", (void *)event);
    return CUDA_SUCCESS;
}

static CUresult elapsed(float *milliseconds, CUevent start, CUevent end)
{
    if (((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *milliseconds = 0.0f; /* nothing takes time here */
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuEventElapsedTime, float *milliseconds, CUevent start, CUevent end)
{
    FAKE_LOG("cuEventElapsedTime");
    return elapsed(milliseconds, start, end);
}

FAKE_ENTRY(cuEventElapsedTime_v2, float *milliseconds, CUevent start, CUevent end)
{
    FAKE_LOG("cuEventElapsedTime");
    return elapsed(milliseconds, start, end);
}

FAKE_PTSZ(cuMemcpyHtoDAsync_v2, _ptsz);
FAKE_PTSZ(cuMemcpyDtoHAsync_v2, _ptsz);
FAKE_PTSZ(cuMemcpyHtoD_v2, _ptds);
FAKE_PTSZ(cuMemcpyDtoH_v2, _ptds);
FAKE_PTSZ(cuMemcpyDtoD_v2, _ptds);
FAKE_PTSZ(cuMemsetD8_v2, _ptds);
FAKE_PTSZ(cuMemsetD32_v2, _ptds);
FAKE_PTSZ(cuMemsetD8Async, _ptsz);
FAKE_PTSZ(cuMemsetD32Async, _ptsz);
FAKE_PTSZ(cuStreamSynchronize, _ptsz);
FAKE_PTSZ(cuStreamWaitEvent, _ptsz);
FAKE_PTSZ(cuEventRecord, _ptsz);
