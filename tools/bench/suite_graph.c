/* SPDX-License-Identifier: MIT */
/* graph: lines of kernels in streams, graphs and chains: what they cost to run, by length, and what a graph
 * costs to make and to change. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/line.h"
#include "bench/suites.h"
#include "common/memory.h"

enum {
    THREADS = 128,
    BATCH = 256, /* kernels a sample at least: shorter lines are run several times */
    LONGEST = 4096,
};

static const enum line_way ways[] = {WAY_STREAM, WAY_STREAM_PDL, WAY_GRAPH, WAY_GRAPH_PDL,
                                     WAY_CHAIN};
enum {
    GRAPH_WAYS = sizeof(ways) / sizeof(ways[0]),
    FIRST_MADE = 2 /* of those that make a graph */
};

static bool in_graph(enum line_way way)
{
    return line_ways[way].maker == BY_GRAPH || line_ways[way].maker == BY_CHAIN;
}

/* A slope is taken between two lengths. */
enum { SHORT, LONG, ENDS };

struct config {
    enum line_way way;
    bool fill;            /* a block an SM, else one */
    size_t kernels[ENDS]; /* 0: there is no second line */
};

/* The driver refused: the point is waived where it has no memory for it, which is an answer and no fault,
 * and else it fails. */
static void refused(struct bench_point *point, size_t kernels, CUresult error)
{
    if (error == CUDA_ERROR_OUT_OF_MEMORY) {
        bench_waive(point, "the driver has no memory for %zu kernels in a graph: %s", kernels,
                    gpu_error_name(error));
    } else {
        bench_fail(point, "%zu kernels: %s", kernels, gpu_error_name(error));
    }
}

/* ---- turns ------------------------------------------------------------------------------------ */

/* A line of kernels that count: each adds to a block's word only if it is its turn, and the last one adds
 * up to a multiple of TURN_ROUND, where the turns begin anew. */
enum { TURN_ROUND = 0x2000, TURN_PARAMETERS = 3 };
struct turns {
    size_t kernels;
    struct gpu_launch *launches;
    CUdeviceptr words; /* a word a block */
    struct turn_args {
        unsigned turn, step;
        void *args[TURN_PARAMETERS];
    } * args;
};

/* Arguments of kernels that do nothing but what PDL asks of them. */
static CUdeviceptr nowhere;
static unsigned zero;
static void *nothing[TURN_PARAMETERS] = {&nowhere, &zero, &zero};

static struct gpu_launch turn_launch(unsigned blocks, void **args)
{
    return (struct gpu_launch){.function = gpu_function(IMAGE_COMMON, "line_turn"),
                               .grid = blocks,
                               .block = THREADS,
                               .args = args};
}

/* The struct must stay where it is until turns_close(). */
static void turns_open(struct turns *turns, size_t kernels, unsigned blocks, CUdeviceptr words)
{
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
        turns->launches[i] = turn_launch(blocks, args->args);
    }
}

static void turns_close(struct turns *turns)
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

/* ---- lines that are run ----------------------------------------------------------------------- */

/* What the tables measure with, from begin to end. */
struct scratch {
    CUdeviceptr words; /* of kernels that take turns, a word a block: lines run one after another */
    struct gpu_launch burst_launch;
    struct line *burst; /* of PDL launches: see settle() */
};

/* A line twice: of kernels that do nothing but what PDL asks of them, and of kernels that take turns. */
struct pair {
    size_t kernels;
    unsigned blocks;
    struct gpu_launch empty_launch;
    struct line *empty, *turning;
    struct turns turns;
};

static void lines_begin(struct bench_table *table)
{
    enum { BURST = 480 };
    struct scratch *const scratch = allocate(1, sizeof(*scratch));
    scratch->burst_launch = turn_launch((unsigned)gpu.multiprocessors, nothing);
    scratch->burst = line_make(WAY_STREAM_PDL, &scratch->burst_launch, 1, BURST, NULL);
    scratch->words = gpu_alloc((size_t)gpu.multiprocessors * sizeof(unsigned));
    table->state = scratch;
}

