/* SPDX-License-Identifier: MIT */
/* Two kernels, the second after the first, by the stamps that their blocks take: what overlap needs. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/suite_overlap.h"
#include "common/memory.h"

/* ---- one pair --------------------------------------------------------------------------------- */

/* What overlap needs, and what is missing. */
enum condition {
    ALL_HOLD,
    NO_TRIGGER,   /* the primary triggers by ending */
    SILENT_BLOCK, /* all of its blocks but one trigger early */
    NO_ATTRIBUTE, /* the secondary is launched without it */
    NO_ROOM,      /* an SM has room for one block */
    NO_PROLOGUE,  /* the secondary waits at once */
    CONDITIONS,
};
static const char *const condition_names[CONDITIONS] = {
    "all", "no-trigger", "silent-block", "no-attribute", "no-room", "no-prologue"};

struct pair_config {
    enum line_way way;
    enum condition condition;
    unsigned prologue, before, after; /* cycles, of both */
};

struct pair {
    const struct pair_config *config;
    struct line *line;
    struct gpu_launch launches[2];
    struct overlap_args args[2];
    void *pointers[2];
    CUdeviceptr memory, stamps;
    unsigned grid, count;
    struct overlap_result *results; /* what was read last: of the secondary */
    struct overlap_stamps *read;    /* of the primary, then of the secondary */
};

/* Runs of the pair in a sample, which is their mean: the device's timer has steps. */
enum { THREADS = 256, RUNS = 8 };

static void open_point(struct bench_point *point)
{
    const struct pair_config *const config = point->config;
    struct pair *const pair = point->state;
    pair->config = config;
    if (gpu.timer_step > 500) {
        bench_waive(point, "the device's timer has steps of %llu ns", gpu.timer_step);
        return;
    }
    const unsigned shared = overlap_shared_bytes(config->condition == NO_ROOM);
    pair->grid = (unsigned)gpu.multiprocessors;
    const size_t bytes = pair->grid * sizeof(struct overlap_stamps);
    pair->memory = gpu_alloc(2 * sizeof(struct overlap_result) * pair->grid);
    pair->stamps = gpu_alloc(2 * bytes);
    pair->results = allocate(pair->grid, sizeof(*pair->results));
    pair->read = allocate(2 * (size_t)pair->grid, sizeof(*pair->read));
    overlap_memory_init(pair->memory, pair->grid, pair->args);
    for (int i = 0; i < 2; i++) {
        struct overlap_args *const args = &pair->args[i];
        args->stamps = (void *)(uintptr_t)(pair->stamps + (size_t)i * bytes);
        args->prologue = i == 1 && config->condition == NO_PROLOGUE ? 0 : config->prologue;
        args->before = config->before;
        args->after = config->after;
        args->trigger =
            config->condition == NO_TRIGGER ? OVERLAP_TRIGGER_NEVER : OVERLAP_TRIGGER_MAIN;
        args->silent_block = config->condition == SILENT_BLOCK ? pair->grid / 2 : ~0u;
        pair->pointers[i] = args;
        pair->launches[i] = (struct gpu_launch){.function = overlap_function("overlap_stamped"),
                                                .grid = pair->grid,
                                                .block = THREADS,
                                                .shared_bytes = shared,
                                                .args = &pair->pointers[i]};
    }
    CUresult error = CUDA_SUCCESS;
    pair->line = line_make(config->way, pair->launches, 2, 1, &error);
    if (pair->line == NULL) {
        bench_fail(point, "a graph of two kernels: %s", gpu_error_name(error));
    }
}

static void close_point(struct bench_point *point)
{
    struct pair *const pair = point->state;
    line_free(pair->line);
    gpu_free(pair->memory);
    gpu_free(pair->stamps);
    free(pair->results);
    free(pair->read);
}

/* libpdl without overlap, for the condition that it breaks. */
static void launch_without_overlap(const struct pair *pair)
{
    for (int i = 0; i < 2; i++) {
        const struct gpu_launch *const launch = &pair->launches[i];
        const pdl_launch_desc desc =
            PDL_LAUNCH_DESC(.grid = {launch->grid}, .block = {launch->block},
                            .dynamic_shared_memory = launch->shared_bytes, .stream = gpu.stream,
                            .overlap = PDL_OVERLAP_NONE);
        MUST_PDL(pdl_launch(gpu_kernel(launch->function), &desc, launch->args));
    }
}

