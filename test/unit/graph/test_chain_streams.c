/* SPDX-License-Identifier: MIT */
/* Chains: the streams that they are uploaded and launched in, and what a NULL one means. This is a
 * translation unit with a per-thread default stream. */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "graph_support.h"

static pdl_chain *make_line_of(const pdl_chain_options *options, pdl_kernel *kernel)
{
    pdl_chain *chain = NULL;
    assert_ok(pdl_chain_create(options, &chain));
    (void)add_link(chain, kernel, PDL_OVERLAP_AUTO, 0);
    assert_ok(pdl_chain_build(chain));
    return chain;
}

GRAPH_TEST(a_null_stream_is_the_one_that_the_options_name)
{
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    pdl_chain_options legacy = PDL_CHAIN_OPTIONS_INIT;
    const pdl_chain_options here = PDL_CHAIN_OPTIONS_INIT;
    legacy.default_stream = PDL_DEFAULT_STREAM_LEGACY;
    const struct {
        const pdl_chain_options *options;
        CUstream stream;
    } cases[] = {
        {NULL, NULL},
        {&legacy, NULL},
        {&here, CU_STREAM_PER_THREAD},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        pdl_chain *chain = make_line_of(cases[i].options, kernel);
        assert_ok(pdl_chain_launch(chain, NULL));
        assert_ptr_equal(mock_ran(0)->stream, cases[i].stream);
        const CUstream streams[] = {CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, mock_stream(1, 0)};
        for (size_t s = 0; s < COUNT_OF(streams); s++) { /* others are what they are */
            assert_ok(pdl_chain_launch(chain, streams[s]));
            assert_ptr_equal(mock_ran(0)->stream, streams[s]);
        }
        pdl_chain_destroy(chain);
    }
}

GRAPH_TEST(options_that_are_not_known_are_refused)
{
    pdl_chain *chain = NULL;
    pdl_chain_options options = PDL_CHAIN_OPTIONS_INIT;
    options.default_stream = 2;
    assert_refused(pdl_chain_create(&options, &chain), PDL_ERROR_DESC_FIELD, "default_stream",
                   "default_stream", "2");
    assert_null(chain);
}
