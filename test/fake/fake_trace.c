/* SPDX-License-Identifier: MIT */
/* libpdl-trace as a program sees it, on the fake driver: it loads its own part of the driver, and
 * asks libpdl for the rest. The fake driver's memory is the host's, so that the program can play the
 * kernel. */
#include "driver_calls.h"

#include <pdl/trace.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s is false; last error: %s\n", __FILE__, __LINE__,            \
                    #condition, pdl_last_error()->message);                                        \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

int main(void)
{
    CUcontext context;
    pdl_trace *trace = NULL;
    pdl_timeline *timeline = NULL;
    pdl_trace_launch launch;
    pdl_trace_report report = PDL_TRACE_REPORT_INIT;
    pdl_timeline_summary summary = PDL_TIMELINE_SUMMARY_INIT;
    CHECK(pdl_trace_create(4, &trace) == PDL_ERROR_NO_CONTEXT && trace == NULL);
    DRIVER_CALL(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice), &context, 0);
    DRIVER_CALL(cuCtxSetCurrent, (CUcontext), context);
    CHECK(pdl_trace_create(4, &trace) == PDL_SUCCESS);
    CHECK(pdl_trace_reserve(trace, "kernel", NULL, 2, &launch) == PDL_SUCCESS);
    const unsigned long long stamps[5] = {1000, 0, 0, 0, 1500}; /* start and end */
    const unsigned sm_and_launch[2] = {7, launch.launch};
    char *record = (char *)(uintptr_t)launch.records + (size_t)launch.first * 48;
    memcpy(record, stamps, sizeof(stamps));
    memcpy(record + sizeof(stamps), sm_and_launch, sizeof(sm_and_launch));
    DRIVER_CALL(cuCtxSetCurrent, (CUcontext), NULL); /* the trace has its own */
    CHECK(pdl_timeline_create(&timeline) == PDL_SUCCESS);
    CHECK(pdl_trace_collect(trace, timeline, &report) == PDL_SUCCESS);
    CHECK(report.blocks == 1 && report.unwritten == 1);
    CHECK(pdl_timeline_summarize(timeline, NULL, &summary) == PDL_SUCCESS);
    CHECK(summary.span_ns == 500);
    pdl_timeline_destroy(timeline);
    pdl_trace_destroy(trace);
    DRIVER_CALL(cuDevicePrimaryCtxRelease_v2, (CUdevice), 0);
    return 0;
}
