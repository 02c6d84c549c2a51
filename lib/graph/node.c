/* SPDX-License-Identifier: MIT */
/* Nodes of graphs, and kernel nodes that a program adds itself. */
#include "graph/node.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "graph/snapshot.h"
#include "launch/log.h"

static bool is_programmatic(uint32_t kind)
{
    return kind == PDL_EDGE_PROGRAMMATIC || kind == PDL_EDGE_PROGRAMMATIC_AT_BLOCK_START;
}

pdl_status pdl_node_check_driver(const struct pdl_driver *driver)
{
    if (driver->cuGraphAddNode == NULL || driver->cuGraphGetEdges == NULL ||
        driver->cuGraphNodeGetDependencies == NULL || driver->cuStreamGetCaptureInfo == NULL ||
        !pdl_driver_has_parameters(driver)) {
        return PDL_FAIL(PDL_ERROR_NOT_SUPPORTED,
                        "graphs and chains need a driver of CUDA 12.4 or newer, this one is %d.%d",
                        driver->version / 1000, driver->version % 1000 / 10);
    }
    return PDL_SUCCESS;
}

pdl_status pdl_node_lower(pdl_kernel *kernel, int device, const pdl_launch_desc *desc,
                          struct pdl_lowered *lowered)
{
    if (desc->trigger_event != NULL || desc->launch_event != NULL) {
        const char *field = desc->trigger_event != NULL ? "trigger_event" : "launch_event";
        return PDL_FAIL_FIELD(
            PDL_ERROR_NOT_SUPPORTED, field,
            "%s is set: a kernel node records no event, give its dependents an edge "
            "of that kind",
            field);
    }
    if (kernel->device >= 0 && kernel->device != device) {
        return PDL_FAIL_FIELD(
            PDL_ERROR_WRONG_DEVICE, "kernel",
            "the kernel's function is of device %d and the graph is made for device "
            "%d: a CUkernel, an image or a symbol serves every device",
            kernel->device, device);
    }
    pdl_launch_desc node = *desc;
    node.stream = PDL_NODE_STREAM;
    const pdl_status status = pdl_lower(kernel, device, &node, lowered);
    lowered->config.hStream = NULL; /* a node is in none */
    return status;
}

void pdl_node_reshape(CUDA_KERNEL_NODE_PARAMS *params, const CUlaunchConfig *config)
{
    params->gridDimX = config->gridDimX;
    params->gridDimY = config->gridDimY;
    params->gridDimZ = config->gridDimZ;
    params->blockDimX = config->blockDimX;
    params->blockDimY = config->blockDimY;
    params->blockDimZ = config->blockDimZ;
    params->sharedMemBytes = config->sharedMemBytes;
}

pdl_status pdl_node_params(const pdl_kernel *kernel, const struct pdl_lowered *lowered, void **args,
                           CUDA_KERNEL_NODE_PARAMS *params)
{
    CUfunction function = NULL;
    PDL_RETURN_IF_ERROR(pdl_kernel_resolve(kernel, &function));
    *params = (CUDA_KERNEL_NODE_PARAMS){.func = function, .kernelParams = args};
    pdl_node_reshape(params, &lowered->config);
    return PDL_SUCCESS;
}

static pdl_status set_attribute(const pdl_kernel *kernel, CUgraphNode node,
                                const CUlaunchAttribute *attribute)
{
    const CUresult result =
        kernel->driver->cuGraphKernelNodeSetAttribute(node, attribute->id, &attribute->value);
    if (result == CUDA_SUCCESS) {
        return PDL_SUCCESS;
    }
    if (result != CUDA_ERROR_NOT_SUPPORTED && result != CUDA_ERROR_INVALID_VALUE) {
        return pdl_error_from_cuda(kernel->driver, "cuGraphKernelNodeSetAttribute", (int32_t)result,
                                   "to set an attribute of a kernel node");
    }
    const struct pdl_attribute *row = pdl_attribute_find((int)attribute->id);
    const char *const field = row != NULL ? row->field : "extra_attributes";
    return pdl_error_set(PDL_ERROR_NOT_SUPPORTED, "cuGraphKernelNodeSetAttribute", field,
                         (int32_t)result,
                         "the driver refused %s (attribute %d) for a node of kernel %s: %s", field,
                         (int)attribute->id, pdl_kernel_name(kernel),
                         pdl_driver_result_name(kernel->driver, result));
}

/* Sets the attributes that a node can have. */
static pdl_status set_attributes(const pdl_kernel *kernel, const struct pdl_lowered *lowered,
                                 CUgraphNode node)
{
    const CUlaunchAttribute *updatable = NULL;
    for (unsigned i = 0; i < lowered->config.numAttrs; i++) {
        const CUlaunchAttribute *attribute = &lowered->config.attrs[i];
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
            continue; /* in a graph that is the edge */
        }
        if ((int)attribute->id == PDL_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) {
            updatable = attribute; /* last: such a node cannot be taken out again */
            continue;
        }
        PDL_RETURN_IF_ERROR(set_attribute(kernel, node, attribute));
    }
    return updatable != NULL ? set_attribute(kernel, node, updatable) : PDL_SUCCESS;
}

