/* SPDX-License-Identifier: MIT */
/* The sizes of a link's arguments: asked, given, and wrong. */
#include "graph_support.h"

/* One of each size that the mock can hold, to see that no byte is lost. */
static const size_t odd_sizes[] = {1, 8, 3, 64, 4, 0};
enum { ODD = 5 };

static unsigned char bytes[ODD][64];

static void fill(unsigned char start)
{
    for (size_t i = 0; i < ODD; i++) {
        for (size_t b = 0; b < sizeof(bytes[i]); b++) {
            bytes[i][b] = (unsigned char)(start + 7 * i + b);
        }
    }
}

static void *odd_args[ODD] = {bytes[0], bytes[1], bytes[2], bytes[3], bytes[4]};

static void assert_ran_with(unsigned char start)
{
    for (size_t i = 0; i < ODD; i++) {
        for (size_t b = 0; b < odd_sizes[i]; b++) {
            assert_int_equal(mock_ran(0)->params.arguments[i][b],
                             (unsigned char)(start + 7 * i + b));
        }
    }
}

static void the_driver_is_asked_for_the_sizes(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        for (int given = 0; given < 4; given++) {
            desc.cooperative = given >= 2;
            mock_set_parameters(1, odd_sizes);
            pdl_kernel *kernel = make_kernel((enum kernel_source)source, 1);
            pdl_chain *chain = make_chain();
            fill(10);
            assert_ok(pdl_chain_add(chain, kernel, &desc, odd_args,
                                    given % 2 != 0 ? odd_sizes : NULL, given % 2 != 0 ? ODD : 0,
                                    NULL));
            fill(99);
            assert_ok(pdl_chain_build(chain));
            assert_ok(pdl_chain_launch(chain, NULL));
            assert_ran_with(10);
            fill(50);
            const unsigned packed = mock.packed;
            assert_ok(pdl_chain_set_args(chain, 0, odd_args));
            /* As one block, which is faster, and which the driver refuses for a cooperative kernel. */
            assert_int_equal(mock.packed, packed + (desc.cooperative == 0));
            assert_ok(pdl_chain_launch(chain, NULL));
            assert_ran_with(50);
            fill(99);
            assert_ok(pdl_chain_build(chain));
            assert_ok(pdl_chain_launch(chain, NULL));
            assert_ran_with(50);
            pdl_chain_destroy(chain);
            pdl_kernel_destroy(kernel);
        }
    }
    assert_int_not_equal(mock.calls[MOCK_cuFuncGetParamInfo], 0);
    assert_int_not_equal(mock.calls[MOCK_cuKernelGetParamInfo], 0);
}

static void a_kernel_without_parameters_needs_no_arguments(void **state)
{
    (void)state;
    static const size_t none[] = {0};
    const pdl_launch_desc desc = plain_desc();
    mock_set_parameters(0, none);
    pdl_kernel *kernel = make_kernel(FROM_CU_KERNEL, 0);
    pdl_chain *chain = make_chain();
    assert_ok(pdl_chain_add(chain, kernel, &desc, NULL, NULL, 0, NULL));
    assert_ok(pdl_chain_add(chain, kernel, &desc, NULL, none, 0, NULL));
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_set_args(chain, 0, NULL));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_ran_count(2);
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void sizes_that_are_not_the_kernels_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t sizes[3];
        size_t count;
        const char *words[2];
    } cases[] = {
        {{8, 8}, 2, {"argument 1", "8"}}, {{4, 4}, 2, {"argument 0", "4"}}, {{8}, 1, {"1", "fc1"}},
        {{8, 4, 4}, 3, {"3", "2"}},       {{0}, 0, {"0", "fc1"}},
    };
    struct values values = values_of(0);
    void *args[] = {&values.pointer, &values.number, &values.number};
    const pdl_launch_desc desc = plain_desc();
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        pdl_kernel *kernel = make_kernel((enum kernel_source)source, 0);
        pdl_chain *chain = make_chain();
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            uint32_t link = 77;
            assert_refused(
                pdl_chain_add(chain, kernel, &desc, args, cases[i].sizes, cases[i].count, &link),
                PDL_ERROR_ARGUMENT_SIZE, "sizes", cases[i].words[0], cases[i].words[1]);
            assert_int_equal(link, 77);
        }
        assert_int_equal(add_link(chain, kernel, PDL_OVERLAP_AUTO, 0), 0); /* none was added */
        pdl_chain_destroy(chain);
        pdl_kernel_destroy(kernel);
    }
}

/* Every question about the parameters may fail; INVALID_VALUE is how the driver ends the list, so
 * it is not among the failures. */
static void a_failing_question_adds_no_link(void **state)
{
    (void)state;
    const pdl_launch_desc desc = plain_desc();
    static const struct {
        enum kernel_source source;
        enum mock_entry entry;
        const char *call;
    } cases[] = {
        {FROM_FUNCTION, MOCK_cuFuncGetParamInfo, "cuFuncGetParamInfo"},
        {FROM_CU_KERNEL, MOCK_cuKernelGetParamInfo, "cuKernelGetParamInfo"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        pdl_kernel *kernel = make_kernel(cases[i].source, 0);
        for (int given = 0; given < 2; given++) {
            struct values values = values_of(0);
            pdl_chain *chain = make_chain();
            const unsigned before = mock.calls[cases[i].entry];
            assert_ok(pdl_chain_add(chain, kernel, &desc, VALUES(values),
                                    given ? value_sizes : NULL, given ? 2 : 0, NULL));
            const unsigned calls = mock.calls[cases[i].entry] - before;
            assert_true(calls >= 3);
            for (unsigned nth = 1; nth <= calls; nth++) {
                uint32_t link = 77;
                mock_fail(cases[i].entry, nth, CUDA_ERROR_ILLEGAL_ADDRESS);
                assert_refused(pdl_chain_add(chain, kernel, &desc, VALUES(values),
                                             given ? value_sizes : NULL, given ? 2 : 0, &link),
                               PDL_ERROR_DEVICE_FAULT, NULL, cases[i].call);
                assert_int_equal(link, 77);
                mock_fail_none();
            }
            pdl_chain_destroy(chain);
        }
        pdl_kernel_destroy(kernel);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(the_driver_is_asked_for_the_sizes),
        GRAPH_TEST(a_kernel_without_parameters_needs_no_arguments),
        GRAPH_TEST(sizes_that_are_not_the_kernels_are_refused),
        GRAPH_TEST(a_failing_question_adds_no_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
