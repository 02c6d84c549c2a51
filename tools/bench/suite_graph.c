/* SPDX-License-Identifier: MIT */
/* graph: lines of kernels by length, in streams, graphs and chains: what they cost to run. */
#include "bench/suite_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/suites.h"
#include "common/memory.h"

enum { BATCH = 256 }; /* kernels a sample at least: shorter lines are run several times */

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

/* ---- turns ------------------------------------------------------------------------------------ */

void turns_open(struct turns *turns, size_t kernels, unsigned blocks, CUdeviceptr words)
{
    CUfunction function = gpu_function(IMAGE_COMMON, "line_turn");
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
                       "not in order: word %u of %u is from kernel %u of run %u, not at the end "
                       "of run %zu",
                       i, blocks, found[i] % TURN_ROUND, found[i] / TURN_ROUND, runs);
            break;
        }
    }
    free(found);
}

/* ---- a line that is run ----------------------------------------------------------------------- */

/* What the tables measure with, from begin to end. */
struct scratch {
    CUdeviceptr words; /* of kernels that take turns, a word a block: lines run one after another */
    struct gpu_launch burst_launch;
    struct line *burst; /* of PDL launches: see settle() */
    size_t count;
    struct pair *pairs; /* by point */
};

/* A line twice: of kernels that do nothing but what PDL asks of them, and of kernels that take turns. */
struct pair {
    enum line_way way;
    size_t kernels;
    unsigned blocks;
    struct gpu_launch empty_launch;
    struct line *empty, *turning;
    struct turns turns;
};

/* Arguments of kernels that do nothing but what PDL asks of them. */
static CUdeviceptr nowhere;
static unsigned zero;
static void *nothing[TURN_PARAMETERS] = {&nowhere, &zero, &zero};

static void scratch_open(struct bench_table *table, size_t pairs)
{
    enum { BURST = 480 };
    struct scratch *const scratch = allocate(1, sizeof(*scratch));
    CUresult error = CUDA_SUCCESS;
    scratch->burst_launch =
        (struct gpu_launch){gpu_function(IMAGE_COMMON, "line_turn"), (unsigned)gpu.multiprocessors,
                            GRAPH_THREADS, 0, nothing};
    scratch->burst = line_make(WAY_STREAM_PDL, &scratch->burst_launch, 1, BURST, &error);
    MUST(error);
    scratch->words = gpu_alloc((size_t)gpu.multiprocessors * sizeof(unsigned));
    scratch->count = pairs;
    scratch->pairs = allocate(pairs, sizeof(*scratch->pairs));
    table->state = scratch;
}

static void pair_close(struct pair *pair)
{
    line_free(pair->empty);
    line_free(pair->turning);
    turns_close(&pair->turns);
}

static void scratch_close(struct bench_table *table)
{
    struct scratch *const scratch = table->state;
    for (size_t i = 0; i < scratch->count; i++) {
        pair_close(&scratch->pairs[i]);
    }
    line_free(scratch->burst);
    gpu_free(scratch->words);
    free(scratch->pairs);
    free(scratch);
}

/* What ran on the device before moves a graph by some 180 ns a kernel, and points have their neighbours in
 * every round: so each graph is measured after the same burst of launches. */
static void settle(const struct bench_point *point, const struct pair *pair)
{
    if (in_graph(pair->way)) {
        line_run(((const struct scratch *)point->table->state)->burst);
        gpu_wait();
    }
}

static struct pair *pair_of(const struct bench_point *point, size_t index)
{
    return &((const struct scratch *)point->table->state)->pairs[index];
}

static void pair_open(struct bench_point *point, struct pair *pair, enum line_way way,
                      size_t kernels, bool fill)
{
    CUresult error = CUDA_SUCCESS;
    pair->way = way;
    pair->kernels = kernels;
    pair->blocks = fill ? (unsigned)gpu.multiprocessors : 1;
    pair->empty_launch = (struct gpu_launch){gpu_function(IMAGE_COMMON, "line_turn"), pair->blocks,
                                             GRAPH_THREADS, 0, nothing};
    turns_open(&pair->turns, kernels, pair->blocks,
               ((const struct scratch *)point->table->state)->words);
    pair->empty = line_make(way, &pair->empty_launch, 1, kernels, &error);
    if (pair->empty != NULL) {
        pair->turning = line_make(way, pair->turns.launches, kernels, 1, &error);
    }
    if (pair->turning == NULL) {
        graph_refused(point, kernels, error);
    }
}

