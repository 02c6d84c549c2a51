/* SPDX-License-Identifier: MIT */
/* Chains: recording, launching, what is refused, and what is told of a link. */
#include "graph_support.h"

GRAPH_TEST(a_chain_must_be_built_and_built_again_after_a_change)
{
    CUgraph graph = NULL;
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_chain();
    assert_refused(pdl_chain_launch(chain, NULL), PDL_ERROR_NOT_BUILT, NULL, "");
    (void)add_link(chain, kernel, PDL_OVERLAP_AUTO, 0);
    assert_refused(pdl_chain_launch(chain, NULL), PDL_ERROR_NOT_BUILT, NULL, "is not built", "1");
    assert_refused(pdl_chain_graph(chain, &graph), PDL_ERROR_NOT_BUILT, NULL, "");
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_launch(chain, NULL));
    (void)add_link(chain, kernel, PDL_OVERLAP_AUTO, 1);
    assert_refused(pdl_chain_launch(chain, NULL), PDL_ERROR_NOT_BUILT, NULL, "changed", "2");
    assert_refused(pdl_chain_graph(chain, &graph), PDL_ERROR_NOT_BUILT, NULL, "changed");
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_ran_count(2);
    assert_ok(pdl_chain_add_dependency(chain, 1, PDL_CHAIN_START));
    assert_refused(pdl_chain_launch(chain, NULL), PDL_ERROR_NOT_BUILT, NULL, "changed");
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_int_equal(mock_edges_into(node_of(chain, 1)), 0);
    assert_ok(pdl_chain_add_dependency(chain, 1, 0));
    assert_refused(pdl_chain_launch(chain, NULL), PDL_ERROR_NOT_BUILT, NULL, "changed");
    assert_ok(pdl_chain_build(chain));
    assert_int_equal(mock_edges_into(node_of(chain, 1)), 1);
    assert_ok(pdl_chain_reset(chain));
    assert_refused(pdl_chain_launch(chain, NULL), PDL_ERROR_NOT_BUILT, NULL, "");
    assert_int_equal(mock.live_execs, 0);
    assert_ok(pdl_chain_reset(chain)); /* twice does no harm */
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_ran_count(2);
    assert_int_equal(mock.live_graphs, 1);
    assert_int_equal(mock.live_execs, 1);
}

GRAPH_TEST(an_empty_chain_cannot_be_launched)
{
    pdl_chain *chain = make_chain();
    assert_refused(pdl_chain_build(chain), PDL_ERROR_NOT_BUILT, NULL, "no links");
    assert_refused(pdl_chain_launch(chain, NULL), PDL_ERROR_NOT_BUILT, NULL, "");
    assert_int_equal(mock.calls[MOCK_cuGraphCreate], 0);
    pdl_chain_destroy(NULL);
}

GRAPH_TEST(each_missing_argument_is_named)
{
    uint32_t link = 77;
    struct values values = values_of(0);
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_line(kernel, 1);
    const pdl_launch_desc desc = plain_desc();
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    CUgraph graph = NULL;
    assert_invalid(pdl_chain_create(NULL, NULL), "chain", "chain");
    assert_invalid(pdl_chain_add(NULL, kernel, &desc, VALUES(values), NULL, 0, &link), "chain",
                   "chain");
    assert_invalid(pdl_chain_add(chain, NULL, &desc, VALUES(values), NULL, 0, &link), "kernel",
                   "kernel");
    assert_invalid(pdl_chain_add(chain, kernel, NULL, VALUES(values), NULL, 0, &link), "desc",
                   "desc");
    assert_invalid(pdl_chain_add(chain, kernel, &desc, NULL, NULL, 0, &link), "args", "argument 0");
    assert_invalid(pdl_chain_add(chain, kernel, &desc, ((void *[]){&values, NULL}), NULL, 0, &link),
                   "args", "argument 1");
    assert_invalid(pdl_chain_add(chain, kernel, &desc, VALUES(values), NULL, 2, &link), "sizes",
                   "sizes", "2");
    assert_invalid(pdl_chain_add_dependency(NULL, 0, 0), "chain", "chain");
    assert_invalid(pdl_chain_add_dependency(chain, 1, 0), "link", "1");
    assert_invalid(pdl_chain_add_dependency(chain, 0, 1), "on", "1");
    assert_invalid(pdl_chain_add_dependency(chain, PDL_CHAIN_START, 0), "link", "");
    assert_invalid(pdl_chain_build(NULL), "chain", "chain");
    assert_invalid(pdl_chain_launch(NULL, NULL), "chain", "chain");
    assert_invalid(pdl_chain_set_args(NULL, 0, VALUES(values)), "chain", "chain");
    assert_invalid(pdl_chain_set_args(chain, 1, VALUES(values)), "link", "1");
    assert_invalid(pdl_chain_set_args(chain, 0, NULL), "args", "argument 0");
    assert_invalid(pdl_chain_set_args(chain, 0, ((void *[]){&values, NULL})), "args", "argument 1");
    assert_invalid(pdl_chain_set_desc(NULL, 0, &desc), "chain", "chain");
    assert_invalid(pdl_chain_set_desc(chain, 1, &desc), "link", "1");
    assert_invalid(pdl_chain_set_desc(chain, 0, NULL), "desc", "desc");
    assert_invalid(pdl_chain_reset(NULL), "chain", "chain");
    assert_invalid(pdl_chain_explain(NULL, 0, &report), "chain", "chain");
    assert_invalid(pdl_chain_explain(chain, 1, &report), "link", "1");
    assert_invalid(pdl_chain_explain(chain, 0, NULL), "report", "report");
    assert_invalid(pdl_chain_graph(NULL, &graph), "chain", "chain");
    assert_invalid(pdl_chain_graph(chain, NULL), "graph", "graph");
    assert_int_equal(link, 77);
    assert_ok(pdl_chain_launch(chain, NULL)); /* and none of that changed the chain */
    assert_ran(0, 0);
}