static void lines_end(struct bench_table *table)
{
    struct scratch *const scratch = table->state;
    line_free(scratch->burst);
    gpu_free(scratch->words);
    free(scratch);
}

static void lines_open(struct bench_point *point)
{
    const struct config *const config = point->config;
    const struct scratch *const scratch = point->table->state;
    for (int i = 0; i < ENDS && config->kernels[i] > 0 && bench_point_active(point); i++) {
        struct pair *const pair = &((struct pair *)point->state)[i];
        CUresult error = CUDA_SUCCESS;
        pair->kernels = config->kernels[i];
        pair->blocks = config->fill ? (unsigned)gpu.multiprocessors : 1;
        pair->empty_launch = turn_launch(pair->blocks, nothing);
        turns_open(&pair->turns, pair->kernels, pair->blocks, scratch->words);
        pair->empty = line_make(config->way, &pair->empty_launch, 1, pair->kernels, &error);
        if (pair->empty != NULL) {
            pair->turning = line_make(config->way, pair->turns.launches, pair->kernels, 1, &error);
        }
        if (pair->turning == NULL) {
            refused(point, pair->kernels, error);
        }
    }
}

static void lines_close(struct bench_point *point)
{
    struct pair *const pairs = point->state;
    for (int i = 0; i < ENDS; i++) {
        line_free(pairs[i].empty);
        line_free(pairs[i].turning);
        turns_close(&pairs[i].turns);
    }
}

static void lines_check(struct bench_point *point)
{
    enum { RUNS = 2 };
    const struct pair *const pairs = point->state;
    for (int i = 0; i < ENDS && pairs[i].kernels > 0; i++) {
        const struct pair *const pair = &pairs[i];
        turns_reset(pair->turns.words, pair->blocks);
        line_run(pair->empty);
        for (int j = 0; j < RUNS; j++) {
            line_run(pair->turning);
        }
        turns_check(point, pair->turns.words, pair->blocks, RUNS);
        if (line_check_edges(point, pair->turning)) {
            (void)line_check_edges(point, pair->empty);
        }
    }
}

struct repeated {
    struct line *line;
    size_t times;
};

static void run_repeated(void *context)
{
    const struct repeated *const repeated = context;
    for (size_t i = 0; i < repeated->times; i++) {
        line_run(repeated->line);
    }
}

/* Of `times` runs in a row, ns. NAN for what cannot be queued behind a gate. */
enum { OF_HOST, OF_DEVICE, OF_TURNS, OF_WALL, FIGURES };

/* What ran on the device before moves a graph by some 180 ns a kernel, and points have their neighbours in
 * every round: so each graph is measured after the same burst of launches. */
static void measure_pair(struct bench_point *point, const struct pair *pair, size_t times,
                         double figures[FIGURES])
{
    const bool graph = in_graph(((const struct config *)point->config)->way);
    struct repeated empty = {pair->empty, times};
    struct repeated turning = {pair->turning, times};
    if (graph) {
        line_run(((const struct scratch *)point->table->state)->burst);
        gpu_wait();
    }
    const struct gpu_lapse lapse = gpu_wall(run_repeated, &empty);
    figures[OF_HOST] = lapse.calls_ns;
    figures[OF_WALL] = lapse.total_ns;
    figures[OF_DEVICE] = figures[OF_TURNS] = NAN;
    if (graph || pair->kernels * times <= gpu_queue_limit) {
        figures[OF_DEVICE] = 1e3 * gpu_time(run_repeated, &empty).device_us;
        turns_reset(pair->turns.words, pair->blocks);
        figures[OF_TURNS] = 1e3 * gpu_time(run_repeated, &turning).device_us;
        turns_check(point, pair->turns.words, pair->blocks, times);
    }
}

