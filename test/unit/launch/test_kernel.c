/* SPDX-License-Identifier: MIT */
/* Making kernels, and what is told of them. */
#include "support.h"

TEST(missing_arguments_are_named)
{
    pdl_kernel *kernel = NULL;
    assert_invalid(pdl_kernel_from_function(NULL, NULL, &kernel), "function", "NULL");
    assert_invalid(pdl_kernel_from_function(mock_function(0, 0), NULL, NULL), "kernel", "NULL");
    assert_invalid(pdl_kernel_from_kernel(NULL, NULL, &kernel), "cu_kernel", "NULL");
    assert_invalid(pdl_kernel_from_kernel(mock_cu_kernel(0), NULL, NULL), "kernel", "NULL");
    assert_invalid(pdl_kernel_from_runtime(NULL, &mock_runtime_ops, &kernel), "symbol", "NULL");
    assert_invalid(pdl_kernel_from_runtime(&mock.kernels[0], NULL, &kernel), "ops", "NULL");
    assert_invalid(pdl_kernel_from_runtime(&mock.kernels[0], &mock_runtime_ops, NULL), "kernel",
                   "NULL");
    assert_null(kernel);
}

TEST(destroying_no_kernel_does_nothing)
{
    pdl_kernel_destroy(NULL);
    assert_int_equal(mock_total_calls(), 0);
}

TEST(a_function_needs_its_context)
{
    static char before;
    pdl_kernel *kernel = (pdl_kernel *)(void *)&before;
    mock_set_current(-1);
    assert_refused(pdl_kernel_from_function(mock_function(0, 0), NULL, &kernel),
                   PDL_ERROR_NO_CONTEXT, NULL, "CUDA_ERROR_INVALID_CONTEXT");
    assert_ptr_equal(kernel, &before);
}

TEST(a_cu_kernel_and_a_symbol_need_no_context)
{
    mock_set_current(-1);
    for (int source = FROM_CU_KERNEL; source < KERNEL_SOURCES; source++) {
        (void)test_kernel((enum kernel_source)source, 0);
    }
}

TEST(a_symbol_is_not_looked_up_before_it_is_needed)
{
    (void)test_kernel(FROM_SYMBOL, 0);
    assert_int_equal(mock_runtime_function_calls, 0);
}

TEST(every_fact_is_the_drivers)
{
    int *attributes = mock.kernels[0].attributes[0];
    attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 768;
    attributes[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES] = 1111;
    attributes[CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES] = 2222;
    attributes[CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES] = 3333;
    attributes[CU_FUNC_ATTRIBUTE_NUM_REGS] = 44;
    attributes[CU_FUNC_ATTRIBUTE_PTX_VERSION] = 91;
    attributes[CU_FUNC_ATTRIBUTE_BINARY_VERSION] = 92;
    attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = 5555;
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        const int devices[] = {-1, 0};
        for (size_t i = 0; i < COUNT_OF(devices); i++) {
            pdl_kernel *kernel = test_kernel((enum kernel_source)source, 0);
            const pdl_kernel_info info = kernel_info(kernel, devices[i]);
            assert_int_equal(info.size, sizeof(info));
            assert_int_equal(info.device, 0);
            assert_int_equal(info.max_threads_per_block, 768);
            assert_int_equal(info.static_shared_memory, 1111);
            assert_int_equal(info.constant_memory, 2222);
            assert_int_equal(info.local_memory, 3333);
            assert_int_equal(info.registers_per_thread, 44);
            assert_int_equal(info.ptx_version, 91);
            assert_int_equal(info.binary_version, 92);
            assert_int_equal(info.max_dynamic_shared_memory, 5555);
            assert_int_equal(info.waits, PDL_YES); /* as test_kernel() declares */
            assert_int_equal(info.triggers, PDL_UNKNOWN);
            assert_int_equal(info.can_overlap, 1);
            assert_int_equal(info.overlap_reason, PDL_REASON_GRANTED);
        }
    }
}

TEST(an_info_needs_a_kernel_a_device_and_a_place)
{
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    pdl_kernel *kernel = test_kernel(FROM_CU_KERNEL, 0);
    const int devices[] = {-2, 1, 64, INT32_MAX, INT32_MIN};
    assert_invalid(pdl_kernel_get(NULL, 0, &info), "kernel", "NULL");
    assert_invalid(pdl_kernel_get(kernel, 0, NULL), "info", "NULL");
    for (size_t i = 0; i < COUNT_OF(devices); i++) {
        char number[32];
        (void)snprintf(number, sizeof(number), "%d", devices[i]);
        assert_refused(pdl_kernel_get(kernel, devices[i], &info), PDL_ERROR_INVALID_DEVICE,
                       "device", number);
    }
}

TEST(a_declaration_must_be_one_of_three)
{
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    assert_ok(pdl_kernel_declare(kernel, PDL_YES, PDL_NO));
    assert_invalid(pdl_kernel_declare(NULL, PDL_YES, PDL_YES), "kernel", "NULL");
    assert_invalid(pdl_kernel_declare(kernel, (pdl_known)3, PDL_YES), NULL, "");
    assert_invalid(pdl_kernel_declare(kernel, PDL_YES, (pdl_known)3), NULL, "");
    assert_invalid(pdl_kernel_declare(kernel, (pdl_known)-1, PDL_YES), NULL, "");
    const pdl_kernel_info info = kernel_info(kernel, 0); /* refusals changed nothing */
    assert_int_equal(info.waits, PDL_YES);
    assert_int_equal(info.triggers, PDL_NO);
}
