/* SPDX-License-Identifier: MIT */
/* Chains and graphs of very many links take time and memory in proportion, and dependencies are right in any order. The graph calls of the model are
 * replaced: it looks for every handle among all. */
#include <sys/resource.h>
#include <time.h>

#include "graph_support.h"
#include "mock_entry.h"

#define LINKS 100000

/* ---- a driver that keeps the edges and nothing else ------------------------------------------- */

static size_t node_count;
static size_t edge_count;
static uint32_t edge_from[8 * LINKS];
static uint32_t edge_to[8 * LINKS];
static CUgraphNodeType node_types[LINKS + 8];

static CUgraphNode handle_of(uint32_t node)
{
    return (CUgraphNode)(uintptr_t)(1 + node);
}

static uint32_t node_of_handle(CUgraphNode handle)
{
    return (uint32_t)(uintptr_t)handle - 1;
}

static void keep_edge(uint32_t from, uint32_t to)
{
    assert_true(edge_count < COUNT_OF(edge_from));
    edge_from[edge_count] = from;
    edge_to[edge_count++] = to;
}

static CUresult add_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                         const CUgraphEdgeData *data, size_t count, CUgraphNodeParams *params)
{
    (void)graph;
    (void)data;
    (void)params;
    for (size_t i = 0; i < count; i++) {
        assert_true(node_of_handle(dependencies[i]) < node_count); /* what it waits for exists */
        keep_edge(node_of_handle(dependencies[i]), (uint32_t)node_count);
    }
    *node = handle_of((uint32_t)node_count++);
    return CUDA_SUCCESS;
}

static CUresult make_exec(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    (void)graph;
    (void)flags;
    *exec = (CUgraphExec)(uintptr_t)1;
    return CUDA_SUCCESS;
}

static CUresult destroy_exec(CUgraphExec exec)
{
    (void)exec;
    return CUDA_SUCCESS;
}

static CUresult get_nodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    (void)graph;
    for (size_t i = 0; nodes != NULL && i < node_count; i++) {
        nodes[i] = handle_of((uint32_t)i);
    }
    *count = node_count;
    return CUDA_SUCCESS;
}

static CUresult get_type(CUgraphNode node, CUgraphNodeType *type)
{
    *type = node_types[node_of_handle(node)];
    return CUDA_SUCCESS;
}

static CUresult get_edges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data,
                          size_t *count)
{
    (void)graph;
    for (size_t i = 0; from != NULL && i < edge_count; i++) {
        from[i] = handle_of(edge_from[i]);
        to[i] = handle_of(edge_to[i]);
        memset(&data[i], 0, sizeof(data[i]));
    }
    *count = edge_count;
    return CUDA_SUCCESS;
}

static int setup(void **state)
{
    (void)graph_setup(state);
    node_count = 0;
    edge_count = 0;
    memset(node_types, 0, sizeof(node_types)); /* kernels */
    mock.table.cuGraphAddNode = add_node;
    mock.table.cuGraphInstantiateWithFlags = make_exec;
    mock.table.cuGraphExecDestroy = destroy_exec;
    mock.table.cuGraphGetNodes = get_nodes;
    mock.table.cuGraphGetEdges = get_edges;
    mock.table.cuGraphNodeGetType = get_type;
    return 0;
}

#define SCALE_TEST(name) TEST_WITH(name, setup, mock_teardown)

/* ---- how long things take ---------------------------------------------------------------------- */

static double now(void)
{
    struct timespec time;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time), 0);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double time_of(void (*work)(uint32_t count), uint32_t count)
{
    const double start = now();
    node_count = 0;
    edge_count = 0;
    work(count);
    return now() - start;
}

/* Asserts that 16 times the work takes less than 120 times the time: linear work takes 16 times,
 * more where it leaves the caches, and what grows with the square 256. The best of three counts: other programs run, too.
 * A bit for each pair of links would take 1.2 GB. */
static void assert_in_proportion(const char *name, void (*work)(uint32_t count))
{
    double small = 1e9;
    double large = 1e9;
    for (int i = 0; i < 3 && (i == 0 || large > 24 * small); i++) {
        const double few = time_of(work, LINKS / 16);
        const double many = time_of(work, LINKS);
        small = few < small ? few : small;
        large = many < large ? many : large;
    }
    struct rusage used;
    assert_int_equal(getrusage(RUSAGE_SELF, &used), 0);
    print_message("%s: %.1f ms for %d, %.1f ms for %d, %.1f times; at most %ld KiB\n", name,
                  1e3 * small, LINKS / 16, 1e3 * large, LINKS, large / small, used.ru_maxrss);
    assert_true(large < 120 * small);
    assert_true(used.ru_maxrss < 1 << 20);
}

/* ---- chains ------------------------------------------------------------------------------------ */

static pdl_chain *chain;

static void depend(uint32_t link, uint32_t on)
{
    assert_ok(pdl_chain_add_dependency(chain, link, on));
}

/* Makes a chain of that many links, lets `shape` add dependencies, and builds it. */
static void chain_of(uint32_t count, void (*shape)(uint32_t count))
{
    struct values values = values_of(1);
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    chain = make_chain();
    for (uint32_t i = 0; i < count; i++) {
        assert_ok(pdl_chain_add(chain, kernel, &desc, VALUES(values), NULL, 0, NULL));
    }
    shape(count);
    assert_ok(pdl_chain_build(chain));
    assert_int_equal(node_count, count);
    drop_chain(chain);
    drop_kernel(kernel);
}

