/* SPDX-License-Identifier: MIT */
/* graph, the other half: what graphs of a line of kernels cost to make and to change. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/suite_graph.h"
#include "common/memory.h"

/* ---- making and changing ---------------------------------------------------------------------- */

enum {
    BUILD_LENGTHS = 7,
    BUILD_WAYS = GRAPH_WAYS - GRAPH_FIRST_MADE,
    BUILDS = BUILD_LENGTHS * BUILD_WAYS
};

struct build_config {
    enum line_way way;
    size_t kernels;
    size_t index;
};
static struct build_config build_configs[BUILDS];

/* One line whose arguments are all changed, from one set of them to the other and back. */
struct build_run {
    struct turns turns[2];
    int set;            /* that the line has */
    struct line *chain; /* or: */
    CUgraph graphs[2];  /* one with each set */
    CUgraphExec exec;
};

struct builds {
    CUdeviceptr words[2];
    struct build_run *runs; /* by index */
};

static struct build_run *build_run_of(const struct bench_point *point)
{
    const struct builds *const builds = point->table->state;
    return &builds->runs[((const struct build_config *)point->config)->index];
}

static void reset_words(const struct builds *builds)
{
    gpu_fill(builds->words[0], 0, sizeof(unsigned));
    gpu_fill(builds->words[1], 0, sizeof(unsigned));
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
    const struct build_config *const config = point->config;
    const struct builds *const builds = point->table->state;
    struct build_run *const run = build_run_of(point);
    CUresult error = CUDA_SUCCESS;
    for (int i = 0; i < 2; i++) {
        turns_open(&run->turns[i], config->kernels, 1, builds->words[i]);
    }
    if (config->way == WAY_CHAIN) {
        run->chain = line_make(WAY_CHAIN, run->turns[0].launches, config->kernels, 1, &error);
    } else {
        for (int i = 0; i < 2 && error == CUDA_SUCCESS; i++) {
            error = make_graph(&run->graphs[i], &run->turns[i], config->way == WAY_GRAPH_PDL);
        }
        if (error == CUDA_SUCCESS) {
            error = cu.cuGraphInstantiate(&run->exec, run->graphs[0], 0);
        }
    }
    if (error != CUDA_SUCCESS) {
        graph_refused(point, config->kernels, error);
    }
}

static void build_begin(struct bench_table *table)
{
    struct builds *const builds = allocate(1, sizeof(*builds));
    builds->runs = allocate(BUILDS, sizeof(*builds->runs));
    builds->words[0] = gpu_alloc(sizeof(unsigned));
    builds->words[1] = gpu_alloc(sizeof(unsigned));
    table->state = builds;
    bench_each_active(table, build_open);
}

static void build_end(struct bench_table *table)
{
    struct builds *const builds = table->state;
    for (size_t i = 0; i < BUILDS; i++) {
        struct build_run *const run = &builds->runs[i];
        line_free(run->chain);
        if (run->exec != NULL) {
            MUST(cu.cuGraphExecDestroy(run->exec));
        }
        for (int j = 0; j < 2; j++) {
            if (run->graphs[j] != NULL) {
                MUST(cu.cuGraphDestroy(run->graphs[j]));
            }
            turns_close(&run->turns[j]);
        }
    }
    gpu_free(builds->words[0]);
    gpu_free(builds->words[1]);
    free(builds->runs);
    free(builds);
}

/* Gives all kernels the other set of arguments. */
static void change_all(struct build_run *run)
{
    run->set = 1 - run->set;
    const struct turns *const turns = &run->turns[run->set];
    if (run->chain != NULL) {
        for (size_t i = 0; i < turns->kernels; i++) {
            line_set_args(run->chain, i, turns->launches[i].args);
        }
    } else {
        CUgraphExecUpdateResultInfo info;
        MUST(cu.cuGraphExecUpdate(run->exec, run->graphs[run->set], &info));
    }
}

static void build_launch(struct build_run *run)
{
    if (run->chain != NULL) {
        line_run(run->chain);
    } else {
        MUST(cu.cuGraphLaunch(run->exec, gpu.stream));
    }
}

