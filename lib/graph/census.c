/* SPDX-License-Identifier: MIT */
/* Counting the edges of a graph, and telling where overlap was lost. */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/gate.h"
#include "core/sized.h"
#include "graph/node.h"
#include "graph/snapshot.h"

static const char *const reasons[] = {
    [PDL_FULL_SERIAL] = "the consumer was launched without overlap",
    [PDL_FULL_COOPERATIVE] = "the consumer is a cooperative launch",
    [PDL_FULL_CODE] = "the consumer was compiled for less than compute capability 9.0",
    [PDL_FULL_MEMSET] = "there is a memset between them",
    [PDL_FULL_MEMCPY] = "there is a memcpy between them",
    [PDL_FULL_HOST] = "there is a host function between them",
    [PDL_FULL_OTHER_NODE] = "there is a node of another type between them",
};

static bool is_full(const CUgraphEdgeData *data)
{
    return pdl_snapshot_edge_kind(data) == PDL_EDGE_FULL;
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
    struct pdl_gate gate = {
        .capability = PDL_GATE_CAPABILITY, .code = PDL_GATE_CAPABILITY, .waits = PDL_YES};
    CUdevice device = 0;
    memset(&value, 0, sizeof(value));
    (void)driver->cuGraphKernelNodeGetAttribute(consumer, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value);
    gate.cooperative = value.cooperative != 0;
    if (params->func != NULL) {
        (void)driver->cuFuncGetAttribute(&gate.code, CU_FUNC_ATTRIBUTE_PTX_VERSION, params->func);
    } else if (params->kern != NULL && driver->cuCtxGetDevice(&device) == CUDA_SUCCESS) {
        (void)driver->cuKernelGetAttribute(&gate.code, CU_FUNC_ATTRIBUTE_PTX_VERSION, params->kern,
                                           device);
    }
    const pdl_reason reason = pdl_gate_decide(&gate);
    return reason == PDL_REASON_COOPERATIVE ? PDL_FULL_COOPERATIVE
           : reason == PDL_REASON_CODE      ? PDL_FULL_CODE
                                            : PDL_FULL_SERIAL;
}

static pdl_full_reason reason_of_type(int type)
{
    enum { MEMCPY_BATCH = 14, FABRIC_CPY_BATCH = 18 }; /* of CUDA 13.5 */
    return type == CU_GRAPH_NODE_TYPE_MEMSET ? PDL_FULL_MEMSET
           : type == CU_GRAPH_NODE_TYPE_MEMCPY || type == MEMCPY_BATCH || type == FABRIC_CPY_BATCH
               ? PDL_FULL_MEMCPY
           : type == CU_GRAPH_NODE_TYPE_HOST ? PDL_FULL_HOST
                                             : PDL_FULL_OTHER_NODE;
}

static void record(const struct pdl_snapshot *snapshot, pdl_census *census,
                   const struct pdl_snapshot_node *producer,
                   const struct pdl_snapshot_node *between,
                   const struct pdl_snapshot_node *consumer)
{
    const uint32_t at = census->full_count++;
    if (census->full_dependencies == NULL || at >= census->full_capacity) {
        return;
    }
    const CUDA_KERNEL_NODE_PARAMS made = kernel_params(snapshot->driver, producer->handle);
    const CUDA_KERNEL_NODE_PARAMS used = kernel_params(snapshot->driver, consumer->handle);
    const pdl_full_reason reason = between != NULL
                                       ? reason_of_type((int)between->type)
                                       : direct_reason(snapshot->driver, consumer->handle, &used);
    census->full_dependencies[at] = (pdl_full_dependency){
        .producer = producer->handle,
        .consumer = consumer->handle,
        .between = between != NULL ? between->handle : NULL,
        .producer_name = kernel_name(snapshot->driver, &made),
        .consumer_name = kernel_name(snapshot->driver, &used),
        .why = reasons[reason],
        .reason = (uint32_t)reason,
        .between_type = between != NULL ? (uint32_t)between->type : 0,
    };
}

/* Walks back from `start`, a node before `consumer`, to the kernels that it depends on through
 * nodes of other types, and records each with `start` as the node between. */
