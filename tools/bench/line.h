/* SPDX-License-Identifier: MIT */
/* A line of kernels, each after the one before, and the ways to launch it. */
#ifndef PDL_TOOLS_BENCH_LINE_H
#define PDL_TOOLS_BENCH_LINE_H

#include "bench/bench.h"
#include "bench/gpu.h"

/* In the order of the rows. */
enum line_way {
    WAY_CHEVRON,
    WAY_CUDA_LAUNCH,
    WAY_CUDA_EX,
    WAY_CUDA_EX_AGAIN, /* a raw call once more, so that a ratio of equals is known */
    WAY_SYMBOL,
    WAY_CUDA_EX_TYPED,
    WAY_TYPED,
    WAY_STREAM,
    WAY_STREAM_AGAIN,
    WAY_FUNCTION,
    WAY_COOPERATIVE,
    WAY_FUNCTION_COOPERATIVE,
    WAY_CUDA_EX_PDL,
    WAY_CUDA_EX_PDL_AGAIN,
    WAY_SYMBOL_AUTO,
    WAY_CUDA_EX_TYPED_PDL,
    WAY_TYPED_AUTO,
    WAY_STREAM_PDL,
    WAY_STREAM_PDL_AGAIN,
    WAY_LIBPDL,
    WAY_GRAPH,
    WAY_GRAPH_PDL,
    WAY_CHAIN,
    WAYS,
};

/* Which code makes the launch. */
enum line_maker { BY_RUNTIME, BY_DRIVER, BY_LIBPDL, BY_GRAPH, BY_CHAIN };

struct line_way_info {
    const char
        *call; /* for the axis of the suite overhead: the call, and -pdl or -auto with overlap */
    const char *name; /* for that of the others; NULL where they do not have it */
    enum line_maker maker;
    int detail; /* BY_RUNTIME: a runtime_form; BY_LIBPDL: whether from a symbol */
    bool overlap, cooperative;
    enum line_way raw; /* the same in raw CUDA; itself for raw ways */
    enum line_way
        against; /* of those with a name: what it adds one thing to; itself for WAY_STREAM */
};
extern const struct line_way_info line_ways[WAYS];

struct line;

/* A kernel node after `before` (NULL: the first), over a programmatic or a full edge. */
CUresult line_add_node(CUgraph graph, const struct gpu_launch *launch, const CUgraphNode *before,
                       bool programmatic, CUgraphNode *node);

/* Makes a line ready to be run. `launches` and what it points to must outlive it, except with graphs and
 * chains, which copy arguments. `repeat` runs the list so many times after another. Graphs are uploaded.
 * NULL, with the driver's error in `error`, where a graph could not be made. */
struct line *line_make(enum line_way way, const struct gpu_launch *launches, size_t count,
                       size_t repeat, CUresult *error);
void line_free(struct line *line); /* NULL is allowed */

/* Launches all of it in gpu.stream: for gpu_time() and gpu_wall(), with the line as the context. */
void line_run(void *context);
/* Launches the list so many times, in the loop that a program would have; a graph or chain once, whole. */
void line_run_times(struct line *line, size_t repeat);

/* What making the graph took, host ns; 0 for streams. */
struct line_cost {
    double create_ns;      /* nodes and edges, or pdl_chain_add */
    double instantiate_ns; /* with pdl_chain_build's second half of nodes and edges, for a chain */
    double upload_ns;
    size_t programmatic_edges;
};
const struct line_cost *line_cost(const struct line *line);

/* Fails the point unless every edge of a graph or chain with overlap is programmatic, and no other one. */
bool line_check_edges(struct bench_point *point, const struct line *line);

/* New arguments for one kernel of it, in the form that its way has (raw: cuGraphExecKernelNodeSetParams).
 * Not for streams. */
void line_set_args(struct line *line, size_t index, void **args);

#endif /* PDL_TOOLS_BENCH_LINE_H */
