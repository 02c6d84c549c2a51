/* SPDX-License-Identifier: MIT */
/* What the tests of overlap, graphs and chains share: a pair of kernels that shows how far it overlaps, the edges of a
 * graph, and a stream, a chain and memory per test. */
#ifndef PDL_TEST_GRAPH_TEST_CUH
#define PDL_TEST_GRAPH_TEST_CUH

#include <pdl/chain.h>
#include <pdl/graph.h>

#include "gpu_test.cuh"
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

/* The graph, to be launched until the test ends. */
static inline cudaGraphExec_t instance_of(cudaGraph_t graph)
{
    cudaGraphExec_t exec = nullptr;
    assert_cuda(cudaGraphInstantiate(&exec, graph, 0));
    undo_later([exec] { (void)cudaGraphExecDestroy(exec); });
    return exec;
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

static inline pdl_census census_of(pdl_chain *of)
{
    pdl_census census = PDL_CENSUS_INIT;
    cudaGraph_t graph = nullptr;
    assert_pdl(pdl_chain_graph(of, &graph));
    assert_pdl(pdl_graph_census(graph, &census));
    return census;
}

/* ---- what each test has --------------------------------------------------------------------- */

static cudaStream_t stream, other_stream;
static pdl_chain *chain;
static pair_record *pair_memory;
static unsigned *cells;
static const unsigned cell_count = 64;
static pdl_kernel *producer, *consumer; /* of the pair, from symbols */

static inline pdl_chain *new_chain(void)
{
    pdl_chain *made = nullptr;
    assert_pdl(pdl_chain_create(nullptr, &made));
    undo_later([made] { pdl_chain_destroy(made); });
    return made;
}

static inline void set_up(void)
{
    stream = new_stream();
    other_stream = new_stream();
    pair_memory = device_memory<pair_record>(1);
    cells = device_memory<unsigned>(cell_count);
    producer = kernel_of(pair_produce);
    consumer = kernel_of(pair_consume);
    chain = new_chain();
}

/* One thread. */
static inline pdl_launch_desc desc_with(pdl_overlap overlap, cudaStream_t in = nullptr)
{
    return pdl_launch_desc_make(1, 1, 0, in, overlap);
}

static inline void launch_first(unsigned value, pdl_kernel *kernel = producer,
                                cudaStream_t in = stream)
{
    assert_pdl(pdl_launch(kernel, desc_with(PDL_OVERLAP_NONE, in), PDL_ARGS(pair_memory, value)));
}

static inline void launch_second(pdl_overlap overlap, pdl_kernel *kernel = consumer,
                                 cudaStream_t in = stream)
{
    assert_pdl(pdl_launch(kernel, desc_with(overlap, in), PDL_ARGS(pair_memory)));
}

/* Adds a link of one thread to a chain. */
static inline uint32_t add_link(pdl_chain *to, pdl_kernel *kernel, pdl_overlap overlap, void **args)
{
    uint32_t link = ~0u;
    const pdl_launch_desc desc = desc_with(overlap);
    assert_pdl(pdl_chain_add(to, kernel, &desc, args, nullptr, 0, &link));
    return link;
}

static inline uint32_t add_first(unsigned value, pdl_chain *to = chain)
{
    return add_link(to, producer, PDL_OVERLAP_NONE, PDL_ARGS(pair_memory, value));
}

static inline uint32_t add_second(pdl_overlap overlap, pdl_chain *to = chain)
{
    return add_link(to, consumer, overlap, PDL_ARGS(pair_memory));
}

static inline pdl_chain_node of_kind(pdl_node_kind kind)
{
    pdl_chain_node node = PDL_CHAIN_NODE_INIT;
    node.kind = kind;
    return node;
}

static inline uint32_t add(pdl_chain *to, const pdl_chain_node &node)
{
    uint32_t link = 0;
    assert_pdl(pdl_chain_add_node(to, &node, &link));
    return link;
}

static inline void replay(void)
{
    assert_pdl(pdl_chain_launch(chain, stream));
    assert_cuda(cudaStreamSynchronize(stream));
}

/* Calls `launch` a few times, the record zero before each time, and waits for the stream after it. */
template <typename Launch>
static inline std::vector<pair_record> run_pairs(size_t times, Launch &&launch)
{
    std::vector<pair_record> runs(times);
    for (pair_record &run : runs) {
        assert_cuda(cudaMemsetAsync(pair_memory, 0, sizeof(run), stream));
        assert_cuda(cudaStreamSynchronize(stream));
        launch();
        assert_cuda(cudaMemcpyAsync(&run, pair_memory, sizeof(run), cudaMemcpyDefault, stream));
        assert_cuda(cudaStreamSynchronize(stream));
    }
    return runs;
}

/* Replays the chain with its pair, built anew, a few times. */
static inline std::vector<pair_record> replay_pairs(void)
{
    assert_pdl(pdl_chain_build(chain));
    return run_pairs(5, [] { assert_pdl(pdl_chain_launch(chain, stream)); });
}

/* Replays a graph that holds the pair. */
static inline std::vector<pair_record> replay_pairs(cudaGraph_t graph)
{
    const cudaGraphExec_t exec = instance_of(graph);
    return run_pairs(5, [exec] { assert_cuda(cudaGraphLaunch(exec, stream)); });
}

template <typename Work>
static inline cudaGraph_t capture(Work &&work,
                                  cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal)
{
    cudaGraph_t graph = nullptr;
    assert_cuda(cudaStreamBeginCapture(stream, mode));
    work();
    assert_cuda(cudaStreamEndCapture(stream, &graph));
    assert_non_null(graph);
    undo_later([graph] { (void)cudaGraphDestroy(graph); });
    return graph;
}

#endif /* PDL_TEST_GRAPH_TEST_CUH */