static void run_pair(void *context)
{
    struct pair *const pair = context;
    if (pair->config->condition == NO_ATTRIBUTE && pair->config->way == WAY_LIBPDL) {
        launch_without_overlap(pair);
    } else {
        line_run(pair->line);
    }
}

/* Runs the pair and reads what it left; false where that is wrong. */
static bool run_checked(struct bench_point *point, struct pair *pair)
{
    (void)gpu_time(run_pair, pair);
    pair->count += 2;
    gpu_read(pair->read, pair->stamps, 2 * (size_t)pair->grid * sizeof(*pair->read));
    return overlap_memory_check(point, pair->memory, pair->grid, pair->count, pair->results);
}

/* ---- what the stamps say ---------------------------------------------------------------------- */

struct span {
    double first, last;
};

/* Of all blocks of a kernel, us from the first start of the primary. */
struct spans {
    struct span start, arrived, waited, triggered, ended; /* triggered is NAN where no block did */
};

static void add(struct span *span, unsigned long long stamp, unsigned long long zero)
{
    if (stamp != 0) {
        const double at = 1e-3 * ((double)stamp - (double)zero);
        span->first = at < span->first || isnan(span->first) ? at : span->first;
        span->last = at > span->last || isnan(span->last) ? at : span->last;
    }
}

static struct spans spans_of(const struct pair *pair, unsigned kernel)
{
    const struct overlap_stamps *const stamps = pair->read + (size_t)kernel * pair->grid;
    const struct span none = {NAN, NAN};
    struct spans spans = {none, none, none, none, none};
    unsigned long long zero = pair->read[0].start;
    for (unsigned i = 0; i < pair->grid; i++) {
        zero = pair->read[i].start < zero ? pair->read[i].start : zero;
    }
    for (unsigned i = 0; i < pair->grid; i++) {
        add(&spans.start, stamps[i].start, zero);
        add(&spans.arrived, stamps[i].arrived, zero);
        add(&spans.waited, stamps[i].waited, zero);
        add(&spans.triggered, stamps[i].triggered, zero);
        add(&spans.ended, stamps[i].ended, zero);
    }
    return spans;
}

/* No block of the secondary returns from its wait before the primary's last block is at its end: what the
 * wait is for. False where it did. */
static bool check_order(struct bench_point *point, const struct pair *pair)
{
    const double step = 1e-3 * (double)gpu.timer_step;
    const double ended = spans_of(pair, 0).ended.last;
    const double waited = spans_of(pair, 1).waited.first;
    if (!(waited > ended - 2 * step)) {
        bench_fail(point, "the wait returned %.2f µs before the primary's end", ended - waited);
        return false;
    }
    return true;
}

static bool start(struct bench_point *point)
{
    struct pair *const pair = point->state;
    overlap_memory_clear(pair->memory, pair->grid);
    pair->count = 0;
    gpu_fill(pair->stamps, 0, 2 * (size_t)pair->grid * sizeof(struct overlap_stamps));
    return run_checked(point, pair) && check_order(point, pair);
}

/* ---- table conditions ------------------------------------------------------------------------- */

struct overlap {
    double all;    /* us from the primary's first start to the secondary's last end */
    double before; /* us of the secondary before the primary's end: less than 0
                    where it came later */
    double useful; /* of these, us before the secondary's last block was at its
                    wait */
};

static struct overlap overlap_of(const struct pair *pair)
{
    const struct spans primary = spans_of(pair, 0);
    const struct spans secondary = spans_of(pair, 1);
    const double until = fmin(secondary.arrived.last, primary.ended.last);
    return (struct overlap){
        .all = secondary.ended.last,
        .before = primary.ended.last - secondary.start.first,
        .useful = fmax(0, until - secondary.start.first),
    };
}

/* What overlaps where it should is more than half of what can, and where it should not less than a
 * quarter: the blocks of a kernel do not start and end all at once. At the highest clock, for which the
 * most can. */
