/* SPDX-License-Identifier: MIT */
/* Graphs: their nodes and edges when an executable one is made of them.
 *
 * CUPTI says by a node's id what ran, and that id is the one of the node in the executable graph. CLONE records lead from
 * it to the node of the graph that the program made, of which the NODE and EDGE records are. */
#include <stdlib.h>
#include <string.h>

#include "os/lock.h"
#include "watch/cupti.h"
#include "watch/driver.h"

enum { BUCKETS = 4096, NODES_MOST = 1 << 24, DEPTH_MOST = 16 };

/* What the launches that made nodes asked for. */
struct asked {
    struct asked *next;
    uint64_t node;
    uint32_t flags;
};

static struct asked *asked[BUCKETS];
static struct pdl_lock lock;

static uint64_t id_of(CUgraphNode node)
{
    const struct pdl_watch_cupti *const cupti = pdl_watch_cupti();
    uint64_t id = 0;
    return cupti != NULL && cupti->cuptiGetGraphNodeId != NULL &&
                   cupti->cuptiGetGraphNodeId(node, &id) == CUPTI_SUCCESS
               ? id
               : 0;
}

static size_t bucket_of(uint64_t node)
{
    return (size_t)((node * UINT64_C(0x9e3779b97f4a7c15)) >> 52); /* 12 bits */
}

static uint32_t flags_of(uint64_t node)
{
    uint32_t flags = 0;
    pdl_lock_take(&lock);
    const struct asked *one = asked[bucket_of(node)];
    while (one != NULL && one->node != node) {
        one = one->next;
    }
    flags = one != NULL ? one->flags : 0;
    pdl_lock_release(&lock);
    return flags;
}

static void keep(uint64_t node, uint32_t flags)
{
    struct asked *const one = flags != 0 && node != 0 ? malloc(sizeof(*one)) : NULL;
    if (one != NULL) {
        pdl_lock_take(&lock);
        *one = (struct asked){.next = asked[bucket_of(node)], .node = node, .flags = flags};
        asked[bucket_of(node)] = one;
        pdl_lock_release(&lock);
    }
}

void pdl_watch_node_created(CUgraphNode node, uint32_t flags)
{
    if (flags != 0) {
        keep(id_of(node), flags);
    }
}

void pdl_watch_node_cloned(CUgraphNode original, CUgraphNode node)
{
    const uint64_t from = id_of(original);
    const uint64_t to = id_of(node);
    if (from == 0 || to == 0) {
        return;
    }
    keep(to, flags_of(from));
    struct pdl_watch_clone *const record = pdl_watch_reserve(PDL_WATCH_CLONE, sizeof(*record));
    if (record != NULL) {
        record->original = from;
        record->node = to;
        pdl_watch_commit(record);
    }
}

/* ---- what is in a graph ------------------------------------------------------------------------------ */

static uint32_t attribute_flags(const struct pdl_watch_driver *driver, CUgraphNode node)
{
    CUlaunchAttributeValue value;
    uint32_t flags = 0;
    memset(&value, 0, sizeof(value));
    if (driver->cuGraphKernelNodeGetAttribute == NULL) {
        return 0;
    }
    if (driver->cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value) ==
            CUDA_SUCCESS &&
        value.cooperative != 0) {
        flags |= PDL_WATCH_COOPERATIVE;
    }
    return flags;
}

static void record_node(const struct pdl_watch_driver *driver, CUgraphNode node,
                        CUgraphNodeType type, CUgraphExec executable)
{
    CUDA_KERNEL_NODE_PARAMS parameters;
    const struct pdl_watch_loaded *function = NULL;
    uint32_t flags = 0;
    const uint64_t id = id_of(node);
    memset(&parameters, 0, sizeof(parameters));
    if (type == CU_GRAPH_NODE_TYPE_KERNEL && driver->cuGraphKernelNodeGetParams != NULL &&
        driver->cuGraphKernelNodeGetParams(node, &parameters) == CUDA_SUCCESS) {
        function = pdl_watch_function(parameters.func != NULL ? parameters.func
                                                              : (CUfunction)parameters.kern);
        flags = flags_of(id) | attribute_flags(driver, node);
    }
    struct pdl_watch_node *const record = pdl_watch_reserve(PDL_WATCH_NODE, sizeof(*record));
    if (record == NULL) {
        return;
    }
    record->node = id;
    record->graph = (uint64_t)(uintptr_t)executable;
    record->type = (uint32_t)type;
    record->function = function != NULL ? function->id : 0;
    record->flags = flags;
    record->grid[0] = parameters.gridDimX;
    record->grid[1] = parameters.gridDimY;
    record->grid[2] = parameters.gridDimZ;
    record->block[0] = (uint16_t)parameters.blockDimX;
    record->block[1] = (uint16_t)parameters.blockDimY;
    record->block[2] = (uint16_t)parameters.blockDimZ;
    record->dynamic_shared = parameters.sharedMemBytes;
    pdl_watch_commit(record);
}

