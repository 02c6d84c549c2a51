/* SPDX-License-Identifier: MIT */
/* Making kernels, and what is told of them. */
#include "support.h"

static void missing_arguments_are_named(void **state)
{
    (void)state;
    pdl_kernel *kernel = NULL;
    assert_refused(pdl_kernel_from_function(NULL, &kernel), PDL_ERROR_INVALID_ARGUMENT, "function",
                   "NULL");
    assert_refused(pdl_kernel_from_function(mock_function(0, 0), NULL), PDL_ERROR_INVALID_ARGUMENT,
                   "kernel", "NULL");
    assert_refused(pdl_kernel_from_kernel(NULL, &kernel), PDL_ERROR_INVALID_ARGUMENT, "cu_kernel",
                   "NULL");
    assert_refused(pdl_kernel_from_kernel(mock_cu_kernel(0), NULL), PDL_ERROR_INVALID_ARGUMENT,
                   "kernel", "NULL");
    assert_refused(pdl_kernel_from_runtime(NULL, &mock_runtime_ops, &kernel),
                   PDL_ERROR_INVALID_ARGUMENT, "symbol", "NULL");
    assert_refused(pdl_kernel_from_runtime(&mock.kernels[0], NULL, &kernel),
                   PDL_ERROR_INVALID_ARGUMENT, "ops", "NULL");
    assert_refused(pdl_kernel_from_runtime(&mock.kernels[0], &mock_runtime_ops, NULL),
                   PDL_ERROR_INVALID_ARGUMENT, "kernel", "NULL");
    assert_null(kernel);
}

static void destroying_no_kernel_does_nothing(void **state)
{
    (void)state;
    pdl_kernel_destroy(NULL);
    assert_int_equal(mock_total_calls(), 0);
}

static void a_function_needs_its_context(void **state)
{
    (void)state;
    static char before;
    pdl_kernel *kernel = (pdl_kernel *)(void *)&before;
    mock_set_current(-1);
    assert_refused(pdl_kernel_from_function(mock_function(0, 0), &kernel), PDL_ERROR_NO_CONTEXT,
                   NULL, "CUDA_ERROR_INVALID_CONTEXT");
    assert_ptr_equal(kernel, &before);
}

static void a_cu_kernel_and_a_symbol_need_no_context(void **state)
{
    (void)state;
    mock_set_current(-1);
    for (int source = FROM_CU_KERNEL; source < KERNEL_SOURCES; source++) {
        pdl_kernel *kernel = make_kernel((enum kernel_source)source, 0);
        pdl_kernel_destroy(kernel);
    }
}

static void a_symbol_is_not_looked_up_before_it_is_needed(void **state)
{
    (void)state;
    pdl_kernel *kernel = make_kernel(FROM_SYMBOL, 0);
    assert_int_equal(mock_runtime_function_calls, 0);
    pdl_kernel_destroy(kernel);
}

static void every_fact_is_the_drivers(void **state)
{
    (void)state;
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
            pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
            pdl_kernel *kernel = make_kernel((enum kernel_source)source, 0);
            assert_ok(pdl_kernel_get(kernel, devices[i], &info));
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
            assert_int_equal(info.waits, PDL_YES); /* as make_kernel() declares */
            assert_int_equal(info.triggers, PDL_UNKNOWN);
            assert_int_equal(info.can_overlap, 1);
            assert_int_equal(info.overlap_reason, PDL_REASON_GRANTED);
            pdl_kernel_destroy(kernel);
        }
    }
}

static void a_kernel_is_asked_about_once(void **state)
{
    (void)state;
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
        pdl_kernel *kernel = make_kernel((enum kernel_source)source, 0);
        assert_ok(pdl_kernel_get(kernel, 0, &info));
        const unsigned calls = mock_total_calls() + mock_runtime_function_calls;
        for (int i = 0; i < 5; i++) {
            assert_ok(pdl_kernel_get(kernel, 0, &info));
        }
        assert_int_equal(mock_total_calls() + mock_runtime_function_calls, calls);
        pdl_kernel_destroy(kernel);
    }
}

static void what_is_known_of_one_kernel_is_not_told_of_another(void **state)
{
    (void)state;
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    pdl_kernel *first = make_kernel(FROM_FUNCTION, 0);
    pdl_kernel *second = make_unknown_kernel(FROM_FUNCTION, 1);
    mock.kernels[1].attributes[0][CU_FUNC_ATTRIBUTE_NUM_REGS] = 99;
    assert_ok(pdl_kernel_declare(first, PDL_NO, PDL_YES));
    assert_ok(pdl_kernel_get(second, 0, &info));
    assert_int_equal(info.registers_per_thread, 99);
    assert_int_equal(info.waits, PDL_UNKNOWN);
    assert_ok(pdl_kernel_get(first, 0, &info));
    assert_int_equal(info.registers_per_thread, 32);
    assert_int_equal(info.waits, PDL_NO);
    pdl_kernel_destroy(first);
    pdl_kernel_destroy(second);
}

