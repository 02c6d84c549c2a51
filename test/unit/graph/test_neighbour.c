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

static void a_line_of_kernels_that_wait_overlaps(void **state)
{
    (void)state;
    CUgraph graph = make_graph();
    pdl_kernel *kernels[2 * KERNEL_SOURCES];
    CUgraphNode last = foreign_node(graph, 7);
    for (unsigned i = 0; i < COUNT_OF(kernels); i++) {
        kernels[i] = make_kernel((enum kernel_source)(i % KERNEL_SOURCES), i);
    }
    for (unsigned i = 0; i < 3 * COUNT_OF(kernels); i++) {
        CUgraphNode node = add_behind(graph, kernels[i % COUNT_OF(kernels)], last);
        assert_edge(last, node, PDL_EDGE_PROGRAMMATIC);
        last = node;
    }
    for (unsigned i = 0; i < COUNT_OF(kernels); i++) {
        pdl_kernel_destroy(kernels[i]);
    }
    destroy_graph(graph);
}

static void behind_anothers_overlap_edges_become_full_or_are_refused(void **state)
{
    (void)state;
    CUgraph graph = make_graph();
    pdl_kernel *kernel = make_kernel(FROM_CU_KERNEL, 0);
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
    pdl_kernel_destroy(kernel);
    destroy_graph(graph);
}

/* Such a node starts when what is in front of it has ended, or is not ordered with it on purpose. */
static void another_ones_node_that_does_not_overlap_breaks_nothing(void **state)
{
    (void)state;
    CUgraph graph = make_graph();
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    for (unsigned char port = 0; port <= 2; port += 2) {
        CUgraphNode before = foreign_pair(graph, DEFAULT, port);
        assert_edge(before, add_behind(graph, kernel, before), PDL_EDGE_PROGRAMMATIC);
    }
    pdl_kernel_destroy(kernel);
    destroy_graph(graph);
}

static void a_function_is_known_for_as_long_as_its_kernel(void **state)
{
    (void)state;
    CUgraph graph = make_graph();
    CUgraphNode before = foreign_pair(graph, PROGRAMMATIC, 1); /* of kernel 6 */
    pdl_kernel *after = make_kernel(FROM_FUNCTION, 0);
    pdl_kernel *others[2] = {make_kernel(FROM_SYMBOL, 1), make_kernel(FROM_CU_KERNEL, 2)};
    pdl_kernel *known = make_kernel(FROM_CU_KERNEL, 6);
    assert_edge(before, add_behind(graph, after, before), PDL_EDGE_FULL);
    (void)add_kernel_node(graph, others[0], NULL, 0);
    (void)add_kernel_node(graph, known, NULL, 0);
    (void)add_kernel_node(graph, others[1], NULL, 0);
    assert_edge(before, add_behind(graph, after, before), PDL_EDGE_PROGRAMMATIC);
    pdl_kernel_destroy(known); /* from the middle of the list, then its ends */
    assert_edge(before, add_behind(graph, after, before), PDL_EDGE_FULL);
    pdl_kernel_destroy(others[0]);
    pdl_kernel_destroy(others[1]);
    pdl_kernel_destroy(after);
    known = make_kernel(FROM_FUNCTION, 6);
    (void)add_kernel_node(graph, known, NULL, 0);
    assert_edge(before, add_behind(graph, known, before), PDL_EDGE_PROGRAMMATIC);
    pdl_kernel_destroy(known);
    destroy_graph(graph);
}

static void a_kernel_that_was_never_let_overlap_is_not_known(void **state)
{
    (void)state;
    CUgraph graph = make_graph();
    CUgraphNode before = foreign_pair(graph, PROGRAMMATIC, 1);
    pdl_kernel *plain = make_kernel(FROM_FUNCTION, 6);
    pdl_kernel *after = make_kernel(FROM_FUNCTION, 0);
    assert_ok(pdl_kernel_declare(plain, PDL_UNKNOWN, PDL_UNKNOWN));
    (void)add_behind(graph, plain, foreign_node(graph, 1));
    assert_edge(before, add_behind(graph, after, before), PDL_EDGE_FULL);
    pdl_kernel_destroy(plain);
    pdl_kernel_destroy(after);
    destroy_graph(graph);
}

/* The kernel in the middle is the one whose edges are full, so that the last one may overlap it. */
static void a_link_that_does_not_wait_is_ordered_for_those_after_it(void **state)
{
    (void)state;
    for (int waits = PDL_UNKNOWN; waits <= PDL_NO; waits++) {
        CUgraph graph = make_graph();
        pdl_chain *chain = make_chain();
        pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
        pdl_kernel *middle = make_kernel(FROM_FUNCTION, 1);
        assert_ok(pdl_kernel_declare(middle, (pdl_known)waits, PDL_YES));
        CUgraphNode nodes[3] = {add_kernel_node(graph, kernel, NULL, 0)};
        nodes[1] = add_behind(graph, middle, nodes[0]);
        nodes[2] = add_behind(graph, kernel, nodes[1]);
        assert_edge(nodes[0], nodes[1], PDL_EDGE_FULL);
        assert_edge(nodes[1], nodes[2], PDL_EDGE_PROGRAMMATIC);

        (void)add_link(chain, kernel, PDL_OVERLAP_AUTO, 0);
        (void)add_link(chain, middle, PDL_OVERLAP_AUTO, 1);
        (void)add_link(chain, kernel, PDL_OVERLAP_AUTO, 2);
        assert_ok(pdl_chain_build(chain));
        assert_edge(node_of(chain, 0), node_of(chain, 1), PDL_EDGE_FULL);
        assert_edge(node_of(chain, 1), node_of(chain, 2), PDL_EDGE_PROGRAMMATIC);
        const pdl_reason reasons[] = {
            PDL_REASON_GRANTED, waits == PDL_NO ? PDL_REASON_NO_WAIT : PDL_REASON_WAITS_UNKNOWN,
            PDL_REASON_GRANTED};
        for (uint32_t link = 0; link < 3; link++) {
            pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
            assert_ok(pdl_chain_explain(chain, link, &report));
            assert_int_equal(report.overlap_reason, reasons[link]);
        }
        pdl_chain_destroy(chain);
        pdl_kernel_destroy(kernel);
        pdl_kernel_destroy(middle);
        destroy_graph(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(a_line_of_kernels_that_wait_overlaps),
        GRAPH_TEST(behind_anothers_overlap_edges_become_full_or_are_refused),
        GRAPH_TEST(another_ones_node_that_does_not_overlap_breaks_nothing),
        GRAPH_TEST(a_function_is_known_for_as_long_as_its_kernel),
        GRAPH_TEST(a_kernel_that_was_never_let_overlap_is_not_known),
        GRAPH_TEST(a_link_that_does_not_wait_is_ordered_for_those_after_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
