/* SPDX-License-Identifier: MIT */
/* The kernel in front: an overlap is granted only where a wait covers all that is in front. */
#include "graph_support.h"

enum { DEFAULT = 0, PROGRAMMATIC = 1 };

static const pdl_edge_kind programmatic[] = {PDL_EDGE_PROGRAMMATIC,
                                             PDL_EDGE_PROGRAMMATIC_AT_BLOCK_START};

/* A node that libpdl did not make, of kernel number k of the mock. */
static CUgraphNode foreign_node(CUgraph graph, unsigned k)
{
    CUgraphNode node = mock_add_node(graph, CU_GRAPH_NODE_TYPE_KERNEL);
    node->params.function = mock_function(k, 0);
    return node;
}

/* Two of them, the second one with an edge to the first. */
static CUgraphNode foreign_pair(CUgraph graph, unsigned char type, unsigned char port)
{
    CUgraphNode first = foreign_node(graph, 5);
    CUgraphNode second = foreign_node(graph, 6);
    mock_add_edge(first, second, type, port);
    return second;
}

static CUgraphNode add_behind(CUgraph graph, pdl_kernel *kernel, CUgraphNode node)
{
    const pdl_edge edge = {.node = node, .kind = PDL_EDGE_PROGRAMMATIC};
    return add_kernel_node(graph, kernel, &edge, 1);
}

GRAPH_TEST(behind_anothers_overlap_edges_become_full_or_are_refused)
{
    CUgraph graph = make_graph();
    pdl_kernel *kernel = test_kernel(FROM_CU_KERNEL, 0);
    for (size_t i = 0; i < COUNT_OF(programmatic); i++) {
        CUgraphNode node = NULL;
        struct values values = values_of(0);
        CUgraphNode plain = foreign_node(graph, 1);
        const pdl_edge edges[] = {
            {.node = plain, .kind = (uint32_t)programmatic[i]},
            {.node = plain, .kind = PDL_EDGE_LAUNCH_COMPLETION},
            {.node = foreign_pair(graph, PROGRAMMATIC, (unsigned char)(1 + i)),
             .kind = (uint32_t)programmatic[i]},
        };
        pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_REQUIRE);
        const unsigned nodes = (unsigned)mock.live_nodes;
        assert_refused(pdl_graph_add_launch(graph, edges, 3, kernel, &desc, VALUES(values), &node),
                       PDL_ERROR_OVERLAP, "overlap", "fc1", "dependency 2",
                       pdl_reason_string(PDL_REASON_PREDECESSOR));
        assert_null(node);
        assert_int_equal(mock.live_nodes, nodes);
        desc.overlap = PDL_OVERLAP_AUTO;
        assert_ok(pdl_graph_add_launch(graph, edges + 1, 2, kernel, &desc, VALUES(values), &node));
        assert_edge(plain, node, PDL_EDGE_LAUNCH_COMPLETION);
        assert_edge(edges[2].node, node, PDL_EDGE_FULL);
        assert_ok(pdl_graph_add_launch(graph, edges, 1, kernel, &desc, VALUES(values), &node));
        assert_edge(plain, node, programmatic[i]);
    }
}

/* Such a node starts when what is in front of it has ended, or is not ordered with it on purpose. */
GRAPH_TEST(another_ones_node_that_does_not_overlap_breaks_nothing)
{
    CUgraph graph = make_graph();
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    for (unsigned char port = 0; port <= 2; port += 2) {
        CUgraphNode before = foreign_pair(graph, DEFAULT, port);
        assert_edge(before, add_behind(graph, kernel, before), PDL_EDGE_PROGRAMMATIC);
    }
}

GRAPH_TEST(a_function_is_known_for_as_long_as_its_kernel)
{
    CUgraph graph = make_graph();
    CUgraphNode before = foreign_pair(graph, PROGRAMMATIC, 1); /* of kernel 6 */
    pdl_kernel *after = test_kernel(FROM_FUNCTION, 0);
    pdl_kernel *others[2] = {test_kernel(FROM_SYMBOL, 1), test_kernel(FROM_CU_KERNEL, 2)};
    pdl_kernel *known = test_kernel(FROM_CU_KERNEL, 6);
    assert_edge(before, add_behind(graph, after, before), PDL_EDGE_FULL);
    (void)add_kernel_node(graph, others[0], NULL, 0);
    (void)add_kernel_node(graph, known, NULL, 0);
    (void)add_kernel_node(graph, others[1], NULL, 0);
    assert_edge(before, add_behind(graph, after, before), PDL_EDGE_PROGRAMMATIC);
    drop_kernel(known); /* from the middle of the list, then its ends */
    assert_edge(before, add_behind(graph, after, before), PDL_EDGE_FULL);
    drop_kernel(others[0]);
    drop_kernel(others[1]);
    drop_kernel(after);
    known = test_kernel(FROM_FUNCTION, 6);
    (void)add_kernel_node(graph, known, NULL, 0);
    assert_edge(before, add_behind(graph, known, before), PDL_EDGE_PROGRAMMATIC);
}

GRAPH_TEST(a_kernel_that_was_never_let_overlap_is_not_known)
{
    CUgraph graph = make_graph();
    CUgraphNode before = foreign_pair(graph, PROGRAMMATIC, 1);
    pdl_kernel *plain = test_kernel(FROM_FUNCTION, 6);
    pdl_kernel *after = test_kernel(FROM_FUNCTION, 0);
    assert_ok(pdl_kernel_declare(plain, PDL_UNKNOWN, PDL_UNKNOWN));
    (void)add_behind(graph, plain, foreign_node(graph, 1));
    assert_edge(before, add_behind(graph, after, before), PDL_EDGE_FULL);
}

/* The kernel in the middle is the one whose edges are full, so that the last one may overlap it. */
GRAPH_TEST(a_node_that_does_not_wait_is_ordered_for_those_after_it)
{
    for (int waits = PDL_UNKNOWN; waits <= PDL_NO; waits++) {
        CUgraph graph = make_graph();
        pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
        pdl_kernel *middle = test_kernel(FROM_FUNCTION, 1);
        assert_ok(pdl_kernel_declare(middle, (pdl_known)waits, PDL_YES));
        CUgraphNode first = add_kernel_node(graph, kernel, NULL, 0);
        (void)add_behind(graph, kernel, add_behind(graph, middle, first));
        assert_graph(graph, "k k0f k1p");
        drop_kernel(kernel);
        drop_kernel(middle);
        destroy_graph(graph);
    }
}
