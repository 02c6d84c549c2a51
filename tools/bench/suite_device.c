/* SPDX-License-Identifier: MIT */
/* The suite `device`: launches from the device, beside the host's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/suite_device.h"

#include "bench/line.h"
#include "bench/suites.h"
#include "common/memory.h"

/* The device Runtime's errors are cudaError_t, which the Driver API does not name. */
enum { LAUNCH_PENDING_COUNT_EXCEEDED = 69 };

/* The limit that no launch of the table `throughput` comes near. */
enum { ENOUGH_PENDING = 32768 };

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct device device;

/* ---- pending launches ------------------------------------------------------------------------- */

static size_t pending_limit(void)
{
    size_t limit = 0;
    MUST(cu.cuCtxGetLimit(&limit, CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT));
    return limit;
}

/* False where the driver keeps fewer: it takes a number that is too large, and says nothing. */
static bool set_pending_limit(size_t limit, size_t *kept)
{
    if (limit != device.limit) {
        gpu_wait();
        if (cu.cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, limit) != CUDA_SUCCESS) {
            *kept = device.limit;
            return false;
        }
        device.limit = pending_limit();
    }
    *kept = device.limit;
    return device.limit >= limit;
}

static size_t free_memory(void)
{
    size_t left = 0;
    size_t total = 0;
    MUST(cu.cuMemGetInfo(&left, &total));
    return left;
}

/* ---- a table's begin and end -------------------------------------------------------------------- */

/* One launch: the driver takes memory for launches from the device with the first one. */
static void load_launches(void)
{
    unsigned children = 1;
    int how = LAUNCH_FIRE;
    void *args[] = {&device.state, &children, &how};
    const struct gpu_launch launch = gpu_single(gpu_function(IMAGE_DEVICE, "launch_many"), args);
    gpu_launch(&launch, gpu.stream, false);
    gpu_wait();
}

static void waive_all(struct bench_table *table, const char *why)
{
    for (size_t i = 0; i < table->count; i++) {
        bench_waive(table->items[i], "%s", why);
    }
}

void device_begin(struct bench_table *table)
{
    if (gpu.major != 9) {
        char why[160];
        (void)snprintf(why, sizeof(why),
                       "the kernels that launch kernels are linked for compute capability 9.x, and"
                       " this is %d.%d",
                       gpu.major, gpu.minor);
        waive_all(table, why);
        return;
    }
    device.state = gpu_alloc(sizeof(struct device_state));
    device.limit_before = pending_limit();
    device.limit = device.limit_before;
    load_launches();
}

static void begin_with_enough(struct bench_table *table)
{
    size_t kept = 0;
    device_begin(table);
    if (device.state != 0 && !set_pending_limit(ENOUGH_PENDING, &kept)) {
        char why[160];
        (void)snprintf(why, sizeof(why),
                       "asked for %d pending launches from the device, and the driver keeps %zu",
                       ENOUGH_PENDING, kept);
        waive_all(table, why);
    }
}

void device_end(struct bench_table *table)
{
    size_t kept = 0;
    (void)table;
    if (device.state != 0) {
        (void)set_pending_limit(device.limit_before, &kept);
        gpu_free(device.state);
        device.state = 0;
    }
}

void device_read(struct device_state *state)
{
    gpu_read(state, device.state, sizeof(*state));
}

void device_clear(void)
{
    gpu_fill(device.state, 0, sizeof(struct device_state));
}

bool device_accounted_for(struct bench_point *point, const struct device_state *state,
                          unsigned launches)
{
    if (state->ran + state->failed != launches) {
        bench_fail(point, "of %u kernels launched %u ran, and %u launches failed", launches,
                   state->ran, state->failed);
        return false;
    }
    return true;
}

bool device_all_ran(struct bench_point *point, const struct device_state *state, unsigned launches)
{
    if (state->failed != 0) {
        bench_fail(point, "%u of %u launches failed, the first with error %d of the Runtime",
                   state->failed, launches, state->first_error);
        return false;
    }
    return device_accounted_for(point, state, launches);
}

