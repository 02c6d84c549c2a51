/* SPDX-License-Identifier: MIT */
/* What CUPTI says of what ran on the device.
 *
 * CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL keeps the overlap of kernels; CUPTI_ACTIVITY_KIND_KERNEL would serialize them. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "watch/cupti.h"

enum { BUFFER = 1 << 20, ALIGNMENT = 8 };

static const CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2, /* between devices */
    CUPTI_ACTIVITY_KIND_MEMSET,
};

/* What is added to CUPTI's times, where it can't be given our clock. */
static int64_t offset;
static const struct pdl_watch_cupti *cupti;

static uint64_t CUPTIAPI clock_of_ours(void)
{
    return pdl_watch_now();
}

static uint64_t time_of(uint64_t time)
{
    return time != 0 ? time + (uint64_t)offset : 0;
}

/* ---- records ----------------------------------------------------------------------------------------- */

static void kernel_ran(const CUpti_ActivityKernel9 *kernel)
{
    const struct pdl_watch_kernel *const name =
        pdl_watch_kernel(kernel->name != NULL ? kernel->name : "");
    struct pdl_watch_execution *const record =
        pdl_watch_reserve(PDL_WATCH_EXECUTION, sizeof(*record));
    if (record == NULL) {
        return;
    }
    record->start_ns = time_of(kernel->start);
    record->end_ns = time_of(kernel->end);
    record->node = kernel->graphNodeId;
    record->correlation = kernel->correlationId;
    record->graph = kernel->graphId;
    record->context = kernel->contextId;
    record->stream = kernel->streamId;
    record->name = name != NULL ? name->id : 0;
    record->grid[0] = (uint32_t)kernel->gridX;
    record->grid[1] = (uint32_t)kernel->gridY;
    record->grid[2] = (uint32_t)kernel->gridZ;
    record->block[0] = (uint16_t)kernel->blockX;
    record->block[1] = (uint16_t)kernel->blockY;
    record->block[2] = (uint16_t)kernel->blockZ;
    record->registers = kernel->registersPerThread;
    record->static_shared = (uint32_t)kernel->staticSharedMemory;
    record->dynamic_shared = (uint32_t)kernel->dynamicSharedMemory;
    record->shared_size = kernel->sharedMemoryExecuted;
#if CUPTI_API_VERSION >= 130000
    if (cupti->version >= 130000) {
        record->from_device =
            ((const CUpti_ActivityKernel10 *)(const void *)kernel)->isDeviceLaunched;
    }
#endif
    pdl_watch_commit(record);
}

static void moved(uint32_t operation, uint64_t start, uint64_t end, uint64_t node, uint64_t bytes,
                  uint32_t correlation, uint32_t graph, uint32_t context, uint32_t stream)
{
    struct pdl_watch_transfer *const record =
        pdl_watch_reserve(PDL_WATCH_TRANSFER, sizeof(*record));
    if (record != NULL) {
        record->start_ns = time_of(start);
        record->end_ns = time_of(end);
        record->node = node;
        record->bytes = bytes;
        record->correlation = correlation;
        record->graph = graph;
        record->context = context;
        record->stream = stream;
        record->operation = operation;
        pdl_watch_commit(record);
    }
}

static void take(const CUpti_Activity *activity)
{
    switch ((int)activity->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL:
        kernel_ran((const void *)activity);
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
        const CUpti_ActivityMemcpy5 *const copy = (const void *)activity;
        moved(PDL_WATCH_COPY, copy->start, copy->end, copy->graphNodeId, copy->bytes,
              copy->correlationId, copy->graphId, copy->contextId, copy->streamId);
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
        const CUpti_ActivityMemcpyPtoP4 *const copy = (const void *)activity;
        moved(PDL_WATCH_COPY, copy->start, copy->end, copy->graphNodeId, copy->bytes,
              copy->correlationId, copy->graphId, copy->contextId, copy->streamId);
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
        const CUpti_ActivityMemset4 *const set = (const void *)activity;
        moved(PDL_WATCH_SET, set->start, set->end, set->graphNodeId, set->bytes, set->correlationId,
              set->graphId, set->contextId, set->streamId);
        break;
    }
    default:
        break;
    }
}

/* ---- buffers ----------------------------------------------------------------------------------------- */

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *most)
{
    void *memory = NULL;
    *most = 0; /* as many as fit */
    *size = posix_memalign(&memory, ALIGNMENT, BUFFER) == 0 ? BUFFER : 0;
    *buffer = memory;
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t valid)
{
    CUpti_Activity *record = NULL;
    size_t dropped = 0;
    (void)size;
    while (buffer != NULL && valid != 0 &&
           cupti->cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS &&
           record != NULL) {
        take(record);
    }
    if (cupti->cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS &&
        dropped != 0) {
        pdl_watch_count_lost_device(dropped);
    }
    free(buffer);
}

bool pdl_watch_activity_start(const struct pdl_watch_cupti *table)
{
    uint64_t theirs = 0;
    cupti = table;
    if (cupti->cuptiActivityRegisterTimestampCallback == NULL ||
        cupti->cuptiActivityRegisterTimestampCallback(clock_of_ours) != CUPTI_SUCCESS) {
        if (cupti->cuptiGetTimestamp(&theirs) != CUPTI_SUCCESS) {
            return false;
        }
        offset = (int64_t)(pdl_watch_now() - theirs);
    }
    return cupti->cuptiActivityRegisterCallbacks(give_buffer, take_buffer) == CUPTI_SUCCESS;
}

void pdl_watch_activities(bool on)
{
    const struct pdl_watch_cupti *const running = pdl_watch_cupti();
    for (size_t i = 0; running != NULL && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const CUptiResult result =
            on ? running->cuptiActivityEnable(kinds[i]) : running->cuptiActivityDisable(kinds[i]);
        if (on && i == 0 && result != CUPTI_SUCCESS) {
            const char *text = NULL;
            (void)running->cuptiGetResultString(result, &text);
            pdl_watch_say("no device times: CUPTI refuses them: %s", text != NULL ? text : "?");
            return;
        }
    }
}
