/* SPDX-License-Identifier: MIT */
#include "graph/subgraph.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "launch/neighbour.h"

/* A list of `count` at least has one element: NULL is for no memory. */
#define LIST(count, type) calloc((count) + 1, sizeof(type))

pdl_status pdl_piece_create(const struct pdl_driver *driver, struct pdl_piece **piece)
{
    struct pdl_piece *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a part of a chain");
    }
    made->driver = driver;
    *piece = made;
    return PDL_SUCCESS;
}

void pdl_piece_destroy(struct pdl_piece *piece)
{
    if (piece == NULL) {
        return;
    }
    if (piece->graph != NULL) {
        (void)piece->driver->cuGraphDestroy(piece->graph);
    }
    pdl_picture_forget(&piece->picture);
    free(piece->ends);
    free(piece->exits);
    free(piece->copies);
    free(piece);
}

/* ---- what a piece can have ------------------------------------------------------------------ */

static pdl_status check_graph(const struct pdl_driver *driver, CUgraph graph, bool in_body,
                              unsigned depth);

/* Checks the nodes of a graph and of its child graphs. *copied: whether each can be copied. */
/* NOLINTBEGIN(misc-no-recursion): no deeper than PDL_PIECE_DEPTH */
static pdl_status check_nodes(const struct pdl_picture *picture, bool in_body, unsigned depth,
                              bool *copied)
{
    for (size_t i = 0; i < picture->node_count; i++) {
        CUgraph graph = NULL;
        pdl_status status = PDL_SUCCESS;
        switch ((int)picture->nodes[i].type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
        case CU_GRAPH_NODE_TYPE_MEMCPY:
        case CU_GRAPH_NODE_TYPE_MEMSET:
        case CU_GRAPH_NODE_TYPE_EMPTY:
            continue;
        case CU_GRAPH_NODE_TYPE_GRAPH:
            status = pdl_node_child(picture->driver, picture->nodes[i].handle, &graph);
            if (status == PDL_SUCCESS) {
                status = check_graph(picture->driver, graph, in_body, depth + 1);
            }
            if (status != PDL_SUCCESS) {
                return status;
            }
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
                            (int)picture->nodes[i].type);
        }
    }
    return PDL_SUCCESS;
}

static pdl_status check_graph(const struct pdl_driver *driver, CUgraph graph, bool in_body,
                              unsigned depth)
{
    struct pdl_picture picture;
    bool ignored = true;
    if (depth > PDL_PIECE_DEPTH) {
        return PDL_FAIL(PDL_ERROR_NOT_SUPPORTED, "child graphs are in each other more than %d deep",
                        PDL_PIECE_DEPTH);
    }
    pdl_status status = pdl_picture_take(driver, graph, &picture);
    if (status == PDL_SUCCESS) {
        status = check_nodes(&picture, in_body, depth, &ignored);
        pdl_picture_forget(&picture);
    }
    return status;
}
/* NOLINTEND(misc-no-recursion) */

pdl_status pdl_piece_check(const struct pdl_driver *driver, CUgraph graph, bool in_body)
{
    return check_graph(driver, graph, in_body, 0);
}

/* Memsets and copies do not tell their context: that of the kernels is taken, if it is one. */
static pdl_status find_context(struct pdl_piece *piece)
{
    for (size_t i = 0; i < piece->picture.node_count; i++) {
        const struct pdl_picture_node *node = &piece->picture.nodes[i];
        CUDA_KERNEL_NODE_PARAMS params;
        if (node->type != CU_GRAPH_NODE_TYPE_KERNEL || node->handle == piece->anchor) {
            continue;
        }
        memset(&params, 0, sizeof(params));
        const CUresult result = piece->driver->cuGraphKernelNodeGetParams(node->handle, &params);
        if (result != CUDA_SUCCESS) {
            return pdl_error_from_cuda(piece->driver, "cuGraphKernelNodeGetParams", (int32_t)result,
                                       "to read a kernel node");
        }
        if (params.ctx != NULL && piece->context != NULL && params.ctx != piece->context) {
            piece->in_place = false;
        }
        piece->context = params.ctx != NULL ? params.ctx : piece->context;
    }
    return PDL_SUCCESS;
}

