/* SPDX-License-Identifier: MIT */
/* The model of CUDA: graphs and their nodes. A handle is the object itself, and every one that is
 * passed in is looked up among the live ones first. */
#include <stdlib.h>
#include <string.h>

#include "mock_entry.h"

static mock_graph *graphs;

/* ------------------------------------------------------------------------------------------------
 * Looking up
 * ---------------------------------------------------------------------------------------------- */

bool mock_has_graph(CUgraph graph, const char *call)
{
    for (const mock_graph *live = graphs; live != NULL; live = live->next) {
        if (live == graph) {
            return true;
        }
    }
    mock_misused("%s was called with %p, which is not a live graph", call, (void *)graph);
    return false;
}

static bool is_in(const mock_graph *graph, const mock_node *node)
{
    for (const mock_node *at = graph->nodes; at != NULL; at = at->next) {
        if (at == node) {
            return true;
        }
    }
    return false;
}

bool mock_has_node(CUgraphNode node, const char *call)
{
    for (const mock_graph *graph = graphs; graph != NULL; graph = graph->next) {
        if (is_in(graph, node)) {
            return true;
        }
    }
    mock_misused("%s was called with %p, which is not a live node", call, (void *)node);
    return false;
}

bool mock_has_type(CUgraphNode node, CUgraphNodeType type, const char *call)
{
    if (!mock_has_node(node, call)) {
        return false;
    }
    if (node->type != type) {
        mock_misused("%s was called with a node of type %d", call, (int)node->type);
    }
    return node->type == type;
}

static bool has_kernel_node(CUgraphNode node, const char *call)
{
    return mock_has_type(node, CU_GRAPH_NODE_TYPE_KERNEL, call);
}

/* ------------------------------------------------------------------------------------------------
 * Objects
 * ---------------------------------------------------------------------------------------------- */

mock_node *mock_append_node(mock_graph *graph, CUgraphNodeType type)
{
    mock_node **end = &graph->nodes;
    mock_node *node = mock_new(sizeof(*node));
    node->graph = graph;
    node->number = graph->made++;
    node->type = type;
    for (size_t i = 0; i < MOCK_PARAMETERS; i++) {
        node->pointers[i] = node->params.arguments[i];
    }
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = node;
    mock.live_nodes++;
    return node;
}

void mock_append_edge(mock_node *from, mock_node *to, CUgraphEdgeData data)
{
    struct mock_edge **end = &from->graph->edges;
    struct mock_edge *edge = mock_new(sizeof(*edge));
    *edge = (struct mock_edge){.from = from, .to = to, .data = data};
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = edge;
}

static void remove_node(mock_node *node)
{
    mock_node **at = &node->graph->nodes;
    struct mock_edge **edge = &node->graph->edges;
    while (*edge != NULL) {
        struct mock_edge *this = *edge;
        if (this->from == node || this->to == node) {
            *edge = this->next;
            free(this);
        } else {
            edge = &this->next;
        }
    }
    while (*at != node) {
        at = &(*at)->next;
    }
    *at = node->next;
    mock_free_params(node);
    free(node);
    mock.live_nodes--;
}

void mock_remove_graph(mock_graph *graph)
{
    mock_graph **at = &graphs;
    while (graph->nodes != NULL) {
        remove_node(graph->nodes);
    }
    while (*at != graph) {
        at = &(*at)->next;
    }
    *at = graph->next;
    free(graph);
    mock.live_graphs--;
}

