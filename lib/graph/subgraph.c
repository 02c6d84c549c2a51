/* SPDX-License-Identifier: MIT */
#include "graph/subgraph.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "launch/neighbour.h"

/* A list of `count` at least has one element: NULL is for no memory. */
#define LIST(count, type) calloc((count) + 1, sizeof(type))

pdl_status pdl_subgraph_create(const struct pdl_driver *driver, struct pdl_subgraph **subgraph)
{
    struct pdl_subgraph *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a subgraph");
    }
    made->driver = driver;
    *subgraph = made;
    return PDL_SUCCESS;
}

void pdl_subgraph_destroy(struct pdl_subgraph *subgraph)
{
    if (subgraph == NULL) {
        return;
    }
    if (subgraph->graph != NULL) {
        (void)subgraph->driver->cuGraphDestroy(subgraph->graph);
    }
    pdl_snapshot_forget(&subgraph->snapshot);
    free(subgraph->ends);
    free(subgraph->exits);
    free(subgraph->copies);
    free(subgraph);
}

/* ---- what a subgraph can have --------------------------------------------------------------- */

static pdl_status check_graph(const struct pdl_driver *driver, CUgraph graph, bool in_body,
                              unsigned depth);

/* Checks the nodes of a graph and of its child graphs. *copied: whether each can be copied. */
/* NOLINTBEGIN(misc-no-recursion): no deeper than PDL_SUBGRAPH_DEPTH */
static pdl_status check_nodes(const struct pdl_snapshot *snapshot, bool in_body, unsigned depth,
                              bool *copied)
{
    for (size_t i = 0; i < snapshot->node_count; i++) {
        CUgraph graph = NULL;
        switch ((int)snapshot->nodes[i].type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
        case CU_GRAPH_NODE_TYPE_MEMCPY:
        case CU_GRAPH_NODE_TYPE_MEMSET:
        case CU_GRAPH_NODE_TYPE_EMPTY:
            continue;
        case CU_GRAPH_NODE_TYPE_GRAPH:
            PDL_RETURN_IF_ERROR(
                pdl_node_child(snapshot->driver, snapshot->nodes[i].handle, &graph));
            PDL_RETURN_IF_ERROR(check_graph(snapshot->driver, graph, in_body, depth + 1));
            continue;
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        case CU_GRAPH_NODE_TYPE_MEM_FREE:
            return PDL_FAIL(PDL_ERROR_NOT_SUPPORTED,
                            "memory is allocated or freed in it: each build of a chain copies the "
                            "nodes, and a copy would have another address; allocate before");
        case CU_GRAPH_NODE_TYPE_CONDITIONAL:
            return PDL_FAIL(PDL_ERROR_NOT_SUPPORTED,
                            "it has a conditional node, which CUDA does not copy: add it with "
                            "PDL_NODE_IF, PDL_NODE_WHILE or PDL_NODE_SWITCH");
        case CU_GRAPH_NODE_TYPE_HOST:
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
            break;
        default:
            *copied = false;
            break;
        }
        if (in_body) {
            return PDL_FAIL(PDL_ERROR_NOT_SUPPORTED,
                            "it has a node of type %d: CUDA accepts kernels, memsets, copies, "
                            "graphs and empty nodes in the body of a conditional",
                            (int)snapshot->nodes[i].type);
        }
    }
    return PDL_SUCCESS;
}

static pdl_status check_graph(const struct pdl_driver *driver, CUgraph graph, bool in_body,
                              unsigned depth)
{
    struct pdl_snapshot snapshot;
    bool ignored = true;
    if (depth > PDL_SUBGRAPH_DEPTH) {
        return PDL_FAIL(PDL_ERROR_NOT_SUPPORTED, "child graphs are in each other more than %d deep",
                        PDL_SUBGRAPH_DEPTH);
    }
    pdl_status status = pdl_snapshot_take(driver, graph, &snapshot);
    if (status == PDL_SUCCESS) {
        status = check_nodes(&snapshot, in_body, depth, &ignored);
        pdl_snapshot_forget(&snapshot);
    }
    return status;
}
/* NOLINTEND(misc-no-recursion) */

