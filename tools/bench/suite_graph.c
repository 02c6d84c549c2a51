/* SPDX-License-Identifier: MIT */
/* graph: lines of kernels by length, in streams, graphs and chains: what they cost to run. */
#include "suite_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "suites.h"

enum {
    BATCH = 256,    /* kernels a sample at least: shorter lines are run several times */
    OVERWRITES = 4, /* how often the size of L2 is written to overwrite it */
};

const enum line_way graph_ways[GRAPH_WAYS] = {WAY_STREAM, WAY_STREAM_PDL, WAY_GRAPH, WAY_GRAPH_PDL,
                                              WAY_CHAIN};

/* Each way beside what it adds one thing to: index in `graph_ways`, or -1. */
static const int way_against[GRAPH_WAYS] = {-1, 0, 0, 2, 3};

static bool in_graph(enum line_way way)
{
    return way != WAY_STREAM && way != WAY_STREAM_PDL;
}

void graph_refused(struct bench_point *point, size_t kernels, CUresult error)
{
    if (error == CUDA_ERROR_OUT_OF_MEMORY) {
        bench_waive(point, "the driver has no memory for %zu kernels in a graph: %s", kernels,
                    gpu_error_name(error));
    } else {
        bench_fail(point, "%zu kernels: %s", kernels, gpu_error_name(error));
    }
}

static unsigned blocks_of(bool fill)
{
    return fill ? (unsigned)gpu.multiprocessors : 1;
}

/* ---- turns ------------------------------------------------------------------------------------ */

void turns_open(struct turns *turns, size_t kernels, unsigned blocks, CUdeviceptr words)
{
    CUfunction function = gpu_function(IMAGE_SYNC, "line_turn");
    turns->kernels = kernels;
    turns->words = words;
    turns->launches = allocate(kernels, sizeof(*turns->launches));
    turns->args = allocate(kernels, sizeof(*turns->args));
    for (size_t i = 0; i < kernels; i++) {
        struct turn_args *const args = &turns->args[i];
        args->turn = (unsigned)i;
        args->step = i + 1 < kernels ? 1 : TURN_ROUND - args->turn;
        args->args[0] = &turns->words;
        args->args[1] = &args->turn;
        args->args[2] = &args->step;
        turns->launches[i] = (struct gpu_launch){function, blocks, GRAPH_THREADS, 0, args->args};
    }
}

void turns_close(struct turns *turns)
{
    free(turns->args);
    free(turns->launches);
    memset(turns, 0, sizeof(*turns));
}

static void turns_reset(CUdeviceptr words, unsigned blocks)
{
    gpu_fill(words, 0, blocks * sizeof(unsigned));
}

/* Fails the point unless every word was taken through the whole line, in order, `runs` times. */
static void turns_check(struct bench_point *point, CUdeviceptr words, unsigned blocks, size_t runs)
{
    const unsigned expected = (unsigned)(runs * TURN_ROUND);
    unsigned *const found = allocate(blocks, sizeof(*found));
    gpu_read(found, words, blocks * sizeof(*found));
    for (unsigned i = 0; i < blocks; i++) {
        if (found[i] != expected) {
            bench_fail(point,
                       "not in order: word %u of %u stands at kernel %u of run %u, not at the end "
                       "of run %zu",
                       i, blocks, found[i] % TURN_ROUND, found[i] / TURN_ROUND, runs);
            break;
        }
    }
    free(found);
}

/* ---- a line that is measured ------------------------------------------------------------------ */

struct shape {
    enum line_way way;
    size_t kernels;
    unsigned blocks;
};

/* What the tables measure with, from begin to end. */
struct scratch {
    CUdeviceptr words; /* of kernels that take turns: a word a block */
    CUdeviceptr other; /* what L2 is overwritten with */
};

static void scratch_open(struct bench_table *table)
{
    struct scratch *const scratch = allocate(1, sizeof(*scratch));
    scratch->words = gpu_alloc((size_t)gpu.multiprocessors * sizeof(unsigned));
    scratch->other = gpu_alloc(OVERWRITES * gpu.l2);
    table->state = scratch;
}

