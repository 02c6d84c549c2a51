/* SPDX-License-Identifier: MIT */
/* A libcupti.so that watches the driver of watched_cuda.c, as well as it is told to.
 *
 * MOCK_CUPTI, words with a comma between two:
 *   version=N    what cuptiGetVersion() says
 *   taken        another profiler has subscribed
 *   fail=K       the K-th call of the library fails
 *   fail_from=K  so do all behind it
 *   calls=FILE   where the number of calls is written at the end
 *   seed=N       callbacks and records go astray as N decides: lost, twice, out of order, with absurd times, of kinds that
 *                nobody knows, with no name or a huge one
 *   reverse      records come in the opposite order
 *   zero, backwards, future   the times of all records
 *   unknown      before each record comes one of a kind that nobody knows
 *   null, huge   names of kernels
 *   lost=N       cuptiActivityGetNumDroppedRecords() says so, once
 *   never        no record is delivered
 *   late         they are delivered when the process ends, after all that the watcher does
 *   thread       one delivers them while the program runs and ends
 *   threads      four at a time deliver them
 *   small        a buffer has one record
 */
#define _GNU_SOURCE
#include "mock_cupti.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "watched_cuda.h"

enum { PENDING = 64, THREADS = 4, KERNEL_NS = 1000000 };

struct mock_plan mock_plan;
struct mock_state mock_state;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic unsigned long call_count;
static char huge_name[1 << 16];

void mock_state_lock(void)
{
    (void)pthread_mutex_lock(&lock);
}

void mock_state_unlock(void)
{
    (void)pthread_mutex_unlock(&lock);
}

/* ------------------------------------------------------------------------------------------------
 * The plan
 * ---------------------------------------------------------------------------------------------- */

static bool word_is(const char *word, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(word, name, length) == 0;
}

static void read_word(const char *word, size_t length)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {
        {"taken", &mock_plan.taken},   {"reverse", &mock_plan.reverse},
        {"zero", &mock_plan.zero},     {"backwards", &mock_plan.backwards},
        {"future", &mock_plan.future}, {"unknown", &mock_plan.unknown},
        {"null", &mock_plan.null},     {"huge", &mock_plan.huge},
        {"never", &mock_plan.never},   {"late", &mock_plan.late},
        {"thread", &mock_plan.thread}, {"threads", &mock_plan.threads},
        {"small", &mock_plan.small},
    };
    const char *equals = memchr(word, '=', length);
    const size_t name = equals != NULL ? (size_t)(equals - word) : length;
    const char *value = equals != NULL ? equals + 1 : "";
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (word_is(word, length, flags[i].name)) {
            *flags[i].flag = true;
            return;
        }
    }
    if (word_is(word, name, "version")) {
        mock_plan.version = (uint32_t)strtoul(value, NULL, 10);
    } else if (word_is(word, name, "fail")) {
        mock_plan.fail = strtoul(value, NULL, 10);
    } else if (word_is(word, name, "fail_from")) {
        mock_plan.fail_from = strtoul(value, NULL, 10);
    } else if (word_is(word, name, "lost")) {
        mock_plan.lost = strtoul(value, NULL, 10);
    } else if (word_is(word, name, "seed")) {
        mock_plan.seed = strtoull(value, NULL, 10);
    } else if (word_is(word, name, "calls")) {
        mock_plan.calls = strndup(value, length - name - 1);
    } else if (length > 0) {
        (void)fprintf(stderr, "MOCK_CUPTI: %.*s is unknown\n", (int)length, word);
        abort();
    }
}

uint64_t mock_now(void)
{
    struct timespec time;
    if (mock_state.clock != NULL) {
        return mock_state.clock();
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &time); /* CUPTI's own clock is another one */
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec + 1000000000000000u;
}

/* SplitMix64. */
static unsigned chance(unsigned of)
{
    uint64_t word = mock_state.random += 0x9e3779b97f4a7c15u;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return (unsigned)((word ^ (word >> 31)) % of);
}

bool mock_call_fails(void)
{
    const unsigned long call = atomic_fetch_add(&call_count, 1) + 1;
    return call == mock_plan.fail || (mock_plan.fail_from != 0 && call >= mock_plan.fail_from);
}

/* ------------------------------------------------------------------------------------------------
 * Numbers of objects
 * ---------------------------------------------------------------------------------------------- */

