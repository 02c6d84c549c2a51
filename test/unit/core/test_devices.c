/* SPDX-License-Identifier: MIT */
/* Several devices: what is known of a kernel is kept for each; launches go by the current one. */
#include <pdl/overlap.h>

#include "support.h"

static int setup(void **state)
{
    (void)mock_setup(state);
    mock.table.device_count = 3;
    /* Three devices that differ in what launches are checked against. */
    for (int d = 0; d < 3; d++) {
        mock.devices[d].attributes[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X] = 1000 + d;
        for (int k = 0; k < MOCK_KERNELS; k++) {
            mock.kernels[k].attributes[d][CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 256 << d;
        }
    }
    mock.devices[2].attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 8;
    mock_apply();
    return 0;
}

#define DEVICES_TEST(name) TEST_WITH(name, setup, mock_teardown)

DEVICES_TEST(each_device_has_its_own_facts)
{
    for (int d = 0; d < 3; d++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "mocked H200 number %d", d);
        const pdl_device_info info = device_info(d);
        assert_int_equal(info.ordinal, d);
        assert_int_equal(info.max_grid[0], 1000 + d);
        assert_int_equal(info.driver_version, MOCK_VERSION);
        assert_int_equal(info.can_overlap, d < 2);
        assert_int_equal(info.overlap_reason, d < 2 ? PDL_REASON_GRANTED : PDL_REASON_DEVICE);
        assert_string_equal(info.name, name);
    }
}

DEVICES_TEST(a_kernel_is_asked_about_once_on_each_device)
{
    const pdl_launch_desc desc = plain_desc();
    static const CUfunction_attribute asked[] = {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                                                 CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                                                 CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
                                                 CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
                                                 CU_FUNC_ATTRIBUTE_NUM_REGS,
                                                 CU_FUNC_ATTRIBUTE_PTX_VERSION,
                                                 CU_FUNC_ATTRIBUTE_BINARY_VERSION,
                                                 CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES};
    static const enum kernel_source sources[] = {FROM_CU_KERNEL, FROM_SYMBOL};
    for (size_t s = 0; s < COUNT_OF(sources); s++) {
        pdl_kernel *kernel = test_kernel(sources[s], (unsigned)s);
        for (int round = 0; round < 3; round++) {
            for (int d = 0; d < 3; d++) {
                mock_set_current(d);
                assert_ok(pdl_launch(kernel, &desc, NULL));
                const pdl_kernel_info info = kernel_info(kernel, -1);
                assert_int_equal(info.device, d);
                assert_int_equal(info.max_threads_per_block, 256 << d);
            }
        }
        for (int d = 0; d < 3; d++) {
            for (size_t a = 0; a < COUNT_OF(asked); a++) {
                assert_int_equal(mock.kernels[s].reads[d][asked[a]], 1);
            }
        }
    }
    /* On each device for the facts, the name, the parameters and launches. */
    assert_int_equal(mock_runtime_function_calls, 12);
}

DEVICES_TEST(a_device_that_is_not_used_is_not_asked_about)
{
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = test_kernel(FROM_CU_KERNEL, 0);
    mock_set_current(1);
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_int_equal(mock.kernels[0].reads[0][CU_FUNC_ATTRIBUTE_PTX_VERSION], 0);
    assert_int_equal(mock.kernels[0].reads[1][CU_FUNC_ATTRIBUTE_PTX_VERSION], 1);
    assert_int_equal(mock.kernels[0].reads[2][CU_FUNC_ATTRIBUTE_PTX_VERSION], 0);
}

DEVICES_TEST(a_launch_is_checked_against_the_current_device)
{
    static const enum kernel_source sources[] = {FROM_CU_KERNEL, FROM_SYMBOL};
    for (size_t s = 0; s < COUNT_OF(sources); s++) {
        pdl_kernel *kernel = test_kernel(sources[s], 0);
        pdl_launch_desc desc = plain_desc();
        desc.block[0] = 512;
        desc.overlap = PDL_OVERLAP_AUTO;
        mock_set_current(0);
        assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_BLOCK_TOO_LARGE, "block", "512",
                       "256", "device 0");
        mock_set_current(1);
        assert_ok(pdl_launch(kernel, &desc, NULL));
        assert_int_equal(mock_last_launch()->device, 1);
        assert_int_equal(mock_last_launch()->attribute_count, 1);
        assert_explained(kernel, &desc, mock_last_launch());
        mock_set_current(2); /* the 8.0 one */
        assert_ok(pdl_launch(kernel, &desc, NULL));
        assert_int_equal(mock_last_launch()->attribute_count, 0);
        assert_explained(kernel, &desc, mock_last_launch());
        desc.grid[0] = 1002;
        assert_ok(pdl_launch(kernel, &desc, NULL));
        mock_set_current(1);
        assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_INVALID_GRID, "grid", "1002",
                       "1001", "device 1");
    }
}

/* What serves every device runs where its stream is, whichever device is current, if any: the limits, the gate and
 * what the driver's calculator says are that device's. */