/* What find_exits() sees of a node, in seen_by. */
enum { FOLLOWED = 1, AT_END = 2 };

/* Where the stream's own end is known, that is the end of the piece. A library may have forked off work that the stream
 * does not wait for: an event record, say. That holds up no later link, as it would hold up no later launch. */
static void find_exits(struct pdl_piece *piece)
{
    const struct pdl_picture *picture = &piece->picture;
    bool as_stream = piece->end_count > 0;
    for (size_t i = 0; i < picture->edge_count; i++) {
        pdl_picture_find(picture, picture->from[i])->seen_by = FOLLOWED;
        piece->overlaps =
            piece->overlaps || (picture->from[i] == piece->anchor &&
                                picture->data[i].type != CU_GRAPH_DEPENDENCY_TYPE_DEFAULT);
    }
    for (size_t i = 0; i < piece->end_count && as_stream; i++) {
        struct pdl_picture_node *node = pdl_picture_find(picture, piece->ends[i]);
        as_stream = node != NULL && node->handle != piece->anchor;
        if (as_stream) {
            node->seen_by |= AT_END;
        }
    }
    for (uint32_t i = 0; i < picture->node_count; i++) {
        const struct pdl_picture_node *node = &picture->nodes[i];
        if (as_stream ? (node->seen_by & AT_END) != 0
                      : (node->seen_by & FOLLOWED) == 0 && node->handle != piece->anchor) {
            piece->exits[piece->exit_count++] = i;
        }
    }
    for (uint32_t i = 0; i < picture->node_count && as_stream; i++) {
        if (picture->nodes[i].seen_by == 0 && picture->nodes[i].handle != piece->anchor) {
            piece->exits[piece->exit_count + piece->beside_count++] = i;
        }
    }
}

/* A child graph would run the anchor. */
static pdl_status become_child(struct pdl_piece *piece)
{
    piece->in_place = false;
    if (piece->anchor != NULL) {
        const CUresult result = piece->driver->cuGraphDestroyNode(piece->anchor);
        if (result != CUDA_SUCCESS) {
            return pdl_error_from_cuda(piece->driver, "cuGraphDestroyNode", (int32_t)result,
                                       "to make a capture a child graph");
        }
        piece->anchor = NULL;
    }
    return PDL_SUCCESS;
}

pdl_status pdl_piece_finish(struct pdl_piece *piece, bool in_body)
{
    pdl_status status = pdl_picture_take(piece->driver, piece->graph, &piece->picture);
    piece->in_place = true;
    if (status == PDL_SUCCESS) {
        status = check_nodes(&piece->picture, in_body, 0, &piece->in_place);
    }
    if (status == PDL_SUCCESS) {
        status = find_context(piece);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    piece->exits = LIST(piece->picture.node_count, *piece->exits);
    piece->copies = LIST(piece->picture.node_count, *piece->copies);
    if (piece->exits == NULL || piece->copies == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a graph of %zu nodes",
                        piece->picture.node_count);
    }
    find_exits(piece);
    return piece->in_place && piece->exit_count > 0 ? PDL_SUCCESS : become_child(piece);
}

pdl_status pdl_piece_exit(const struct pdl_piece *piece, uint32_t exit, pdl_reason *reason)
{
    const struct pdl_picture_node *node = &piece->picture.nodes[piece->exits[exit]];
    bool breaks = false;
    *reason = PDL_REASON_NODE;
    if (!piece->in_place || node->type != CU_GRAPH_NODE_TYPE_KERNEL) {
        return PDL_SUCCESS;
    }
    const pdl_status status = pdl_neighbour_check(piece->driver, node->handle, &breaks);
    *reason = breaks ? PDL_REASON_PREDECESSOR : PDL_REASON_GRANTED;
    return status;
}

