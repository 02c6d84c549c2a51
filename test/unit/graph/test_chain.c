/* SPDX-License-Identifier: MIT */
/* Chains: recording, launching, what is refused, and what is told of a link. */
#include "graph_support.h"

static void a_chain_runs_its_links_in_order_with_one_launch(void **state)
{
    (void)state;
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        pdl_kernel *kernel = make_kernel((enum kernel_source)source, 2);
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
        pdl_chain_destroy(chain);
        pdl_kernel_destroy(kernel);
    }
    assert_int_equal(mock.replay_count, 4 * KERNEL_SOURCES);
    assert_int_equal(mock.launch_count, 0);
}

static void each_link_decides_how_it_waits(void **state)
{
    (void)state;
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    pdl_kernel *careless = make_kernel(FROM_FUNCTION, 1);
    pdl_chain *chain = make_chain();
    assert_ok(pdl_kernel_declare(careless, PDL_NO, PDL_UNKNOWN));
    (void)add_link(chain, kernel, PDL_OVERLAP_AUTO, 0);
    (void)add_link(chain, kernel, PDL_OVERLAP_AUTO, 1);
    (void)add_link(chain, kernel, PDL_OVERLAP_NONE, 2);
    (void)add_link(chain, kernel, PDL_OVERLAP_REQUIRE, 3);
    (void)add_link(chain, careless, PDL_OVERLAP_AUTO, 4);
    assert_ok(pdl_chain_build(chain));
    assert_int_equal(mock_edges_into(node_of(chain, 0)), 0);
    assert_edge(node_of(chain, 0), node_of(chain, 1), PDL_EDGE_PROGRAMMATIC);
    assert_edge(node_of(chain, 1), node_of(chain, 2), PDL_EDGE_FULL);
    assert_edge(node_of(chain, 2), node_of(chain, 3), PDL_EDGE_PROGRAMMATIC);
    assert_edge(node_of(chain, 3), node_of(chain, 4), PDL_EDGE_FULL);
    for (uint32_t i = 1; i < 5; i++) {
        assert_int_equal(mock_edges_into(node_of(chain, i)), 1);
    }
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
    pdl_kernel_destroy(careless);
}

