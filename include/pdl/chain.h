/* SPDX-License-Identifier: MIT */
/** @file
 * Chains: launches recorded once and replayed many times, as one graph launch with the right edges.
 *
 * A chain is a list of links. A link is a kernel with its descriptor and a copy of its arguments,
 * another node, or what other code puts into a capturing stream. Other nodes are memsets, copies,
 * host functions, events, graphs and conditionals. A link depends on the previously added one, unless
 * pdl_chain_add_dependency() changes that. An event record is not waited for: the link after it
 * depends on the link before it.
 *
 * A kernel's own overlap mode and the gate of launches decide the kind of its dependencies on other
 * kernels: programmatic if pdl_launch() would have overlapped, otherwise full. So a link that does
 * not wait, or may not, starts when everything before it has ended, and the next link's wait covers
 * that as well. All other dependencies are full.
 *
 * A chain belongs to one device: the current context's when it is built. One thread at a time may
 * use a chain; a second one gets PDL_ERROR_BUSY. Replays of one chain never overlap each other:
 * CUDA orders them.
 */
#ifndef PDL_CHAIN_H
#define PDL_CHAIN_H

#include <pdl/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Launches recorded for replay. */
typedef struct pdl_chain pdl_chain;

/** For pdl_chain_add_dependency(): the link depends on nothing and may start with the replay. */
#define PDL_CHAIN_START UINT32_MAX

/** How a chain behaves. Start from PDL_CHAIN_OPTIONS_INIT. */
typedef struct pdl_chain_options {
    uint32_t size;           /**< sizeof(pdl_chain_options) as the caller was compiled. */
    uint32_t default_stream; /**< A pdl_default_stream: what a NULL stream means for
                                  pdl_chain_launch(). */
} pdl_chain_options;

/** Initializer of a pdl_chain_options: `default_stream` is that of the translation unit
 * (PDL_DEFAULT_STREAM). */
#define PDL_CHAIN_OPTIONS_INIT                                                                     \
    {                                                                                              \
        (uint32_t)sizeof(pdl_chain_options), PDL_DEFAULT_STREAM                                    \
    }

/**
 * Makes an empty chain.
 *
 * @param options NULL: a NULL stream is the legacy default stream, however the caller was compiled
 * Errors: driver loading, PDL_ERROR_NOT_SUPPORTED (a driver below CUDA 12.4), PDL_ERROR_DESC_FIELD
 * (an unknown `default_stream`), PDL_ERROR_DESC_SIZE, PDL_ERROR_DESC_TOO_NEW,
 * PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_chain_create(const pdl_chain_options *options, pdl_chain **chain);

/**
 * Frees a chain. NULL is allowed. A replay in flight continues (cuGraphExecDestroy).
 */
PDL_API void pdl_chain_destroy(pdl_chain *chain);

/**
 * Records a launch at the end of a chain. The chain must be built (again) before its next launch.
 *
 * The descriptor's stream is not used. Events and device_node are not allowed in it
 * (PDL_ERROR_NOT_SUPPORTED): edges replace them, and the nodes belong to the chain. The kernel
 * must outlive the chain; the argument values and the descriptor's `extra_attributes` are copied.
 * @param args one pointer per parameter; NULL if the kernel takes none
 * @param sizes the arguments' sizes in bytes, to be compared with those of the kernel's
 * parameters, which the driver reports (cuKernelGetParamInfo, cuFuncGetParamInfo), or NULL
 * @param count how many sizes; 0 if sizes is NULL
 * @param[out] link the link's index, from 0 upwards; may be NULL
 * Errors: those of pdl_launch() that need no launch, PDL_ERROR_ARGUMENT_SIZE (sizes that are not
 * the kernel's), PDL_ERROR_BUSY, PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_chain_add(pdl_chain *chain, pdl_kernel *kernel, const pdl_launch_desc *desc,
                                 void *const *args, const size_t *sizes, size_t count,
                                 uint32_t *link);

/** What a link is. */
typedef enum pdl_node_kind {
    PDL_NODE_KERNEL = 0,       /**< A kernel: pdl_chain_add(). */
    PDL_NODE_CAPTURE = 1,      /**< What a stream captured: pdl_chain_capture_end(). */
    PDL_NODE_EMPTY = 2,        /**< Nothing: a point where links join. */
    PDL_NODE_MEMSET = 3,       /**< Sets memory of the device: `destination`, `value`. */
    PDL_NODE_COPY = 4,         /**< Copies memory: `destination`, `source`. */
    PDL_NODE_HOST = 5,         /**< Calls `function` on the host, which may not call CUDA. */
    PDL_NODE_EVENT_RECORD = 6, /**< Records `event`. The next link does not wait for it. */
    PDL_NODE_EVENT_WAIT = 7,   /**< Waits for `event`, recorded outside of the chain. */
    PDL_NODE_GRAPH = 8,        /**< Everything in `graph`. */
    PDL_NODE_IF = 9,           /**< A body that runs if the condition is not 0. */
    PDL_NODE_WHILE = 10, /**< A body that runs again and again while the condition is not 0. */
    PDL_NODE_SWITCH = 11 /**< The body whose index is the condition, or none (CUDA 12.8). */
} pdl_node_kind;

