/* SPDX-License-Identifier: MIT */
/* Chains: the graph that is made from their links. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/error.h"
#include "core/sized.h"
#include "graph/build.h"
#include "graph/decide.h"

/* A build in progress: nothing that replays use changes before it has succeeded. */
struct build {
    int device;
    CUcontext context;
    uint32_t edge_count; /* of the link that is added */
    size_t edge_capacity;
    pdl_edge *edges;
    bool has_priority; /* a link sets one */
    /* The last capture in this graph with nodes beside its stream, or NULL. */
    const struct pdl_subgraph *beside;
    CUgraph graph;
    CUgraphExec exec;
};

/* ---- dependencies --------------------------------------------------------------------------- */

static pdl_status add_edge(struct build *build, CUgraphNode node, bool programmatic)
{
    if (!PDL_ARRAY_ROOM(build->edges, build->edge_count, build->edge_capacity)) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for dependency %u", build->edge_count);
    }
    build->edges[build->edge_count++] =
        (pdl_edge){.node = node, .kind = programmatic ? PDL_EDGE_PROGRAMMATIC : PDL_EDGE_FULL};
    return PDL_SUCCESS;
}

/* The nodes at the end of a link, which are there already: those that a kernel may overlap with
 * programmatic edges. */
static pdl_status add_edges(struct build *build, const struct pdl_link *on)
{
    const struct pdl_subgraph *const subgraph = on->subgraph;
    if (subgraph == NULL || !subgraph->placed) {
        return add_edge(build, on->fresh.node, on->kernel != NULL);
    }
    for (uint32_t i = 0; i < subgraph->exit_count; i++) {
        pdl_reason reason = PDL_REASON_NODE;
        PDL_RETURN_IF_ERROR(pdl_subgraph_exit(subgraph, i, &reason));
        PDL_RETURN_IF_ERROR(
            add_edge(build, subgraph->copies[subgraph->exits[i]], reason == PDL_REASON_GRANTED));
    }
    return PDL_SUCCESS;
}

static pdl_status find_edges(const struct pdl_chain *chain, struct build *build, uint32_t link)
{
    uint32_t count = 0;
    const uint32_t *on = pdl_chain_dependencies(chain, link, &count);
    build->edge_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        PDL_RETURN_IF_ERROR(add_edges(build, &chain->links[on[i]]));
    }
    return PDL_SUCCESS;
}

/* ---- links ---------------------------------------------------------------------------------- */

void pdl_chain_pass(const struct pdl_link *link, void **values, bool fresh)
{
    for (uint32_t i = 0; i < link->passed_count; i++) {
        const struct pdl_passed *passed = &link->passed[i];
        const struct pdl_link *const of = &passed->owner->links[passed->conditional];
        const struct pdl_built *const from = fresh ? &of->fresh : &of->built;
        memcpy(values[passed->parameter], &from->condition, sizeof(from->condition));
    }
}

static pdl_status add_kernel(const struct pdl_chain *chain, struct build *build, CUgraph graph,
                             uint32_t index)
{
    struct pdl_link *link = &chain->links[index];
    struct pdl_lowered lowered;
    PDL_RETURN_IF_ERROR(pdl_node_lower(link->kernel, build->device, &link->desc, &lowered));
    PDL_RETURN_IF_ERROR(pdl_chain_decide(chain, index, &lowered.reason));
    PDL_RETURN_IF_ERROR(
        pdl_node_params(link->kernel, &lowered, link->arguments->pointers, &link->fresh.params));
    link->fresh.reason = lowered.reason;
    pdl_chain_pass(link, link->arguments->pointers, true);
    build->has_priority =
        build->has_priority || pdl_lowered_find(&lowered, CU_LAUNCH_ATTRIBUTE_PRIORITY);
    return pdl_node_add(link->kernel, &lowered, &link->fresh.params, graph, build->edges,
                        build->edge_count, &link->fresh.node);
}

static pdl_status add_links(struct pdl_chain *chain, struct build *build, CUgraph graph);

