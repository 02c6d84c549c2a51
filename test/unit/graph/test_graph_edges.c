/* SPDX-License-Identifier: MIT */
/* The census of a graph's edges. */
#include "graph_support.h"

enum { FULL_PORT = 0, PROGRAMMATIC_PORT = 1, LAUNCH_PORT = 2 };
enum { DEFAULT = 0, PROGRAMMATIC = 1 };

static CUgraph graph;
static pdl_kernel *kernel;

static int setup(void **state)
{
    (void)graph_setup(state);
    graph = make_graph();
    kernel = test_kernel(FROM_CU_KERNEL, 0);
    return 0;
}

#define EDGES_TEST(name) TEST_WITH(name, setup, mock_teardown)

/* A kernel node of kernel number k of the mock, with nothing before it. */
static CUgraphNode kernel_node(unsigned k)
{
    CUgraphNode node = mock_add_node(graph, CU_GRAPH_NODE_TYPE_KERNEL);
    node->params.function = mock_function(k, 0);
    return node;
}

static void full(CUgraphNode from, CUgraphNode to)
{
    mock_add_edge(from, to, DEFAULT, FULL_PORT);
}

/* The census with room for 16; asserts that the parts make the sum. */
static pdl_full_dependency found[16];

static pdl_census count(void)
{
    pdl_census census = PDL_CENSUS_INIT;
    memset(found, 0xee, sizeof(found));
    census.full_dependencies = found;
    census.full_capacity = COUNT_OF(found);
    assert_ok(pdl_graph_census(graph, &census));
    assert_int_equal(census.edges, census.full + census.programmatic + census.launch_completion +
                                       census.programmatic_at_block_start + census.other);
    return census;
}

/* The entry for a pair; fails the test unless there is exactly one. */
static const pdl_full_dependency *the_one(const pdl_census *census, CUgraphNode producer,
                                          CUgraphNode consumer)
{
    const pdl_full_dependency *one = NULL;
    for (uint32_t i = 0; i < census->full_count; i++) {
        if (found[i].producer == producer && found[i].consumer == consumer) {
            assert_null(one);
            one = &found[i];
        }
    }
    assert_non_null(one);
    return one;
}

EDGES_TEST(an_empty_graph_has_nothing_to_count)
{
    const pdl_census census = count();
    assert_int_equal(census.nodes + census.kernels + census.edges + census.full_count, 0);
}

EDGES_TEST(edges_are_counted_by_kind)
{
    CUgraphNode node = kernel_node(0);
    for (unsigned kind = 0; kind < 4; kind++) {
        for (unsigned i = 0; i <= kind; i++) {
            const pdl_edge edge = {.node = node, .kind = kind};
            node = add_kernel_node(graph, kernel, &edge, 1);
        }
    }
    const pdl_census census = count();
    assert_int_equal(census.nodes, 11);
    assert_int_equal(census.kernels, 11);
    assert_int_equal(census.edges, 10);
    assert_int_equal(census.full, 1);
    assert_int_equal(census.programmatic, 2);
    assert_int_equal(census.launch_completion, 3);
    assert_int_equal(census.programmatic_at_block_start, 4);
    assert_int_equal(census.other, 0);
    assert_int_equal(census.full_count, 1);
}

EDGES_TEST(edge_data_that_is_not_known_is_counted_apart)
{
    CUgraphNode first = kernel_node(0);
    mock_add_edge(first, kernel_node(0), 7, 0);
    mock_add_edge(first, kernel_node(0), DEFAULT, PROGRAMMATIC_PORT);
    mock_add_edge(first, kernel_node(0), PROGRAMMATIC, FULL_PORT);
    mock_add_edge(first, kernel_node(0), DEFAULT, 9);
    mock_add_edge(first, kernel_node(0), PROGRAMMATIC, 9);
    const pdl_census census = count();
    assert_int_equal(census.edges, 5);
    assert_int_equal(census.other, 5);
    assert_int_equal(census.full_count, 0);
}