static void pair_check(struct bench_point *point, struct pair *pair)
{
    enum { RUNS = 2 };
    const bool programmatic = pair->way == WAY_GRAPH_PDL || pair->way == WAY_CHAIN;
    const size_t expected = programmatic ? pair->kernels - 1 : 0;
    const size_t edges = line_cost(pair->turning)->programmatic_edges;
    turns_reset(pair->turns.words, pair->blocks);
    line_run(pair->empty);
    for (int i = 0; i < RUNS; i++) {
        line_run(pair->turning);
    }
    turns_check(point, pair->turns.words, pair->blocks, RUNS);
    if (edges != expected || line_cost(pair->empty)->programmatic_edges != expected) {
        bench_fail(point, "%zu of %zu edges are programmatic, not %zu", edges, pair->kernels - 1,
                   expected);
    }
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

/* Of `times` runs in a row, ns. NAN for what cannot be queued behind a gate. */
struct figures {
    double host, device, turns, wall;
};

static struct figures pair_measure(struct bench_point *point, struct pair *pair, size_t times)
{
    struct figures figures = {NAN, NAN, NAN, NAN};
    struct repeated empty = {.line = pair->empty, .times = times};
    struct repeated turning = {.line = pair->turning, .times = times};
    settle(point, pair);
    figures.wall = gpu_wall_ns(run_repeated, &empty);
    figures.host = empty.host_ns;
    if (in_graph(pair->way) || pair->kernels * times <= gpu_queue_limit) {
        figures.device = 1e3 * gpu_time(run_repeated, &empty).device_us;
        turns_reset(pair->turns.words, pair->blocks);
        figures.turns = 1e3 * gpu_time(run_repeated, &turning).device_us;
        turns_check(point, pair->turns.words, pair->blocks, times);
    }
    return figures;
}

/* ---- lines by length -------------------------------------------------------------------------- */

enum { LENGTHS = 13, FILLS = 2, LINES = LENGTHS * FILLS * GRAPH_WAYS };
static const char *const fill_names[FILLS] = {"1", "sm"};

struct line_config {
    enum line_way way;
    bool fill;
    size_t kernels, index;
};
static struct line_config line_configs[LINES];

static struct pair *line_pair(const struct bench_point *point)
{
    return pair_of(point, ((const struct line_config *)point->config)->index);
}

static void line_open(struct bench_point *point)
{
    const struct line_config *const config = point->config;
    pair_open(point, line_pair(point), config->way, config->kernels, config->fill);
}

static void line_begin(struct bench_table *table)
{
    scratch_open(table, LINES);
    bench_each_active(table, line_open);
}

static void line_check(struct bench_point *point)
{
    pair_check(point, line_pair(point));
}

static void line_measure(struct bench_point *point, double *values)
{
    struct pair *const pair = line_pair(point);
    const double kernels = (double)pair->kernels;
    const size_t times = pair->kernels < BATCH ? BATCH / pair->kernels : 1;
    const struct figures figures = pair_measure(point, pair, times);
    values[0] = figures.host / (kernels * (double)times);
    values[1] = figures.device / (kernels * (double)times);
    values[2] = figures.turns / (kernels * (double)times);
    values[3] = (times > 1 ? gpu_wall_ns(line_run, pair->empty) : figures.wall) / kernels;
}

static const struct bench_spec line_spec = {
    .name = "line",
    .title = "Lines of 1 to 4,096 kernels, time a kernel",
    .note =
        "Kernels of 128 threads, in one block or a block an SM, that trigger, wait and do nothing. "
        "`host` is what the launching calls take with nothing in front of them, `device` the same "
        "launches queued behind a gate, `turns` as `device` with kernels that each read a word "
        "which the one before wrote in another block, and `wall` one line from an idle stream "
        "until the host knows that it has ended. Lines below 256 kernels are run several times in "
        "a row for `host`, `device` and `turns`. Streams above 512 launches cannot be queued "
        "behind a gate: no device time there. A graph is measured after a burst of 480 PDL "
        "launches "
        "in the stream, so that all find the device in the same state.",
    .axes = {"kernels", "blocks", "way"},
    .metrics = {{"host", "ns", false, 0.25},
                {"device", "ns", false, 0.15},
                {"turns", "ns", false, 0.1},
                {"wall", "ns", false, 0.1}},
    .rounds = 20,
    .begin = line_begin,
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
        *config = (struct line_config){graph_ways[way], fill == 1,
                                       (size_t)1 << (i / GRAPH_WAYS / FILLS), i};
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
    size_t index;
};
static struct slope_config slope_configs[SLOPES];

static double slope_of(double at_short, double at_long, const size_t *lengths)
{
    return (at_long - at_short) / (double)(lengths[LONG] - lengths[SHORT]);
}

static double intercept_us(double at_short, double slope, const size_t *lengths)
{
    return (at_short - slope * (double)lengths[SHORT]) / 1e3;
}

static struct pair *slope_pair(const struct bench_point *point, int end)
{
    const struct slope_config *const config = point->config;
    return pair_of(point, ENDS * config->index + (size_t)end);
}

static void slope_open(struct bench_point *point)
{
    const struct slope_config *const config = point->config;
    for (int j = 0; j < ENDS && bench_point_active(point); j++) {
        pair_open(point, slope_pair(point, j), config->way, config->lengths[j], config->fill);
    }
}

static void slope_begin(struct bench_table *table)
{
    scratch_open(table, (size_t)ENDS * SLOPES);
    bench_each_active(table, slope_open);
}

static void slope_check(struct bench_point *point)
{
    for (int i = 0; i < ENDS; i++) {
        pair_check(point, slope_pair(point, i));
    }
}

static void slope_measure(struct bench_point *point, double *values)
{
    const size_t *const lengths = ((const struct slope_config *)point->config)->lengths;
    const struct figures at_short = pair_measure(point, slope_pair(point, SHORT), 1);
    const struct figures at_long = pair_measure(point, slope_pair(point, LONG), 1);
    values[0] = slope_of(at_short.host, at_long.host, lengths);
    values[1] = slope_of(at_short.device, at_long.device, lengths);
    values[2] = slope_of(at_short.turns, at_long.turns, lengths);
    values[3] = slope_of(at_short.wall, at_long.wall, lengths);
    values[4] = intercept_us(at_short.host, values[0], lengths);
    values[5] = intercept_us(at_short.device, values[1], lengths);
    values[6] = intercept_us(at_short.turns, values[2], lengths);
    values[7] = intercept_us(at_short.wall, values[3], lengths);
}

/* What is fixed is small beside what varies in a stream's calls. */
static const struct bench_spec slope_spec = {
    .name = "slope",
    .title = "What each further kernel of a line costs, and what a line costs besides",
    .note =
        "As the lines by length, each run once: a sample is the slope between two lengths, and the "
        "intercept of the line through both (`-fixed`, µs), which for the device holds what the "
        "two events around it take.",
    .axes = {"span", "blocks", "way"},
    .metrics = {{"host", "ns", false, 0.25},
                {"device", "ns", false, 0.1},
                {"turns", "ns", false, 0.1},
                {"wall", "ns", false, 0.1},
                {"host-fixed", "us", false, 1},
                {"device-fixed", "us", false, 1},
                {"turns-fixed", "us", false, 1},
                {"wall-fixed", "us", false, 1}},
    .rounds = 30,
    .begin = slope_begin,
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
        slope_configs[i] = (struct slope_config){graph_ways[way], fill == 1, lengths, i};
        (void)snprintf(span, sizeof(span), "%zu-%zu", lengths[SHORT], lengths[LONG]);
        const char *const values[] = {span, fill_names[fill], line_way_names[graph_ways[way]]};
        points[way] =
            bench_point_add(table, way_against[way] >= 0 ? points[way_against[way]] : NULL,
                            &slope_configs[i], values);
    }
}

void suite_graph(struct bench *bench)
{
    declare_line(bench);
    declare_slope(bench);
    graph_declare_build(bench);
}
