/* SPDX-License-Identifier: MIT */
/* What a launch costs the host and the device, in every form: the micro-benchmarks of
 * "Understanding the Overheads of Launching CUDA Kernels" (Zhang, Wahib, Matsuoka; poster at
 * ICPP'19), with what CUDA has got since beside them.
 *
 * Its terms: the kernel latency is the time from the launch until the host notices the end; the
 * additional latency is what one more launch adds to it; the CPU launch overhead is the time that
 * the call takes. With L(i, j) for the latency of i kernels of j wait units:
 *   1. small kernels:  (L(i, 0) - L(j, 0)) / (i - j)
 *   2. large kernels:  (L(i, j) - L(j, i)) / (i - j), the same work in more and in fewer kernels
 *   3. other overhead: L(1, 0) - CPU launch overhead - what formula 2 gives */
#include <stdio.h>
#include <string.h>

#include "bench/suite_overhead.h"
#include "bench/suites.h"

enum { HOST_BATCH = 200, JOBS = 4 /* of a point, at most */ };

/* What a point runs, one after another, and in what way. */
struct cell {
    struct overhead_work works[JOBS]; /* those with kernels */
    enum line_way way;
};

/* ---- what all tables do alike ---------------------------------------------------------------- */

static void open_point(struct bench_point *point)
{
    const struct cell *const cell = point->config;
    struct overhead_job *const jobs = point->state;
    for (int i = 0; i < JOBS && cell->works[i].count > 0 && bench_point_active(point); i++) {
        (void)overhead_job_make(point, &jobs[i], cell->way, &cell->works[i], OVERHEAD_TIMED_BLOCK);
    }
}

static void close_point(struct bench_point *point)
{
    const struct overhead_job *const jobs = point->state;
    for (int i = 0; i < JOBS; i++) {
        line_free(jobs[i].line);
    }
}

static void check(struct bench_point *point)
{
    const struct cell *const cell = point->config;
    for (int i = 0; i < JOBS && cell->works[i].count > 0 && bench_point_active(point); i++) {
        overhead_check(point, cell->way, &cell->works[i]);
    }
}

/* ---- what they measure ----------------------------------------------------------------------- */

static struct gpu_lapse lapse_of(struct overhead_job *job)
{
    return gpu_wall(line_run, job->line);
}

static double latency_of(struct overhead_job *job)
{
    return lapse_of(job).total_ns;
}

static double device_ns(struct overhead_job *job)
{
    return 1e3 * gpu_time(line_run, job->line).device_us;
}

static void measure_host(struct bench_point *point, double *values)
{
    struct overhead_job *const job = point->state;
    overhead_job_warm(job);
    values[0] = lapse_of(job).calls_ns / HOST_BATCH;
}

static void measure_latency(struct bench_point *point, double *values)
{
    struct overhead_job *const job = point->state;
    overhead_job_warm(job);
    const struct gpu_lapse lapse = lapse_of(job);
    values[0] = lapse.total_ns;
    values[1] = lapse.calls_ns;
}

static void measure_total(struct bench_point *point, double *values)
{
    measure_latency(point, values);
    values[0] /= 1e3;
    values[1] /= 1e3;
}

/* Jobs: few and many kernels. */
static void measure_small(struct bench_point *point, double *values)
{
    struct overhead_job *const jobs = point->state;
    overhead_job_warm(&jobs[1]);
    overhead_job_warm(&jobs[0]);
    const struct gpu_lapse few = lapse_of(&jobs[0]);
    const struct gpu_lapse many = lapse_of(&jobs[1]);
    const double device_few = device_ns(&jobs[0]);
    const double device_many = device_ns(&jobs[1]);
    values[0] = (many.total_ns - few.total_ns) / (OVERHEAD_MANY - OVERHEAD_FEW);
    values[1] = many.calls_ns / OVERHEAD_MANY;
    values[2] = (device_many - device_few) / (OVERHEAD_MANY - OVERHEAD_FEW);
}

/* Jobs: so many kernels of some units, one of as many units in all, one of some units. */
static void measure_large(struct bench_point *point, double *values)
{
    struct overhead_job *const jobs = point->state;
    overhead_job_warm(&jobs[2]);
    const struct gpu_lapse split = lapse_of(&jobs[0]);
    const double fused = latency_of(&jobs[1]);
    const double one = latency_of(&jobs[2]);
    const double device_split = device_ns(&jobs[0]);
    const double device_fused = device_ns(&jobs[1]);
    values[0] = (split.total_ns - one) / (OVERHEAD_FUSED - 1);
    values[1] = split.calls_ns / OVERHEAD_FUSED;
    values[2] = (fused - one) / (OVERHEAD_FUSED - 1);
    values[3] = (split.total_ns - fused) / (OVERHEAD_FUSED - 1);
    values[4] = (device_split - device_fused) / (OVERHEAD_FUSED - 1);
}

