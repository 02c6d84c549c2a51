/* SPDX-License-Identifier: MIT */
/* Chains as texts: what is added, and the graph that it becomes (assert_chain()). */
#include "graph_support.h"

/* Links: a, n and r are kernels that wait, with AUTO, NONE and REQUIRE; b is another kernel that waits, u one that does
 * not, v one of which nobody knows; s is a memset, e an event record, x an empty node. [ ] is a capture: of k, a kernel
 * that overlaps, n, one that does not, and w, one that overlaps, waits for an event and is followed by the record of
 * another, as NCCL does. { } is a graph of kernels k and v, empty nodes x and batches of memory operations m, where > is
 * a programmatic edge from the node before. A dependency is the link, > and what it depends on, - for the start. */
struct row {
    const char *name;
    const char *links;
    const char *dependencies; /* NULL: none but those that a chain has anyway */
    const char *graph;
    pdl_reason reasons[6];    /* of links; 0: not asked */
    const char *explained[6]; /* a part of what is said of links; NULL: not asked */
};

static const struct row rows[] = {
    {.name = "each link decides how it waits", .links = "aanru", .graph = "k k0p k1f k2p k3f"},
    {.name = "behind a kernel that is ordered a link may overlap",
     .links = "aua",
     .graph = "k k0f k1p",
     .reasons = {[1] = PDL_REASON_NO_WAIT, [2] = PDL_REASON_GRANTED}},
    {.name = "which is not known to wait",
     .links = "ava",
     .graph = "k k0f k1p",
     .reasons = {[1] = PDL_REASON_WAITS_UNKNOWN, [2] = PDL_REASON_GRANTED}},
    {.name = "a kernel does not overlap another kind",
     .links = "asaa",
     .graph = "k s0f k1f k2p",
     .reasons = {[2] = PDL_REASON_NODE},
     .explained = {[1] = "a memset", [2] = "waits for the end", [3] = "overlaps"}},
    {.name = "the end of another kind is waited for",
     .links = "as",
     .graph = "k s0f",
     .explained = {[1] = "waits for the end"}},
    {.name = "of a kernel and another kind, the kernel is overlapped",
     .links = "asr",
     .dependencies = "2>1 2>0",
     .graph = "k s0f k0p1f",
     .explained = {[2] = "overlaps"}},
    {.name = "an event record is not waited for", .links = "eaeea", .graph = "e k e1f e1f k1p"},
    {.name = "captured launches overlap as in a stream",
     .links = "a[kk]a",
     .graph = "k k0p k1p k2p",
     .explained = {[1] = "overlaps what it depends on, link 0"}},
    {.name = "captured launches without overlap do not",
     .links = "a[nn]",
     .graph = "k k0f k1f",
     .explained = {[1] = "waits for the end"}},
    {.name = "a capture overlaps the kernels of the one before",
     .links = "a[k][k]",
     .graph = "k k0p k1p"},
    {.name = "a link does not overlap a captured kernel that may not wait",
     .links = "b[k]b",
     .graph = "k k0p k1f",
     .reasons = {[2] = PDL_REASON_PREDECESSOR}},
    {.name = "a capture behind a memset waits for it", .links = "as[k]", .graph = "k s0f k1f"},
    {.name = "an overlap that was captured holds for kernels only",
     .links = "sa[k]",
     .dependencies = "2>0 2>1",
     .graph = "s k0f k0f1p"},
    {.name = "nodes beside the stream wait for nothing",
     .links = "a[w]a",
     .graph = "k k0p2f x x1f k1p"},
    {.name = "and behind a memset", .links = "s[w]a", .graph = "s k0f2f x x1f k1p"},
    {.name = "nodes beside the stream follow each other",
     .links = "a[w][w]",
     .graph = "k k0p2f x x1f k1p5f x3f x4f"},
    {.name = "a capture of nothing is an empty node", .links = "a[]a", .graph = "k x0f k1f"},
    {.name = "a graph becomes nodes of the chain", .links = "a{k>k}a", .graph = "k k0f k1p k2p"},
    {.name = "every end of a graph is waited for", .links = "{kkx}a", .graph = "k k x k0p1p2f"},
    {.name = "a link does not overlap a graph's kernel that may not wait",
     .links = "{k>v}a",
     .graph = "k k0p k1f",
     .reasons = {[1] = PDL_REASON_PREDECESSOR}},
    {.name = "a graph that cannot be copied stays a child",
     .links = "a{km}a",
     .graph = "k g0f k1f",
     .reasons = {[2] = PDL_REASON_NODE}},
    {.name = "a graph of nothing keeps the order", .links = "a{}a", .graph = "k x0f k1f"},
    {.name = "the first dependency takes the place of the link before",
     .links = "aaaa",
     .dependencies = "3>0",
     .graph = "k k0p k1p k0p"},
    {.name = "further ones are added to it",
     .links = "aaaa",
     .dependencies = "3>0 3>1",
     .graph = "k k0p k1p k0p1p"},
    {.name = "the same dependency twice is one",
     .links = "aaa",
     .dependencies = "2>0 2>1 2>0 2>1 2>1",
     .graph = "k k0p k0p1p"},
    {.name = "a link may start with the replay",
     .links = "aaa",
     .dependencies = "1>- 1>- 0>-",
     .graph = "k k k1p"},
    {.name = "and wait for another one all the same",
     .links = "aaa",
     .dependencies = "1>- 1>0",
     .graph = "k k0p k1p"},
    {.name = "a fork and a join",
     .links = "aaan",
     .dependencies = "2>0 3>1 3>2",
     .graph = "k k0p k0p k1f2f"},
    {.name = "a link is explained with its kernel, its dependencies and the reason",
     .links = "aaaun",
     .dependencies = "2>0 2>1",
     .graph = "k k0p k0p1p k2f k3f",
     .reasons =
         {[2] = PDL_REASON_GRANTED, [3] = PDL_REASON_NO_WAIT, [4] = PDL_REASON_NOT_REQUESTED},
     .explained = {[0] = "link 0 (kernel fc1) ",
                   [2] = "overlaps what it depends on, link 0, 1",
                   [3] = "waits for the end of what it depends on, link 2: ",
                   [4] = "link 3: "}},
};

