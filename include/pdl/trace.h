/* SPDX-License-Identifier: MIT */
/** @file
 * Traces of kernels, the host side: the buffer that their blocks write stamps to, and from there to
 * a timeline. pdl/trace.cuh is the device side. Part of libpdl-trace.
 *
 * A launch reserves room for its blocks and passes what it got as the kernel's last argument. When
 * the kernels have ended, pdl_trace_collect() makes a timeline of the stamps:
 *
 *     pdl_trace_launch launch;
 *     pdl_trace_create(4096, &trace);
 *     pdl_trace_reserve(trace, "fc1", "with PDL", 132, &launch);
 *     pdl_launch_kernel(desc, fc1, w, x, y PDL_TRACE_ARGUMENT(launch));
 *     cudaDeviceSynchronize();
 *     pdl_trace_collect(trace, timeline, NULL);
 *
 * A launch that is recorded into a graph or a chain keeps its room: each replay writes over the
 * stamps of the one before, and the newest are collected.
 */
#ifndef PDL_TRACE_H
#define PDL_TRACE_H

#include <stdint.h>

#include <pdl/timeline.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A device buffer for the stamps of blocks, and what is to be written there. */
typedef struct pdl_trace pdl_trace;

#ifndef PDL_TRACE_LAUNCH_
#define PDL_TRACE_LAUNCH_
/**
 * What a kernel is told: its last parameter where PDL_TRACE is 1. Zeros: it takes no stamps.
 *
 * Of 24 bytes; pdl/trace.cuh declares the same. Has no size: it never changes, because kernels are
 * compiled with it.
 */
typedef struct pdl_trace_launch {
    unsigned long long records; /**< The buffer's address on the device. */
    unsigned first;             /**< Where in it the launch's blocks begin. */
    unsigned capacity;          /**< Blocks that it holds; after the last comes the first again. */
    unsigned blocks;            /**< Of the launch that are stamped. */
    unsigned launch;            /**< A number that no other launch of the trace has. */
} pdl_trace_launch;
#endif

/**
 * Makes a trace for the device of the current context.
 *
 * Takes 48 bytes of device memory a block. Maps to cuMemAlloc and cuMemsetD8, and waits for them.
 * @param capacity blocks, of all launches between two calls of pdl_trace_reset(), 1 to 2^31 - 1.
 * What is reserved beyond it takes the place of the oldest launches
 * Errors: those of pdl_device_count(), PDL_ERROR_NO_CONTEXT, PDL_ERROR_INVALID_ARGUMENT,
 * PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_trace_create(uint32_t capacity, pdl_trace **trace);

/** Frees it. No kernel in flight may use it any more. NULL is ignored. */
PDL_API void pdl_trace_destroy(pdl_trace *trace);

/**
 * Reserves room for the blocks of a launch, and tells what to pass to the kernel.
 *
 * Asks nothing of the driver, so that it may stand in front of every launch and in a capture.
 * Launches of one track must be reserved in the order in which they start on the device. Where they
 * take the place of older launches, those are lost, and counted. Of a launch with more blocks than
 * the trace holds, the first blocks are stamped and the others lost.
 * @param kernel its name; launches of one name get one colour. Copied
 * @param track what it is drawn under: the name of the stream, or of the way ("with PDL"). Copied;
 * NULL: ""
 * @param blocks of the grid, 1 or more
 * Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_OUT_OF_MEMORY. Thread-safe.
 */
PDL_API pdl_status pdl_trace_reserve(pdl_trace *trace, const char *kernel, const char *track,
                                     uint32_t blocks, pdl_trace_launch *launch);

/** What became of the blocks that were reserved for. Start from PDL_TRACE_REPORT_INIT. */
typedef struct pdl_trace_report {
    uint32_t size;        /**< sizeof(pdl_trace_report) as the caller was compiled. */
    uint32_t launches;    /**< With blocks in the timeline. */
    uint64_t blocks;      /**< In the timeline. */
    uint64_t overwritten; /**< Lost: the room was reserved again for newer launches. */
    uint64_t unwritten;   /**< Lost: the block did not run to PDL_TRACE_END(), or not at all. */
    uint64_t timer;       /**< Lost: the device's timer was set to another time. */
} pdl_trace_report;

/** Initializer of a pdl_trace_report. */
#define PDL_TRACE_REPORT_INIT PDL_SIZED_INIT_(pdl_trace_report)

/**
 * Adds the launches since the last pdl_trace_reset() to a timeline, and what was lost.
 *
 * The caller has synchronised: no kernel with this trace is in flight. The zero of the timeline is
 * the first start of what is added, so that two runs, each collected for itself and under its own
 * track, begin at one point. What was lost is counted in the timeline, which says why.
 *
 * A timer that was set to another time while a block ran, or between launches, shows as stamps that
 * go back, that go back against the launch before on the same track by more than 10 ms, or that are
 * further apart than 10 minutes in a launch or a day between launches. Blocks and launches that
 * stride such a point and launches before it are left out.
 *
 * Maps to cuMemcpyDtoH. May be called again: it takes nothing away.
 * @param[in,out] report NULL: none
 * Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_DESC_SIZE, PDL_ERROR_OUT_OF_MEMORY, and what an
 * earlier kernel ran into (PDL_ERROR_DEVICE_FAULT). Thread-safe.
 */
PDL_API pdl_status pdl_trace_collect(pdl_trace *trace, pdl_timeline *timeline,
                                     pdl_trace_report *report);

/**
 * Forgets all launches: all of the buffer is free.
 *
 * No kernel with this trace is in flight. A graph or chain that was recorded before must be recorded
 * again: what its launches write is ignored, and may be where newer launches write. NULL is
 * ignored. Thread-safe.
 */
PDL_API void pdl_trace_reset(pdl_trace *trace);

#ifdef __cplusplus
}
#endif

#endif /* PDL_TRACE_H */
