/* SPDX-License-Identifier: MIT */
#include "graph/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"

void pdl_picture_forget(struct pdl_picture *picture)
{
    free(picture->listed);
    free(picture->nodes);
    free(picture->from);
    free(picture->to);
    free(picture->data);
    free(picture->incoming);
    free(picture->stack);
    memset(picture, 0, sizeof(*picture));
}

static int by_handle(const void *left, const void *right)
{
    const uintptr_t a = (uintptr_t)((const struct pdl_picture_node *)left)->handle;
    const uintptr_t b = (uintptr_t)((const struct pdl_picture_node *)right)->handle;
    return (a > b) - (a < b);
}

struct pdl_picture_node *pdl_picture_find(const struct pdl_picture *picture, CUgraphNode handle)
{
    const struct pdl_picture_node key = {.handle = handle};
    return bsearch(&key, picture->nodes, picture->node_count, sizeof(key), by_handle);
}

static pdl_status take_nodes(struct pdl_picture *picture, CUgraph graph)
{
    const struct pdl_driver *driver = picture->driver;
    const char *call = "cuGraphGetNodes";
    CUresult result = driver->cuGraphGetNodes(graph, NULL, &picture->node_count);
    if (result == CUDA_SUCCESS && picture->node_count > 0) {
        picture->listed = malloc(picture->node_count * sizeof(CUgraphNode));
        picture->nodes = calloc(picture->node_count, sizeof(*picture->nodes));
        picture->stack = malloc(picture->node_count * sizeof(*picture->stack));
        if (picture->listed == NULL || picture->nodes == NULL || picture->stack == NULL) {
            return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a graph of %zu nodes",
                            picture->node_count);
        }
        result = driver->cuGraphGetNodes(graph, picture->listed, &picture->node_count);
    }
    for (size_t i = 0; i < picture->node_count && result == CUDA_SUCCESS; i++) {
        picture->nodes[i].handle = picture->listed[i];
        call = "cuGraphNodeGetType";
        result = driver->cuGraphNodeGetType(picture->listed[i], &picture->nodes[i].type);
    }
    if (result != CUDA_SUCCESS) {
        return pdl_error_from_cuda(driver, call, (int32_t)result, "to list a graph's nodes");
    }
    if (picture->node_count > 0) {
        qsort(picture->nodes, picture->node_count, sizeof(*picture->nodes), by_handle);
    }
    return PDL_SUCCESS;
}

static pdl_status take_edges(struct pdl_picture *picture, CUgraph graph)
{
    const struct pdl_driver *driver = picture->driver;
    CUresult result = driver->cuGraphGetEdges(graph, NULL, NULL, NULL, &picture->edge_count);
    const size_t count = picture->edge_count;
    if (result == CUDA_SUCCESS && count > 0) {
        picture->from = malloc(count * sizeof(CUgraphNode));
        picture->to = malloc(count * sizeof(CUgraphNode));
        picture->data = malloc(count * sizeof(*picture->data));
        picture->incoming = malloc(count * sizeof(*picture->incoming));
        if (picture->from == NULL || picture->to == NULL || picture->data == NULL ||
            picture->incoming == NULL) {
            return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a graph of %zu edges", count);
        }
        result = driver->cuGraphGetEdges(graph, picture->from, picture->to, picture->data,
                                         &picture->edge_count);
    }
    if (result != CUDA_SUCCESS) {
        return pdl_error_from_cuda(driver, "cuGraphGetEdges", (int32_t)result,
                                   "to list a graph's edges");
    }
    /* A counting sort by the node where an edge ends. */
    for (size_t i = 0; i < picture->edge_count; i++) {
        pdl_picture_find(picture, picture->to[i])->edge_count++;
    }
    uint32_t at = 0;
    for (size_t i = 0; i < picture->node_count; i++) {
        picture->nodes[i].first_edge = at;
        at += picture->nodes[i].edge_count;
        picture->nodes[i].edge_count = 0;
    }
    for (size_t i = 0; i < picture->edge_count; i++) {
        struct pdl_picture_node *end = pdl_picture_find(picture, picture->to[i]);
        picture->incoming[end->first_edge + end->edge_count++] = (uint32_t)i;
    }
    return PDL_SUCCESS;
}

pdl_status pdl_picture_take(const struct pdl_driver *driver, CUgraph graph,
                            struct pdl_picture *picture)
{
    memset(picture, 0, sizeof(*picture));
    picture->driver = driver;
    pdl_status status = take_nodes(picture, graph);
    if (status == PDL_SUCCESS) {
        status = take_edges(picture, graph);
    }
    if (status != PDL_SUCCESS) {
        pdl_picture_forget(picture);
    }
    return status;
}

uint32_t pdl_picture_edge_kind(const CUgraphEdgeData *data)
{
    uint32_t kind = 0;
    while (kind < PDL_EDGE_KINDS && (pdl_edge_data[kind].type != data->type ||
                                     pdl_edge_data[kind].from_port != data->from_port)) {
        kind++;
    }
    return kind;
}