/* A handle is used again when its object is gone: the last one of that address counts. */
uint64_t mock_id_of(const void *object)
{
    for (unsigned i = mock_state.id_count; i > 0; i--) {
        if (mock_state.ids[i - 1].object == object) {
            return mock_state.ids[i - 1].id;
        }
    }
    return 0;
}

static uint64_t give_id(const void *object)
{
    if (mock_state.id_count == MOCK_IDS) {
        return 0;
    }
    mock_state.ids[mock_state.id_count].object = object;
    mock_state.ids[mock_state.id_count].id = ((uint64_t)2 << 32) + mock_state.id_count + 1;
    return mock_state.ids[mock_state.id_count++].id;
}

uint64_t mock_have_id(const void *object)
{
    const uint64_t id = mock_id_of(object);
    return id != 0 ? id : give_id(object);
}

static uint32_t context_id(const void *context)
{
    return (uint32_t)mock_have_id(context);
}

/* ------------------------------------------------------------------------------------------------
 * Delivery
 * ---------------------------------------------------------------------------------------------- */

/* Fills a buffer and gives it back. In it each record has its size in front. */
static struct mock_record *deliver_some(struct mock_record *record)
{
    uint8_t *buffer = NULL;
    size_t size = 0;
    size_t most = 0;
    size_t used = 0;
    size_t count = 0;
    mock_state.request(&buffer, &size, &most);
    most = mock_plan.small ? 1 : most != 0 ? most : SIZE_MAX;
    while (record != NULL && count < most && (buffer == NULL || used + 8 + record->size <= size)) {
        struct mock_record *const next = record->next;
        if (buffer != NULL) { /* else it is dropped */
            memcpy(buffer + used, &record->size, 8);
            memcpy(buffer + used + 8, record->bytes, record->size);
            used += 8 + record->size;
        }
        count++;
        free(record);
        record = next;
    }
    if (count == 0) {
        abort(); /* a buffer without room for one record */
    }
    if (buffer != NULL) {
        mock_state.complete(NULL, 0, buffer, size, used);
    }
    return record;
}

static void *deliver(void *list)
{
    struct mock_record *record = list;
    while (record != NULL) {
        record = deliver_some(record);
    }
    return NULL;
}

static struct mock_record *reversed(struct mock_record *list)
{
    struct mock_record *turned = NULL;
    while (list != NULL) {
        struct mock_record *const next = list->next;
        list->next = turned;
        turned = list;
        list = next;
    }
    return turned;
}

void mock_deliver(void)
{
    mock_state_lock();
    struct mock_record *list = mock_state.first;
    const bool turn = mock_plan.reverse || (mock_plan.seed != 0 && chance(2) == 0);
    mock_state.first = NULL;
    mock_state.last = NULL;
    mock_state.pending = 0;
    mock_state_unlock();
    if (turn) {
        list = reversed(list);
    }
    if (!mock_plan.threads) {
        (void)deliver(list);
        return;
    }
    pthread_t threads[THREADS];
    struct mock_record *parts[THREADS] = {NULL};
    for (unsigned i = 0; list != NULL; i++) {
        struct mock_record *const next = list->next;
        list->next = parts[i % THREADS];
        parts[i % THREADS] = list;
        list = next;
    }
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, deliver, parts[i]) != 0) {
            abort();
        }
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

void *mock_deliver_on(void *none)
{
    for (;;) {
        const struct timespec pause = {.tv_nsec = 200000};
        (void)nanosleep(&pause, NULL);
        mock_deliver();
    }
    return none;
}

static void append(const void *bytes, size_t size)
{
    struct mock_record *const record = calloc(1, sizeof(*record));
    if (record == NULL || size > sizeof(record->bytes)) {
        abort();
    }
    record->size = (size + 7) / 8 * 8;
    memcpy(record->bytes, bytes, size);
    if (mock_state.last != NULL) {
        mock_state.last->next = record;
    } else {
        mock_state.first = record;
    }
    mock_state.last = record;
    mock_state.pending++;
}

/* What happens to a record's times, by the plan or by chance. */
static void bend(uint64_t *start, uint64_t *end, unsigned fate)
{
    if (mock_plan.zero || fate == 1) {
        *start = 0;
        *end = 0;
    } else if (mock_plan.backwards || fate == 2) {
        *end = *start - 1000000;
    } else if (mock_plan.future || fate == 3) {
        *start = UINT64_MAX - 10;
        *end = UINT64_MAX;
    }
}

