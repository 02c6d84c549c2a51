/* SPDX-License-Identifier: MIT */
/* Traces: the buffer that blocks write their stamps to, as a ring of launches. */
#include <pdl/trace.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/error.h"
#include "core/sized.h"
#include "trace/driver.h"

/* As pdl/trace.cuh writes it. 0: no stamp; launches count from 1. */
struct record {
    uint64_t start;
    uint64_t triggered;
    uint64_t wait;
    uint64_t waited;
    uint64_t end;
    uint32_t sm;
    uint32_t launch;
};
_Static_assert(sizeof(struct record) == 48, "pdl/trace.cuh knows the size");
_Static_assert(sizeof(pdl_trace_launch) == 24, "pdl/trace.cuh knows the layout");

struct launch {
    char *kernel;
    char *track;
    uint64_t at;     /* in all that was reserved since the last reset */
    uint32_t asked;  /* blocks */
    uint32_t blocks; /* of them with room */
    uint32_t number;
};

struct pdl_trace {
    pthread_mutex_t lock;
    const struct pdl_trace_driver *driver;
    CUcontext context;
    CUdeviceptr records;
    uint32_t capacity;
    uint32_t last_number;
    uint64_t reserved;    /* blocks since the last reset */
    uint64_t overwritten; /* blocks that were asked for and have no room */
    struct launch *launches;
    size_t first; /* launches before it have no room any more */
    size_t count; /* with those */
    size_t room;
};

/* ------------------------------------------------------------------------------------------------
 * The object
 * ---------------------------------------------------------------------------------------------- */

static CUresult make_buffer(struct pdl_trace *trace, const char **call)
{
    const struct pdl_trace_driver *driver = trace->driver;
    const size_t bytes = trace->capacity * sizeof(struct record);
    struct record last;
    *call = "cuStreamGetCtx";
    CUresult result = driver->cuStreamGetCtx(NULL, &trace->context);
    if (result == CUDA_SUCCESS) {
        *call = "cuMemAlloc";
        result = driver->cuMemAlloc(&trace->records, bytes);
    }
    if (result != CUDA_SUCCESS) {
        return result;
    }
    *call = "cuMemsetD8";
    result = driver->cuMemsetD8(trace->records, 0, bytes);
    if (result == CUDA_SUCCESS) { /* a copy to the host waits, and setting memory need not */
        *call = "cuMemcpyDtoH";
        result = driver->cuMemcpyDtoH(&last, trace->records + bytes - sizeof(last), sizeof(last));
    }
    if (result != CUDA_SUCCESS) {
        (void)driver->cuMemFree(trace->records);
    }
    return result;
}

pdl_status pdl_trace_create(uint32_t capacity, pdl_trace **trace)
{
    const struct pdl_trace_driver *driver;
    const char *call;
    pdl_device_info device = PDL_DEVICE_INFO_INIT;
    if (trace == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "trace", "trace is NULL");
    }
    if (capacity == 0 || capacity > INT32_MAX) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "capacity",
                              "capacity is %u blocks, not 1 to %d", (unsigned)capacity, INT32_MAX);
    }
    pdl_status status = pdl_device_get(-1, &device);
    if (status == PDL_SUCCESS) {
        status = pdl_trace_driver_get(&driver);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    struct pdl_trace *made = calloc(1, sizeof(*made));
    if (made == NULL || pthread_mutex_init(&made->lock, NULL) != 0) {
        free(made);
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a trace");
    }
    made->driver = driver;
    made->capacity = capacity;
    const CUresult result = make_buffer(made, &call);
    if (result != CUDA_SUCCESS) {
        (void)pthread_mutex_destroy(&made->lock);
        free(made);
        return pdl_libcuda_error(driver->cuGetErrorName, call, (int32_t)result,
                                 "to make a buffer for the stamps of blocks");
    }
    *trace = made;
    return PDL_SUCCESS;
}

static void free_launch(struct launch *launch)
{
    free(launch->kernel);
    free(launch->track);
}

static void forget_launches(struct pdl_trace *trace)
{
    for (size_t i = trace->first; i < trace->count; i++) {
        free_launch(&trace->launches[i]);
    }
    trace->first = 0;
    trace->count = 0;
    trace->reserved = 0;
    trace->overwritten = 0;
}

void pdl_trace_destroy(pdl_trace *trace)
{
    CUcontext before;
    if (trace == NULL) {
        return;
    }
    if (trace->driver->cuCtxPushCurrent(trace->context) == CUDA_SUCCESS) {
        (void)trace->driver->cuMemFree(trace->records);
        (void)trace->driver->cuCtxPopCurrent(&before);
    }
    forget_launches(trace);
    free(trace->launches);
    (void)pthread_mutex_destroy(&trace->lock);
    free(trace);
}

