/* SPDX-License-Identifier: MIT */
/** @file
 * Chains: launches recorded once and replayed many times, as one graph launch with the right edges.
 *
 * A chain is a list of links, each a kernel with its descriptor and a copy of its arguments. A
 * link depends on the previously added one, unless pdl_chain_add_dependency() changes that. Its
 * own overlap mode and the gate of launches decide the kind of dependency: programmatic if
 * pdl_launch() would have overlapped, otherwise full. So a link that does not wait, or may not,
 * starts when everything before it has ended, and the next link's wait covers that as well.
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
                                  pdl_chain_launch() and pdl_chain_upload(). */
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
 * Errors: driver loading, PDL_ERROR_NOT_SUPPORTED (a driver below CUDA 12.3), PDL_ERROR_DESC_FIELD
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
 * must outlive the chain; the argument values are copied.
 * @param args one pointer per parameter; NULL if the kernel takes none
 * @param sizes the arguments' sizes in bytes, to be compared with those of the kernel's
 * parameters, or NULL. The driver reports the kernel's (cuKernelGetParamInfo, cuFuncGetParamInfo)
 * since CUDA 12.4; before that they are read from the image of pdl_kernel_from_image() and
 * pdl_kernel_from_file()
 * @param count how many sizes; 0 if sizes is NULL
 * @param[out] link the link's index, from 0 upwards; may be NULL
 * Errors: those of pdl_launch() that need no launch, PDL_ERROR_ARGUMENT_SIZE (sizes that are not
 * the kernel's), PDL_ERROR_NOT_SUPPORTED (the kernel's are not known: before CUDA 12.4, for a kernel
 * whose image was not loaded by libpdl or is compressed), PDL_ERROR_BUSY, PDL_ERROR_OUT_OF_MEMORY.
 */
PDL_API pdl_status pdl_chain_add(pdl_chain *chain, pdl_kernel *kernel, const pdl_launch_desc *desc,
                                 void *const *args, const size_t *sizes, size_t count,
                                 uint32_t *link);

/**
 * Makes a link depend on another one, for forks and joins. The first call for a link replaces its
 * dependency on the previously added link; further calls add dependencies. A link that depends on
 * others cannot be at the start as well (PDL_ERROR_INVALID_ARGUMENT).
 *
 * Links may be added in any order. The chain must be built again.
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
 * Transfers a built chain to the device, so that its first replay takes no longer than the others.
 * Replays nothing. Maps to cuGraphUpload.
 *
 * @param stream of the chain's device; NULL: the chain's default stream. Later work in it waits for
 * the upload; the host does not.
 * Errors: those of pdl_chain_launch().
 */
PDL_API pdl_status pdl_chain_upload(pdl_chain *chain, struct CUstream_st *stream);

/**
 * Replays the whole chain in a stream of its device. Maps to one cuGraphLaunch.
 *
 * @param stream of the chain's device; NULL: the default stream that pdl_chain_options names
 * Errors: PDL_ERROR_NOT_BUILT (never built, or changed since), PDL_ERROR_WRONG_DEVICE,
 * PDL_ERROR_BUSY, and those of the driver as in pdl_launch().
 */
PDL_API pdl_status pdl_chain_launch(pdl_chain *chain, struct CUstream_st *stream);

/**
 * Changes the argument values of a link, from the next replay on.
 *
 * Replays that were launched before keep the old values. A built chain needs no rebuilding
 * (cuGraphExecKernelNodeSetParams). If the driver refuses, nothing has changed.
 * Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_BUSY, PDL_ERROR_DRIVER.
 */
PDL_API pdl_status pdl_chain_set_args(pdl_chain *chain, uint32_t link, void *const *args);

/**
 * Changes the descriptor of a link, from the next replay on, in a built chain without rebuilding.
 *
 * Grid, block and dynamic shared memory can be changed (cuGraphExecKernelNodeSetParams). Changes
 * of the overlap or of an attribute give PDL_ERROR_REBUILD and change nothing: call
 * pdl_chain_reset() first, and pdl_chain_build() afterwards. A chain that is not built accepts any
 * change. Errors: those of pdl_launch() that need no launch, PDL_ERROR_REBUILD, PDL_ERROR_BUSY.
 */
PDL_API pdl_status pdl_chain_set_desc(pdl_chain *chain, uint32_t link, const pdl_launch_desc *desc);

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
                                       many as fit; NULL to only count them. */
    uint32_t dependencies;          /**< How many links this one waits for; may exceed
                                       dependency_capacity. */
    uint32_t links;                 /**< Links in the chain. */
    uint32_t built;                 /**< 1 if the chain can be launched. */
    uint32_t overlap;               /**< 1 if its edges are programmatic. */
    uint32_t overlap_reason;        /**< A pdl_reason. */
    uint32_t grid[3];               /**< Blocks. */
    uint32_t block[3];              /**< Threads. */
    uint32_t dynamic_shared_memory; /**< Bytes per block. */
    int32_t device;                 /**< The chain's if it is built, otherwise where it would run.
                                         */
    uint32_t reserved;              /**< 0. */
    pdl_kernel *kernel;             /**< The caller's, as it was added. */
    char message[400];              /**< One line: the link, what it waits for and how, and why. */
} pdl_chain_report;

/** Initializer of a pdl_chain_report. */
#define PDL_CHAIN_REPORT_INIT PDL_SIZED_INIT_(pdl_chain_report)

/**
 * Reports what a link launches, what it waits for, whether it overlaps that, and why.
 *
 * Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_BUSY, those of pdl_launch_explain().
 */
PDL_API pdl_status pdl_chain_explain(pdl_chain *chain, uint32_t link, pdl_chain_report *report);

/**
 * The graph that a built chain was made from, for pdl_graph_census() and cuGraphDebugDotPrint.
 *
 * It belongs to the chain until the next build, reset or destroy; changing it does not change the
 * chain. Errors: PDL_ERROR_INVALID_ARGUMENT, PDL_ERROR_NOT_BUILT, PDL_ERROR_BUSY.
 */
PDL_API pdl_status pdl_chain_graph(pdl_chain *chain, struct CUgraph_st **graph);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* PDL_CHAIN_H */