static void line_measure(struct bench_point *point, double *values)
{
    const struct pair *const pair = point->state;
    const double kernels = (double)pair->kernels;
    const size_t times = pair->kernels < BATCH ? BATCH / pair->kernels : 1;
    measure_pair(point, pair, times, values);
    for (int i = 0; i < OF_WALL; i++) {
        values[i] /= kernels * (double)times;
    }
    if (times > 1) {
        values[OF_WALL] = gpu_wall(line_run, pair->empty).total_ns;
    }
    values[OF_WALL] /= kernels;
}

static void slope_measure(struct bench_point *point, double *values)
{
    const struct pair *const pairs = point->state;
    const double kernels = (double)pairs[SHORT].kernels;
    double figures[ENDS][FIGURES];
    for (int i = 0; i < ENDS; i++) {
        measure_pair(point, &pairs[i], 1, figures[i]);
    }
    for (int i = 0; i < FIGURES; i++) {
        values[i] =
            (figures[LONG][i] - figures[SHORT][i]) / ((double)pairs[LONG].kernels - kernels);
        values[FIGURES + i] = (figures[SHORT][i] - values[i] * kernels) / 1e3;
    }
}

#define LINES                                                                                      \
    .config_size = sizeof(struct config), .state_size = sizeof(struct pair[ENDS]),                 \
    .begin = lines_begin, .open = lines_open, .check = lines_check, .close = lines_close,          \
    .end = lines_end

static const struct bench_spec line_spec = {
    .name = "line",
    .title = "Lines of 1 to 4,096 kernels, time a kernel",
    .note = "Kernels of 128 threads, in one block or a block an SM, that trigger, wait "
            "and do nothing. `host` is what the launching calls take with nothing in "
            "front of them, `device` the same launches queued behind a gate, `turns` "
            "as `device` with kernels that each read a word which the one before wrote "
            "in another block, and `wall` one line from an idle stream until the host "
            "knows that it has ended. Lines below 256 kernels are run several times in "
            "a row for `host`, `device` and `turns`. Streams above 512 launches cannot "
            "be queued behind a gate: no device time there. A graph is measured after "
            "a burst of 480 PDL launches in the stream, so that all find the device in "
            "the same state.",
    .axes = {"kernels", "blocks", "way"},
    .metrics = {{"host", "ns", false, 0.25},
                {"device", "ns", false, 0.15},
                {"turns", "ns", false, 0.1},
                {"wall", "ns", false, 0.1}},
    .rounds = 20,
    LINES,
    .measure = line_measure,
};

static const struct bench_spec slope_spec = {
    .name = "slope",
    .title = "What each further kernel of a line costs, and what a line costs besides",
    .note = "As the lines by length, each run once: a sample is the slope between two "
            "lengths, and the intercept of the line through both (`-fixed`, µs), which "
            "for the device holds what the two events around it take.",
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
    LINES,
    .measure = slope_measure,
};

/* ---- making and changing ---------------------------------------------------------------------- */

/* One line whose arguments are all changed, from one set of them to the other and back. */
struct build {
    struct turns turns[2];
    int set;            /* that the line has */
    struct line *chain; /* or: */
    CUgraph graphs[2];  /* one with each set */
    CUgraphExec exec;
};

/* A table's state: a word that each set of arguments counts in. */
struct words {
    CUdeviceptr of[2];
};

static void build_begin(struct bench_table *table)
{
    struct words *const words = allocate(1, sizeof(*words));
    words->of[0] = gpu_alloc(sizeof(unsigned));
    words->of[1] = gpu_alloc(sizeof(unsigned));
    table->state = words;
}

static void build_end(struct bench_table *table)
{
    struct words *const words = table->state;
    gpu_free(words->of[0]);
    gpu_free(words->of[1]);
    free(words);
}

static void reset_words(const struct bench_point *point)
{
    const struct words *const words = point->table->state;
    turns_reset(words->of[0], 1);
    turns_reset(words->of[1], 1);
}

static CUresult make_graph(CUgraph *graph, const struct turns *turns, bool programmatic)
{
    CUgraphNode nodes[2]; /* this one and the one before, in turn */
    CUresult result = cu.cuGraphCreate(graph, 0);
    for (size_t i = 0; i < turns->kernels && result == CUDA_SUCCESS; i++) {
        result = line_add_node(*graph, &turns->launches[i], i > 0 ? &nodes[(i - 1) % 2] : NULL,
                               programmatic, &nodes[i % 2]);
    }
    return result;
}