void pdl_trace_reset(pdl_trace *trace)
{
    if (trace != NULL) {
        (void)pthread_mutex_lock(&trace->lock);
        forget_launches(trace);
        (void)pthread_mutex_unlock(&trace->lock);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Reserving
 * ---------------------------------------------------------------------------------------------- */

/* Room for one launch more, where those that were overwritten stood if they are many. */
static bool make_room(struct pdl_trace *trace)
{
    if (trace->count == trace->room && trace->first > trace->count / 2) {
        trace->count -= trace->first;
        memmove(trace->launches, trace->launches + trace->first,
                trace->count * sizeof(*trace->launches));
        trace->first = 0;
    }
    return PDL_ARRAY_ROOM(trace->launches, trace->count, trace->room);
}

/* Those whose room is reserved again, were it for one block of them, are lost as a whole. */
static void drop_overwritten(struct pdl_trace *trace)
{
    while (trace->first < trace->count &&
           trace->reserved - trace->launches[trace->first].at > trace->capacity) {
        trace->overwritten += trace->launches[trace->first].blocks;
        free_launch(&trace->launches[trace->first++]);
    }
}

static pdl_status reserve(struct pdl_trace *trace, const char *kernel, const char *track,
                          uint32_t blocks, pdl_trace_launch *launch)
{
    struct launch made = {.at = trace->reserved, .asked = blocks};
    if (trace->last_number == UINT32_MAX || !make_room(trace)) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no room for another launch after %u",
                        (unsigned)trace->last_number);
    }
    made.kernel = strdup(kernel);
    made.track = strdup(track != NULL ? track : "");
    if (made.kernel == NULL || made.track == NULL) {
        free_launch(&made);
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for the names of a launch");
    }
    made.number = ++trace->last_number;
    made.blocks = blocks < trace->capacity ? blocks : trace->capacity;
    trace->launches[trace->count++] = made;
    trace->reserved += made.blocks;
    trace->overwritten += made.asked - made.blocks;
    drop_overwritten(trace);
    *launch = (pdl_trace_launch){.records = trace->records,
                                 .first = (unsigned)(made.at % trace->capacity),
                                 .capacity = trace->capacity,
                                 .blocks = made.blocks,
                                 .launch = made.number};
    return PDL_SUCCESS;
}

pdl_status pdl_trace_reserve(pdl_trace *trace, const char *kernel, const char *track,
                             uint32_t blocks, pdl_trace_launch *launch)
{
    if (trace == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "trace", "trace is NULL");
    }
    if (kernel == NULL || kernel[0] == '\0') {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "kernel", "the kernel has no name");
    }
    if (blocks == 0) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "blocks", "blocks is 0");
    }
    if (launch == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "launch", "launch is NULL");
    }
    (void)pthread_mutex_lock(&trace->lock);
    const pdl_status status = reserve(trace, kernel, track, blocks, launch);
    (void)pthread_mutex_unlock(&trace->lock);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Collecting
 * ---------------------------------------------------------------------------------------------- */

enum record_state { GOOD, UNWRITTEN, WENT_BACK };

static enum record_state state_of(const struct launch *launch, const struct record *r)
{
    if (r->launch != launch->number) {
        return UNWRITTEN;
    }
    const bool in_order =
        r->start <= r->end && r->end <= INT64_MAX / 2 &&
        (r->waited == 0 || (r->start <= r->wait && r->wait <= r->waited && r->waited <= r->end)) &&
        (r->triggered == 0 || (r->start <= r->triggered && r->triggered <= r->end));
    return in_order ? GOOD : WENT_BACK;
}

static const struct record *record_of(const struct pdl_trace *trace, const struct record *records,
                                      const struct launch *launch, uint32_t block)
{
    return &records[(launch->at + block) % trace->capacity];
}

/* Counts the records that are not good, and finds the first start of the others. */
static int64_t first_start(const struct pdl_trace *trace, const struct record *records,
                           pdl_trace_report *report)
{
    int64_t first = INT64_MAX;
    for (size_t i = trace->first; i < trace->count; i++) {
        const struct launch *const launch = &trace->launches[i];
        for (uint32_t block = 0; block < launch->blocks; block++) {
            const struct record *const r = record_of(trace, records, launch, block);
            const enum record_state state = state_of(launch, r);
            report->unwritten += state == UNWRITTEN;
            report->timer += state == WENT_BACK;
            if (state == GOOD && (int64_t)r->start < first) {
                first = (int64_t)r->start;
            }
        }
    }
    return first;
}

static int64_t stamp_of(uint64_t stamp, int64_t zero)
{
    return stamp == 0 ? PDL_TIMELINE_NONE : (int64_t)stamp - zero;
}