static void scratch_close(struct bench_table *table)
{
    struct scratch *const scratch = table->state;
    gpu_free(scratch->other);
    gpu_free(scratch->words);
    free(scratch);
}

static bool can_be_queued(const struct shape *shape, size_t times)
{
    return in_graph(shape->way) || shape->kernels * times <= gpu_queue_limit;
}

/* A line of kernels that do nothing but what PDL asks of them; it has run once. NULL if it is refused. */
static struct line *make_empty(struct bench_point *point, const struct shape *shape)
{
    static CUdeviceptr nowhere;
    static unsigned zero;
    static void *args[] = {&nowhere, &zero, &zero};
    static struct gpu_launch launch; /* one at a time: a stream's line reads it when it runs */
    const bool programmatic = shape->way == WAY_GRAPH_PDL || shape->way == WAY_CHAIN;
    const size_t expected = programmatic ? shape->kernels - 1 : 0;
    CUresult error = CUDA_SUCCESS;
    launch = (struct gpu_launch){gpu_function(IMAGE_SYNC, "line_turn"), shape->blocks,
                                 GRAPH_THREADS, 0, args};
    struct line *const line = line_make(shape->way, &launch, 1, shape->kernels, &error);
    if (line == NULL) {
        graph_refused(point, shape->kernels, error);
        return NULL;
    }
    if (line_cost(line)->programmatic_edges != expected) {
        bench_fail(point, "%zu of %zu edges are programmatic, not %zu",
                   line_cost(line)->programmatic_edges, shape->kernels - 1, expected);
    }
    line_run(line);
    gpu_wait();
    return line;
}

struct repeated {
    struct line *line;
    size_t times;
    double host_ns; /* that the calls took */
};

static void run_repeated(void *context)
{
    struct repeated *const repeated = context;
    const double begin = host_ns();
    for (size_t i = 0; i < repeated->times; i++) {
        line_run(repeated->line);
    }
    repeated->host_ns = host_ns() - begin;
}

/* Runs kernels that take turns once and then `times` times, and checks both. Returns the device time of the
 * latter, ns; NAN where they cannot be queued. */
static double measure_turns(struct bench_point *point, const struct shape *shape, size_t times)
{
    const CUdeviceptr words = ((const struct scratch *)point->table->state)->words;
    struct turns turns;
    CUresult error = CUDA_SUCCESS;
    double device_ns = NAN;
    turns_open(&turns, shape->kernels, shape->blocks, words);
    struct line *const line = line_make(shape->way, turns.launches, shape->kernels, 1, &error);
    if (line == NULL) {
        graph_refused(point, shape->kernels, error);
    } else {
        turns_reset(words, shape->blocks);
        line_run(line);
        turns_check(point, words, shape->blocks, 1);
        if (can_be_queued(shape, times)) {
            struct repeated turning = {.line = line, .times = times};
            turns_reset(words, shape->blocks);
            device_ns = 1e3 * gpu_time(run_repeated, &turning).device_us;
            turns_check(point, words, shape->blocks, times);
        }
    }
    line_free(line);
    turns_close(&turns);
    return device_ns;
}

/* Device time of a run after L2 was overwritten, ns. */
static double measure_cold(struct line *line, CUdeviceptr other)
{
    gpu_fill(other, 0, OVERWRITES * gpu.l2);
    return 1e3 * gpu_time(line_run, line).device_us;
}

/* Of `times` runs in a row, ns; `cold` and `wall` are of one run. NAN for what cannot be queued. */
struct figures {
    double host, device, wall, turns, cold;
};

