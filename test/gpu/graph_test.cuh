/* SPDX-License-Identifier: MIT */
/* What the tests of graphs and chains share: a pair of kernels that shows how far it overlaps, and
 * the edges of a graph. */
#ifndef PDL_TEST_GRAPH_TEST_CUH
#define PDL_TEST_GRAPH_TEST_CUH

#include <vector>

#include <pdl/graph.h>

#include "overlap_kernels.cuh"

/* ---- a pair of kernels ---------------------------------------------------------------------- */

/* What a pair of kernels leaves behind. */
struct pair_record {
    pair_times times;
    unsigned value; /* what the first kernel writes at its end */
    unsigned seen;  /* what the second one reads of it after its wait */
};

static const unsigned long long pair_hold_ns = 1000000;

/* Triggers at once, then takes its time and writes. */
static __global__ void pair_produce(pair_record *pair, unsigned value)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    spin(pair_hold_ns);
    pair->value = value;
    pair->times.first_end = device_clock();
}

static __global__ void pair_consume(pair_record *pair)
{
    PDL_LINT_ALLOW("write-before-wait", "the host alone reads this time");
    pair->times.second_start = device_clock();
    PDL_WAIT();
    pair->times.second_after_wait = device_clock();
    pair->seen = PDL_LOAD(&pair->value);
    PDL_LAUNCH_DEPENDENTS();
}

static inline bool overlapped(const pair_record &run)
{
    return run.times.second_start < run.times.first_end;
}

/* Whether the second kernel's wait lasted until the first one had ended, and its write could be
 * seen. */
static inline bool covered(const pair_record &run)
{
    return run.times.second_after_wait >= run.times.first_end && run.seen == run.value;
}

/* Both kernels ran, whatever their order. */
static inline void assert_ran(const pair_record &run, unsigned value)
{
    assert_int_equal(run.value, value);
    assert_true(run.times.first_end != 0);
    assert_true(run.times.second_start != 0);
    assert_true(run.times.second_after_wait >= run.times.second_start);
}

static inline void assert_overlapped_and_covered(const std::vector<pair_record> &runs,
                                                 unsigned value)
{
    for (const pair_record &run : runs) {
        assert_ran(run, value);
        assert_if_concurrent(overlapped(run));
        assert_true(covered(run));
    }
}

static inline void assert_serial(const std::vector<pair_record> &runs, unsigned value)
{
    for (const pair_record &run : runs) {
        assert_ran(run, value);
        assert_false(overlapped(run));
        assert_int_equal(run.seen, value);
    }
}

/* Calls `launch` a few times, the record zero before each time, and waits for the stream after
 * it. */
template <typename Launch>
static inline std::vector<pair_record> run_pairs(cudaStream_t stream, pair_record *pair, int times,
                                                 Launch &&launch)
{
    std::vector<pair_record> runs(static_cast<size_t>(times));
    for (pair_record &run : runs) {
        assert_cuda(cudaMemsetAsync(pair, 0, sizeof(*pair), stream));
        assert_cuda(cudaStreamSynchronize(stream));
        launch();
        assert_cuda(cudaStreamSynchronize(stream));
        assert_cuda(cudaMemcpyAsync(&run, pair, sizeof(run), cudaMemcpyDeviceToHost, stream));
        assert_cuda(cudaStreamSynchronize(stream));
    }
    return runs;
}

/* Replays a graph that holds a pair of kernels. */
static inline std::vector<pair_record> replay_pairs(cudaGraph_t graph, cudaStream_t stream,
                                                    pair_record *pair)
{
    cudaGraphExec_t exec = nullptr;
    assert_cuda(cudaGraphInstantiate(&exec, graph, 0));
    const std::vector<pair_record> runs =
        run_pairs(stream, pair, 5, [&] { assert_cuda(cudaGraphLaunch(exec, stream)); });
    assert_cuda(cudaGraphExecDestroy(exec));
    return runs;
}

/* ---- edges ---------------------------------------------------------------------------------- */

struct graph_edge {
    cudaGraphNode_t from;
    cudaGraphNode_t to;
    cudaGraphEdgeData data;
};

static inline cudaError_t get_edges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                    cudaGraphEdgeData *data, size_t *count)
{
#if CUDART_VERSION >= 13000
    return cudaGraphGetEdges(graph, from, to, data, count);
#else
    return cudaGraphGetEdges_v2(graph, from, to, data, count);
#endif
}

static inline std::vector<graph_edge> edges_of(cudaGraph_t graph)
{
    size_t count = 0;
    std::vector<graph_edge> edges;
    assert_cuda(get_edges(graph, nullptr, nullptr, nullptr, &count));
    if (count > 0) {
        std::vector<cudaGraphNode_t> from(count);
        std::vector<cudaGraphNode_t> to(count);
        std::vector<cudaGraphEdgeData> data(count);
        assert_cuda(get_edges(graph, from.data(), to.data(), data.data(), &count));
        for (size_t i = 0; i < count; i++) {
            edges.push_back({from[i], to[i], data[i]});
        }
    }
    return edges;
}

static inline size_t nodes_in(cudaGraph_t graph)
{
    size_t count = 0;
    assert_cuda(cudaGraphGetNodes(graph, nullptr, &count));
    return count;
}

/* The edges of a graph that libpdl counts must be these and no other. */
struct edge_counts {
    unsigned full;
    unsigned programmatic;
    unsigned launch_completion;
    unsigned programmatic_at_block_start;
};

static inline void assert_census(cudaGraph_t graph, const edge_counts &expected)
{
    pdl_census census = PDL_CENSUS_INIT;
    assert_pdl(pdl_graph_census(graph, &census));
    assert_int_equal(census.full, expected.full);
    assert_int_equal(census.programmatic, expected.programmatic);
    assert_int_equal(census.launch_completion, expected.launch_completion);
    assert_int_equal(census.programmatic_at_block_start, expected.programmatic_at_block_start);
    assert_int_equal(census.other, 0);
    assert_int_equal(census.edges, expected.full + expected.programmatic +
                                       expected.launch_completion +
                                       expected.programmatic_at_block_start);
    assert_int_equal(census.nodes, nodes_in(graph));
}

/* The graph has one edge, and this is its data. */
static inline void assert_only_edge(cudaGraph_t graph, cudaGraphDependencyType type, unsigned port)
{
    const std::vector<graph_edge> edges = edges_of(graph);
    assert_int_equal(edges.size(), 1);
    assert_int_equal(edges[0].data.type, type);
    assert_int_equal(edges[0].data.from_port, port);
    assert_int_equal(edges[0].data.to_port, 0);
}

#endif /* PDL_TEST_GRAPH_TEST_CUH */
