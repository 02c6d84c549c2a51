/* SPDX-License-Identifier: MIT */
/* The rule of structs that begin with their size, for every one that libpdl fills or takes: see sized.h. */
#include <pdl/overlap.h>
#include <pdl/policy.h>

#include "graph_support.h"
#include "sized.h"

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

static pdl_status take_link(void *from)
{
    return pdl_chain_add(chain, kernel, from, VALUES(((struct values){1, 2})), NULL, 0, NULL);
}

static pdl_status take_graph_node(void *from)
{
    CUgraphNode made = NULL;
    return pdl_graph_add_launch(graph, NULL, 0, kernel, from, VALUES(((struct values){1, 2})),
                                &made);
}

static pdl_status take_policy(void *from)
{
    return pdl_policy_set(from);
}

static pdl_status take_node(void *from)
{
    return pdl_chain_add_node(chain, from, NULL);
}

const struct sized_output sized_outputs[] = {
    {"pdl_device_get", fill_device, sizeof(pdl_device_info), 4},
    {"pdl_kernel_get", fill_kernel, sizeof(pdl_kernel_info), 4},
    {"pdl_launch_explain", fill_report, sizeof(pdl_launch_report), 4},
    {"pdl_launch_occupancy", fill_occupancy, sizeof(pdl_occupancy), 4},
    {"pdl_overlap_query", fill_query, sizeof(pdl_overlap_report), 4},
    {"pdl_graph_census", fill_census, sizeof(pdl_census), offsetof(pdl_census, nodes)},
    {"pdl_chain_explain", fill_chain, sizeof(pdl_chain_report),
     offsetof(pdl_chain_report, dependency_links) + sizeof(uint32_t *)},
};
const size_t sized_output_count = COUNT_OF(sized_outputs);

static int setup(void **state)
{
    (void)graph_setup(state);
    kernel = test_kernel(FROM_FUNCTION, 0);
    chain = make_line(kernel, 2);
    graph = make_graph();
    (void)add_kernel_node(graph, kernel, NULL, 0);
    mock_capture(mock_stream(1, 0), graph, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    return 0;
}

SIZED_TESTS(setup, mock_teardown)

TEST_WITH(inputs_may_be_shorter_to_a_point_and_longer_where_that_is_zero, setup, mock_teardown)
{
    const pdl_launch_desc desc = plain_desc();
    const pdl_chain_options options = PDL_CHAIN_OPTIONS_INIT;
    const pdl_policy policy = PDL_POLICY_INIT;
    const pdl_chain_node node = node_of_kind(PDL_NODE_EMPTY);
    const pdl_error error = {.size = sizeof(error), .status = PDL_ERROR_BUSY, .message = "m"};
    const struct {
        pdl_status (*take)(void *from);
        const void *from;
        uint32_t size;
        uint32_t smallest;
    } inputs[] = {
        {take_desc, &desc, sizeof(desc), offsetof(pdl_launch_desc, cluster)},
        {take_link, &desc, sizeof(desc), offsetof(pdl_launch_desc, cluster)},
        {take_graph_node, &desc, sizeof(desc), offsetof(pdl_launch_desc, cluster)},
        {take_chain_options, &options, sizeof(options), 4},
        {take_policy, &policy, sizeof(policy), 4},
        {take_node, &node, sizeof(node), offsetof(pdl_chain_node, destination)},
        {take_error, &error, sizeof(error), offsetof(pdl_error, message) + 1},
    };
    static const uint32_t too_large[] = {16385, 0x10000, UINT32_MAX};
    for (size_t i = 0; i < COUNT_OF(inputs); i++) {
        for (uint32_t n = 0; n < inputs[i].smallest + COUNT_OF(too_large); n++) {
            const uint32_t size = n < inputs[i].smallest ? n : too_large[n - inputs[i].smallest];
            char number[16];
            (void)snprintf(number, sizeof(number), "%u", size);
            unsigned char *bytes = sized_made(n > sizeof(size) ? n : sizeof(size));
            memcpy(bytes, inputs[i].from, n < inputs[i].size ? n : inputs[i].size);
            memcpy(bytes, &size, sizeof(size));
            assert_refused(inputs[i].take(bytes), PDL_ERROR_DESC_SIZE, "size", number);
            free(bytes);
        }
        for (uint32_t size = inputs[i].smallest; size <= inputs[i].size + SIZED_NEWER; size += 4) {
            unsigned char *bytes = sized_made(size);
            memcpy(bytes, inputs[i].from, size < inputs[i].size ? size : inputs[i].size);
            memcpy(bytes, &size, sizeof(size));
            assert_int_equal(inputs[i].take(bytes), PDL_SUCCESS);
            if (size > inputs[i].size) {
                const uint32_t at = inputs[i].size + size / 4 % (size - inputs[i].size);
                bytes[at] = 1;
                assert_refused(inputs[i].take(bytes), PDL_ERROR_DESC_TOO_NEW, "size", "");
            }
            free(bytes);
        }
    }
}