static void at_the_start(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        depend(i, PDL_CHAIN_START);
    }
}

static void forward(uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        depend(i, i - 1);
    }
}

static void reversed_from_the_first(uint32_t count)
{
    at_the_start(count);
    for (uint32_t i = 0; i + 1 < count; i++) {
        depend(i, i + 1);
    }
}

static void reversed_from_the_last(uint32_t count)
{
    depend(count - 1, PDL_CHAIN_START);
    for (uint32_t i = count - 1; i-- > 0;) {
        depend(i, i + 1);
    }
}

/* Each join waits for two links and the next one for it, in the order in which they were added. */
static void forks_and_joins(uint32_t count)
{
    for (uint32_t i = 3; i < count; i += 3) {
        depend(i - 1, i - 3);
        depend(i, i - 2);
        depend(i, i - 1);
    }
}

static void fan_out(uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        depend(i, 0);
    }
}

static void fan_out_from_the_last(uint32_t count)
{
    at_the_start(count);
    for (uint32_t i = 0; i + 1 < count; i++) {
        depend(i, count - 1);
    }
}

static void fan_in(uint32_t count)
{
    at_the_start(count - 1);
    for (uint32_t i = 0; i + 1 < count; i++) {
        depend(count - 1, i);
        depend(count - 1, i); /* which changes nothing */
    }
}

static void fan_in_to_the_first(uint32_t count)
{
    at_the_start(count);
    for (uint32_t i = 1; i < count; i++) {
        depend(0, i);
    }
}

#define SHAPES(X)                                                                                  \
    X(forward)                                                                                     \
    X(reversed_from_the_first)                                                                     \
    X(reversed_from_the_last)                                                                      \
    X(forks_and_joins)                                                                             \
    X(fan_out)                                                                                     \
    X(fan_out_from_the_last)                                                                       \
    X(fan_in)                                                                                      \
    X(fan_in_to_the_first)

#define WORK_(shape)                                                                               \
    static void chain_##shape(uint32_t count)                                                      \
    {                                                                                              \
        chain_of(count, shape);                                                                    \
    }
SHAPES(WORK_)
#undef WORK_

SCALE_TEST(a_chain_of_any_shape_takes_time_in_proportion)
{
#define ASSERT_(shape) assert_in_proportion(#shape, chain_##shape);
    SHAPES(ASSERT_)
#undef ASSERT_
}

/* ---- graphs ------------------------------------------------------------------------------------ */

static void census_of(uint32_t nodes)
{
    pdl_census census = PDL_CENSUS_INIT;
    node_count = nodes;
    assert_ok(pdl_graph_census((CUgraph)(uintptr_t)1, &census));
    assert_int_equal(census.nodes, nodes);
}

static void census_of_a_reversed_line(uint32_t count)
{
    for (uint32_t i = 0; i + 1 < count; i++) {
        keep_edge(i + 1, i);
    }
    census_of(count);
}

static void census_of_a_fan(uint32_t count)
{
    for (uint32_t i = 1; i + 1 < count; i++) {
        keep_edge(0, i);
        keep_edge(i, count - 1);
    }
    census_of(count);
}

/* Many kernels before one memset, which many others depend on, and a kernel behind them all. */
static void census_through_lines_that_meet(uint32_t count)
{
    const uint32_t half = count / 2;
    for (uint32_t i = 0; i < count; i++) {
        node_types[i] =
            i >= half && i + 1 < count ? CU_GRAPH_NODE_TYPE_MEMSET : CU_GRAPH_NODE_TYPE_KERNEL;
        if (i < half) {
            keep_edge(i, half);
        } else if (i > half && i + 1 < count) {
            keep_edge(half, i);
            keep_edge(i, count - 1);
        }
    }
    census_of(count);
    memset(node_types, 0, sizeof(node_types));
}

static void refused_node_of_a_fan(uint32_t count)
{
    const pdl_launch_desc desc = plain_desc();
    struct values values = values_of(1);
    CUgraphNode node = NULL;
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    pdl_edge *edges = calloc(count, sizeof(*edges));
    assert_non_null(edges);
    node_count = count;
    for (uint32_t i = 0; i < count; i++) {
        edges[i].node = handle_of(count - 1 - i);
    }
    mock.table.cuGraphAddNode = mock_cuGraphAddNode;
    mock_fail(MOCK_cuGraphAddNode, 0, CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(pdl_graph_add_launch((CUgraph)(uintptr_t)1, edges, count, kernel, &desc,
                                          VALUES(values), &node),
                     PDL_ERROR_DRIVER);
    edges[count / 2].node = handle_of(count);
    assert_refused(pdl_graph_add_launch((CUgraph)(uintptr_t)1, edges, count, kernel, &desc,
                                        VALUES(values), &node),
                   PDL_ERROR_EDGE, "dependencies", "not a node of this graph");
    mock.table.cuGraphAddNode = add_node;
    free(edges);
    drop_kernel(kernel);
}

SCALE_TEST(a_graph_of_any_shape_takes_time_in_proportion)
{
    assert_in_proportion("a census of a reversed line", census_of_a_reversed_line);
    assert_in_proportion("a census of a fan", census_of_a_fan);
    assert_in_proportion("a census through lines that meet", census_through_lines_that_meet);
    assert_in_proportion("a refused node with many dependencies", refused_node_of_a_fan);
}
