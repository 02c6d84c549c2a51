/* SPDX-License-Identifier: MIT */
/* The model of CUDA: device memory. It is the host's, filled with what nobody has written. */
#include <stdlib.h>
#include <string.h>

#include "mock_entry.h"

#ifndef _WIN32
#define aligned_free free
#endif

struct allocation {
    struct allocation *next;
    size_t bytes;
    _Alignas(256) unsigned char memory[];
};

static struct allocation *allocations;

bool mock_has_memory(CUdeviceptr address, size_t bytes, const char *call)
{
    for (const struct allocation *a = allocations; a != NULL; a = a->next) {
        const uintptr_t begin = (uintptr_t)a->memory;
        if (address >= begin && address - begin <= a->bytes &&
            bytes <= a->bytes - (size_t)(address - begin)) {
            return true;
        }
    }
    mock_misused("%s was called with %zu bytes that are not all allocated", call, bytes);
    return false;
}

void *mock_memory(CUdeviceptr address)
{
    return (void *)(uintptr_t)address;
}

void mock_forget_memory(void)
{
    while (allocations != NULL) {
        struct allocation *next = allocations->next;
        aligned_free(allocations);
        allocations = next;
    }
}

CUresult mock_cuMemAlloc(CUdeviceptr *address, size_t bytes)
{
    MOCK_ENTER(cuMemAlloc);
    MOCK_FAIL_IF(mock_current_device() < 0, CUDA_ERROR_INVALID_CONTEXT);
    const size_t size = (sizeof(struct allocation) + bytes + 255) / 256 * 256;
    struct allocation *made = bytes > 0 ? aligned_alloc(256, size) : NULL;
    if (made == NULL) {
        return mock_leave(bytes > 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE);
    }
    made->next = allocations;
    made->bytes = bytes;
    memset(made->memory, 0xa5, bytes);
    allocations = made;
    mock.live_allocations++;
    MOCK_LOG("bytes=%zu", bytes);
    *address = (CUdeviceptr)(uintptr_t)made->memory;
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuMemFree(CUdeviceptr address)
{
    MOCK_ENTER(cuMemFree);
    for (struct allocation **at = &allocations; *at != NULL; at = &(*at)->next) {
        if ((uintptr_t)(*at)->memory == address) {
            struct allocation *gone = *at;
            *at = gone->next;
            aligned_free(gone);
            mock.live_allocations--;
            return mock_leave(CUDA_SUCCESS);
        }
    }
    mock_misused("cuMemFree was called with what was not allocated");
    return mock_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult mock_cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    MOCK_ENTER(cuMemcpyDtoH);
    MOCK_FAIL_IF(mock_current_device() < 0 || !mock_has_memory(from, bytes, "cuMemcpyDtoH"),
                 CUDA_ERROR_INVALID_VALUE);
    memcpy(to, mock_memory(from), bytes);
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuMemsetD8(CUdeviceptr address, unsigned char byte, size_t count)
{
    MOCK_ENTER(cuMemsetD8);
    MOCK_FAIL_IF(mock_current_device() < 0 || !mock_has_memory(address, count, "cuMemsetD8"),
                 CUDA_ERROR_INVALID_VALUE);
    memset(mock_memory(address), byte, count);
    return mock_leave(CUDA_SUCCESS);
}
