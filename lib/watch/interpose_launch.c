/* SPDX-License-Identifier: MIT */
/* Launches as the interposer makes them: as the program wants them but for the overlap, which rules add and take out.
 *
 * Taken out is the attribute for programmatic stream serialization. Programmatic and launch-completion events stay:
 * other streams and later calls of the program count on them. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "watch/amplify.h"
#include "watch/change.h"
#include "watch/driver.h"
#include "watch/interpose.h"
#include "watch/watch.h"

enum {
    ATTRIBUTES_MOST = 32,
    CAPABILITY_LEAST = 90, /* of the device and of the code */
    RULES_MOST = 64 << 20,
    STREAMS = 4096,
    DEVICE_UPDATABLE = 13 /* CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, from CUDA 12.4 */
};
#define OVERLAP_ATTRIBUTE CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION

/* ---- the rules ------------------------------------------------------------------------------------- */

static struct {
    struct pdl_watch_rules *rules; /* NULL: none */
    bool add, delay;
} wanted;

static void load_rules(void)
{
    const char *const path = pdl_watch_settings()->rules;
    struct stat about;
    size_t size = 0;
    size_t line = 0;
    if (path == NULL) {
        return;
    }
    const int file = pdl_file_open(AT_FDCWD, path, O_CLOEXEC, &about);
    char *const text = file >= 0 ? pdl_file_take(file, RULES_MOST, &size) : NULL;
    if (file >= 0) {
        (void)close(file);
    }
    if (text == NULL) {
        pdl_watch_say("no launch is changed: the rules in %s cannot be read", path);
        return;
    }
    wanted.rules = pdl_watch_rules_read(text, size, &line);
    free(text);
    if (wanted.rules == NULL) {
        pdl_watch_say(
            "no launch is changed: line %zu of the rules in %s is not one of off, on, keep "
            "and delay with a pattern",
            line, path);
        return;
    }
    wanted.add = pdl_watch_rules_add(wanted.rules);
    wanted.delay = pdl_watch_rules_delay(wanted.rules);
}

/* NULL: there are none. */
static const struct pdl_watch_rules *rules(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load_rules);
    return wanted.rules;
}

/* What is done to a launch. What the rules say of a name is found out once. */
static enum pdl_watch_change find_change(const struct pdl_watch_call *call, bool *delay)
{
    enum { KNOWN = 1 << 8, DELAYED = 1 << 9 };
    struct pdl_watch_kernel *const kernel = call->function->kernel;
    uint32_t said = atomic_load_explicit(&kernel->rule, memory_order_relaxed);
    if (said == 0) {
        said = KNOWN | (uint32_t)pdl_watch_rules_find(wanted.rules, kernel->text, delay);
        said |= *delay ? DELAYED : 0;
        atomic_store_explicit(&kernel->rule, said, memory_order_relaxed);
    }
    *delay = (said & DELAYED) != 0;
    return (enum pdl_watch_change)(said & (KNOWN - 1));
}

/* ---- what a launch may follow ------------------------------------------------------------------------ */

/* A kernel's wait is for the kernel in front of it. If that one overlaps as well and does not wait, what is in front of both
 * may still run when the wait returns. So nothing is added behind a launch that the program overlaps and that is
 * not proved to wait.
 *
 * These are the streams whose last launch is such a one, by a hash of the stream. Of two streams in one place nothing is
 * known any more. */
static _Atomic uint64_t unsafe[STREAMS]; /* 0: none */
#define SEVERAL UINT64_MAX

/* Which stream it is: the default ones are of a context, and of a thread. Never 0. */
static uint64_t key_of(CUstream stream, bool per_thread)
{
    static __thread char place;
    const struct pdl_watch_driver *const driver = pdl_watch_driver();
    uint64_t key = pdl_watch_stream(stream, per_thread);
    if (key <= 2) {
        CUcontext context = NULL;
        if (driver != NULL && driver->cuCtxGetCurrent != NULL) {
            (void)driver->cuCtxGetCurrent(&context);
        }
        key |= (uint64_t)(uintptr_t)context << 2;
        key ^= key % 4 == 2 ? (uint64_t)(uintptr_t)&place << 8 : 0;
    }
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return key != 0 && key != SEVERAL ? key : 1;
}

