/* SPDX-License-Identifier: MIT */
/* The model of CUDA: failures by chance, what is live, and who watches kernels run. */
#include <string.h>

#include "mock_entry.h"
#include "soak.h"

#define RESULTS 16

static struct {
    uint64_t state;
    unsigned per_million;
    size_t count;
    CUresult results[RESULTS];
} chance;

static _Thread_local unsigned long failures;
static _Thread_local const char *failed_call;
static _Thread_local CUresult failed_result;

static void (*watcher)(const struct mock_seen *seen, void *user);
static void *watcher_user;

/* ------------------------------------------------------------------------------------------------
 * Failures
 * ---------------------------------------------------------------------------------------------- */

/* SplitMix64. */
static uint64_t next_random(void)
{
    uint64_t word = chance.state += 0x9e3779b97f4a7c15u;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
}

void mock_fail_randomly(uint64_t seed, unsigned per_million, const CUresult *results, size_t count)
{
    static const CUresult several[] = {
        CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED,
        CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_NOT_READY,     CUDA_ERROR_UNKNOWN,
    };
    if (results == NULL || count == 0) {
        results = several;
        count = sizeof(several) / sizeof(several[0]);
    }
    mock_lock("mock_fail_randomly");
    chance.state = seed;
    chance.per_million = per_million;
    chance.count = count < RESULTS ? count : RESULTS;
    memcpy(chance.results, results, chance.count * sizeof(*results));
    (void)mock_leave(CUDA_SUCCESS);
}

bool mock_is_answer(enum mock_entry entry, CUresult result)
{
    return entry == MOCK_cuCtxGetDevResource ||
           (result == CUDA_ERROR_INVALID_VALUE &&
            (entry == MOCK_cuFuncGetParamInfo || entry == MOCK_cuKernelGetParamInfo));
}

CUresult mock_chance(enum mock_entry entry)
{
    if (chance.per_million == 0 || entry == MOCK_cuGetErrorName ||
        entry == MOCK_cuCtxGetDevResource || /* without which the device counts */
        next_random() % 1000000 >= chance.per_million) {
        return CUDA_SUCCESS;
    }
    const CUresult result = chance.results[next_random() % chance.count];
    return mock_is_answer(entry, result) ? CUDA_ERROR_UNKNOWN : result;
}

void mock_note_failure(const char *call, CUresult result)
{
    failures++;
    failed_call = call;
    failed_result = result;
}

unsigned long mock_failures(const char **call, CUresult *result)
{
    if (call != NULL) {
        *call = failed_call;
    }
    if (result != NULL) {
        *result = failed_result;
    }
    return failures;
}

/* ------------------------------------------------------------------------------------------------
 * What is live
 * ---------------------------------------------------------------------------------------------- */

void mock_count_live(struct mock_live *live)
{
    mock_lock("mock_count_live");
    *live = (struct mock_live){
        .libraries = mock.live_libraries,
        .graphs = mock.live_graphs,
        .nodes = mock.live_nodes,
        .execs = mock.live_execs,
        .events = mock.live_events,
        .streams = mock.live_streams,
        .allocations = mock.live_allocations,
        .contexts = mock_context_depth,
    };
    (void)mock_leave(CUDA_SUCCESS);
}

void mock_take_misuse(char *text, size_t size)
{
    mock_lock("mock_take_misuse");
    (void)snprintf(text, size, "%s", mock.misuse);
    (void)mock_leave(CUDA_SUCCESS);
}

/* ------------------------------------------------------------------------------------------------
 * Kernels that run
 * ---------------------------------------------------------------------------------------------- */

/* FNV-1a, of 64 bits. */
static uint64_t checksum_of(const unsigned char *bytes, size_t size)
{
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++) {
        sum = (sum ^ bytes[i]) * 0x100000001b3u;
    }
    return sum != 0 ? sum : 1;
}

/* Puts arguments one after the other; gives how many bytes they are. */
static size_t pack(unsigned char *bytes, size_t room, void *const *arguments, const size_t *sizes,
                   size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count && sizes[i] <= room - at; i++) {
        memcpy(bytes + at, arguments[i], sizes[i]);
        at += sizes[i];
    }
    return at;
}

uint64_t mock_checksum(void *const *arguments, const size_t *sizes, size_t count)
{
    unsigned char bytes[MOCK_PARAMETERS * MOCK_ARGUMENT];
    return checksum_of(bytes, pack(bytes, sizeof(bytes), arguments, sizes, count));
}

void mock_watch(void (*watch)(const struct mock_seen *seen, void *user), void *user)
{
    mock_lock("mock_watch");
    watcher = watch;
    watcher_user = user;
    (void)mock_leave(CUDA_SUCCESS);
}

static void show(struct mock_seen *seen, const struct mock_kernel *kernel, void *const *arguments)
{
    unsigned char bytes[MOCK_PARAMETERS * MOCK_ARGUMENT];
    const size_t count = arguments != NULL ? kernel->parameter_count : 0;
    seen->kernel = kernel->name;
    seen->arguments = bytes;
    seen->size = pack(bytes, sizeof(bytes), arguments, kernel->parameter_sizes, count);
    seen->checksum = checksum_of(bytes, seen->size);
    watcher(seen, watcher_user);
}

void mock_see_launch(const CUlaunchConfig *config, const struct mock_kernel *kernel,
                     void *const *arguments)
{
    struct mock_seen seen = {
        .stream = config->hStream,
        .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
        .shared = config->sharedMemBytes,
        .attribute_count = config->numAttrs,
    };
    if (watcher != NULL) {
        show(&seen, kernel, arguments);
    }
}

void mock_see_node(CUgraphExec exec, unsigned number, CUstream stream,
                   const struct mock_node_params *params)
{
    void *arguments[MOCK_PARAMETERS];
    int device = 0;
    const struct mock_kernel *kernel =
        watcher != NULL ? mock_kernel_of_params(params, &device) : NULL;
    struct mock_seen seen = {
        .stream = stream,
        .exec = exec,
        .node = number,
        .grid = {params->grid[0], params->grid[1], params->grid[2]},
        .block = {params->block[0], params->block[1], params->block[2]},
        .shared = params->shared,
        .attribute_count = params->attribute_count,
    };
    for (size_t i = 0; i < MOCK_PARAMETERS; i++) {
        arguments[i] = (void *)(uintptr_t)params->arguments[i];
    }
    if (kernel != NULL) {
        show(&seen, kernel, arguments);
    }
}

void mock_forget_soak(void)
{
    memset(&chance, 0, sizeof(chance));
    watcher = NULL;
    failures = 0;
    failed_call = NULL;
    failed_result = CUDA_SUCCESS;
}
