/* SPDX-License-Identifier: MIT */
/* A line of kernels, each after the one before, and the ways to launch it. */
#ifndef PDL_TOOLS_BENCH_LINE_H
#define PDL_TOOLS_BENCH_LINE_H

#include "bench/gpu.h"

/* Raw CUDA unless libpdl is named. */
enum line_way {
    WAY_STREAM,     /* cuLaunchKernelEx, no attributes */
    WAY_STREAM_PDL, /* cuLaunchKernelEx with programmatic stream serialization */
    WAY_LIBPDL,     /* pdl_launch, PDL_OVERLAP_AUTO */
    WAY_GRAPH,      /* kernel nodes and full edges */
    WAY_GRAPH_PDL,  /* kernel nodes and programmatic edges */
    WAY_CHAIN,      /* pdl_chain, PDL_OVERLAP_AUTO */
    WAYS,
};
/* One word, for an axis: "stream", "stream-pdl", "libpdl", "graph", "graph-pdl", "chain". */
extern const char *const line_way_names[WAYS];
/* What raw way is it compared with: itself for the raw ones. */
enum line_way line_way_raw(enum line_way way);

struct line;

/* A kernel node after `before` (NULL: the first), over a programmatic or a full edge. */
CUresult line_add_node(CUgraph graph, const struct gpu_launch *launch, const CUgraphNode *before,
                       bool programmatic, CUgraphNode *node);

/* Makes a line ready to be run. `launches` and what it points to must outlive it, except with graphs and
 * chains, which copy arguments. `repeat` runs the list so many times after another. Graphs are uploaded.
 * NULL, with the driver's error in `error`, where a graph could not be made. */
struct line *line_make(enum line_way way, const struct gpu_launch *launches, size_t count,
                       size_t repeat, CUresult *error);
void line_free(struct line *line);

/* Launches all of it in gpu.stream: for gpu_time() and gpu_wall_ns(), with the line as the context. */
void line_run(void *context);

/* What making the graph took, host ns; 0 for streams. */
struct line_cost {
    double create_ns;      /* nodes and edges, or pdl_chain_add */
    double instantiate_ns; /* with pdl_chain_build's second half of nodes and edges, for a chain */
    double upload_ns;
    double device_bytes; /* less free device memory after than before */
    size_t programmatic_edges;
};
const struct line_cost *line_cost(const struct line *line);

/* New arguments for one kernel of it, in the form that its way has (raw: cuGraphExecKernelNodeSetParams).
 * Not for streams. */
void line_set_args(struct line *line, size_t index, void **args);

#endif /* PDL_TOOLS_BENCH_LINE_H */