static void build_open(struct bench_point *point)
{
    const struct config *const config = point->config;
    const struct words *const words = point->table->state;
    struct build *const build = point->state;
    CUresult error = CUDA_SUCCESS;
    for (int i = 0; i < 2; i++) {
        turns_open(&build->turns[i], config->kernels[0], 1, words->of[i]);
    }
    if (config->way == WAY_CHAIN) {
        build->chain =
            line_make(WAY_CHAIN, build->turns[0].launches, config->kernels[0], 1, &error);
    } else {
        for (int i = 0; i < 2 && error == CUDA_SUCCESS; i++) {
            error = make_graph(&build->graphs[i], &build->turns[i], line_ways[config->way].overlap);
        }
        if (error == CUDA_SUCCESS) {
            error = cu.cuGraphInstantiate(&build->exec, build->graphs[0], 0);
        }
    }
    if (error != CUDA_SUCCESS) {
        refused(point, config->kernels[0], error);
    }
}

static void build_close(struct bench_point *point)
{
    struct build *const build = point->state;
    line_free(build->chain);
    if (build->exec != NULL) {
        MUST(cu.cuGraphExecDestroy(build->exec));
    }
    for (int i = 0; i < 2; i++) {
        if (build->graphs[i] != NULL) {
            MUST(cu.cuGraphDestroy(build->graphs[i]));
        }
        turns_close(&build->turns[i]);
    }
}

/* A new line with the first set of arguments; NULL where the driver refuses. */
static struct line *make_line(struct bench_point *point)
{
    const struct config *const config = point->config;
    const struct build *const build = point->state;
    CUresult error = CUDA_SUCCESS;
    struct line *const line =
        line_make(config->way, build->turns[0].launches, config->kernels[0], 1, &error);
    if (line == NULL) {
        refused(point, config->kernels[0], error);
    }
    return line;
}

/* Gives all kernels the other set of arguments. */
static void change_all(struct build *build)
{
    build->set = 1 - build->set;
    const struct turns *const turns = &build->turns[build->set];
    if (build->chain != NULL) {
        for (size_t i = 0; i < turns->kernels; i++) {
            line_set_args(build->chain, i, turns->launches[i].args);
        }
    } else {
        CUgraphExecUpdateResultInfo info;
        MUST(cu.cuGraphExecUpdate(build->exec, build->graphs[build->set], &info));
    }
}

static void build_launch(const struct build *build)
{
    if (build->chain != NULL) {
        line_run(build->chain);
    } else {
        MUST(cu.cuGraphLaunch(build->exec, gpu.stream));
    }
}

static void check_edges(struct bench_point *point, CUgraph graph)
{
    const struct config *const config = point->config;
    size_t count = 0;
    MUST(cu.cuGraphGetEdges_v2(graph, NULL, NULL, NULL, &count));
    CUgraphNode *const from = allocate(count, sizeof(CUgraphNode));
    CUgraphNode *const to = allocate(count, sizeof(CUgraphNode));
    CUgraphEdgeData *const edges = allocate(count, sizeof(*edges));
    size_t programmatic = 0;
    if (count > 0) {
        MUST(cu.cuGraphGetEdges_v2(graph, from, to, edges, &count));
    }
    for (size_t i = 0; i < count; i++) {
        programmatic += edges[i].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    }
    free(edges);
    free(to);
    free(from);
    if (count != config->kernels[0] - 1 ||
        programmatic != (config->way == WAY_GRAPH_PDL ? count : 0)) {
        bench_fail(point, "%zu of %zu edges between %zu kernels are programmatic", programmatic,
                   count, config->kernels[0]);
    }
}

/* A word stands where it must: after `turns` turns. */
static void check_word(struct bench_point *point, CUdeviceptr word, unsigned expected,
                       const char *after)
{
    unsigned found = ~0u;
    gpu_read(&found, word, sizeof(found));
    if (found != expected) {
        bench_fail(point, "after %s a word is %u, not %u", after, found, expected);
    }
}

