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
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "bench/suite_overhead.h"
#include "bench/suites.h"

enum {
    HOST_BATCH = 200,
    JOBS = 4, /* of a point, at most */
    CELLS = 640,
};

/* The wait units of all tables but `unit`: the SM's clock is exact where the timer that nanosleep
 * goes by is not. */
static const bool spinning = true;

/* A point's configuration, and what it runs between begin and end. */
struct cell {
    enum overhead_way way;
    struct overhead_work works[JOBS];
    size_t count;
    struct overhead_job *jobs[JOBS];
};
static struct cell cells[CELLS];
static size_t cell_count;

static struct cell *cell_of(const struct bench_point *point)
{
    return &cells[(const struct cell *)point->config - cells];
}

static struct overhead_work null_kernels(enum overhead_kernel kernel, size_t count)
{
    return (struct overhead_work){.kernel = kernel, .count = count};
}

static struct overhead_work wait_kernels(unsigned units, size_t count)
{
    return (struct overhead_work){OVERHEAD_WAIT, units, spinning, count};
}

/* ---- what all tables do alike ---------------------------------------------------------------- */

static void begin(struct bench_table *table)
{
    overhead_open();
    for (size_t i = 0; i < table->count; i++) {
        struct bench_point *const point = table->items[i];
        struct cell *const cell = cell_of(point);
        for (size_t j = 0; j < cell->count && bench_point_active(point); j++) {
            CUresult error;
            cell->jobs[j] = overhead_job_make(cell->way, &cell->works[j], &error);
            if (cell->jobs[j] == NULL) {
                bench_fail(point, "a graph of %zu kernels: %s", cell->works[j].count,
                           gpu_error_name(error));
            }
        }
    }
}

static void end(struct bench_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        struct cell *const cell = cell_of(table->items[i]);
        for (size_t j = 0; j < cell->count; j++) {
            overhead_job_free(cell->jobs[j]);
            cell->jobs[j] = NULL;
        }
    }
    overhead_close();
}

static void check(struct bench_point *point)
{
    const struct cell *const cell = cell_of(point);
    for (size_t i = 0; i < cell->count && bench_point_active(point); i++) {
        overhead_check(point, cell->way, &cell->works[i]);
    }
}

/* ---- what they measure ----------------------------------------------------------------------- */

static double latency_of(struct overhead_job *job)
{
    return overhead_job_time(job).total;
}

static void measure_host(struct bench_point *point, double *values)
{
    struct overhead_job *const job = cell_of(point)->jobs[0];
    overhead_job_warm(job);
    values[0] = overhead_job_time(job).calls / HOST_BATCH;
}

static void measure_latency(struct bench_point *point, double *values)
{
    struct overhead_job *const job = cell_of(point)->jobs[0];
    overhead_job_warm(job);
    const struct overhead_lapse lapse = overhead_job_time(job);
    values[0] = lapse.total;
    values[1] = lapse.calls;
}

/* Jobs: few and many kernels. */
static void measure_small(struct bench_point *point, double *values)
{
    const struct cell *const cell = cell_of(point);
    overhead_job_warm(cell->jobs[1]);
    overhead_job_warm(cell->jobs[0]);
    const struct overhead_lapse few = overhead_job_time(cell->jobs[0]);
    const struct overhead_lapse many = overhead_job_time(cell->jobs[1]);
    const double device_few = gpu_time(overhead_job_run, cell->jobs[0]).device_us;
    const double device_many = gpu_time(overhead_job_run, cell->jobs[1]).device_us;
    values[0] = (many.total - few.total) / (OVERHEAD_MANY - OVERHEAD_FEW);
    values[1] = many.calls / OVERHEAD_MANY;
    values[2] = 1e3 * (device_many - device_few) / (OVERHEAD_MANY - OVERHEAD_FEW);
}

/* Jobs: so many kernels of some units, one of as many units in all, one of some units. */
static void measure_large(struct bench_point *point, double *values)
{
    const struct cell *const cell = cell_of(point);
    overhead_job_warm(cell->jobs[2]);
    const struct overhead_lapse split = overhead_job_time(cell->jobs[0]);
    const double fused = latency_of(cell->jobs[1]);
    const double one = latency_of(cell->jobs[2]);
    const double device_split = gpu_time(overhead_job_run, cell->jobs[0]).device_us;
    const double device_fused = gpu_time(overhead_job_run, cell->jobs[1]).device_us;
    values[0] = (split.total - one) / (OVERHEAD_FUSED - 1);
    values[1] = split.calls / OVERHEAD_FUSED;
    values[2] = (fused - one) / (OVERHEAD_FUSED - 1);
    values[3] = (split.total - fused) / (OVERHEAD_FUSED - 1);
    values[4] = 1e3 * (device_split - device_fused) / (OVERHEAD_FUSED - 1);
}