static void record_edges(const struct pdl_watch_driver *driver, CUgraph graph,
                         CUgraphExec executable, uint32_t *total)
{
    size_t count = 0;
    if (driver->cuGraphGetEdges == NULL ||
        driver->cuGraphGetEdges(graph, NULL, NULL, NULL, &count) != CUDA_SUCCESS || count == 0 ||
        count > NODES_MOST) {
        return;
    }
    CUgraphNode *const from = malloc(2 * count * sizeof(*from));
    CUgraphEdgeData *const data = malloc(count * sizeof(*data));
    if (from != NULL && data != NULL &&
        driver->cuGraphGetEdges(graph, from, from + count, data, &count) == CUDA_SUCCESS) {
        for (size_t i = 0; i < count; i++) {
            struct pdl_watch_edge *const record =
                pdl_watch_reserve(PDL_WATCH_EDGE, sizeof(*record));
            if (record == NULL) {
                break;
            }
            record->from = id_of(from[i]);
            record->to = id_of((from + count)[i]);
            record->graph = (uint64_t)(uintptr_t)executable;
            record->from_port = data[i].from_port;
            record->to_port = data[i].to_port;
            record->type = data[i].type;
            pdl_watch_commit(record);
        }
        *total += (uint32_t)count;
    }
    free(data);
    free(from);
}

/* NOLINTNEXTLINE(misc-no-recursion): graphs in graphs, DEPTH_MOST deep */
static void record_graph(const struct pdl_watch_driver *driver, CUgraph graph,
                         CUgraphExec executable, unsigned depth, uint32_t *nodes_total,
                         uint32_t *edges_total)
{
    size_t count = 0;
    if (driver->cuGraphGetNodes == NULL || driver->cuGraphNodeGetType == NULL ||
        driver->cuGraphGetNodes(graph, NULL, &count) != CUDA_SUCCESS || count == 0 ||
        count > NODES_MOST) {
        return;
    }
    CUgraphNode *const nodes = malloc(count * sizeof(*nodes));
    if (nodes == NULL || driver->cuGraphGetNodes(graph, nodes, &count) != CUDA_SUCCESS) {
        free(nodes);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
        CUgraph child = NULL;
        if (driver->cuGraphNodeGetType(nodes[i], &type) != CUDA_SUCCESS) {
            continue;
        }
        record_node(driver, nodes[i], type, executable);
        if (type == CU_GRAPH_NODE_TYPE_GRAPH && depth < DEPTH_MOST &&
            driver->cuGraphChildGraphNodeGetGraph != NULL &&
            driver->cuGraphChildGraphNodeGetGraph(nodes[i], &child) == CUDA_SUCCESS) {
            record_graph(driver, child, executable, depth + 1, nodes_total, edges_total);
        }
    }
    *nodes_total += (uint32_t)count;
    free(nodes);
    record_edges(driver, graph, executable, edges_total);
}

void pdl_watch_graph_made(CUgraph graph, CUgraphExec executable, uint32_t context)
{
    const struct pdl_watch_driver *const driver = pdl_watch_driver();
    const struct pdl_watch_cupti *const cupti = pdl_watch_cupti();
    uint32_t nodes = 0;
    uint32_t edges = 0;
    uint32_t id = 0;
    if (driver == NULL || graph == NULL || executable == NULL) {
        return;
    }
    record_graph(driver, graph, executable, 0, &nodes, &edges);
    if (cupti != NULL && cupti->cuptiGetGraphExecId != NULL) {
        (void)cupti->cuptiGetGraphExecId(executable, &id);
    }
    struct pdl_watch_graph *const record = pdl_watch_reserve(PDL_WATCH_GRAPH, sizeof(*record));
    if (record != NULL) {
        record->handle = (uint64_t)(uintptr_t)executable;
        record->time_ns = pdl_watch_now();
        record->graph = id;
        record->nodes = nodes;
        record->edges = edges;
        record->context = context;
        pdl_watch_commit(record);
    }
}
