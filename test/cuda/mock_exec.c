/* SPDX-License-Identifier: MIT */
/* The mocked driver: streams, contexts that are pushed, and executable graphs. */
#include <stdlib.h>
#include <string.h>

#include "mock_entry.h"

#define STREAMS 8
#define STACK   8

static char streams[STREAMS][MOCK_DEVICES];
static char contexts[MOCK_DEVICES];

_Thread_local int mock_context_depth;
static _Thread_local int stack[STACK];

/* ------------------------------------------------------------------------------------------------
 * Streams and contexts
 * ---------------------------------------------------------------------------------------------- */

CUstream mock_stream(unsigned number, int device)
{
    return (CUstream)(void *)&streams[number][device];
}

CUcontext mock_context(int device)
{
    return (CUcontext)(void *)&contexts[device];
}

int mock_stream_device(CUstream stream)
{
    const uintptr_t at = (uintptr_t)stream;
    const uintptr_t first = (uintptr_t)&streams[0][0];
    if (stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) {
        return mock_current_device;
    }
    return at >= first && at < first + sizeof(streams) ? (int)((at - first) % MOCK_DEVICES) : -1;
}

CUresult mock_cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    MOCK_ENTER(cuStreamGetCtx);
    const int device = mock_stream_device(stream);
    if (device < 0) {
        return mock_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    *context = mock_context(device);
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuStreamGetDevice(CUstream stream, CUdevice *device)
{
    MOCK_ENTER(cuStreamGetDevice);
    const int found = mock_stream_device(stream);
    if (found < 0) {
        return mock_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    *device = found;
    return mock_leave(CUDA_SUCCESS);
}

static struct {
    CUstream stream;
    CUgraph graph;
    CUstreamCaptureStatus status;
} captures[STREAMS];

void mock_capture(CUstream stream, CUgraph graph, CUstreamCaptureStatus status)
{
    size_t at = 0;
    while (captures[at].stream != NULL && captures[at].stream != stream) {
        at++;
    }
    captures[at].stream = stream;
    captures[at].graph = graph;
    captures[at].status = status;
}

CUresult mock_cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                     CUgraph *graph, const CUgraphNode **dependencies,
                                     const CUgraphEdgeData **data, size_t *count)
{
    MOCK_ENTER(cuStreamGetCaptureInfo);
    if (stream == NULL || stream == CU_STREAM_LEGACY) {
        mock_misused("cuStreamGetCaptureInfo was called with the legacy default stream");
        return mock_leave(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    }
    if (mock_stream_device(stream) < 0) {
        return mock_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    if (id != NULL || dependencies != NULL || data != NULL || count != NULL) {
        mock_misused("cuStreamGetCaptureInfo was asked for what the mock does not know");
    }
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    *graph = (CUgraph)(void *)&mock; /* only good if the status says so */
    for (size_t i = 0; i < STREAMS && captures[i].stream != NULL; i++) {
        if (captures[i].stream == stream) {
            *status = captures[i].status;
            if (captures[i].graph != NULL) {
                *graph = captures[i].graph;
            }
        }
    }
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuCtxPushCurrent(CUcontext context)
{
    MOCK_ENTER(cuCtxPushCurrent);
    const ptrdiff_t device = (char *)(void *)context - contexts;
    if (device < 0 || device >= MOCK_DEVICES || mock_context_depth == STACK) {
        mock_misused("cuCtxPushCurrent was called with %p, which is not a context",
                     (void *)context);
        return mock_leave(CUDA_ERROR_INVALID_CONTEXT);
    }
    stack[mock_context_depth++] = mock_current_device;
    mock_current_device = (int)device;
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuCtxPopCurrent(CUcontext *context)
{
    MOCK_ENTER(cuCtxPopCurrent);
    if (mock_context_depth == 0) {
        mock_misused("cuCtxPopCurrent was called and nothing had been pushed");
        return mock_leave(CUDA_ERROR_INVALID_CONTEXT);
    }
    if (context != NULL) {
        *context = mock_context(mock_current_device);
    }
    mock_current_device = stack[--mock_context_depth];
    return mock_leave(CUDA_SUCCESS);
}

/* ------------------------------------------------------------------------------------------------
 * Executable graphs: snapshots
 * ---------------------------------------------------------------------------------------------- */

struct exec_node {
    CUgraphNode from; /* the node that it was made from */
    CUgraphNodeType type;
    bool ran;
    struct mock_node_params params;
};

struct CUgraphExec_st {
    struct CUgraphExec_st *next;
    CUgraph from;
    size_t node_count;
    size_t edge_count;
    struct exec_node *nodes;
    struct mock_edge *edges; /* an array; `next` is not used */
};

static CUgraphExec execs;

static bool has_exec(CUgraphExec exec, const char *call)
{
    for (CUgraphExec live = execs; live != NULL; live = live->next) {
        if (live == exec) {
            return true;
        }
    }
    mock_misused("%s was called with %p, which is not a live executable graph", call, (void *)exec);
    return false;
}

static void remove_exec(CUgraphExec exec)
{
    CUgraphExec *at = &execs;
    while (*at != exec) {
        at = &(*at)->next;
    }
    *at = exec->next;
    free(exec->nodes);
    free(exec->edges);
    free(exec);
    mock.live_execs--;
}

void mock_forget_execs(void)
{
    memset(captures, 0, sizeof(captures));
    while (execs != NULL) {
        remove_exec(execs);
    }
}

static struct exec_node *find_node(CUgraphExec exec, CUgraphNode from)
{
    for (size_t i = 0; i < exec->node_count; i++) {
        if (exec->nodes[i].from == from) {
            return &exec->nodes[i];
        }
    }
    return NULL;
}

CUresult mock_cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
                                          unsigned long long flags)
{
    MOCK_ENTER(cuGraphInstantiateWithFlags);
    *exec = (CUgraphExec)(void *)&mock; /* nobody promises what a failure leaves there */
    if (!mock_has_graph(graph, "cuGraphInstantiateWithFlags")) {
        return mock_leave(CUDA_ERROR_INVALID_VALUE);
    }
    CUgraphExec made = calloc(1, sizeof(*made));
    if (made == NULL) {
        abort();
    }
    for (const mock_node *node = graph->nodes; node != NULL; node = node->next) {
        made->node_count++;
    }
    for (const struct mock_edge *edge = graph->edges; edge != NULL; edge = edge->next) {
        made->edge_count++;
    }
    made->nodes = calloc(made->node_count + 1, sizeof(*made->nodes));
    made->edges = calloc(made->edge_count + 1, sizeof(*made->edges));
    if (made->nodes == NULL || made->edges == NULL) {
        abort();
    }
    size_t at = 0;
    for (mock_node *node = graph->nodes; node != NULL; node = node->next) {
        made->nodes[at++] =
            (struct exec_node){.from = node, .type = node->type, .params = node->params};
    }
    at = 0;
    for (const struct mock_edge *edge = graph->edges; edge != NULL; edge = edge->next) {
        made->edges[at++] = *edge;
    }
    made->from = graph;
    made->next = execs;
    execs = made;
    mock.live_execs++;
    mock.instantiate_flags = flags;
    *exec = made;
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuGraphExecDestroy(CUgraphExec exec)
{
    MOCK_ENTER(cuGraphExecDestroy);
    if (!has_exec(exec, "cuGraphExecDestroy")) {
        return mock_leave(CUDA_ERROR_INVALID_VALUE);
    }
    remove_exec(exec);
    return mock_leave(CUDA_SUCCESS);
}

/* Whether the kernel stays on its device, which an executable graph asks for. */
static bool same_device(const struct mock_node_params *old, const struct mock_node_params *new)
{
    int was = 0;
    int is = 0;
    (void)mock_kernel_of_params(old, &was);
    (void)mock_kernel_of_params(new, &is);
    return was == is;
}

CUresult mock_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                             const CUDA_KERNEL_NODE_PARAMS *params)
{
    static const char call[] = "cuGraphExecKernelNodeSetParams";
    MOCK_ENTER(cuGraphExecKernelNodeSetParams);
    if (!has_exec(exec, call) || !mock_has_node(node, call)) {
        return mock_leave(CUDA_ERROR_INVALID_VALUE);
    }
    struct exec_node *of = find_node(exec, node);
    if (of == NULL || of->type != CU_GRAPH_NODE_TYPE_KERNEL) {
        mock_misused("%s was called with a node that is not a kernel of this graph", call);
        return mock_leave(CUDA_ERROR_INVALID_VALUE);
    }
    struct mock_node_params made = of->params;
    const CUresult result = mock_copy_params(&made, params, call);
    if (result != CUDA_SUCCESS) {
        return mock_leave(result);
    }
    if (!same_device(&of->params, &made)) {
        mock_misused("%s was called with a kernel of another device", call);
        return mock_leave(CUDA_ERROR_INVALID_VALUE);
    }
    of->params = made;
    return mock_leave(CUDA_SUCCESS);
}

/* ------------------------------------------------------------------------------------------------
 * Replays
 * ---------------------------------------------------------------------------------------------- */

static bool is_ready(CUgraphExec exec, const struct exec_node *node)
{
    for (size_t i = 0; i < exec->edge_count; i++) {
        if (exec->edges[i].to == node->from && !find_node(exec, exec->edges[i].from)->ran) {
            return false;
        }
    }
    return !node->ran;
}

static void run(const struct exec_node *node, CUstream stream)
{
    int device = 0;
    (void)mock_kernel_of_params(&node->params, &device);
    if (device != mock_stream_device(stream)) {
        mock_misused("a graph for device %d was launched in a stream of device %d", device,
                     mock_stream_device(stream));
    }
    mock.runs[mock.run_count++ % MOCK_RUNS] = (struct mock_run){
        .replay = mock.replay_count, .stream = stream, .node = node->from, .params = node->params};
}

static CUresult check_stream(CUstream stream)
{
    if (mock_stream_device(stream) >= 0) {
        return CUDA_SUCCESS;
    }
    return mock_current_device < 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_HANDLE;
}

CUresult mock_cuGraphUpload(CUgraphExec exec, CUstream stream)
{
    MOCK_ENTER(cuGraphUpload);
    if (!has_exec(exec, "cuGraphUpload")) {
        return mock_leave(CUDA_ERROR_INVALID_VALUE);
    }
    const CUresult result = check_stream(stream);
    if (result == CUDA_SUCCESS) {
        mock.upload_stream = stream;
    }
    return mock_leave(result);
}

CUresult mock_cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    MOCK_ENTER(cuGraphLaunch);
    size_t done = 0;
    bool progress = true;
    if (!has_exec(exec, "cuGraphLaunch")) {
        return mock_leave(CUDA_ERROR_INVALID_VALUE);
    }
    const CUresult result = check_stream(stream);
    if (result != CUDA_SUCCESS) {
        return mock_leave(result);
    }
    mock.replay_count++;
    for (size_t i = 0; i < exec->node_count; i++) {
        exec->nodes[i].ran = false;
    }
    while (done < exec->node_count && progress) {
        progress = false;
        for (size_t i = 0; i < exec->node_count; i++) {
            struct exec_node *node = &exec->nodes[i];
            if (is_ready(exec, node)) {
                node->ran = true;
                progress = true;
                done++;
                if (node->type == CU_GRAPH_NODE_TYPE_KERNEL) {
                    run(node, stream);
                }
            }
        }
    }
    if (done < exec->node_count) {
        mock_misused("a graph with a cycle was launched");
    }
    return mock_leave(CUDA_SUCCESS);
}