/* Jobs: a null kernel, formula 2's two, a kernel that signals. */
static void measure_other(struct bench_point *point, double *values)
{
    const struct cell *const cell = cell_of(point);
    overhead_job_warm(cell->jobs[0]);
    const double total = latency_of(cell->jobs[0]);
    const double begin_ns = host_ns();
    for (int i = 0; i < OVERHEAD_MANY; i++) {
        overhead_job_run(cell->jobs[0]);
    }
    const double calls = (host_ns() - begin_ns) / OVERHEAD_MANY;
    const double execution =
        (latency_of(cell->jobs[1]) - latency_of(cell->jobs[2])) / (OVERHEAD_FUSED - 1);
    values[0] = total;
    values[1] = calls;
    values[2] = execution;
    values[3] = total - calls - execution;
    values[4] = overhead_signal_ns(cell->jobs[3]);
}

/* Jobs: one kernel of half of the units, one of all. */
static void measure_unit(struct bench_point *point, double *values)
{
    const struct cell *const cell = cell_of(point);
    overhead_job_warm(cell->jobs[0]);
    const double fewer = latency_of(cell->jobs[0]);
    const double all = latency_of(cell->jobs[1]);
    values[0] = (all - fewer) / (cell->works[1].units - cell->works[0].units);
    values[1] = all / 1e3;
}

static void measure_total(struct bench_point *point, double *values)
{
    struct overhead_job *const job = cell_of(point)->jobs[0];
    overhead_job_warm(job);
    const struct overhead_lapse lapse = overhead_job_time(job);
    values[0] = lapse.total / 1e3;
    values[1] = lapse.calls / 1e3;
}

/* ---- the tables ------------------------------------------------------------------------------ */

#define COMMON .begin = begin, .check = check, .end = end
/* Host times differ between runs by more than most device times do: clocks, and where memory comes
 * to lie. */
#define HOST(name, unit)                                                                           \
    {                                                                                              \
        name, unit, false, 0.15                                                                    \
    }
/* The boundary between two plain launches in a stream takes from 1.37 to 1.75 µs on one H200: the
 * same in all of a process's rounds, another in the next process. The call of a graph's launch has
 * such levels too, and its share of a kernel is a few ns. */
#define LEVELLED(name, unit)                                                                       \
    {                                                                                              \
        name, unit, false, 0.25                                                                    \
    }

static const struct bench_spec host_spec = {
    .name = "host",
    .title = "CPU launch overhead: what a launch costs the thread that makes it",
    .note =
        "Batches of 200 launches of an empty kernel, the stream drained before each: ns "
        "per launch. `chevron` is the <<<...>>> of CUDA C++ with cudaGetLastError() after each; "
        "graph, graph-pdl and chain are one launch of 200 kernels. `args` is the number of the "
        "kernel's parameters: 8 are four pointers and four integers, 64 are of 8 bytes each. "
        "`-again` is the raw call once more: the noise of the other ratios. "
        "cudaLaunchKernelEx and pdl_launch_kernel take them as values and make the array of "
        "pointers at each launch.",
    .axes = {"way", "args"},
    .metrics = {HOST("host", "ns")},
    .rounds = 60,
    .measure = measure_host,
    COMMON,
};

static const struct bench_spec latency_spec = {
    .name = "latency",
    .title = "Kernel latency: one empty kernel, from the launch until the host knows its end",
    .note = "The stream is empty before. `call` is the part that the launch call takes: a lone one "
            "has levels some 0.3 µs apart, by its place in the driver's queue.",
    .axes = {"way", "args"},
    .metrics = {HOST("latency", "ns"), HOST("call", "ns")},
    .rounds = 100,
    .measure = measure_latency,
    COMMON,
};

static const struct bench_spec small_spec = {
    .name = "small",
    .title = "Overhead of small kernels: what one more empty kernel adds (formula 1)",
    .note =
        "`additional` is the latency of 128 kernels less that of 64, a kernel; `host` what "
        "each of the 128 launches took the host: the two bars of figure 4 of Zhang et al. (V100: "
        "2541 and 2545 ns for <<<...>>>, 3326 and 3388 ns for a cooperative launch). `device` "
        "is the same slope with the host out of the way, all being queued behind a gate; "
        "without PDL it differs from process to process by up to a quarter.",
    .axes = {"way", "args"},
    .metrics = {HOST("additional", "ns"), LEVELLED("host", "ns"), LEVELLED("device", "ns")},
    .rounds = 30,
    .measure = measure_small,
    COMMON,
};