static pdl_status add_conditional(struct build *build, CUgraph graph, struct pdl_link *link,
                                  const char *doing)
{
    static const CUgraphConditionalNodeType types[] = {
        /* from PDL_NODE_IF on */
        CU_GRAPH_COND_TYPE_IF, CU_GRAPH_COND_TYPE_WHILE, CU_GRAPH_COND_TYPE_SWITCH};
    CUgraphNodeParams params;
    memset(&params, 0, sizeof(params));
    params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    params.conditional.handle = link->fresh.condition;
    params.conditional.type = types[link->kind - PDL_NODE_IF];
    params.conditional.size = link->body_count;
    params.conditional.ctx = build->context;
    PDL_RETURN_IF_ERROR(pdl_node_add_any(link->bodies[0].chain->driver, graph, &params,
                                         build->edges, build->edge_count, false, doing,
                                         &link->fresh.node));
    for (uint32_t i = 0; i < link->body_count; i++) {
        link->bodies[i].fresh = params.conditional.phGraph_out[i];
        PDL_RETURN_IF_ERROR(add_links(link->bodies[i].chain, build, link->bodies[i].fresh));
    }
    return PDL_SUCCESS;
}

static pdl_status add_other(const struct pdl_chain *chain, struct build *build, CUgraph graph,
                            uint32_t index)
{
    struct pdl_link *link = &chain->links[index];
    char doing[64];
    CUgraphNodeParams params;
    (void)snprintf(doing, sizeof(doing), "to add link %u, %s", index,
                   pdl_link_node_name(link->kind));
    PDL_RETURN_IF_ERROR(pdl_chain_decide(chain, index, &link->fresh.reason));
    if (link->subgraph != NULL) {
        struct pdl_subgraph *const subgraph = link->subgraph;
        const pdl_status status =
            pdl_subgraph_place(subgraph, graph, build->context, build->edges, build->edge_count,
                               build->beside, doing, &link->fresh.node);
        build->beside = subgraph->placed && subgraph->beside_count > 0 ? subgraph : build->beside;
        return status;
    }
    if (pdl_link_node_is_conditional(link->kind)) {
        return add_conditional(build, graph, link, doing);
    }
    pdl_link_node_params(&link->node, build->context, &params);
    return pdl_node_add_any(chain->driver, graph, &params, build->edges, build->edge_count, false,
                            doing, &link->fresh.node);
}

/* Makes the conditions of a chain, before kernels get them. */
static pdl_status make_conditions(const struct pdl_chain *chain, const struct build *build,
                                  CUgraph graph)
{
    for (uint32_t i = 0; i < chain->count; i++) {
        struct pdl_link *link = &chain->links[i];
        if (!pdl_link_node_is_conditional(link->kind)) {
            continue;
        }
        if (link->kind == PDL_NODE_WHILE && link->bodies[0].chain->count == 0) {
            return PDL_FAIL(PDL_ERROR_NOT_BUILT,
                            "link %u is a while whose body has no links, so nothing ends it", i);
        }
        PDL_RETURN_IF_ERROR(PDL_CALL(chain->driver, "to make a condition",
                                     cuGraphConditionalHandleCreate, &link->fresh.condition, graph,
                                     build->context, link->node.initial,
                                     CU_GRAPH_COND_ASSIGN_DEFAULT));
    }
    return PDL_SUCCESS;
}

static pdl_status add_links(struct pdl_chain *chain, struct build *build, CUgraph graph)
{
    const struct pdl_subgraph *const outer = build->beside; /* of another graph */
    uint32_t *const order = pdl_chain_order(chain);
    if (order == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory to order %u links", chain->count);
    }
    pdl_status status = make_conditions(chain, build, graph);
    build->beside = NULL;
    for (uint32_t i = 0; i < chain->count && status == PDL_SUCCESS; i++) {
        const bool kernel = chain->links[order[i]].kernel != NULL;
        status = find_edges(chain, build, order[i]);
        if (status == PDL_SUCCESS) {
            status = (kernel ? add_kernel : add_other)(chain, build, graph, order[i]);
        }
    }
    free(order);
    build->beside = outer;
    return status;
}

/* ---- building ------------------------------------------------------------------------------- */