static void append_record(const void *bytes, size_t size, unsigned fate)
{
    if (mock_plan.unknown || fate == 4) {
        const uint32_t strange[16] = {4711, 0xffffffff, 0xffffffff};
        append(strange, sizeof(strange));
    }
    if (fate != 5) {
        append(bytes, size);
    }
    if (fate == 6) {
        append(bytes, size);
    }
}

/* ------------------------------------------------------------------------------------------------
 * What the driver shows
 * ---------------------------------------------------------------------------------------------- */

static void send(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    mock_state_lock();
    CUpti_CallbackFunc callback = mock_state.callback;
    void *const user = mock_state.user;
    const bool wanted = mock_state.domains[domain] ||
                        (domain == CUPTI_CB_DOMAIN_DRIVER_API
                             ? id < CUPTI_DRIVER_TRACE_CBID_SIZE && mock_state.calls[id] != 0
                             : id < CUPTI_CBID_RESOURCE_SIZE && mock_state.resources[id] != 0);
    mock_state_unlock();
    if (callback != NULL && wanted) {
        callback(user, domain, id, data);
    }
}

static unsigned fate_of(unsigned of)
{
    mock_state_lock();
    const unsigned fate = mock_plan.seed != 0 ? chance(of) : 0;
    mock_state_unlock();
    return fate;
}

static void see_call(struct watched_call *call, bool exit)
{
    const unsigned fate = fate_of(24);
    mock_state_lock();
    CUpti_CallbackData data = {.callbackSite = exit ? CUPTI_API_EXIT : CUPTI_API_ENTER,
                               .functionName = call->name,
                               .functionParams = call->params,
                               .functionReturnValue = exit ? &call->result : NULL,
                               .symbolName = call->symbol,
                               .context = call->context,
                               .contextUid = call->context != NULL ? context_id(call->context) : 0,
                               .correlationData = &call->data,
                               .correlationId = call->correlation};
    mock_state_unlock();
    if (fate == 1) {
        data.symbolName = NULL;
    }
    if (fate == 2) {
        data.contextUid = 0xffffffff;
    }
    if (fate != 3) {
        send(CUPTI_CB_DOMAIN_DRIVER_API, call->id, &data);
    }
    if (fate == 4) {
        send(CUPTI_CB_DOMAIN_DRIVER_API, call->id, &data);
    }
}

static void see_resource(uint32_t id, CUcontext context, void *descriptor)
{
    const CUpti_ResourceData data = {.context = context, .resourceDescriptor = descriptor};
    const CUpti_GraphData *const graph = descriptor;
    const unsigned fate = fate_of(24);
    mock_state_lock();
    if (id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) {
        (void)give_id(context);
    } else if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED ||
               id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
        (void)give_id(graph->node);
    } else if (id == CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING) {
        (void)give_id(graph->graphExec);
    }
    mock_state_unlock();
    if (fate != 1) {
        send(CUPTI_CB_DOMAIN_RESOURCE, id, &data);
    }
    if (fate == 2) {
        send(CUPTI_CB_DOMAIN_RESOURCE, id, &data);
    }
}

static uint64_t *end_of(CUstream stream)
{
    for (int i = 0; i < MOCK_STREAMS; i++) {
        if (mock_state.streams[i].stream == stream || mock_state.streams[i].end == 0) {
            mock_state.streams[i].stream = stream;
            return &mock_state.streams[i].end;
        }
    }
    return &mock_state.streams[0].end;
}

uint32_t mock_stream_id(CUstream stream)
{
    return stream == NULL ? 7 : 100 + (uint32_t)mock_have_id(stream);
}

