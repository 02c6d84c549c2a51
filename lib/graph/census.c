/* SPDX-License-Identifier: MIT */
/* Counting the edges of a graph, and telling where overlap was lost. */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/gate.h"
#include "core/sized.h"
#include "graph/node.h"

const char *pdl_full_reason_string(pdl_full_reason reason)
{
    switch (reason) {
    case PDL_FULL_SERIAL:
        return "the consumer was launched without overlap";
    case PDL_FULL_COOPERATIVE:
        return "the consumer is a cooperative launch";
    case PDL_FULL_CODE:
        return "the consumer was compiled for less than compute capability 9.0";
    case PDL_FULL_MEMSET:
        return "there is a memset between them";
    case PDL_FULL_MEMCPY:
        return "there is a memcpy between them";
    case PDL_FULL_HOST:
        return "there is a host function between them";
    case PDL_FULL_OTHER_NODE:
        return "there is a node of another type between them";
    default:
        return "not a reason of this library";
    }
}

struct node {
    CUgraphNode handle;
    CUgraphNodeType type;
    uint32_t first_edge; /* of those that end here, in `incoming` */
    uint32_t edge_count;
    uint32_t seen_by; /* the walk that was here last */
    uint32_t way; /* 1 + the node that a walk goes on to, past nodes with one way; 0: not known */
};

/* A graph as it is while it is counted: nodes sorted by handle, edges by the node where they end.
 */
struct picture {
    const struct pdl_driver *driver;
    struct node *nodes;
    size_t node_count;
    CUgraphNode *from;
    CUgraphNode *to;
    CUgraphEdgeData *data;
    size_t edge_count;
    uint32_t *incoming; /* indices of edges */
    uint32_t *stack;    /* of a walk: indices of nodes */
};

static void forget(struct picture *picture)
{
    free(picture->nodes);
    free(picture->from);
    free(picture->to);
    free(picture->data);
    free(picture->incoming);
    free(picture->stack);
}

static int by_handle(const void *left, const void *right)
{
    const uintptr_t a = (uintptr_t)((const struct node *)left)->handle;
    const uintptr_t b = (uintptr_t)((const struct node *)right)->handle;
    return (a > b) - (a < b);
}

static struct node *find(const struct picture *picture, CUgraphNode handle)
{
    const struct node key = {.handle = handle};
    return bsearch(&key, picture->nodes, picture->node_count, sizeof(key), by_handle);
}

static pdl_status take_nodes(struct picture *picture, CUgraph graph)
{
    const struct pdl_driver *driver = picture->driver;
    const char *call = "cuGraphGetNodes";
    CUgraphNode *handles = NULL;
    pdl_status status = PDL_SUCCESS;
    CUresult result = driver->cuGraphGetNodes(graph, NULL, &picture->node_count);
    if (result == CUDA_SUCCESS && picture->node_count > 0) {
        handles = malloc(picture->node_count * sizeof(CUgraphNode));
        picture->nodes = calloc(picture->node_count, sizeof(*picture->nodes));
        picture->stack = malloc(picture->node_count * sizeof(*picture->stack));
        if (handles == NULL || picture->nodes == NULL || picture->stack == NULL) {
            status = PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a graph of %zu nodes",
                              picture->node_count);
            goto done;
        }
        result = driver->cuGraphGetNodes(graph, handles, &picture->node_count);
    }
    for (size_t i = 0; i < picture->node_count && result == CUDA_SUCCESS; i++) {
        picture->nodes[i].handle = handles[i];
        call = "cuGraphNodeGetType";
        result = driver->cuGraphNodeGetType(handles[i], &picture->nodes[i].type);
    }
    if (result != CUDA_SUCCESS) {
        status = pdl_error_from_cuda(driver, call, (int32_t)result, "to list a graph's nodes");
        goto done;
    }
    if (picture->node_count > 0) {
        qsort(picture->nodes, picture->node_count, sizeof(*picture->nodes), by_handle);
    }