/* Jobs: a null kernel, formula 2's two, a kernel that signals. */
static void measure_other(struct bench_point *point, double *values)
{
    struct overhead_job *const jobs = point->state;
    overhead_job_warm(&jobs[0]);
    const double total = latency_of(&jobs[0]);
    const double begin_ns = host_ns();
    for (int i = 0; i < OVERHEAD_MANY; i++) {
        line_run(jobs[0].line);
    }
    const double calls = (host_ns() - begin_ns) / OVERHEAD_MANY;
    const double execution = (latency_of(&jobs[1]) - latency_of(&jobs[2])) / (OVERHEAD_FUSED - 1);
    values[0] = total;
    values[1] = calls;
    values[2] = execution;
    values[3] = total - calls - execution;
    values[4] = overhead_signal_ns(&jobs[3]);
}

/* Jobs: one kernel of half of the units, one of all. */
static void measure_unit(struct bench_point *point, double *values)
{
    const struct overhead_work *const works = ((const struct cell *)point->config)->works;
    struct overhead_job *const jobs = point->state;
    overhead_job_warm(&jobs[0]);
    const double fewer = latency_of(&jobs[0]);
    const double all = latency_of(&jobs[1]);
    values[0] = (all - fewer) / (works[1].units - works[0].units);
    values[1] = all / 1e3;
}

/* ---- the tables ------------------------------------------------------------------------------ */

#define COMMON                                                                                     \
    .config_size = sizeof(struct cell), .state_size = sizeof(struct overhead_job[JOBS]),           \
    .begin = overhead_begin, .open = open_point, .check = check, .close = close_point,             \
    .end = overhead_end

static const struct bench_spec host_spec = {
    .name = "host",
    .title = "CPU launch overhead: what a launch costs the thread that makes it",
    .note = "Batches of 200 launches of an empty kernel, the stream drained before "
            "each: ns per launch. `chevron` is the <<<...>>> of CUDA C++ with "
            "cudaGetLastError() after each; graph, graph-pdl and chain are one launch "
            "of 200 kernels. `args` is the number of the kernel's parameters: 8 are "
            "four pointers and four integers, 64 are of 8 bytes each. `-again` is the "
            "raw call once more: the noise of the other ratios. cudaLaunchKernelEx and "
            "pdl_launch_kernel take them as values and make the array of pointers at "
            "each launch.",
    .axes = {"way", "args"},
    .metrics = {{"host", "ns", OVERHEAD_HOST}},
    .rounds = 60,
    .measure = measure_host,
    COMMON,
};

static const struct bench_spec latency_spec = {
    .name = "latency",
    .title = "Kernel latency: one empty kernel, from the launch until the host knows its end",
    .note = "The stream is empty before. `call` is the part that the launch call "
            "takes: a lone one has levels some 0.3 µs apart, by its place in the "
            "driver's queue.",
    .axes = {"way", "args"},
    .metrics = {{"latency", "ns", OVERHEAD_HOST}, {"call", "ns", OVERHEAD_HOST}},
    .rounds = 100,
    .measure = measure_latency,
    COMMON,
};

static const struct bench_spec small_spec = {
    .name = "small",
    .title = "Overhead of small kernels: what one more empty kernel adds (formula 1)",
    .note = "`additional` is the latency of 128 kernels less that of 64, a kernel; "
            "`host` what each of the 128 launches took the host: the two bars of "
            "figure 4 of Zhang et al. (V100: 2541 and 2545 ns for <<<...>>>, 3326 and "
            "3388 ns for a cooperative launch). `device` is the same slope with the "
            "host out of the way, all being queued behind a gate; without PDL it "
            "differs from process to process by up to a quarter.",
    .axes = {"way", "args"},
    .metrics = {{"additional", "ns", OVERHEAD_HOST},
                {"host", "ns", OVERHEAD_LEVELLED},
                {"device", "ns", OVERHEAD_LEVELLED}},
    .rounds = 30,
    .measure = measure_small,
    COMMON,
};