static void append_kernel(const struct watched_work *work, uint64_t start, uint64_t end,
                          unsigned fate)
{
    CUpti_ActivityKernel10 kernel;
    memset(&kernel, 0, sizeof(kernel));
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kernel.start = start;
    kernel.end = end;
    kernel.contextId = context_id(work->context);
    kernel.streamId = mock_stream_id(work->stream);
    kernel.correlationId = fate == 9 ? 0xfffffff0 : work->correlation;
    kernel.gridX = (int32_t)work->grid[0];
    kernel.gridY = (int32_t)work->grid[1];
    kernel.gridZ = (int32_t)work->grid[2];
    kernel.blockX = (int32_t)work->block[0];
    kernel.blockY = (int32_t)work->block[1];
    kernel.blockZ = (int32_t)work->block[2];
    kernel.registersPerThread = 32;
    kernel.dynamicSharedMemory = (int32_t)work->shared;
    kernel.name = mock_plan.null || fate == 7   ? NULL
                  : mock_plan.huge || fate == 8 ? huge_name
                                                : work->name;
    kernel.graphNodeId = work->node != NULL ? mock_have_id(work->node) : 0;
    kernel.graphId = work->graph != NULL ? (uint32_t)mock_have_id(work->graph) : 0;
    append_record(&kernel, sizeof(kernel), fate);
}

static void append_transfer(const struct watched_work *work, uint64_t start, uint64_t end,
                            unsigned fate)
{
    CUpti_ActivityMemcpy6 copy;
    CUpti_ActivityMemset4 set;
    memset(&copy, 0, sizeof(copy));
    memset(&set, 0, sizeof(set));
    copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
    copy.start = set.start = start;
    copy.end = set.end = end;
    copy.bytes = set.bytes = work->bytes;
    copy.contextId = set.contextId = context_id(work->context);
    copy.streamId = set.streamId = mock_stream_id(work->stream);
    copy.correlationId = set.correlationId = work->correlation;
    copy.graphNodeId = set.graphNodeId = work->node != NULL ? mock_have_id(work->node) : 0;
    copy.graphId = set.graphId = work->graph != NULL ? (uint32_t)mock_have_id(work->graph) : 0;
    if (work->kind == WATCHED_COPY) {
        append_record(&copy, sizeof(copy), fate);
    } else {
        append_record(&set, sizeof(set), fate);
    }
}

static void see_work(const struct watched_work *work)
{
    static const CUpti_ActivityKind kinds[] = {[WATCHED_KERNEL] =
                                                   CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                               [WATCHED_COPY] = CUPTI_ACTIVITY_KIND_MEMCPY,
                                               [WATCHED_SET] = CUPTI_ACTIVITY_KIND_MEMSET};
    const unsigned fate = fate_of(20);
    mock_state_lock();
    const bool wanted = mock_state.activities[kinds[work->kind]] && mock_state.request != NULL;
    uint64_t *const last = end_of(work->stream);
    uint64_t start = mock_now();
    if (work->overlaps && *last > start + 1000) {
        start = *last - 1000;
    } else if (*last > start) {
        start = *last;
    }
    uint64_t end = start + (work->kind == WATCHED_KERNEL ? KERNEL_NS : KERNEL_NS / 2);
    *last = end;
    bend(&start, &end, fate);
    if (wanted && work->kind == WATCHED_KERNEL) {
        append_kernel(work, start, end, fate);
    } else if (wanted) {
        append_transfer(work, start, end, fate);
    }
    const bool full =
        mock_state.pending >= PENDING && !mock_plan.never && !mock_plan.late && !mock_plan.thread;
    mock_state_unlock();
    if (full) {
        mock_deliver();
    }
}

/* ------------------------------------------------------------------------------------------------
 * Loading
 * ---------------------------------------------------------------------------------------------- */

__attribute__((constructor)) static void mock_cupti_start(void)
{
    static const struct watched_viewer viewer = {see_call, see_resource, see_work};
    const char *word = getenv("MOCK_CUPTI");
    mock_plan.version = CUPTI_API_VERSION;
    while (word != NULL && *word != '\0') {
        const size_t length = strcspn(word, ",");
        read_word(word, length);
        word += length + (word[length] == ',');
    }
    mock_state.random = mock_plan.seed;
    memset(huge_name, 'k', sizeof(huge_name) - 1);
    void *const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *const symbol = driver != NULL ? dlsym(driver, "watched_attach") : NULL;
    if (symbol != NULL) {
        watched_attach_type *attach;
        memcpy(&attach, &symbol, sizeof(attach));
        attach(&viewer);
    }
}

__attribute__((destructor)) static void mock_cupti_end(void)
{
    if (mock_plan.late && mock_state.complete != NULL) {
        mock_deliver();
    }
    FILE *file = mock_plan.calls != NULL ? fopen(mock_plan.calls, "w") : NULL;
    if (file != NULL) {
        (void)fprintf(file, "%lu\n", atomic_load(&call_count));
        (void)fclose(file);
    }
}