static const struct bench_spec large_spec = {
    .name = "large",
    .title = "Overhead of large kernels: the same work in 16 kernels and in one (formula 2)",
    .note = "`units` is the work of one of the 16 kernels in wait units of 1 µs. `additional` is "
            "what each of them adds to the latency, `host` what its launch took the host, `wait` "
            "what its work takes within one kernel, `execution` what is left: (L(16 kernels) - "
            "L(one of 16 times the work)) / 15. `device` is that with the host out of the way. "
            "With 5 units these are the bars of their figure 5 (V100, <<<...>>>: 6144, "
            "2652, 5145, 993 ns); with fewer the host is the slower one, and `device` but not "
            "`execution` is the device's.",
    .axes = {"way", "units"},
    .metrics = {HOST("additional", "ns"), HOST("host", "ns"), HOST("wait", "ns"),
                LEVELLED("execution", "ns"), LEVELLED("device", "ns")},
    .rounds = 40,
    .measure = measure_large,
    COMMON,
};

static const struct bench_spec other_spec = {
    .name = "other",
    .title = "Where the latency of one empty kernel goes (formula 3)",
    .note = "`total` is the kernel latency, `host` the CPU launch overhead of such a launch in a "
            "batch of 128, `execution` formula 2's for kernels of 5 µs, `other` what is left: the "
            "stacked bars of their figure 6 (V100, <<<...>>>: 2545, 993, 4735 ns). `start` "
            "is the time from the call until the host sees what the kernel writes first: the way "
            "there.",
    .axes = {"way"},
    .metrics = {HOST("total", "ns"), HOST("host", "ns"), LEVELLED("execution", "ns"),
                LEVELLED("other", "ns"), HOST("start", "ns")},
    .rounds = 60,
    .measure = measure_other,
    COMMON,
};

static const struct bench_spec unit_spec = {
    .name = "unit",
    .title = "What a wait unit adds to the latency of one kernel",
    .note =
        "The gradient from half of the units to all of them, from none to one for 1: the "
        "figure 2 of Zhang et al. A unit is nanosleep of 1000 ns (`sleep`, as theirs) or a loop "
        "of as many cycles of the SM's clock as make 1000 ns (`spin`). nanosleep goes by a "
        "timer with steps of about 1 µs, so that the latency has such steps too: the other "
        "tables' units are `spin`.",
    .axes = {"way", "wait", "units"},
    .metrics = {LEVELLED("unit", "ns"), HOST("latency", "us")},
    .rounds = 40,
    .measure = measure_unit,
    COMMON,
};

static const struct bench_spec total_spec = {
    .name = "total",
    .title = "Kernel latency of 1 to 64 kernels of 0 to 10 wait units",
    .note = "From the first launch until the host knows that the last kernel has ended; `host` is "
            "the part of it that the launch calls take. A wait unit is 1 µs. The formulas use "
            "these.",
    .axes = {"way", "units", "kernels"},
    .metrics = {HOST("latency", "us"), LEVELLED("host", "us")},
    .rounds = 20,
    .measure = measure_total,
    COMMON,
};

/* A table that is being declared, and its point of each way, to be compared with. */
struct filling {
    struct bench_table *table;
    struct bench_point *points[OVERHEAD_WAYS];
};

static struct cell *new_cell(enum overhead_way way)
{
    assert(cell_count < CELLS);
    struct cell *const cell = &cells[cell_count++];
    cell->way = way;
    return cell;
}

static void add_work(struct cell *cell, struct overhead_work work)
{
    assert(cell->count < JOBS);
    cell->works[cell->count++] = work;
}

/* `first` and `second` are the values of the axes after `way`, or NULL. */
static void add_point(struct filling *filling, const struct cell *cell, const char *first,
                      const char *second)
{
    const enum overhead_way raw = overhead_way_raw(cell->way);
    const char *const values[] = {overhead_way_names[cell->way], first, second};
    filling->points[cell->way] = bench_point_add(
        filling->table, raw != cell->way ? filling->points[raw] : NULL, cell, values);
}

static bool is_again(enum overhead_way way)
{
    return way == OVERHEAD_CUDA_EX_AGAIN || way == OVERHEAD_CU_EX_AGAIN ||
           way == OVERHEAD_CUDA_EX_PDL_AGAIN || way == OVERHEAD_CU_EX_PDL_AGAIN;
}

/* Whether the way is another call than those that the shorter tables have, but nothing else. */
static bool is_variant(enum overhead_way way)
{
    return way == OVERHEAD_SYMBOL || way == OVERHEAD_SYMBOL_AUTO || way == OVERHEAD_TYPED ||
           way == OVERHEAD_TYPED_AUTO || way == OVERHEAD_CUDA_EX_TYPED ||
           way == OVERHEAD_CUDA_EX_TYPED_PDL || is_again(way);
}

static const struct {
    const char *name;
    enum overhead_kernel kernel;
} null_kernel_args[] = {
    {"0", OVERHEAD_NULL_0},
    {"8", OVERHEAD_NULL_8},
    {"64", OVERHEAD_NULL_64},
};

