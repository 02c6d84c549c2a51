/* SPDX-License-Identifier: MIT */
/* What the tests of chains with other nodes than kernels share: a stream and a chain per test. */
#ifndef PDL_TEST_CHAIN_NODES_CUH
#define PDL_TEST_CHAIN_NODES_CUH

#include <pdl/chain.h>

#include "graph_test.cuh"

static cudaStream_t stream;
static pdl_chain *chain;

static inline int make(void **)
{
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    assert_pdl(pdl_chain_create(nullptr, &chain));
    return 0;
}

static inline int destroy(void **)
{
    assert_cuda(cudaDeviceSynchronize());
    pdl_chain_destroy(chain);
    assert_cuda(cudaStreamDestroy(stream));
    return 0;
}

static inline pdl_chain_node of_kind(pdl_node_kind kind)
{
    pdl_chain_node node = PDL_CHAIN_NODE_INIT;
    node.kind = kind;
    return node;
}

static inline uint32_t add(pdl_chain *to, const pdl_chain_node &node)
{
    uint32_t link = 0;
    assert_pdl(pdl_chain_add_node(to, &node, &link));
    return link;
}

static inline void run(void)
{
    assert_pdl(pdl_chain_launch(chain, stream));
    assert_cuda(cudaStreamSynchronize(stream));
}

static inline pdl_census census_of(pdl_chain *of)
{
    pdl_census census = PDL_CENSUS_INIT;
    cudaGraph_t graph = nullptr;
    assert_pdl(pdl_chain_graph(of, &graph));
    assert_pdl(pdl_graph_census(graph, &census));
    return census;
}

template <typename T> static inline T *pinned(size_t count)
{
    T *made = nullptr;
    assert_cuda(cudaHostAlloc(&made, count * sizeof(T), cudaHostAllocMapped));
    memset(made, 0, count * sizeof(T));
    return made;
}

#endif /* PDL_TEST_CHAIN_NODES_CUH */