static void check_edges(struct bench_point *point, CUgraph graph)
{
    const struct build_config *const config = point->config;
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
    if (count != config->kernels - 1 ||
        programmatic != (config->way == WAY_GRAPH_PDL ? count : 0)) {
        bench_fail(point, "%zu of %zu edges between %zu kernels are programmatic", programmatic,
                   count, config->kernels);
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
static void check_change_of_one(struct bench_point *point, const struct build_run *run)
{
    const struct build_config *const config = point->config;
    const size_t middle = config->kernels / 2;
    const struct builds *const builds = point->table->state;
    CUresult error = CUDA_SUCCESS;
    struct line *const line =
        line_make(config->way, run->turns[0].launches, config->kernels, 1, &error);
    if (line == NULL) {
        graph_refused(point, config->kernels, error);
        return;
    }
    reset_words(builds);
    line_set_args(line, middle, run->turns[1].launches[middle].args);
    line_run(line);
    check_word(point, builds->words[0], (unsigned)middle, "one change");
    check_word(point, builds->words[1], middle == 0 ? TURN_ROUND : 0, "one change");
    line_free(line);
}

static void build_check(struct bench_point *point)
{
    struct build_run *const run = build_run_of(point);
    const struct builds *const builds = point->table->state;
    reset_words(builds);
    for (unsigned i = 1; i <= 2; i++) { /* a run of each set */
        change_all(run);
        build_launch(run);
        check_word(point, builds->words[run->set], TURN_ROUND, "a change of all");
        check_word(point, builds->words[1 - run->set], i == 1 ? 0 : TURN_ROUND, "a change of all");
    }
    if (run->graphs[0] != NULL) {
        check_edges(point, run->graphs[0]);
    }
    check_change_of_one(point, run);
}

static void build_measure(struct bench_point *point, double *values)
{
    enum { CHANGES = 16 };
    const struct build_config *const config = point->config;
    struct build_run *const run = build_run_of(point);
    const struct turns *const turns = &run->turns[1];
    size_t changes = config->kernels;
    if (changes > CHANGES) {
        changes = CHANGES;
    }
    CUresult error = CUDA_SUCCESS;
    /* A short one before it: what the heap still has to do for the point before is not this one's. */
    line_free(line_make(config->way, run->turns[0].launches, changes, 1, &error));
    struct line *const line =
        line_make(config->way, run->turns[0].launches, config->kernels, 1, &error);
    if (line == NULL) {
        graph_refused(point, config->kernels, error);
        return;
    }
    const struct line_cost cost = *line_cost(line);
    double begin = host_ns();
    for (size_t i = 0; i < changes; i++) {
        const size_t index = i * (config->kernels / changes);
        line_set_args(line, index, turns->launches[index].args);
    }
    const double change_ns = (host_ns() - begin) / (double)changes;
    begin = host_ns();
    line_free(line);
    const double destroy_ns = host_ns() - begin;
    begin = host_ns();
    change_all(run);
    const double update_ns = host_ns() - begin;
    begin = host_ns();
    build_launch(run);
    const double launch_ns = host_ns() - begin;
    gpu_wait();
    values[0] = cost.create_ns / 1e3;
    values[1] = cost.instantiate_ns / 1e3;
    values[2] = (cost.create_ns + cost.instantiate_ns) / 1e3;
    values[3] = config->way == WAY_CHAIN ? NAN : cost.upload_ns / 1e3;
    values[4] = change_ns / 1e3;
    values[5] = update_ns / 1e3;
    values[6] = launch_ns / 1e3;
    values[7] = destroy_ns / 1e3;
}

static const struct bench_spec build_spec = {
    .name = "build",
    .title = "Making and changing a graph of kernels in series",
    .note =
        "Host time. `create` is all nodes and edges, for a chain pdl_chain_add(); `instantiate` is "
        "cuGraphInstantiate, for a chain pdl_chain_build(), which makes the nodes too: `make` is "
        "the sum. `upload` is until the device has it; a chain leaves that to its first launch. "
        "`change` gives one kernel new arguments, `update` all of them: cuGraphExecUpdate, for a "
        "chain pdl_chain_set_args() of each link. `launch` is the first launch after that.",
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
    .begin = build_begin,
    .check = build_check,
    .measure = build_measure,
    .end = build_end,
};

/* The same kernel again and again, as a program does that replays a line with other arguments. */
static void change_measure(struct bench_point *point, double *values)
{
    enum { CALLS = 200 };
    const struct build_config *const config = point->config;
    const struct build_run *const run = build_run_of(point);
    const size_t middle = config->kernels / 2;
    CUresult error = CUDA_SUCCESS;
    struct line *const line =
        line_make(config->way, run->turns[0].launches, config->kernels, 1, &error);
    if (line == NULL) {
        graph_refused(point, config->kernels, error);
        return;
    }
    line_run(
        line); /* so that the device has it in every way: a chain leaves that to its first launch */
    gpu_wait();
    line_set_args(line, middle, run->turns[1].launches[middle].args);
    const double begin = host_ns();
    for (int i = 0; i < CALLS; i++) {
        line_set_args(line, middle, run->turns[i % 2].launches[middle].args);
    }
    values[0] = (host_ns() - begin) / CALLS;
    line_free(line);
}

static const struct bench_spec change_spec = {
    .name = "change",
    .title = "New arguments for one kernel of a graph, again and again",
    .note = "Host time of a call: cuGraphExecKernelNodeSetParams, for a chain "
            "pdl_chain_set_args(). The mean of 200 calls for the kernel in the middle of a line "
            "that was launched before; `change` in the table above is of kernels whose arguments "
            "have not been changed yet.",
    .axes = {"kernels", "way"},
    .metrics = {{"host", "ns", false, 0.25}},
    .rounds = 20,
    .begin = build_begin,
    .check = build_check,
    .measure = change_measure,
    .end = build_end,
};

static void declare_change(struct bench *bench)
{
    enum { KERNELS_256 = 4 * BUILD_WAYS };
    struct bench_table *const table = bench_table_add(bench, &change_spec);
    struct bench_point *before = NULL;
    for (size_t way = 0; way < BUILD_WAYS; way++) {
        const struct build_config *const config = &build_configs[KERNELS_256 + way];
        const char *const values[] = {"256", line_way_names[config->way]};
        before = bench_point_add(table, before, config, values);
    }
}

void graph_declare_build(struct bench *bench)
{
    struct bench_table *const table = bench_table_add(bench, &build_spec);
    for (size_t i = 0; i < BUILDS; i++) {
        static struct bench_point *points[BUILD_WAYS];
        const size_t way = i % BUILD_WAYS;
        char kernels[16];
        build_configs[i] = (struct build_config){graph_ways[GRAPH_FIRST_MADE + way],
                                                 (size_t)1 << 2 * (i / BUILD_WAYS), i};
        (void)snprintf(kernels, sizeof(kernels), "%zu", build_configs[i].kernels);
        const char *const values[] = {kernels, line_way_names[build_configs[i].way]};
        points[way] =
            bench_point_add(table, way > 0 ? points[way - 1] : NULL, &build_configs[i], values);
    }
    declare_change(bench);
}