pdl_status pdl_subgraph_check(const struct pdl_driver *driver, CUgraph graph, bool in_body)
{
    return check_graph(driver, graph, in_body, 0);
}

/* Memsets and copies do not tell their context: that of the kernels is taken, if it is one. */
static pdl_status find_context(struct pdl_subgraph *subgraph)
{
    for (size_t i = 0; i < subgraph->snapshot.node_count; i++) {
        const struct pdl_snapshot_node *node = &subgraph->snapshot.nodes[i];
        CUDA_KERNEL_NODE_PARAMS params;
        if (node->type != CU_GRAPH_NODE_TYPE_KERNEL || node->handle == subgraph->anchor) {
            continue;
        }
        memset(&params, 0, sizeof(params));
        PDL_RETURN_IF_ERROR(PDL_CALL(subgraph->driver, "to read a kernel node",
                                     cuGraphKernelNodeGetParams, node->handle, &params));
        if (params.ctx != NULL && subgraph->context != NULL && params.ctx != subgraph->context) {
            subgraph->in_place = false;
        }
        subgraph->context = params.ctx != NULL ? params.ctx : subgraph->context;
    }
    return PDL_SUCCESS;
}

/* What find_exits() sees of a node, in seen_by. */
enum { FOLLOWED = 1, AT_END = 2 };

/* Where the stream's own end is known, that is the end of the subgraph. A library may have forked off work that the stream
 * does not wait for: an event record, say. That holds up no later link, as it would hold up no later launch. */
static void find_exits(struct pdl_subgraph *subgraph)
{
    const struct pdl_snapshot *snapshot = &subgraph->snapshot;
    bool as_stream = subgraph->end_count > 0;
    for (size_t i = 0; i < snapshot->edge_count; i++) {
        pdl_snapshot_find(snapshot, snapshot->from[i])->seen_by = FOLLOWED;
        subgraph->overlaps =
            subgraph->overlaps || (snapshot->from[i] == subgraph->anchor &&
                                   snapshot->data[i].type != CU_GRAPH_DEPENDENCY_TYPE_DEFAULT);
    }
    for (size_t i = 0; i < subgraph->end_count && as_stream; i++) {
        struct pdl_snapshot_node *node = pdl_snapshot_find(snapshot, subgraph->ends[i]);
        as_stream = node != NULL && node->handle != subgraph->anchor;
        if (as_stream) {
            node->seen_by |= AT_END;
        }
    }
    for (uint32_t i = 0; i < snapshot->node_count; i++) {
        const struct pdl_snapshot_node *node = &snapshot->nodes[i];
        if (as_stream ? (node->seen_by & AT_END) != 0
                      : (node->seen_by & FOLLOWED) == 0 && node->handle != subgraph->anchor) {
            subgraph->exits[subgraph->exit_count++] = i;
        }
    }
    for (uint32_t i = 0; i < snapshot->node_count && as_stream; i++) {
        if (snapshot->nodes[i].seen_by == 0 && snapshot->nodes[i].handle != subgraph->anchor) {
            subgraph->exits[subgraph->exit_count + subgraph->beside_count++] = i;
        }
    }
}

/* A child graph would run the anchor. */
static pdl_status become_child(struct pdl_subgraph *subgraph)
{
    subgraph->in_place = false;
    if (subgraph->anchor != NULL) {
        PDL_RETURN_IF_ERROR(PDL_CALL(subgraph->driver, "to make a capture a child graph",
                                     cuGraphDestroyNode, subgraph->anchor));
        subgraph->anchor = NULL;
    }
    return PDL_SUCCESS;
}

pdl_status pdl_subgraph_finish(struct pdl_subgraph *subgraph, bool in_body)
{
    PDL_RETURN_IF_ERROR(pdl_snapshot_take(subgraph->driver, subgraph->graph, &subgraph->snapshot));
    subgraph->in_place = true;
    PDL_RETURN_IF_ERROR(check_nodes(&subgraph->snapshot, in_body, 0, &subgraph->in_place));
    PDL_RETURN_IF_ERROR(find_context(subgraph));
    subgraph->exits = LIST(subgraph->snapshot.node_count, *subgraph->exits);
    subgraph->copies = LIST(subgraph->snapshot.node_count, *subgraph->copies);
    if (subgraph->exits == NULL || subgraph->copies == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a graph of %zu nodes",
                        subgraph->snapshot.node_count);
    }
    find_exits(subgraph);
    return subgraph->in_place && subgraph->exit_count > 0 ? PDL_SUCCESS : become_child(subgraph);
}