/* Adds a launch that has good records, and those. */
static pdl_status add_launch(const struct pdl_trace *trace, const struct record *records,
                             const struct launch *launch, int64_t zero, pdl_timeline *timeline,
                             pdl_trace_report *report)
{
    uint32_t index = 0;
    uint32_t added = 0;
    pdl_status status = PDL_SUCCESS;
    for (uint32_t i = 0; i < launch->blocks && status == PDL_SUCCESS; i++) {
        const struct record *r = record_of(trace, records, launch, i);
        if (state_of(launch, r) != GOOD) {
            continue;
        }
        if (added++ == 0) {
            status = pdl_timeline_add_launch(timeline, launch->kernel, launch->track, &index);
        }
        const pdl_timeline_block block = {.launch = index,
                                          .block = i,
                                          .sm = r->sm,
                                          .start_ns = (int64_t)r->start - zero,
                                          .wait_ns = stamp_of(r->wait, zero),
                                          .waited_ns = stamp_of(r->waited, zero),
                                          .triggered_ns = stamp_of(r->triggered, zero),
                                          .end_ns = (int64_t)r->end - zero};
        if (status == PDL_SUCCESS) {
            status = pdl_timeline_add_block(timeline, &block);
        }
    }
    report->launches += added > 0;
    report->blocks += added;
    return status;
}

static pdl_status add_lost(pdl_timeline *timeline, const pdl_trace_report *report)
{
    const struct {
        uint64_t blocks;
        const char *why;
    } lost[] = {
        {report->overwritten, "more than the trace had room for: the oldest launches are lost"},
        {report->unwritten, "left no stamps: they did not run to PDL_TRACE_END()"},
        {report->timer, "left out: the device's timer was set to an earlier time meanwhile"},
    };
    pdl_status status = PDL_SUCCESS;
    for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]) && status == PDL_SUCCESS; i++) {
        if (lost[i].blocks > 0) {
            char note[256];
            pdl_timeline_add_lost(timeline, lost[i].blocks);
            (void)snprintf(note, sizeof(note), "%llu %s %s", (unsigned long long)lost[i].blocks,
                           lost[i].blocks == 1 ? "block" : "blocks", lost[i].why);
            status = pdl_timeline_add_note(timeline, note);
        }
    }
    return status;
}

/* What was reserved, from the device; *records is malloced. */
static pdl_status copy_records(const struct pdl_trace *trace, struct record **records)
{
    CUcontext before;
    const uint64_t used = trace->reserved < trace->capacity ? trace->reserved : trace->capacity;
    const size_t bytes = (size_t)used * sizeof(struct record);
    struct record *copy = malloc(bytes);
    if (copy == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for the stamps of %llu blocks",
                        (unsigned long long)used);
    }
    const char *call = "cuCtxPushCurrent";
    CUresult result = trace->driver->cuCtxPushCurrent(trace->context);
    if (result == CUDA_SUCCESS) {
        call = "cuMemcpyDtoH";
        result = trace->driver->cuMemcpyDtoH(copy, trace->records, bytes);
        (void)trace->driver->cuCtxPopCurrent(&before);
    }
    if (result != CUDA_SUCCESS) {
        free(copy);
        return pdl_libcuda_error(trace->driver->cuGetErrorName, call, (int32_t)result,
                                 "to read the stamps of blocks");
    }
    *records = copy;
    return PDL_SUCCESS;
}

static pdl_status collect(const struct pdl_trace *trace, pdl_timeline *timeline,
                          pdl_trace_report *to)
{
    struct record *records = NULL;
    pdl_trace_report report = {.overwritten = trace->overwritten};
    pdl_status status = trace->count > trace->first ? copy_records(trace, &records) : PDL_SUCCESS;
    if (status != PDL_SUCCESS) {
        return status;
    }
    const int64_t zero = first_start(trace, records, &report);
    for (size_t i = trace->first; i < trace->count && status == PDL_SUCCESS; i++) {
        status = add_launch(trace, records, &trace->launches[i], zero, timeline, &report);
    }
    if (status == PDL_SUCCESS) {
        status = add_lost(timeline, &report);
    }
    if (status == PDL_SUCCESS && to != NULL) {
        pdl_sized_copy(to, &report, sizeof(report));
    }
    free(records);
    return status;
}

pdl_status pdl_trace_collect(pdl_trace *trace, pdl_timeline *timeline, pdl_trace_report *report)
{
    pdl_status status = PDL_SUCCESS;
    if (trace == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "trace", "trace is NULL");
    }
    if (timeline == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "timeline", "timeline is NULL");
    }
    if (report != NULL) {
        status = pdl_sized_check(report, "report");
    }
    if (status == PDL_SUCCESS) {
        (void)pthread_mutex_lock(&trace->lock);
        status = collect(trace, timeline, report);
        (void)pthread_mutex_unlock(&trace->lock);
    }
    return status;
}
