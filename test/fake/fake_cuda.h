/* SPDX-License-Identifier: MIT */
/* The fake libcuda.so.1: the model of CUDA (test/cuda) as a shared library.
 *
 * It stands in for the CUDA driver on machines without a GPU. It takes images and launches, keeps
 * memory on the host so that copies work, runs no kernel, and writes down what it was asked to do.
 * Graphs of kernels can be built and launched; capturing cannot be done. The model exports its
 * entries itself; those that only programs call are here.
 *
 * Environment, read when the library is loaded:
 *   PDL_FAKE_CC              compute capability of the devices, such as 8.0 (default 9.0)
 *   PDL_FAKE_DRIVER_VERSION  what cuDriverGetVersion says, such as 12020 (default 13000); what is
 *                            newer is not found
 *   PDL_FAKE_DEVICES         how many devices there are (default 1; 0: cuInit finds none)
 *   PDL_FAKE_PTX_VERSION     what kernels were compiled for, such as 80 (default: as PDL_FAKE_CC)
 *   PDL_FAKE_LOG             a file, or - for standard error: one line a call
 *   PDL_FAKE_COUNT           a file, or - for standard error: "launches=N" when the program ends
 */
#ifndef PDL_TEST_FAKE_FAKE_CUDA_H
#define PDL_TEST_FAKE_FAKE_CUDA_H

#include "mock_entry.h"

/* X(name, since, symbol): the entries that the model does not have, as MOCK_ENTRIES. Entries with
 * several versions stand newest first. */
#define FAKE_ENTRIES(X)                                                                            \
    X(cuDriverGetVersion, 2020, cuDriverGetVersion)                                                \
    X(cuGetProcAddress, 12000, cuGetProcAddress_v2)                                                \
    X(cuGetErrorString, 6000, cuGetErrorString)                                                    \
    X(cuDeviceGetUuid, 11040, cuDeviceGetUuid_v2)                                                  \
    X(cuDeviceTotalMem, 3020, cuDeviceTotalMem_v2)                                                 \
    X(cuDevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain)                                    \
    X(cuDevicePrimaryCtxRelease, 11000, cuDevicePrimaryCtxRelease_v2)                              \
    X(cuCtxCreate, 13000, cuCtxCreate_v4)                                                          \
    X(cuCtxCreate, 3020, cuCtxCreate_v2)                                                           \
    X(cuCtxDestroy, 4000, cuCtxDestroy_v2)                                                         \
    X(cuCtxSetCurrent, 4000, cuCtxSetCurrent)                                                      \
    X(cuCtxGetCurrent, 4000, cuCtxGetCurrent)                                                      \
    X(cuCtxSynchronize, 2000, cuCtxSynchronize)                                                    \
    X(cuMemcpyHtoD, 3020, cuMemcpyHtoD_v2)                                                         \
    X(cuMemcpyDtoD, 3020, cuMemcpyDtoD_v2)                                                         \
    X(cuMemcpyHtoDAsync, 3020, cuMemcpyHtoDAsync_v2)                                               \
    X(cuMemcpyDtoHAsync, 3020, cuMemcpyDtoHAsync_v2)                                               \
    X(cuMemsetD32, 3020, cuMemsetD32_v2)                                                           \
    X(cuMemsetD8Async, 3020, cuMemsetD8Async)                                                      \
    X(cuMemsetD32Async, 3020, cuMemsetD32Async)                                                    \
    X(cuStreamCreate, 2000, cuStreamCreate)                                                        \
    X(cuStreamCreateWithPriority, 5050, cuStreamCreateWithPriority)                                \
    X(cuStreamDestroy, 4000, cuStreamDestroy_v2)                                                   \
    X(cuStreamSynchronize, 2000, cuStreamSynchronize)                                              \
    X(cuStreamWaitEvent, 3020, cuStreamWaitEvent)                                                  \
    X(cuEventRecord, 2000, cuEventRecord)                                                          \
    X(cuEventQuery, 2000, cuEventQuery)                                                            \
    X(cuEventSynchronize, 2000, cuEventSynchronize)                                                \
    X(cuEventElapsedTime, 2000, cuEventElapsedTime_v2)                                             \
    X(cuModuleLoadData, 2000, cuModuleLoadData)                                                    \
    X(cuModuleLoadDataEx, 2010, cuModuleLoadDataEx)                                                \
    X(cuModuleGetFunction, 2000, cuModuleGetFunction)                                              \
    X(cuModuleUnload, 2000, cuModuleUnload)                                                        \
    X(cuLaunchKernel, 4000, cuLaunchKernel)

/* Defines an entry under the name that the library exports, and for programs compiled with a
 * per-thread default stream. */
#define FAKE_ENTRY(symbol, ...)                                                                    \
    __attribute__((visibility("default"))) CUresult fake_##symbol(__VA_ARGS__) __asm__(#symbol);   \
    CUresult fake_##symbol(__VA_ARGS__)
#define FAKE_PER_THREAD(symbol, suffix)                                                            \
    extern __typeof__(fake_##symbol) fake_##symbol##suffix __asm__(#symbol #suffix)                \
        __attribute__((alias(#symbol), visibility("default")))

#endif /* PDL_TEST_FAKE_FAKE_CUDA_H */
