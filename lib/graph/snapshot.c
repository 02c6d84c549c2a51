/* SPDX-License-Identifier: MIT */
#include "graph/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"

const CUgraphEdgeData pdl_edge_data[PDL_EDGE_KINDS] = {
    [PDL_EDGE_FULL] = {.from_port = CU_GRAPH_KERNEL_NODE_PORT_DEFAULT,
                       .type = CU_GRAPH_DEPENDENCY_TYPE_DEFAULT},
    [PDL_EDGE_PROGRAMMATIC] = {.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
                               .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC},
    [PDL_EDGE_LAUNCH_COMPLETION] = {.from_port = CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER,
                                    .type = CU_GRAPH_DEPENDENCY_TYPE_DEFAULT},
    [PDL_EDGE_PROGRAMMATIC_AT_BLOCK_START] = {.from_port = CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER,
                                              .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC},
};

void pdl_snapshot_forget(struct pdl_snapshot *snapshot)
{
    free(snapshot->listed);
    free(snapshot->nodes);
    free(snapshot->from);
    free(snapshot->to);
    free(snapshot->data);
    free(snapshot->incoming);
    free(snapshot->stack);
    memset(snapshot, 0, sizeof(*snapshot));
}

static int by_handle(const void *left, const void *right)
{
    const uintptr_t a = (uintptr_t)((const struct pdl_snapshot_node *)left)->handle;
    const uintptr_t b = (uintptr_t)((const struct pdl_snapshot_node *)right)->handle;
    return (a > b) - (a < b);
}

struct pdl_snapshot_node *pdl_snapshot_find(const struct pdl_snapshot *snapshot, CUgraphNode handle)
{
    const struct pdl_snapshot_node key = {.handle = handle};
    return snapshot->node_count > 0
               ? bsearch(&key, snapshot->nodes, snapshot->node_count, sizeof(key), by_handle)
               : NULL;
}

static pdl_status take_nodes(struct pdl_snapshot *snapshot, CUgraph graph)
{
    const struct pdl_driver *driver = snapshot->driver;
    const char *call = "cuGraphGetNodes";
    CUresult result = driver->cuGraphGetNodes(graph, NULL, &snapshot->node_count);
    if (result == CUDA_SUCCESS && snapshot->node_count > 0) {
        snapshot->listed = malloc(snapshot->node_count * sizeof(CUgraphNode));
        snapshot->nodes = calloc(snapshot->node_count, sizeof(*snapshot->nodes));
        snapshot->stack = malloc(snapshot->node_count * sizeof(*snapshot->stack));
        if (snapshot->listed == NULL || snapshot->nodes == NULL || snapshot->stack == NULL) {
            return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a graph of %zu nodes",
                            snapshot->node_count);
        }
        result = driver->cuGraphGetNodes(graph, snapshot->listed, &snapshot->node_count);
    }
    for (size_t i = 0; i < snapshot->node_count && result == CUDA_SUCCESS; i++) {
        snapshot->nodes[i].handle = snapshot->listed[i];
        call = "cuGraphNodeGetType";
        result = driver->cuGraphNodeGetType(snapshot->listed[i], &snapshot->nodes[i].type);
    }
    if (result != CUDA_SUCCESS) {
        return pdl_error_from_cuda(driver, call, (int32_t)result, "to list a graph's nodes");
    }
    if (snapshot->node_count > 0) {
        qsort(snapshot->nodes, snapshot->node_count, sizeof(*snapshot->nodes), by_handle);
    }
    return PDL_SUCCESS;
}

static pdl_status take_edges(struct pdl_snapshot *snapshot, CUgraph graph)
{
    const struct pdl_driver *driver = snapshot->driver;
    CUresult result = driver->cuGraphGetEdges(graph, NULL, NULL, NULL, &snapshot->edge_count);
    const size_t count = snapshot->edge_count;
    if (result == CUDA_SUCCESS && count > 0) {
        snapshot->from = malloc(count * sizeof(CUgraphNode));
        snapshot->to = malloc(count * sizeof(CUgraphNode));
        snapshot->data = malloc(count * sizeof(*snapshot->data));
        snapshot->incoming = malloc(count * sizeof(*snapshot->incoming));
        if (snapshot->from == NULL || snapshot->to == NULL || snapshot->data == NULL ||
            snapshot->incoming == NULL) {
            return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a graph of %zu edges", count);
        }
        result = driver->cuGraphGetEdges(graph, snapshot->from, snapshot->to, snapshot->data,
                                         &snapshot->edge_count);
    }
    if (result != CUDA_SUCCESS) {
        return pdl_error_from_cuda(driver, "cuGraphGetEdges", (int32_t)result,
                                   "to list a graph's edges");
    }
    /* A counting sort by the node where an edge ends. */
    for (size_t i = 0; i < snapshot->edge_count; i++) {
        pdl_snapshot_find(snapshot, snapshot->to[i])->edge_count++;
    }
    uint32_t at = 0;
    for (size_t i = 0; i < snapshot->node_count; i++) {
        snapshot->nodes[i].first_edge = at;
        at += snapshot->nodes[i].edge_count;
        snapshot->nodes[i].edge_count = 0;
    }
    for (size_t i = 0; i < snapshot->edge_count; i++) {
        struct pdl_snapshot_node *end = pdl_snapshot_find(snapshot, snapshot->to[i]);
        snapshot->incoming[end->first_edge + end->edge_count++] = (uint32_t)i;
    }
    return PDL_SUCCESS;
}

pdl_status pdl_snapshot_take(const struct pdl_driver *driver, CUgraph graph,
                             struct pdl_snapshot *snapshot)
{
    memset(snapshot, 0, sizeof(*snapshot));
    snapshot->driver = driver;
    pdl_status status = take_nodes(snapshot, graph);
    if (status == PDL_SUCCESS) {
        status = take_edges(snapshot, graph);
    }
    if (status != PDL_SUCCESS) {
        pdl_snapshot_forget(snapshot);
    }
    return status;
}

uint32_t pdl_snapshot_edge_kind(const CUgraphEdgeData *data)
{
    uint32_t kind = 0;
    while (kind < PDL_EDGE_KINDS && (pdl_edge_data[kind].type != data->type ||
                                     pdl_edge_data[kind].from_port != data->from_port)) {
        kind++;
    }
    return kind;
}