DEVICES_TEST(a_launch_is_checked_against_its_streams_device)
{
    static const int versions[] = {MOCK_VERSION, 12070}; /* with and without cuStreamGetDevice */
    static const int occupancy[] = {1, 3, 2};
    for (int i = 0; i < 3 * 4 * 2; i++) {
        const int of = i % 3;
        const int current = i / 3 % 4 - 1;
        mock_set_driver_version(versions[i / 12]);
        mock.table.device_count = 3;
        mock_apply();
        for (int d = 0; d < 3; d++) {
            mock.kernels[0].device_occupancy[d] = occupancy[d];
        }
        pdl_kernel *kernel = test_kernel(FROM_CU_KERNEL, 0);
        pdl_launch_desc desc = plain_desc();
        pdl_overlap_report overlap = PDL_OVERLAP_REPORT_INIT;
        char device[32];
        (void)snprintf(device, sizeof(device), "device %d", of);
        mock_set_current(current);
        desc.stream = mock_stream(0, of);
        desc.overlap = PDL_OVERLAP_AUTO;
        desc.block[0] = 256u << of;
        assert_ok(pdl_launch(kernel, &desc, NULL));
        assert_int_equal(mock_last_launch()->device, of);
        assert_int_equal(mock_last_launch()->attribute_count,
                         of < 2); /* the third is the 8.0 one */
        assert_explained(kernel, &desc, mock_last_launch());
        const pdl_launch_report report = explained(kernel, &desc);
        assert_int_equal(report.device, of);
        const pdl_occupancy held = occupancy_of(kernel, &desc);
        assert_int_equal(held.device, of);
        assert_int_equal(held.blocks_per_sm, occupancy[of]);
        assert_ok(pdl_overlap_query(kernel, &desc, kernel, &desc, -1, &overlap));
        assert_int_equal(overlap.device, of);
        desc.block[1] = 2;
        assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_BLOCK_TOO_LARGE, "block", device);
        desc.block[1] = 0;
        desc.cooperative = 1;
        desc.grid[0] = (uint32_t)occupancy[of] * 132;
        assert_ok(pdl_launch(kernel, &desc, NULL));
        assert_int_equal(mock_last_launch()->device, of);
        desc.grid[0]++;
        assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_COOPERATIVE_TOO_LARGE,
                       "cooperative", device);
        CUdevice left = -1; /* still current */
        assert_int_equal(mock.table.cuCtxGetDevice(&left),
                         current < 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS);
        assert_int_equal(left, current);
    }
}

/* A function is of one device, and a kernel that serves all needs the question for the stream's, or for the current one. */
DEVICES_TEST(a_launch_is_a_driver_call_and_the_question_for_the_device)
{
    const struct {
        enum kernel_source source;
        CUstream stream;
        unsigned calls;
    } cases[] = {{FROM_FUNCTION, NULL, 1},
                 {FROM_CU_KERNEL, NULL, 2},
                 {FROM_CU_KERNEL, mock_stream(0, 1), 2}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const pdl_launch_desc desc = DESC(.stream = cases[i].stream, .cooperative = 1);
        pdl_kernel *kernel = test_kernel(cases[i].source, 0);
        assert_ok(pdl_launch(kernel, &desc, NULL));
        const unsigned calls = mock_total_calls();
        assert_ok(pdl_launch(kernel, &desc, NULL));
        assert_int_equal(mock_total_calls() - calls, cases[i].calls);
    }
}

DEVICES_TEST(a_function_stays_on_the_device_that_was_current)
{
    pdl_kernel *kernel = NULL;
    pdl_launch_desc desc = plain_desc();
    mock_set_current(1);
    assert_ok(pdl_kernel_from_function(mock_function(0, 1), NULL, &kernel));
    desc.block[0] = 512; /* device 1 allows it, device 0 does not */
    assert_ok(pdl_launch(kernel, &desc, NULL));
    mock_set_current(0);
    const pdl_launch_report report = explained(kernel, &desc);
    assert_int_equal(report.device, 1);
    pdl_kernel_info info = kernel_info(kernel, 1);
    assert_int_equal(info.max_threads_per_block, 512);
    assert_refused(pdl_kernel_get(kernel, 0, &info), PDL_ERROR_INVALID_DEVICE, "device", "0", "1");
    pdl_kernel_destroy(kernel);
}

DEVICES_TEST(with_several_devices_a_context_must_be_current)
{
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = test_kernel(FROM_CU_KERNEL, 0);
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    mock_set_current(-1);
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_NO_CONTEXT, NULL, "cuCtxGetDevice",
                   "CUDA_ERROR_INVALID_CONTEXT");
    assert_refused(pdl_kernel_get(kernel, -1, &info), PDL_ERROR_NO_CONTEXT, NULL, "");
    assert_ok(pdl_kernel_get(kernel, 1, &info)); /* a named device needs none */
    assert_int_equal(info.device, 1);
    assert_int_equal(mock.launch_count, 0);
}

DEVICES_TEST(shared_memory_is_raised_on_the_current_device_only)
{
    pdl_launch_desc desc = DESC(.dynamic_shared_memory = 100000);
    pdl_kernel *kernel = test_kernel(FROM_CU_KERNEL, 0);
    mock_set_current(1);
    assert_ok(pdl_kernel_set_attribute(kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY, 100000));
    assert_ok(pdl_launch(kernel, &desc, NULL));
    mock_set_current(0);
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_SHARED_MEMORY,
                   "dynamic_shared_memory", "100000", "49152");
}