static void walk(struct pdl_snapshot *snapshot, pdl_census *census, uint32_t number,
                 struct pdl_snapshot_node *start, const struct pdl_snapshot_node *consumer)
{
    size_t depth = 0;
    if (start->seen_by == number) {
        return;
    }
    start->seen_by = number;
    snapshot->stack[depth++] = (uint32_t)(start - snapshot->nodes);
    while (depth > 0) {
        const struct pdl_snapshot_node *const at = &snapshot->nodes[snapshot->stack[--depth]];
        for (uint32_t i = 0; i < at->edge_count; i++) {
            const uint32_t edge = snapshot->incoming[at->first_edge + i];
            struct pdl_snapshot_node *before = pdl_snapshot_find(snapshot, snapshot->from[edge]);
            if (before->seen_by == number || !is_full(&snapshot->data[edge])) {
                continue;
            }
            before->seen_by = number;
            if (before->type == CU_GRAPH_NODE_TYPE_KERNEL) {
                record(snapshot, census, before, start, consumer);
            } else {
                snapshot->stack[depth++] = (uint32_t)(before - snapshot->nodes);
            }
        }
    }
}

static void find_full(struct pdl_snapshot *snapshot, pdl_census *census)
{
    for (size_t n = 0; n < snapshot->node_count; n++) {
        const struct pdl_snapshot_node *consumer = &snapshot->nodes[n];
        if (consumer->type != CU_GRAPH_NODE_TYPE_KERNEL) {
            continue;
        }
        /* Kernels right before it first: where that edge is full, a way round through a memset does
         * not matter. */
        for (int indirect = 0; indirect < 2; indirect++) {
            for (uint32_t i = 0; i < consumer->edge_count; i++) {
                const uint32_t edge = snapshot->incoming[consumer->first_edge + i];
                struct pdl_snapshot_node *before =
                    pdl_snapshot_find(snapshot, snapshot->from[edge]);
                const bool kernel = before->type == CU_GRAPH_NODE_TYPE_KERNEL;
                if (indirect && !kernel) {
                    walk(snapshot, census, (uint32_t)n + 1, before, consumer);
                } else if (!indirect && kernel && is_full(&snapshot->data[edge])) {
                    before->seen_by = (uint32_t)n + 1;
                    record(snapshot, census, before, NULL, consumer);
                }
            }
        }
    }
}

/* ---- the census ----------------------------------------------------------------------------- */

/* NOLINTNEXTLINE(misc-no-recursion): as deep as child graphs are in each other */
static pdl_status add(const struct pdl_driver *driver, CUgraph graph, pdl_census *census)
{
    struct pdl_snapshot snapshot;
    uint32_t *const counters[PDL_EDGE_KINDS + 1] = {
        [PDL_EDGE_FULL] = &census->full,
        [PDL_EDGE_PROGRAMMATIC] = &census->programmatic,
        [PDL_EDGE_LAUNCH_COMPLETION] = &census->launch_completion,
        [PDL_EDGE_PROGRAMMATIC_AT_BLOCK_START] = &census->programmatic_at_block_start,
        [PDL_EDGE_KINDS] = &census->other,
    };
    pdl_status status = pdl_snapshot_take(driver, graph, &snapshot);
    if (status != PDL_SUCCESS) {
        return status;
    }
    census->nodes += (uint32_t)snapshot.node_count;
    census->edges += (uint32_t)snapshot.edge_count;
    for (size_t i = 0; i < snapshot.edge_count; i++) {
        (*counters[pdl_snapshot_edge_kind(&snapshot.data[i])])++;
    }
    find_full(&snapshot, census);
    for (size_t i = 0; i < snapshot.node_count && status == PDL_SUCCESS; i++) {
        CUgraph child = NULL;
        census->kernels += snapshot.nodes[i].type == CU_GRAPH_NODE_TYPE_KERNEL;
        if (snapshot.nodes[i].type == CU_GRAPH_NODE_TYPE_GRAPH) {
            status = pdl_node_child(driver, snapshot.nodes[i].handle, &child);
            if (status == PDL_SUCCESS && child != NULL) {
                status = add(driver, child, census);
            }
        }
    }
    pdl_snapshot_forget(&snapshot);
    return status;
}

pdl_status pdl_graph_census(struct CUgraph_st *graph, pdl_census *census)
{
    const struct pdl_driver *driver;
    pdl_census known = {.nodes = 0};
    if (graph == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "graph", "graph is NULL");
    }
    PDL_RETURN_IF_ERROR(pdl_sized_within(census, offsetof(pdl_census, nodes), "census"));
    PDL_RETURN_IF_ERROR(pdl_driver_get(&driver));
    PDL_RETURN_IF_ERROR(pdl_node_check_driver(driver));
    known.full_capacity = census->full_capacity;
    known.full_dependencies = census->full_dependencies;
    PDL_RETURN_IF_ERROR(add(driver, graph, &known));
    pdl_sized_copy(census, &known, sizeof(known));
    return PDL_SUCCESS;
}