EDGES_TEST(a_direct_full_edge_says_why_it_is_full)
{
    CUgraphNode producer = kernel_node(1);
    CUgraphNode serial = kernel_node(2);
    CUgraphNode cooperative = kernel_node(3);
    CUgraphNode old = kernel_node(4);
    const CUlaunchAttributeValue one = {.cooperative = 1};
    mock.kernels[4].attributes[0][CU_FUNC_ATTRIBUTE_PTX_VERSION] = 89;
    assert_int_equal(mock.table.cuGraphKernelNodeSetAttribute(
                         cooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &one),
                     CUDA_SUCCESS);
    full(producer, serial);
    full(producer, cooperative);
    full(producer, old);
    const pdl_census census = count();
    assert_int_equal(census.full_count, 3);
    assert_int_equal(the_one(&census, producer, serial)->reason, PDL_FULL_SERIAL);
    assert_int_equal(the_one(&census, producer, cooperative)->reason, PDL_FULL_COOPERATIVE);
    assert_int_equal(the_one(&census, producer, old)->reason, PDL_FULL_CODE);
    assert_string_equal(the_one(&census, producer, old)->producer_name, "fc2");
    assert_string_equal(the_one(&census, producer, old)->consumer_name, "fc5");
    assert_null(the_one(&census, producer, old)->between);
    assert_int_equal(the_one(&census, producer, old)->between_type, 0);
}

/* As other libraries may make their nodes. */
EDGES_TEST(a_node_of_a_cukernel_is_looked_up_as_well)
{
    CUgraphNode producer = kernel_node(1);
    CUgraphNode consumer = kernel_node(4);
    consumer->params.function = NULL;
    consumer->params.kernel = mock_cu_kernel(4);
    mock.kernels[4].attributes[0][CU_FUNC_ATTRIBUTE_PTX_VERSION] = 80;
    full(producer, consumer);
    const pdl_census census = count();
    assert_int_equal(the_one(&census, producer, consumer)->reason, PDL_FULL_CODE);
    assert_string_equal(the_one(&census, producer, consumer)->consumer_name, "fc5");
}

EDGES_TEST(a_name_that_the_driver_does_not_tell_is_empty)
{
    CUgraphNode producer = kernel_node(1);
    CUgraphNode consumer = kernel_node(2);
    full(producer, consumer);
    mock_fail(MOCK_cuFuncGetName, 0, CUDA_ERROR_NOT_FOUND);
    const pdl_census census = count();
    assert_string_equal(the_one(&census, producer, consumer)->producer_name, "");
    assert_string_equal(the_one(&census, producer, consumer)->consumer_name, "");
    mock_fail(MOCK_cuGraphKernelNodeGetParams, 0, CUDA_ERROR_UNKNOWN);
    assert_string_equal(the_one(&census, producer, consumer)->producer_name, "");
}