static pdl_kernel *kernels[4];
static CUevent event;

static int setup(void **state)
{
    (void)graph_setup(state);
    for (unsigned i = 0; i < COUNT_OF(kernels); i++) {
        kernels[i] = test_unknown_kernel(FROM_CU_KERNEL, i);
    }
    assert_ok(pdl_kernel_declare(kernels[0], PDL_YES, PDL_UNKNOWN));
    assert_ok(pdl_kernel_declare(kernels[1], PDL_YES, PDL_UNKNOWN));
    assert_ok(pdl_kernel_declare(kernels[2], PDL_NO, PDL_UNKNOWN));
    event = mock_event_create(CU_EVENT_DISABLE_TIMING);
    return 0;
}

static int teardown(void **state)
{
    (void)mock_event_destroy(event);
    return mock_teardown(state);
}

/* What is in brackets, up to the closing one. Gives how many nodes it is. */
static uint32_t capture(pdl_chain *chain, const char *kinds)
{
    CUstream stream = mock_stream(1, 0);
    uint32_t nodes = 0;
    assert_ok(pdl_chain_capture_begin(chain, stream));
    for (; *kinds != ']'; kinds++) {
        CUgraphNode node = mock_capture_node(stream, CU_GRAPH_NODE_TYPE_KERNEL, *kinds != 'n');
        nodes++;
        if (*kinds == 'w') {
            CUgraphNode wait = mock_add_node(node->graph, CU_GRAPH_NODE_TYPE_EMPTY);
            mock_add_edge(wait, node, 0, 0);
            mock_add_edge(node, mock_add_node(node->graph, CU_GRAPH_NODE_TYPE_EMPTY), 0, 0);
            nodes += 2;
        }
    }
    assert_ok(pdl_chain_capture_end(chain, NULL));
    return nodes;
}