static bool is_safe(uint64_t key)
{
    const uint64_t found =
        atomic_load_explicit(&unsafe[key >> 52], memory_order_relaxed); /* 12 bits */
    return found != key && found != SEVERAL;
}

static void note_launch(uint64_t key, bool safe)
{
    _Atomic uint64_t *const place = &unsafe[key >> 52];
    uint64_t found = atomic_load_explicit(place, memory_order_relaxed);
    uint64_t next = 0;
    do {
        if (safe) {
            next = found == key ? 0 : found;
        } else {
            next = found == 0 || found == key ? key : SEVERAL;
        }
    } while (next != found && !atomic_compare_exchange_weak(place, &found, next));
}

/* ---- a launch ------------------------------------------------------------------------------------------ */

/* A launch, whichever call makes it. */
struct launch {
    const CUlaunchConfig *config; /* as the program wants it */
    CUfunction function;
    void **parameters, **extra;
    bool per_thread, cooperative;
    pdl_watch_function_pointer real; /* what the program would have called */
    enum pdl_watch_hooks hook;       /* with what type that is */
    PFN_cuLaunchKernelEx_v11060 real_ex;
};

/* The configuration as it is changed. */
struct changed {
    CUlaunchConfig config;
    CUlaunchAttribute attributes[ATTRIBUTES_MOST + 1];
};

static CUresult launch_as_is(const struct launch *launch)
{
    const CUlaunchConfig *const config = launch->config;
    switch ((int)launch->hook) {
    case PDL_WATCH_HOOK_LAUNCH_EX:
    case PDL_WATCH_HOOK_LAUNCH_EX_PTSZ:
        return ((PFN_cuLaunchKernelEx_v11060)launch->real)(config, launch->function,
                                                           launch->parameters, launch->extra);
    case PDL_WATCH_HOOK_LAUNCH:
    case PDL_WATCH_HOOK_LAUNCH_PTSZ:
        return ((PFN_cuLaunchKernel_v4000)launch->real)(
            launch->function, config->gridDimX, config->gridDimY, config->gridDimZ,
            config->blockDimX, config->blockDimY, config->blockDimZ, config->sharedMemBytes,
            config->hStream, launch->parameters, launch->extra);
    default:
        return ((PFN_cuLaunchCooperativeKernel_v9000)launch->real)(
            launch->function, config->gridDimX, config->gridDimY, config->gridDimZ,
            config->blockDimX, config->blockDimY, config->blockDimZ, config->sharedMemBytes,
            config->hStream, launch->parameters);
    }
}

/* Copies the configuration with the attribute or without. */
static void copy_config(const CUlaunchConfig *config, bool overlap, struct changed *changed)
{
    unsigned count = 0;
    changed->config = *config;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        if (config->attrs[i].id != OVERLAP_ATTRIBUTE) {
            changed->attributes[count++] = config->attrs[i];
        }
    }
    if (overlap) {
        CUlaunchAttribute *const added = &changed->attributes[count++];
        memset(added, 0, sizeof(*added));
        added->id = OVERLAP_ATTRIBUTE;
        added->value.programmaticStreamSerializationAllowed = 1;
    }
    changed->config.attrs = changed->attributes;
    changed->config.numAttrs = count;
}

/* The driver writes the handle of a node into an attribute: the program looks for it in its own. */
static void copy_back(const struct changed *changed, const CUlaunchConfig *config)
{
    for (unsigned i = 0; i < config->numAttrs; i++) {
        for (unsigned k = 0;
             (int)config->attrs[i].id == DEVICE_UPDATABLE && k < changed->config.numAttrs; k++) {
            if ((int)changed->attributes[k].id == DEVICE_UPDATABLE) {
                config->attrs[i].value = changed->attributes[k].value;
            }
        }
    }
}

/* Whether an overlap may be added. */
static bool may_add(const struct launch *launch, const struct pdl_watch_call *call, uint64_t key)
{
    struct pdl_watch_loaded *const function = call->function;
    return launch->real_ex != NULL && function->capability >= CAPABILITY_LEAST &&
           function->ptx_version >= CAPABILITY_LEAST && is_safe(key) &&
           pdl_watch_prove(function) == PDL_WATCH_PROVED_YES;
}