/**
 * A node other than a kernel. Start from PDL_CHAIN_NODE_INIT. A field that the kind does not have
 * must be zero.
 *
 * Memory is set and copied in rows of `width` bytes, `height` rows a slice and `depth` slices. For
 * rows that are not consecutive, the pitches are the bytes from one row to the next; for slices that
 * are not, the slice rows are the rows from one slice to the next. Memory and `data` are not copied:
 * they must be valid during each replay.
 */
typedef struct pdl_chain_node {
    uint32_t size;      /**< sizeof(pdl_chain_node) as the caller was compiled. */
    uint32_t kind;      /**< A pdl_node_kind from PDL_NODE_EMPTY on. */
    void *destination;  /**< MEMSET, COPY: an address of a device, or for COPY of the host. */
    const void *source; /**< COPY: likewise, also of another device (a peer copy). */
    uint64_t width;     /**< MEMSET, COPY: bytes per row. */
    uint64_t height;    /**< MEMSET, COPY: rows; 0 means 1. */
    uint64_t depth;     /**< COPY: slices; 0 means 1. */
    uint64_t destination_pitch; /**< MEMSET, COPY: bytes; 0 means `width`. */
    uint64_t destination_rows;  /**< COPY: rows per slice; 0 means `height`. */
    uint64_t source_pitch;      /**< COPY: bytes; 0 means `width`. */
    uint64_t source_rows;       /**< COPY: rows per slice; 0 means `height`. */
    uint32_t value;             /**< MEMSET: the value of each element. */
    uint32_t element_size;      /**< MEMSET: 1, 2 or 4 bytes; 0 means 1. */
    void (*function)(void *);   /**< HOST: called with `data`, once per replay. */
    void *data;                 /**< HOST: what `function` gets. */
    struct CUevent_st *event;   /**< EVENT_RECORD, EVENT_WAIT: must outlive the chain. */
    struct CUgraph_st *graph;   /**< GRAPH: copied now, so later changes have no effect. */
    uint32_t initial;           /**< IF, WHILE, SWITCH: the condition when a replay begins. */
    uint32_t bodies;            /**< IF: 2 for a second body that runs if the condition is 0 (CUDA
                                     12.8); 0 means 1. SWITCH: 1 to 65,536. */
} pdl_chain_node;

/** Initializer of a pdl_chain_node. */
#define PDL_CHAIN_NODE_INIT PDL_SIZED_INIT_(pdl_chain_node)

/**
 * Adds a node other than a kernel at the end of a chain. The chain must be built (again) before its
 * next launch.
 *
 * The nodes of a graph become nodes of the chain, so that a link behind them can overlap their last
 * kernels. A graph with nodes that cannot be copied one by one (semaphores, batched memory
 * operations), or with kernels of another context than the chain's, stays a child graph, which nothing
 * overlaps. In the bodies of conditionals CUDA accepts no host functions and no events.
 * Maps to cuGraphAddNode in pdl_chain_build(), and cuGraphClone for a graph.
 * @param[out] link the link's index; may be NULL
 * Errors: PDL_ERROR_DESC_FIELD (an unknown kind, a field that the kind does not have, a missing or
 * invalid one), PDL_ERROR_NOT_SUPPORTED (the driver or a body cannot have this node; a graph that
 * allocates memory or has conditional nodes), PDL_ERROR_DESC_SIZE, PDL_ERROR_DESC_TOO_NEW,
 * PDL_ERROR_CAPTURE (the chain is capturing), PDL_ERROR_BUSY, PDL_ERROR_OUT_OF_MEMORY,
 * PDL_ERROR_DRIVER.
 */
PDL_API pdl_status pdl_chain_add_node(pdl_chain *chain, const pdl_chain_node *node, uint32_t *link);

/**
 * The chain that is a body of an IF, WHILE or SWITCH link: links are added to it as to any chain.
 *
 * It belongs to `chain` and is built, launched and destroyed with it: pdl_chain_destroy() of a body does
 * nothing. Calls for both count as calls for one chain where only one thread at a time may make them.
 * @param index below the link's `bodies`: 1 for the second body of an IF, the condition for which it
 * runs for a SWITCH
 * Errors: PDL_ERROR_INVALID_ARGUMENT (not a conditional link, no such body), PDL_ERROR_BUSY.
 */
