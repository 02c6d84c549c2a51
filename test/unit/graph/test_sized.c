/* SPDX-License-Identifier: MIT */
/* The rule of structs that begin with their size, for every one that libpdl fills or takes: callers of
 * an older and of a newer version. */
#include <pdl/overlap.h>

#include "graph_support.h"

static pdl_kernel *kernel;
static pdl_chain *chain;
static CUgraph graph;

static pdl_status fill_device(void *to)
{
    return pdl_device_get(0, to);
}

static pdl_status fill_kernel(void *to)
{
    return pdl_kernel_get(kernel, 0, to);
}

static pdl_status fill_report(void *to)
{
    const pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    return pdl_launch_explain(kernel, &desc, to);
}

static pdl_status fill_occupancy(void *to)
{
    const pdl_launch_desc desc = plain_desc();
    return pdl_launch_occupancy(kernel, &desc, to);
}

static pdl_status fill_query(void *to)
{
    const pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    return pdl_overlap_query(kernel, &desc, kernel, &desc, 0, to);
}

static pdl_status fill_census(void *to)
{
    return pdl_graph_census(graph, to);
}

static pdl_status fill_chain(void *to)
{
    return pdl_chain_explain(chain, 0, to);
}

static pdl_status take_error(void *from)
{
    const pdl_status status = pdl_error_record(from);
    return status == PDL_ERROR_BUSY ? PDL_SUCCESS : status;
}

static pdl_status take_chain_options(void *from)
{
    pdl_chain *made = NULL;
    const pdl_status status = pdl_chain_create(from, &made);
    pdl_chain_destroy(made);
    return status;
}

static pdl_status take_desc(void *from)
{
    return pdl_launch(kernel, from, VALUES(((struct values){1, 2})));
}

/* `smallest`: what an output's inputs, or an input's must, take. */
static const struct output {
    const char *name;
    pdl_status (*fill)(void *to);
    uint32_t size;
    uint32_t smallest;
} outputs[] = {
    {"pdl_device_info", fill_device, sizeof(pdl_device_info), 4},
    {"pdl_kernel_info", fill_kernel, sizeof(pdl_kernel_info), 4},
    {"pdl_launch_report", fill_report, sizeof(pdl_launch_report), 4},
    {"pdl_occupancy", fill_occupancy, sizeof(pdl_occupancy), 4},
    {"pdl_overlap_report", fill_query, sizeof(pdl_overlap_report), 4},
    {"pdl_census", fill_census, sizeof(pdl_census), offsetof(pdl_census, nodes)},
    {"pdl_chain_report", fill_chain, sizeof(pdl_chain_report),
     offsetof(pdl_chain_report, dependency_links) + sizeof(uint32_t *)},
};

enum { ROOM = 16384, NEWER = 72 };

/* Zero up to the size, so that what a struct holds for the call is NULL and 0, then a pattern. */
static unsigned char *made(uint32_t size)
{
    unsigned char *bytes = malloc(ROOM);
    assert_non_null(bytes);
    memset(bytes, 0, size);
    memset(bytes + size, 0xa5, ROOM - size);
    memcpy(bytes, &size, sizeof(size));
    return bytes;
}

static void an_older_callers_output_is_filled_to_its_end_and_not_behind_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(outputs); i++) {
        const struct output *output = &outputs[i];
        unsigned char *whole = made(output->size);
        assert_ok(output->fill(whole));
        for (uint32_t size = output->smallest; size < output->size; size += 4) {
            unsigned char *older = made(size);
            assert_ok(output->fill(older));
            assert_memory_equal(older + 4, whole + 4, size - 4);
            for (uint32_t at = size; at < output->size + NEWER; at++) {
                assert_int_equal(older[at], 0xa5);
            }
            free(older);
        }
        free(whole);
    }
}

static void a_newer_callers_output_is_zero_where_this_library_knows_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(outputs); i++) {
        const struct output *output = &outputs[i];
        const uint32_t size = output->size + NEWER;
        unsigned char *whole = made(output->size);
        unsigned char *newer = made(size);
        memset(newer + output->size, 0x77, NEWER);
        assert_ok(output->fill(whole));
        assert_ok(output->fill(newer));
        assert_memory_equal(newer + 4, whole + 4, output->size - 4);
        for (uint32_t at = output->size; at < size; at++) {
            assert_int_equal(newer[at], 0);
        }
        assert_int_equal(newer[size], 0xa5);
        assert_memory_equal(newer, &size, sizeof(size));
        free(whole);
        free(newer);
    }
}

static void a_size_that_cannot_be_one_is_refused(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {0, 1, 3, 16385, 0x10000, UINT32_MAX};
    for (size_t i = 0; i < COUNT_OF(outputs); i++) {
        unsigned char *bytes = made(outputs[i].size);
        for (size_t j = 0; j < COUNT_OF(sizes); j++) {
            memcpy(bytes, &sizes[j], sizeof(sizes[j]));
            assert_refused(outputs[i].fill(bytes), PDL_ERROR_DESC_SIZE, "size", "");
        }
        free(bytes);
    }
}

static void inputs_may_be_shorter_and_longer_where_that_is_zero(void **state)
{
    (void)state;
    const pdl_launch_desc desc = plain_desc();
    const pdl_chain_options options = PDL_CHAIN_OPTIONS_INIT;
    const pdl_error error = {.size = sizeof(error), .status = PDL_ERROR_BUSY, .message = "m"};
    const struct {
        pdl_status (*take)(void *from);
        const void *from;
        uint32_t size;
        uint32_t smallest;
    } inputs[] = {
        {take_desc, &desc, sizeof(desc), offsetof(pdl_launch_desc, cluster)},
        {take_chain_options, &options, sizeof(options), 4},
        {take_error, &error, sizeof(error), offsetof(pdl_error, message) + 4},
    };
    for (size_t i = 0; i < COUNT_OF(inputs); i++) {
        for (uint32_t size = inputs[i].smallest; size <= inputs[i].size + NEWER; size += 4) {
            unsigned char *bytes = made(size);
            memcpy(bytes, inputs[i].from, size < inputs[i].size ? size : inputs[i].size);
            memcpy(bytes, &size, sizeof(size));
            assert_ok(inputs[i].take(bytes));
            if (size > inputs[i].size) {
                bytes[size - 1] = 1;
                assert_refused(inputs[i].take(bytes), PDL_ERROR_DESC_TOO_NEW, "size", "");
            }
            free(bytes);
        }
    }
}

static int setup(void **state)
{
    (void)graph_setup(state);
    kernel = make_kernel(FROM_FUNCTION, 0);
    chain = make_line(kernel, 2);
    graph = make_graph();
    (void)add_kernel_node(graph, kernel, NULL, 0);
    return 0;
}

static int teardown(void **state)
{
    destroy_graph(graph);
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
    return mock_teardown(state);
}

#define SIZED_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SIZED_TEST(an_older_callers_output_is_filled_to_its_end_and_not_behind_it),
        SIZED_TEST(a_newer_callers_output_is_zero_where_this_library_knows_nothing),
        SIZED_TEST(a_size_that_cannot_be_one_is_refused),
        SIZED_TEST(inputs_may_be_shorter_and_longer_where_that_is_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