static void check_overlap(struct bench_point *point, const struct pair *pair)
{
    const struct pair_config *const config = pair->config;
    const struct overlap overlap = overlap_of(pair);
    const double possible = (double)config->after / (1e-3 * gpu.clock_khz);
    const bool plain = config->way == WAY_STREAM || config->way == WAY_GRAPH;
    const bool comes_early =
        !plain && (config->condition == ALL_HOLD || config->condition == NO_PROLOGUE);
    const bool works_early = comes_early && config->condition == ALL_HOLD;
    if (comes_early ? overlap.before < possible / 2 : overlap.before > possible / 4) {
        bench_fail(point, "the secondary starts %.2f µs before the primary's end, and should %s",
                   overlap.before, comes_early ? "start early" : "not overlap");
    } else if (works_early ? overlap.useful < possible / 2 : overlap.useful > possible / 4) {
        bench_fail(point,
                   "the secondary does %.2f µs of work before the primary's end, "
                   "and should %s",
                   overlap.useful, works_early ? "do more" : "do none");
    }
}

static void check_condition(struct bench_point *point)
{
    if (start(point)) {
        check_overlap(point, point->state);
    }
}

static void measure_condition(struct bench_point *point, double *values)
{
    struct pair *const pair = point->state;
    struct overlap sum = {0, 0, 0};
    for (int i = 0; i < RUNS; i++) {
        if (!run_checked(point, pair) || !check_order(point, pair)) {
            return;
        }
        const struct overlap overlap = overlap_of(pair);
        sum.all += overlap.all;
        sum.before += overlap.before;
        sum.useful += overlap.useful;
    }
    values[0] = sum.all / RUNS;
    values[1] = sum.before / RUNS;
    values[2] = sum.useful / RUNS;
}

void overlap_declare_conditions(struct bench *bench)
{
    static const struct bench_spec spec = {
        .name = "conditions",
        .title = "A pair of kernels with all conditions of overlap met, and with each broken",
        .note = "A pair with a block of 256 threads on each SM, 8000 cycles before the "
                "wait, 400 from there to the trigger, 8000 from there to the end. all: the "
                "primary triggers early in all blocks, the secondary is launched with the "
                "attribute, has room beside the primary, and has work before its wait. "
                "no-trigger: the primary triggers by ending; silent-block: one of its "
                "blocks does. no-attribute: without it, or with full edges. no-room: "
                "shared memory for one block per SM. no-prologue: the secondary waits "
                "first. By %globaltimer: pair, from the first start to the last end; "
                "overlap, from the secondary's first start to the primary's last end, less "
                "than 0 where it came later; useful, how much of that the secondary "
                "worked. A sample is the mean of 8 runs.",
        .axes = {"condition", "way"},
        .metrics = {{.name = "pair", .unit = "us"},
                    {.name = "overlap", .unit = "us", .higher_is_better = true, .tolerance = 1},
                    {.name = "useful", .unit = "us", .higher_is_better = true, .tolerance = 1}},
        .check = check_condition,
        .measure = measure_condition,
        .rounds = 20,
        .config_size = sizeof(struct pair_config),
        .state_size = sizeof(struct pair),
        .open = open_point,
        .close = close_point,
    };
    struct bench_table *const table = bench_table_add(bench, &spec);
    for (int condition = 0; condition < CONDITIONS; condition++) {
        struct pair_config config = {
            .condition = condition, .prologue = 8000, .before = 400, .after = 8000};
        struct bench_point *points[WAYS] = {NULL};
        char shape[32];
        (void)snprintf(shape, sizeof(shape), "%s/", condition_names[condition]);
        if (condition != NO_ATTRIBUTE) {
            overlap_add_rows(table, points, overlap_all_ways(), shape, &config);
            continue;
        }
        /* The others have it; libpdl without overlap stands beside a plain stream. */
        overlap_add_rows(table, points, 1U << WAY_STREAM, shape, &config);
        points[WAY_STREAM_PDL] = points[WAY_STREAM];
        overlap_add_rows(table, points, 1U << WAY_LIBPDL | 1U << WAY_GRAPH, shape, &config);
    }
}
