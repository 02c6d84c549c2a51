/* SPDX-License-Identifier: MIT */
#include "graph_support.h"

#include "graph/links.h"

const size_t value_sizes[3] = {sizeof(uint64_t), sizeof(uint32_t), 0};

struct values values_of(uint32_t number)
{
    return (struct values){.pointer = 0x7000000000000000u + number, .number = 0xab000000u + number};
}

int graph_setup(void **state)
{
    (void)mock_setup(state);
    for (unsigned k = 0; k < MOCK_KERNELS; k++) {
        mock_set_parameters(k, value_sizes);
    }
    return 0;
}

static void destroy_made_graph(void *graph)
{
    assert_int_equal(mock.table.cuGraphDestroy(graph), CUDA_SUCCESS);
}

CUgraph make_graph(void)
{
    CUgraph graph = NULL;
    assert_int_equal(mock.table.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    destroy_after(graph, destroy_made_graph);
    return graph;
}

void destroy_graph(CUgraph graph)
{
    drop(graph);
}

CUgraphNode add_kernel_node(CUgraph graph, pdl_kernel *kernel, const pdl_edge *edges, size_t count)
{
    CUgraphNode node = NULL;
    struct values values = values_of(0);
    const pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    assert_ok(pdl_graph_add_launch(graph, edges, count, kernel, &desc, VALUES(values), &node));
    assert_non_null(node);
    return node;
}

void assert_edge_(CUgraphNode from, CUgraphNode to, pdl_edge_kind kind, const char *file, int line)
{
    /* As CUDA's documents say, and as capturing makes them. */
    static const struct {
        unsigned char type;
        unsigned char port;
    } data[] = {
        [PDL_EDGE_FULL] = {0, 0},
        [PDL_EDGE_PROGRAMMATIC] = {1, 1},
        [PDL_EDGE_LAUNCH_COMPLETION] = {0, 2},
        [PDL_EDGE_PROGRAMMATIC_AT_BLOCK_START] = {1, 2},
    };
    const CUgraphEdgeData *edge = mock_edge(from, to);
    if (edge == NULL) {
        print_error("there is no edge\n");
        _fail(file, line);
        return;
    }
    _assert_int_equal(edge->type, data[kind].type, file, line);
    _assert_int_equal(edge->from_port, data[kind].port, file, line);
    _assert_int_equal(edge->to_port, 0, file, line);
}

static void destroy_chain(void *chain)
{
    pdl_chain_destroy(chain);
}

pdl_chain *make_chain(void)
{
    pdl_chain *chain = NULL;
    assert_ok(pdl_chain_create(NULL, &chain));
    assert_non_null(chain);
    destroy_after(chain, destroy_chain);
    return chain;
}

void drop_chain(pdl_chain *chain)
{
    drop(chain);
}

uint32_t add_link(pdl_chain *chain, pdl_kernel *kernel, pdl_overlap overlap, uint32_t number)
{
    uint32_t link = UINT32_MAX;
    struct values values = values_of(number);
    const pdl_launch_desc desc = overlap_desc(overlap);
    assert_ok(pdl_chain_add(chain, kernel, &desc, VALUES(values), NULL, 0, &link));
    return link;
}

pdl_chain *make_line(pdl_kernel *kernel, uint32_t links)
{
    pdl_chain *chain = make_chain();
    for (uint32_t i = 0; i < links; i++) {
        assert_int_equal(add_link(chain, kernel, PDL_OVERLAP_AUTO, i), i);
    }
    assert_ok(pdl_chain_build(chain));
    return chain;
}

static bool carries(const struct mock_node_params *params, uint32_t number)
{
    struct values got = {0};
    const struct values want = values_of(number);
    memcpy(&got.pointer, params->arguments[0], sizeof(got.pointer));
    memcpy(&got.number, params->arguments[1], sizeof(got.number));
    return got.pointer == want.pointer && got.number == want.number;
}

void assert_ran_(unsigned n, uint32_t number, const char *file, int line)
{
    const struct mock_run *run = mock_ran(n);
    if (!carries(&run->params, number)) {
        uint32_t got;
        memcpy(&got, run->params.arguments[1], sizeof(got));
        print_error("kernel %u of the replay ran with number 0x%x, not with values_of(%u)\n", n,
                    got, number);
        _fail(file, line);
    }
}

CUgraphNode node_of(pdl_chain *chain, uint32_t number)
{
    CUgraph graph = graph_of(chain);
    CUgraphNode node;
    for (unsigned i = 0; (node = mock_node_at(graph, i)) != NULL; i++) {
        if (carries(&node->params, number)) {
            return node;
        }
    }
    fail_msg("no node carries values_of(%u)", number);
    return NULL;
}

CUgraph graph_of(pdl_chain *chain)
{
    CUgraph graph = NULL;
    assert_ok(pdl_chain_graph(chain, &graph));
    return graph;
}

static char letter_of(const CUgraphEdgeData *edge)
{
    static const char letters[2][3] = {{'f', '?', 'l'}, {'?', 'p', 'b'}};
    return (char)(edge->type < 2 && edge->from_port < 3 && edge->to_port == 0
                      ? letters[edge->type][edge->from_port]
                      : '?');
}

const char *graph_text(CUgraph graph, char *text, size_t size)
{
    static const char letters[] = "kcshgxwe"; /* in the order of CUgraphNodeType */
    size_t length = 0;
    CUgraphNode node;
    text[0] = '\0';
    for (unsigned i = 0; (node = mock_node_at(graph, i)) != NULL; i++) {
        const size_t type = (size_t)node->type;
        CUgraphNode before;
        length += (size_t)snprintf(text + length, size - length, "%s%c", i > 0 ? " " : "",
                                   type < sizeof(letters) - 1 ? letters[type] : '?');
        for (unsigned j = 0; (before = mock_node_at(graph, j)) != NULL; j++) {
            const CUgraphEdgeData *const edge = mock_edge(before, node);
            if (edge != NULL) {
                length +=
                    (size_t)snprintf(text + length, size - length, "%u%c", j, letter_of(edge));
            }
        }
        assert_true(length < size);
    }
    return text;
}

static void host_function(void *data)
{
    (void)data;
}

pdl_chain_node node_of_kind(pdl_node_kind kind)
{
    pdl_chain_node node = PDL_CHAIN_NODE_INIT;
    node.kind = (uint32_t)kind;
    if (kind == PDL_NODE_MEMSET || kind == PDL_NODE_COPY) {
        node.destination = (void *)(uintptr_t)0x10000;
        node.source = kind == PDL_NODE_COPY ? (void *)(uintptr_t)0x20000 : NULL;
        node.width = 64;
    }
    if (kind == PDL_NODE_HOST) {
        node.function = host_function;
        node.data = &mock;
    }
    return node;
}

uint32_t add_chain_node(pdl_chain *chain, const pdl_chain_node *node)
{
    uint32_t link = UINT32_MAX;
    assert_ok(pdl_chain_add_node(chain, node, &link));
    return link;
}

pdl_chain *body_of(pdl_chain *chain, uint32_t link, uint32_t index)
{
    pdl_chain *body = NULL;
    assert_ok(pdl_chain_body(chain, link, index, &body));
    assert_non_null(body);
    return body;
}

pdl_census chain_census(pdl_chain *chain)
{
    pdl_census census = PDL_CENSUS_INIT;
    CUgraph graph = NULL;
    assert_ok(pdl_chain_graph(chain, &graph));
    assert_ok(pdl_graph_census(graph, &census));
    for (uint32_t i = 0; i < chain->count; i++) {
        for (uint32_t b = 0; b < chain->links[i].body_count; b++) {
            const pdl_census body = chain_census(chain->links[i].bodies[b].chain);
            census.nodes += body.nodes;
            census.kernels += body.kernels;
            census.edges += body.edges;
            census.full += body.full;
            census.programmatic += body.programmatic;
        }
    }
    return census;
}

pdl_chain_report link_report(pdl_chain *chain, uint32_t link)
{
    pdl_chain_report filled = {.size = sizeof(filled)};
    assert_ok(pdl_chain_explain(chain, link, &filled));
    return filled;
}

void assert_chain_explained_(pdl_chain *chain, uint32_t link, const char *const *words,
                             const char *file, int line)
{
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    assert_ok(pdl_chain_explain(chain, link, &report));
    for (; *words != NULL; words++) {
        if (strstr(report.message, *words) == NULL) {
            print_error("\"%s\" does not contain \"%s\"\n", report.message, *words);
            _fail(file, line);
        }
    }
}
