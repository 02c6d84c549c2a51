/* SPDX-License-Identifier: MIT */
/** @file
 * A status of libpdl as an error of CUDA's own, for programs that check every call with one macro:
 * `CUDA_CHECK(pdl_cuda_error(pdl_launch(kernel, &desc, args)))`.
 *
 * Include it after the CUDA header whose errors you use: after `cuda_runtime_api.h` (or under
 * nvcc, which includes that first) it has pdl_cuda_error(), after `cuda.h` pdl_cu_result(), after
 * both both. Before either it includes `cuda.h`. It may be included again after the other one.
 *
 * Both functions translate on the thread on which the call failed, right after it. Where CUDA
 * itself returned an error, and pdl_last_error() therefore has its number, that number is the
 * result; otherwise ::PDL_STATUS_CUDA_LIST has the closest error. pdl_last_error() has more
 * details. Neither makes a CUDA call, so they may be used while a stream captures, and
 * cudaGetLastError() is not affected. PDL_SUCCESS, and only that, becomes success. Thread-safe.
 */
#include <pdl/detail/rtc_status.h>
#include <pdl/pdl.h>

#if !defined(CUDA_VERSION) && !defined(CUDART_VERSION)
#include <cuda.h>
#endif

#ifndef PDL_CUDA_ERROR_H
#define PDL_CUDA_ERROR_H

/** What each status becomes: X(status, CUresult, cudaError_t). */
#define PDL_STATUS_CUDA_LIST(X)                                                                    \
    X(PDL_SUCCESS, CUDA_SUCCESS, cudaSuccess)                                                      \
    X(PDL_ERROR_INVALID_ARGUMENT, CUDA_ERROR_INVALID_VALUE, cudaErrorInvalidValue)                 \
    X(PDL_ERROR_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY, cudaErrorMemoryAllocation)                \
    X(PDL_ERROR_NO_DRIVER, CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, cudaErrorInsufficientDriver)      \
    X(PDL_ERROR_STUB_DRIVER, CUDA_ERROR_STUB_LIBRARY, cudaErrorStubLibrary)                        \
    X(PDL_ERROR_DRIVER_TOO_OLD, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, cudaErrorInsufficientDriver)    \
    X(PDL_ERROR_NO_DEVICE, CUDA_ERROR_NO_DEVICE, cudaErrorNoDevice)                                \
    X(PDL_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE, cudaErrorInvalidDevice)                 \
    X(PDL_ERROR_NO_CONTEXT, CUDA_ERROR_INVALID_CONTEXT, cudaErrorDeviceUninitialized)              \
    X(PDL_ERROR_DESC_SIZE, CUDA_ERROR_INVALID_VALUE, cudaErrorInvalidValue)                        \
    X(PDL_ERROR_DESC_TOO_NEW, CUDA_ERROR_NOT_SUPPORTED, cudaErrorNotSupported)                     \
    X(PDL_ERROR_INVALID_GRID, CUDA_ERROR_INVALID_VALUE, cudaErrorInvalidConfiguration)             \
    X(PDL_ERROR_INVALID_BLOCK, CUDA_ERROR_INVALID_VALUE, cudaErrorInvalidConfiguration)            \
    X(PDL_ERROR_BLOCK_TOO_LARGE, CUDA_ERROR_INVALID_VALUE, cudaErrorInvalidConfiguration)          \
    X(PDL_ERROR_INVALID_CLUSTER, CUDA_ERROR_INVALID_CLUSTER_SIZE, cudaErrorInvalidClusterSize)     \
    X(PDL_ERROR_SHARED_MEMORY, CUDA_ERROR_INVALID_VALUE, cudaErrorInvalidValue)                    \
    X(PDL_ERROR_COOPERATIVE_TOO_LARGE, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,                    \
      cudaErrorCooperativeLaunchTooLarge)                                                          \
    X(PDL_ERROR_COOPERATIVE_OVERLAP, CUDA_ERROR_NOT_SUPPORTED, cudaErrorNotSupported)              \
    X(PDL_ERROR_OVERLAP, CUDA_ERROR_NOT_SUPPORTED, cudaErrorNotSupported)                          \
    X(PDL_ERROR_EVENT, CUDA_ERROR_NOT_SUPPORTED, cudaErrorNotSupported)                            \
    X(PDL_ERROR_INVALID_IMAGE, CUDA_ERROR_INVALID_IMAGE, cudaErrorInvalidKernelImage)              \
    X(PDL_ERROR_NO_KERNEL_IMAGE, CUDA_ERROR_NO_BINARY_FOR_GPU, cudaErrorNoKernelImageForDevice)    \
    X(PDL_ERROR_NOT_FOUND, CUDA_ERROR_NOT_FOUND, cudaErrorSymbolNotFound)                          \
    X(PDL_ERROR_FILE, CUDA_ERROR_FILE_NOT_FOUND, cudaErrorFileNotFound)                            \
    X(PDL_ERROR_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED, cudaErrorNotSupported)                    \
    X(PDL_ERROR_DEVICE_FAULT, CUDA_ERROR_LAUNCH_FAILED, cudaErrorLaunchFailure)                    \
    X(PDL_ERROR_DRIVER, CUDA_ERROR_UNKNOWN, cudaErrorUnknown)                                      \
    X(PDL_ERROR_LAUNCH_RESOURCES, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,                              \
      cudaErrorLaunchOutOfResources)                                                               \
    X(PDL_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE, cudaErrorInvalidResourceHandle)         \
    X(PDL_ERROR_DESC_FIELD, CUDA_ERROR_INVALID_VALUE, cudaErrorInvalidValue)                       \
    X(PDL_ERROR_EDGE, CUDA_ERROR_INVALID_VALUE, cudaErrorInvalidValue)                             \
    X(PDL_ERROR_CYCLE, CUDA_ERROR_INVALID_VALUE, cudaErrorInvalidValue)                            \
    X(PDL_ERROR_NOT_BUILT, CUDA_ERROR_ILLEGAL_STATE, cudaErrorIllegalState)                        \
    X(PDL_ERROR_BUSY, CUDA_ERROR_NOT_READY, cudaErrorNotReady)                                     \
    X(PDL_ERROR_REBUILD, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cudaErrorGraphExecUpdateFailure)    \
    X(PDL_ERROR_ARGUMENT_SIZE, CUDA_ERROR_INVALID_VALUE, cudaErrorInvalidValue)                    \
    X(PDL_ERROR_WRONG_DEVICE, CUDA_ERROR_INVALID_HANDLE, cudaErrorInvalidResourceHandle)           \
    X(PDL_ERROR_CANCELLED, CUDA_ERROR_UNKNOWN, cudaErrorUnknown)                                   \
    X(PDL_ERROR_CAPTURE, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cudaErrorStreamCaptureInvalidated) \
    X(PDL_ERROR_NO_COMPILER, CUDA_ERROR_JIT_COMPILER_NOT_FOUND, cudaErrorJitCompilerNotFound)      \
    X(PDL_ERROR_COMPILER_TOO_OLD, CUDA_ERROR_JIT_COMPILER_NOT_FOUND, cudaErrorJitCompilerNotFound) \
    X(PDL_ERROR_COMPILE, CUDA_ERROR_INVALID_SOURCE, cudaErrorInvalidSource)                        \
    X(PDL_ERROR_OPTION, CUDA_ERROR_INVALID_VALUE, cudaErrorInvalidValue)                           \
    X(PDL_ERROR_CACHE, CUDA_ERROR_OPERATING_SYSTEM, cudaErrorOperatingSystem)

