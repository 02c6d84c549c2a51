/* SPDX-License-Identifier: MIT */
/* Kernel nodes added by hand: what the driver gets, and what is refused. */
#include "graph_support.h"

static const pdl_edge_kind kinds[] = {PDL_EDGE_FULL, PDL_EDGE_PROGRAMMATIC,
                                      PDL_EDGE_LAUNCH_COMPLETION,
                                      PDL_EDGE_PROGRAMMATIC_AT_BLOCK_START};

#define NOT_WRITTEN ((CUgraphNode)(void *)&mock)

GRAPH_TEST(a_node_has_the_shape_and_a_copy_of_the_arguments)
{
    CUgraph graph = make_graph();
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        CUgraphNode node = NULL;
        struct values values = values_of(7);
        pdl_kernel *kernel = test_kernel((enum kernel_source)source, 3);
        pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
        desc.grid[1] = 4;
        desc.block[0] = 16;
        desc.block[2] = 2;
        desc.dynamic_shared_memory = 4096;
        desc.stream = mock_stream(1, 0);
        assert_ok(pdl_graph_add_launch(graph, NULL, 0, kernel, &desc, VALUES(values), &node));
        values = values_of(8);
        assert_int_equal(node->type, CU_GRAPH_NODE_TYPE_KERNEL);
        assert_ptr_equal(node->graph, graph);
        assert_ptr_equal(node->params.function, mock_function(3, 0)); /* a CUkernel is resolved */
        assert_null(node->params.kernel);
        assert_int_equal(node->params.grid[0], 132);
        assert_int_equal(node->params.grid[1], 4);
        assert_int_equal(node->params.grid[2], 1);
        assert_int_equal(node->params.block[0], 16);
        assert_int_equal(node->params.block[1], 1);
        assert_int_equal(node->params.block[2], 2);
        assert_int_equal(node->params.shared, 4096);
        values = values_of(7);
        assert_memory_equal(node->params.arguments[0], &values.pointer, sizeof(values.pointer));
        assert_memory_equal(node->params.arguments[1], &values.number, sizeof(values.number));
        assert_int_equal(node->params.attribute_count, 0); /* the overlap is in the edges */
        assert_int_equal(mock_edges_into(node), 0);
    }
    assert_int_equal(mock.launch_count, 0);
}

GRAPH_TEST(a_node_may_have_many_dependencies_of_mixed_kinds)
{
    enum { MANY = 41 };
    CUgraph graph = make_graph();
    pdl_edge edges[MANY];
    pdl_kernel *kernel = test_kernel(FROM_CU_KERNEL, 0);
    for (size_t i = 0; i < MANY; i++) {
        edges[i] = (pdl_edge){.node = add_kernel_node(graph, kernel, NULL, 0),
                              .kind = (uint32_t)kinds[i % COUNT_OF(kinds)]};
    }
    CUgraphNode node = add_kernel_node(graph, kernel, edges, MANY);
    assert_int_equal(mock_edges_into(node), MANY);
    for (size_t i = 0; i < MANY; i++) {
        assert_edge(edges[i].node, node, kinds[i % COUNT_OF(kinds)]);
    }
}

GRAPH_TEST(a_programmatic_edge_must_be_asked_for)
{
    CUgraph graph = make_graph();
    CUgraphNode node = NULL;
    struct values values = values_of(0);
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    const pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_NONE);
    CUgraphNode before = add_kernel_node(graph, kernel, NULL, 0);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const pdl_edge edge = {.node = before, .kind = (uint32_t)kinds[i]};
        const unsigned nodes = (unsigned)mock.live_nodes;
        if (kinds[i] == PDL_EDGE_FULL || kinds[i] == PDL_EDGE_LAUNCH_COMPLETION) {
            assert_ok(pdl_graph_add_launch(graph, &edge, 1, kernel, &desc, VALUES(values), &node));
            assert_edge(before, node, kinds[i]);
        } else {
            assert_refused(
                pdl_graph_add_launch(graph, &edge, 1, kernel, &desc, VALUES(values), &node),
                PDL_ERROR_DESC_FIELD, "overlap", "0", "PDL_OVERLAP_NONE");
            assert_int_equal(mock.live_nodes, nodes);
        }
    }
}

