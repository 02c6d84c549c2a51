/* SPDX-License-Identifier: MIT */
/* What the tests of graphs and chains share. */
#ifndef PDL_TEST_UNIT_GRAPH_SUPPORT_H
#define PDL_TEST_UNIT_GRAPH_SUPPORT_H

#include <pdl/chain.h>

#include "support.h"

/* Every kernel of these tests takes a pointer and a number. */
struct values {
    uint64_t pointer;
    uint32_t number;
};
extern const size_t value_sizes[3]; /* of both, and a 0 */
#define VALUES(values) ((void *[]){&(values).pointer, &(values).number})

/* Values that can be told apart. */
struct values values_of(uint32_t number);

/* mock_setup() with those parameters. */
int graph_setup(void **state);
#define GRAPH_TEST(name) TEST_WITH(name, graph_setup, mock_teardown)

/* An empty graph of the test's own, which is destroyed after it, or by destroy_graph(). */
CUgraph make_graph(void);
void destroy_graph(CUgraph graph);

/* Adds a node of a kernel with a plain descriptor. */
CUgraphNode add_kernel_node(CUgraph graph, pdl_kernel *kernel, const pdl_edge *edges, size_t count);

/* Asserts that one edge leads from a node to another, and of which kind it is. */
#define assert_edge(from, to, kind) assert_edge_((from), (to), (kind), __FILE__, __LINE__)
void assert_edge_(CUgraphNode from, CUgraphNode to, pdl_edge_kind kind, const char *file, int line);

/* An empty chain. It is destroyed after the test, or by drop_chain(). */
pdl_chain *make_chain(void);
void drop_chain(pdl_chain *chain);

/* Adds a link with a plain descriptor and values_of(number). */
uint32_t add_link(pdl_chain *chain, pdl_kernel *kernel, pdl_overlap overlap, uint32_t number);

/* A chain with that many links of a kernel, one after the other, numbered from 0, and built. */
pdl_chain *make_line(pdl_kernel *kernel, uint32_t links);

/* Asserts that the latest replay ran so many kernels, and that the n-th of them ran with
 * values_of(number). */
#define assert_ran_count(count) assert_int_equal(mock_ran_count(), (count))
#define assert_ran(n, number)   assert_ran_((n), (number), __FILE__, __LINE__)
void assert_ran_(unsigned n, uint32_t number, const char *file, int line);

/* The node of a built chain that carries values_of(number). */
CUgraphNode node_of(pdl_chain *chain, uint32_t number);

/* Asserts the nodes of a graph or a built chain in the order in which they were added: k for a kernel, s memset, c copy, h
 * host function, e and w event record and wait, g child graph, x empty, ? another; then the nodes before, each with the kind
 * of the edge: f full, p programmatic, b programmatic at the start of blocks, l launch completion. */
#define assert_graph(graph, text)                                                                  \
    do {                                                                                           \
        char text_[512];                                                                           \
        assert_string_equal(graph_text((graph), text_, sizeof(text_)), (text));                    \
    } while (0)
#define assert_chain(chain, text) assert_graph(graph_of(chain), (text))
const char *graph_text(CUgraph graph, char *text, size_t size);
CUgraph graph_of(pdl_chain *chain);

/* A description of a kind with what it needs. */
pdl_chain_node node_of_kind(pdl_node_kind kind);

/* Adds a node, and asserts that it succeeds. */
uint32_t add_chain_node(pdl_chain *chain, const pdl_chain_node *node);

/* The body of a conditional. */
pdl_chain *body_of(pdl_chain *chain, uint32_t link, uint32_t index);

/* The census of a built chain. */
pdl_census chain_census(pdl_chain *chain);

/* The report of a link. */
pdl_chain_report link_report(pdl_chain *chain, uint32_t link);

/* Asserts what pdl_chain_explain() says of a link: its message contains each of the words. */
#define assert_chain_explained(chain, link, ...)                                                   \
    assert_chain_explained_((chain), (link), (const char *const[]){__VA_ARGS__, NULL}, __FILE__,   \
                            __LINE__)
void assert_chain_explained_(pdl_chain *chain, uint32_t link, const char *const *words,
                             const char *file, int line);

#endif /* PDL_TEST_UNIT_GRAPH_SUPPORT_H */
