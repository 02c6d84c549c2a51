/* SPDX-License-Identifier: MIT */
/* Chains: recording, launching, what is refused, and what is told of a link. */
#include "graph_support.h"

GRAPH_TEST(a_chain_runs_its_links_in_order_with_one_launch)
{
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        pdl_kernel *kernel = test_kernel((enum kernel_source)source, 2);
        pdl_chain *chain = make_line(kernel, 5);
        const unsigned calls = mock_total_calls();
        assert_ok(pdl_chain_launch(chain, mock_stream(1, 0)));
        assert_int_equal(mock_total_calls() - calls, 1);
        assert_ran_count(5);
        for (unsigned i = 0; i < 5; i++) {
            assert_ran(i, i);
            assert_ptr_equal(mock_ran(i)->stream, mock_stream(1, 0));
            assert_ptr_equal(mock_ran(i)->params.function, mock_function(2, 0));
            assert_int_equal(mock_ran(i)->params.grid[0], 132);
            assert_int_equal(mock_ran(i)->params.block[0], 256);
        }
        assert_ok(pdl_chain_launch(chain, NULL));
        assert_ptr_equal(mock_ran(0)->stream, NULL);
        assert_ok(pdl_chain_launch(chain, CU_STREAM_LEGACY));
        assert_ok(pdl_chain_launch(chain, CU_STREAM_PER_THREAD));
        assert_ptr_equal(mock_ran(4)->stream, CU_STREAM_PER_THREAD);
    }
    assert_int_equal(mock.replay_count, 4 * KERNEL_SOURCES);
    assert_int_equal(mock.launch_count, 0);
}

GRAPH_TEST(the_callers_variables_are_not_needed_after_add)
{
    pdl_kernel *kernel = test_kernel(FROM_CU_KERNEL, 0);
    pdl_chain *chain = make_chain();
    struct values *values = malloc(sizeof(*values));
    pdl_launch_desc *desc = malloc(sizeof(*desc));
    void **args = malloc(2 * sizeof(*args));
    size_t *sizes = malloc(2 * sizeof(*sizes));
    assert_true(values != NULL && desc != NULL && args != NULL && sizes != NULL);
    *values = values_of(5);
    *desc = overlap_desc(PDL_OVERLAP_AUTO);
    args[0] = &values->pointer;
    args[1] = &values->number;
    sizes[0] = sizeof(values->pointer);
    sizes[1] = sizeof(values->number);
    assert_ok(pdl_chain_add(chain, kernel, desc, args, sizes, 2, NULL));
    *values = values_of(6);
    desc->grid[0] = 1;
    free(sizes);
    free(args);
    free(desc);
    free(values);
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_ran(0, 5);
    assert_int_equal(mock_ran(0)->params.grid[0], 132);
}

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
    report.size = 8; /* its inputs are not all there */
    assert_refused(pdl_chain_explain(chain, 0, &report), PDL_ERROR_DESC_SIZE, "size", "8");
    assert_invalid(pdl_chain_graph(NULL, &graph), "chain", "chain");
    assert_invalid(pdl_chain_graph(chain, NULL), "graph", "graph");
    assert_int_equal(link, 77);
    assert_ok(pdl_chain_launch(chain, NULL)); /* and none of that changed the chain */
    assert_ran(0, 0);
}

GRAPH_TEST(a_link_has_neither_events_nor_a_device_node)
{
    static const CUlaunchAttributeID of_launches[] = {CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
                                                      CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
                                                      ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE};
    struct values values = values_of(0);
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_chain();
    for (size_t i = 0; i < COUNT_OF(of_launches); i++) {
        uint32_t link = 77;
        pdl_launch_desc desc = plain_desc();
        const struct field_case *const field = field_case_of(of_launches[i]);
        set_field(field, &desc);
        assert_refused(pdl_chain_add(chain, kernel, &desc, VALUES(values), NULL, 0, &link),
                       PDL_ERROR_NOT_SUPPORTED, field->name, field->name);
        assert_int_equal(link, 77);
    }
    assert_refused(pdl_chain_build(chain), PDL_ERROR_NOT_BUILT, NULL, "no links");
}

/* A descriptor of an older program is kept whole: what it does not have is default for good. */
GRAPH_TEST(an_older_descriptor_is_accepted)
{
    struct values values = values_of(0);
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_chain();
    pdl_launch_desc desc = plain_desc();
    memset((char *)&desc + offsetof(pdl_launch_desc, cluster), 0xff,
           sizeof(desc) - offsetof(pdl_launch_desc, cluster));
    desc.size = (uint32_t)offsetof(pdl_launch_desc, cluster);
    assert_ok(pdl_chain_add(chain, kernel, &desc, VALUES(values), NULL, 0, NULL));
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_int_equal(mock_ran(0)->params.attribute_count, 0);
    assert_int_equal(mock_ran(0)->params.shared, 0);
    assert_ok(pdl_chain_set_desc(chain, 0, &desc));
}

GRAPH_TEST(a_link_is_explained)
{
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 3);
    pdl_kernel *careless = test_kernel(FROM_FUNCTION, 4);
    pdl_chain *chain = make_chain();
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    assert_ok(pdl_kernel_declare(careless, PDL_NO, PDL_UNKNOWN));
    for (uint32_t i = 0; i < 3; i++) {
        (void)add_link(chain, kernel, PDL_OVERLAP_AUTO, i);
    }
    (void)add_link(chain, careless, PDL_OVERLAP_AUTO, 3);
    (void)add_link(chain, kernel, PDL_OVERLAP_NONE, 4);
    assert_ok(pdl_chain_add_dependency(chain, 2, 0));
    assert_ok(pdl_chain_add_dependency(chain, 2, 1));
    for (int built = 0; built < 2; built++) {
        assert_ok(pdl_chain_explain(chain, 0, &report));
        assert_int_equal(report.links, 5);
        assert_int_equal(report.dependencies, 0);
        assert_int_equal(report.overlap, 0); /* there is nothing to overlap */
        assert_int_equal(report.built, built);
        assert_non_null(strstr(report.message, "fc4"));
        assert_ok(pdl_chain_explain(chain, 2, &report));
        assert_int_equal(report.dependencies, 2);
        assert_int_equal(report.overlap, 1);
        assert_int_equal(report.overlap_reason, PDL_REASON_GRANTED);
        assert_non_null(strstr(report.message, "link 2"));
        assert_non_null(strstr(report.message, "0, 1"));
        assert_ok(pdl_chain_explain(chain, 3, &report));
        assert_int_equal(report.dependencies, 1);
        assert_int_equal(report.overlap, 0);
        assert_int_equal(report.overlap_reason, PDL_REASON_NO_WAIT);
        assert_non_null(strstr(report.message, pdl_reason_string(PDL_REASON_NO_WAIT)));
        assert_non_null(strstr(report.message, "link 2"));
        assert_ok(pdl_chain_explain(chain, 4, &report));
        assert_int_equal(report.overlap_reason, PDL_REASON_NOT_REQUESTED);
        assert_null(strchr(report.message, '\n'));
        assert_int_equal(report.size, sizeof(report));
        assert_ok(pdl_chain_build(chain));
    }
    assert_int_equal(mock.replay_count, 0);
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
