/* SPDX-License-Identifier: MIT */
/* Kernels of the CUDA Runtime: launched through the caller's operations, otherwise like the others.
 * That the lowering is the same is asserted in test_launch_fields.c, which runs each case for all
 * kinds. */
#include <pdl/chain.h>

#include "support.h"

TEST(operations_of_another_size_are_refused_or_accepted_by_the_rule_of_sizes)
{
    pdl_kernel *kernel = NULL;
    const uint32_t first = (uint32_t)offsetof(pdl_runtime_ops, default_stream);
    for (uint32_t size = 0; size < first; size++) {
        mock_runtime_ops.size = size;
        assert_invalid(pdl_kernel_from_runtime(&mock.kernels[0], &mock_runtime_ops, &kernel), "ops",
                       "");
        assert_null(kernel);
    }
    /* Of the first version, and of a newer caller. */
    const uint32_t sizes[] = {first, (uint32_t)sizeof(pdl_runtime_ops) + 8};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        mock_runtime_ops.size = sizes[i];
        assert_ok(pdl_kernel_from_runtime(&mock.kernels[0], &mock_runtime_ops, &kernel));
        pdl_kernel_destroy(kernel);
    }
}

TEST(operations_that_are_missing_are_refused)
{
    pdl_kernel *kernel = NULL;
    pdl_runtime_ops ops = mock_runtime_ops;
    ops.launch = NULL;
    assert_invalid(pdl_kernel_from_runtime(&mock.kernels[0], &ops, &kernel), "ops", "");
    ops = mock_runtime_ops;
    ops.get_function = NULL;
    assert_invalid(pdl_kernel_from_runtime(&mock.kernels[0], &ops, &kernel), "ops", "");
    assert_null(kernel);
}

/* The table of results is in test_driver_errors.c; these are numbers that only the Runtime has. */
TEST(the_runtimes_own_errors_are_mapped)
{
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = test_kernel(FROM_SYMBOL, 0);
    mock_runtime_launch_result = 98; /* cudaErrorInvalidDeviceFunction */
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_INVALID_HANDLE, NULL,
                   "cudaLaunchKernelExC", "98");
    mock_runtime_launch_result = 9; /* cudaErrorInvalidConfiguration */
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_DRIVER, NULL, "cudaLaunchKernelExC",
                   "9");
    assert_int_equal(mock.launch_count, 0);
}

TEST(a_symbol_that_cannot_be_found_fails_the_launch_and_is_looked_up_again)
{
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = test_kernel(FROM_SYMBOL, 0);
    mock_runtime_function_result = 209;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_NO_KERNEL_IMAGE, NULL,
                   "cudaGetFuncBySymbol", "209");
    assert_string_equal(pdl_last_error()->call, "cudaGetFuncBySymbol");
    assert_int_equal(pdl_last_error()->cuda_result, 209);
    assert_int_equal(mock.launch_count, 0);
    mock_runtime_function_result = 0;
    assert_ok(pdl_launch(kernel, &desc, NULL));
}

TEST(a_symbol_outlives_the_reset_of_its_device)
{
    static const size_t sizes[] = {8, 4};
    const int value[2] = {1, 2};
    void *const args[] = {(void *)&value, (void *)&value[0], NULL};
    pdl_launch_desc desc = plain_desc();
    pdl_kernel_info later = PDL_KERNEL_INFO_INIT;
    pdl_occupancy occupancy = PDL_OCCUPANCY_INIT;
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    pdl_kernel *kernel = test_kernel(FROM_SYMBOL, 2);
    mock.kernels[2].parameter_count = 2;
    memcpy(mock.kernels[2].parameter_sizes, sizes, sizeof(sizes));
    assert_ok(pdl_launch(kernel, &desc, args));
    const pdl_kernel_info info = kernel_info(kernel, -1);
    assert_string_equal(info.name, "fc3");
    assert_ptr_not_equal(info.name, mock.kernels[2].name); /* which the driver frees */
    for (int i = 0; i < 2; i++) { /* what a kernel is first asked after each of two resets */
        mock_device_reset();
        assert_ok(pdl_kernel_set_attribute(kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY, 100000));
        mock_device_reset();
        assert_ok(pdl_launch_occupancy(kernel, &desc, &occupancy));
        mock_device_reset();
        assert_ok(pdl_launch_explain(kernel, &desc, &report));
        assert_non_null(strstr(report.message, "fc3"));
        mock_device_reset();
        assert_ok(pdl_launch(kernel, &desc, args));
        assert_ok(pdl_kernel_get(kernel, -1, &later));
        assert_string_equal(later.name, "fc3");
        assert_ptr_equal(later.name, info.name);
        assert_int_equal(later.parameter_count, 2);
        desc.dynamic_shared_memory = 120000; /* more than it may have */
        mock_device_reset();
        assert_refused(pdl_launch(kernel, &desc, args), PDL_ERROR_SHARED_MEMORY, NULL, "fc3");
        mock_device_reset();
        desc = plain_desc();
        desc.cooperative = 1;
        desc.block[0] = 128 << i; /* another question for the occupancy calculator */
        assert_ok(pdl_launch(kernel, &desc, args));
        desc = plain_desc();
    }
}

TEST(a_chain_is_built_of_a_symbol_after_the_reset_of_its_device)
{
    static const size_t sizes[] = {8};
    const int value[2] = {1, 2};
    void *const args[] = {(void *)&value, NULL};
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = test_kernel(FROM_SYMBOL, 2);
    pdl_chain *chain = NULL;
    mock.kernels[2].parameter_count = 1;
    memcpy(mock.kernels[2].parameter_sizes, sizes, sizeof(sizes));
    assert_ok(pdl_launch(kernel, &desc, args));
    mock_device_reset();
    assert_ok(pdl_kernel_get(kernel, -1, &(pdl_kernel_info)PDL_KERNEL_INFO_INIT)); /* a context */
    assert_ok(pdl_chain_create(NULL, &chain));
    assert_ok(pdl_chain_add(chain, kernel, &desc, args, sizes, 1, NULL));
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_launch(chain, mock_stream(0, 0)));
    pdl_chain_destroy(chain);
}