done:
    free(handles);
    return status;
}

static pdl_status take_edges(struct picture *picture, CUgraph graph)
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
        find(picture, picture->to[i])->edge_count++;
    }
    uint32_t at = 0;
    for (size_t i = 0; i < picture->node_count; i++) {
        picture->nodes[i].first_edge = at;
        at += picture->nodes[i].edge_count;
        picture->nodes[i].edge_count = 0;
    }
    for (size_t i = 0; i < picture->edge_count; i++) {
        struct node *end = find(picture, picture->to[i]);
        picture->incoming[end->first_edge + end->edge_count++] = (uint32_t)i;
    }
    return PDL_SUCCESS;
}

/* The pdl_edge_kind of edge data, or PDL_EDGE_KINDS if it is none. */
static uint32_t kind_of(const CUgraphEdgeData *data)
{
    uint32_t kind = 0;
    while (kind < PDL_EDGE_KINDS && (pdl_edge_data[kind].type != data->type ||
                                     pdl_edge_data[kind].from_port != data->from_port)) {
        kind++;
    }
    return kind;
}

static bool is_full(const CUgraphEdgeData *data)
{
    return kind_of(data) == PDL_EDGE_FULL;
}

/* ---- full dependencies ---------------------------------------------------------------------- */

static const char *kernel_name(const struct pdl_driver *driver,
                               const CUDA_KERNEL_NODE_PARAMS *params)
{
    const char *name = NULL;
    if (params->func != NULL && driver->cuFuncGetName != NULL) {
        (void)driver->cuFuncGetName(&name, params->func);
    } else if (params->kern != NULL && driver->cuKernelGetName != NULL) {
        (void)driver->cuKernelGetName(&name, params->kern);
    }
    return name != NULL ? name : "";
}

static CUDA_KERNEL_NODE_PARAMS kernel_params(const struct pdl_driver *driver, CUgraphNode node)
{
    CUDA_KERNEL_NODE_PARAMS params;
    memset(&params, 0, sizeof(params));
    if (driver->cuGraphKernelNodeGetParams(node, &params) != CUDA_SUCCESS) {
        memset(&params, 0, sizeof(params));
    }
    return params;
}

/* Why a kernel that depends directly on another one does not overlap it. */
static pdl_full_reason direct_reason(const struct pdl_driver *driver, CUgraphNode consumer,
                                     const CUDA_KERNEL_NODE_PARAMS *params)
{
    CUlaunchAttributeValue value;
    int ptx_version = PDL_GATE_CAPABILITY;
    CUdevice device = 0;
    memset(&value, 0, sizeof(value));
    if (driver->cuGraphKernelNodeGetAttribute(consumer, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value) ==
            CUDA_SUCCESS &&
        value.cooperative != 0) {
        return PDL_FULL_COOPERATIVE;
    }
    if (params->func != NULL) {
        (void)driver->cuFuncGetAttribute(&ptx_version, CU_FUNC_ATTRIBUTE_PTX_VERSION, params->func);
    } else if (params->kern != NULL && driver->cuCtxGetDevice(&device) == CUDA_SUCCESS) {
        (void)driver->cuKernelGetAttribute(&ptx_version, CU_FUNC_ATTRIBUTE_PTX_VERSION,
                                           params->kern, device);
    }
    if (ptx_version < PDL_GATE_CAPABILITY) {
        return PDL_FULL_CODE;
    }
    return PDL_FULL_SERIAL;
}

static pdl_full_reason reason_of_type(CUgraphNodeType type)
{
    switch (type) {
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return PDL_FULL_MEMSET;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return PDL_FULL_MEMCPY;
    case CU_GRAPH_NODE_TYPE_HOST:
        return PDL_FULL_HOST;
    default:
        return PDL_FULL_OTHER_NODE;
    }
}

