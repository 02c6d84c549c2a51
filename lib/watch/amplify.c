/* SPDX-License-Identifier: MIT */
/* A secondary kernel that does not wait reads what its primary still writes, if it runs soon enough. Mostly it does not: the
 * host launches it when the primary has ended, or the primary is short. Two things make it likelier:
 *
 * A gate, one thread that spins, goes in front of the primary. Behind it the host queues both, and the secondary starts as
 * soon as the primary lets it. The primary was launched when a secondary comes: so what precedes a raced launch once is
 * held up from then on. A gate ends the overlap of the launch behind it with the one in front. Where that launch is raced
 * itself, as in a chain of them, gates leave out some launches, a number that changes, and so each pair is met.
 *
 * A load, blocks on all SMs that write and read memory while the pair runs, makes the primary last longer.
 *
 * PDL_WATCH_DELAY has the microseconds of both, "40,40": the load goes on for its time after the gate. */
#include "watch/amplify.h"

#include "core/array.h"
#include "os/environment.h"
#include "os/lock.h"
#include "watch/driver.h"
#include "watch/watch.h"

enum {
    APART = 8, /* launches at most between two gates in a chain of raced launches */
    LOAD_THREADS = 128
};

/* The spin is bounded by the clock and, should that stand still, by a count. */
static const char code[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n"
    ".global .align 16 .b8 pdl_watch_memory[33554432];\n"
    ".visible .entry pdl_watch_gate(.param .u64 ns)\n{\n"
    ".reg .u64 %begin, %now, %ns, %left; .reg .pred %more;\n"
    "ld.param.u64 %ns, [ns]; mov.u64 %begin, %globaltimer; mov.u64 %left, 100000000;\n"
    "again:\n"
    "mov.u64 %now, %globaltimer; sub.u64 %now, %now, %begin;\n"
    "setp.lt.u64 %more, %now, %ns; @!%more bra done;\n"
    "nanosleep.u32 100; sub.u64 %left, %left, 1; setp.ne.u64 %more, %left, 0; @%more bra again;\n"
    "done:\nret;\n}\n"
    ".visible .entry pdl_watch_load(.param .u64 ns)\n{\n"
    ".reg .u64 %begin, %now, %ns, %left, %base, %at, %value; .reg .u32 %x, %y, %n;\n"
    ".reg .pred %more;\n"
    "ld.param.u64 %ns, [ns]; mov.u64 %begin, %globaltimer; mov.u64 %left, 10000000;\n"
    "mov.u64 %base, pdl_watch_memory; cvta.global.u64 %base, %base;\n"
    "mov.u32 %x, %ctaid.x; mov.u32 %n, %ntid.x; mov.u32 %y, %tid.x; mad.lo.u32 %x, %x, %n, %y;\n"
    "mul.lo.u32 %x, %x, 32;\n"
    "again:\n"
    "and.b32 %y, %x, 33554400; cvt.u64.u32 %at, %y; add.u64 %at, %base, %at;\n"
    "ld.volatile.u64 %value, [%at]; add.u64 %value, %value, 1; st.volatile.u64 [%at], %value;\n"
    "add.u32 %x, %x, 1048608;\n"
    "mov.u64 %now, %globaltimer; sub.u64 %now, %now, %begin;\n"
    "setp.lt.u64 %more, %now, %ns; @!%more bra done;\n"
    "sub.u64 %left, %left, 1; setp.ne.u64 %more, %left, 0; @%more bra again;\n"
    "done:\nret;\n}\n";

/* What the kernels are in, in each context. */
struct context {
    CUcontext context;
    CUfunction gate, load; /* NULL: they could not be loaded */
    CUstream stream;       /* of the load */
    unsigned sms;
};

/* The last launch in a stream. */
struct last {
    uint64_t key;
    const struct pdl_watch_kernel *kernel;
    bool held;     /* behind a gate */
    unsigned next; /* launches until a raced one may have a gate */
};

static struct {
    struct pdl_lock lock;
    struct context *contexts;
    uint32_t context_count;
    size_t context_capacity;
    struct last *streams;
    uint32_t stream_count;
    size_t stream_capacity;
    const struct pdl_watch_kernel **primaries; /* that precede raced launches */
    uint32_t primary_count;
    size_t primary_capacity;
    uint32_t random;
    bool read;
    uint64_t gate_ns, load_ns;
} amplify;

static void read_times(void)
{
    const struct pdl_reading us = pdl_variable_read(PDL_VARIABLE(PDL_WATCH_DELAY));
    amplify.gate_ns = 1000 * us.value[0];
    amplify.load_ns = 1000 * us.value[1];
    amplify.random = (uint32_t)pdl_watch_now() | 1;
    amplify.read = true;
}

/* A number below another one. */
static unsigned draw(unsigned below)
{
    amplify.random ^= amplify.random << 13;
    amplify.random ^= amplify.random >> 17;
    amplify.random ^= amplify.random << 5;
    return amplify.random % below;
}

static bool is_primary(const struct pdl_watch_kernel *kernel)
{
    for (uint32_t i = 0; i < amplify.primary_count; i++) {
        if (amplify.primaries[i] == kernel) {
            return true;
        }
    }
    return false;
}

static void add_primary(const struct pdl_watch_kernel *kernel)
{
    if (!is_primary(kernel) &&
        PDL_ARRAY_ROOM(amplify.primaries, amplify.primary_count, amplify.primary_capacity)) {
        amplify.primaries[amplify.primary_count++] = kernel;
    }
}

static struct last *last_of(uint64_t key)
{
    for (uint32_t i = 0; i < amplify.stream_count; i++) {
        if (amplify.streams[i].key == key) {
            return &amplify.streams[i];
        }
    }
    if (!PDL_ARRAY_ROOM(amplify.streams, amplify.stream_count, amplify.stream_capacity)) {
        return NULL;
    }
    struct last *const made = &amplify.streams[amplify.stream_count++];
    *made = (struct last){.key = key};
    return made;
}

/* ---- the kernels ------------------------------------------------------------------------------------- */

static void load_kernels(const struct pdl_watch_driver *driver, struct context *context)
{
    CUmodule module = NULL;
    CUdevice device = 0;
    int sms = 0;
    CUresult result = driver->cuModuleLoadData(&module, code);
    if (result == CUDA_SUCCESS) {
        result = driver->cuModuleGetFunction(&context->gate, module, "pdl_watch_gate");
    }
    if (result != CUDA_SUCCESS) {
        context->gate = NULL;
        pdl_watch_say("nothing is delayed: the driver does not load the kernel for that: error %d",
                      (int)result);
        return;
    }
    if (amplify.load_ns > 0 && driver->cuStreamCreateWithPriority != NULL &&
        driver->cuCtxGetDevice != NULL && driver->cuDeviceGetAttribute != NULL &&
        driver->cuModuleGetFunction(&context->load, module, "pdl_watch_load") == CUDA_SUCCESS &&
        driver->cuCtxGetDevice(&device) == CUDA_SUCCESS &&
        driver->cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) ==
            CUDA_SUCCESS &&
        driver->cuStreamCreateWithPriority(&context->stream, CU_STREAM_NON_BLOCKING, 0) ==
            CUDA_SUCCESS) {
        context->sms = (unsigned)sms;
    } else {
        context->load = NULL;
    }
}

