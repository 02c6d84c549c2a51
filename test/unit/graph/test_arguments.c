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

GRAPH_TEST(the_driver_is_asked_for_the_sizes)
{
    pdl_launch_desc desc = plain_desc();
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        for (int given = 0; given < 4; given++) {
            desc.cooperative = given >= 2;
            mock_set_parameters(1, odd_sizes);
            pdl_kernel *kernel = test_kernel((enum kernel_source)source, 1);
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
        }
    }
    assert_int_not_equal(mock.calls[MOCK_cuFuncGetParamInfo], 0);
    assert_int_not_equal(mock.calls[MOCK_cuKernelGetParamInfo], 0);
}

GRAPH_TEST(a_kernel_without_parameters_needs_no_arguments)
{
    static const size_t none[] = {0};
    const pdl_launch_desc desc = plain_desc();
    mock_set_parameters(0, none);
    pdl_kernel *kernel = test_kernel(FROM_CU_KERNEL, 0);
    pdl_chain *chain = make_chain();
    assert_ok(pdl_chain_add(chain, kernel, &desc, NULL, NULL, 0, NULL));
    assert_ok(pdl_chain_add(chain, kernel, &desc, NULL, none, 0, NULL));
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_set_args(chain, 0, NULL));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_ran_count(2);
}

GRAPH_TEST(sizes_that_are_not_the_kernels_are_refused)
{
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
        pdl_kernel *kernel = test_kernel((enum kernel_source)source, 0);
        pdl_chain *chain = make_chain();
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            uint32_t link = 77;
            assert_refused(
                pdl_chain_add(chain, kernel, &desc, args, cases[i].sizes, cases[i].count, &link),
                PDL_ERROR_ARGUMENT_SIZE, "sizes", cases[i].words[0], cases[i].words[1]);
            assert_int_equal(link, 77);
        }
        assert_int_equal(add_link(chain, kernel, PDL_OVERLAP_AUTO, 0), 0); /* none was added */
    }
}
