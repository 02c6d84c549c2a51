/* SPDX-License-Identifier: MIT */
/* The model of CUDA: nodes that are not kernels, what is in them, and copies of graphs. */
#include <stdlib.h>
#include <string.h>

#include "mock_entry.h"

/* ------------------------------------------------------------------------------------------------
 * Conditions
 * ---------------------------------------------------------------------------------------------- */

#define HANDLE_BASE 0xc0de000000000000u

mock_graph *mock_graph_of_handle(CUgraphConditionalHandle handle, unsigned *number)
{
    *number = (unsigned)(handle & 0xff);
    mock_graph *graph = mock_graph_of_number((unsigned)(handle >> 8 & 0xffffffff));
    return graph != NULL && handle - (handle & 0xffffffffffu) == HANDLE_BASE &&
                   *number < graph->handles
               ? graph
               : NULL;
}

CUresult mock_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *handle, CUgraph graph,
                                             CUcontext context, unsigned initial, unsigned flags)
{
    static const char call[] = "cuGraphConditionalHandleCreate";
    MOCK_ENTER(cuGraphConditionalHandleCreate);
    MOCK_FAIL_IF(!mock_has_graph(graph, call) || !mock_has_context(context, call),
                 CUDA_ERROR_INVALID_VALUE);
    MOCK_MISUSED_IF(flags != CU_GRAPH_COND_ASSIGN_DEFAULT || graph->handles == MOCK_HANDLES,
                    CUDA_ERROR_INVALID_VALUE, "%s was called with flags %u for condition %u", call,
                    flags, graph->handles);
    graph->initial[graph->handles] = initial;
    *handle = HANDLE_BASE | (CUgraphConditionalHandle)graph->number << 8 | graph->handles++;
    MOCK_LOG("graph=%u initial=%u", graph->number, initial);
    return mock_leave(CUDA_SUCCESS);
}

