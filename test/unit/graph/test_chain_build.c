/* SPDX-License-Identifier: MIT */
/* Building a chain: the calls it makes, and a failure of each of them. */
#include "graph_support.h"

/* A fork and a join: 0, then 1 and 2, then 3; link 2 has attributes. */
static pdl_chain *make_diamond(pdl_kernel *kernel)
{
    pdl_chain *chain = make_chain();
    struct values values = values_of(2);
    pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    desc.cluster[0] = 2;
    desc.mem_sync_domain = 1;
    (void)add_link(chain, kernel, PDL_OVERLAP_AUTO, 0);
    (void)add_link(chain, kernel, PDL_OVERLAP_AUTO, 1);
    assert_ok(pdl_chain_add(chain, kernel, &desc, VALUES(values), NULL, 0, NULL));
    (void)add_link(chain, kernel, PDL_OVERLAP_NONE, 3);
    assert_ok(pdl_chain_add_dependency(chain, 2, 0));
    assert_ok(pdl_chain_add_dependency(chain, 3, 1));
    assert_ok(pdl_chain_add_dependency(chain, 3, 2));
    return chain;
}

static void assert_is_the_diamond(pdl_chain *chain)
{
    assert_int_equal(mock_edges_into(node_of(chain, 0)), 0);
    assert_int_equal(mock_edges_into(node_of(chain, 1)), 1);
    assert_int_equal(mock_edges_into(node_of(chain, 2)), 1);
    assert_int_equal(mock_edges_into(node_of(chain, 3)), 2);
    assert_edge(node_of(chain, 0), node_of(chain, 1), PDL_EDGE_PROGRAMMATIC);
    assert_edge(node_of(chain, 0), node_of(chain, 2), PDL_EDGE_PROGRAMMATIC);
    assert_edge(node_of(chain, 1), node_of(chain, 3), PDL_EDGE_FULL);
    assert_edge(node_of(chain, 2), node_of(chain, 3), PDL_EDGE_FULL);
    assert_int_equal(node_of(chain, 2)->params.attribute_count, 2);
    assert_int_equal(mock.live_graphs, 1);
    assert_int_equal(mock.live_nodes, 4);
    assert_int_equal(mock.live_execs, 1);
}

/* The calls that a build makes, as a table of how often each entry is called. */
static void count_calls(pdl_chain *chain, unsigned counts[MOCK_ENTRY_COUNT])
{
    memcpy(counts, mock.calls, sizeof(mock.calls));
    assert_ok(pdl_chain_build(chain));
    for (int i = 0; i < MOCK_ENTRY_COUNT; i++) {
        counts[i] = mock.calls[i] - counts[i];
    }
}