pdl_status pdl_subgraph_exit(const struct pdl_subgraph *subgraph, uint32_t exit, pdl_reason *reason)
{
    const struct pdl_snapshot_node *node = &subgraph->snapshot.nodes[subgraph->exits[exit]];
    bool breaks = false;
    *reason = PDL_REASON_NODE;
    if (!subgraph->in_place || node->type != CU_GRAPH_NODE_TYPE_KERNEL) {
        return PDL_SUCCESS;
    }
    const pdl_status status = pdl_neighbour_check(subgraph->driver, node->handle, &breaks);
    *reason = breaks ? PDL_REASON_PREDECESSOR : PDL_REASON_GRANTED;
    return status;
}

/* ---- copying -------------------------------------------------------------------------------- */

static const char copying[] = "to copy a node into a chain";

static pdl_status read_params(const struct pdl_driver *driver, const struct pdl_snapshot_node *node,
                              CUcontext context, CUgraphNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS kernel = {.func = NULL};
    CUDA_MEMSET_NODE_PARAMS_v1 set = {.dst = 0};
    CUDA_HOST_NODE_PARAMS_v1 host = {.fn = NULL};
    CUgraphNode handle = node->handle;
    memset(params, 0, sizeof(*params));
    params->type = node->type;
    switch ((int)node->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        PDL_RETURN_IF_ERROR(PDL_CALL(driver, copying, cuGraphKernelNodeGetParams, handle, &kernel));
        memcpy(&params->kernel, &kernel, sizeof(kernel));
        return PDL_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        params->memcpy.copyCtx = context;
        return PDL_CALL(driver, copying, cuGraphMemcpyNodeGetParams, handle,
                        &params->memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET: /* version 2 begins with the members of version 1 */
        PDL_RETURN_IF_ERROR(PDL_CALL(driver, copying, cuGraphMemsetNodeGetParams, handle, &set));
        memcpy(&params->memset, &set, sizeof(set));
        params->memset.ctx = context;
        return PDL_SUCCESS;
    case CU_GRAPH_NODE_TYPE_HOST: /* likewise */
        PDL_RETURN_IF_ERROR(PDL_CALL(driver, copying, cuGraphHostNodeGetParams, handle, &host));
        memcpy(&params->host, &host, sizeof(host));
        return PDL_SUCCESS;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return PDL_CALL(driver, copying, cuGraphChildGraphNodeGetGraph, handle,
                        &params->graph.graph);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return PDL_CALL(driver, copying, cuGraphEventRecordNodeGetEvent, handle,
                        &params->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return PDL_CALL(driver, copying, cuGraphEventWaitNodeGetEvent, handle,
                        &params->eventWait.event);
    default:
        return PDL_SUCCESS;
    }
}

/* Adds a copy without edges. */
static pdl_status copy_node(const struct pdl_driver *driver, const struct pdl_snapshot_node *node,
                            CUgraph graph, CUcontext context, CUgraphNode *copy)
{
    CUgraphNodeParams params;
    PDL_RETURN_IF_ERROR(read_params(driver, node, context, &params));
    PDL_RETURN_IF_ERROR(
        PDL_CALL(driver, copying, cuGraphAddNode, copy, graph, NULL, NULL, 0, &params));
    return node->type == CU_GRAPH_NODE_TYPE_KERNEL
               ? PDL_CALL(driver, copying, cuGraphKernelNodeCopyAttributes, *copy, node->handle)
               : PDL_SUCCESS;
}

static pdl_status add_edge(const struct pdl_driver *driver, CUgraph graph, CUgraphNode from,
                           CUgraphNode to, const CUgraphEdgeData *data)
{
    return PDL_CALL(driver, "to copy an edge", cuGraphAddDependencies, graph, &from, &to, data, 1);
}

/* Adds the edges into the copy of a node: those from others of the subgraph as they are, and those from
 * the anchor as edges from what is before the subgraph. Behind an anchor, a node without edges was put into the graph beside
 * the stream. It does not wait for the stream, and comes after what was beside it before: each beginning of its own would
 * cost the driver more than a node on the way. */
static pdl_status copy_edges(const struct pdl_subgraph *subgraph, uint32_t index, CUgraph graph,
                             const pdl_edge *edges, size_t count, const struct pdl_subgraph *before)
{
    const struct pdl_snapshot *snapshot = &subgraph->snapshot;
    const struct pdl_snapshot_node *node = &snapshot->nodes[index];
    const bool beside = node->edge_count == 0 && subgraph->anchor != NULL;
    bool first = node->edge_count == 0 && !beside;
    CUgraphEdgeData entry = pdl_edge_data[PDL_EDGE_FULL];
    pdl_status status = PDL_SUCCESS;
    for (uint32_t i = 0; i < node->edge_count && status == PDL_SUCCESS; i++) {
        const uint32_t edge = snapshot->incoming[node->first_edge + i];
        const struct pdl_snapshot_node *from = pdl_snapshot_find(snapshot, snapshot->from[edge]);
        if (from->handle == subgraph->anchor) { /* of two edges, the full one counts */
            entry = first && entry.type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT ? entry
                                                                            : snapshot->data[edge];
            first = true;
            continue;
        }
        status = add_edge(subgraph->driver, graph, subgraph->copies[from - snapshot->nodes],
                          subgraph->copies[index], &snapshot->data[edge]);
    }
    for (uint32_t i = 0;
         beside && before != NULL && i < before->beside_count && status == PDL_SUCCESS; i++) {
        status =
            add_edge(subgraph->driver, graph, before->copies[before->exits[before->exit_count + i]],
                     subgraph->copies[index], &pdl_edge_data[PDL_EDGE_FULL]);
    }
    for (size_t i = 0; first && i < count && status == PDL_SUCCESS; i++) {
        const bool full = edges[i].kind == PDL_EDGE_FULL;
        status = add_edge(subgraph->driver, graph, edges[i].node, subgraph->copies[index],
                          full ? &pdl_edge_data[PDL_EDGE_FULL] : &entry);
    }
    return status;
}

/* Copies all nodes in the order in which the driver lists them, and then the edges. */
static pdl_status place_nodes(struct pdl_subgraph *subgraph, CUgraph graph, CUcontext context,
                              const pdl_edge *edges, size_t count,
                              const struct pdl_subgraph *before)
{
    const struct pdl_snapshot *snapshot = &subgraph->snapshot;
    pdl_status status = PDL_SUCCESS;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < snapshot->node_count && status == PDL_SUCCESS; i++) {
            const struct pdl_snapshot_node *node = pdl_snapshot_find(snapshot, snapshot->listed[i]);
            const uint32_t index = (uint32_t)(node - snapshot->nodes);
            if (node->handle != subgraph->anchor) {
                status = pass == 0 ? copy_node(subgraph->driver, node, graph, context,
                                               &subgraph->copies[index])
                                   : copy_edges(subgraph, index, graph, edges, count, before);
            }
        }
    }
    return status;
}

pdl_status pdl_subgraph_place(struct pdl_subgraph *subgraph, CUgraph graph, CUcontext context,
                              const pdl_edge *edges, size_t count,
                              const struct pdl_subgraph *before, const char *doing,
                              CUgraphNode *node)
{
    CUgraphNodeParams params;
    pdl_status status = PDL_SUCCESS;
    if (subgraph->in_place && subgraph->context != NULL && subgraph->context != context) {
        status = become_child(subgraph);
    }
    subgraph->placed = subgraph->in_place;
    if (status != PDL_SUCCESS || subgraph->in_place) {
        return status == PDL_SUCCESS ? place_nodes(subgraph, graph, context, edges, count, before)
                                     : status;
    }
    memset(&params, 0, sizeof(params));
    params.type = subgraph->exit_count > 0 ? CU_GRAPH_NODE_TYPE_GRAPH : CU_GRAPH_NODE_TYPE_EMPTY;
    params.graph.graph = subgraph->exit_count > 0 ? subgraph->graph : NULL;
    return pdl_node_add_any(subgraph->driver, graph, &params, edges, count, false, doing, node);
}