/* What becomes of the launch: flags of the call, and whether `changed` is to be launched. */
static bool decide(const struct launch *launch, struct pdl_watch_call *call, uint64_t key,
                   struct changed *changed)
{
    bool delay = false;
    const uint32_t flags = pdl_watch_flags_of(launch->config->attrs, launch->config->numAttrs);
    const bool asked = (flags & PDL_WATCH_OVERLAP) != 0;
    const bool fits = launch->config->numAttrs <= ATTRIBUTES_MOST;
    const enum pdl_watch_change change = find_change(call, &delay);
    bool overlaps = asked;
    call->flags |= asked ? PDL_WATCH_ASKED : 0;
    if (change == PDL_WATCH_OFF && asked && fits) {
        call->flags |= PDL_WATCH_REMOVED;
        overlaps = false;
    } else if (change == PDL_WATCH_ON && !asked && fits && !launch->cooperative &&
               (flags & PDL_WATCH_COOPERATIVE) == 0) { /* those do not overlap anyway */
        overlaps = may_add(launch, call, key);
        call->flags |= overlaps ? PDL_WATCH_ADDED : PDL_WATCH_NOT_PROVED;
    }
    if (overlaps != asked) {
        copy_config(launch->config, overlaps, changed);
    }
    if (wanted.delay) {
        const struct pdl_watch_call kept = *call;
        call->recorded = true; /* launches in there are not the program's */
        call->flags = 0;
        const bool held = pdl_watch_amplify(call->function->kernel, launch->config->hStream,
                                            launch->per_thread, key, delay && overlaps);
        *call = kept;
        call->flags |= held ? PDL_WATCH_AMPLIFIED : 0;
    }
    return overlaps != asked;
}

/* Whether the next launch of the stream may be given an overlap. */
static void note(struct pdl_watch_call *call, const CUlaunchConfig *config, uint64_t key)
{
    const bool overlaps =
        (pdl_watch_flags_of(config->attrs, config->numAttrs) & PDL_WATCH_OVERLAP) != 0;
    note_launch(key, !overlaps || (call->flags & PDL_WATCH_ADDED) != 0 ||
                         (call->function->ptx_version >= CAPABILITY_LEAST &&
                          pdl_watch_prove(call->function) == PDL_WATCH_PROVED_YES));
}

static CUresult launch_watched(const struct launch *launch)
{
    struct pdl_watch_call *const call = pdl_watch_call();
    const CUlaunchConfig *config = launch->config;
    struct changed changed;
    CUresult result = CUDA_SUCCESS;
    uint64_t key = 0;
    pdl_watch_call_begin(call, launch->function);
    const bool has_rules = call->function != NULL && rules() != NULL;
    if (has_rules && (wanted.add || wanted.delay)) {
        key = key_of(config->hStream, launch->per_thread);
    }
    if (has_rules && decide(launch, call, key, &changed)) {
        const uint32_t flags = call->flags;
        config = &changed.config;
        result = launch->real_ex(config, launch->function, launch->parameters, launch->extra);
        copy_back(&changed, launch->config);
        if ((result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_NOT_SUPPORTED) &&
            (call->flags & PDL_WATCH_ADDED) != 0) { /* that does not go with it */
            call->flags = flags & ~(uint32_t)PDL_WATCH_ADDED;
            call->recorded = false;
            config = launch->config;
            result = launch_as_is(launch);
        }
    } else {
        result = launch_as_is(launch);
    }
    if (has_rules && wanted.add && result == CUDA_SUCCESS) {
        note(call, config, key);
    }
    if (!pdl_watch_cupti_runs()) {
        pdl_watch_device(0);
    }
    pdl_watch_call_record(call, config, pdl_watch_stream(config->hStream, launch->per_thread),
                          result, 0, 0);
    call->active = false;
    return result;
}

static CUresult make_launch(struct launch *launch, enum pdl_watch_hooks hook)
{
    launch->hook = hook;
    launch->real = pdl_watch_real(hook);
    if (launch->real == NULL) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (pdl_watch_depth > 0 || launch->config == NULL || !pdl_watch_is_wanted()) {
        return launch_as_is(launch);
    }
    launch->real_ex = (PFN_cuLaunchKernelEx_v11060)pdl_watch_real(
        launch->per_thread ? PDL_WATCH_HOOK_LAUNCH_EX_PTSZ : PDL_WATCH_HOOK_LAUNCH_EX);
    pdl_watch_depth++;
    const CUresult result = launch_watched(launch);
    pdl_watch_depth--;
    return result;
}

