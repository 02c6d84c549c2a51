/* SPDX-License-Identifier: MIT */
#include "bench/line.h"

#include <stdlib.h>

#include <pdl/chain.h>

#include "bench/bench.h"
#include "common/memory.h"

struct line {
    enum line_way way;
    const struct gpu_launch *launches;
    size_t count, repeat;
    pdl_launch_desc *descs; /* WAY_LIBPDL: one a launch */
    pdl_kernel **kernels;   /* WAY_LIBPDL: one a launch */
    CUgraphExec graph;
    CUgraphNode *nodes; /* of the graph that `graph` was made from */
    CUgraph made_from;
    pdl_chain *chain;
    struct line_cost cost;
};

const char *const line_way_names[WAYS] = {"stream", "stream-pdl", "libpdl",
                                          "graph",  "graph-pdl",  "chain"};

enum line_way line_way_raw(enum line_way way)
{
    return way == WAY_LIBPDL ? WAY_STREAM_PDL : way == WAY_CHAIN ? WAY_GRAPH_PDL : way;
}

static pdl_launch_desc make_desc(const struct gpu_launch *launch)
{
    return PDL_LAUNCH_DESC(.grid = {launch->grid}, .block = {launch->block},
                           .dynamic_shared_memory = launch->shared_bytes, .stream = gpu.stream,
                           .overlap = PDL_OVERLAP_AUTO);
}

static size_t free_memory(void)
{
    size_t left = 0;
    size_t total = 0;
    MUST(cu.cuMemGetInfo(&left, &total));
    return left;
}

CUresult line_add_node(CUgraph graph, const struct gpu_launch *launch, const CUgraphNode *before,
                       bool programmatic, CUgraphNode *node)
{
    const CUgraphEdgeData edge = {
        .from_port = programmatic ? CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC : 0,
        .type = programmatic ? CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC : 0,
    };
    CUgraphNodeParams params = {
        .type = CU_GRAPH_NODE_TYPE_KERNEL,
        .kernel = {.func = launch->function,
                   .gridDimX = launch->grid,
                   .gridDimY = 1,
                   .gridDimZ = 1,
                   .blockDimX = launch->block,
                   .blockDimY = 1,
                   .blockDimZ = 1,
                   .sharedMemBytes = launch->shared_bytes,
                   .kernelParams = launch->args},
    };
    return cu.cuGraphAddNode_v2(node, graph, before, before != NULL ? &edge : NULL, before != NULL,
                                &params);
}

static CUresult add_nodes(struct line *line)
{
    const bool programmatic = line->way == WAY_GRAPH_PDL;
    const size_t count = line->count * line->repeat;
    for (size_t i = 0; i < count; i++) {
        const CUresult result =
            line_add_node(line->made_from, &line->launches[i % line->count],
                          i > 0 ? &line->nodes[i - 1] : NULL, programmatic, &line->nodes[i]);
        if (result != CUDA_SUCCESS) {
            return result;
        }
        line->cost.programmatic_edges += programmatic && i > 0;
    }
    return CUDA_SUCCESS;
}

static CUresult make_graph(struct line *line)
{
    line->nodes = allocate(line->count * line->repeat, sizeof(CUgraphNode));
    const double begin = host_ns();
    CUresult result = cu.cuGraphCreate(&line->made_from, 0);
    if (result == CUDA_SUCCESS) {
        result = add_nodes(line);
    }
    const double created = host_ns();
    if (result == CUDA_SUCCESS) {
        result = cu.cuGraphInstantiate(&line->graph, line->made_from, 0);
    }
    const double instantiated = host_ns();
    if (result == CUDA_SUCCESS) {
        result = cu.cuGraphUpload(line->graph, gpu.stream);
    }
    if (result == CUDA_SUCCESS) {
        result = cu.cuStreamSynchronize(gpu.stream);
    }
    line->cost.create_ns = created - begin;
    line->cost.instantiate_ns = instantiated - created;
    line->cost.upload_ns = host_ns() - instantiated;
    return result;
}

/* How many links overlap: the census of a graph takes long for thousands of nodes. */
static size_t overlapped_links(pdl_chain *chain, size_t count)
{
    size_t overlapped = 0;
    for (size_t i = 0; i < count; i++) {
        pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
        MUST_PDL(pdl_chain_explain(chain, (uint32_t)i, &report));
        overlapped += report.overlap != 0;
    }
    return overlapped;
}