static CUresult take_conditional(mock_node *node, CUDA_CONDITIONAL_NODE_PARAMS *params,
                                 const char *call)
{
    unsigned number = 0;
    mock_graph *of = mock_graph_of_handle(params->handle, &number);
    const unsigned type = (unsigned)params->type;
    const unsigned most = type == CU_GRAPH_COND_TYPE_SWITCH ? MOCK_BODIES
                          : type == CU_GRAPH_COND_TYPE_IF   ? 2
                                                            : 1;
    if (of != node->graph || of->used[number]) {
        mock_misused("%s was called for a conditional with a handle of another node", call);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!mock_has_context(params->ctx, call) || params->size == 0 || params->size > most ||
        type > CU_GRAPH_COND_TYPE_SWITCH) {
        mock_misused("%s was called for a conditional of type %u with %u bodies", call, type,
                     params->size);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if ((type == CU_GRAPH_COND_TYPE_SWITCH || params->size > 1) && mock.table.version < 12080) {
        mock_misused("%s was called for a conditional of type %u with %u bodies: CUDA 12.8", call,
                     type, params->size);
        return CUDA_ERROR_INVALID_VALUE;
    }
    of->used[number] = true;
    for (unsigned i = 0; i < params->size; i++) {
        node->graphs[i] = mock_make_graph(node, true);
    }
    params->phGraph_out = node->graphs;
    return CUDA_SUCCESS;
}

/* ------------------------------------------------------------------------------------------------
 * Copies
 * ---------------------------------------------------------------------------------------------- */

/* NOLINTBEGIN(misc-no-recursion): as deep as a test wants */
static CUresult copy_graph(const mock_graph *from, mock_graph *to);

/* What a child graph cannot have, and what it has. */
static CUresult take_child(mock_node *node, const mock_graph *from)
{
    node->graphs[0] = mock_make_graph(node, node->graph->is_body);
    return copy_graph(from, node->graphs[0]);
}

static CUresult copy_graph(const mock_graph *from, mock_graph *to)
{
    for (const mock_node *node = from->nodes; node != NULL; node = node->next) {
        if (node->type == CU_GRAPH_NODE_TYPE_CONDITIONAL ||
            node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
            node->type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
            return CUDA_ERROR_NOT_SUPPORTED;
        }
        mock_node *made = mock_append_node(to, node->type);
        made->params = node->params;
        made->other = node->other;
        made->number = node->number; /* edges find it by that */
        if (node->graphs[0] != NULL) {
            const CUresult result = take_child(made, node->graphs[0]);
            if (result != CUDA_SUCCESS) {
                return result;
            }
        }
    }
    for (const struct mock_edge *edge = from->edges; edge != NULL; edge = edge->next) {
        mock_node *ends[2] = {NULL, NULL};
        for (mock_node *node = to->nodes; node != NULL; node = node->next) {
            ends[0] = node->number == edge->from->number ? node : ends[0];
            ends[1] = node->number == edge->to->number ? node : ends[1];
        }
        mock_append_edge(ends[0], ends[1], edge->data);
    }
    to->made = from->made;
    return CUDA_SUCCESS;
}
/* NOLINTEND(misc-no-recursion) */

CUresult mock_cuGraphClone(CUgraph *clone, CUgraph graph)
{
    MOCK_ENTER(cuGraphClone);
    *clone = (CUgraph)(void *)&mock; /* nobody promises what a failure leaves there */
    MOCK_FAIL_IF(!mock_has_graph(graph, "cuGraphClone"), CUDA_ERROR_INVALID_VALUE);
    mock_graph *made = mock_make_graph(NULL, false);
    const CUresult result = copy_graph(graph, made);
    if (result != CUDA_SUCCESS) {
        mock_remove_graph(made);
        return mock_leave(result);
    }
    MOCK_LOG("graph=%u clone=%u", graph->number, made->number);
    *clone = made;
    return mock_leave(CUDA_SUCCESS);
}

/* ------------------------------------------------------------------------------------------------
 * Parameters
 * ---------------------------------------------------------------------------------------------- */

static bool good_memset(const CUDA_MEMSET_NODE_PARAMS_v2 *set, const char *call)
{
    return mock_has_context(set->ctx, call) && set->dst != 0 && set->width > 0 && set->height > 0 &&
           (set->elementSize == 1 || set->elementSize == 2 || set->elementSize == 4) &&
           (set->height == 1 || set->pitch >= set->width * set->elementSize);
}

static bool good_copy(const CUDA_MEMCPY_NODE_PARAMS *copy, const char *call)
{
    const CUDA_MEMCPY3D *of = &copy->copyParams;
    return mock_has_context(copy->copyCtx, call) && copy->flags == 0 &&
           of->srcMemoryType == CU_MEMORYTYPE_UNIFIED &&
           of->dstMemoryType == CU_MEMORYTYPE_UNIFIED && of->srcDevice != 0 && of->dstDevice != 0 &&
           of->WidthInBytes > 0 && of->Height > 0 && of->Depth > 0 &&
           of->srcPitch >= of->WidthInBytes && of->dstPitch >= of->WidthInBytes &&
           of->srcHeight >= of->Height && of->dstHeight >= of->Height;
}

CUresult mock_take_params(mock_node *node, CUgraphNodeParams *params, const char *call)
{
    bool good = true;
    CUresult result = CUDA_SUCCESS;
    switch ((int)params->type) {
    case CU_GRAPH_NODE_TYPE_EMPTY:
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        good = good_memset(&params->memset, call);
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        good = good_copy(&params->memcpy, call);
        break;
    case CU_GRAPH_NODE_TYPE_HOST:
        good = params->host.fn != NULL && !node->graph->is_body;
        break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        good = mock_has_event(params->eventRecord.event, call) && !node->graph->is_body;
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        good = mock_has_event(params->eventWait.event, call) && !node->graph->is_body;
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        good = mock_has_graph(params->graph.graph, call);
        result = good ? take_child(node, params->graph.graph) : CUDA_SUCCESS;
        break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        result = take_conditional(node, &params->conditional, call);
        break;
    default:
        good = false;
        break;
    }
    if (!good) {
        mock_misused("%s was called for a node of type %d with invalid parameters", call,
                     (int)params->type);
        return CUDA_ERROR_INVALID_VALUE;
    }
    node->other = *params;
    return result;
}

void mock_free_params(mock_node *node)
{
    for (size_t i = 0; i < MOCK_BODIES; i++) {
        if (node->graphs[i] != NULL) {
            mock_remove_graph(node->graphs[i]);
        }
    }
}

/* Entries that tell one thing of a node of one type. */
#define GETTER(name, type_, parameter, ...)                                                        \
    CUresult mock_##name(CUgraphNode node, parameter)                                              \
    {                                                                                              \
        MOCK_ENTER(name);                                                                          \
        MOCK_FAIL_IF(!mock_has_type(node, CU_GRAPH_NODE_TYPE_##type_, #name),                      \
                     CUDA_ERROR_INVALID_VALUE);                                                    \
        __VA_ARGS__;                                                                               \
        return mock_leave(CUDA_SUCCESS);                                                           \
    }
GETTER(cuGraphMemcpyNodeGetParams, MEMCPY, CUDA_MEMCPY3D *params,
       *params = node->other.memcpy.copyParams)
GETTER(cuGraphMemsetNodeGetParams, MEMSET, CUDA_MEMSET_NODE_PARAMS_v1 *params,
       const CUDA_MEMSET_NODE_PARAMS_v2 *const of = &node->other.memset;
       *params = (CUDA_MEMSET_NODE_PARAMS_v1){of->dst, of->pitch, of->value, of->elementSize,
                                              of->width, of->height})
GETTER(cuGraphHostNodeGetParams, HOST, CUDA_HOST_NODE_PARAMS_v1 *params,
       params->fn = node->other.host.fn;
       params->userData = node->other.host.userData)
GETTER(cuGraphChildGraphNodeGetGraph, GRAPH, CUgraph *graph, *graph = node->graphs[0])
GETTER(cuGraphEventRecordNodeGetEvent, EVENT_RECORD, CUevent *event,
       *event = node->other.eventRecord.event)
GETTER(cuGraphEventWaitNodeGetEvent, WAIT_EVENT, CUevent *event,
       *event = node->other.eventWait.event)