/* ---- edges ---------------------------------------------------------------------------------- */

/* After the driver refused to add a node: says so if a dependency is of another graph. */
static pdl_status check_membership(const struct pdl_driver *driver, CUgraph graph,
                                   const pdl_edge *edges, size_t count)
{
    struct pdl_snapshot snapshot;
    pdl_status status = PDL_SUCCESS;
    if (pdl_snapshot_take(driver, graph, &snapshot) != PDL_SUCCESS) {
        return PDL_SUCCESS; /* the driver's own word has to do */
    }
    for (size_t i = 0; i < count && status == PDL_SUCCESS; i++) {
        if (pdl_snapshot_find(&snapshot, edges[i].node) == NULL) {
            status = PDL_FAIL_FIELD(PDL_ERROR_EDGE, "dependencies",
                                    "dependency %zu is not a node of this graph, which has %zu", i,
                                    snapshot.node_count);
        }
    }
    pdl_snapshot_forget(&snapshot);
    return status;
}

/* *broken: the first one that is programmatic and behind which an overlap breaks the order, or `count`. */
static pdl_status check_edges(const struct pdl_driver *driver, const pdl_edge *edges, size_t count,
                              uint32_t overlap, size_t *broken)
{
    *broken = count;
    for (size_t i = 0; i < count; i++) {
        const pdl_edge *edge = &edges[i];
        CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
        if (edge->node == NULL) {
            return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "dependencies",
                                  "dependency %zu has no node", i);
        }
        if (edge->kind > PDL_EDGE_PROGRAMMATIC_AT_BLOCK_START || edge->reserved != 0) {
            return PDL_FAIL_FIELD(PDL_ERROR_EDGE, "dependencies",
                                  "dependency %zu has kind %u (of 0 to %d) and reserved %u (of 0)",
                                  i, edge->kind, PDL_EDGE_PROGRAMMATIC_AT_BLOCK_START,
                                  edge->reserved);
        }
        if (edge->kind == PDL_EDGE_FULL) {
            continue;
        }
        PDL_RETURN_IF_ERROR(
            PDL_CALL(driver, "to check a dependency", cuGraphNodeGetType, edge->node, &type));
        if (type != CU_GRAPH_NODE_TYPE_KERNEL) {
            return PDL_FAIL_FIELD(
                PDL_ERROR_EDGE, "dependencies",
                "dependency %zu is a node of type %d: only a kernel has a trigger "
                "and a launch to depend on",
                i, (int)type);
        }
        if (is_programmatic(edge->kind) && overlap == PDL_OVERLAP_NONE) {
            return PDL_FAIL_FIELD(
                PDL_ERROR_DESC_FIELD, "overlap",
                "dependency %zu is programmatic and overlap is PDL_OVERLAP_NONE: ask "
                "for PDL_OVERLAP_AUTO or PDL_OVERLAP_REQUIRE",
                i);
        }
        if (is_programmatic(edge->kind) && *broken == count) {
            bool breaks = false;
            PDL_RETURN_IF_ERROR(pdl_neighbour_check(driver, edge->node, &breaks));
            *broken = breaks ? i : count;
        }
    }
    return PDL_SUCCESS;
}

/* ---- adding --------------------------------------------------------------------------------- */

static pdl_status take_device_node(const pdl_kernel *kernel, CUgraphNode node,
                                   struct CUgraphDeviceUpdatableNode_st **device_node)
{
    CUlaunchAttributeValue value;
    memset(&value, 0, sizeof(value));
    PDL_RETURN_IF_ERROR(PDL_CALL(
        kernel->driver, "to get the device's handle of a node", cuGraphKernelNodeGetAttribute, node,
        (CUlaunchAttributeID)PDL_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value));
    pdl_device_node_get(&value, device_node);
    return PDL_SUCCESS;
}

_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS) == sizeof(CUDA_KERNEL_NODE_PARAMS_v3),
               "versions 2 and 3 have the same members in the same order");

pdl_status pdl_node_add_any(const struct pdl_driver *driver, struct CUgraph_st *graph,
                            CUgraphNodeParams *params, const pdl_edge *edges, size_t count,
                            bool overlaps, const char *doing, CUgraphNode *node)
{
    CUgraphNode *const nodes = malloc((count + 1) * (sizeof(*nodes) + sizeof(CUgraphEdgeData)));
    pdl_status status = PDL_SUCCESS;
    if (nodes == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for %zu dependencies", count);
    }
    CUgraphEdgeData *const data = (CUgraphEdgeData *)(nodes + count);
    for (size_t i = 0; i < count; i++) {
        const bool full = is_programmatic(edges[i].kind) && !overlaps;
        nodes[i] = edges[i].node;
        data[i] = pdl_edge_data[full ? (uint32_t)PDL_EDGE_FULL : edges[i].kind];
    }
    const CUresult result = driver->cuGraphAddNode(node, graph, count > 0 ? nodes : NULL,
                                                   count > 0 ? data : NULL, count, params);
    if (result == CUDA_ERROR_INVALID_VALUE) {
        status = check_membership(driver, graph, edges, count);
    }
    if (result != CUDA_SUCCESS && status == PDL_SUCCESS) {
        status = pdl_error_from_cuda(driver, "cuGraphAddNode", (int32_t)result, doing);
    }
    free(nodes);
    return status;
}