static const struct bench_spec large_spec = {
    .name = "large",
    .title = "Overhead of large kernels: the same work in 16 kernels and in one (formula 2)",
    .note = "`units` is the work of one of the 16 kernels in wait units of 1 µs. "
            "`additional` is what each of them adds to the latency, `host` what its "
            "launch took the host, `wait` what its work takes within one kernel, "
            "`execution` what is left: (L(16 kernels) - L(one of 16 times the work)) / "
            "15. `device` is that with the host out of the way. With 5 units these are "
            "the bars of their figure 5 (V100, <<<...>>>: 6144, 2652, 5145, 993 ns); "
            "with fewer the host is the slower one, and `device` but not `execution` "
            "is the device's.",
    .axes = {"way", "units"},
    .metrics = {{"additional", "ns", OVERHEAD_HOST},
                {"host", "ns", OVERHEAD_HOST},
                {"wait", "ns", OVERHEAD_HOST},
                {"execution", "ns", OVERHEAD_LEVELLED},
                {"device", "ns", OVERHEAD_LEVELLED}},
    .rounds = 40,
    .measure = measure_large,
    COMMON,
};

static const struct bench_spec other_spec = {
    .name = "other",
    .title = "Where the latency of one empty kernel goes (formula 3)",
    .note = "`total` is the kernel latency, `host` the CPU launch overhead of such a "
            "launch in a batch of 128, `execution` formula 2's for kernels of 5 µs, "
            "`other` what is left: the stacked bars of their figure 6 (V100, "
            "<<<...>>>: 2545, 993, 4735 ns). `start` is the time from the call until "
            "the host sees what the kernel writes first: the way there.",
    .axes = {"way"},
    .metrics = {{"total", "ns", OVERHEAD_HOST},
                {"host", "ns", OVERHEAD_HOST},
                {"execution", "ns", OVERHEAD_LEVELLED},
                {"other", "ns", OVERHEAD_LEVELLED},
                {"start", "ns", OVERHEAD_HOST}},
    .rounds = 60,
    .measure = measure_other,
    COMMON,
};

static const struct bench_spec unit_spec = {
    .name = "unit",
    .title = "What a wait unit adds to the latency of one kernel",
    .note = "The gradient from half of the units to all of them, from none to one for "
            "1: the figure 2 of Zhang et al. A unit is nanosleep of 1000 ns (`sleep`, "
            "as theirs) or a loop of as many cycles of the SM's clock as make 1000 ns "
            "(`spin`). nanosleep goes by a timer with steps of about 1 µs, so that the "
            "latency has such steps too: the other tables' units are `spin`.",
    .axes = {"way", "wait", "units"},
    .metrics = {{"unit", "ns", OVERHEAD_LEVELLED}, {"latency", "us", OVERHEAD_HOST}},
    .rounds = 40,
    .measure = measure_unit,
    COMMON,
};

static const struct bench_spec total_spec = {
    .name = "total",
    .title = "Kernel latency of 1 to 64 kernels of 0 to 10 wait units",
    .note = "From the first launch until the host knows that the last kernel has "
            "ended; `host` is the part of it that the launch calls take. A wait unit "
            "is 1 µs. The formulas use these.",
    .axes = {"way", "units", "kernels"},
    .metrics = {{"latency", "us", OVERHEAD_HOST}, {"host", "us", OVERHEAD_LEVELLED}},
    .rounds = 20,
    .measure = measure_total,
    COMMON,
};

/* Tables have the fewer ways the more shapes they have: each has those of the next ones, too. Where a
 * call differs from another one in its spelling alone, two tables of small kernels have both. */
enum level { OF_HOST, OF_CALLS, OF_MAIN, OF_TOTAL, OF_UNIT };
static const enum level levels[WAYS] = {
    [WAY_CHEVRON] = OF_UNIT,
    [WAY_CUDA_LAUNCH] = OF_MAIN,
    [WAY_CUDA_EX] = OF_MAIN,
    [WAY_CUDA_EX_AGAIN] = OF_HOST,
    [WAY_SYMBOL] = OF_CALLS,
    [WAY_CUDA_EX_TYPED] = OF_CALLS,
    [WAY_TYPED] = OF_CALLS,
    [WAY_STREAM] = OF_TOTAL,
    [WAY_STREAM_AGAIN] = OF_HOST,
    [WAY_FUNCTION] = OF_TOTAL,
    [WAY_COOPERATIVE] = OF_UNIT,
    [WAY_FUNCTION_COOPERATIVE] = OF_MAIN,
    [WAY_CUDA_EX_PDL] = OF_TOTAL,
    [WAY_CUDA_EX_PDL_AGAIN] = OF_HOST,
    [WAY_SYMBOL_AUTO] = OF_CALLS,
    [WAY_CUDA_EX_TYPED_PDL] = OF_CALLS,
    [WAY_TYPED_AUTO] = OF_CALLS,
    [WAY_STREAM_PDL] = OF_TOTAL,
    [WAY_STREAM_PDL_AGAIN] = OF_HOST,
    [WAY_LIBPDL] = OF_TOTAL,
    [WAY_GRAPH] = OF_UNIT,
    [WAY_GRAPH_PDL] = OF_TOTAL,
    [WAY_CHAIN] = OF_TOTAL,
};

