/* SPDX-License-Identifier: MIT */
/* Building a chain: the calls it makes, and a failure of each of them. */
#include "graph_support.h"

/* A fork and a join: 0, then 1 and 2, then 3; link 2 has attributes. */
static pdl_chain *make_diamond(pdl_kernel *kernel)
{
    pdl_chain *chain = make_chain();
    struct values values = values_of(2);
    pdl_launch_desc desc = DESC(.overlap = PDL_OVERLAP_AUTO, .cluster = {2}, .mem_sync_domain = 1);
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
    assert_chain(chain, "k k0p k0p k1f2f");
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

GRAPH_TEST(a_build_makes_one_call_a_link_and_one_an_attribute)
{
    unsigned counts[MOCK_ENTRY_COUNT];
    unsigned total = 0;
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
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
}

/* What was built is kept when a build fails. It still launches, with new values too, unless the chain was changed since. */
GRAPH_TEST(a_build_that_fails_keeps_what_was_built)
{
    unsigned counts[MOCK_ENTRY_COUNT];
    uint32_t links = 4;
    pdl_kernel *kernel = test_kernel(FROM_CU_KERNEL, 0);
    pdl_chain *chain = make_diamond(kernel);
    assert_ok(pdl_chain_build(chain));
    count_calls(chain, counts);
    counts[MOCK_cuGraphDestroy] = counts[MOCK_cuGraphExecDestroy] = 0; /* of the old one */
    for (int i = 0; i < 2 * MOCK_ENTRY_COUNT; i++) {
        const bool changed = i >= MOCK_ENTRY_COUNT;
        const enum mock_entry entry = (enum mock_entry)(i % MOCK_ENTRY_COUNT);
        for (unsigned nth = 1; nth <= counts[entry]; nth++) {
            if (changed) {
                (void)add_link(chain, kernel, PDL_OVERLAP_AUTO, links++);
            }
            mock_fail(entry, nth, CUDA_ERROR_UNKNOWN);
            assert_refused(pdl_chain_build(chain), PDL_ERROR_DRIVER, NULL, "CUDA_ERROR_UNKNOWN");
            assert_int_equal(mock.live_graphs, 1);
            assert_int_equal(mock.live_execs, 1);
            if (changed) {
                assert_refused(pdl_chain_launch(chain, NULL), PDL_ERROR_NOT_BUILT, NULL, "changed");
                assert_ok(pdl_chain_build(chain));
            } else {
                assert_is_the_diamond(chain);
            }
            for (uint32_t value = 3; value == 3 || value == 40 + nth; value += 37 + nth) {
                struct values values = values_of(value);
                assert_ok(pdl_chain_set_args(chain, 3, VALUES(values)));
                assert_ok(pdl_chain_launch(chain, NULL));
                assert_ran_count(links);
                assert_ran(2, 2);
                assert_ran(3, value);
            }
            struct values values = values_of(3);
            assert_ok(pdl_chain_set_args(chain, 3, VALUES(values)));
        }
    }
}

GRAPH_TEST(nodes_run_at_their_priority_where_a_link_has_one)
{
    struct values values = values_of(0);
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_diamond(kernel);
    pdl_launch_desc desc = plain_desc();
    assert_ok(pdl_chain_build(chain));
    assert_int_equal(mock.instantiate_flags, 0);
    desc.priority = -3;
    assert_ok(pdl_chain_add(chain, kernel, &desc, VALUES(values), NULL, 0, NULL));
    assert_ok(pdl_chain_build(chain));
    assert_int_equal(mock.instantiate_flags, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
    drop_chain(chain);

    chain = make_chain();
    desc.priority = 0;
    desc.flags = PDL_LAUNCH_SET_PRIORITY; /* 0 is one too */
    assert_ok(pdl_chain_add(chain, kernel, &desc, VALUES(values), NULL, 0, NULL));
    (void)add_link(chain, kernel, PDL_OVERLAP_AUTO, 1);
    assert_ok(pdl_chain_build(chain));
    assert_int_equal(mock.instantiate_flags, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
}

/* What was allowed when a link was added need not be when the chain is built. */
GRAPH_TEST(the_gate_is_passed_again_at_the_build)
{
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    pdl_kernel *required = test_kernel(FROM_FUNCTION, 1);
    pdl_chain *chain = make_line(kernel, 2);
    assert_chain(chain, "k k0p");
    assert_ok(pdl_kernel_declare(kernel, PDL_NO, PDL_UNKNOWN));
    assert_ok(pdl_chain_build(chain));
    assert_chain(chain, "k k0f");
    (void)add_link(chain, required, PDL_OVERLAP_REQUIRE, 2);
    assert_ok(pdl_kernel_declare(required, PDL_NO, PDL_UNKNOWN));
    assert_refused(pdl_chain_build(chain), PDL_ERROR_OVERLAP, "overlap", "fc2");
}