EDGES_TEST(what_stands_between_two_kernels_is_told)
{
    static const struct {
        CUgraphNodeType type;
        pdl_full_reason reason;
    } cases[] = {
        {CU_GRAPH_NODE_TYPE_MEMSET, PDL_FULL_MEMSET},
        {CU_GRAPH_NODE_TYPE_MEMCPY, PDL_FULL_MEMCPY},
        {CU_GRAPH_NODE_TYPE_HOST, PDL_FULL_HOST},
        {CU_GRAPH_NODE_TYPE_EMPTY, PDL_FULL_OTHER_NODE},
        {CU_GRAPH_NODE_TYPE_GRAPH, PDL_FULL_OTHER_NODE},
        {CU_GRAPH_NODE_TYPE_MEM_ALLOC, PDL_FULL_OTHER_NODE},
        {CU_GRAPH_NODE_TYPE_EVENT_RECORD, PDL_FULL_OTHER_NODE},
        /* Types of newer drivers, whose names the headers need not have. */
        {(CUgraphNodeType)13, PDL_FULL_OTHER_NODE},
        {(CUgraphNodeType)14, PDL_FULL_MEMCPY},
        {(CUgraphNodeType)17, PDL_FULL_OTHER_NODE},
        {(CUgraphNodeType)18, PDL_FULL_MEMCPY},
        {(CUgraphNodeType)1000, PDL_FULL_OTHER_NODE},
    };
    CUgraphNode last = kernel_node(0);
    CUgraphNode producers[COUNT_OF(cases)];
    CUgraphNode between[COUNT_OF(cases)];
    CUgraphNode consumers[COUNT_OF(cases)];
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        producers[i] = last;
        between[i] = mock_add_node(graph, cases[i].type);
        last = consumers[i] = kernel_node(0);
        full(producers[i], between[i]);
        full(between[i], consumers[i]);
    }
    const pdl_census census = count();
    assert_int_equal(census.nodes, 2 * COUNT_OF(cases) + 1);
    assert_int_equal(census.kernels, COUNT_OF(cases) + 1);
    assert_int_equal(census.full, 2 * COUNT_OF(cases));
    assert_int_equal(census.full_count, COUNT_OF(cases));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const pdl_full_dependency *one = the_one(&census, producers[i], consumers[i]);
        assert_int_equal(one->reason, cases[i].reason);
        assert_ptr_equal(one->between, between[i]);
        assert_int_equal(one->between_type, cases[i].type);
    }
}

/* Graphs of kernels (K), memsets (S), memcpys (C) and host functions (H), which are numbered from 0. An edge is two numbers
 * and its kind: f for full, p for programmatic, l for launch completion. What is found is producer, consumer, and the node
 * between them: - for none, * for any. */
static const struct {
    const char *nodes;
    const char *edges;
    const char *found;
} shapes[] = {
    /* Of several nodes between, the one next to the consumer. The walk ends at the first kernel. */
    {"KCHSKK", "01f 12f 23f 34f 45p", "043"},
    /* A node between many kernels makes a dependency of each pair. */
    {"SKKKKK", "10f 20f 03f 04f 05f", "130 140 150 230 240 250"},
    /* A pair that is joined in several ways counts once, as the direct one if there is one. */
    {"KSSK", "01f 02f 13f 23f 03f", "03-"},
    {"KSCK", "01f 02f 13f 23f", "03*"},
    /* The programmatic edge is there, and the consumer waits for the producer's end all the same. */
    {"KSK", "02p 01f 12f", "021"},
    /* A memset that waits for the producer's launch does not make the consumer wait for its end. */
    {"KSK", "01l 12f", ""},
    /* Nothing but a memset before a kernel. */
    {"SK", "01f", ""},
};

static void make_shape(size_t shape, CUgraphNode nodes[6])
{
    static const CUgraphNodeType types[] = {
        ['S'] = CU_GRAPH_NODE_TYPE_MEMSET,
        ['C'] = CU_GRAPH_NODE_TYPE_MEMCPY,
        ['H'] = CU_GRAPH_NODE_TYPE_HOST,
    };
    for (size_t i = 0; shapes[shape].nodes[i] != '\0'; i++) {
        const char kind = shapes[shape].nodes[i];
        nodes[i] = kind == 'K' ? kernel_node(0) : mock_add_node(graph, types[(size_t)kind]);
    }
    for (const char *edge = shapes[shape].edges; *edge != '\0'; edge += edge[3] == ' ' ? 4 : 3) {
        mock_add_edge(nodes[edge[0] - '0'], nodes[edge[1] - '0'],
                      edge[2] == 'p' ? PROGRAMMATIC : DEFAULT,
                      edge[2] == 'p'   ? PROGRAMMATIC_PORT
                      : edge[2] == 'l' ? LAUNCH_PORT
                                       : FULL_PORT);
    }
}

static size_t letters(const char *text, char letter)
{
    size_t count = 0;
    for (; *text != '\0'; text++) {
        count += *text == letter;
    }
    return count;
}