GRAPH_TEST(only_a_kernel_has_a_trigger_or_a_launch_to_depend_on)
{
    static const CUgraphNodeType types[] = {CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_MEMCPY,
                                            CU_GRAPH_NODE_TYPE_HOST, CU_GRAPH_NODE_TYPE_EMPTY};
    CUgraph graph = make_graph();
    struct values values = values_of(0);
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    const pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        CUgraphNode before = mock_add_node(graph, types[t]);
        for (size_t i = 0; i < COUNT_OF(kinds); i++) {
            const pdl_edge edge = {.node = before, .kind = (uint32_t)kinds[i]};
            CUgraphNode node = NOT_WRITTEN;
            if (kinds[i] == PDL_EDGE_FULL) {
                node = add_kernel_node(graph, kernel, &edge, 1);
                assert_edge(before, node, PDL_EDGE_FULL);
                continue;
            }
            assert_refused(
                pdl_graph_add_launch(graph, &edge, 1, kernel, &desc, VALUES(values), &node),
                PDL_ERROR_EDGE, "dependencies", "dependency 0");
            assert_ptr_equal(node, NOT_WRITTEN);
        }
    }
    assert_int_equal(mock.live_nodes, 2 * COUNT_OF(types));
}

GRAPH_TEST(an_edge_that_is_not_known_is_refused)
{
    CUgraph graph = make_graph();
    CUgraphNode node = NOT_WRITTEN;
    struct values values = values_of(0);
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    const pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    CUgraphNode before = add_kernel_node(graph, kernel, NULL, 0);
    pdl_edge edges[2] = {{.node = before}, {.node = before, .kind = 4}};
    assert_refused(pdl_graph_add_launch(graph, edges, 2, kernel, &desc, VALUES(values), &node),
                   PDL_ERROR_EDGE, "dependencies", "dependency 1", "4");
    edges[1] = (pdl_edge){.node = before, .kind = PDL_EDGE_PROGRAMMATIC, .reserved = 1};
    assert_refused(pdl_graph_add_launch(graph, edges, 2, kernel, &desc, VALUES(values), &node),
                   PDL_ERROR_EDGE, "dependencies", "dependency 1");
    edges[1] = (pdl_edge){.node = NULL};
    assert_invalid(pdl_graph_add_launch(graph, edges, 2, kernel, &desc, VALUES(values), &node),
                   "dependencies", "dependency 1");
    assert_ptr_equal(node, NOT_WRITTEN);
    assert_int_equal(mock.live_nodes, 1);
}

GRAPH_TEST(a_node_of_another_graph_is_told)
{
    CUgraph graph = make_graph();
    CUgraph other = make_graph();
    CUgraphNode node = NOT_WRITTEN;
    struct values values = values_of(0);
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    const pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    pdl_edge edges[2] = {{.node = add_kernel_node(graph, kernel, NULL, 0)},
                         {.node = add_kernel_node(other, kernel, NULL, 0)}};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        edges[0].kind = edges[1].kind = (uint32_t)kinds[i];
        assert_refused(pdl_graph_add_launch(graph, edges, 2, kernel, &desc, VALUES(values), &node),
                       PDL_ERROR_EDGE, "dependencies", "dependency 1");
        assert_refused(
            pdl_graph_add_launch(graph, edges + 1, 1, kernel, &desc, VALUES(values), &node),
            PDL_ERROR_EDGE, "dependencies", "dependency 0");
    }
    /* The driver's refusal is not blamed on dependencies that are in order. */
    mock_fail(MOCK_cuGraphAddNode, 1, CUDA_ERROR_INVALID_VALUE);
    assert_refused(pdl_graph_add_launch(graph, edges, 1, kernel, &desc, VALUES(values), &node),
                   PDL_ERROR_DRIVER, NULL, "cuGraphAddNode", "CUDA_ERROR_INVALID_VALUE");
    assert_ptr_equal(node, NOT_WRITTEN);
}

GRAPH_TEST(each_missing_argument_is_named)
{
    CUgraph graph = make_graph();
    CUgraphNode node = NOT_WRITTEN;
    struct values values = values_of(0);
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    const pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    assert_invalid(pdl_graph_add_launch(NULL, NULL, 0, kernel, &desc, VALUES(values), &node),
                   "graph", "graph");
    assert_invalid(pdl_graph_add_launch(graph, NULL, 1, kernel, &desc, VALUES(values), &node),
                   "dependencies", "dependencies", "1");
    assert_invalid(pdl_graph_add_launch(graph, NULL, 0, NULL, &desc, VALUES(values), &node),
                   "kernel", "kernel");
    assert_invalid(pdl_graph_add_launch(graph, NULL, 0, kernel, NULL, VALUES(values), &node),
                   "desc", "desc");
    assert_invalid(pdl_graph_add_launch(graph, NULL, 0, kernel, &desc, VALUES(values), NULL),
                   "node", "node");
    assert_ptr_equal(node, NOT_WRITTEN);
    assert_int_equal(mock.live_nodes, 0);
}
