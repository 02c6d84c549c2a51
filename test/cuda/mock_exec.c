/* SPDX-License-Identifier: MIT */
/* The model of CUDA: executable graphs, which are snapshots, and their launches. */
#include <stdlib.h>
#include <string.h>

#include "mock_entry.h"

struct exec_node {
    CUgraphNode from; /* the node that it was made from */
    unsigned number;  /* of that, which may be destroyed meanwhile */
    CUgraphNodeType type;
    bool ran;
    bool off; /* in a body that a condition keeps from running */
    struct mock_node_params params;
    CUgraphNodeParams other;
};

struct CUgraphExec_st {
    struct CUgraphExec_st *next;
    unsigned number;
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

/* At most so many nodes and edges has a graph with what its nodes have. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as a test wants */
static void count(const mock_graph *graph, CUgraphExec exec)
{
    for (const struct mock_edge *edge = graph->edges; edge != NULL; edge = edge->next) {
        exec->edge_count++;
    }
    for (const mock_node *node = graph->nodes; node != NULL; node = node->next) {
        exec->node_count++;
        for (size_t i = 0; i < MOCK_BODIES; i++) {
            if (node->graphs[i] != NULL) {
                count(node->graphs[i], exec);
            }
        }
    }
    exec->edge_count += exec->node_count * (exec->node_count + 1); /* into and out of those */
}

static void add_edge(CUgraphExec exec, mock_node *from, mock_node *to)
{
    exec->edges[exec->edge_count++] = (struct mock_edge){.from = from, .to = to};
}

/* Adds a graph's nodes, each of which runs after `owner`. What runs after a node also runs after what
 * that has. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as a test wants */
static void flatten(CUgraphExec exec, const mock_graph *graph, mock_node *owner, bool off)
{
    for (unsigned i = 0; i < graph->handles; i++) {
        if (!graph->used[i]) {
            mock_misused("a graph has a condition that no node uses");
        }
    }
    for (mock_node *node = graph->nodes; node != NULL; node = node->next) {
        exec->nodes[exec->node_count++] = (struct exec_node){.from = node,
                                                             .number = node->number,
                                                             .type = node->type,
                                                             .off = off,
                                                             .params = node->params,
                                                             .other = node->other};
        if (owner != NULL) {
            add_edge(exec, owner, node);
        }
        const size_t first = exec->node_count;
        for (unsigned i = 0; i < MOCK_BODIES; i++) {
            bool body_off = off;
            if (node->graphs[i] != NULL && node->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
                unsigned number = 0;
                const mock_graph *of =
                    mock_graph_of_handle(node->other.conditional.handle, &number);
                const bool is_switch =
                    (unsigned)node->other.conditional.type == CU_GRAPH_COND_TYPE_SWITCH;
                body_off = off || (is_switch ? of->initial[number] != i
                                             : (of->initial[number] != 0) != (i == 0));
            }
            if (node->graphs[i] != NULL) {
                flatten(exec, node->graphs[i], node, body_off);
            }
        }
        for (const struct mock_edge *edge = graph->edges; edge != NULL; edge = edge->next) {
            for (size_t i = first; edge->from == node && i < exec->node_count; i++) {
                add_edge(exec, exec->nodes[i].from, edge->to);
            }
        }
    }
    for (const struct mock_edge *edge = graph->edges; edge != NULL; edge = edge->next) {
        exec->edges[exec->edge_count++] = *edge;
    }
}

CUresult mock_cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
                                          unsigned long long flags)
{
    MOCK_ENTER(cuGraphInstantiateWithFlags);
    *exec = (CUgraphExec)(void *)&mock; /* nobody promises what a failure leaves there */
    MOCK_FAIL_IF(!mock_has_graph(graph, "cuGraphInstantiateWithFlags"), CUDA_ERROR_INVALID_VALUE);
    MOCK_FAIL_IF(mock.is_fake && mock_current_device() < 0, CUDA_ERROR_INVALID_CONTEXT);
    CUgraphExec made = mock_new(sizeof(*made));
    count(graph, made);
    made->nodes = mock_new((made->node_count + 1) * sizeof(*made->nodes));
    made->edges = mock_new((made->edge_count + 1) * sizeof(*made->edges));
    made->node_count = 0;
    made->edge_count = 0;
    flatten(made, graph, NULL, false);
    made->number = mock.execs_made++;
    made->from = graph;
    made->next = execs;
    execs = made;
    mock.live_execs++;
    mock.instantiate_flags = flags;
    MOCK_LOG("graph=%u flags=%llu exec=%u", graph->number, flags, made->number);
    *exec = made;
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuGraphExecDestroy(CUgraphExec exec)
{
    MOCK_ENTER(cuGraphExecDestroy);
    MOCK_FAIL_IF(!has_exec(exec, "cuGraphExecDestroy"), CUDA_ERROR_INVALID_VALUE);
    MOCK_LOG("exec=%u", exec->number);
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
    MOCK_FAIL_IF(!has_exec(exec, call) || !mock_has_node(node, call), CUDA_ERROR_INVALID_VALUE);
    struct exec_node *of = find_node(exec, node);
    MOCK_MISUSED_IF(of == NULL || of->type != CU_GRAPH_NODE_TYPE_KERNEL, CUDA_ERROR_INVALID_VALUE,
                    "%s was called with a node that is not a kernel of this graph", call);
    struct mock_node_params made = of->params;
    const CUresult result = mock_copy_params(&made, params, call);
    MOCK_FAIL_IF(result != CUDA_SUCCESS, result);
    MOCK_MISUSED_IF(!same_device(&of->params, &made), CUDA_ERROR_INVALID_VALUE,
                    "%s was called with a kernel of another device", call);
    of->params = made;
    if (mock.log != NULL) {
        char head[64];
        (void)snprintf(head, sizeof(head), "exec=%u node=%u result=0 ", exec->number, node->number);
        mock_log_node(head, &made);
    }
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                       CUgraphNodeParams *params)
{
    static const char call[] = "cuGraphExecNodeSetParams";
    MOCK_ENTER(cuGraphExecNodeSetParams);
    MOCK_FAIL_IF(!has_exec(exec, call) || !mock_has_node(node, call), CUDA_ERROR_INVALID_VALUE);
    struct exec_node *of = find_node(exec, node);
    MOCK_MISUSED_IF(of == NULL || of->type != params->type || of->type == CU_GRAPH_NODE_TYPE_KERNEL,
                    CUDA_ERROR_INVALID_VALUE, "%s was called with a node of another type or graph",
                    call);
    if (params->type == CU_GRAPH_NODE_TYPE_MEMSET &&
        params->memset.height != of->other.memset.height) {
        return mock_leave(CUDA_ERROR_INVALID_VALUE); /* as the driver */
    }
    of->other = *params;
    MOCK_LOG("exec=%u node=%u type=%d", exec->number, node->number, (int)params->type);
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

static void run(CUgraphExec exec, const struct exec_node *node, CUstream stream)
{
    int device = 0;
    const bool is_kernel = node->type == CU_GRAPH_NODE_TYPE_KERNEL;
    if (is_kernel || mock.runs_all) {
        mock.runs[mock.run_count++ % MOCK_RUNS] = (struct mock_run){.replay = mock.replay_count,
                                                                    .stream = stream,
                                                                    .node = node->from,
                                                                    .type = node->type,
                                                                    .params = node->params,
                                                                    .other = node->other};
    }
    if (!is_kernel) {
        return;
    }
    (void)mock_kernel_of_params(&node->params, &device);
    if (device != mock_stream_device(stream)) {
        mock_misused("a graph for device %d was launched in a stream of device %d", device,
                     mock_stream_device(stream));
    }
    mock_see_node(exec, node->number, stream, &node->params);
    if (mock.log != NULL) {
        mock_log_node("", &node->params);
    }
}

CUresult mock_cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    MOCK_ENTER(cuGraphLaunch);
    size_t done = 0;
    bool progress = true;
    MOCK_FAIL_IF(!has_exec(exec, "cuGraphLaunch"), CUDA_ERROR_INVALID_VALUE);
    const CUresult result = mock_check_stream(stream);
    MOCK_FAIL_IF(result != CUDA_SUCCESS, result);
    mock.replay_count++;
    MOCK_LOG("exec=%u stream=0x%llx nodes=%zu", exec->number, (unsigned long long)(uintptr_t)stream,
             exec->node_count);
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
                if (!node->off) {
                    run(exec, node, stream);
                }
            }
        }
    }
    if (done < exec->node_count) {
        mock_misused("a graph with a cycle was launched");
    }
    return mock_leave(CUDA_SUCCESS);
}