GRAPH_TEST(a_link_with_many_dependencies_is_explained)
{
    enum { MANY = 100 };
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_line(kernel, MANY + 1);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_ok(pdl_chain_add_dependency(chain, MANY, i));
    }
    const pdl_chain_report report = link_report(chain, MANY);
    assert_int_equal(report.dependencies, MANY);
    assert_non_null(memchr(report.message, '\0', sizeof(report.message)));
    assert_ok(pdl_chain_build(chain));
    assert_int_equal(mock_edges_into(node_of(chain, MANY)), MANY);
}

GRAPH_TEST(a_report_lists_the_dependencies_that_fit)
{
    uint32_t list[4] = {77, 77, 77, 77};
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_line(kernel, 5);
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    report.dependency_links = list;
    report.dependency_capacity = 2;
    assert_ok(pdl_chain_explain(chain, 0, &report));
    assert_int_equal(report.dependencies, 0);
    assert_int_equal(list[0], 77);
    assert_ok(pdl_chain_explain(chain, 4, &report)); /* what it depends on unless told otherwise */
    assert_int_equal(report.dependencies, 1);
    assert_int_equal(list[0], 3);
    assert_int_equal(list[1], 77);
    assert_ok(pdl_chain_add_dependency(chain, 4, 2));
    assert_ok(pdl_chain_add_dependency(chain, 4, 0));
    assert_ok(pdl_chain_add_dependency(chain, 4, 1));
    assert_ok(pdl_chain_explain(chain, 4, &report));
    assert_int_equal(report.dependencies, 3);
    assert_int_equal(report.dependency_capacity, 2);
    assert_ptr_equal(report.dependency_links, list);
    assert_int_equal(list[0], 2);
    assert_int_equal(list[1], 0);
    assert_int_equal(list[2], 77);
    report.dependency_links = NULL; /* and nowhere to list */
    assert_ok(pdl_chain_explain(chain, 4, &report));
    assert_int_equal(report.dependencies, 3);
}

GRAPH_TEST(a_report_has_the_shape_of_the_launch)
{
    struct values values = values_of(0);
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_chain();
    pdl_launch_desc desc = plain_desc();
    memcpy(desc.grid, (uint32_t[]){7, 0, 3}, sizeof(desc.grid));
    memcpy(desc.block, (uint32_t[]){32, 2, 0}, sizeof(desc.block));
    desc.dynamic_shared_memory = 4096;
    assert_ok(pdl_chain_add(chain, kernel, &desc, VALUES(values), NULL, 0, NULL));
    const pdl_chain_report report = link_report(chain, 0);
    assert_ptr_equal(report.kernel, kernel);
    assert_memory_equal(report.grid, ((uint32_t[]){7, 1, 3}), sizeof(report.grid));
    assert_memory_equal(report.block, ((uint32_t[]){32, 2, 1}), sizeof(report.block));
    assert_int_equal(report.dynamic_shared_memory, 4096);
}