PDL_API pdl_status pdl_chain_body(pdl_chain *chain, uint32_t link, uint32_t index,
                                  pdl_chain **body);

/**
 * Passes the handle of a condition to a kernel, which sets the condition with
 * cudaGraphSetConditional().
 *
 * From the next build on, the chain puts the handle into this parameter, whatever value
 * pdl_chain_add() and pdl_chain_set_args() have for it.
 * @param link a kernel in `chain`
 * @param parameter the index of a parameter of type cudaGraphConditionalHandle
 * @param owner `chain`, or a chain that has it in a body
 * @param conditional an IF, WHILE or SWITCH link of `owner`
 * Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_ARGUMENT_SIZE (a parameter of another size),
 * PDL_ERROR_BUSY, PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_chain_pass_condition(pdl_chain *chain, uint32_t link, uint32_t parameter,
                                            pdl_chain *owner, uint32_t conditional);

/**
 * Begins to capture a stream into a chain. Until pdl_chain_capture_end(), whatever is put into the
 * stream by any code, such as cuBLAS, NCCL or CUB, does not run but becomes part of the chain.
 *
 * What is captured depends on the previously added link, as if that had been launched in the stream.
 * A captured launch with the PDL attribute directly behind a kernel gets a programmatic edge, as it
 * would in the stream; libpdl does not check that it waits. Nodes that a library adds to the graph
 * without a dependency on the stream follow only such nodes of earlier captures. Maps to
 * cuStreamBeginCaptureToGraph with the relaxed mode.
 * @param stream of the current context's device; not NULL and not the legacy default stream
 * Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_CAPTURE (the chain or the stream is capturing
 * already), PDL_ERROR_BUSY, PDL_ERROR_OUT_OF_MEMORY, and those of the driver.
 */
PDL_API pdl_status pdl_chain_capture_begin(pdl_chain *chain, struct CUstream_st *stream);

/**
 * Ends the capture, and adds what was captured as one link. The chain must be built (again) before
 * its next launch. If this fails, the capture has ended, and the chain has the links that it had.
 *
 * The next link depends on what the next launch in the stream would have depended on
 * (cuStreamGetCaptureInfo), or, if that is only the link before the capture, on all that was captured.
 *
 * What was captured keeps its arguments: only those of pdl_chain_add() can be changed. A library may
 * free what its calls use with the graph in which they were captured, so destroy the chain only
 * after its replays have ended. Maps to cuStreamEndCapture.
 * @param[out] link the link's index; may be NULL
 * Errors: PDL_ERROR_CAPTURE (no capture is in progress, or a call has broken it),
 * PDL_ERROR_NOT_SUPPORTED (memory was allocated, or a body cannot have one of the nodes),
 * PDL_ERROR_BUSY, PDL_ERROR_OUT_OF_MEMORY, and those of the driver.
 */
PDL_API pdl_status pdl_chain_capture_end(pdl_chain *chain, uint32_t *link);

/**
 * Makes a link depend on another one, for forks and joins. The first call for a link replaces its
 * dependency on the previously added link; further calls add dependencies. A link that depends on
 * others cannot be at the start as well (PDL_ERROR_INVALID_ARGUMENT).
 *
 * Links may be added in any order. The chain must be built again. A dependency on a link that was added
 * earlier takes constant time; once a link depends on one that was added later, each dependency may take time in
 * proportion to all that `on` depends on.
 * @param link the link that waits
 * @param on the link that it waits for, or PDL_CHAIN_START for none
 * Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_CYCLE (the dependency is not added),
 * PDL_ERROR_BUSY, PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_chain_add_dependency(pdl_chain *chain, uint32_t link, uint32_t on);

/**
 * Makes the chain ready to launch, on the current context's device. If this fails, the previous
 * build is kept, and the chain stays usable.
 *
 * Maps to cuGraphCreate, cuGraphAddNode per link, and cuGraphInstantiateWithFlags.
 * Errors: those of pdl_graph_add_launch(), PDL_ERROR_NOT_BUILT (no links), PDL_ERROR_BUSY.
 */
PDL_API pdl_status pdl_chain_build(pdl_chain *chain);

/**
 * Replays the whole chain in a stream of its device. Maps to one cuGraphLaunch.
 *
 * @param stream of the chain's device; NULL: the default stream that pdl_chain_options names
 * Errors: PDL_ERROR_NOT_BUILT (never built, or changed since), PDL_ERROR_WRONG_DEVICE,
 * PDL_ERROR_BUSY, and those of the driver as in pdl_launch().
 */
PDL_API pdl_status pdl_chain_launch(pdl_chain *chain, struct CUstream_st *stream);

