/* SPDX-License-Identifier: MIT */
/** @file
 * Traces of kernels, the host side: the buffer for the stamps of their blocks, and its conversion
 * to a timeline. pdl/trace.cuh is the device side. Part of libpdl-trace.
 *
 * A launch reserves space for its blocks and passes the result as the kernel's last argument. When
 * the kernels have ended, pdl_trace_collect() makes a timeline of the stamps:
 *
 *     pdl_trace_launch launch;
 *     pdl_trace_create(4096, &trace);
 *     pdl_trace_reserve(trace, "fc1", "with PDL", 132, &launch);
 *     pdl_launch_kernel(desc, fc1, w, x, y PDL_TRACE_ARGUMENT(launch));
 *     cudaDeviceSynchronize();
 *     pdl_trace_collect(trace, timeline, NULL);
 *
 * A launch that is recorded into a graph or a chain keeps its space: each replay overwrites the
 * stamps of the previous one, and the newest are collected.
 */
#ifndef PDL_TRACE_H
#define PDL_TRACE_H

#include <stdint.h>

#include <pdl/timeline.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A device buffer for the stamps of blocks, and its launches. */
typedef struct pdl_trace pdl_trace;

#ifndef PDL_TRACE_LAUNCH_
#define PDL_TRACE_LAUNCH_
/**
 * The kernel's last parameter if PDL_TRACE is 1. Zeros: the kernel records no stamps.
 *
 * It has 24 bytes; pdl/trace.cuh declares the same. Has no size: it never changes, because kernels
 * are compiled with it.
 */
typedef struct pdl_trace_launch {
    unsigned long long records; /**< The buffer's address on the device. */
    unsigned first;             /**< The index of the launch's first block. */
    unsigned capacity;          /**< The buffer's size in blocks; it is a ring. */
    unsigned blocks;            /**< The launch's blocks that are stamped. */
    unsigned launch;            /**< A number that is unique in the trace. */
} pdl_trace_launch;
#endif

/**
 * Makes a trace for the device of the current context.
 *
 * Uses 48 bytes of device memory per block. Maps to cuMemAlloc and cuMemsetD8, and waits for them.
 * @param capacity blocks, of all launches between two calls of pdl_trace_reset(), 1 to 2^31 - 1.
 * Further reservations replace the oldest launches
 * Errors: those of driver loading, PDL_ERROR_NO_CONTEXT, PDL_ERROR_INVALID_ARGUMENT,
 * PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_trace_create(uint32_t capacity, pdl_trace **trace);

/** Frees it. No kernel in flight may use it. NULL is ignored. */
PDL_API void pdl_trace_destroy(pdl_trace *trace);

/**
 * Reserves space for the blocks of a launch, and returns the kernel's argument.
 *
 * Makes no driver call, so it may be used before every launch and in a capture. If they
 * replace older launches, those are lost and counted. If a launch has more blocks than the trace, the first
 * blocks are stamped and the others lost.
 * @param kernel its name; launches with the same name have the same colour. Copied
 * @param track the name of its stream or launch path ("with PDL"). Copied; NULL: ""
 * @param blocks of the grid, 1 or more
 * Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_OUT_OF_MEMORY. Thread-safe.
 */
PDL_API pdl_status pdl_trace_reserve(pdl_trace *trace, const char *kernel, const char *track,
                                     uint32_t blocks, pdl_trace_launch *launch);

/** The result for the reserved blocks. Start from PDL_TRACE_REPORT_INIT. */
typedef struct pdl_trace_report {
    uint32_t size;        /**< sizeof(pdl_trace_report) as the caller was compiled. */
    uint32_t launches;    /**< With blocks in the timeline. */
    uint64_t blocks;      /**< In the timeline. */
    uint64_t overwritten; /**< Lost: the space was reserved again for newer launches. */
    uint64_t unwritten;   /**< Lost: the block did not reach PDL_TRACE_END(), or did not run. */
    uint64_t timer;       /**< Lost: the stamps decrease, because the device's timer was changed. */
} pdl_trace_report;

/** Initializer of a pdl_trace_report. */
#define PDL_TRACE_REPORT_INIT PDL_SIZED_INIT_(pdl_trace_report)

/**
 * Adds the launches since the last pdl_trace_reset() to a timeline, and the number of lost blocks.
 *
 * The caller has synchronized: no kernel with this trace is in flight. The zero of the timeline is
 * the first start of the added launches, so that two runs, collected separately under their own
 * tracks, begin at the same point. The timeline counts lost blocks and has the reason.
 *
 * A block whose stamps decrease, because the device's timer was changed while it ran, is left out.
 *
 * Maps to cuMemcpyDtoH. May be called again: it removes nothing.
 * @param[in,out] report NULL: none
 * Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_DESC_SIZE, PDL_ERROR_OUT_OF_MEMORY, and the fault
 * of an earlier kernel (PDL_ERROR_DEVICE_FAULT). Thread-safe.
 */
PDL_API pdl_status pdl_trace_collect(pdl_trace *trace, pdl_timeline *timeline,
                                     pdl_trace_report *report);

/**
 * Removes all launches from the buffer.
 *
 * No kernel with this trace is in flight. A graph or chain that was recorded before must be
 * recorded again: its stamps are ignored, and may overwrite those of newer launches. NULL is
 * ignored. Thread-safe.
 */
PDL_API void pdl_trace_reset(pdl_trace *trace);

#ifdef __cplusplus
}
#endif

#endif /* PDL_TRACE_H */