/* Lines are made for each sample, so that no other graph is there: see the table `beside`. */
static struct figures measure(struct bench_point *point, const struct shape *shape, size_t times)
{
    const CUdeviceptr other = ((const struct scratch *)point->table->state)->other;
    struct figures figures = {NAN, NAN, NAN, NAN, NAN};
    struct line *const line = make_empty(point, shape);
    if (line == NULL) {
        return figures;
    }
    struct repeated empty = {.line = line, .times = times};
    figures.wall = gpu_wall_ns(run_repeated, &empty);
    figures.host = empty.host_ns;
    if (times > 1) {
        figures.wall = gpu_wall_ns(line_run, line);
    }
    if (can_be_queued(shape, times)) {
        figures.device = 1e3 * gpu_time(run_repeated, &empty).device_us;
        figures.cold = measure_cold(line, other);
    }
    line_free(line);
    figures.turns = measure_turns(point, shape, times);
    return figures;
}

/* ---- lines by length -------------------------------------------------------------------------- */

enum { LENGTHS = 13, FILLS = 2, LINES = LENGTHS * FILLS * GRAPH_WAYS };
static const char *const fill_names[FILLS] = {"1", "sm"};

struct line_config {
    enum line_way way;
    bool fill;
    size_t kernels;
};
static struct line_config line_configs[LINES];

static struct shape line_shape(const struct bench_point *point)
{
    const struct line_config *const config = point->config;
    return (struct shape){config->way, config->kernels, blocks_of(config->fill)};
}

static void line_check(struct bench_point *point)
{
    const struct shape shape = line_shape(point);
    (void)measure_turns(point, &shape, 1);
}

static void line_measure(struct bench_point *point, double *values)
{
    const struct shape shape = line_shape(point);
    const double kernels = (double)shape.kernels;
    const size_t times = shape.kernels < BATCH ? BATCH / shape.kernels : 1;
    const struct figures figures = measure(point, &shape, times);
    values[0] = figures.host / (kernels * (double)times);
    values[1] = figures.device / (kernels * (double)times);
    values[2] = figures.turns / (kernels * (double)times);
    values[3] = figures.cold / kernels;
    values[4] = figures.wall / kernels;
}

static const struct bench_spec line_spec = {
    .name = "line",
    .title = "Lines of 1 to 4,096 kernels, time a kernel",
    .note =
        "Kernels of 128 threads, in one block or a block an SM, that trigger, wait and do nothing. "
        "A line is made for each sample and run once before. `host` is what the launching calls "
        "take with nothing in front of them, `device` the same launches queued behind a gate, "
        "`turns` as `device` with kernels that each read a word which the one before wrote in "
        "another block, `cold` one line whose graph is not in L2, for other data were written "
        "since it ran, and `wall` one line from an idle stream until the host knows that it has "
        "ended. Lines below 256 kernels are run several times in a row for `host`, `device` and "
        "`turns`. Streams above 512 launches cannot be queued behind a gate: no device time there.",
    .axes = {"kernels", "blocks", "way"},
    .metrics = {{"host", "ns", false, 0},
                {"device", "ns", false, 0},
                {"turns", "ns", false, 0},
                {"cold", "ns", false, 0},
                {"wall", "ns", false, 0}},
    .rounds = 12,
    .begin = scratch_open,
    .check = line_check,
    .measure = line_measure,
    .end = scratch_close,
};

static void declare_line(struct bench *bench)
{
    struct bench_table *const table = bench_table_add(bench, &line_spec);
    struct bench_point *points[GRAPH_WAYS];
    for (size_t i = 0; i < LINES; i++) {
        const size_t way = i % GRAPH_WAYS;
        const size_t fill = i / GRAPH_WAYS % FILLS;
        char kernels[16];
        struct line_config *const config = &line_configs[i];
        *config =
            (struct line_config){graph_ways[way], fill == 1, (size_t)1 << (i / GRAPH_WAYS / FILLS)};
        (void)snprintf(kernels, sizeof(kernels), "%zu", config->kernels);
        const char *const values[] = {kernels, fill_names[fill], line_way_names[config->way]};
        points[way] = bench_point_add(
            table, way_against[way] >= 0 ? points[way_against[way]] : NULL, config, values);
    }
}

/* ---- slopes ----------------------------------------------------------------------------------- */