double device_time(void (*work)(void *context), void *context)
{
    if (!device.loading) {
        return gpu_time(work, context).device_us;
    }
    work(context);
    gpu_wait();
    return NAN;
}

void device_check(struct bench_point *point)
{
    double values[BENCH_METRICS];
    device.loading = true;
    point->table->spec.measure(point, values);
    device.loading = false;
    if (bench_point_active(point)) {
        point->table->spec.measure(point, values);
    }
}

/* ---- many launches: throughput, checks, limits -------------------------------------------------- */

struct many {
    unsigned blocks, threads, children;
    int how;
    size_t limit;
};

static void run_many(void *context)
{
    const struct many *const many = context;
    unsigned children = many->children;
    int how = many->how;
    void *args[] = {&device.state, &children, &how};
    struct gpu_launch launch = gpu_single(gpu_function(IMAGE_DEVICE, "launch_many"), args);
    launch.grid = many->blocks;
    launch.block = many->threads;
    gpu_launch(&launch, gpu.stream, false);
}

/* Returns the time on the device, us. */
static double time_many(const struct many *many, struct device_state *state)
{
    struct many copy = *many;
    device_clear();
    const double us = device_time(run_many, &copy);
    device_read(state);
    return us;
}

static void measure_throughput(struct bench_point *point, double *values)
{
    const struct many *const many = point->config;
    struct device_state state;
    const double us = time_many(many, &state);
    if (device_all_ran(point, &state, many->children)) {
        values[0] = 1e6 * many->children / us;
        values[1] = (double)state.launch_ns / many->children;
    }
}

static void declare_throughput(struct bench *bench)
{
    static const struct bench_spec spec = {
        .name = "throughput",
        .title = "grids a second that one kernel launches, by how many and by how many threads",
        .note = "Children of one block of one thread, through pdl/cdp.cuh, by blocks x "
                "threads that launch: fire-and-forget, or into a stream that each thread "
                "makes. The rate is over the time from before the parent to after the last "
                "child; `call` is what a launch takes the thread that makes it. The limit "
                "of pending launches is 32,768, so that none is lost.",
        .axes = {"children", "launchers"},
        .metrics = {{.name = "rate", .unit = "1/s", .higher_is_better = true, .tolerance = 0.25},
                    {.name = "call", .unit = "ns", .tolerance = 0.06}},
        .rounds = 15,
        .config_size = sizeof(struct many),
        .begin = begin_with_enough,
        .check = device_check,
        .measure = measure_throughput,
        .end = device_end,
    };
    static const unsigned children[] = {32, 256, 2048, 16384};
    static const struct {
        const char *name;
        unsigned blocks, threads;
        int how;
    } shapes[] = {{"1x1", 1, 1, LAUNCH_FIRE},
                  {"1x32", 1, 32, LAUNCH_FIRE},
                  {"1x1024", 1, 1024, LAUNCH_FIRE},
                  {"128x1", 128, 1, LAUNCH_FIRE},
                  {"128x32", 128, 32, LAUNCH_FIRE},
                  {"1x1-streams", 1, 1, LAUNCH_STREAM},
                  {"1x32-streams", 1, 32, LAUNCH_STREAM}};
    struct bench_table *const table = bench_table_add(bench, &spec);
    for (size_t i = 0; i < COUNT(children); i++) {
        struct bench_point *one = NULL;
        for (size_t j = 0; j < COUNT(shapes); j++) {
            const struct many many = {shapes[j].blocks, shapes[j].threads, children[i],
                                      shapes[j].how, 0};
            if (many.blocks * many.threads <= many.children) {
                struct bench_point *const point =
                    bench_row(table, one, &many, "%u/%s", many.children, shapes[j].name);
                one = one != NULL ? one : point;
            }
        }
    }
}

static void measure_check(struct bench_point *point, double *values)
{
    const struct many *const many = point->config;
    struct device_state state;
    const double us = time_many(many, &state);
    if (device_all_ran(point, &state, many->children)) {
        values[0] = 1e3 * us / many->children;
        values[1] = (double)state.launch_ns / many->children;
    }
}