static void record(const struct picture *picture, pdl_census *census, const struct node *producer,
                   const struct node *between, const struct node *consumer)
{
    const uint32_t at = census->full_count++;
    if (census->full_dependencies == NULL || at >= census->full_capacity) {
        return;
    }
    const CUDA_KERNEL_NODE_PARAMS made = kernel_params(picture->driver, producer->handle);
    const CUDA_KERNEL_NODE_PARAMS used = kernel_params(picture->driver, consumer->handle);
    census->full_dependencies[at] = (pdl_full_dependency){
        .producer = producer->handle,
        .consumer = consumer->handle,
        .between = between != NULL ? between->handle : NULL,
        .producer_name = kernel_name(picture->driver, &made),
        .consumer_name = kernel_name(picture->driver, &used),
        .reason =
            (uint32_t)(between != NULL ? reason_of_type(between->type)
                                       : direct_reason(picture->driver, consumer->handle, &used)),
        .between_type = between != NULL ? (uint32_t)between->type : 0,
    };
}

/* The node before one that is not a kernel, if it is the only one, no kernel, and the edge full. */
static struct node *only_before(const struct picture *picture, const struct node *node)
{
    if (node->edge_count != 1) {
        return NULL;
    }
    const uint32_t edge = picture->incoming[node->first_edge];
    struct node *before = find(picture, picture->from[edge]);
    return before->type != CU_GRAPH_NODE_TYPE_KERNEL && is_full(&picture->data[edge]) ? before
                                                                                      : NULL;
}

/* The first node of a line of such nodes, so that many walks through a long line are short. */
static struct node *shorten(const struct picture *picture, struct node *node)
{
    struct node *end = node;
    struct node *before;
    while (end->way == 0 && (before = only_before(picture, end)) != NULL) {
        end->way = 1 + (uint32_t)(before - picture->nodes);
        end = before;
    }
    while (end->way != 0) {
        end = &picture->nodes[end->way - 1];
    }
    while (node != end) { /* straight there from now on */
        struct node *const next = &picture->nodes[node->way - 1];
        node->way = 1 + (uint32_t)(end - picture->nodes);
        node = next;
    }
    return end;
}

/* Walks back from `start`, a node before `consumer`, to the kernels that it depends on through
 * nodes of other types, and records each with `start` as the node between. */
static void walk(struct picture *picture, pdl_census *census, uint32_t number, struct node *start,
                 const struct node *consumer)
{
    size_t depth = 0;
    if (start->seen_by == number) {
        return;
    }
    start->seen_by = number;
    picture->stack[depth++] = (uint32_t)(start - picture->nodes);
    while (depth > 0) {
        struct node *const popped = &picture->nodes[picture->stack[--depth]];
        struct node *const at = shorten(picture, popped);
        if (at != popped && at->seen_by == number) {
            continue; /* another line led there */
        }
        at->seen_by = number;
        for (uint32_t i = 0; i < at->edge_count; i++) {
            const uint32_t edge = picture->incoming[at->first_edge + i];
            struct node *before = find(picture, picture->from[edge]);
            if (before->seen_by == number || !is_full(&picture->data[edge])) {
                continue;
            }
            before->seen_by = number;
            if (before->type == CU_GRAPH_NODE_TYPE_KERNEL) {
                record(picture, census, before, start, consumer);
            } else {
                picture->stack[depth++] = (uint32_t)(before - picture->nodes);
            }
        }
    }
}

static void find_full(struct picture *picture, pdl_census *census)
{
    for (size_t n = 0; n < picture->node_count; n++) {
        const struct node *consumer = &picture->nodes[n];
        if (consumer->type != CU_GRAPH_NODE_TYPE_KERNEL) {
            continue;
        }
        /* Kernels right before it first: where that edge is full, a way round through a memset does
         * not matter. */
        for (int indirect = 0; indirect < 2; indirect++) {
            for (uint32_t i = 0; i < consumer->edge_count; i++) {
                const uint32_t edge = picture->incoming[consumer->first_edge + i];
                struct node *before = find(picture, picture->from[edge]);
                if (before->type != CU_GRAPH_NODE_TYPE_KERNEL) {
                    if (indirect) {
                        walk(picture, census, (uint32_t)n + 1, before, consumer);
                    }
                } else if (!indirect) {
                    if (is_full(&picture->data[edge])) {
                        before->seen_by = (uint32_t)n + 1;
                        record(picture, census, before, NULL, consumer);
                    }
                }
            }
        }
    }
}