static void a_build_makes_one_call_a_link_and_one_an_attribute(void **state)
{
    (void)state;
    unsigned counts[MOCK_ENTRY_COUNT];
    unsigned total = 0;
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_diamond(kernel);
    count_calls(chain, counts);
    assert_int_equal(counts[MOCK_cuGraphCreate], 1);
    assert_int_equal(counts[MOCK_cuGraphAddNode], 4);
    assert_int_equal(counts[MOCK_cuGraphKernelNodeSetAttribute], 2);
    assert_int_equal(counts[MOCK_cuGraphInstantiateWithFlags], 1);
    for (int i = 0; i < MOCK_ENTRY_COUNT; i++) {
        total += counts[i];
    }
    assert_int_equal(counts[MOCK_cuCtxGetDevice], 1);
    assert_int_equal(counts[MOCK_cuCtxGetCurrent], 1);
    assert_int_equal(total, 10);
    assert_is_the_diamond(chain);
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void each_failure_of_a_first_build_leaves_nothing_and_can_be_repeated(void **state)
{
    (void)state;
    unsigned counts[MOCK_ENTRY_COUNT];
    unsigned tried = 0;
    pdl_kernel *kernel = make_kernel(FROM_CU_KERNEL, 0);
    pdl_chain *chain = make_diamond(kernel);
    count_calls(chain, counts);
    pdl_chain_destroy(chain);
    for (int entry = 0; entry < MOCK_ENTRY_COUNT; entry++) {
        for (unsigned nth = 1; nth <= counts[entry]; nth++) {
            chain = make_diamond(kernel);
            mock_fail((enum mock_entry)entry, nth, CUDA_ERROR_UNKNOWN);
            assert_refused(pdl_chain_build(chain), PDL_ERROR_DRIVER, NULL, "CUDA_ERROR_UNKNOWN");
            assert_int_equal(pdl_last_error()->cuda_result, CUDA_ERROR_UNKNOWN);
            assert_non_null(pdl_last_error()->call);
            assert_int_equal(mock.live_graphs, 0);
            assert_int_equal(mock.live_execs, 0);
            assert_int_equal(mock.fail_at[entry], 0); /* the failure was met */
            assert_refused(pdl_chain_launch(chain, NULL), PDL_ERROR_NOT_BUILT, NULL, "");
            assert_ok(pdl_chain_build(chain));
            assert_is_the_diamond(chain);
            assert_ok(pdl_chain_launch(chain, NULL));
            assert_ran_count(4);
            pdl_chain_destroy(chain);
            tried++;
        }
    }
    assert_true(tried >= 12); /* as many calls as there are with a CUkernel */
    pdl_kernel_destroy(kernel);
}

static void a_failing_build_names_the_call(void **state)
{
    (void)state;
    static const struct {
        enum mock_entry entry;
        const char *call;
        CUresult result;
        pdl_status status;
    } cases[] = {
        {MOCK_cuGraphCreate, "cuGraphCreate", CUDA_ERROR_OUT_OF_MEMORY, PDL_ERROR_OUT_OF_MEMORY},
        {MOCK_cuKernelGetFunction, "cuKernelGetFunction", CUDA_ERROR_INVALID_CONTEXT,
         PDL_ERROR_NO_CONTEXT},
        {MOCK_cuGraphAddNode, "cuGraphAddNode", CUDA_ERROR_ILLEGAL_ADDRESS, PDL_ERROR_DEVICE_FAULT},
        {MOCK_cuGraphKernelNodeSetAttribute, "cuGraphKernelNodeSetAttribute",
         CUDA_ERROR_NOT_SUPPORTED, PDL_ERROR_NOT_SUPPORTED},
        {MOCK_cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", CUDA_ERROR_INVALID_VALUE,
         PDL_ERROR_DRIVER},
    };
    pdl_kernel *kernel = make_kernel(FROM_CU_KERNEL, 0);
    pdl_chain *chain = make_diamond(kernel);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        mock_fail(cases[i].entry, 1, cases[i].result);
        assert_refused(pdl_chain_build(chain), cases[i].status, NULL, "");
        assert_string_equal(pdl_last_error()->call, cases[i].call);
        assert_int_equal(pdl_last_error()->cuda_result, cases[i].result);
    }
    mock_fail(MOCK_cuGraphKernelNodeSetAttribute, 1, CUDA_ERROR_NOT_SUPPORTED);
    assert_refused(pdl_chain_build(chain), PDL_ERROR_NOT_SUPPORTED, "cluster", "cluster");
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

/* What was built is kept when a build fails: if nothing was changed since, it still launches. */
static void a_failing_rebuild_keeps_what_was_built(void **state)
{
    (void)state;
    unsigned counts[MOCK_ENTRY_COUNT];
    pdl_kernel *kernel = make_kernel(FROM_CU_KERNEL, 0);
    pdl_chain *chain = make_diamond(kernel);
    assert_ok(pdl_chain_build(chain));
    count_calls(chain, counts);
    for (int entry = 0; entry < MOCK_ENTRY_COUNT; entry++) {
        if (entry == MOCK_cuGraphDestroy || entry == MOCK_cuGraphExecDestroy) {
            continue; /* of the old one: its failure is none of the build */
        }
        for (unsigned nth = 1; nth <= counts[entry]; nth++) {
            mock_fail((enum mock_entry)entry, nth, CUDA_ERROR_UNKNOWN);
            assert_refused(pdl_chain_build(chain), PDL_ERROR_DRIVER, NULL, "CUDA_ERROR_UNKNOWN");
            assert_is_the_diamond(chain);
            assert_ok(pdl_chain_launch(chain, NULL));
            assert_ran_count(4);
            for (unsigned i = 0; i < 4; i++) {
                assert_ran(i, i);
            }
            /* Nodes and all: values can still be set. */
            struct values values = values_of(40 + nth);
            assert_ok(pdl_chain_set_args(chain, 3, VALUES(values)));
            assert_ok(pdl_chain_launch(chain, NULL));
            assert_ran(3, 40 + nth);
            values = values_of(3);
            assert_ok(pdl_chain_set_args(chain, 3, VALUES(values)));
        }
    }
    assert_ok(pdl_chain_build(chain));
    assert_is_the_diamond(chain);
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void a_changed_chain_that_cannot_be_built_is_not_built(void **state)
{
    (void)state;
    unsigned counts[MOCK_ENTRY_COUNT];
    uint32_t links = 4;
    pdl_kernel *kernel = make_kernel(FROM_CU_KERNEL, 0);
    pdl_chain *chain = make_diamond(kernel);
    assert_ok(pdl_chain_build(chain));
    count_calls(chain, counts);
    counts[MOCK_cuGraphDestroy] = counts[MOCK_cuGraphExecDestroy] = 0;
    for (int entry = 0; entry < MOCK_ENTRY_COUNT; entry++) {
        for (unsigned nth = 1; nth <= counts[entry]; nth++) {
            assert_int_equal(add_link(chain, kernel, PDL_OVERLAP_AUTO, links), links);
            links++;
            mock_fail((enum mock_entry)entry, nth, CUDA_ERROR_UNKNOWN);
            assert_refused(pdl_chain_build(chain), PDL_ERROR_DRIVER, NULL, "CUDA_ERROR_UNKNOWN");
            assert_refused(pdl_chain_launch(chain, NULL), PDL_ERROR_NOT_BUILT, NULL, "changed");
            assert_int_equal(mock.live_graphs, 1);
            assert_int_equal(mock.live_execs, 1);
            assert_ok(pdl_chain_build(chain));
            assert_ok(pdl_chain_launch(chain, NULL));
            assert_ran_count(links);
        }
    }
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void a_rebuild_replaces_what_was_built(void **state)
{
    (void)state;
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_diamond(kernel);
    for (int i = 0; i < 3; i++) {
        assert_ok(pdl_chain_build(chain));
        assert_is_the_diamond(chain);
        assert_ok(pdl_chain_launch(chain, NULL));
    }
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void nodes_run_at_their_priority_where_a_link_has_one(void **state)
{
    (void)state;
    struct values values = values_of(0);
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_diamond(kernel);
    pdl_launch_desc desc = plain_desc();
    assert_ok(pdl_chain_build(chain));
    assert_int_equal(mock.instantiate_flags, 0);
    desc.priority = -3;
    assert_ok(pdl_chain_add(chain, kernel, &desc, VALUES(values), NULL, 0, NULL));
    assert_ok(pdl_chain_build(chain));
    assert_int_equal(mock.instantiate_flags, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
    pdl_chain_destroy(chain);

    chain = make_chain();
    desc.priority = 0;
    desc.flags = PDL_LAUNCH_SET_PRIORITY; /* 0 is one too */
    assert_ok(pdl_chain_add(chain, kernel, &desc, VALUES(values), NULL, 0, NULL));
    (void)add_link(chain, kernel, PDL_OVERLAP_AUTO, 1);
    assert_ok(pdl_chain_build(chain));
    assert_int_equal(mock.instantiate_flags, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

/* What was allowed when a link was added need not be when the chain is built. */
static void the_gate_is_passed_again_at_the_build(void **state)
{
    (void)state;
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    pdl_kernel *required = make_kernel(FROM_FUNCTION, 1);
    pdl_chain *chain = make_line(kernel, 2);
    assert_edge(node_of(chain, 0), node_of(chain, 1), PDL_EDGE_PROGRAMMATIC);
    assert_ok(pdl_kernel_declare(kernel, PDL_NO, PDL_UNKNOWN));
    assert_ok(pdl_chain_build(chain));
    assert_edge(node_of(chain, 0), node_of(chain, 1), PDL_EDGE_FULL);
    (void)add_link(chain, required, PDL_OVERLAP_REQUIRE, 2);
    assert_ok(pdl_kernel_declare(required, PDL_NO, PDL_UNKNOWN));
    assert_refused(pdl_chain_build(chain), PDL_ERROR_OVERLAP, "overlap", "fc2");
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
    pdl_kernel_destroy(required);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(a_build_makes_one_call_a_link_and_one_an_attribute),
        GRAPH_TEST(each_failure_of_a_first_build_leaves_nothing_and_can_be_repeated),
        GRAPH_TEST(a_failing_build_names_the_call),
        GRAPH_TEST(a_failing_rebuild_keeps_what_was_built),
        GRAPH_TEST(a_changed_chain_that_cannot_be_built_is_not_built),
        GRAPH_TEST(a_rebuild_replaces_what_was_built),
        GRAPH_TEST(nodes_run_at_their_priority_where_a_link_has_one),
        GRAPH_TEST(the_gate_is_passed_again_at_the_build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
