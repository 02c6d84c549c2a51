/* SPDX-License-Identifier: MIT */
/* Green contexts: launches into their streams, and with one of them current. */
#include "support.h"

enum { SMS = 24 };

static int set_up(void **state)
{
    (void)mock_setup(state);
    mock.devices[0].green_sms = SMS;
    mock.kernels[0].occupancy = 2;
    return 0;
}

static int tear_down(void **state)
{
    mock_set_current(0);
    return mock_teardown(state);
}

#define GREEN_TEST(name) TEST_WITH(name, set_up, tear_down)

/* In its stream, and in the default stream while it is current. */
static pdl_launch_desc green_desc(bool current)
{
    pdl_launch_desc desc = plain_desc();
    mock_make_current(current ? mock_green_context(0) : mock_context(0));
    desc.stream = current ? NULL : mock_green_stream(0);
    return desc;
}

GREEN_TEST(a_refused_cooperative_grid_names_its_sms)
{
    for (int way = 0; way < 2; way++) {
        for (int source = 0; source < KERNEL_SOURCES; source++) {
            pdl_kernel *kernel = test_kernel((enum kernel_source)source, 0);
            pdl_launch_desc desc = green_desc(way == 1);
            desc.cooperative = 1;
            desc.grid[0] = 2 * SMS;
            const unsigned asked = mock.calls[MOCK_cuCtxGetDevResource];
            assert_ok(pdl_launch(kernel, &desc, NULL));
            assert_int_equal(mock.calls[MOCK_cuCtxGetDevResource], asked); /* it costs time */
            desc.grid[0]++;
            mock_fail(MOCK_cuLaunchKernelEx, 0, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
            mock_runtime_launch_result = CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
            assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_COOPERATIVE_TOO_LARGE,
                           "cooperative", "49 x 1 x 1", "24 SMs");
            mock_fail_none();
            mock_runtime_launch_result = 0;
            mock_set_current(0);
            desc.stream = mock_stream(0, 0); /* of all SMs */
            assert_ok(pdl_launch(kernel, &desc, NULL));
        }
    }
}

GREEN_TEST(occupancy_counts_its_sms)
{
    pdl_kernel *kernel = test_kernel(FROM_CU_KERNEL, 0);
    for (int way = 0; way < 2; way++) {
        const pdl_launch_desc desc = green_desc(way == 1);
        const pdl_occupancy occupancy = occupancy_of(kernel, &desc);
        assert_int_equal(occupancy.blocks_per_sm, 2);
        assert_int_equal(occupancy.active_blocks, 2 * SMS);
        /* Others may be capturing: nothing is asked of a default stream. */
        assert_int_equal(mock.calls[MOCK_cuStreamGetCtx], 1);
    }
}

GREEN_TEST(where_the_driver_does_not_tell_the_devices_sms_count)
{
    static const CUresult results[] = {CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_INVALID_VALUE};
    const pdl_launch_desc desc = green_desc(false);
    pdl_occupancy occupancy = PDL_OCCUPANCY_INIT;
    for (size_t i = 0; i <= COUNT_OF(results); i++) {
        mock_set_driver_version(i < COUNT_OF(results) ? MOCK_VERSION : 12030); /* has no call */
        if (i < COUNT_OF(results)) {
            mock_fail(MOCK_cuCtxGetDevResource, 1, results[i]);
        }
        pdl_kernel *kernel = test_kernel(FROM_CU_KERNEL, 0);
        assert_ok(pdl_launch_occupancy(kernel, &desc, &occupancy));
        assert_int_equal(occupancy.active_blocks, 2 * 132);
    }
}

/* The Runtime makes the first launch of a symbol in each context, as in any other. */
GREEN_TEST(a_symbol_is_bound_in_each_context)
{
    pdl_kernel *kernel = test_kernel(FROM_SYMBOL, 0);
    for (int round = 0; round < 2; round++) {
        for (int green = 0; green < 2; green++) {
            pdl_launch_desc desc = plain_desc();
            mock_make_current(green ? mock_green_context(0) : mock_context(0));
            desc.stream = green ? mock_green_stream(0) : mock_stream(0, 0);
            assert_ok(pdl_launch(kernel, &desc, NULL));
            assert_int_equal(mock_last_launch()->by_runtime, round == 0);
            assert_ptr_equal(mock_last_launch()->config.hStream, desc.stream);
            if (round > 0) {
                assert_int_equal(mock_last_launch()->device, 0);
                assert_ptr_equal(mock_last_launch()->function, mock_function(0, 0));
            }
        }
    }
}

GREEN_TEST(its_device_is_the_current_one_and_overlap_is_granted_as_elsewhere)
{
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    mock_make_current(mock_green_context(0));
    assert_ok(pdl_device_get(-1, &info));
    assert_int_equal(info.ordinal, 0);
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        pdl_kernel *kernel = test_kernel((enum kernel_source)source, 0);
        pdl_launch_desc desc = green_desc(true);
        assert_ok(pdl_kernel_declare(kernel, PDL_YES, PDL_YES));
        desc.overlap = PDL_OVERLAP_REQUIRE;
        assert_ok(pdl_launch(kernel, &desc, NULL));
        assert_int_equal(mock_last_launch()->attributes[0].id, 6);
    }
}