/* ---- the calls ------------------------------------------------------------------------------------------ */

#define DIMENSIONS                                                                                 \
    unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,         \
        unsigned block_z, unsigned shared, CUstream stream

static CUresult launch_ex(const CUlaunchConfig *config, CUfunction function, void **parameters,
                          void **extra, enum pdl_watch_hooks hook)
{
    struct launch launch = {.config = config,
                            .function = function,
                            .parameters = parameters,
                            .extra = extra,
                            .per_thread = hook == PDL_WATCH_HOOK_LAUNCH_EX_PTSZ};
    return make_launch(&launch, hook);
}

static CUresult launch_plain(CUfunction function, DIMENSIONS, void **parameters, void **extra,
                             enum pdl_watch_hooks hook)
{
    const CUlaunchConfig config = {.gridDimX = grid_x,
                                   .gridDimY = grid_y,
                                   .gridDimZ = grid_z,
                                   .blockDimX = block_x,
                                   .blockDimY = block_y,
                                   .blockDimZ = block_z,
                                   .sharedMemBytes = shared,
                                   .hStream = stream};
    struct launch launch = {.config = &config,
                            .function = function,
                            .parameters = parameters,
                            .extra = extra,
                            .per_thread = hook == PDL_WATCH_HOOK_LAUNCH_PTSZ};
    return make_launch(&launch, hook);
}

static CUresult launch_cooperative(CUfunction function, DIMENSIONS, void **parameters,
                                   enum pdl_watch_hooks hook)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE};
    attribute.value.cooperative = 1;
    const CUlaunchConfig config = {.gridDimX = grid_x,
                                   .gridDimY = grid_y,
                                   .gridDimZ = grid_z,
                                   .blockDimX = block_x,
                                   .blockDimY = block_y,
                                   .blockDimZ = block_z,
                                   .sharedMemBytes = shared,
                                   .hStream = stream,
                                   .attrs = &attribute,
                                   .numAttrs = 1};
    struct launch launch = {.config = &config,
                            .function = function,
                            .parameters = parameters,
                            .per_thread = hook == PDL_WATCH_HOOK_COOPERATIVE_PTSZ,
                            .cooperative = true};
    return make_launch(&launch, hook);
}

#define GIVEN grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream

PDL_WATCH_HOOK(cuLaunchKernelEx, const CUlaunchConfig *config, CUfunction function,
               void **parameters, void **extra)
{
    return launch_ex(config, function, parameters, extra, PDL_WATCH_HOOK_LAUNCH_EX);
}

PDL_WATCH_HOOK(cuLaunchKernelEx_ptsz, const CUlaunchConfig *config, CUfunction function,
               void **parameters, void **extra)
{
    return launch_ex(config, function, parameters, extra, PDL_WATCH_HOOK_LAUNCH_EX_PTSZ);
}

PDL_WATCH_HOOK(cuLaunchKernel, CUfunction function, DIMENSIONS, void **parameters, void **extra)
{
    return launch_plain(function, GIVEN, parameters, extra, PDL_WATCH_HOOK_LAUNCH);
}

PDL_WATCH_HOOK(cuLaunchKernel_ptsz, CUfunction function, DIMENSIONS, void **parameters,
               void **extra)
{
    return launch_plain(function, GIVEN, parameters, extra, PDL_WATCH_HOOK_LAUNCH_PTSZ);
}

PDL_WATCH_HOOK(cuLaunchCooperativeKernel, CUfunction function, DIMENSIONS, void **parameters)
{
    return launch_cooperative(function, GIVEN, parameters, PDL_WATCH_HOOK_COOPERATIVE);
}

PDL_WATCH_HOOK(cuLaunchCooperativeKernel_ptsz, CUfunction function, DIMENSIONS, void **parameters)
{
    return launch_cooperative(function, GIVEN, parameters, PDL_WATCH_HOOK_COOPERATIVE_PTSZ);
}