static void declare_check(struct bench *bench)
{
    static const struct bench_spec spec = {
        .name = "check",
        .title = "what it costs to check a launch from the device",
        .note = "2,048 children, fire-and-forget: `<<<>>>` unchecked, with "
                "cudaGetLastError() after each by hand, and pdl_cdp_fire_and_forget().",
        .axes = {"launchers", "by"},
        .metrics = {{.name = "each", .unit = "ns", .tolerance = 0.05},
                    {.name = "call", .unit = "ns", .tolerance = 0.05}},
        .rounds = 15,
        .config_size = sizeof(struct many),
        .begin = device_begin,
        .check = device_check,
        .measure = measure_check,
        .end = device_end,
    };
    static const char *const names[] = {"unchecked", "by-hand", "cdp.cuh"};
    struct bench_table *const table = bench_table_add(bench, &spec);
    for (unsigned threads = 1; threads <= 32; threads += 31) {
        struct bench_point *unchecked = NULL;
        for (int i = 0; i < 3; i++) {
            const struct many many = {1, threads, 2048, LAUNCH_UNCHECKED + i, 0};
            struct bench_point *const point =
                bench_row(table, unchecked, &many, "1x%u/%s", threads, names[i]);
            unchecked = i == 0 ? point : unchecked;
        }
    }
}

/* ---- limits ------------------------------------------------------------------------------------- */

/* The state is how many bytes the limit takes. */
static void open_limit(struct bench_point *point)
{
    enum { LEAST = 32 }; /* that the driver keeps in any case */
    const struct many *const many = point->config;
    size_t kept = 0;
    (void)set_pending_limit(LEAST, &kept);
    const size_t before = free_memory();
    if (set_pending_limit(many->limit, &kept)) {
        *(double *)point->state = (double)before - (double)free_memory();
    }
}

static void measure_limit(struct bench_point *point, double *values)
{
    const struct many *const many = point->config;
    const bool changed = device.limit != many->limit;
    const bool loading = device.loading;
    struct device_state state;
    size_t kept = 0;
    if (!set_pending_limit(many->limit, &kept)) {
        bench_waive(point,
                    "asked for %zu pending launches from the device, and the driver keeps %zu",
                    many->limit, kept);
        return;
    }
    if (changed) { /* a launch that may have to wait for memory must not stand behind a gate */
        device.loading = true;
        (void)time_many(many, &state);
        device.loading = loading;
    }
    const double us = time_many(many, &state);
    if (!device_accounted_for(point, &state, many->children)) {
        return;
    }
    /* What stays pending until all is launched is lost to the number; what may end before is not. */
    const unsigned over = many->children > many->limit ? many->children - (unsigned)many->limit : 0;
    const bool pends = many->how != LAUNCH_FIRE;
    if (pends ? state.failed != over : state.failed > over) {
        bench_fail(point, "%u of %u launches were lost at a limit of %zu", state.failed,
                   many->children, many->limit);
    } else if (state.failed > 0 && state.first_error != LAUNCH_PENDING_COUNT_EXCEEDED) {
        bench_fail(point, "the launches that were lost have error %d of the Runtime, not %d",
                   state.first_error, LAUNCH_PENDING_COUNT_EXCEEDED);
    } else {
        values[0] = 1e6 * state.ran / us;
        values[1] = state.failed;
        values[2] = *(const double *)point->state;
    }
}