/* The kernel in the middle of a new line gets the arguments of the other set: the line then stops there,
 * unless it is the first one. */
static void check_change_of_one(struct bench_point *point)
{
    const struct words *const words = point->table->state;
    const struct build *const build = point->state;
    const size_t middle = build->turns[0].kernels / 2;
    struct line *const line = make_line(point);
    if (line != NULL) {
        reset_words(point);
        line_set_args(line, middle, build->turns[1].launches[middle].args);
        line_run(line);
        check_word(point, words->of[0], (unsigned)middle, "one change");
        check_word(point, words->of[1], middle == 0 ? TURN_ROUND : 0, "one change");
        line_free(line);
    }
}

static void build_check(struct bench_point *point)
{
    const struct words *const words = point->table->state;
    struct build *const build = point->state;
    reset_words(point);
    for (unsigned i = 1; i <= 2; i++) { /* a run of each set */
        change_all(build);
        build_launch(build);
        check_word(point, words->of[build->set], TURN_ROUND, "a change of all");
        check_word(point, words->of[1 - build->set], i == 1 ? 0 : TURN_ROUND, "a change of all");
    }
    if (build->graphs[0] != NULL) {
        check_edges(point, build->graphs[0]);
    }
    check_change_of_one(point);
}

static double us_since(double begin_ns)
{
    return (host_ns() - begin_ns) / 1e3;
}

static void build_measure(struct bench_point *point, double *values)
{
    enum { CHANGES = 16 };
    const struct config *const config = point->config;
    struct build *const build = point->state;
    const size_t kernels = config->kernels[0];
    size_t changes = CHANGES;
    if (kernels < changes) {
        changes = kernels;
    }
    CUresult error = CUDA_SUCCESS;
    /* A short one before it: what the heap still has to do for the point before is not this one's. */
    line_free(line_make(config->way, build->turns[0].launches, changes, 1, &error));
    struct line *const line = make_line(point);
    if (line == NULL) {
        return;
    }
    const struct line_cost cost = *line_cost(line);
    double begin = host_ns();
    for (size_t i = 0; i < changes; i++) {
        const size_t index = i * (kernels / changes);
        line_set_args(line, index, build->turns[1].launches[index].args);
    }
    values[4] = us_since(begin) / (double)changes;
    begin = host_ns();
    line_free(line);
    values[7] = us_since(begin);
    begin = host_ns();
    change_all(build);
    values[5] = us_since(begin);
    begin = host_ns();
    build_launch(build);
    values[6] = us_since(begin);
    gpu_wait();
    values[0] = cost.create_ns / 1e3;
    values[1] = cost.instantiate_ns / 1e3;
    values[2] = (cost.create_ns + cost.instantiate_ns) / 1e3;
    values[3] = config->way == WAY_CHAIN ? NAN : cost.upload_ns / 1e3;
}

/* The same kernel again and again, as a program does that replays a line with other arguments. */
static void change_measure(struct bench_point *point, double *values)
{
    enum { CALLS = 200 };
    const struct build *const build = point->state;
    const size_t middle = build->turns[0].kernels / 2;
    struct line *const line = make_line(point);
    if (line == NULL) {
        return;
    }
    /* So that the device has it in every way: a chain leaves that to its first launch. */
    line_run(line);
    gpu_wait();
    line_set_args(line, middle, build->turns[1].launches[middle].args);
    const double begin = host_ns();
    for (int i = 0; i < CALLS; i++) {
        line_set_args(line, middle, build->turns[i % 2].launches[middle].args);
    }
    values[0] = (host_ns() - begin) / CALLS;
    line_free(line);
}

#define GRAPHS                                                                                     \
    .config_size = sizeof(struct config), .state_size = sizeof(struct build),                      \
    .begin = build_begin, .open = build_open, .check = build_check, .close = build_close,          \
    .end = build_end