#define PDL_STATUS_CU_CASE_(status, cu_result, cuda_error)                                         \
    case status:                                                                                   \
        return cu_result;
#define PDL_STATUS_CUDA_CASE_(status, cu_result, cuda_error)                                       \
    case status:                                                                                   \
        return cuda_error;

/* What CUDA returned for the status, if it did; 0 otherwise. */
static inline int32_t pdl_status_cuda_result_(pdl_status status)
{
    const pdl_error *error = pdl_last_error();
    const char *call = error->call;
    const int by_cuda = call == NULL || (call[0] == 'c' && call[1] == 'u'); /* and not by NVRTC */
    return error->status == (int32_t)status && by_cuda ? error->cuda_result : 0;
}

#endif /* PDL_CUDA_ERROR_H */

#if defined(CUDA_VERSION) && !defined(PDL_CUDA_ERROR_CU_RESULT_)
#define PDL_CUDA_ERROR_CU_RESULT_

/** The CUresult that is nearest to a status; see the top of this file. */
static inline CUresult pdl_cu_result(pdl_status status)
{
    const int32_t result = pdl_status_cuda_result_(status);
    /* Driver and Runtime have most numbers in common; these are the Runtime's own. */
    const int own = (result > 8 && result < 100 && result != CUDA_ERROR_STUB_LIBRARY &&
                     result != CUDA_ERROR_DEVICE_UNAVAILABLE && result != 36) ||
                    result == 103 || result == 127;
    if (result == 9) { /* cudaErrorInvalidConfiguration */
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (status != PDL_SUCCESS && result != 0 && !own) {
        return (CUresult)result;
    }
    switch ((int)status) {
        PDL_STATUS_CUDA_LIST(PDL_STATUS_CU_CASE_)
    default:
        return CUDA_ERROR_UNKNOWN;
    }
}
#endif

#if defined(CUDART_VERSION) && !defined(PDL_CUDA_ERROR_CUDA_ERROR_)
#define PDL_CUDA_ERROR_CUDA_ERROR_

/** The cudaError_t that is nearest to a status; see the top of this file. */
static inline cudaError_t pdl_cuda_error(pdl_status status)
{
    const int32_t result = pdl_status_cuda_result_(status);
    if (status != PDL_SUCCESS && result != 0) {
        return (cudaError_t)result;
    }
    switch ((int)status) {
        PDL_STATUS_CUDA_LIST(PDL_STATUS_CUDA_CASE_)
    default:
        return cudaErrorUnknown;
    }
}
#endif