static void the_callers_variables_are_not_needed_after_add(void **state)
{
    (void)state;
    pdl_kernel *kernel = make_kernel(FROM_CU_KERNEL, 0);
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
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void a_chain_must_be_built_and_built_again_after_a_change(void **state)
{
    (void)state;
    CUgraph graph = NULL;
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
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
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void an_empty_chain_cannot_be_launched(void **state)
{
    (void)state;
    pdl_chain *chain = make_chain();
    assert_refused(pdl_chain_build(chain), PDL_ERROR_NOT_BUILT, NULL, "no links");
    assert_refused(pdl_chain_launch(chain, NULL), PDL_ERROR_NOT_BUILT, NULL, "");
    assert_int_equal(mock.calls[MOCK_cuGraphCreate], 0);
    pdl_chain_destroy(chain);
    pdl_chain_destroy(NULL);
}

static void a_failing_launch_says_what_the_driver_said(void **state)
{
    (void)state;
    static const struct {
        CUresult result;
        pdl_status status;
    } cases[] = {
        {CUDA_ERROR_ILLEGAL_ADDRESS, PDL_ERROR_DEVICE_FAULT},
        {CUDA_ERROR_INVALID_CONTEXT, PDL_ERROR_NO_CONTEXT},
        {CUDA_ERROR_OUT_OF_MEMORY, PDL_ERROR_OUT_OF_MEMORY},
        {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, PDL_ERROR_LAUNCH_RESOURCES},
        {CUDA_ERROR_UNKNOWN, PDL_ERROR_DRIVER},
    };
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_line(kernel, 2);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        mock_fail(MOCK_cuGraphLaunch, 1, cases[i].result);
        assert_refused(pdl_chain_launch(chain, NULL), cases[i].status, NULL, "cuGraphLaunch");
        assert_int_equal(pdl_last_error()->cuda_result, cases[i].result);
        assert_string_equal(pdl_last_error()->call, "cuGraphLaunch");
    }
    assert_refused(pdl_chain_launch(chain, (CUstream)(void *)chain), PDL_ERROR_INVALID_HANDLE, NULL,
                   "cuGraphLaunch");
    assert_ok(pdl_chain_launch(chain, NULL));
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void each_missing_argument_is_named(void **state)
{
    (void)state;
    uint32_t link = 77;
    struct values values = values_of(0);
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_line(kernel, 1);
    const pdl_launch_desc desc = plain_desc();
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    CUgraph graph = NULL;
    const pdl_status bad = PDL_ERROR_INVALID_ARGUMENT;
    assert_refused(pdl_chain_create(NULL, NULL), bad, "chain", "chain");
    assert_refused(pdl_chain_add(NULL, kernel, &desc, VALUES(values), NULL, 0, &link), bad, "chain",
                   "chain");
    assert_refused(pdl_chain_add(chain, NULL, &desc, VALUES(values), NULL, 0, &link), bad, "kernel",
                   "kernel");
    assert_refused(pdl_chain_add(chain, kernel, NULL, VALUES(values), NULL, 0, &link), bad, "desc",
                   "desc");
    assert_refused(pdl_chain_add(chain, kernel, &desc, NULL, NULL, 0, &link), bad, "args",
                   "argument 0");
    assert_refused(pdl_chain_add(chain, kernel, &desc, ((void *[]){&values, NULL}), NULL, 0, &link),
                   bad, "args", "argument 1");
    assert_refused(pdl_chain_add(chain, kernel, &desc, VALUES(values), NULL, 2, &link), bad,
                   "sizes", "sizes", "2");
    assert_refused(pdl_chain_add_dependency(NULL, 0, 0), bad, "chain", "chain");
    assert_refused(pdl_chain_add_dependency(chain, 1, 0), bad, "link", "1");
    assert_refused(pdl_chain_add_dependency(chain, 0, 1), bad, "on", "1");
    assert_refused(pdl_chain_add_dependency(chain, PDL_CHAIN_START, 0), bad, "link", "");
    assert_refused(pdl_chain_build(NULL), bad, "chain", "chain");
    assert_refused(pdl_chain_launch(NULL, NULL), bad, "chain", "chain");
    assert_refused(pdl_chain_set_args(NULL, 0, VALUES(values)), bad, "chain", "chain");
    assert_refused(pdl_chain_set_args(chain, 1, VALUES(values)), bad, "link", "1");
    assert_refused(pdl_chain_set_args(chain, 0, NULL), bad, "args", "argument 0");
    assert_refused(pdl_chain_set_args(chain, 0, ((void *[]){&values, NULL})), bad, "args",
                   "argument 1");
    assert_refused(pdl_chain_set_desc(NULL, 0, &desc), bad, "chain", "chain");
    assert_refused(pdl_chain_set_desc(chain, 1, &desc), bad, "link", "1");
    assert_refused(pdl_chain_set_desc(chain, 0, NULL), bad, "desc", "desc");
    assert_refused(pdl_chain_reset(NULL), bad, "chain", "chain");
    assert_refused(pdl_chain_explain(NULL, 0, &report), bad, "chain", "chain");
    assert_refused(pdl_chain_explain(chain, 1, &report), bad, "link", "1");
    assert_refused(pdl_chain_explain(chain, 0, NULL), bad, "report", "report");
    assert_refused(pdl_chain_graph(NULL, &graph), bad, "chain", "chain");
    assert_refused(pdl_chain_graph(chain, NULL), bad, "graph", "graph");
    assert_int_equal(link, 77);
    assert_ok(pdl_chain_launch(chain, NULL)); /* and none of that changed the chain */
    assert_ran(0, 0);
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void what_a_launch_would_be_refused_for_a_link_is(void **state)
{
    (void)state;
    uint32_t link = 77;
    struct values values = values_of(0);
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_chain();
    pdl_launch_desc desc = plain_desc();
    desc.block[0] = 2000;
    assert_refused(pdl_chain_add(chain, kernel, &desc, VALUES(values), NULL, 0, &link),
                   PDL_ERROR_INVALID_BLOCK, "block", "2000");
    desc = plain_desc();
    desc.size = 4;
    assert_refused(pdl_chain_add(chain, kernel, &desc, VALUES(values), NULL, 0, &link),
                   PDL_ERROR_DESC_SIZE, "size", "4");
    desc = overlap_desc(PDL_OVERLAP_REQUIRE);
    desc.cooperative = 1;
    assert_refused(pdl_chain_add(chain, kernel, &desc, VALUES(values), NULL, 0, &link),
                   PDL_ERROR_COOPERATIVE_OVERLAP, "overlap", "");
    desc = plain_desc();
    field_case_of(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)->set(&desc);
    assert_refused(pdl_chain_add(chain, kernel, &desc, VALUES(values), NULL, 0, &link),
                   PDL_ERROR_NOT_SUPPORTED, "trigger_event", "trigger_event");
    desc = plain_desc();
    field_case_of(CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)->set(&desc);
    assert_refused(pdl_chain_add(chain, kernel, &desc, VALUES(values), NULL, 0, &link),
                   PDL_ERROR_NOT_SUPPORTED, "launch_event", "launch_event");
    desc = plain_desc();
    field_case_of(ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE)->set(&desc);
    assert_refused(pdl_chain_add(chain, kernel, &desc, VALUES(values), NULL, 0, &link),
                   PDL_ERROR_NOT_SUPPORTED, "device_node", "device_node");
    assert_int_equal(link, 77);
    assert_refused(pdl_chain_build(chain), PDL_ERROR_NOT_BUILT, NULL, "no links");
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

/* A descriptor of an older program is kept whole: what it does not have is default for good. */
static void an_older_descriptor_is_accepted(void **state)
{
    (void)state;
    struct values values = values_of(0);
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
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
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void a_link_is_explained(void **state)
{
    (void)state;
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 3);
    pdl_kernel *careless = make_kernel(FROM_FUNCTION, 4);
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
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
    pdl_kernel_destroy(careless);
}

static void a_link_with_many_dependencies_is_explained(void **state)
{
    (void)state;
    enum { MANY = 100 };
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_line(kernel, MANY + 1);
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    for (uint32_t i = 0; i < MANY; i++) {
        assert_ok(pdl_chain_add_dependency(chain, MANY, i));
    }
    assert_ok(pdl_chain_explain(chain, MANY, &report));
    assert_int_equal(report.dependencies, MANY);
    assert_non_null(memchr(report.message, '\0', sizeof(report.message)));
    assert_ok(pdl_chain_build(chain));
    assert_int_equal(mock_edges_into(node_of(chain, MANY)), MANY);
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void a_report_lists_the_dependencies_that_fit(void **state)
{
    (void)state;
    uint32_t list[4] = {77, 77, 77, 77};
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
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
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void a_report_has_the_shape_of_the_launch(void **state)
{
    (void)state;
    struct values values = values_of(0);
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_chain();
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    pdl_launch_desc desc = plain_desc();
    memcpy(desc.grid, (uint32_t[]){7, 0, 3}, sizeof(desc.grid));
    memcpy(desc.block, (uint32_t[]){32, 2, 0}, sizeof(desc.block));
    desc.dynamic_shared_memory = 4096;
    assert_ok(pdl_chain_add(chain, kernel, &desc, VALUES(values), NULL, 0, NULL));
    assert_ok(pdl_chain_explain(chain, 0, &report));
    assert_ptr_equal(report.kernel, kernel);
    assert_memory_equal(report.grid, ((uint32_t[]){7, 1, 3}), sizeof(report.grid));
    assert_memory_equal(report.block, ((uint32_t[]){32, 2, 1}), sizeof(report.block));
    assert_int_equal(report.dynamic_shared_memory, 4096);
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void a_report_goes_by_the_callers_size(void **state)
{
    (void)state;
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_line(kernel, 2);
    const size_t older = offsetof(pdl_chain_report, overlap_reason);
    unsigned char *small = malloc(older);
    pdl_chain_report seen = {.size = (uint32_t)older};
    struct {
        pdl_chain_report report;
        unsigned char more[24];
    } newer;
    assert_non_null(small);
    memcpy(small, &seen, older);
    assert_ok(pdl_chain_explain(chain, 1, (pdl_chain_report *)(void *)small));
    memcpy(&seen, small, older);
    free(small);
    assert_int_equal(seen.size, older);
    assert_int_equal(seen.links, 2);
    assert_int_equal(seen.overlap, 1);
    memset(&newer, 0xff, sizeof(newer));
    newer.report = (pdl_chain_report)PDL_CHAIN_REPORT_INIT;
    newer.report.size = (uint32_t)sizeof(newer);
    assert_ok(pdl_chain_explain(chain, 1, &newer.report));
    assert_int_equal(newer.report.size, sizeof(newer));
    for (size_t i = 0; i < sizeof(newer.more); i++) {
        assert_int_equal(newer.more[i], 0);
    }
    seen.size = 0;
    assert_refused(pdl_chain_explain(chain, 1, &seen), PDL_ERROR_DESC_SIZE, "size", "report", "0");
    seen.size = 8; /* its inputs are not all there */
    assert_refused(pdl_chain_explain(chain, 1, &seen), PDL_ERROR_DESC_SIZE, "size", "report", "8");
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void the_graph_is_there_to_be_counted(void **state)
{
    (void)state;
    CUgraph graph = NULL;
    pdl_census census = PDL_CENSUS_INIT;
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_line(kernel, 10);
    assert_ok(pdl_chain_graph(chain, &graph));
    assert_ok(pdl_graph_census(graph, &census));
    assert_int_equal(census.kernels, 10);
    assert_int_equal(census.programmatic, 9);
    assert_int_equal(census.full_count, 0);
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void an_older_driver_makes_no_chain(void **state)
{
    (void)state;
    pdl_chain *chain = NULL;
    mock_set_driver_version(12030);
    assert_refused(pdl_chain_create(NULL, &chain), PDL_ERROR_NOT_SUPPORTED, NULL, "12.4", "12.3");
    assert_null(chain);
    mock_set_driver_version(12040);
    assert_ok(pdl_chain_create(NULL, &chain));
    pdl_chain_destroy(chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(a_chain_runs_its_links_in_order_with_one_launch),
        GRAPH_TEST(each_link_decides_how_it_waits),
        GRAPH_TEST(the_callers_variables_are_not_needed_after_add),
        GRAPH_TEST(a_chain_must_be_built_and_built_again_after_a_change),
        GRAPH_TEST(an_empty_chain_cannot_be_launched),
        GRAPH_TEST(a_failing_launch_says_what_the_driver_said),
        GRAPH_TEST(each_missing_argument_is_named),
        GRAPH_TEST(what_a_launch_would_be_refused_for_a_link_is),
        GRAPH_TEST(an_older_descriptor_is_accepted),
        GRAPH_TEST(a_link_is_explained),
        GRAPH_TEST(a_link_with_many_dependencies_is_explained),
        GRAPH_TEST(a_report_lists_the_dependencies_that_fit),
        GRAPH_TEST(a_report_has_the_shape_of_the_launch),
        GRAPH_TEST(a_report_goes_by_the_callers_size),
        GRAPH_TEST(the_graph_is_there_to_be_counted),
        GRAPH_TEST(an_older_driver_makes_no_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