EDGES_TEST(each_dependency_through_other_nodes_is_found_once)
{
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        CUgraphNode nodes[6];
        (void)mock_teardown(NULL);
        (void)setup(NULL);
        make_shape(i, nodes);
        const pdl_census census = count();
        assert_int_equal(census.full, letters(shapes[i].edges, 'f'));
        assert_int_equal(census.programmatic, letters(shapes[i].edges, 'p'));
        assert_int_equal(census.launch_completion, letters(shapes[i].edges, 'l'));
        assert_int_equal(census.full_count, (strlen(shapes[i].found) + 1) / 4);
        for (const char *one = shapes[i].found; *one != '\0'; one += one[3] == ' ' ? 4 : 3) {
            const pdl_full_dependency *const is =
                the_one(&census, nodes[one[0] - '0'], nodes[one[1] - '0']);
            if (one[2] == '*') {
                assert_non_null(is->between);
                continue;
            }
            assert_ptr_equal(is->between, one[2] == '-' ? NULL : nodes[one[2] - '0']);
            const char between = one[2] == '-' ? 'K' : shapes[i].nodes[one[2] - '0'];
            assert_int_equal(is->reason, between == 'K'   ? PDL_FULL_SERIAL
                                         : between == 'S' ? PDL_FULL_MEMSET
                                         : between == 'C' ? PDL_FULL_MEMCPY
                                                          : PDL_FULL_HOST);
        }
    }
}

EDGES_TEST(what_does_not_fit_the_list_is_counted)
{
    pdl_full_dependency list[5];
    pdl_census census = PDL_CENSUS_INIT;
    CUgraphNode last = kernel_node(0);
    for (unsigned i = 0; i < 5; i++) {
        CUgraphNode next = kernel_node(0);
        full(last, next);
        last = next;
    }
    memset(list, 0xee, sizeof(list));
    census.full_dependencies = list;
    census.full_capacity = 3;
    assert_ok(pdl_graph_census(graph, &census));
    assert_int_equal(census.full_count, 5);
    assert_int_equal(census.full_capacity, 3);
    assert_ptr_equal(census.full_dependencies, list);
    for (unsigned i = 0; i < 3; i++) {
        assert_non_null(list[i].producer);
        assert_ptr_not_equal(list[i].producer, list[3].producer);
    }
    for (size_t i = 0; i < 2 * sizeof(list[0]); i++) {
        assert_int_equal(((unsigned char *)&list[3])[i], 0xee);
    }
    census = (pdl_census)PDL_CENSUS_INIT;
    census.full_capacity = 99; /* and nowhere to list */
    assert_ok(pdl_graph_census(graph, &census));
    assert_int_equal(census.full_count, 5);
    assert_null(census.full_dependencies);
}

EDGES_TEST(bad_arguments_are_refused)
{
    pdl_census census = PDL_CENSUS_INIT;
    assert_invalid(pdl_graph_census(NULL, &census), "graph", "graph");
    assert_invalid(pdl_graph_census(graph, NULL), "census", "census");
}

/* The driver is asked in ways that it has since then. */
EDGES_TEST(before_12_4_there_are_neither_nodes_nor_chains_nor_a_census)
{
    const pdl_status none = PDL_ERROR_NOT_SUPPORTED;
    const pdl_launch_desc desc = plain_desc();
    struct values values = values_of(0);
    pdl_census census = PDL_CENSUS_INIT;
    pdl_chain *chain = NULL;
    CUgraphNode node = NULL;
    mock_set_driver_version(12030);
    assert_refused(pdl_graph_census(graph, &census), none, NULL, "12.4", "12.3");
    assert_refused(pdl_chain_create(NULL, &chain), none, NULL, "12.4", "12.3");
    assert_refused(pdl_graph_add_launch(graph, NULL, 0, kernel, &desc, VALUES(values), &node), none,
                   NULL, "12.4", "12.3");
    mock_set_driver_version(12040);
    (void)make_chain();
    (void)add_kernel_node(graph, kernel, NULL, 0);
}