/* The same of braces. The chain copies the graph. */
static uint32_t add_graph(pdl_chain *chain, const char *kinds)
{
    pdl_chain_node node = node_of_kind(PDL_NODE_GRAPH);
    CUgraphNode last = NULL;
    bool is_child = false;
    uint32_t nodes = 0;
    node.graph = make_graph();
    for (; *kinds != '}'; kinds++) {
        CUgraphNode before = *kinds == '>' ? last : NULL;
        kinds += *kinds == '>';
        last = *kinds == 'x' ? mock_add_node(node.graph, CU_GRAPH_NODE_TYPE_EMPTY)
               : *kinds == 'm'
                   ? mock_add_node(node.graph, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
                   : add_kernel_node(node.graph, kernels[*kinds == 'v' ? 3 : 0], NULL, 0);
        if (before != NULL) {
            mock_add_edge(before, last, 1, 1);
        }
        is_child = is_child || *kinds == 'm';
        nodes++;
    }
    (void)add_chain_node(chain, &node);
    destroy_graph(node.graph);
    return is_child ? 1 : nodes;
}

TEST_ROWS(links_become_a_graph, rows, setup, teardown)
{
    static const char kernel_letters[] = "anrbuv";
    static const struct {
        unsigned kernel;
        pdl_overlap overlap;
    } of_letters[] = {{0, PDL_OVERLAP_AUTO}, {0, PDL_OVERLAP_NONE}, {0, PDL_OVERLAP_REQUIRE},
                      {1, PDL_OVERLAP_AUTO}, {2, PDL_OVERLAP_AUTO}, {3, PDL_OVERLAP_AUTO}};
    pdl_chain *chain = make_chain();
    pdl_node_kind kinds[8];
    uint32_t nodes[8];
    uint32_t links = 0;
    for (const char *at = row->links; *at != '\0'; at++, links++) {
        const char *const letter = strchr(kernel_letters, *at);
        kinds[links] = letter != NULL ? PDL_NODE_KERNEL
                       : *at == '['   ? PDL_NODE_CAPTURE
                       : *at == '{'   ? PDL_NODE_GRAPH
                       : *at == 's'   ? PDL_NODE_MEMSET
                       : *at == 'e'   ? PDL_NODE_EVENT_RECORD
                                      : PDL_NODE_EMPTY;
        nodes[links] = 1;
        if (letter != NULL) {
            const size_t i = (size_t)(letter - kernel_letters);
            (void)add_link(chain, kernels[of_letters[i].kernel], of_letters[i].overlap, links);
        } else if (*at == '[' || *at == '{') {
            nodes[links] = *at == '[' ? capture(chain, at + 1) : add_graph(chain, at + 1);
            at += strcspn(at, "]}");
        } else {
            pdl_chain_node node = node_of_kind(kinds[links]);
            node.event = *at == 'e' ? event : NULL;
            (void)add_chain_node(chain, &node);
        }
    }
    for (const char *at = row->dependencies; at != NULL && *at != '\0';
         at += at[3] == ' ' ? 4 : 3) {
        assert_ok(
            pdl_chain_add_dependency(chain, (uint32_t)(at[0] - '0'),
                                     at[2] == '-' ? PDL_CHAIN_START : (uint32_t)(at[2] - '0')));
    }
    for (int again = 0; again < 2; again++) {
        assert_ok(pdl_chain_build(chain));
        assert_chain(chain, row->graph);
    }
    mock.runs_all = true;
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_int_equal(mock_ran_count(), chain_census(chain).nodes);
    for (uint32_t link = 0; link < links; link++) {
        const pdl_chain_report report = link_report(chain, link);
        assert_int_equal(report.kind, kinds[link]);
        assert_int_equal(report.nodes, nodes[link] > 0 ? nodes[link] : 1); /* an empty one */
        assert_int_equal(report.kernel != NULL, kinds[link] == PDL_NODE_KERNEL);
        if (row->reasons[link] != 0) {
            assert_int_equal(report.overlap_reason, row->reasons[link]);
            assert_int_equal(report.overlap, row->reasons[link] == PDL_REASON_GRANTED);
        }
        if (row->explained[link] != NULL && strstr(report.message, row->explained[link]) == NULL) {
            fail_msg("\"%s\" does not contain \"%s\"", report.message, row->explained[link]);
        }
    }
}