static void an_info_needs_a_kernel_a_device_and_a_place(void **state)
{
    (void)state;
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    pdl_kernel *kernel = make_kernel(FROM_CU_KERNEL, 0);
    const int devices[] = {-2, 1, 64, INT32_MAX, INT32_MIN};
    assert_refused(pdl_kernel_get(NULL, 0, &info), PDL_ERROR_INVALID_ARGUMENT, "kernel", "NULL");
    assert_refused(pdl_kernel_get(kernel, 0, NULL), PDL_ERROR_INVALID_ARGUMENT, "info", "NULL");
    for (size_t i = 0; i < COUNT_OF(devices); i++) {
        char number[32];
        (void)snprintf(number, sizeof(number), "%d", devices[i]);
        assert_refused(pdl_kernel_get(kernel, devices[i], &info), PDL_ERROR_INVALID_DEVICE,
                       "device", number);
    }
    info.size = 0;
    assert_refused(pdl_kernel_get(kernel, 0, &info), PDL_ERROR_DESC_SIZE, "size", "info", "0");
    pdl_kernel_destroy(kernel);
}

static void an_older_callers_info_is_filled_to_its_end(void **state)
{
    (void)state;
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    pdl_kernel_info full = PDL_KERNEL_INFO_INIT;
    assert_ok(pdl_kernel_get(kernel, 0, &full));
    for (size_t size = sizeof(uint32_t); size < sizeof(full); size++) {
        const uint32_t size_field = (uint32_t)size;
        unsigned char *older = malloc(size);
        assert_non_null(older);
        memset(older, 0xff, size);
        memcpy(older, &size_field, sizeof(size_field));
        assert_ok(pdl_kernel_get(kernel, 0, (pdl_kernel_info *)(void *)older));
        assert_memory_equal(older, &size_field, sizeof(size_field));
        assert_memory_equal(older + sizeof(size_field), (const char *)&full + sizeof(size_field),
                            size - sizeof(size_field));
        free(older);
    }
    pdl_kernel_destroy(kernel);
}

static void a_declaration_must_be_one_of_three(void **state)
{
    (void)state;
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    assert_ok(pdl_kernel_declare(kernel, PDL_YES, PDL_NO));
    assert_refused(pdl_kernel_declare(NULL, PDL_YES, PDL_YES), PDL_ERROR_INVALID_ARGUMENT, "kernel",
                   "NULL");
    assert_refused(pdl_kernel_declare(kernel, (pdl_known)3, PDL_YES), PDL_ERROR_INVALID_ARGUMENT,
                   NULL, "");
    assert_refused(pdl_kernel_declare(kernel, PDL_YES, (pdl_known)3), PDL_ERROR_INVALID_ARGUMENT,
                   NULL, "");
    assert_refused(pdl_kernel_declare(kernel, (pdl_known)-1, PDL_YES), PDL_ERROR_INVALID_ARGUMENT,
                   NULL, "");
    assert_ok(pdl_kernel_get(kernel, 0, &info)); /* refusals changed nothing */
    assert_int_equal(info.waits, PDL_YES);
    assert_int_equal(info.triggers, PDL_NO);
    pdl_kernel_destroy(kernel);
}

static void a_handle_that_is_none_fails_at_the_first_question(void **state)
{
    (void)state;
    static char nothing;
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = NULL;
    assert_ok(pdl_kernel_from_kernel((CUkernel)(void *)&nothing, &kernel));
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_INVALID_HANDLE, NULL,
                   "CUDA_ERROR_INVALID_HANDLE");
    pdl_kernel_destroy(kernel);
}

static void code_that_does_not_run_on_the_device_is_told(void **state)
{
    (void)state;
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    pdl_kernel *kernel = make_kernel(FROM_CU_KERNEL, 0);
    mock_fail(MOCK_cuKernelGetAttribute, 1, CUDA_ERROR_NO_BINARY_FOR_GPU);
    assert_refused(pdl_kernel_get(kernel, 0, &info), PDL_ERROR_NO_KERNEL_IMAGE, NULL,
                   "CUDA_ERROR_NO_BINARY_FOR_GPU");
    assert_int_equal(info.ptx_version, 0);
    pdl_kernel_destroy(kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MOCK_TEST(missing_arguments_are_named),
        MOCK_TEST(destroying_no_kernel_does_nothing),
        MOCK_TEST(a_function_needs_its_context),
        MOCK_TEST(a_cu_kernel_and_a_symbol_need_no_context),
        MOCK_TEST(a_symbol_is_not_looked_up_before_it_is_needed),
        MOCK_TEST(every_fact_is_the_drivers),
        MOCK_TEST(a_kernel_is_asked_about_once),
        MOCK_TEST(what_is_known_of_one_kernel_is_not_told_of_another),
        MOCK_TEST(an_info_needs_a_kernel_a_device_and_a_place),
        MOCK_TEST(an_older_callers_info_is_filled_to_its_end),
        MOCK_TEST(a_declaration_must_be_one_of_three),
        MOCK_TEST(a_handle_that_is_none_fails_at_the_first_question),
        MOCK_TEST(code_that_does_not_run_on_the_device_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