static void declare_limit(struct bench *bench)
{
    static const struct bench_spec spec = {
        .name = "limit",
        .title = "16,384 launches from the device against the limit of pending ones",
        .note = "`running`: children that end as soon as they can, from 128 blocks of one "
                "thread; `held`: children that end when all are launched, and `tail`: tail "
                "launches, from one block of 1,024 threads. A launch over the limit is "
                "lost: it returns cudaErrorLaunchPendingCountExceeded, and the host sees "
                "no error. The rate is of those that ran; `memory` is what the limit takes "
                "above that of 32.",
        .axes = {"limit", "children"},
        .metrics = {{.name = "rate", .unit = "1/s", .higher_is_better = true, .tolerance = 0.1},
                    {.name = "lost", .unit = "grids", .tolerance = 0.3},
                    {.name = "memory", .unit = "bytes"}},
        .rounds = 7,
        .config_size = sizeof(struct many),
        .state_size = sizeof(double),
        .begin = device_begin,
        .open = open_limit,
        .check = device_check,
        .measure = measure_limit,
        .end = device_end,
    };
    /* None is smaller than the number of threads that launch: with a limit of 512, 1,024 threads and
     * children that end at once the parent never ended. */
    static const size_t limits[] = {2048, 8192, 65536, 1048576};
    static const struct {
        const char *name;
        int how;
        unsigned blocks, threads;
    } kinds[] = {{"running", LAUNCH_FIRE, 128, 1},
                 {"held", LAUNCH_HELD, 1, 1024},
                 {"tail", LAUNCH_TAIL, 1, 1024}};
    struct bench_table *const table = bench_table_add(bench, &spec);
    for (size_t i = 0; i < COUNT(limits); i++) {
        for (size_t j = 0; j < COUNT(kinds); j++) {
            const struct many many = {kinds[j].blocks, kinds[j].threads, 16384, kinds[j].how,
                                      limits[i]};
            (void)bench_row(table, NULL, &many, "%zu/%s", limits[i], kinds[j].name);
        }
    }
}

/* ---- beside the host ---------------------------------------------------------------------------- */

enum { WORK = 1024, MOST_STREAMS = 32 };
enum host_kind { HOST_STREAMS, HOST_LINE, HOST_WIDE_GRAPH, HOST_DEVICE };
struct host_way {
    const char *name;
    enum host_kind kind;
    unsigned blocks, threads; /* streams, or the parent's */
    enum line_way line;
};
static const struct host_way host_ways[] = {
    {"streams-1", HOST_STREAMS, 1, 0, WAYS},         {"streams-2", HOST_STREAMS, 2, 0, WAYS},
    {"streams-4", HOST_STREAMS, 4, 0, WAYS},         {"streams-8", HOST_STREAMS, 8, 0, WAYS},
    {"streams-16", HOST_STREAMS, 16, 0, WAYS},       {"streams-32", HOST_STREAMS, 32, 0, WAYS},
    {"stream-pdl", HOST_LINE, 0, 0, WAY_STREAM_PDL}, {"libpdl", HOST_LINE, 0, 0, WAY_LIBPDL},
    {"graph", HOST_LINE, 0, 0, WAY_GRAPH},           {"graph-pdl", HOST_LINE, 0, 0, WAY_GRAPH_PDL},
    {"chain", HOST_LINE, 0, 0, WAY_CHAIN},           {"graph-wide", HOST_WIDE_GRAPH, 0, 0, WAYS},
    {"device-1x1", HOST_DEVICE, 1, 1, WAYS},         {"device-1x32", HOST_DEVICE, 1, 32, WAYS},
    {"device-128x1", HOST_DEVICE, 128, 1, WAYS},
};

/* A table's state. */
struct host_streams {
    CUstream items[MOST_STREAMS];
};

/* What a point launches. */
struct host_run {
    void *args[1];
    struct gpu_launch launch;
    struct line *line;
    CUgraphExec wide;
};

/* As many nodes, of which none waits for another. */
static CUgraphExec make_wide_graph(const struct gpu_launch *launch)
{
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    MUST(cu.cuGraphCreate(&graph, 0));
    for (int i = 0; i < WORK; i++) {
        CUgraphNode node = NULL;
        MUST(line_add_node(graph, launch, NULL, false, &node));
    }
    MUST(cu.cuGraphInstantiate(&exec, graph, 0));
    MUST(cu.cuGraphDestroy(graph));
    MUST(cu.cuGraphUpload(exec, gpu.stream));
    return exec;
}