void mock_forget_graphs(void)
{
    while (graphs != NULL) {
        mock_graph *root = graphs;
        while (root->owner != NULL) {
            root = root->owner->graph;
        }
        mock_remove_graph(root);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Parameters
 * ---------------------------------------------------------------------------------------------- */

struct mock_kernel *mock_kernel_of_params(const struct mock_node_params *params, int *device)
{
    if (params->function != NULL) {
        return mock_kernel_of_function(params->function, device);
    }
    *device = mock_current_device();
    return mock_kernel_of_cu_kernel(params->kernel);
}

/* Where a kernel has a parameter. */
static size_t parameter_offset(const struct mock_kernel *kernel, size_t index)
{
    size_t at = 0;
    for (size_t i = 0; i < index; i++) {
        at += (kernel->parameter_sizes[i] + 7) & ~(size_t)7;
    }
    return at;
}

CUresult mock_copy_params(struct mock_node_params *to, const CUDA_KERNEL_NODE_PARAMS *from,
                          const char *call)
{
    struct mock_node_params made = *to;
    int device = 0;
    made.function = from->func;
    made.kernel = from->kern;
    made.context = from->ctx;
    const struct mock_kernel *kernel = mock_kernel_of_params(&made, &device);
    if (kernel == NULL || (from->func != NULL && from->kern != NULL)) {
        mock_misused("%s was called with something that is not a kernel", call);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    void **const extra = from->extra;
    size_t ends[MOCK_PARAMETERS];
    size_t end = 0;
    for (unsigned i = 0; i < kernel->parameter_count; i++) {
        ends[i] = end = parameter_offset(kernel, i) + kernel->parameter_sizes[i];
    }
    if ((kernel->parameter_count > 0 && from->kernelParams == NULL && extra == NULL) ||
        (from->kernelParams != NULL && extra != NULL)) {
        mock_misused("%s was called with %s arguments for %s", call,
                     extra == NULL ? "no" : "two sets of", kernel->name);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (extra != NULL &&
        (extra[0] != CU_LAUNCH_PARAM_BUFFER_POINTER || extra[2] != CU_LAUNCH_PARAM_BUFFER_SIZE ||
         extra[4] != CU_LAUNCH_PARAM_END || *(const size_t *)extra[3] != end)) {
        mock_misused("%s was called with a wrong list in `extra` for %s", call, kernel->name);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (from->gridDimX == 0 || from->gridDimY == 0 || from->gridDimZ == 0 || from->blockDimX == 0 ||
        from->blockDimY == 0 || from->blockDimZ == 0) {
        mock_misused("%s was called with an empty grid or block", call);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (mock.is_fake && from->blockDimX * from->blockDimY * from->blockDimZ > 1024) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    mock.packed += extra != NULL;
    memset(made.arguments, 0, sizeof(made.arguments));
    for (unsigned i = 0; i < kernel->parameter_count; i++) {
        const size_t size = kernel->parameter_sizes[i];
        memcpy(made.arguments[i],
               extra != NULL ? (const char *)extra[1] + ends[i] - size : from->kernelParams[i],
               size);
    }
    made.grid[0] = from->gridDimX;
    made.grid[1] = from->gridDimY;
    made.grid[2] = from->gridDimZ;
    made.block[0] = from->blockDimX;
    made.block[1] = from->blockDimY;
    made.block[2] = from->blockDimZ;
    made.shared = from->sharedMemBytes;
    *to = made;
    return CUDA_SUCCESS;
}

static CUresult parameter_info(const struct mock_kernel *kernel, size_t index, size_t *offset,
                               size_t *size)
{
    if (kernel == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (index >= kernel->parameter_count) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *offset = parameter_offset(kernel, index);
    if (size != NULL) {
        *size = kernel->parameter_sizes[index];
    }
    return CUDA_SUCCESS;
}

CUresult mock_cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size)
{
    MOCK_ENTER(cuFuncGetParamInfo);
    int device = 0;
    return mock_leave(
        parameter_info(mock_kernel_of_function(function, &device), index, offset, size));
}

CUresult mock_cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
    MOCK_ENTER(cuKernelGetParamInfo);
    return mock_leave(parameter_info(mock_kernel_of_cu_kernel(kernel), index, offset, size));
}

/* ------------------------------------------------------------------------------------------------
 * Graphs
 * ---------------------------------------------------------------------------------------------- */

mock_graph *mock_make_graph(mock_node *owner, bool is_body)
{
    mock_graph *made = mock_new(sizeof(*made));
    made->next = graphs;
    graphs = made;
    made->number = mock.graphs_made++;
    made->owner = owner;
    made->is_body = is_body;
    mock.live_graphs++;
    return made;
}

mock_graph *mock_graph_of_number(unsigned number)
{
    mock_graph *graph = graphs;
    while (graph != NULL && graph->number != number) {
        graph = graph->next;
    }
    return graph;
}

CUresult mock_cuGraphCreate(CUgraph *graph, unsigned flags)
{
    MOCK_ENTER(cuGraphCreate);
    if (flags != 0) {
        mock_misused("cuGraphCreate was called with flags %u", flags);
    }
    mock_graph *made = mock_make_graph(NULL, false);
    MOCK_LOG("flags=%u graph=%u", flags, made->number);
    *graph = made;
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuGraphDestroy(CUgraph graph)
{
    MOCK_ENTER(cuGraphDestroy);
    MOCK_FAIL_IF(!mock_has_graph(graph, "cuGraphDestroy"), CUDA_ERROR_INVALID_VALUE);
    MOCK_MISUSED_IF(graph->owner != NULL, CUDA_ERROR_INVALID_VALUE,
                    "cuGraphDestroy was called with the graph of a node");
    MOCK_LOG("graph=%u", graph->number);
    mock_remove_graph(graph);
    return mock_leave(CUDA_SUCCESS);
}

/* What a node may depend on, and how. */
static CUresult check_dependency(const mock_graph *graph, const mock_node *from,
                                 const CUgraphEdgeData *data, CUgraphNodeType to)
{
    if (!is_in(graph, from)) {
        return CUDA_ERROR_INVALID_VALUE; /* of another graph: the library's caller may do that */
    }
    if (data->to_port != 0 || data->reserved[0] != 0 || data->reserved[1] != 0 ||
        data->reserved[2] != 0 || data->reserved[3] != 0 || data->reserved[4] != 0) {
        mock_misused("an edge has a port at its end, or reserved bytes that are not zero");
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (data->from_port != 0 && from->type != CU_GRAPH_NODE_TYPE_KERNEL) {
        mock_misused("an edge begins at port %d of a node that is not a kernel", data->from_port);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (data->type != 0 && to != CU_GRAPH_NODE_TYPE_KERNEL) {
        mock_misused("a programmatic edge ends in a node of type %d", (int)to);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (data->type > CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC ||
        (data->from_port != data->type &&
         data->from_port != CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER)) {
        mock_misused("an edge of type %d begins at port %d", data->type, data->from_port);
        return CUDA_ERROR_INVALID_VALUE;
    }
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

static void log_node(const mock_node *node)
{
    char head[1024];
    const char *separator = "";
    size_t at = (size_t)snprintf(head, sizeof(head), "graph=%u node=%u after=[",
                                 node->graph->number, node->number);
    for (const struct mock_edge *edge = node->graph->edges; edge != NULL; edge = edge->next) {
        if (edge->to == node && at < sizeof(head) - 64) {
            at += (size_t)snprintf(head + at, sizeof(head) - at, "%s%u %s", separator,
                                   edge->from->number, edge_name(&edge->data));
            separator = ", ";
        }
    }
    (void)snprintf(head + at, sizeof(head) - at, "] ");
    if (node->type == CU_GRAPH_NODE_TYPE_KERNEL) {
        mock_log_node(head, &node->params);
    } else {
        mock_log("%stype=%d", head, (int)node->type);
    }
}

CUresult mock_cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                             const CUgraphEdgeData *data, size_t count, CUgraphNodeParams *params)
{
    static const CUgraphEdgeData full;
    MOCK_ENTER(cuGraphAddNode);
    MOCK_FAIL_IF(!mock_has_graph(graph, "cuGraphAddNode"), CUDA_ERROR_INVALID_VALUE);
    if (mock.refused_type != 0 && (int)params->type == mock.refused_type) {
        mock_note_failure("cuGraphAddNode", CUDA_ERROR_NOT_SUPPORTED);
        return mock_leave(CUDA_ERROR_NOT_SUPPORTED);
    }
    for (size_t i = 0; i < count; i++) {
        const CUresult result =
            check_dependency(graph, dependencies[i], data != NULL ? &data[i] : &full, params->type);
        MOCK_FAIL_IF(result != CUDA_SUCCESS, result);
        for (size_t j = 0; j < i; j++) {
            if (dependencies[i] == dependencies[j] &&
                (data == NULL || memcmp(&data[i], &data[j], sizeof(data[i])) == 0)) {
                return mock_leave(CUDA_ERROR_INVALID_VALUE); /* the same edge twice */
            }
        }
    }
    mock_node *made = mock_append_node(graph, params->type);
    CUresult result;
    if (params->type == CU_GRAPH_NODE_TYPE_KERNEL) {
        CUDA_KERNEL_NODE_PARAMS kernel;
        memcpy(&kernel, &params->kernel, sizeof(kernel));
        result = mock_copy_params(&made->params, &kernel, "cuGraphAddNode");
    } else {
        result = mock_take_params(made, params, "cuGraphAddNode");
    }
    if (result != CUDA_SUCCESS) {
        remove_node(made);
        graph->made--;
        return mock_leave(result);
    }
    for (size_t i = 0; i < count; i++) {
        mock_append_edge(dependencies[i], made, data != NULL ? data[i] : full);
    }
    if (mock.log != NULL) {
        log_node(made);
    }
    *node = made;
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                     const CUgraphEdgeData *data, size_t count)
{
    MOCK_ENTER(cuGraphAddDependencies);
    MOCK_FAIL_IF(!mock_has_graph(graph, "cuGraphAddDependencies"), CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++) {
        if (!is_in(graph, to[i]) || mock_edge(from[i], to[i]) != NULL ||
            check_dependency(graph, from[i], &data[i], to[i]->type) != CUDA_SUCCESS) {
            mock_misused(
                "cuGraphAddDependencies was called for an edge that cannot be, or is there");
            return mock_leave(CUDA_ERROR_INVALID_VALUE);
        }
        mock_append_edge(from[i], to[i], data[i]);
        MOCK_LOG("graph=%u %u -> %u %s", graph->number, from[i]->number, to[i]->number,
                 edge_name(&data[i]));
    }
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuGraphDestroyNode(CUgraphNode node)
{
    MOCK_ENTER(cuGraphDestroyNode);
    MOCK_FAIL_IF(!mock_has_node(node, "cuGraphDestroyNode"), CUDA_ERROR_INVALID_VALUE);
    MOCK_LOG("graph=%u node=%u", node->graph->number, node->number);
    for (unsigned i = 0; i < node->params.attribute_count; i++) {
        if (node->params.attributes[i].id == ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) {
            mock_misused("cuGraphDestroyNode was called for a device-updatable node");
            return mock_leave(CUDA_ERROR_NOT_PERMITTED);
        }
    }
    remove_node(node);
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    MOCK_ENTER(cuGraphGetNodes);
    size_t total = 0;
    MOCK_FAIL_IF(!mock_has_graph(graph, "cuGraphGetNodes"), CUDA_ERROR_INVALID_VALUE);
    for (mock_node *node = graph->nodes; node != NULL; node = node->next) {
        if (nodes != NULL && total < *count) {
            nodes[total] = node;
        }
        total++;
    }
    for (size_t i = total; nodes != NULL && i < *count; i++) {
        nodes[i] = NULL;
    }
    *count = nodes != NULL && *count < total ? *count : total;
    return mock_leave(CUDA_SUCCESS);
}

/* The edges of a graph, or those that end in a node. */
static CUresult list_edges(const mock_graph *graph, const mock_node *into, CUgraphNode *from,
                           CUgraphNode *to, CUgraphEdgeData *data, size_t *count)
{
    size_t total = 0;
    if (from == NULL && data != NULL) {
        mock_misused("the edges of a graph were asked for with some of the arrays only");
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (const struct mock_edge *edge = graph->edges; edge != NULL; edge = edge->next) {
        if (into != NULL && edge->to != into) {
            continue;
        }
        if (from != NULL && total < *count) {
            from[total] = edge->from;
            if (to != NULL) {
                to[total] = edge->to;
            }
            if (data != NULL) {
                data[total] = edge->data;
            } else if (edge->data.type != 0 || edge->data.from_port != 0) {
                return CUDA_ERROR_LOSSY_QUERY;
            }
        }
        total++;
    }
    *count = from != NULL && *count < total ? *count : total;
    return CUDA_SUCCESS;
}

CUresult mock_cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                              CUgraphEdgeData *data, size_t *count)
{
    MOCK_ENTER(cuGraphGetEdges);
    MOCK_FAIL_IF(!mock_has_graph(graph, "cuGraphGetEdges"), CUDA_ERROR_INVALID_VALUE);
    MOCK_MISUSED_IF((from == NULL) != (to == NULL), CUDA_ERROR_INVALID_VALUE,
                    "cuGraphGetEdges was called with some of its arrays only");
    return mock_leave(list_edges(graph, NULL, from, to, data, count));
}

/* ------------------------------------------------------------------------------------------------
 * Nodes
 * ---------------------------------------------------------------------------------------------- */

CUresult mock_cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *dependencies,
                                         CUgraphEdgeData *data, size_t *count)
{
    MOCK_ENTER(cuGraphNodeGetDependencies);
    MOCK_FAIL_IF(!mock_has_node(node, "cuGraphNodeGetDependencies"), CUDA_ERROR_INVALID_VALUE);
    return mock_leave(list_edges(node->graph, node, dependencies, NULL, data, count));
}

CUresult mock_cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
    MOCK_ENTER(cuGraphNodeGetType);
    MOCK_FAIL_IF(!mock_has_node(node, "cuGraphNodeGetType"), CUDA_ERROR_INVALID_VALUE);
    *type = node->type;
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params)
{
    MOCK_ENTER(cuGraphKernelNodeGetParams);
    MOCK_FAIL_IF(!has_kernel_node(node, "cuGraphKernelNodeGetParams"), CUDA_ERROR_INVALID_VALUE);
    *params = (CUDA_KERNEL_NODE_PARAMS){
        .func = node->params.function,
        .kern = node->params.kernel,
        .ctx = node->params.context,
        .gridDimX = node->params.grid[0],
        .gridDimY = node->params.grid[1],
        .gridDimZ = node->params.grid[2],
        .blockDimX = node->params.block[0],
        .blockDimY = node->params.block[1],
        .blockDimZ = node->params.block[2],
        .sharedMemBytes = node->params.shared,
        .kernelParams = node->pointers,
    };
    return mock_leave(CUDA_SUCCESS);
}

static CUlaunchAttribute *find_attribute(mock_node *node, CUlaunchAttributeID id)
{
    for (unsigned i = 0; i < node->params.attribute_count; i++) {
        if (node->params.attributes[i].id == id) {
            return &node->params.attributes[i];
        }
    }
    return NULL;
}

CUresult mock_cuGraphKernelNodeGetAttribute(CUgraphNode node, CUlaunchAttributeID id,
                                            CUlaunchAttributeValue *value)
{
    MOCK_ENTER(cuGraphKernelNodeGetAttribute);
    MOCK_FAIL_IF(!has_kernel_node(node, "cuGraphKernelNodeGetAttribute"), CUDA_ERROR_INVALID_VALUE);
    const CUlaunchAttribute *attribute = find_attribute(node, id);
    memset(value, 0, sizeof(*value));
    if (attribute != NULL) {
        *value = attribute->value;
        if (id == ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) {
            memcpy(value->pad + 8, &mock.device_node, sizeof(mock.device_node));
        }
    }
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from)
{
    MOCK_ENTER(cuGraphKernelNodeCopyAttributes);
    MOCK_FAIL_IF(!has_kernel_node(to, "cuGraphKernelNodeCopyAttributes") ||
                     !has_kernel_node(from, "cuGraphKernelNodeCopyAttributes"),
                 CUDA_ERROR_INVALID_VALUE);
    to->params.attribute_count = from->params.attribute_count;
    memcpy(to->params.attributes, from->params.attributes, sizeof(to->params.attributes));
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuGraphKernelNodeSetAttribute(CUgraphNode node, CUlaunchAttributeID id,
                                            const CUlaunchAttributeValue *value)
{
    MOCK_ENTER(cuGraphKernelNodeSetAttribute);
    MOCK_FAIL_IF(!has_kernel_node(node, "cuGraphKernelNodeSetAttribute"), CUDA_ERROR_INVALID_VALUE);
    MOCK_MISUSED_IF(id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION ||
                        id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ||
                        id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
                    CUDA_ERROR_INVALID_VALUE,
                    "attribute %d was set on a node: it is one of launches only", (int)id);
    const CUlaunchAttribute given = {.id = id, .value = *value};
    const CUresult result = mock.is_fake ? mock_check_attribute(&given) : CUDA_SUCCESS;
    MOCK_FAIL_IF(result != CUDA_SUCCESS, result);
    if (mock.log != NULL) {
        char text[256];
        mock_format_attribute(text, sizeof(text), &given);
        mock_log("graph=%u node=%u %s result=0", node->graph->number, node->number, text);
    }
    CUlaunchAttribute *attribute = find_attribute(node, id);
    if (attribute == NULL) {
        MOCK_FAIL_IF(node->params.attribute_count == MOCK_ATTRIBUTES, CUDA_ERROR_OUT_OF_MEMORY);
        attribute = &node->params.attributes[node->params.attribute_count++];
    }
    *attribute = given;
    node->sets++;
    return mock_leave(CUDA_SUCCESS);
}

/* ------------------------------------------------------------------------------------------------
 * What tests call
 * ---------------------------------------------------------------------------------------------- */

CUgraphNode mock_add_node(CUgraph graph, CUgraphNodeType type)
{
    return mock_append_node(graph, type);
}

void mock_add_edge(CUgraphNode from, CUgraphNode to, unsigned char type, unsigned char from_port)
{
    mock_append_edge(from, to, (CUgraphEdgeData){.type = type, .from_port = from_port});
}

const CUgraphEdgeData *mock_edge(CUgraphNode from, CUgraphNode to)
{
    for (const struct mock_edge *edge = from->graph->edges; edge != NULL; edge = edge->next) {
        if (edge->from == from && edge->to == to) {
            return &edge->data;
        }
    }
    return NULL;
}

unsigned mock_edges_into(CUgraphNode node)
{
    unsigned count = 0;
    for (const struct mock_edge *edge = node->graph->edges; edge != NULL; edge = edge->next) {
        count += edge->to == node;
    }
    return count;
}

CUgraphNode mock_node_at(CUgraph graph, unsigned n)
{
    mock_node *node = graph->nodes;
    for (; node != NULL && n > 0; n--) {
        node = node->next;
    }
    return node;
}
