/* SPDX-License-Identifier: MIT */
/* Chains: what other code puts into a stream. */
#include "graph_support.h"

static pdl_kernel *kernel;
static pdl_chain *chain;
static CUstream stream;

static int setup(void **state)
{
    (void)graph_setup(state);
    kernel = test_kernel(FROM_CU_KERNEL, 0);
    chain = make_chain();
    stream = mock_stream(1, 0);
    return 0;
}

#define CAPTURE_TEST(name) TEST_WITH(name, setup, mock_teardown)

static void capture_kernels(unsigned count, bool overlaps)
{
    assert_ok(pdl_chain_capture_begin(chain, stream));
    for (unsigned i = 0; i < count; i++) {
        (void)mock_capture_node(stream, CU_GRAPH_NODE_TYPE_KERNEL, overlaps);
    }
    assert_ok(pdl_chain_capture_end(chain, NULL));
}

/* ---- edges ------------------------------------------------------------------------------------- */

/* The stream went on with what was before the capture, so nothing says what the next link is to wait for: all of it. */
CAPTURE_TEST(a_link_waits_for_all_that_was_captured_past_the_stream)
{
    CUgraph graph = NULL;
    const CUgraphNode *ends = NULL;
    const CUgraphEdgeData *data = NULL;
    CUstreamCaptureStatus status;
    size_t count = 0;
    add_link(chain, kernel, PDL_OVERLAP_AUTO, 0);
    assert_ok(pdl_chain_capture_begin(chain, stream));
    assert_int_equal(
        mock.table.cuStreamGetCaptureInfo(stream, &status, NULL, &graph, &ends, &data, &count),
        CUDA_SUCCESS);
    for (unsigned i = 0; i < 2; i++) {
        mock_add_edge(mock_node_at(graph, 0), mock_add_node(graph, CU_GRAPH_NODE_TYPE_EMPTY), 0, 0);
    }
    assert_ok(pdl_chain_capture_end(chain, NULL));
    add_link(chain, kernel, PDL_OVERLAP_AUTO, 2);
    assert_ok(pdl_chain_build(chain));
    assert_int_equal(mock_edges_into(node_of(chain, 2)), 2);
}

CAPTURE_TEST(of_two_dependencies_on_the_link_before_the_full_one_counts)
{
    for (unsigned i = 0; i < 2; i++) {
        pdl_chain *own = make_chain();
        CUgraph graph = NULL;
        add_link(own, kernel, PDL_OVERLAP_AUTO, 0);
        assert_ok(pdl_chain_capture_begin(own, stream));
        CUgraphNode captured = mock_capture_node(stream, CU_GRAPH_NODE_TYPE_KERNEL, i == 0);
        mock_add_edge(mock_node_at(captured->graph, 0), captured, i, i);
        assert_ok(pdl_chain_capture_end(own, NULL));
        assert_ok(pdl_chain_build(own));
        assert_ok(pdl_chain_graph(own, &graph));
        assert_int_equal(mock_edges_into(mock_node_at(graph, 1)), 1);
        assert_edge(mock_node_at(graph, 0), mock_node_at(graph, 1), PDL_EDGE_FULL);
    }
}

CAPTURE_TEST(what_is_captured_is_copied_whatever_it_is)
{
    static const CUgraphNodeType types[] = {
        CU_GRAPH_NODE_TYPE_KERNEL,       CU_GRAPH_NODE_TYPE_MEMCPY,     CU_GRAPH_NODE_TYPE_MEMSET,
        CU_GRAPH_NODE_TYPE_HOST,         CU_GRAPH_NODE_TYPE_GRAPH,      CU_GRAPH_NODE_TYPE_EMPTY,
        CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_WAIT_EVENT,
    };
    CUevent event = NULL;
    CUgraphNode captured[COUNT_OF(types)];
    event = mock_event_create(CU_EVENT_DISABLE_TIMING);
    mock.runs_all = true;
    assert_ok(pdl_chain_capture_begin(chain, stream));
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        captured[i] = mock_capture_node(stream, types[i], true);
    }
    assert_ok(pdl_chain_capture_end(chain, NULL));
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_ran_count(COUNT_OF(types) + 2); /* and two in the child graph */
    for (unsigned i = 0, n = 0; i < mock_ran_count(); i++) {
        const struct mock_run *run = mock_ran(i);
        if (i == 5 || i == 6) {
            continue; /* the child graph's */
        }
        assert_int_equal(run->type, types[n]);
        if (types[n] != CU_GRAPH_NODE_TYPE_GRAPH) {
            assert_memory_equal(&run->other, &captured[n]->other, sizeof(run->other));
        }
        n++;
    }
    (void)mock_event_destroy(event);
}

