/* SPDX-License-Identifier: MIT */
/* What is recorded of calls that launch kernels and put other work into streams. */
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "watch/driver.h"
#include "watch/watch.h"

static _Atomic uint32_t numbers; /* launches of the process */
static _Atomic int captures;     /* under way, as far as their begin and end are seen */

/* Asked of the kernel once: a call costs as much as all else here. */
uint32_t pdl_watch_thread(void)
{
    static __thread uint32_t id, forks;
    const uint32_t now = pdl_watch_forks();
    if (id == 0 || forks != now) {
        id = (uint32_t)syscall(SYS_gettid);
        forks = now;
    }
    return id;
}

static uint32_t since(uint64_t begin_ns)
{
    const uint64_t duration = pdl_watch_now() - begin_ns;
    return duration < UINT32_MAX ? (uint32_t)duration : UINT32_MAX;
}

struct pdl_watch_call *pdl_watch_call(void)
{
    static __thread struct pdl_watch_call call;
    return &call;
}

void pdl_watch_call_begin(struct pdl_watch_call *call, CUfunction handle)
{
    *call = (struct pdl_watch_call){.function = pdl_watch_function(handle), .active = true};
    call->number = atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed) + 1;
    if (call->function != NULL) {
        call->nth =
            atomic_fetch_add_explicit(&call->function->kernel->launches, 1, memory_order_relaxed) +
            1;
    }
    pdl_watch_window_launch(call->number);
    call->begin_ns = pdl_watch_now();
}

uint32_t pdl_watch_flags_of(const CUlaunchAttribute *attributes, unsigned count)
{
    uint32_t flags = 0;
    for (unsigned i = 0; attributes != NULL && i < count; i++) {
        const CUlaunchAttribute *const one = &attributes[i];
        switch ((int)one->id) {
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
            flags &= ~(uint32_t)PDL_WATCH_OVERLAP; /* of two, the driver takes the last */
            if (one->value.programmaticStreamSerializationAllowed != 0) {
                flags |= PDL_WATCH_OVERLAP;
            }
            break;
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
            flags |= PDL_WATCH_EVENT;
            break;
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
            flags |= one->value.cooperative != 0 ? PDL_WATCH_COOPERATIVE : 0;
            break;
        default:
            break;
        }
    }
    return flags;
}

void pdl_watch_captures(int change)
{
    atomic_fetch_add_explicit(&captures, change, memory_order_relaxed);
}

bool pdl_watch_is_captured(CUstream stream, bool per_thread)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (pdl_watch_cupti_runs() && atomic_load_explicit(&captures, memory_order_relaxed) <= 0) {
        return false;
    }
    const struct pdl_watch_driver *const driver = pdl_watch_driver();
    if (driver == NULL || driver->cuStreamIsCapturing == NULL) {
        return false;
    }
    if (stream == NULL && per_thread) {
        stream = CU_STREAM_PER_THREAD;
    }
    /* The legacy stream is not captured, and asking about it would break captures of others. */
    return stream != NULL && stream != CU_STREAM_LEGACY &&
           driver->cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void pdl_watch_call_record(struct pdl_watch_call *call, const CUlaunchConfig *config,
                           uint64_t stream, CUresult result, uint32_t correlation, uint32_t context)
{
    if (call->recorded || !pdl_watch_window_is_open()) {
        return;
    }
    call->recorded = true;
    const uint32_t duration = since(call->begin_ns);
    uint32_t flags = call->flags | pdl_watch_flags_of(config->attrs, config->numAttrs);
    if ((flags & PDL_WATCH_OVERLAP) != 0 && (flags & PDL_WATCH_ADDED) == 0) {
        flags |= PDL_WATCH_ASKED;
    }
    if (pdl_watch_is_captured(config->hStream, stream == 2)) {
        flags |= PDL_WATCH_CAPTURED;
    }
    struct pdl_watch_launch *const record = pdl_watch_reserve(PDL_WATCH_LAUNCH, sizeof(*record));
    if (record == NULL) {
        return;
    }
    record->begin_ns = call->begin_ns;
    record->stream = stream;
    record->duration_ns = duration;
    record->correlation = correlation;
    record->function = call->function != NULL ? call->function->id : 0;
    record->number = call->number;
    record->nth = call->nth;
    record->context = context;
    record->thread = pdl_watch_thread();
    record->flags = flags;
    record->grid[0] = config->gridDimX;
    record->grid[1] = config->gridDimY;
    record->grid[2] = config->gridDimZ;
    record->block[0] = (uint16_t)config->blockDimX;
    record->block[1] = (uint16_t)config->blockDimY;
    record->block[2] = (uint16_t)config->blockDimZ;
    record->result = (int16_t)result;
    record->dynamic_shared = config->sharedMemBytes;
    pdl_watch_commit(record);
}

void pdl_watch_operation(uint32_t operation, uint64_t begin_ns, uint64_t stream, uint64_t detail,
                         uint32_t correlation, uint32_t context, bool captured)
{
    struct pdl_watch_operation *record = NULL;
    if (!pdl_watch_window_is_open()) {
        return;
    }
    const uint32_t duration = since(begin_ns);
    record = pdl_watch_reserve(PDL_WATCH_OPERATION, sizeof(*record));
    if (record != NULL) {
        record->begin_ns = begin_ns;
        record->stream = stream;
        record->detail = detail;
        record->duration_ns = duration;
        record->correlation = correlation;
        record->operation = operation;
        record->context = context;
        record->thread = pdl_watch_thread();
        record->captured = captured;
        pdl_watch_commit(record);
    }
}
