/* SPDX-License-Identifier: MIT */
/* Chains: links that are not kernels. */
#include "graph_support.h"

static pdl_kernel *kernel;
static pdl_chain *chain;
static CUevent event;

static int setup(void **state)
{
    (void)graph_setup(state);
    kernel = test_kernel(FROM_CU_KERNEL, 0);
    chain = make_chain();
    event = mock_event_create(CU_EVENT_DISABLE_TIMING);
    mock.runs_all = true;
    return 0;
}

static int teardown(void **state)
{
    drop_chain(chain);
    drop_kernel(kernel);
    (void)mock_event_destroy(event);
    return mock_teardown(state);
}

#define NODE_TEST(name) TEST_WITH(name, setup, teardown)

static CUgraph built_graph(void)
{
    CUgraph graph = NULL;
    assert_ok(pdl_chain_graph(chain, &graph));
    return graph;
}

static CUgraphNode nth(unsigned n)
{
    return mock_node_at(built_graph(), n);
}

/* ---- what the driver gets ---------------------------------------------------------------------- */

NODE_TEST(each_kind_becomes_a_node_with_its_parameters)
{
    pdl_chain_node node = node_of_kind(PDL_NODE_MEMSET);
    node.height = 3;
    node.destination_pitch = 128;
    node.element_size = 4;
    node.value = 0xdeadbeef;
    add_chain_node(chain, &node);
    node = node_of_kind(PDL_NODE_COPY);
    node.height = 3;
    node.depth = 5;
    node.destination_pitch = 256;
    node.destination_rows = 7;
    node.source_rows = 9;
    add_chain_node(chain, &node);
    node = node_of_kind(PDL_NODE_HOST);
    const pdl_chain_node host = node;
    add_chain_node(chain, &node);
    node = node_of_kind(PDL_NODE_EVENT_WAIT);
    node.event = event;
    add_chain_node(chain, &node);
    node.kind = PDL_NODE_EVENT_RECORD;
    add_chain_node(chain, &node);
    node = node_of_kind(PDL_NODE_EMPTY);
    assert_int_equal(add_chain_node(chain, &node), 5);
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_ran_count(6);

    const CUDA_MEMSET_NODE_PARAMS_v2 set = mock_ran(0)->other.memset;
    assert_int_equal(mock_ran(0)->type, CU_GRAPH_NODE_TYPE_MEMSET);
    assert_int_equal(set.dst, 0x10000);
    assert_int_equal(set.pitch, 128);
    assert_int_equal(set.value, 0xdeadbeef);
    assert_int_equal(set.elementSize, 4);
    assert_int_equal(set.width, 16); /* elements */
    assert_int_equal(set.height, 3);
    assert_ptr_equal(set.ctx, mock_context(0));
    const CUDA_MEMCPY3D copy = mock_ran(1)->other.memcpy.copyParams;
    assert_int_equal(mock_ran(1)->type, CU_GRAPH_NODE_TYPE_MEMCPY);
    assert_int_equal(copy.srcDevice, 0x20000);
    assert_int_equal(copy.dstDevice, 0x10000);
    assert_int_equal(copy.WidthInBytes, 64);
    assert_int_equal(copy.Height, 3);
    assert_int_equal(copy.Depth, 5);
    assert_int_equal(copy.dstPitch, 256);
    assert_int_equal(copy.dstHeight, 7);
    assert_int_equal(copy.srcPitch, 64);
    assert_int_equal(copy.srcHeight, 9);
    assert_int_equal(mock_ran(2)->type, CU_GRAPH_NODE_TYPE_HOST);
    assert_true(mock_ran(2)->other.host.fn == host.function);
    assert_ptr_equal(mock_ran(2)->other.host.userData, &mock);
    assert_int_equal(mock_ran(3)->type, CU_GRAPH_NODE_TYPE_WAIT_EVENT);
    assert_ptr_equal(mock_ran(3)->other.eventWait.event, event);
}