static const struct bench_spec build_spec = {
    .name = "build",
    .title = "Making and changing a graph of kernels in series",
    .note = "Host time. `create` is all nodes and edges, for a chain pdl_chain_add(); "
            "`instantiate` is cuGraphInstantiate, for a chain pdl_chain_build(), which "
            "makes the nodes too: `make` is the sum. `upload` is until the device has "
            "it; a chain leaves that to its first launch. `change` gives one kernel "
            "new arguments, `update` all of them: cuGraphExecUpdate, for a chain "
            "pdl_chain_set_args() of each link. `launch` is the first launch after "
            "that.",
    .axes = {"kernels", "way"},
    .metrics = {{"create", "us", false, 0.25},
                {"instantiate", "us", false, 0.25},
                {"make", "us", false, 0.25},
                {"upload", "us", false, 0.25},
                {"change", "us", false, 0.25},
                {"update", "us", false, 0.25},
                {"launch", "us", false, 0.25},
                {"destroy", "us", false, 0.25}},
    .rounds = 12,
    GRAPHS,
    .measure = build_measure,
};

static const struct bench_spec change_spec = {
    .name = "change",
    .title = "New arguments for one kernel of a graph, again and again",
    .note = "Host time of a call: cuGraphExecKernelNodeSetParams, for a chain "
            "pdl_chain_set_args(). The mean of 200 calls for the kernel in the middle "
            "of a line that was launched before; `change` in the table above is of "
            "kernels whose arguments have not been changed yet.",
    .axes = {"kernels", "way"},
    .metrics = {{"host", "ns", false, 0.25}},
    .rounds = 20,
    GRAPHS,
    .measure = change_measure,
};

/* ---- the tables ------------------------------------------------------------------------------- */

/* A row for each way from `first` on. `shape`: the values of the axes before `way`, a slash after each. */
static void add_rows(struct bench_table *table, size_t first, const char *shape,
                     struct config config)
{
    struct bench_point *points[WAYS] = {NULL};
    for (size_t i = first; i < GRAPH_WAYS; i++) {
        config.way = ways[i];
        points[ways[i]] = bench_row(table, points[line_ways[ways[i]].against], &config, "%s%s",
                                    shape, line_ways[ways[i]].name);
    }
}

static void declare_line(struct bench_table *table)
{
    for (size_t kernels = 1; kernels <= LONGEST; kernels *= 2) {
        for (int fill = 0; fill < 2; fill++) {
            char shape[32];
            (void)snprintf(shape, sizeof(shape), "%zu/%s/", kernels, fill ? "sm" : "1");
            add_rows(table, 0, shape, (struct config){.fill = fill, .kernels = {kernels}});
        }
    }
}

/* The second is for graphs: a stream's host time varies by more than its intercept would be. */
static void declare_slope(struct bench_table *table)
{
    static const size_t lengths[][ENDS] = {{64, 512}, {512, LONGEST}};
    for (int i = 0; i < 4; i++) {
        const size_t *const span = lengths[i / 2];
        char shape[64];
        (void)snprintf(shape, sizeof(shape), "%zu-%zu/%s/", span[SHORT], span[LONG],
                       i % 2 ? "sm" : "1");
        add_rows(table, i < 2 ? 0 : FIRST_MADE, shape,
                 (struct config){.fill = i % 2, .kernels = {span[SHORT], span[LONG]}});
    }
}

static void declare_build(struct bench_table *table)
{
    for (size_t kernels = 1; kernels <= LONGEST; kernels *= 4) {
        char shape[32];
        (void)snprintf(shape, sizeof(shape), "%zu/", kernels);
        add_rows(table, FIRST_MADE, shape, (struct config){.kernels = {kernels}});
    }
}

void suite_graph(struct bench *bench)
{
    declare_line(bench_table_add(bench, &line_spec));
    declare_slope(bench_table_add(bench, &slope_spec));
    declare_build(bench_table_add(bench, &build_spec));
    add_rows(bench_table_add(bench, &change_spec), FIRST_MADE, "256/",
             (struct config){.kernels = {256}});
}
