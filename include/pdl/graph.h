/* SPDX-License-Identifier: MIT */
/** @file
 * Programmatic Dependent Launch in CUDA Graphs: the edges of a graph, and adding kernel nodes.
 *
 * pdl_launch() on a capturing stream makes the right edges; pdl_graph_census() shows them. A graph
 * is not thread-safe in CUDA, so these calls are not either for one graph.
 *
 * Graphs and chains need a driver of CUDA 12.4 or newer (edge data, parameters of kernels); an older one gives
 * PDL_ERROR_NOT_SUPPORTED.
 *
 * As everywhere in libpdl, a struct whose first field is `uint32_t size` may grow in later versions,
 * and a struct without one never changes.
 */
#ifndef PDL_GRAPH_H
#define PDL_GRAPH_H

#include <pdl/pdl.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUgraph_st;
struct CUgraphNode_st;

/* ------------------------------------------------------------------------------------------------
 * Edges
 * ---------------------------------------------------------------------------------------------- */

/** What a node waits for in its predecessor. */
typedef enum pdl_edge_kind {
    /** Its end, with its memory visible. Edge data (default, port default). */
    PDL_EDGE_FULL = 0,
    /** Its trigger; the consumer's own wait then makes the memory visible. Edge data (programmatic,
     * port programmatic). A launch with overlap, or a programmatic event, captured. */
    PDL_EDGE_PROGRAMMATIC = 1,
    /** The start of all its blocks, but not its memory: the consumer's wait does not cover this
     * edge. Edge data (default, port launch order). A launch-completion event, captured. */
    PDL_EDGE_LAUNCH_COMPLETION = 2,
    /** The start of all its blocks; the consumer's wait then makes the memory visible. Edge data
     * (programmatic, port launch order). A programmatic event with trigger_at_block_start,
     * captured. */
    PDL_EDGE_PROGRAMMATIC_AT_BLOCK_START = 3
} pdl_edge_kind;

/** A dependency of a node to be added: an element of the caller's array. Never changes. */
typedef struct pdl_edge {
    struct CUgraphNode_st *node; /**< The node that it depends on, of the same graph. */
    uint32_t kind;               /**< A pdl_edge_kind; other than FULL only from kernel nodes. */
    uint32_t reserved;           /**< Zero. */
} pdl_edge;

/** Why one kernel waits for another one's end. */
typedef enum pdl_full_reason {
    PDL_FULL_SERIAL = 0,      /**< The consumer was launched without overlap. */
    PDL_FULL_COOPERATIVE = 1, /**< The consumer is a cooperative launch. */
    PDL_FULL_CODE = 2,        /**< The consumer was compiled for less than 9.0. */
    PDL_FULL_MEMSET = 3,      /**< There is a memset between them. */
    PDL_FULL_MEMCPY = 4,      /**< There is a memcpy between them, or a batch of copies. */
    PDL_FULL_HOST = 5,        /**< There is a host function between them. */
    PDL_FULL_OTHER_NODE = 6   /**< There is a node of another type between them. */
} pdl_full_reason;

/** A dependency of a kernel on a kernel that allows no overlap: an element of the caller's array.
 * Never changes. */
typedef struct pdl_full_dependency {
    struct CUgraphNode_st *producer; /**< Kernel node. */
    struct CUgraphNode_st *consumer; /**< Kernel node. */
    struct CUgraphNode_st *between;  /**< The node between them next to the consumer, or NULL. */
    const char *producer_name;       /**< The driver's (mangled for C++), as long as the code is
                                        loaded; "" if unknown. */
    const char *consumer_name;       /**< Likewise. */
    const char *why;                 /**< The reason as a clause, such as "there is a memset
                                        between them". Static. */
    uint32_t reason;                 /**< A pdl_full_reason. */
    uint32_t between_type;           /**< CUgraphNodeType of `between`. */
} pdl_full_dependency;

/** The edges of a graph, counted. Start from PDL_CENSUS_INIT. */
typedef struct pdl_census {
    uint32_t size;          /**< sizeof(pdl_census) as the caller was compiled. */
    uint32_t full_capacity; /**< In: elements of `full_dependencies`. */
    /** In: where to list the full dependencies between kernels; NULL to only count them. Not kept. */
    pdl_full_dependency *full_dependencies;
    uint32_t nodes;                       /**< All nodes. */
    uint32_t kernels;                     /**< Kernel nodes. */
    uint32_t edges;                       /**< All edges: the sum of the next five. */
    uint32_t full;                        /**< PDL_EDGE_FULL. */
    uint32_t programmatic;                /**< PDL_EDGE_PROGRAMMATIC. */
    uint32_t launch_completion;           /**< PDL_EDGE_LAUNCH_COMPLETION. */
    uint32_t programmatic_at_block_start; /**< PDL_EDGE_PROGRAMMATIC_AT_BLOCK_START. */
    uint32_t other;                       /**< Edge data of an unknown kind. */
    uint32_t full_count; /**< Full dependencies between kernels, direct or through other nodes; may
                              exceed full_capacity. */
} pdl_census;

/** Initializer of a pdl_census. */
#define PDL_CENSUS_INIT PDL_SIZED_INIT_(pdl_census)

/**
 * Counts the edges of a graph by kind and reports where overlap was lost, with the reason if
 * known.
 *
 * With the nodes of child graphs; the body of a conditional node is a graph of its own. The graph of
 * a capture that goes on (cuStreamGetCaptureInfo) can be counted too. Maps to cuGraphGetNodes,
 * cuGraphGetEdges and cuGraphNodeGetType.
 * Errors: driver loading, PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_NOT_SUPPORTED,
 * PDL_ERROR_OUT_OF_MEMORY, PDL_ERROR_DRIVER.
 */
PDL_API pdl_status pdl_graph_census(struct CUgraph_st *graph, pdl_census *census);

/**
 * Adds a kernel node to a graph.
 *
 * The kernel's code must outlive the graph and what is instantiated from it: pdl_kernel_destroy()
 * unloads what libpdl loaded. The descriptor's stream is not used, and events are not allowed in it:
 * in a graph they are edges. The gate of launches applies to programmatic edges: with PDL_OVERLAP_REQUIRE a launch
 * that may not overlap is refused, with PDL_OVERLAP_AUTO its programmatic edges become full. The
 * same holds if a dependency has a programmatic edge itself and libpdl has not added its kernel to
 * a graph with overlap: it may not wait for its predecessors (PDL_REASON_PREDECESSOR). A
 * programmatic edge to a descriptor with PDL_OVERLAP_NONE is an error. Runs in the current
 * context. Maps to cuGraphAddNode, cuGraphKernelNodeSetAttribute, and for programmatic edges
 * cuGraphKernelNodeGetParams and cuGraphNodeGetDependencies; if an attribute is refused, the node
 * is removed again. (A device-updatable node whose handle cannot be read stays: CUDA does not
 * remove such nodes.) A priority counts only in a graph that is instantiated with
 * CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY.
 * @param dependencies what the node depends on; NULL if count is 0
 * @param args one pointer per parameter; the values are copied
 * @param[out] node belongs to the graph
 * Errors: those of pdl_launch(), PDL_ERROR_EDGE (a programmatic or launch-completion edge from a
 * node that is not a kernel, a node of another graph, an unknown kind).
 */
PDL_API pdl_status pdl_graph_add_launch(struct CUgraph_st *graph, const pdl_edge *dependencies,
                                        size_t count, pdl_kernel *kernel,
                                        const pdl_launch_desc *desc, void *const *args,
                                        struct CUgraphNode_st **node);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* PDL_GRAPH_H */