pdl_status pdl_node_add(const pdl_kernel *kernel, const struct pdl_lowered *lowered,
                        const CUDA_KERNEL_NODE_PARAMS *kernel_params, struct CUgraph_st *graph,
                        const pdl_edge *edges, size_t count, CUgraphNode *node)
{
    CUgraphNodeParams params;
    CUgraphNode added = NULL;
    memset(&params, 0, sizeof(params));
    params.type = CU_GRAPH_NODE_TYPE_KERNEL;
    memcpy(&params.kernel, kernel_params, sizeof(*kernel_params));
    PDL_RETURN_IF_ERROR(pdl_node_add_any(kernel->driver, graph, &params, edges, count,
                                         lowered->reason == PDL_REASON_GRANTED,
                                         "to add a kernel node", &added));
    const pdl_status status = set_attributes(kernel, lowered, added);
    if (status != PDL_SUCCESS) {
        (void)kernel->driver->cuGraphDestroyNode(added);
        return status;
    }
    pdl_log_decision(kernel, lowered);
    if (lowered->reason == PDL_REASON_GRANTED) {
        pdl_neighbour_note(&lowered->facts->neighbour, kernel_params->func);
    }
    *node = added;
    return PDL_SUCCESS;
}

pdl_status pdl_node_child(const struct pdl_driver *driver, CUgraphNode node, CUgraph *graph)
{
    return PDL_CALL(driver, "to look into a child graph", cuGraphChildGraphNodeGetGraph, node,
                    graph);
}

static pdl_status check_arguments(const void *graph, const pdl_edge *dependencies, size_t count,
                                  const pdl_kernel *kernel, const pdl_launch_desc *desc,
                                  const void *node)
{
    const char *const missing = graph == NULL    ? "graph"
                                : kernel == NULL ? "kernel"
                                : desc == NULL   ? "desc"
                                : node == NULL   ? "node"
                                                 : NULL;
    if (missing != NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, missing, "%s is NULL", missing);
    }
    if (count > 0 && dependencies == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "dependencies",
                              "dependencies is NULL and count is %zu", count);
    }
    return PDL_SUCCESS;
}

pdl_status pdl_graph_add_launch(struct CUgraph_st *graph, const pdl_edge *dependencies,
                                size_t count, pdl_kernel *kernel, const pdl_launch_desc *desc,
                                void *const *args, struct CUgraphNode_st **node)
{
    struct pdl_lowered lowered;
    pdl_launch_desc copy;
    CUDA_KERNEL_NODE_PARAMS params;
    CUgraphNode added = NULL;
    int device = -1;
    size_t broken = 0;
    PDL_RETURN_IF_ERROR(check_arguments(graph, dependencies, count, kernel, desc, node));
    PDL_RETURN_IF_ERROR(pdl_node_check_driver(kernel->driver));
    PDL_RETURN_IF_ERROR(pdl_desc_whole(&desc, &copy));
    PDL_RETURN_IF_ERROR(check_edges(kernel->driver, dependencies, count, desc->overlap, &broken));
    PDL_RETURN_IF_ERROR(pdl_kernel_device(kernel, NULL, &device));
    PDL_RETURN_IF_ERROR(pdl_node_lower(kernel, device, desc, &lowered));
    if (broken < count && lowered.reason == PDL_REASON_GRANTED) {
        lowered.reason = PDL_REASON_PREDECESSOR;
        if (desc->overlap == PDL_OVERLAP_REQUIRE) {
            return PDL_FAIL_FIELD(
                PDL_ERROR_OVERLAP, "overlap",
                "kernel %s cannot overlap as required: %s (dependency %zu overlaps what it depends "
                "on, and libpdl has added no kernel of its function that waits)",
                pdl_kernel_name(kernel), pdl_reason_string(lowered.reason), broken);
        }
    }
    PDL_RETURN_IF_ERROR(pdl_node_params(kernel, &lowered, (void **)args, &params));
    PDL_RETURN_IF_ERROR(
        pdl_node_add(kernel, &lowered, &params, graph, dependencies, count, &added));
    if (desc->device_node != NULL) {
        PDL_RETURN_IF_ERROR(take_device_node(kernel, added, desc->device_node));
    }
    *node = added;
    return PDL_SUCCESS;
}
