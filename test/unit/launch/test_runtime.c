/* SPDX-License-Identifier: MIT */
/* Kernels of the CUDA Runtime: launched through the caller's operations, otherwise like the others.
 * That the lowering is the same is asserted in test_launch_fields.c, which runs each case for all
 * kinds. */
#include "support.h"

static void a_symbol_is_launched_by_the_runtime_and_not_by_the_driver(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make_kernel(FROM_SYMBOL, 3);
    desc.overlap = PDL_OVERLAP_REQUIRE;
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_true(mock_last_launch()->by_runtime);
    assert_ptr_equal(mock_last_launch()->symbol, &mock.kernels[3]);
    assert_int_equal(mock_last_launch()->attributes[0].id,
                     CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
    assert_int_equal(mock.calls[MOCK_cuLaunchKernelEx], 0);
    pdl_kernel_destroy(kernel);
}

static void the_symbols_function_is_looked_up_once(void **state)
{
    (void)state;
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make_kernel(FROM_SYMBOL, 0);
    for (int i = 0; i < 3; i++) {
        assert_ok(pdl_launch(kernel, &desc, NULL));
    }
    assert_int_equal(mock_runtime_function_calls, 1);
    pdl_kernel_destroy(kernel);
}

static void operations_of_another_size_are_refused_or_accepted_by_the_rule_of_sizes(void **state)
{
    (void)state;
    pdl_kernel *kernel = NULL;
    for (uint32_t size = 0; size < sizeof(pdl_runtime_ops); size++) {
        mock_runtime_ops.size = size;
        assert_refused(pdl_kernel_from_runtime(&mock.kernels[0], &mock_runtime_ops, &kernel),
                       PDL_ERROR_INVALID_ARGUMENT, "ops", "");
        assert_null(kernel);
    }
    mock_runtime_ops.size = (uint32_t)sizeof(pdl_runtime_ops) + 8; /* of a newer caller */
    assert_ok(pdl_kernel_from_runtime(&mock.kernels[0], &mock_runtime_ops, &kernel));
    pdl_kernel_destroy(kernel);
}

static void operations_that_are_missing_are_refused(void **state)
{
    (void)state;
    pdl_kernel *kernel = NULL;
    pdl_runtime_ops ops = mock_runtime_ops;
    ops.launch = NULL;
    assert_refused(pdl_kernel_from_runtime(&mock.kernels[0], &ops, &kernel),
                   PDL_ERROR_INVALID_ARGUMENT, "ops", "");
    ops = mock_runtime_ops;
    ops.get_function = NULL;
    assert_refused(pdl_kernel_from_runtime(&mock.kernels[0], &ops, &kernel),
                   PDL_ERROR_INVALID_ARGUMENT, "ops", "");
    assert_null(kernel);
}

/* The table of results is in test_driver_errors.c; these are numbers that only the Runtime has. */
static void the_runtimes_own_errors_are_mapped(void **state)
{
    (void)state;
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make_kernel(FROM_SYMBOL, 0);
    mock_runtime_launch_result = 98; /* cudaErrorInvalidDeviceFunction */
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_INVALID_HANDLE, NULL,
                   "cudaLaunchKernelExC", "98");
    mock_runtime_launch_result = 9; /* cudaErrorInvalidConfiguration */
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_DRIVER, NULL, "cudaLaunchKernelExC",
                   "9");
    assert_int_equal(mock.launch_count, 0);
    pdl_kernel_destroy(kernel);
}

static void a_symbol_that_cannot_be_found_fails_the_launch_and_is_looked_up_again(void **state)
{
    (void)state;
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make_kernel(FROM_SYMBOL, 0);
    mock_runtime_function_result = 209;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_NO_KERNEL_IMAGE, NULL,
                   "cudaGetFuncBySymbol", "209");
    assert_string_equal(pdl_last_error()->call, "cudaGetFuncBySymbol");
    assert_int_equal(pdl_last_error()->cuda_result, 209);
    assert_int_equal(mock.launch_count, 0);
    mock_runtime_function_result = 0;
    assert_ok(pdl_launch(kernel, &desc, NULL));
    pdl_kernel_destroy(kernel);
}

static void no_stream_is_passed_on_so_that_the_runtime_may_choose(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make_kernel(FROM_SYMBOL, 0);
    desc.default_stream = PDL_DEFAULT_STREAM_LEGACY;
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_null(mock_last_launch()->config.hStream);
    /* The runtime's own per-thread stream has the driver's number for it: both mean the same. */
    desc.default_stream = PDL_DEFAULT_STREAM_PER_THREAD;
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_true(mock_last_launch()->config.hStream == NULL ||
                mock_last_launch()->config.hStream == CU_STREAM_PER_THREAD);
    pdl_kernel_destroy(kernel);
}

static void the_cooperative_limit_is_asked_of_the_symbols_function(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make_kernel(FROM_SYMBOL, 2);
    mock.kernels[2].occupancy = 1;
    desc.cooperative = 1;
    desc.grid[0] = 133;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_COOPERATIVE_TOO_LARGE, "cooperative",
                   "133", "132", "fc3");
    desc.grid[0] = 132;
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_int_equal(mock.kernels[2].occupancy_block, 256);
    pdl_kernel_destroy(kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MOCK_TEST(a_symbol_is_launched_by_the_runtime_and_not_by_the_driver),
        MOCK_TEST(the_symbols_function_is_looked_up_once),
        MOCK_TEST(operations_of_another_size_are_refused_or_accepted_by_the_rule_of_sizes),
        MOCK_TEST(operations_that_are_missing_are_refused),
        MOCK_TEST(the_runtimes_own_errors_are_mapped),
        MOCK_TEST(a_symbol_that_cannot_be_found_fails_the_launch_and_is_looked_up_again),
        MOCK_TEST(no_stream_is_passed_on_so_that_the_runtime_may_choose),
        MOCK_TEST(the_cooperative_limit_is_asked_of_the_symbols_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