enum { SHORT, LONG, ENDS };
/* The second is for graphs: a stream's host time varies by more than its intercept would be. */
static const size_t slope_lengths[][ENDS] = {{64, 512}, {512, GRAPH_LONGEST}};
enum {
    SPANS = sizeof(slope_lengths) / sizeof(slope_lengths[0]),
    SLOPES = SPANS * FILLS * GRAPH_WAYS
};

struct slope_config {
    enum line_way way;
    bool fill;
    const size_t *lengths;
};
static struct slope_config slope_configs[SLOPES];

static struct shape slope_shape(const struct bench_point *point, int end)
{
    const struct slope_config *const config = point->config;
    return (struct shape){config->way, config->lengths[end], blocks_of(config->fill)};
}

static void slope_check(struct bench_point *point)
{
    for (int i = 0; i < ENDS; i++) {
        const struct shape shape = slope_shape(point, i);
        (void)measure_turns(point, &shape, 1);
    }
}

static double slope_of(double at_short, double at_long, const size_t *lengths)
{
    return (at_long - at_short) / (double)(lengths[LONG] - lengths[SHORT]);
}

static double intercept_us(double at_short, double slope, const size_t *lengths)
{
    return (at_short - slope * (double)lengths[SHORT]) / 1e3;
}

static void slope_measure(struct bench_point *point, double *values)
{
    const size_t *const lengths = ((const struct slope_config *)point->config)->lengths;
    struct figures ends[ENDS];
    for (int i = 0; i < ENDS; i++) {
        const struct shape shape = slope_shape(point, i);
        ends[i] = measure(point, &shape, 1);
    }
    values[0] = slope_of(ends[SHORT].host, ends[LONG].host, lengths);
    values[1] = slope_of(ends[SHORT].device, ends[LONG].device, lengths);
    values[2] = slope_of(ends[SHORT].turns, ends[LONG].turns, lengths);
    values[3] = slope_of(ends[SHORT].cold, ends[LONG].cold, lengths);
    values[4] = slope_of(ends[SHORT].wall, ends[LONG].wall, lengths);
    values[5] = intercept_us(ends[SHORT].host, values[0], lengths);
    values[6] = intercept_us(ends[SHORT].device, values[1], lengths);
    values[7] = intercept_us(ends[SHORT].wall, values[4], lengths);
}

static const struct bench_spec slope_spec = {
    .name = "slope",
    .title = "What each further kernel of a line costs, and what a line costs besides",
    .note =
        "As the lines by length, each run once: a sample is the slope between two lengths, and the "
        "intercept of the line through both (`-fixed`, us), which for the device holds what the "
        "two events around it take.",
    .axes = {"span", "blocks", "way"},
    .metrics = {{"host", "ns", false, 0},
                {"device", "ns", false, 0},
                {"turns", "ns", false, 0},
                {"cold", "ns", false, 0},
                {"wall", "ns", false, 0},
                {"host-fixed", "us", false, 0.1},
                {"device-fixed", "us", false, 0.1},
                {"wall-fixed", "us", false, 0.1}},
    .rounds = 24,
    .begin = scratch_open,
    .check = slope_check,
    .measure = slope_measure,
    .end = scratch_close,
};

static void declare_slope(struct bench *bench)
{
    struct bench_table *const table = bench_table_add(bench, &slope_spec);
    struct bench_point *points[GRAPH_WAYS];
    for (size_t i = 0; i < SLOPES; i++) {
        const size_t way = i % GRAPH_WAYS;
        const size_t fill = i / GRAPH_WAYS % FILLS;
        const size_t *const lengths = slope_lengths[i / GRAPH_WAYS / FILLS];
        char span[32];
        if (lengths != slope_lengths[0] && !in_graph(graph_ways[way])) {
            points[way] = NULL;
            continue;
        }
        slope_configs[i] = (struct slope_config){graph_ways[way], fill == 1, lengths};
        (void)snprintf(span, sizeof(span), "%zu-%zu", lengths[SHORT], lengths[LONG]);
        const char *const values[] = {span, fill_names[fill], line_way_names[graph_ways[way]]};
        points[way] =
            bench_point_add(table, way_against[way] >= 0 ? points[way_against[way]] : NULL,
                            &slope_configs[i], values);
    }
}