/* Puts what was built in force, or the conditions of the last build back. */
/* NOLINTNEXTLINE(misc-no-recursion): bodies, no deeper than PDL_SUBGRAPH_DEPTH */
static void settle(struct pdl_chain *chain, bool built)
{
    for (uint32_t i = 0; i < chain->count; i++) {
        struct pdl_link *link = &chain->links[i];
        if (built) {
            link->built = link->fresh;
        } else if (link->kernel != NULL) {
            pdl_chain_pass(link, link->arguments->pointers, false);
        }
        for (uint32_t b = 0; b < link->body_count; b++) {
            const struct pdl_body *body = &link->bodies[b];
            settle(body->chain, built);
            body->chain->graph = built ? body->fresh : body->chain->graph;
        }
    }
}

void pdl_chain_discard(const struct pdl_driver *driver, CUgraph graph, CUgraphExec exec)
{
    if (exec != NULL) {
        (void)driver->cuGraphExecDestroy(exec);
    }
    if (graph != NULL) {
        (void)driver->cuGraphDestroy(graph);
    }
}

static pdl_status make_graph(struct pdl_chain *chain, struct build *build)
{
    const struct pdl_driver *driver = chain->driver;
    CUresult result = driver->cuGraphCreate(&build->graph, 0);
    if (result != CUDA_SUCCESS) {
        build->graph = NULL;
        return pdl_error_from_cuda(driver, "cuGraphCreate", (int32_t)result, "to build a chain");
    }
    PDL_RETURN_IF_ERROR(add_links(chain, build, build->graph));
    /* Without the flag all nodes run at the priority of the stream that the graph is launched in.
     */
    result = driver->cuGraphInstantiateWithFlags(
        &build->exec, build->graph,
        build->has_priority ? CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY : 0);
    if (result != CUDA_SUCCESS) {
        build->exec = NULL;
        return pdl_error_from_cuda(driver, "cuGraphInstantiateWithFlags", (int32_t)result,
                                   "to build a chain");
    }
    return PDL_SUCCESS;
}

static pdl_status find_context(const struct pdl_driver *driver, struct build *build)
{
    PDL_RETURN_IF_ERROR(pdl_device_of_stream(driver, NULL, &build->device));
    return PDL_CALL(driver, "to build a chain", cuCtxGetCurrent, &build->context);
}

static pdl_status build_chain(struct pdl_chain *chain)
{
    struct build build = {.device = -1};
    PDL_RETURN_IF_ERROR(pdl_chain_check_root(chain));
    PDL_RETURN_IF_ERROR(pdl_chain_check_idle(chain));
    if (chain->count == 0) {
        return PDL_FAIL(PDL_ERROR_NOT_BUILT, "the chain has no links to build");
    }
    PDL_RETURN_IF_ERROR(find_context(chain->driver, &build));
    const pdl_status status = make_graph(chain, &build);
    free(build.edges);
    settle(chain, status == PDL_SUCCESS);
    if (status != PDL_SUCCESS) {
        pdl_chain_discard(chain->driver, build.graph, build.exec);
        return status;
    }
    pdl_chain_discard(chain->driver, chain->graph, chain->exec);
    chain->graph = build.graph;
    chain->exec = build.exec;
    chain->device = build.device;
    chain->context = build.context;
    chain->built = true;
    return PDL_SUCCESS;
}

pdl_status pdl_chain_build(pdl_chain *chain)
{
    return PDL_CHAIN_RUN(chain, build_chain(chain));
}

static pdl_status reset(struct pdl_chain *chain)
{
    PDL_RETURN_IF_ERROR(pdl_chain_check_root(chain));
    pdl_chain_discard(chain->driver, chain->graph, chain->exec);
    chain->graph = NULL;
    chain->exec = NULL;
    chain->built = false;
    return PDL_SUCCESS;
}

pdl_status pdl_chain_reset(pdl_chain *chain)
{
    return PDL_CHAIN_RUN(chain, reset(chain));
}

/* ---- what was built ------------------------------------------------------------------------- */

static pdl_status get_graph(const struct pdl_chain *chain, CUgraph *graph)
{
    if (graph == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "graph", "graph is NULL");
    }
    PDL_RETURN_IF_ERROR(pdl_chain_check_built(chain->root));
    *graph = chain->graph;
    return PDL_SUCCESS;
}

pdl_status pdl_chain_graph(pdl_chain *chain, struct CUgraph_st **graph)
{
    return PDL_CHAIN_RUN(chain, get_graph(chain, graph));
}