/**
 * Changes the argument values of a kernel, from the next replay on.
 *
 * Replays that were launched before keep the old values. A built chain needs no rebuilding
 * (cuGraphExecKernelNodeSetParams). If the driver refuses, nothing has changed.
 * Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_BUSY, PDL_ERROR_DRIVER.
 */
PDL_API pdl_status pdl_chain_set_args(pdl_chain *chain, uint32_t link, void *const *args);

/**
 * Changes the descriptor of a kernel, from the next replay on, in a built chain without rebuilding.
 *
 * Grid, block and dynamic shared memory can be changed (cuGraphExecKernelNodeSetParams). Changes
 * of the overlap or of an attribute give PDL_ERROR_REBUILD and change nothing: call
 * pdl_chain_reset() first, and pdl_chain_build() afterwards. A chain that is not built accepts any
 * change. Errors: those of pdl_launch() that need no launch, PDL_ERROR_REBUILD, PDL_ERROR_BUSY.
 */
PDL_API pdl_status pdl_chain_set_desc(pdl_chain *chain, uint32_t link, const pdl_launch_desc *desc);

/**
 * Changes a memset, a copy, a host function or an event, from the next replay on, in a built chain
 * without rebuilding (cuGraphExecNodeSetParams).
 *
 * The kind stays. CUDA accepts any change of a host function or an event, and changes of the
 * addresses of memsets and copies of one row. What it refuses, such as another number of rows, gives
 * PDL_ERROR_REBUILD and changes nothing. A chain that is not built accepts any change.
 * Errors: those of pdl_chain_add_node(), PDL_ERROR_INVALID_ARGUMENT (a link of another kind),
 * PDL_ERROR_REBUILD.
 */
PDL_API pdl_status pdl_chain_set_node(pdl_chain *chain, uint32_t link, const pdl_chain_node *node);

/**
 * Discards the build and keeps the links: afterwards any descriptor can be changed, and the chain
 * must be built again. A replay in flight continues.
 *
 * Maps to cuGraphExecDestroy. Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_BUSY.
 */
PDL_API pdl_status pdl_chain_reset(pdl_chain *chain);

/** The report of pdl_chain_explain() about a link. Start from PDL_CHAIN_REPORT_INIT. */
typedef struct pdl_chain_report {
    uint32_t size;                  /**< sizeof(pdl_chain_report) as the caller was compiled. */
    uint32_t dependency_capacity;   /**< In: elements of `dependency_links`. */
    uint32_t *dependency_links;     /**< In: where to list the links that this one waits for, as
                                       many as fit; NULL to only count them. Not kept. */
    uint32_t dependencies;          /**< How many links this one waits for; may exceed
                                       dependency_capacity. */
    uint32_t links;                 /**< Links in the chain. */
    uint32_t built;                 /**< 1 if the chain can be launched. */
    uint32_t overlap;               /**< 1 if its edges from kernels are programmatic. */
    uint32_t overlap_reason;        /**< A pdl_reason. */
    uint32_t grid[3];               /**< Blocks. */
    uint32_t block[3];              /**< Threads. */
    uint32_t dynamic_shared_memory; /**< Bytes per block. */
    int32_t device;                 /**< The chain's if it is built, otherwise where it would run.
                                         */
    uint32_t reserved;              /**< 0. */
    pdl_kernel *kernel;             /**< The caller's, as it was added. */
    char message[400];              /**< One line: the link, what it waits for and how, and why. */
    uint32_t kind;                  /**< A pdl_node_kind. Only a kernel has a grid, a block, shared
                                       memory and `kernel`. */
    uint32_t nodes;                 /**< Graph nodes that it becomes: 1, or those of a graph or a
                                       capture that are nodes of the chain. */
} pdl_chain_report;

/** Initializer of a pdl_chain_report. */
#define PDL_CHAIN_REPORT_INIT PDL_SIZED_INIT_(pdl_chain_report)

/**
 * Reports what a link launches, what it waits for, whether it overlaps that, and why: as it was built,
 * or before a build, as a build would make it now.
 *
 * Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_BUSY, those of pdl_launch_explain().
 */
PDL_API pdl_status pdl_chain_explain(pdl_chain *chain, uint32_t link, pdl_chain_report *report);

/**
 * The graph that a built chain was made from, for pdl_graph_census() and cuGraphDebugDotPrint; of a
 * body, its own.
 *
 * It belongs to the chain until the next build, reset or destroy; changing it does not change the
 * chain. Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_NOT_BUILT, PDL_ERROR_BUSY.
 */
PDL_API pdl_status pdl_chain_graph(pdl_chain *chain, struct CUgraph_st **graph);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* PDL_CHAIN_H */