CAPTURE_TEST(a_capture_that_cannot_be_copied_stays_a_child_without_the_kernel_before)
{
    /* Batched memory operations, and what CUDA 13.5 added: copies, an engine, fabric copies. */
    static const int types[] = {CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, 14, 17, 18};
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        pdl_chain *made = NULL;
        assert_ok(pdl_chain_create(NULL, &made));
        add_link(made, kernel, PDL_OVERLAP_AUTO, 0);
        assert_ok(pdl_chain_capture_begin(made, stream));
        (void)mock_capture_node(stream, CU_GRAPH_NODE_TYPE_KERNEL, true);
        (void)mock_capture_node(stream, (CUgraphNodeType)types[i], true);
        assert_ok(pdl_chain_capture_end(made, NULL));
        assert_ok(pdl_chain_build(made));
        assert_ok(pdl_chain_launch(made, NULL));
        assert_ran_count(2); /* the link's kernel once, and the captured one */
        assert_int_equal(chain_census(made).kernels, 2);
        assert_int_equal(chain_census(made).programmatic, 0);
        pdl_chain_destroy(made);
    }
}

/* Memsets and copies do not tell their context, so it is that of the kernels, which must be one. */
CAPTURE_TEST(a_capture_in_another_context_stays_a_child)
{
    static const struct {
        int devices[2];
        CUgraphNodeType type;
    } cases[] = {
        {{0, 0}, CU_GRAPH_NODE_TYPE_KERNEL},
        {{1, 1}, CU_GRAPH_NODE_TYPE_GRAPH},
        {{0, 1}, CU_GRAPH_NODE_TYPE_GRAPH},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        pdl_chain *own = make_chain();
        CUgraph graph = NULL;
        assert_ok(pdl_chain_capture_begin(own, stream));
        CUgraphNode nodes[2] = {mock_capture_node(stream, CU_GRAPH_NODE_TYPE_KERNEL, false),
                                mock_capture_node(stream, CU_GRAPH_NODE_TYPE_KERNEL, false)};
        const bool up = (uintptr_t)nodes[0] < (uintptr_t)nodes[1]; /* the order of looking */
        nodes[up ? 1 : 0]->params.context = mock_context(cases[i].devices[0]);
        nodes[up ? 0 : 1]->params.context = mock_context(cases[i].devices[1]);
        assert_ok(pdl_chain_capture_end(own, NULL));
        assert_ok(pdl_chain_build(own));
        assert_ok(pdl_chain_graph(own, &graph));
        assert_int_equal(mock_node_at(graph, 0)->type, cases[i].type);
    }
}

CAPTURE_TEST(own_arguments_change_beside_a_capture)
{
    add_link(chain, kernel, PDL_OVERLAP_AUTO, 0);
    capture_kernels(1, true);
    add_link(chain, kernel, PDL_OVERLAP_AUTO, 2);
    assert_ok(pdl_chain_build(chain));
    struct values values = values_of(22);
    assert_ok(pdl_chain_set_args(chain, 2, VALUES(values)));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_ran(0, 0);
    assert_ran(2, 22);
    assert_invalid(pdl_chain_set_args(chain, 1, VALUES(values)), "link", "a capture");
}

/* ---- what goes wrong --------------------------------------------------------------------------- */