NODE_TEST(a_description_is_checked)
{
    const struct {
        pdl_node_kind kind;
        size_t offset;
        uint64_t value;
        size_t size;
        const char *field;
    } cases[] = {
#define CASE(kind, field, value)                                                                   \
    {PDL_NODE_##kind, offsetof(pdl_chain_node, field), value,                                      \
     sizeof(((pdl_chain_node *)0)->field), #field}
        CASE(KERNEL, kind, 0),
        CASE(KERNEL, kind, 1),
        CASE(KERNEL, kind, 12),
        CASE(EMPTY, width, 1),
        CASE(EMPTY, data, 1),
        CASE(MEMSET, destination, 0),
        CASE(MEMSET, width, 0),
        CASE(MEMSET, source, 1),
        CASE(MEMSET, depth, 1),
        CASE(MEMSET, destination_pitch, 63),
        CASE(MEMSET, element_size, 3),
        CASE(MEMSET, element_size, 8),
        CASE(MEMSET, value, 256),
        CASE(COPY, source, 0),
        CASE(COPY, value, 1),
        CASE(COPY, source_pitch, 63),
        CASE(COPY, destination_pitch, 63),
        CASE(COPY, function, 1),
        CASE(HOST, function, 0),
        CASE(HOST, event, 1),
        CASE(EVENT_RECORD, event, 0),
        CASE(EVENT_WAIT, event, 0),
        CASE(GRAPH, graph, 0),
        CASE(HOST, initial, 1),
        CASE(MEMSET, graph, 1),
#undef CASE
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        pdl_chain_node node = node_of_kind(cases[i].kind);
        memcpy((char *)&node + cases[i].offset, &cases[i].value, cases[i].size);
        assert_refused(pdl_chain_add_node(chain, &node, NULL), PDL_ERROR_DESC_FIELD, cases[i].field,
                       cases[i].field);
    }
    pdl_chain_node node = node_of_kind(PDL_NODE_MEMSET);
    node.element_size = 4;
    node.width = 66;
    assert_refused(pdl_chain_add_node(chain, &node, NULL), PDL_ERROR_DESC_FIELD, "width", "66",
                   "4");
    node = node_of_kind(PDL_NODE_COPY);
    node.height = 4;
    node.source_rows = 3;
    assert_refused(pdl_chain_add_node(chain, &node, NULL), PDL_ERROR_DESC_FIELD, "source_rows", "3",
                   "4");
    node.source_rows = 0;
    node.destination_rows = 3;
    assert_refused(pdl_chain_add_node(chain, &node, NULL), PDL_ERROR_DESC_FIELD, "destination_rows",
                   "3", "4");
    assert_invalid(pdl_chain_add_node(chain, NULL, NULL), "node", "");
    assert_refused(pdl_chain_build(chain), PDL_ERROR_NOT_BUILT, NULL, ""); /* none was added */
}

NODE_TEST(a_kind_that_the_driver_lacks_is_refused_with_its_link)
{
    const pdl_chain_node node = node_of_kind(PDL_NODE_HOST);
    add_link(chain, kernel, PDL_OVERLAP_AUTO, 0);
    assert_ok(pdl_chain_build(chain));
    add_chain_node(chain, &node);
    mock.refused_type = CU_GRAPH_NODE_TYPE_HOST;
    assert_refused(pdl_chain_build(chain), PDL_ERROR_NOT_SUPPORTED, NULL, "link 1",
                   "host function");
    assert_refused(pdl_chain_launch(chain, NULL), PDL_ERROR_NOT_BUILT, NULL, "");
    mock.refused_type = 0;
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_ran_count(2);
}

/* ---- edges ------------------------------------------------------------------------------------- */

NODE_TEST(an_overlap_that_is_required_behind_another_kind_is_refused)
{
    const pdl_chain_node set = node_of_kind(PDL_NODE_MEMSET);
    add_link(chain, kernel, PDL_OVERLAP_AUTO, 0);
    add_chain_node(chain, &set);
    add_link(chain, kernel, PDL_OVERLAP_REQUIRE, 2);
    assert_refused(pdl_chain_build(chain), PDL_ERROR_OVERLAP, "overlap", "link 2",
                   pdl_reason_string(PDL_REASON_NODE));
}

/* The implicit dependencies of several links on one are known where cycles are looked for. */
NODE_TEST(a_cycle_across_event_records_is_refused)
{
    pdl_chain_node record = node_of_kind(PDL_NODE_EVENT_RECORD);
    record.event = event;
    add_link(chain, kernel, PDL_OVERLAP_AUTO, 0);
    add_chain_node(chain, &record);
    add_chain_node(chain, &record);
    add_link(chain, kernel, PDL_OVERLAP_AUTO, 3);
    add_link(chain, kernel, PDL_OVERLAP_AUTO, 4);
    assert_refused(pdl_chain_add_dependency(chain, 0, 4), PDL_ERROR_CYCLE, "on", "link 0",
                   "link 4");
    assert_refused(pdl_chain_add_dependency(chain, 0, 2), PDL_ERROR_CYCLE, "on", "link 0",
                   "link 2");
    assert_ok(pdl_chain_add_dependency(chain, 1, PDL_CHAIN_START)); /* which frees this one */
    assert_ok(pdl_chain_add_dependency(chain, 0, 1));
    assert_refused(pdl_chain_add_dependency(chain, 0, 2), PDL_ERROR_CYCLE, "on", "link 2");
    assert_ok(pdl_chain_build(chain));
    assert_edge(nth(0), node_of(chain, 0), PDL_EDGE_FULL);
}

/* ---- changes ----------------------------------------------------------------------------------- */

NODE_TEST(a_node_changes_in_a_built_chain)
{
    pdl_chain_node set = node_of_kind(PDL_NODE_MEMSET);
    pdl_chain_node host = node_of_kind(PDL_NODE_HOST);
    add_chain_node(chain, &set);
    add_chain_node(chain, &host);
    assert_ok(pdl_chain_build(chain));
    const unsigned builds = mock.execs_made;
    set.destination = (void *)(uintptr_t)0x30000;
    host.data = &kernel;
    assert_ok(pdl_chain_set_node(chain, 0, &set));
    assert_ok(pdl_chain_set_node(chain, 1, &host));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_int_equal(mock_ran(0)->other.memset.dst, 0x30000);
    assert_ptr_equal(mock_ran(1)->other.host.userData, &kernel);
    assert_int_equal(mock.execs_made, builds);
    assert_ok(pdl_chain_build(chain)); /* a rebuild keeps it */
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_int_equal(mock_ran(0)->other.memset.dst, 0x30000);
}

NODE_TEST(a_change_that_the_driver_refuses_needs_a_rebuild)
{
    pdl_chain_node set = node_of_kind(PDL_NODE_MEMSET);
    add_chain_node(chain, &set);
    assert_ok(pdl_chain_build(chain));
    set.height = 2;
    assert_refused(pdl_chain_set_node(chain, 0, &set), PDL_ERROR_REBUILD, "node", "link 0",
                   "a memset");
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_int_equal(mock_ran(0)->other.memset.height, 1);
    assert_ok(pdl_chain_reset(chain));
    assert_ok(pdl_chain_set_node(chain, 0, &set));
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_int_equal(mock_ran(0)->other.memset.height, 2);
}

NODE_TEST(a_change_must_be_of_the_same_kind)
{
    struct values values = values_of(1);
    const pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    const pdl_chain_node set = node_of_kind(PDL_NODE_MEMSET);
    const pdl_chain_node host = node_of_kind(PDL_NODE_HOST);
    const pdl_chain_node choice = node_of_kind(PDL_NODE_IF);
    add_chain_node(chain, &set);
    add_link(chain, kernel, PDL_OVERLAP_AUTO, 1);
    add_chain_node(chain, &choice);
    assert_invalid(pdl_chain_set_node(chain, 0, &host), "node", "a memset", "a host function");
    assert_invalid(pdl_chain_set_node(chain, 1, &set), "node", "a kernel");
    assert_invalid(pdl_chain_set_node(chain, 2, &choice), "node", "an if");
    assert_invalid(pdl_chain_set_node(chain, 3, &set), "link", "3");
    assert_invalid(pdl_chain_set_args(chain, 0, VALUES(values)), "link", "a memset");
    assert_invalid(pdl_chain_set_desc(chain, 0, &desc), "link", "a memset");
}

/* ---- graphs ------------------------------------------------------------------------------------ */

NODE_TEST(the_attributes_of_a_graphs_kernels_are_kept)
{
    pdl_chain_node node = node_of_kind(PDL_NODE_GRAPH);
    pdl_launch_desc desc = plain_desc();
    struct values values = values_of(5);
    CUgraphNode made = NULL;
    node.graph = make_graph();
    desc.cluster[0] = 2;
    assert_ok(pdl_graph_add_launch(node.graph, NULL, 0, kernel, &desc, VALUES(values), &made));
    add_chain_node(chain, &node);
    destroy_graph(node.graph);
    assert_ok(pdl_chain_build(chain));
    CUgraphNode copy = node_of(chain, 5);
    assert_int_equal(copy->params.attribute_count, 1);
    assert_int_equal(copy->params.attributes[0].id, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
}

NODE_TEST(a_graph_that_cannot_be_part_of_a_chain_is_refused)
{
    static const CUgraphNodeType types[] = {
        CU_GRAPH_NODE_TYPE_MEM_ALLOC, CU_GRAPH_NODE_TYPE_MEM_FREE, CU_GRAPH_NODE_TYPE_CONDITIONAL};
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        pdl_chain_node node = node_of_kind(PDL_NODE_GRAPH);
        node.graph = make_graph();
        (void)mock_add_node(node.graph, types[i]);
        assert_refused(pdl_chain_add_node(chain, &node, NULL), PDL_ERROR_NOT_SUPPORTED, NULL,
                       i < 2 ? "memory" : "conditional");
        destroy_graph(node.graph);
    }
}
