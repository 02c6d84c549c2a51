/* SPDX-License-Identifier: MIT */
/* Kernel nodes of graphs, made from lowered launches. */
#ifndef PDL_LIB_NODE_H
#define PDL_LIB_NODE_H

#include <pdl/graph.h>

#include "launch/lower.h"

/* Refuses drivers without graph edge data, or that do not report the parameters of kernels. */
pdl_status pdl_node_check_driver(const struct pdl_driver *driver);

/* Checks and lowers a descriptor for a node on a device. What a node cannot have is refused. */
pdl_status pdl_node_lower(pdl_kernel *kernel, int device, const pdl_launch_desc *desc,
                          struct pdl_lowered *lowered);

/* The parameters of a lowered launch as the calls for nodes take them, for the current context;
 * they hold `args`. A CUkernel is resolved to its function, so that later calls need no context to
 * be current. */
pdl_status pdl_node_params(const pdl_kernel *kernel, const struct pdl_lowered *lowered, void **args,
                           CUDA_KERNEL_NODE_PARAMS *params);

/* The same parameters with another shape. */
void pdl_node_reshape(CUDA_KERNEL_NODE_PARAMS *params, const CUlaunchConfig *config);

/* Adds a node with its attributes to a graph; nothing is left in the graph on failure. Programmatic
 * edges are made full where the launch was not granted its overlap. */
pdl_status pdl_node_add(const pdl_kernel *kernel, const struct pdl_lowered *lowered,
                        const CUDA_KERNEL_NODE_PARAMS *params, struct CUgraph_st *graph,
                        const pdl_edge *edges, size_t count, CUgraphNode *node);

/* Adds a node of any type. Programmatic edges are made full unless `overlaps` is set. `doing` is for the
 * error. */
pdl_status pdl_node_add_any(const struct pdl_driver *driver, struct CUgraph_st *graph,
                            CUgraphNodeParams *params, const pdl_edge *edges, size_t count,
                            bool overlaps, const char *doing, CUgraphNode *node);

/* The graph of a child graph node. */
pdl_status pdl_node_child(const struct pdl_driver *driver, CUgraphNode node, CUgraph *graph);

#endif /* PDL_LIB_NODE_H */