/* ---- the census ----------------------------------------------------------------------------- */

static pdl_status take_census(const struct pdl_driver *driver, CUgraph graph, pdl_census *census)
{
    struct picture picture = {.driver = driver};
    pdl_census known = {
        .full_capacity = census->full_capacity,
        .full_dependencies = census->full_dependencies,
    };
    uint32_t *const counters[PDL_EDGE_KINDS + 1] = {
        [PDL_EDGE_FULL] = &known.full,
        [PDL_EDGE_PROGRAMMATIC] = &known.programmatic,
        [PDL_EDGE_LAUNCH_COMPLETION] = &known.launch_completion,
        [PDL_EDGE_PROGRAMMATIC_AT_BLOCK_START] = &known.programmatic_at_block_start,
        [PDL_EDGE_KINDS] = &known.other,
    };
    pdl_status status = take_nodes(&picture, graph);
    if (status == PDL_SUCCESS) {
        status = take_edges(&picture, graph);
    }
    if (status != PDL_SUCCESS) {
        goto done;
    }
    known.nodes = (uint32_t)picture.node_count;
    known.edges = (uint32_t)picture.edge_count;
    for (size_t i = 0; i < picture.node_count; i++) {
        known.kernels += picture.nodes[i].type == CU_GRAPH_NODE_TYPE_KERNEL;
    }
    for (size_t i = 0; i < picture.edge_count; i++) {
        (*counters[kind_of(&picture.data[i])])++;
    }
    find_full(&picture, &known);
    pdl_sized_copy(census, &known, sizeof(known));

done:
    forget(&picture);
    return status;
}

/* What both calls check. */
static pdl_status check(const pdl_census *census, const struct pdl_driver **driver)
{
    pdl_status status = pdl_sized_within(census, offsetof(pdl_census, nodes), "census");
    if (status == PDL_SUCCESS) {
        status = pdl_driver_get(driver);
    }
    return status == PDL_SUCCESS ? pdl_node_check_driver(*driver) : status;
}

pdl_status pdl_graph_census(struct CUgraph_st *graph, pdl_census *census)
{
    const struct pdl_driver *driver;
    if (graph == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "graph", "graph is NULL");
    }
    const pdl_status status = check(census, &driver);
    return status == PDL_SUCCESS ? take_census(driver, graph, census) : status;
}

pdl_status pdl_stream_census(struct CUstream_st *stream, pdl_census *census)
{
    const struct pdl_driver *driver;
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph graph = NULL;
    pdl_status status = check(census, &driver);
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (stream == NULL || stream == CU_STREAM_LEGACY) { /* asking would break others' captures */
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "stream",
                              "the legacy default stream cannot capture: pass the stream of the "
                              "capture, or CU_STREAM_PER_THREAD");
    }
    const CUresult result =
        driver->cuStreamGetCaptureInfo(stream, &capture, NULL, &graph, NULL, NULL, NULL);
    if (result != CUDA_SUCCESS) {
        return pdl_error_from_cuda(driver, "cuStreamGetCaptureInfo", (int32_t)result,
                                   "to find what a stream captures");
    }
    if (capture != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "stream",
                              capture == CU_STREAM_CAPTURE_STATUS_NONE
                                  ? "the stream is not capturing: call this between the beginning "
                                    "and the end of a capture"
                                  : "the stream's capture has failed and left no graph: the call "
                                    "that broke it returned an error");
    }
    return take_census(driver, graph, census);
}
