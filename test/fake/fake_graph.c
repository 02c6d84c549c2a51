/* SPDX-License-Identifier: MIT */
/* The fake driver: graphs of kernel nodes, which are built by hand and launched. There is no
 * capture. Graphs, nodes and executable graphs are numbered in the order of their making, from 0,
 * so that a log reads the same every time. */
#define _GNU_SOURCE
#include "fake_cuda.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ATTRIBUTES 16

struct params {
    CUfunction function;
    unsigned grid[3];
    unsigned block[3];
    unsigned shared;
    size_t argument_count;
    size_t *argument_sizes;
    unsigned char **arguments;
    unsigned attribute_count;
    CUlaunchAttribute attributes[ATTRIBUTES];
};

struct edge {
    CUgraphNode from;
    CUgraphEdgeData data;
};

struct CUgraphNode_st {
    unsigned number; /* in its graph */
    CUgraph graph;
    CUgraphNode next;
    struct params params;
    size_t edge_count; /* that end here */
    struct edge *edges;
};

struct CUgraph_st {
    unsigned number;
    unsigned made; /* nodes, also those destroyed again */
    CUgraphNode nodes;
};

struct CUgraphExec_st {
    unsigned number;
    size_t count;
    CUgraphNode *from; /* only for comparing */
    struct params *params;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned graphs_made;
static unsigned execs_made;

/* ---- parameters ----------------------------------------------------------------------------- */

static void free_params(struct params *params)
{
    for (size_t i = 0; i < params->argument_count; i++) {
        free(params->arguments[i]);
    }
    free(params->arguments);
    free(params->argument_sizes);
    params->argument_count = 0;
    params->arguments = NULL;
    params->argument_sizes = NULL;
}

static bool copy_arguments(struct params *to, size_t count, const size_t *sizes,
                           void *const *arguments)
{
    to->argument_count = 0;
    to->argument_sizes = calloc(count + 1, sizeof(*to->argument_sizes));
    to->arguments = calloc(count + 1, sizeof(*to->arguments));
    if (to->argument_sizes == NULL || to->arguments == NULL) {
        free_params(to);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        to->arguments[i] = malloc(sizes[i]);
        if (to->arguments[i] == NULL) {
            free_params(to);
            return false;
        }
        memcpy(to->arguments[i], arguments[i], sizes[i]);
        to->argument_sizes[i] = sizes[i];
        to->argument_count++;
    }
    return true;
}

static bool copy_params(struct params *to, const struct params *from)
{
    *to = *from;
    return copy_arguments(to, from->argument_count, from->argument_sizes,
                          (void *const *)from->arguments);
}

/* Keeps the attributes of *to. */
static CUresult set_params(struct params *to, const CUDA_KERNEL_NODE_PARAMS *from)
{
    struct params made = *to;
    size_t sizes[FAKE_PARAMETERS];
    size_t count = 0;
    const unsigned threads = from->blockDimX * from->blockDimY * from->blockDimZ;
    made.function = from->func != NULL ? from->func : (CUfunction)(void *)from->kern;
    if (fake_function_name(made.function) == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (from->gridDimX == 0 || from->gridDimY == 0 || from->gridDimZ == 0 || threads == 0 ||
        threads > 1024) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    while (count < FAKE_PARAMETERS &&
           fake_parameter(made.function, count, NULL, &sizes[count]) == CUDA_SUCCESS) {
        count++;
    }
    if (count > 0 && from->kernelParams == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    made.grid[0] = from->gridDimX;
    made.grid[1] = from->gridDimY;
    made.grid[2] = from->gridDimZ;
    made.block[0] = from->blockDimX;
    made.block[1] = from->blockDimY;
    made.block[2] = from->blockDimZ;
    made.shared = from->sharedMemBytes;
    if (!copy_arguments(&made, count, sizes, from->kernelParams)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    free_params(to);
    *to = made;
    return CUDA_SUCCESS;
}

static void log_params(const char *head, const struct params *params)
{
    char text[1024];
    size_t at = 0;
    for (size_t i = 0; i < params->argument_count && at < sizeof(text) - 32; i++) {
        unsigned long long value = 0;
        const size_t size = params->argument_sizes[i];
        if (size <= sizeof(value)) {
            memcpy(&value, params->arguments[i], size);
            at += (size_t)snprintf(text + at, sizeof(text) - at, "%s0x%llx", i > 0 ? ", " : "",
                                   value);
        } else {
            at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%zu bytes", i > 0 ? ", " : "",
                                   size);
        }
    }
    text[at] = '\0';
    FAKE_LOG("%s f=%s grid=%u,%u,%u block=%u,%u,%u smem=%u args=[%s]", head,
             fake_function_name(params->function), params->grid[0], params->grid[1],
             params->grid[2], params->block[0], params->block[1], params->block[2], params->shared,
             text);
}

/* ---- graphs --------------------------------------------------------------------------------- */

FAKE_ENTRY(cuGraphCreate, CUgraph *graph, unsigned flags)
{
    CUgraph made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    (void)pthread_mutex_lock(&lock);
    made->number = graphs_made++;
    (void)pthread_mutex_unlock(&lock);
    FAKE_LOG("cuGraphCreate flags=%u graph=%u", flags, made->number);
    *graph = made;
    return CUDA_SUCCESS;
}

static void remove_node(CUgraphNode node)
{
    CUgraphNode *at = &node->graph->nodes;
    while (*at != node) {
        at = &(*at)->next;
    }
    *at = node->next;
    for (CUgraphNode other = node->graph->nodes; other != NULL; other = other->next) {
        size_t kept = 0;
        for (size_t i = 0; i < other->edge_count; i++) {
            if (other->edges[i].from != node) {
                other->edges[kept++] = other->edges[i];
            }
        }
        other->edge_count = kept;
    }
    free_params(&node->params);
    free(node->edges);
    free(node);
}

FAKE_ENTRY(cuGraphDestroy, CUgraph graph)
{
    FAKE_LOG("cuGraphDestroy graph=%u", graph->number);
    while (graph->nodes != NULL) {
        remove_node(graph->nodes);
    }
    free(graph);
    return CUDA_SUCCESS;
}

static const char *edge_name(const CUgraphEdgeData *data)
{
    if (data->type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT) {
        return data->from_port == CU_GRAPH_KERNEL_NODE_PORT_DEFAULT ? "full" : "launch completion";
    }
    return data->from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER ? "programmatic at block start"
                                                                     : "programmatic";
}

/* Whether edge data is of a kind that the driver knows. */
static bool is_known(const CUgraphEdgeData *data)
{
    static const unsigned char zero[sizeof(data->reserved)];
    const bool ports = data->type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT
                           ? data->from_port == CU_GRAPH_KERNEL_NODE_PORT_DEFAULT ||
                                 data->from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER
                           : data->type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC &&
                                 (data->from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC ||
                                  data->from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER);
    return ports && data->to_port == 0 && memcmp(data->reserved, zero, sizeof(zero)) == 0;
}

static CUresult add_edges(CUgraphNode node, const CUgraphNode *dependencies,
                          const CUgraphEdgeData *data, size_t count)
{
    node->edges = calloc(count + 1, sizeof(*node->edges));
    if (node->edges == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        struct edge *edge = &node->edges[i];
        edge->from = dependencies[i];
        if (data != NULL) {
            edge->data = data[i];
        }
        if (edge->from == NULL || edge->from->graph != node->graph || !is_known(&edge->data)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    node->edge_count = count;
    return CUDA_SUCCESS;
}

static void log_node(const struct CUgraphNode_st *node);

FAKE_ENTRY(cuGraphAddNode_v2, CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
           const CUgraphEdgeData *data, size_t count, CUgraphNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUgraphNode made = params->type == CU_GRAPH_NODE_TYPE_KERNEL ? calloc(1, sizeof(*made)) : NULL;
    if (made == NULL) {
        return params->type == CU_GRAPH_NODE_TYPE_KERNEL ? CUDA_ERROR_OUT_OF_MEMORY
                                                         : CUDA_ERROR_NOT_SUPPORTED;
    }
    made->graph = graph;
    memcpy(&kernel, &params->kernel, sizeof(kernel)); /* version 3 has version 2's members */
    CUresult result = add_edges(made, dependencies, data, count);
    if (result == CUDA_SUCCESS) {
        result = set_params(&made->params, &kernel);
    }
    if (result != CUDA_SUCCESS) {
        FAKE_LOG("cuGraphAddNode graph=%u result=%d", graph->number, (int)result);
        free(made->edges);
        free(made);
        return result;
    }
    CUgraphNode *end = &graph->nodes;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = made;
    made->number = graph->made++;
    log_node(made);
    *node = made;
    return CUDA_SUCCESS;
}

static void log_node(const struct CUgraphNode_st *node)
{
    char head[1024];
    size_t at = (size_t)snprintf(head, sizeof(head), "cuGraphAddNode graph=%u node=%u after=[",
                                 node->graph->number, node->number);
    for (size_t i = 0; i < node->edge_count && at < sizeof(head) - 64; i++) {
        at += (size_t)snprintf(head + at, sizeof(head) - at, "%s%u %s", i > 0 ? ", " : "",
                               node->edges[i].from->number, edge_name(&node->edges[i].data));
    }
    (void)snprintf(head + at, sizeof(head) - at, "]");
    log_params(head, &node->params);
}

FAKE_ENTRY(cuGraphDestroyNode, CUgraphNode node)
{
    FAKE_LOG("cuGraphDestroyNode graph=%u node=%u", node->graph->number, node->number);
    remove_node(node);
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuGraphGetNodes, CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    size_t total = 0;
    FAKE_LOG("cuGraphGetNodes graph=%u", graph->number);
    for (CUgraphNode node = graph->nodes; node != NULL; node = node->next, total++) {
        if (nodes != NULL && total < *count) {
            nodes[total] = node;
        }
    }
    *count = nodes != NULL && *count < total ? *count : total;
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuGraphGetEdges_v2, CUgraph graph, CUgraphNode *from, CUgraphNode *to,
           CUgraphEdgeData *data, size_t *count)
{
    size_t total = 0;
    FAKE_LOG("cuGraphGetEdges graph=%u", graph->number);
    for (CUgraphNode node = graph->nodes; node != NULL; node = node->next) {
        for (size_t i = 0; i < node->edge_count; i++, total++) {
            if (from != NULL && total < *count) {
                from[total] = node->edges[i].from;
                to[total] = node;
                data[total] = node->edges[i].data;
            }
        }
    }
    *count = from != NULL && *count < total ? *count : total;
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuStreamGetCaptureInfo_v3, CUstream stream, CUstreamCaptureStatus *status,
           cuuint64_t *id, CUgraph *graph, const CUgraphNode **dependencies,
           const CUgraphEdgeData **data, size_t *count)
{
    (void)id;
    (void)graph;
    (void)dependencies;
    (void)data;
    (void)count;
    FAKE_LOG("cuStreamGetCaptureInfo stream=0x%llx", (unsigned long long)(uintptr_t)stream);
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

FAKE_PTSZ(cuStreamGetCaptureInfo_v3, _ptsz);

/* ---- nodes ---------------------------------------------------------------------------------- */

FAKE_ENTRY(cuGraphNodeGetType, CUgraphNode node, CUgraphNodeType *type)
{
    FAKE_LOG("cuGraphNodeGetType node=%u", node->number);
    *type = CU_GRAPH_NODE_TYPE_KERNEL;
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuGraphKernelNodeGetParams_v2, CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params)
{
    FAKE_LOG("cuGraphKernelNodeGetParams node=%u", node->number);
    *params = (CUDA_KERNEL_NODE_PARAMS){
        .func = node->params.function,
        .gridDimX = node->params.grid[0],
        .gridDimY = node->params.grid[1],
        .gridDimZ = node->params.grid[2],
        .blockDimX = node->params.block[0],
        .blockDimY = node->params.block[1],
        .blockDimZ = node->params.block[2],
        .sharedMemBytes = node->params.shared,
        .kernelParams = (void **)node->params.arguments,
    };
    return CUDA_SUCCESS;
}

static CUlaunchAttribute *find_attribute(struct params *params, CUlaunchAttributeID id)
{
    for (unsigned i = 0; i < params->attribute_count; i++) {
        if (params->attributes[i].id == id) {
            return &params->attributes[i];
        }
    }
    return NULL;
}

FAKE_ENTRY(cuGraphKernelNodeGetAttribute, CUgraphNode node, CUlaunchAttributeID id,
           CUlaunchAttributeValue *value)
{
    const CUlaunchAttribute *attribute = find_attribute(&node->params, id);
    FAKE_LOG("cuGraphKernelNodeGetAttribute node=%u attribute=%d", node->number, (int)id);
    memset(value, 0, sizeof(*value));
    if (attribute != NULL) {
        *value = attribute->value;
    }
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuGraphKernelNodeSetAttribute, CUgraphNode node, CUlaunchAttributeID id,
           const CUlaunchAttributeValue *value)
{
    char text[256];
    CUlaunchAttribute given = {.id = id, .value = *value};
    CUresult result = fake_check_attribute(&given);
    if ((int)id == 6 || (int)id == 7 || (int)id == 12) {
        result = CUDA_ERROR_INVALID_VALUE; /* launches only: in a graph they are edges */
    }
    CUlaunchAttribute *attribute = find_attribute(&node->params, id);
    if (attribute == NULL && node->params.attribute_count == ATTRIBUTES) {
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    fake_format_attribute(text, sizeof(text), &given);
    FAKE_LOG("cuGraphKernelNodeSetAttribute graph=%u node=%u %s result=%d", node->graph->number,
             node->number, text, (int)result);
    if (result == CUDA_SUCCESS) {
        if (attribute == NULL) {
            attribute = &node->params.attributes[node->params.attribute_count++];
        }
        *attribute = given;
    }
    return result;
}

/* ---- executable graphs ---------------------------------------------------------------------- */

FAKE_ENTRY(cuGraphExecDestroy, CUgraphExec exec)
{
    FAKE_LOG("cuGraphExecDestroy exec=%u", exec->number);
    for (size_t i = 0; i < exec->count; i++) {
        free_params(&exec->params[i]);
    }
    free(exec->params);
    free(exec->from);
    free(exec);
    return CUDA_SUCCESS;
}

static CUgraphExec make_exec(CUgraph graph)
{
    size_t count = 0;
    CUgraphExec made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return NULL;
    }
    for (CUgraphNode node = graph->nodes; node != NULL; node = node->next) {
        count++;
    }
    made->from = calloc(count + 1, sizeof(CUgraphNode));
    made->params = calloc(count + 1, sizeof(*made->params));
    for (CUgraphNode node = graph->nodes;
         node != NULL && made->from != NULL && made->params != NULL; node = node->next) {
        if (!copy_params(&made->params[made->count], &node->params)) {
            break;
        }
        made->from[made->count++] = node;
    }
    if (made->count < count || made->from == NULL || made->params == NULL) {
        (void)fake_cuGraphExecDestroy(made);
        return NULL;
    }
    return made;
}

FAKE_ENTRY(cuGraphInstantiateWithFlags, CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    CUgraphExec made = fake_current_device() >= 0 ? make_exec(graph) : NULL;
    if (made == NULL) {
        return fake_current_device() >= 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_CONTEXT;
    }
    (void)pthread_mutex_lock(&lock);
    made->number = execs_made++;
    (void)pthread_mutex_unlock(&lock);
    FAKE_LOG("cuGraphInstantiateWithFlags graph=%u flags=%llu exec=%u", graph->number, flags,
             made->number);
    *exec = made;
    return CUDA_SUCCESS;
}

FAKE_ENTRY(cuGraphExecKernelNodeSetParams_v2, CUgraphExec exec, CUgraphNode node,
           const CUDA_KERNEL_NODE_PARAMS *params)
{
    for (size_t i = 0; i < exec->count; i++) {
        if (exec->from[i] == node) {
            char head[96];
            const CUresult result = set_params(&exec->params[i], params);
            (void)snprintf(head, sizeof(head),
                           "cuGraphExecKernelNodeSetParams exec=%u node=%u result=%d", exec->number,
                           node->number, (int)result);
            log_params(head, &exec->params[i]);
            return result;
        }
    }
    FAKE_LOG("cuGraphExecKernelNodeSetParams exec=%u result=1", exec->number);
    return CUDA_ERROR_INVALID_VALUE;
}

FAKE_ENTRY(cuGraphUpload, CUgraphExec exec, CUstream stream)
{
    if (fake_current_device() < 0) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    FAKE_LOG("cuGraphUpload exec=%u stream=0x%llx", exec->number,
             (unsigned long long)(uintptr_t)stream);
    return CUDA_SUCCESS;
}

FAKE_PTSZ(cuGraphUpload, _ptsz);

FAKE_ENTRY(cuGraphLaunch, CUgraphExec exec, CUstream stream)
{
    if (fake_current_device() < 0) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    (void)atomic_fetch_add_explicit(&fake.launches, exec->count, memory_order_relaxed);
    FAKE_LOG("cuGraphLaunch exec=%u stream=0x%llx nodes=%zu", exec->number,
             (unsigned long long)(uintptr_t)stream, exec->count);
    for (size_t i = 0; i < exec->count && fake.log != NULL; i++) {
        log_params("cuGraphLaunch", &exec->params[i]);
    }
    return CUDA_SUCCESS;
}

FAKE_PTSZ(cuGraphLaunch, _ptsz);
