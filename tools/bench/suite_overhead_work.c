/* SPDX-License-Identifier: MIT */
/* The suite `overhead`: its kernels' arguments, launches of them in every way, and their check. */
#include "bench/suite_overhead.h"

#include <stdint.h>
#include <string.h>

#include <pdl/graph.h>

#include "bench/runtime_launch.h"

static const char *const kernel_names[OVERHEAD_KERNELS] = {
    [OVERHEAD_NULL_0] = "overhead_null_0",   [OVERHEAD_NULL_8] = "overhead_null_8",
    [OVERHEAD_NULL_64] = "overhead_null_64", [OVERHEAD_WAIT] = "overhead_wait",
    [OVERHEAD_SIGNAL] = "overhead_signal",   [OVERHEAD_TAKE] = "overhead_take",
};

enum { POINTERS = 4, INTEGERS = 4 };

/* The same for all jobs; what they add up to is known. */
static struct {
    CUdeviceptr pointed_to;
    CUdeviceptr pointers[POINTERS];
    unsigned integers[INTEGERS];
    unsigned long long values[64];
    void *args_8[POINTERS + INTEGERS];
    void *args_64[64];
    unsigned long long sum_8, sum_64;
    volatile unsigned *flag; /* of OVERHEAD_SIGNAL: the host's memory */
    CUdeviceptr flag_address;
    void *args_signal[1];
    CUdeviceptr record;
    CUfunction runtime_take;
    double cycles_per_us;
} shared;

static void make_8(void)
{
    unsigned pointed_to[POINTERS];
    shared.pointed_to = gpu_alloc(sizeof(pointed_to));
    for (unsigned i = 0; i < POINTERS; i++) {
        pointed_to[i] = 1000 + 37 * i;
        shared.pointers[i] = shared.pointed_to + i * sizeof(pointed_to[0]);
        shared.args_8[i] = &shared.pointers[i];
        shared.sum_8 += (i + 1ULL) * pointed_to[i];
    }
    for (unsigned i = 0; i < INTEGERS; i++) {
        shared.integers[i] = 100000 + 91 * i;
        shared.args_8[POINTERS + i] = &shared.integers[i];
        shared.sum_8 += (POINTERS + i + 1ULL) * shared.integers[i];
    }
    gpu_write(shared.pointed_to, pointed_to, sizeof(pointed_to));
}

static void make_64(void)
{
    for (unsigned i = 0; i < 64; i++) {
        /* In every bit: half of an argument lost would show. */
        shared.values[i] = (i + 1) * 0x9e3779b97f4a7c15ULL;
        shared.args_64[i] = &shared.values[i];
        shared.sum_64 += (i + 1) * shared.values[i];
    }
}

static void make_signal(void)
{
    void *memory = NULL;
    MUST(cu.cuMemHostAlloc(&memory, sizeof(unsigned), CU_MEMHOSTALLOC_DEVICEMAP));
    shared.flag = memory;
    MUST(cu.cuMemHostGetDevicePointer(&shared.flag_address, memory, 0));
    shared.args_signal[0] = &shared.flag_address;
}

void overhead_begin(struct bench_table *table)
{
    (void)table;
    MUST_RUNTIME(runtime_open(gpu.ordinal));
    make_8();
    make_64();
    make_signal();
    shared.record = gpu_alloc(sizeof(struct overhead_record));
    MUST_RUNTIME(runtime_function(OVERHEAD_TAKE, &shared.runtime_take));
    shared.cycles_per_us = gpu_sm_clock_mhz();
}

void overhead_end(struct bench_table *table)
{
    (void)table;
    gpu_free(shared.record);
    MUST(cu.cuMemFreeHost((void *)shared.flag));
    gpu_free(shared.pointed_to);
    memset(&shared, 0, sizeof(shared));
}

void overhead_wait_fill(unsigned wait[3], void *args[3], unsigned units, bool asleep)
{
    wait[0] = units;
    wait[1] = 1000; /* ns of a sleep */
    wait[2] = asleep ? 0 : (unsigned)(shared.cycles_per_us + 0.5);
    for (int i = 0; i < 3; i++) {
        args[i] = &wait[i];
    }
}

