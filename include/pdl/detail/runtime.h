/* SPDX-License-Identifier: MIT */
/** @file
 * How libpdl reaches the CUDA Runtime of a program. Programs include pdl/cudart.h, which uses
 * this.
 */
#ifndef PDL_DETAIL_RUNTIME_H
#define PDL_DETAIL_RUNTIME_H

#include <pdl/pdl.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A launch as pdl_runtime_ops::launch gets it: checked and lowered. It has CUlaunchConfig's
 * layout. */
typedef struct pdl_runtime_launch {
    uint32_t grid[3];               /**< Blocks. */
    uint32_t block[3];              /**< Threads. */
    uint32_t dynamic_shared_memory; /**< Bytes per block. */
    uint32_t reserved;              /**< Not set. */
    struct CUstream_st *stream;     /**< The descriptor's, or CU_STREAM_LEGACY or _PER_THREAD. */
    void *attributes;         /**< CUlaunchAttribute[], which cudaLaunchAttribute[] matches. */
    uint32_t attribute_count; /**< Elements of `attributes`. */
    uint32_t reserved_end;    /**< Not set. */
} pdl_runtime_launch;

/** How libpdl reaches the CUDA Runtime that registered a kernel. Filled by pdl/cudart.h. */
typedef struct pdl_runtime_ops {
    uint32_t size;           /**< sizeof(pdl_runtime_ops) as the caller was compiled. */
    int32_t runtime_version; /**< CUDART_VERSION. */
    /** cudaLaunchKernelExC. Returns a cudaError_t. */
    int32_t (*launch)(const void *symbol, const pdl_runtime_launch *launch, void **args);
    /** cudaGetFuncBySymbol for the current device. Returns a cudaError_t. */
    int32_t (*get_function)(const void *symbol, struct CUfunc_st **function);
    uint32_t default_stream; /**< A pdl_default_stream: what a NULL stream means to `launch`, which
                                  gets none. */
    uint32_t reserved;       /**< 0. */
} pdl_runtime_ops;

/**
 * Makes a kernel from a Runtime symbol; use pdl_kernel_from_symbol() of pdl/cudart.h, which passes
 * `ops`.
 *
 * `ops` and the object that defines `symbol` must outlive the kernel. Errors: driver loading,
 * PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_kernel_from_runtime(const void *symbol, const pdl_runtime_ops *ops,
                                           pdl_kernel **kernel);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* PDL_DETAIL_RUNTIME_H */