/* A row for each way and number of arguments; `second` is 0 for tables with one job. */
static void declare_null(struct bench *bench, const struct bench_spec *spec, size_t first,
                         size_t second)
{
    struct filling filling = {.table = bench_table_add(bench, spec)};
    for (size_t i = 0; i < sizeof(null_kernel_args) / sizeof(null_kernel_args[0]); i++) {
        for (enum overhead_way way = 0; way < OVERHEAD_WAYS; way++) {
            if (is_again(way) && spec != &host_spec) {
                continue;
            }
            struct cell *const cell = new_cell(way);
            add_work(cell, null_kernels(null_kernel_args[i].kernel, first));
            if (second > 0) {
                add_work(cell, null_kernels(null_kernel_args[i].kernel, second));
            }
            add_point(&filling, cell, null_kernel_args[i].name, NULL);
        }
    }
}

/* Formula 2's: the work in 16 kernels, and in one. */
static void add_fusion(struct cell *cell, unsigned units)
{
    add_work(cell, wait_kernels(units, OVERHEAD_FUSED));
    add_work(cell, wait_kernels(units * OVERHEAD_FUSED, 1));
}

static void declare_large(struct bench *bench)
{
    static const struct {
        const char *name;
        unsigned units;
    } rows[] = {{"1", 1}, {"2", 2}, {"5", OVERHEAD_LARGE}, {"10", 10}};
    struct filling filling = {.table = bench_table_add(bench, &large_spec)};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (enum overhead_way way = 0; way < OVERHEAD_WAYS; way++) {
            if (!is_variant(way)) {
                struct cell *const cell = new_cell(way);
                add_fusion(cell, rows[i].units);
                add_work(cell, wait_kernels(rows[i].units, 1));
                add_point(&filling, cell, rows[i].name, NULL);
            }
        }
    }
}

static void declare_other(struct bench *bench)
{
    struct filling filling = {.table = bench_table_add(bench, &other_spec)};
    for (enum overhead_way way = 0; way < OVERHEAD_WAYS; way++) {
        if (!is_variant(way)) {
            struct cell *const cell = new_cell(way);
            add_work(cell, null_kernels(OVERHEAD_NULL_0, 1));
            add_fusion(cell, OVERHEAD_LARGE);
            add_work(cell, null_kernels(OVERHEAD_SIGNAL, 1));
            add_point(&filling, cell, NULL, NULL);
        }
    }
}

static void declare_unit(struct bench *bench)
{
    static const enum overhead_way ways[] = {OVERHEAD_CHEVRON, OVERHEAD_COOPERATIVE,
                                             OVERHEAD_GRAPH};
    enum { MOST = 2048 };
    struct filling filling = {.table = bench_table_add(bench, &unit_spec)};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        for (int by_clock = 0; by_clock < 2; by_clock++) {
            for (unsigned units = 1; units <= MOST; units *= 2) {
                char name[16];
                struct cell *const cell = new_cell(ways[i]);
                const struct overhead_work work = {OVERHEAD_WAIT, units / 2, by_clock != 0, 1};
                add_work(cell, work);
                add_work(cell, work);
                cell->works[1].units = units;
                (void)snprintf(name, sizeof(name), "%u", units);
                add_point(&filling, cell, by_clock ? "spin" : "sleep", name);
            }
        }
    }
}

static void declare_total(struct bench *bench)
{
    static const unsigned units[] = {0, 1, 5, 10};
    enum { MOST = 64 };
    struct filling filling = {.table = bench_table_add(bench, &total_spec)};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        for (unsigned kernels = 1; kernels <= MOST; kernels *= 2) {
            for (enum overhead_way way = 0; way < OVERHEAD_WAYS; way++) {
                if (!is_variant(way) && way != OVERHEAD_CUDA_LAUNCH && way != OVERHEAD_CUDA_EX &&
                    way != OVERHEAD_FUNCTION_COOPERATIVE) {
                    char first[16];
                    char second[16];
                    struct cell *const cell = new_cell(way);
                    add_work(cell, wait_kernels(units[i], kernels));
                    (void)snprintf(first, sizeof(first), "%u", units[i]);
                    (void)snprintf(second, sizeof(second), "%u", kernels);
                    add_point(&filling, cell, first, second);
                }
            }
        }
    }
}

void suite_overhead(struct bench *bench)
{
    cell_count = 0;
    memset(cells, 0, sizeof(cells));
    declare_null(bench, &host_spec, HOST_BATCH, 0);
    declare_null(bench, &latency_spec, 1, 0);
    declare_null(bench, &small_spec, OVERHEAD_FEW, OVERHEAD_MANY);
    declare_large(bench);
    declare_other(bench);
    declare_unit(bench);
    declare_total(bench);
    overhead_declare_devices(bench);
}