static unsigned long long expected_sum(const struct overhead_work *work)
{
    switch (work->kernel) {
    case OVERHEAD_NULL_8:
        return shared.sum_8;
    case OVERHEAD_NULL_64:
        return shared.sum_64;
    case OVERHEAD_WAIT:
        return work->units;
    default:
        return 0;
    }
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void **choose_args(struct overhead_job *job, const struct overhead_work *work)
{
    switch (work->kernel) {
    case OVERHEAD_NULL_8:
        return shared.args_8;
    case OVERHEAD_NULL_64:
        return shared.args_64;
    case OVERHEAD_SIGNAL:
        return shared.args_signal;
    case OVERHEAD_WAIT:
        overhead_wait_fill(job->wait, job->args, work->units, work->asleep);
        return job->args;
    default:
        return NULL;
    }
}

bool overhead_job_make(struct bench_point *point, struct overhead_job *job, enum line_way way,
                       const struct overhead_work *work, unsigned block)
{
    CUresult error = CUDA_SUCCESS;
    const enum line_maker maker = line_ways[way].maker;
    job->launch = (struct gpu_launch){.grid = (unsigned)gpu.multiprocessors,
                                      .block = block,
                                      .args = choose_args(job, work),
                                      .symbol = work->kernel};
    if (maker != BY_RUNTIME && (maker != BY_LIBPDL || !line_ways[way].detail)) {
        job->launch.function = gpu_function(IMAGE_OVERHEAD, kernel_names[work->kernel]);
    }
    job->line = line_make(way, &job->launch, 1, work->count, &error);
    if (job->line == NULL) {
        bench_fail(point, "a graph of %zu kernels: %s", work->count, gpu_error_name(error));
    }
    return job->line != NULL;
}

void overhead_job_warm(struct overhead_job *job)
{
    enum { LEAST = 4, DIFFERENT = 16 };
    static uint32_t random = 2463534242;
    const unsigned units = job->wait[0];
    random ^= random << 13; /* xorshift32 */
    random ^= random >> 17;
    random ^= random << 5;
    job->wait[0] = 0; /* not for graphs, which have their own copy */
    line_run_times(job->line, LEAST + random % DIFFERENT);
    job->wait[0] = units;
    MUST(cu.cuStreamSynchronize(gpu.stream));
}

double overhead_signal_ns(struct overhead_job *job)
{
    enum { PATIENCE_NS = 1000000000 };
    double now;
    MUST(cu.cuStreamSynchronize(gpu.stream));
    *shared.flag = 0;
    const double begin = host_ns();
    line_run(job->line);
    do {
        now = host_ns();
    } while (*shared.flag == 0 && now - begin < PATIENCE_NS);
    MUST(cu.cuStreamSynchronize(gpu.stream));
    if (now - begin >= PATIENCE_NS) {
        bench_abort("a kernel that was launched did not write to the host's memory in a second");
    }
    return now - begin;
}

/* ---- the check ------------------------------------------------------------------------------- */

struct overhead_record overhead_record_take(CUfunction take, CUstream stream, CUdeviceptr memory)
{
    struct overhead_record record;
    void *args[] = {&memory};
    const struct gpu_launch launch = gpu_single(take, args);
    /* In that stream, which may be another device's. */
    MUST(cu.cuMemsetD8Async(memory, 0xff, sizeof(record), stream));
    gpu_launch(&launch, stream, false);
    gpu_read(&record, memory, sizeof(record));
    return record;
}

/* A job's kernels are the Runtime's or the image's, and so is their record. */
static struct overhead_record take_record(const struct overhead_job *job)
{
    return overhead_record_take(job->launch.function == NULL
                                    ? shared.runtime_take
                                    : gpu_function(IMAGE_OVERHEAD, kernel_names[OVERHEAD_TAKE]),
                                gpu.stream, shared.record);
}

/* What a capture of the form says about each kernel after another one. */
enum between { BETWEEN_SERIAL, BETWEEN_COOPERATIVE, BETWEEN_PROGRAMMATIC, BETWEEN_MIXED };
static const char *const between_names[] = {"serial", "cooperative", "programmatic",
                                            "of several kinds"};

static enum between captured(struct line *line)
{
    enum { KERNELS = 3 };
    CUgraph graph = NULL;
    pdl_census census = PDL_CENSUS_INIT;
    pdl_full_dependency full[KERNELS];
    uint32_t cooperative = 0;
    census.full_dependencies = full;
    census.full_capacity = KERNELS;
    MUST(cu.cuStreamBeginCapture(gpu.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    line_run_times(line, KERNELS);
    MUST(cu.cuStreamEndCapture(gpu.stream, &graph));
    MUST_PDL(pdl_graph_census(graph, &census));
    for (uint32_t i = 0; i < census.full_count && i < KERNELS; i++) {
        cooperative += full[i].reason == PDL_FULL_COOPERATIVE;
    }
    MUST(cu.cuGraphDestroy(graph));
    if (census.kernels != KERNELS || census.nodes != KERNELS || census.edges != KERNELS - 1) {
        return BETWEEN_MIXED;
    }
    if (census.programmatic == census.edges) {
        return BETWEEN_PROGRAMMATIC;
    }
    if (census.full != census.edges || census.full_count != census.edges) {
        return BETWEEN_MIXED;
    }
    return cooperative == census.edges ? BETWEEN_COOPERATIVE
           : cooperative == 0          ? BETWEEN_SERIAL
                                       : BETWEEN_MIXED;
}

static void check_edges(struct bench_point *point, struct line *line,
                        const struct line_way_info *way)
{
    if (way->maker == BY_GRAPH || way->maker == BY_CHAIN) {
        line_check_edges(point, line);
        return;
    }
    const enum between expected = way->overlap       ? BETWEEN_PROGRAMMATIC
                                  : way->cooperative ? BETWEEN_COOPERATIVE
                                                     : BETWEEN_SERIAL;
    const enum between found = captured(line);
    if (found != expected) {
        bench_fail(point, "captured launches are %s, not %s", between_names[found],
                   between_names[expected]);
    }
}

static void check_record(struct bench_point *point, const struct overhead_job *job,
                         const struct overhead_work *work)
{
    const struct overhead_record record = take_record(job);
    const unsigned long long blocks = work->count * (unsigned long long)gpu.multiprocessors;
    const unsigned long long sum = work->count * expected_sum(work);
    if (record.launches != work->count || record.blocks != blocks) {
        bench_fail(point, "%llu kernels of %llu blocks ran, not %zu of %llu", record.launches,
                   record.blocks, work->count, blocks);
    } else if (record.sum != sum) {
        bench_fail(point, "the arguments add up to %llu, not %llu", record.sum, sum);
    } else if (work->kernel == OVERHEAD_WAIT) {
        /* nanosleep takes up to twice its time, and may take none; many of them even out. */
        const double asked = 1e3 * (double)work->count * work->units;
        const double lowest = !work->asleep ? 0.9 : work->units < 8 ? 0 : 0.5;
        const double highest = work->asleep ? 2 : 1.1;
        const double timer = (double)gpu.timer_step * 2 * (double)work->count;
        if ((double)record.ns < lowest * asked - timer ||
            (double)record.ns > highest * asked + timer + 1e3 * (double)work->count) {
            bench_fail(point, "the kernels waited for %llu ns, not for %.0f", record.ns, asked);
        }
    }
}

static bool overlap_is_off(void)
{
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    pdl_kernel *const kernel =
        gpu_kernel(gpu_function(IMAGE_OVERHEAD, kernel_names[OVERHEAD_NULL_0]));
    const pdl_launch_desc desc = PDL_LAUNCH_DESC(.grid = {1}, .block = {OVERHEAD_TIMED_BLOCK},
                                                 .stream = gpu.stream, .overlap = PDL_OVERLAP_AUTO);
    MUST_PDL(pdl_launch_explain(kernel, &desc, &report));
    return report.overlap_reason == PDL_REASON_DISABLED;
}

void overhead_check(struct bench_point *point, enum line_way way, const struct overhead_work *work)
{
    struct overhead_job job = {.line = NULL};
    if (line_ways[way].overlap && line_ways[way].raw != way && overlap_is_off()) {
        bench_waive(point, "libpdl's overlap is turned off by PDL_OVERLAP in the environment");
    } else if (overhead_job_make(point, &job, way, work, OVERHEAD_COUNTED_BLOCK)) {
        (void)take_record(&job);
        line_run(job.line);
        gpu_wait();
        check_record(point, &job, work);
        check_edges(point, job.line, &line_ways[way]);
    }
    line_free(job.line);
}