static CUresult make_chain(struct line *line)
{
    const size_t count = line->count * line->repeat;
    const double begin = host_ns();
    pdl_status status = pdl_chain_create(NULL, &line->chain);
    for (size_t i = 0; status == PDL_SUCCESS && i < count; i++) {
        const struct gpu_launch *const launch = &line->launches[i % line->count];
        const pdl_launch_desc desc = make_desc(launch);
        status = pdl_chain_add(line->chain, gpu_kernel(launch->function), &desc, launch->args, NULL,
                               0, NULL);
    }
    const double created = host_ns();
    if (status == PDL_SUCCESS) {
        status = pdl_chain_build(line->chain);
    }
    line->cost.create_ns = created - begin;
    line->cost.instantiate_ns = host_ns() - created;
    if (status != PDL_SUCCESS) {
        const int32_t result = status == PDL_ERROR_OUT_OF_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY
                                                                 : pdl_last_error()->cuda_result;
        if (result == CUDA_SUCCESS) { /* refused by libpdl: no suite asks for such a thing */
            MUST_PDL(status);
        }
        return (CUresult)result;
    }
    line->cost.programmatic_edges = overlapped_links(line->chain, count);
    return CUDA_SUCCESS;
}

static void make_launches(struct line *line)
{
    line->descs = allocate(line->count, sizeof(*line->descs));
    line->kernels = allocate(line->count, sizeof(pdl_kernel *));
    for (size_t i = 0; i < line->count; i++) {
        line->descs[i] = make_desc(&line->launches[i]);
        line->kernels[i] = gpu_kernel(line->launches[i].function);
    }
}

struct line *line_make(enum line_way way, const struct gpu_launch *launches, size_t count,
                       size_t repeat, CUresult *error)
{
    struct line *line = allocate(1, sizeof(*line));
    line->way = way;
    line->launches = launches;
    line->count = count;
    line->repeat = repeat;
    const size_t before = free_memory();
    CUresult result = CUDA_SUCCESS;
    if (way == WAY_LIBPDL) {
        make_launches(line);
    } else if (way == WAY_CHAIN) {
        result = make_chain(line);
    } else if (way == WAY_GRAPH || way == WAY_GRAPH_PDL) {
        result = make_graph(line);
    }
    if (error != NULL) {
        *error = result;
    }
    if (result != CUDA_SUCCESS) {
        line_free(line);
        return NULL;
    }
    line->cost.device_bytes = (double)before - (double)free_memory();
    return line;
}

void line_free(struct line *line)
{
    if (line == NULL) {
        return;
    }
    pdl_chain_destroy(line->chain);
    if (line->graph != NULL) {
        MUST(cu.cuGraphExecDestroy(line->graph));
    }
    if (line->made_from != NULL) {
        MUST(cu.cuGraphDestroy(line->made_from));
    }
    free(line->nodes);
    free(line->kernels);
    free(line->descs);
    free(line);
}

void line_run(void *context)
{
    struct line *const line = context;
    if (line->graph != NULL) {
        MUST(cu.cuGraphLaunch(line->graph, gpu.stream));
        return;
    }
    if (line->chain != NULL) {
        MUST_PDL(pdl_chain_launch(line->chain, gpu.stream));
        return;
    }
    for (size_t repeat = 0; repeat < line->repeat; repeat++) {
        for (size_t i = 0; i < line->count; i++) {
            if (line->way == WAY_LIBPDL) {
                MUST_PDL(pdl_launch(line->kernels[i], &line->descs[i], line->launches[i].args));
            } else {
                gpu_launch(&line->launches[i], gpu.stream, line->way == WAY_STREAM_PDL);
            }
        }
    }
}

const struct line_cost *line_cost(const struct line *line)
{
    return &line->cost;
}

void line_set_args(struct line *line, size_t index, void **args)
{
    if (line->chain != NULL) {
        MUST_PDL(pdl_chain_set_args(line->chain, (uint32_t)index, args));
        return;
    }
    const struct gpu_launch *const launch = &line->launches[index % line->count];
    const CUDA_KERNEL_NODE_PARAMS params = {
        .func = launch->function,
        .gridDimX = launch->grid,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = launch->block,
        .blockDimY = 1,
        .blockDimZ = 1,
        .sharedMemBytes = launch->shared_bytes,
        .kernelParams = args,
    };
    MUST(cu.cuGraphExecKernelNodeSetParams(line->graph, line->nodes[index], &params));
}