/* A row for each way of that level. `rest`: the values of the axes after `way`, a slash before each. */
static void add_rows(struct bench_table *table, enum level level, const char *rest,
                     struct cell cell)
{
    struct bench_point *points[WAYS] = {NULL};
    for (enum line_way way = 0; way < WAYS; way++) {
        const enum line_way raw = line_ways[way].raw;
        if (levels[way] >= level) {
            cell.way = way;
            points[way] = bench_row(table, raw != way ? points[raw] : NULL, &cell, "%s%s",
                                    line_ways[way].call, rest);
        }
    }
}

/* Work. */
#define EMPTY(kernel, count)                                                                       \
    {                                                                                              \
        kernel, count, 0, false                                                                    \
    }
#define SPIN(units, count)                                                                         \
    {                                                                                              \
        OVERHEAD_WAIT, count, units, false                                                         \
    }
/* Formula 2's: the work in 16 kernels, and in one. */
#define FUSION(units) SPIN(units, OVERHEAD_FUSED), SPIN((units)*OVERHEAD_FUSED, 1)

/* `second` is 0 for tables with one job. */
static void declare_null(struct bench_table *table, enum level level, size_t first, size_t second)
{
    static const char *const args[] = {"/0", "/8", "/64"};
    for (int i = 0; i < 3; i++) {
        const enum overhead_kernel kernel = (enum overhead_kernel)(OVERHEAD_NULL_0 + i);
        add_rows(table, level, args[i],
                 (struct cell){.works = {EMPTY(kernel, first), EMPTY(kernel, second)}});
    }
}

static void declare_large(struct bench_table *table)
{
    static const unsigned units[] = {1, 2, OVERHEAD_LARGE, 10};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        char rest[16];
        (void)snprintf(rest, sizeof(rest), "/%u", units[i]);
        add_rows(table, OF_MAIN, rest,
                 (struct cell){.works = {FUSION(units[i]), SPIN(units[i], 1)}});
    }
}

static void declare_unit(struct bench_table *table)
{
    enum { MOST = 2048 };
    for (int asleep = 1; asleep >= 0; asleep--) {
        for (unsigned units = 1; units <= MOST; units *= 2) {
            char rest[32];
            (void)snprintf(rest, sizeof(rest), "/%s/%u", asleep ? "sleep" : "spin", units);
            add_rows(table, OF_UNIT, rest,
                     (struct cell){.works = {{OVERHEAD_WAIT, 1, units / 2, asleep},
                                             {OVERHEAD_WAIT, 1, units, asleep}}});
        }
    }
}

static void declare_total(struct bench_table *table)
{
    static const unsigned units[] = {0, 1, 5, 10};
    enum { MOST = 64 };
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        for (unsigned kernels = 1; kernels <= MOST; kernels *= 2) {
            char rest[32];
            (void)snprintf(rest, sizeof(rest), "/%u/%u", units[i], kernels);
            add_rows(table, OF_TOTAL, rest, (struct cell){.works = {SPIN(units[i], kernels)}});
        }
    }
}

void suite_overhead(struct bench *bench)
{
    declare_null(bench_table_add(bench, &host_spec), OF_HOST, HOST_BATCH, 0);
    declare_null(bench_table_add(bench, &latency_spec), OF_CALLS, 1, 0);
    declare_null(bench_table_add(bench, &small_spec), OF_CALLS, OVERHEAD_FEW, OVERHEAD_MANY);
    declare_large(bench_table_add(bench, &large_spec));
    add_rows(bench_table_add(bench, &other_spec), OF_MAIN, "",
             (struct cell){.works = {EMPTY(OVERHEAD_NULL_0, 1), FUSION(OVERHEAD_LARGE),
                                     EMPTY(OVERHEAD_SIGNAL, 1)}});
    declare_unit(bench_table_add(bench, &unit_spec));
    declare_total(bench_table_add(bench, &total_spec));
    overhead_declare_devices(bench);
}