/* ---- beside other graphs ---------------------------------------------------------------------- */

static const size_t beside_kernels[] = {0, 2048, 32768};
enum {
    BESIDE_EACH = 512, /* kernels of one of the other graphs */
    BESIDE_WAYS = GRAPH_WAYS - GRAPH_FIRST_MADE,
    BESIDES = sizeof(beside_kernels) / sizeof(beside_kernels[0]) * BESIDE_WAYS,
};

struct beside_config {
    enum line_way way;
    size_t beside;
};
static struct beside_config beside_configs[BESIDES];

static void beside_check(struct bench_point *point)
{
    const struct beside_config *const config = point->config;
    const struct shape shape = {config->way, slope_lengths[0][LONG], 1};
    (void)measure_turns(point, &shape, 1);
}

static void beside_measure(struct bench_point *point, double *values)
{
    const struct beside_config *const config = point->config;
    const CUdeviceptr other = ((const struct scratch *)point->table->state)->other;
    const struct shape another = {WAY_GRAPH, BESIDE_EACH, 1};
    const size_t *const lengths = slope_lengths[0];
    const size_t count = config->beside / BESIDE_EACH;
    struct line **const others = allocate(count, sizeof(struct line *));
    double hot[ENDS] = {NAN, NAN};
    double cold[ENDS] = {NAN, NAN};
    for (size_t i = 0; i < count; i++) {
        others[i] = make_empty(point, &another);
    }
    for (int i = 0; i < ENDS; i++) {
        const struct shape shape = {config->way, lengths[i], 1};
        struct line *const line = make_empty(point, &shape);
        if (line != NULL) {
            hot[i] = 1e3 * gpu_time(line_run, line).device_us;
            cold[i] = measure_cold(line, other);
        }
        line_free(line);
    }
    for (size_t i = 0; i < count; i++) {
        line_free(others[i]);
    }
    free(others);
    values[0] = slope_of(hot[SHORT], hot[LONG], lengths);
    values[1] = slope_of(cold[SHORT], cold[LONG], lengths);
}

static const struct bench_spec beside_spec = {
    .name = "beside",
    .title = "What each kernel of a graph takes where other graphs were made before it",
    .note =
        "Device time of a kernel, one block, by the slope between 64 and 512: of a graph that was "
        "made while others with so many kernels were there. The driver finds it another place in "
        "the device's memory, and that is what differs. `cold` as in the other tables.",
    .axes = {"beside", "way"},
    .metrics = {{"device", "ns", false, 0.1}, {"cold", "ns", false, 0.1}},
    .rounds = 8,
    .begin = scratch_open,
    .check = beside_check,
    .measure = beside_measure,
    .end = scratch_close,
};

static void declare_beside(struct bench *bench)
{
    struct bench_table *const table = bench_table_add(bench, &beside_spec);
    struct bench_point *points[BESIDE_WAYS];
    for (size_t i = 0; i < BESIDES; i++) {
        const size_t way = i % BESIDE_WAYS;
        char beside[16];
        beside_configs[i] = (struct beside_config){graph_ways[GRAPH_FIRST_MADE + way],
                                                   beside_kernels[i / BESIDE_WAYS]};
        (void)snprintf(beside, sizeof(beside), "%zu", beside_configs[i].beside);
        const char *const values[] = {beside, line_way_names[beside_configs[i].way]};
        points[way] =
            bench_point_add(table, way > 0 ? points[way - 1] : NULL, &beside_configs[i], values);
    }
}

/* Those that keep many graphs come last: what they leave to the driver would move the others. */
void suite_graph(struct bench *bench)
{
    declare_line(bench);
    declare_slope(bench);
    graph_declare_build(bench);
    declare_beside(bench);
    graph_declare_memory(bench);
}