/* Of the current context; NULL if there is none. */
static const struct context *context_now(const struct pdl_watch_driver *driver)
{
    CUcontext current = NULL;
    if (driver->cuCtxGetCurrent(&current) != CUDA_SUCCESS || current == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < amplify.context_count; i++) {
        if (amplify.contexts[i].context == current) {
            return &amplify.contexts[i];
        }
    }
    if (!PDL_ARRAY_ROOM(amplify.contexts, amplify.context_count, amplify.context_capacity)) {
        return NULL;
    }
    struct context made = {.context = current};
    CUstreamCaptureMode mode =
        CU_STREAM_CAPTURE_MODE_RELAXED; /* loading is fine while others capture */
    if (driver->cuThreadExchangeStreamCaptureMode != NULL) {
        (void)driver->cuThreadExchangeStreamCaptureMode(&mode);
    }
    load_kernels(driver, &made);
    if (driver->cuThreadExchangeStreamCaptureMode != NULL) {
        (void)driver->cuThreadExchangeStreamCaptureMode(&mode);
    }
    struct context *const kept = &amplify.contexts[amplify.context_count++];
    *kept = made;
    return kept;
}

static bool hold_up(CUstream stream, bool per_thread)
{
    const struct pdl_watch_driver *const driver = pdl_watch_driver();
    if (amplify.gate_ns == 0 || driver == NULL || driver->cuCtxGetCurrent == NULL ||
        driver->cuModuleLoadData == NULL || driver->cuModuleGetFunction == NULL ||
        driver->cuLaunchKernel == NULL) {
        return false;
    }
    const struct context *const context = context_now(driver);
    if (context == NULL || context->gate == NULL) {
        return false;
    }
    if (stream == NULL) { /* the driver's plain call takes the legacy one */
        stream = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    }
    uint64_t ns = amplify.gate_ns + amplify.load_ns;
    void *parameters[] = {&ns};
    if (context->load != NULL && !pdl_watch_is_captured(stream, per_thread)) {
        (void)driver->cuLaunchKernel(context->load, context->sms, 1, 1, LOAD_THREADS, 1, 1, 0,
                                     context->stream, parameters, NULL);
    }
    ns = amplify.gate_ns;
    return driver->cuLaunchKernel(context->gate, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL) ==
           CUDA_SUCCESS;
}

bool pdl_watch_amplify(struct pdl_watch_kernel *kernel, CUstream stream, bool per_thread,
                       uint64_t key, bool raced)
{
    bool held = false;
    pdl_lock_take(&amplify.lock);
    if (!amplify.read) {
        read_times();
    }
    struct last *const last = last_of(key);
    if (last != NULL) {
        held = raced && last->held;
        if (raced && last->kernel != NULL) {
            add_primary(last->kernel);
        }
        last->kernel = kernel;
        last->next = last->next > 0 ? last->next - 1 : 0;
        last->held =
            is_primary(kernel) && (!raced || last->next == 0) && hold_up(stream, per_thread);
        if (last->held) {
            last->next = 2 + draw(APART - 1);
        }
    }
    pdl_lock_release(&amplify.lock);
    return held;
}