CAPTURE_TEST(a_capture_that_breaks_leaves_the_chain_as_it_was)
{
    add_link(chain, kernel, PDL_OVERLAP_AUTO, 0);
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_capture_begin(chain, stream));
    mock_capture(stream, NULL, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    assert_refused(pdl_chain_capture_end(chain, NULL), PDL_ERROR_CAPTURE, NULL, "returned an error",
                   "901");
    assert_int_equal(pdl_last_error()->cuda_result, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_ok(pdl_chain_launch(chain, NULL)); /* still built */
    assert_ran_count(1);
    capture_kernels(1, true);
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_ran_count(2);
}

CAPTURE_TEST(each_way_to_break_a_capture_is_explained)
{
    static const struct {
        CUresult result;
        const char *word;
    } cases[] = {
        {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "returned an error"},
        {CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "another stream"},
        {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "ended already"},
        {CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "another capture"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_ok(pdl_chain_capture_begin(chain, stream));
        mock_fail(MOCK_cuStreamEndCapture, 1, cases[i].result);
        assert_refused(pdl_chain_capture_end(chain, NULL), PDL_ERROR_CAPTURE, NULL, cases[i].word);
    }
    assert_ok(pdl_chain_capture_begin(chain, stream));
    mock_fail(MOCK_cuStreamEndCapture, 1, CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_refused(pdl_chain_capture_end(chain, NULL), PDL_ERROR_DEVICE_FAULT, NULL, "");
}

CAPTURE_TEST(a_capture_that_another_call_ends_is_reported)
{
    CUgraph graph = NULL;
    assert_ok(pdl_chain_capture_begin(chain, stream));
    assert_int_equal(mock.table.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    assert_refused(pdl_chain_capture_end(chain, NULL), PDL_ERROR_CAPTURE, NULL, "another call");
    assert_ok(pdl_chain_capture_begin(chain, stream)); /* and another one begun */
    CUgraph others = make_graph();
    mock_capture(stream, others, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_refused(pdl_chain_capture_end(chain, NULL), PDL_ERROR_CAPTURE, NULL, "another call");
    assert_int_equal(mock.table.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS); /* still there */
    assert_ptr_equal(graph, others);
}

CAPTURE_TEST(nothing_is_added_while_a_chain_captures)
{
    const pdl_chain_node set = node_of_kind(PDL_NODE_MEMSET);
    const pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    struct values values = values_of(1);
    add_link(chain, kernel, PDL_OVERLAP_AUTO, 0);
    assert_refused(pdl_chain_capture_end(chain, NULL), PDL_ERROR_CAPTURE, NULL, "not capturing");
    assert_ok(pdl_chain_capture_begin(chain, stream));
    assert_refused(pdl_chain_capture_begin(chain, stream), PDL_ERROR_CAPTURE, NULL, "is capturing");
    assert_refused(pdl_chain_add_node(chain, &set, NULL), PDL_ERROR_CAPTURE, NULL, "is capturing");
    assert_refused(pdl_chain_add(chain, kernel, &desc, VALUES(values), NULL, 0, NULL),
                   PDL_ERROR_CAPTURE, NULL, "is capturing");
    assert_refused(pdl_chain_build(chain), PDL_ERROR_CAPTURE, NULL, "is capturing");
    assert_ok(pdl_chain_set_args(chain, 0, VALUES(values)));
    assert_ok(pdl_chain_capture_end(chain, NULL));
}

CAPTURE_TEST(a_stream_that_cannot_capture_is_refused)
{
    assert_invalid(pdl_chain_capture_begin(chain, NULL), "stream", "legacy default stream");
    assert_invalid(pdl_chain_capture_begin(chain, CU_STREAM_LEGACY), "stream",
                   "legacy default stream");
    CUgraph others = make_graph();
    mock_capture(stream, others, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_refused(pdl_chain_capture_begin(chain, stream), PDL_ERROR_CAPTURE, NULL,
                   "capturing already");
    destroy_graph(others);
    mock_capture(stream, NULL, CU_STREAM_CAPTURE_STATUS_NONE);
}

CAPTURE_TEST(a_chain_that_is_destroyed_ends_its_capture)
{
    pdl_chain *other = make_chain();
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    assert_ok(pdl_chain_capture_begin(other, stream));
    drop_chain(other);
    assert_int_equal(mock.table.cuStreamIsCapturing(stream, &status), CUDA_SUCCESS);
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
}

CAPTURE_TEST(memory_allocated_in_a_capture_is_refused)
{
    assert_ok(pdl_chain_capture_begin(chain, stream));
    (void)mock_capture_node(stream, CU_GRAPH_NODE_TYPE_MEM_ALLOC, false);
    assert_refused(pdl_chain_capture_end(chain, NULL), PDL_ERROR_NOT_SUPPORTED, NULL, "memory",
                   "before");
    assert_refused(pdl_chain_build(chain), PDL_ERROR_NOT_BUILT, NULL, "");
}
