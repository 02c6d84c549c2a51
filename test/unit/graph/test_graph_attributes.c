/* SPDX-License-Identifier: MIT */
/* The attributes of kernel nodes added by hand, and failures of the driver in between. */
#include "graph_support.h"

#define NOT_WRITTEN ((CUgraphNode)(void *)&mock)

static bool is_of_launches_only(CUlaunchAttributeID id)
{
    return id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION ||
           id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ||
           id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
}

/* Everything that a node can have. */
static pdl_launch_desc full_desc(void)
{
    pdl_launch_desc desc = plain_desc();
    for (size_t i = 0; i < field_case_count; i++) {
        if (!is_of_launches_only(field_cases[i].id)) {
            set_field(&field_cases[i], &desc);
        }
    }
    return desc;
}

GRAPH_TEST(attributes_are_set_in_order_and_the_device_updatable_one_last)
{
    static char device_node;
    CUgraph graph = make_graph();
    CUgraphNode node = NULL;
    struct values values = values_of(0);
    struct expected expected = {0};
    pdl_kernel *kernel = test_kernel(FROM_CU_KERNEL, 0);
    pdl_launch_desc desc = full_desc();
    desc.overlap = PDL_OVERLAP_AUTO;
    field_device_node = NULL;
    mock.device_node = (struct CUgraphDeviceUpdatableNode_st *)(void *)&device_node;
    for (size_t i = 0; i < field_case_count; i++) {
        const CUlaunchAttributeID id = field_cases[i].id;
        if (!is_of_launches_only(id) && id != ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) {
            expect_field(&expected, &field_cases[i]);
        }
    }
    expect_field(&expected, field_case_of(ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE));
    assert_ok(pdl_graph_add_launch(graph, NULL, 0, kernel, &desc, VALUES(values), &node));
    assert_int_equal(node->params.attribute_count, expected.count);
    assert_int_equal(node->sets, expected.count);
    for (unsigned i = 0; i < expected.count; i++) {
        assert_int_equal(node->params.attributes[i].id, expected.attributes[i].id);
        assert_memory_equal(&node->params.attributes[i].value, &expected.attributes[i].value,
                            sizeof(CUlaunchAttributeValue));
    }
    assert_ptr_equal(field_device_node, mock.device_node);
}

/* Only what is launched into a stream has events. A link cannot be updated from a device, either. */
GRAPH_TEST(neither_nodes_nor_links_record_events)
{
    static const CUlaunchAttributeID of_launches[] = {CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
                                                      CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
                                                      ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE};
    CUgraph graph = make_graph();
    pdl_chain *chain = make_chain();
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    for (size_t i = 0; i < COUNT_OF(of_launches); i++) {
        const struct field_case *const field = field_case_of(of_launches[i]);
        CUgraphNode node = NOT_WRITTEN;
        uint32_t link = 77;
        struct values values = values_of(0);
        pdl_launch_desc desc = plain_desc();
        set_field(field, &desc);
        assert_refused(pdl_chain_add(chain, kernel, &desc, VALUES(values), NULL, 0, &link),
                       PDL_ERROR_NOT_SUPPORTED, field->name, field->name);
        assert_int_equal(link, 77);
        if (field->id != ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) {
            assert_refused(
                pdl_graph_add_launch(graph, NULL, 0, kernel, &desc, VALUES(values), &node),
                PDL_ERROR_NOT_SUPPORTED, field->name, field->name);
            assert_ptr_equal(node, NOT_WRITTEN);
        }
    }
    assert_int_equal(mock.live_nodes, 0);
    assert_refused(pdl_chain_build(chain), PDL_ERROR_NOT_BUILT, NULL, "no links");
}

GRAPH_TEST(each_refused_attribute_is_named_and_leaves_no_node)
{
    static const CUresult results[] = {CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_INVALID_VALUE};
    /* In the order in which they are set: by number, the device-updatable one last. */
    CUlaunchAttributeID order[MOCK_ATTRIBUTES];
    unsigned count = 0;
    for (size_t i = 0; i < field_case_count; i++) {
        const CUlaunchAttributeID id = field_cases[i].id;
        if (!is_of_launches_only(id) && id != ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) {
            order[count++] = id;
        }
    }
    order[count++] = ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
    CUgraph graph = make_graph();
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 2);
    const pdl_launch_desc desc = full_desc();
    for (size_t r = 0; r < COUNT_OF(results); r++) {
        for (unsigned i = 0; i < count; i++) {
            CUgraphNode node = NOT_WRITTEN;
            struct values values = values_of(0);
            const char *field = field_case_of(order[i])->name;
            mock_fail(MOCK_cuGraphKernelNodeSetAttribute, i + 1, results[r]);
            assert_refused(
                pdl_graph_add_launch(graph, NULL, 0, kernel, &desc, VALUES(values), &node),
                PDL_ERROR_NOT_SUPPORTED, field, field, "fc3",
                results[r] == CUDA_ERROR_NOT_SUPPORTED ? "CUDA_ERROR_NOT_SUPPORTED"
                                                       : "CUDA_ERROR_INVALID_VALUE");
            assert_int_equal(pdl_last_error()->cuda_result, results[r]);
            assert_string_equal(pdl_last_error()->call, "cuGraphKernelNodeSetAttribute");
            assert_ptr_equal(node, NOT_WRITTEN);
            assert_int_equal(mock.live_nodes, 0);
        }
    }
}

GRAPH_TEST(a_handle_for_the_device_that_cannot_be_had_is_an_error)
{
    CUgraph graph = make_graph();
    CUgraphNode node = NOT_WRITTEN;
    struct values values = values_of(0);
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    pdl_launch_desc desc = DESC(.device_node = &field_device_node);
    mock_fail(MOCK_cuGraphKernelNodeGetAttribute, 1, CUDA_ERROR_UNKNOWN);
    assert_refused(pdl_graph_add_launch(graph, NULL, 0, kernel, &desc, VALUES(values), &node),
                   PDL_ERROR_DRIVER, NULL, "cuGraphKernelNodeGetAttribute");
    assert_ptr_equal(node, NOT_WRITTEN);
}
