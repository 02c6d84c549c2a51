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

#define SHARED_TEST(name) TEST_WITH(name, setup, mock_teardown)

SHARED_TEST(later_launches_may_ask_for_what_was_set)
{
    static const uint32_t limits[] = {48128, 100000, MOST,
                                      1000}; /* as it is; raised, and lowered */
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        pdl_kernel *kernel = test_kernel((enum kernel_source)source, (unsigned)source);
        for (size_t i = 0; i < COUNT_OF(limits); i++) {
            char asked[16], limit[16];
            pdl_launch_desc desc = DESC(.dynamic_shared_memory = limits[i]);
            if (i > 0) {
                assert_ok(pdl_kernel_set_attribute(kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY,
                                                   (int32_t)limits[i]));
            }
            assert_ok(pdl_launch(kernel, &desc, NULL));
            assert_int_equal(mock_last_launch()->config.sharedMemBytes, limits[i]);
            assert_int_equal(kernel_info(kernel, 0).max_dynamic_shared_memory, limits[i]);
            (void)snprintf(limit, sizeof(limit), "%u", limits[i]);
            (void)snprintf(asked, sizeof(asked), "%u", ++desc.dynamic_shared_memory);
            assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_SHARED_MEMORY,
                           "dynamic_shared_memory", asked, limit);
        }
    }
}

SHARED_TEST(more_than_the_device_has_is_refused_with_the_numbers)
{
    const uint32_t sizes[] = {MOST + 1, 232448, 0x7fffffff, 0x80000000u, UINT32_MAX};
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        char number[32];
        (void)snprintf(number, sizeof(number), "%d", (int)sizes[i]);
        assert_refused(pdl_kernel_set_attribute(kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY,
                                                (int32_t)sizes[i]),
                       PDL_ERROR_SHARED_MEMORY, "value", number, "232448", "1024", "fc1");
    }
    assert_int_equal(mock.calls[MOCK_cuFuncSetAttribute], 0);
}

SHARED_TEST(what_others_have_raised_is_seen_before_refusing)
{
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        pdl_launch_desc desc = plain_desc();
        pdl_kernel *kernel = test_kernel((enum kernel_source)source, (unsigned)source);
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
    }
}