static void begin_host(struct bench_table *table)
{
    device_begin(table);
    if (device.state != 0) {
        struct host_streams *const streams = allocate(1, sizeof(*streams));
        for (int i = 0; i < MOST_STREAMS; i++) {
            MUST(cu.cuStreamCreate(&streams->items[i], CU_STREAM_NON_BLOCKING));
        }
        table->state = streams;
    }
}

static void end_host(struct bench_table *table)
{
    struct host_streams *const streams = table->state;
    for (int i = 0; streams != NULL && i < MOST_STREAMS; i++) {
        MUST(cu.cuStreamDestroy(streams->items[i]));
    }
    free(streams);
    device_end(table);
}

static void open_host(struct bench_point *point)
{
    const struct host_way *const way = point->config;
    struct host_run *const run = point->state;
    run->args[0] = &device.state;
    run->launch = gpu_single(gpu_function(IMAGE_DEVICE, "counted"), run->args);
    if (way->kind == HOST_LINE) {
        run->line = line_make(way->line, &run->launch, 1, WORK, NULL);
    } else if (way->kind == HOST_WIDE_GRAPH) {
        run->wide = make_wide_graph(&run->launch);
    }
}

static void close_host(struct bench_point *point)
{
    struct host_run *const run = point->state;
    gpu_wait();
    line_free(run->line);
    if (run->wide != NULL) {
        MUST(cu.cuGraphExecDestroy(run->wide));
    }
}

static void launch_work(const struct bench_point *point)
{
    const struct host_way *const way = point->config;
    const struct host_run *const run = point->state;
    const struct host_streams *const streams = point->table->state;
    struct many many = {way->blocks, way->threads, WORK, LAUNCH_FIRE, 0};
    switch (way->kind) {
    case HOST_STREAMS:
        for (unsigned i = 0; i < WORK; i++) {
            gpu_launch(&run->launch, streams->items[i % way->blocks], false);
        }
        break;
    case HOST_LINE:
        line_run(run->line);
        break;
    case HOST_WIDE_GRAPH:
        MUST(cu.cuGraphLaunch(run->wide, gpu.stream));
        break;
    case HOST_DEVICE:
        run_many(&many);
        break;
    }
}

static void measure_host(struct bench_point *point, double *values)
{
    struct device_state state;
    device_clear();
    const double begin = host_ns();
    launch_work(point);
    const double launched = host_ns();
    gpu_wait();
    const double end = host_ns();
    device_read(&state);
    if (device_all_ran(point, &state, WORK)) {
        values[0] = 1e9 * WORK / (end - begin);
        values[1] = (launched - begin) / WORK;
    }
}

static void declare_host(struct bench *bench)
{
    static const struct bench_spec spec = {
        .name = "host",
        .title = "1,024 small kernels, by one host thread, by a graph, and by a kernel",
        .note = "From the host's first call until all have ended, by the host's clock, "
                "nothing queued before; `host` is the host's time in its calls, divided by "
                "1,024. The kernels in `streams-N`, `graph-wide` and `device-BxT` (blocks "
                "x threads that launch, fire-and-forget) are independent; the others are a "
                "line of one after another.",
        .axes = {"way"},
        .metrics = {{.name = "rate", .unit = "1/s", .higher_is_better = true, .tolerance = 0.05},
                    {.name = "host", .unit = "ns", .tolerance = 0.2}},
        .rounds = 21,
        .config_size = sizeof(struct host_way),
        .state_size = sizeof(struct host_run),
        .begin = begin_host,
        .open = open_host,
        .check = device_check,
        .measure = measure_host,
        .close = close_host,
        .end = end_host,
    };
    struct bench_table *const table = bench_table_add(bench, &spec);
    for (size_t i = 0; i < COUNT(host_ways); i++) {
        (void)bench_row(table, i > 0 ? table->items[0] : NULL, &host_ways[i], "%s",
                        host_ways[i].name);
    }
}

void suite_device(struct bench *bench)
{
    declare_throughput(bench);
    declare_check(bench);
    declare_limit(bench);
    declare_host(bench);
    suite_device_rows(bench);
}