/* ---- copying -------------------------------------------------------------------------------- */

static CUresult read_params(const struct pdl_driver *driver, const struct pdl_picture_node *node,
                            CUcontext context, CUgraphNodeParams *params, const char **call)
{
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUDA_MEMSET_NODE_PARAMS_v1 set;
    CUDA_HOST_NODE_PARAMS_v1 host;
    CUresult result = CUDA_SUCCESS;
    memset(params, 0, sizeof(*params));
    params->type = node->type;
    switch ((int)node->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        *call = "cuGraphKernelNodeGetParams";
        memset(&kernel, 0, sizeof(kernel));
        result = driver->cuGraphKernelNodeGetParams(node->handle, &kernel);
        memcpy(&params->kernel, &kernel, sizeof(kernel));
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        *call = "cuGraphMemcpyNodeGetParams";
        params->memcpy.copyCtx = context;
        result = driver->cuGraphMemcpyNodeGetParams(node->handle, &params->memcpy.copyParams);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        *call = "cuGraphMemsetNodeGetParams";
        memset(&set, 0, sizeof(set));
        result = driver->cuGraphMemsetNodeGetParams(node->handle, &set);
        params->memset.dst = set.dst;
        params->memset.pitch = set.pitch;
        params->memset.value = set.value;
        params->memset.elementSize = set.elementSize;
        params->memset.width = set.width;
        params->memset.height = set.height;
        params->memset.ctx = context;
        break;
    case CU_GRAPH_NODE_TYPE_HOST:
        *call = "cuGraphHostNodeGetParams";
        memset(&host, 0, sizeof(host));
        result = driver->cuGraphHostNodeGetParams(node->handle, &host);
        params->host.fn = host.fn;
        params->host.userData = host.userData;
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        *call = "cuGraphChildGraphNodeGetGraph";
        result = driver->cuGraphChildGraphNodeGetGraph(node->handle, &params->graph.graph);
        break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        *call = "cuGraphEventRecordNodeGetEvent";
        result = driver->cuGraphEventRecordNodeGetEvent(node->handle, &params->eventRecord.event);
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        *call = "cuGraphEventWaitNodeGetEvent";
        result = driver->cuGraphEventWaitNodeGetEvent(node->handle, &params->eventWait.event);
        break;
    default:
        break;
    }
    return result;
}

/* Adds a copy without edges. */
static pdl_status copy_node(const struct pdl_driver *driver, const struct pdl_picture_node *node,
                            CUgraph graph, CUcontext context, CUgraphNode *copy)
{
    CUgraphNodeParams params;
    const char *call = NULL;
    CUresult result = read_params(driver, node, context, &params, &call);
    if (result == CUDA_SUCCESS) {
        call = "cuGraphAddNode";
        result = driver->cuGraphAddNode(copy, graph, NULL, NULL, 0, &params);
    }
    if (result == CUDA_SUCCESS && node->type == CU_GRAPH_NODE_TYPE_KERNEL) {
        call = "cuGraphKernelNodeCopyAttributes";
        result = driver->cuGraphKernelNodeCopyAttributes(*copy, node->handle);
    }
    return result == CUDA_SUCCESS
               ? PDL_SUCCESS
               : pdl_error_from_cuda(driver, call, (int32_t)result, "to copy a node into a chain");
}

static pdl_status add_edge(const struct pdl_driver *driver, CUgraph graph, CUgraphNode from,
                           CUgraphNode to, const CUgraphEdgeData *data)
{
    const CUresult result = driver->cuGraphAddDependencies(graph, &from, &to, data, 1);
    return result == CUDA_SUCCESS ? PDL_SUCCESS
                                  : pdl_error_from_cuda(driver, "cuGraphAddDependencies",
                                                        (int32_t)result, "to copy an edge");
}

