/* SPDX-License-Identifier: MIT */
/* Chains where there are several devices. */
#include "graph_support.h"

static int setup(void **state)
{
    (void)graph_setup(state);
    mock.table.device_count = 3;
    mock.devices[2].attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 8;
    mock_apply();
    return 0;
}

#define DEVICES_TEST(name) TEST_WITH(name, setup, mock_teardown)

DEVICES_TEST(a_chain_is_of_the_device_that_was_current_at_the_build)
{
    static const enum kernel_source sources[] = {FROM_CU_KERNEL, FROM_SYMBOL};
    for (size_t s = 0; s < COUNT_OF(sources); s++) {
        mock_set_current(0);
        pdl_kernel *kernel = test_kernel(sources[s], 1);
        pdl_chain *chain = make_chain();
        (void)add_link(chain, kernel, PDL_OVERLAP_AUTO, 0);
        (void)add_link(chain, kernel, PDL_OVERLAP_AUTO, 1);
        for (int device = 2; device >= 0; device--) {
            mock_set_current(device);
            assert_ok(pdl_chain_build(chain));
            mock_set_current(0); /* a stream says where it is */
            assert_ok(pdl_chain_launch(chain, mock_stream(0, device)));
            assert_ran_count(2);
            assert_ptr_equal(mock_ran(1)->params.function, mock_function(1, device));
            assert_edge(node_of(chain, 0), node_of(chain, 1),
                        device == 2 ? PDL_EDGE_FULL : PDL_EDGE_PROGRAMMATIC);
        }
    }
}

DEVICES_TEST(a_stream_of_another_device_is_refused)
{
    static const int versions[] = {13000, 12070}; /* with and without cuStreamGetDevice */
    for (size_t v = 0; v < COUNT_OF(versions); v++) {
        mock_set_driver_version(versions[v]);
        mock_set_current(1);
        pdl_kernel *kernel = test_kernel(FROM_CU_KERNEL, 0);
        pdl_chain *chain = make_line(kernel, 2);
        mock_set_current(0);
        assert_refused(pdl_chain_launch(chain, mock_stream(0, 2)), PDL_ERROR_WRONG_DEVICE, "stream",
                       "2", "1");
        assert_ok(pdl_chain_launch(chain, mock_stream(0, 1)));
        /* The default streams are the current context's. */
        static const CUstream defaults[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
        for (size_t i = 0; i < COUNT_OF(defaults); i++) {
            mock_set_current(0);
            assert_refused(pdl_chain_launch(chain, defaults[i]), PDL_ERROR_WRONG_DEVICE, "stream",
                           "0", "1");
            mock_set_current(1);
            assert_ok(pdl_chain_launch(chain, defaults[i]));
            assert_ptr_equal(mock_ran(0)->stream, defaults[i]);
        }
        mock_set_current(-1);
        assert_refused(pdl_chain_launch(chain, NULL), PDL_ERROR_NO_CONTEXT, NULL, "");
        assert_ok(pdl_chain_launch(chain, mock_stream(0, 1))); /* needs no current context */
    }
    assert_int_not_equal(mock.calls[MOCK_cuStreamGetDevice], 0);
    assert_int_not_equal(mock.calls[MOCK_cuCtxPushCurrent], 0);
}

DEVICES_TEST(a_function_of_another_device_cannot_be_built_in)
{
    pdl_kernel *bound = test_kernel(FROM_FUNCTION, 0); /* of device 0 */
    pdl_kernel *free_kernel = test_kernel(FROM_CU_KERNEL, 1);
    pdl_chain *chain = make_chain();
    (void)add_link(chain, free_kernel, PDL_OVERLAP_AUTO, 0);
    (void)add_link(chain, bound, PDL_OVERLAP_AUTO, 1);
    mock_set_current(1);
    assert_refused(pdl_chain_build(chain), PDL_ERROR_WRONG_DEVICE, "kernel", "0", "1");
    assert_int_equal(mock.live_graphs, 0);
    mock_set_current(0);
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_ran_count(2);
    drop_chain(chain);

    mock_set_current(1);
    chain = make_line(free_kernel, 1); /* of device 1 */
    const pdl_launch_desc desc = plain_desc();
    struct values values = values_of(1);
    assert_refused(pdl_chain_add(chain, bound, &desc, VALUES(values), NULL, 0, NULL),
                   PDL_ERROR_WRONG_DEVICE, "kernel", "0", "1");
    assert_ok(pdl_chain_launch(chain, NULL)); /* and is as it was */
}

/* A built chain is changed for its own device, whatever is current. */
DEVICES_TEST(a_built_chain_is_changed_on_its_device)
{
    mock_set_current(1);
    pdl_kernel *kernel = test_kernel(FROM_CU_KERNEL, 0);
    pdl_chain *chain = make_line(kernel, 2);
    pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    struct values values = values_of(50);
    desc.grid[0] = 11;
    mock_set_current(2); /* where nothing overlaps */
    assert_ok(pdl_chain_set_desc(chain, 1, &desc));
    assert_ok(pdl_chain_set_args(chain, 1, VALUES(values)));
    const pdl_chain_report report = link_report(chain, 1);
    assert_int_equal(report.overlap, 1);
    assert_ok(pdl_chain_launch(chain, mock_stream(0, 1)));
    assert_ran(1, 50);
    assert_int_equal(mock_ran(1)->params.grid[0], 11);
}

DEVICES_TEST(a_build_needs_a_current_context)
{
    pdl_kernel *kernel = test_kernel(FROM_CU_KERNEL, 0);
    pdl_chain *chain = make_line(kernel, 1);
    mock_set_current(-1);
    assert_refused(pdl_chain_build(chain), PDL_ERROR_NO_CONTEXT, NULL, "");
    assert_ok(pdl_chain_launch(chain, mock_stream(0, 0)));
}

DEVICES_TEST(one_device_needs_no_question_about_the_stream)
{
    mock.table.device_count = 1;
    mock_apply();
    pdl_kernel *kernel = test_kernel(FROM_CU_KERNEL, 0);
    pdl_chain *chain = make_line(kernel, 1);
    const unsigned calls = mock_total_calls();
    assert_ok(pdl_chain_launch(chain, mock_stream(0, 0)));
    assert_int_equal(mock_total_calls() - calls, 1);
}
