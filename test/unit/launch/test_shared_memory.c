/* SPDX-License-Identifier: MIT */
/* Opting in to more than 48 KiB of dynamic shared memory. */
#include "support.h"

#define STATIC_BYTES 1024
#define MOST         (232448 - STATIC_BYTES)

static int setup(void **state)
{
    (void)mock_setup(state);
    for (int k = 0; k < MOCK_KERNELS; k++) {
        mock.kernels[k].attributes[0][CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES] = STATIC_BYTES;
        mock.kernels[k].attributes[0][CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] =
            49152 - STATIC_BYTES;
    }
    return 0;
}

#define SHARED_TEST(function) cmocka_unit_test_setup_teardown(function, setup, mock_teardown)

static void raising_sets_the_attribute_by_the_kernels_own_call(void **state)
{
    (void)state;
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        pdl_kernel *kernel = make_kernel((enum kernel_source)source, (unsigned)source);
        assert_ok(pdl_kernel_set_attribute(kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY, 100000));
        assert_int_equal(mock.kernels[source].writes, 1);
        assert_int_equal(mock.kernels[source].last_written,
                         CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
        assert_int_equal(mock.kernels[source].last_value, 100000);
        pdl_kernel_destroy(kernel);
    }
    assert_int_equal(mock.calls[MOCK_cuFuncSetAttribute], 2); /* the function and the symbol */
    assert_int_equal(mock.calls[MOCK_cuKernelSetAttribute], 1);
}

static void later_launches_may_ask_for_it(void **state)
{
    (void)state;
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
        pdl_launch_desc desc = plain_desc();
        pdl_kernel *kernel = make_kernel((enum kernel_source)source, (unsigned)source);
        desc.dynamic_shared_memory = 100000;
        assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_SHARED_MEMORY,
                       "dynamic_shared_memory", "100000", "48128");
        assert_ok(pdl_kernel_set_attribute(kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY, 100000));
        assert_ok(pdl_launch(kernel, &desc, NULL));
        assert_int_equal(mock_last_launch()->config.sharedMemBytes, 100000);
        assert_ok(pdl_kernel_get(kernel, 0, &info));
        assert_int_equal(info.max_dynamic_shared_memory, 100000);
        desc.dynamic_shared_memory = 100001;
        assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_SHARED_MEMORY,
                       "dynamic_shared_memory", "100001", "100000");
        pdl_kernel_destroy(kernel);
    }
}

static void all_that_the_device_has_can_be_had(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    assert_ok(pdl_kernel_set_attribute(kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY, MOST));
    desc.dynamic_shared_memory = MOST;
    assert_ok(pdl_launch(kernel, &desc, NULL));
    pdl_kernel_destroy(kernel);
}

static void more_than_the_device_has_is_refused_with_the_numbers(void **state)
{
    (void)state;
    const uint32_t sizes[] = {MOST + 1, 232448, 0x7fffffff, 0x80000000u, UINT32_MAX};
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        char number[32];
        (void)snprintf(number, sizeof(number), "%d", (int)sizes[i]);
        assert_refused(pdl_kernel_set_attribute(kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY,
                                                (int32_t)sizes[i]),
                       PDL_ERROR_SHARED_MEMORY, "value", number, "232448", "1024", "fc1");
    }
    assert_int_equal(mock.calls[MOCK_cuFuncSetAttribute], 0);
    pdl_kernel_destroy(kernel);
}

static void lowering_the_limit_holds_too(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    assert_ok(pdl_kernel_set_attribute(kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY, 100000));
    assert_ok(pdl_kernel_set_attribute(kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY, 1000));
    desc.dynamic_shared_memory = 1001;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_SHARED_MEMORY,
                   "dynamic_shared_memory", "1001", "1000");
    desc.dynamic_shared_memory = 1000;
    assert_ok(pdl_launch(kernel, &desc, NULL));
    pdl_kernel_destroy(kernel);
}

static void what_others_have_raised_is_seen_before_refusing(void **state)
{
    (void)state;
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        pdl_launch_desc desc = plain_desc();
        pdl_kernel *kernel = make_kernel((enum kernel_source)source, (unsigned)source);
        const unsigned *reads =
            &mock.kernels[source].reads[0][CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES];
        assert_ok(pdl_launch(kernel, &desc, NULL)); /* the limit is known now */
        assert_int_equal(*reads, 1);
        mock.kernels[source].attributes[0][CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = 65536;
        desc.dynamic_shared_memory = 65536;
        assert_ok(pdl_launch(kernel, &desc, NULL));
        assert_int_equal(*reads, 2);
        assert_ok(pdl_launch(kernel, &desc, NULL)); /* and is known again */
        assert_int_equal(*reads, 2);
        desc.dynamic_shared_memory = 65537;
        assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_SHARED_MEMORY,
                       "dynamic_shared_memory", "65537", "65536");
        assert_int_equal(*reads, 3);
        pdl_kernel_destroy(kernel);
    }
}

static void a_context_must_be_current_for_a_function(void **state)
{
    (void)state;
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    mock_set_current(-1);
    assert_refused(pdl_kernel_set_attribute(kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY, 100000),
                   PDL_ERROR_NO_CONTEXT, NULL, "CUDA_ERROR_INVALID_CONTEXT");
    pdl_kernel_destroy(kernel);
}

static void a_drivers_refusal_is_told_and_changes_nothing(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    mock_fail(MOCK_cuFuncSetAttribute, 1, CUDA_ERROR_UNKNOWN);
    assert_refused(pdl_kernel_set_attribute(kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY, 100000),
                   PDL_ERROR_DRIVER, NULL, "cuFuncSetAttribute", "CUDA_ERROR_UNKNOWN");
    desc.dynamic_shared_memory = 100000;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_SHARED_MEMORY,
                   "dynamic_shared_memory", "48128");
    pdl_kernel_destroy(kernel);
}

static void a_missing_kernel_is_an_invalid_argument(void **state)
{
    (void)state;
    assert_refused(pdl_kernel_set_attribute(NULL, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY, 1000),
                   PDL_ERROR_INVALID_ARGUMENT, "kernel", "NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHARED_TEST(raising_sets_the_attribute_by_the_kernels_own_call),
        SHARED_TEST(later_launches_may_ask_for_it),
        SHARED_TEST(all_that_the_device_has_can_be_had),
        SHARED_TEST(more_than_the_device_has_is_refused_with_the_numbers),
        SHARED_TEST(lowering_the_limit_holds_too),
        SHARED_TEST(what_others_have_raised_is_seen_before_refusing),
        SHARED_TEST(a_context_must_be_current_for_a_function),
        SHARED_TEST(a_drivers_refusal_is_told_and_changes_nothing),
        SHARED_TEST(a_missing_kernel_is_an_invalid_argument),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