/* Adds the edges into the copy of a node: those from others of the piece as they are, and those from
 * the anchor as edges from what is before the piece. Behind an anchor, a node without edges was put into the graph beside
 * the stream. It does not wait for the stream, and comes after what was beside it before: each beginning of its own would
 * cost the driver more than a node on the way. */
static pdl_status copy_edges(const struct pdl_piece *piece, uint32_t index, CUgraph graph,
                             const pdl_edge *edges, size_t count, const struct pdl_piece *before)
{
    const struct pdl_picture *picture = &piece->picture;
    const struct pdl_picture_node *node = &picture->nodes[index];
    const bool beside = node->edge_count == 0 && piece->anchor != NULL;
    bool first = node->edge_count == 0 && !beside;
    CUgraphEdgeData entry = pdl_edge_data[PDL_EDGE_FULL];
    pdl_status status = PDL_SUCCESS;
    for (uint32_t i = 0; i < node->edge_count && status == PDL_SUCCESS; i++) {
        const uint32_t edge = picture->incoming[node->first_edge + i];
        const struct pdl_picture_node *from = pdl_picture_find(picture, picture->from[edge]);
        if (from->handle == piece->anchor) { /* of two edges, the full one counts */
            entry = first && entry.type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT ? entry
                                                                            : picture->data[edge];
            first = true;
            continue;
        }
        status = add_edge(piece->driver, graph, piece->copies[from - picture->nodes],
                          piece->copies[index], &picture->data[edge]);
    }
    for (uint32_t i = 0;
         beside && before != NULL && i < before->beside_count && status == PDL_SUCCESS; i++) {
        status =
            add_edge(piece->driver, graph, before->copies[before->exits[before->exit_count + i]],
                     piece->copies[index], &pdl_edge_data[PDL_EDGE_FULL]);
    }
    for (size_t i = 0; first && i < count && status == PDL_SUCCESS; i++) {
        const bool full = edges[i].kind == PDL_EDGE_FULL;
        status = add_edge(piece->driver, graph, edges[i].node, piece->copies[index],
                          full ? &pdl_edge_data[PDL_EDGE_FULL] : &entry);
    }
    return status;
}

/* Copies all nodes in the order in which the driver lists them, and then the edges. */
static pdl_status place_nodes(struct pdl_piece *piece, CUgraph graph, CUcontext context,
                              const pdl_edge *edges, size_t count, const struct pdl_piece *before)
{
    const struct pdl_picture *picture = &piece->picture;
    pdl_status status = PDL_SUCCESS;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < picture->node_count && status == PDL_SUCCESS; i++) {
            const struct pdl_picture_node *node = pdl_picture_find(picture, picture->listed[i]);
            const uint32_t index = (uint32_t)(node - picture->nodes);
            if (node->handle != piece->anchor) {
                status = pass == 0
                             ? copy_node(piece->driver, node, graph, context, &piece->copies[index])
                             : copy_edges(piece, index, graph, edges, count, before);
            }
        }
    }
    return status;
}

pdl_status pdl_piece_place(struct pdl_piece *piece, CUgraph graph, CUcontext context,
                           const pdl_edge *edges, size_t count, const struct pdl_piece *before,
                           const char *doing, CUgraphNode *node)
{
    CUgraphNodeParams params;
    pdl_status status = PDL_SUCCESS;
    if (piece->in_place && piece->context != NULL && piece->context != context) {
        status = become_child(piece);
    }
    piece->placed = piece->in_place;
    if (status != PDL_SUCCESS || piece->in_place) {
        return status == PDL_SUCCESS ? place_nodes(piece, graph, context, edges, count, before)
                                     : status;
    }
    memset(&params, 0, sizeof(params));
    params.type = piece->exit_count > 0 ? CU_GRAPH_NODE_TYPE_GRAPH : CU_GRAPH_NODE_TYPE_EMPTY;
    params.graph.graph = piece->exit_count > 0 ? piece->graph : NULL;
    return pdl_node_add_any(piece->driver, graph, &params, edges, count, false, doing, node);
}
