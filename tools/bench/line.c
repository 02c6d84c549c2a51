/* SPDX-License-Identifier: MIT */
#include "bench/line.h"

#include <assert.h>
#include <stdlib.h>

#include <pdl/chain.h>

#include "bench/bench.h"
#include "bench/runtime_launch.h"
#include "common/memory.h"

#define RUNTIME(form, with_overlap, same)                                                          \
    .maker = BY_RUNTIME, .detail = RUNTIME_##form, .overlap = (with_overlap), .raw = WAY_##same
#define DRIVER(same)            .maker = BY_DRIVER, .raw = WAY_##same
#define LIBPDL(symbol, raw_way) .maker = BY_LIBPDL, .detail = (symbol), .raw = WAY_##raw_way
#define LINE_NAME(text, less)   .name = (text), .against = WAY_##less

const struct line_way_info line_ways[WAYS] = {
    [WAY_CHEVRON] = {"chevron", RUNTIME(CHEVRON, false, CHEVRON)},
    [WAY_CUDA_LAUNCH] = {"cudaLaunchKernel", RUNTIME(LAUNCH, false, CUDA_LAUNCH)},
    [WAY_CUDA_EX] = {"cudaLaunchKernelExC", RUNTIME(LAUNCH_EX, false, CUDA_EX)},
    [WAY_CUDA_EX_AGAIN] = {"cudaLaunchKernelExC-again", RUNTIME(LAUNCH_EX, false, CUDA_EX)},
    [WAY_SYMBOL] = {"pdl_launch-symbol", LIBPDL(true, CUDA_EX)},
    [WAY_CUDA_EX_TYPED] = {"cudaLaunchKernelEx", RUNTIME(LAUNCH_EX_TYPED, false, CUDA_EX_TYPED)},
    [WAY_TYPED] = {"pdl_launch_kernel", RUNTIME(LIBPDL_TYPED, false, CUDA_EX_TYPED)},
    [WAY_STREAM] = {"cuLaunchKernelEx", DRIVER(STREAM), LINE_NAME("stream", STREAM)},
    [WAY_STREAM_AGAIN] = {"cuLaunchKernelEx-again", DRIVER(STREAM)},
    [WAY_FUNCTION] = {"pdl_launch", LIBPDL(false, STREAM)},
    [WAY_COOPERATIVE] = {"cooperative", DRIVER(COOPERATIVE), .cooperative = true},
    [WAY_FUNCTION_COOPERATIVE] = {"pdl_launch-cooperative", LIBPDL(false, COOPERATIVE),
                                  .cooperative = true},
    [WAY_CUDA_EX_PDL] = {"cudaLaunchKernelExC-pdl", RUNTIME(LAUNCH_EX, true, CUDA_EX_PDL)},
    [WAY_CUDA_EX_PDL_AGAIN] = {"cudaLaunchKernelExC-pdl-again",
                               RUNTIME(LAUNCH_EX, true, CUDA_EX_PDL)},
    [WAY_SYMBOL_AUTO] = {"pdl_launch-symbol-auto", LIBPDL(true, CUDA_EX_PDL), .overlap = true},
    [WAY_CUDA_EX_TYPED_PDL] = {"cudaLaunchKernelEx-pdl",
                               RUNTIME(LAUNCH_EX_TYPED, true, CUDA_EX_TYPED_PDL)},
    [WAY_TYPED_AUTO] = {"pdl_launch_kernel-auto", RUNTIME(LIBPDL_TYPED, true, CUDA_EX_TYPED_PDL)},
    [WAY_STREAM_PDL] = {"cuLaunchKernelEx-pdl", DRIVER(STREAM_PDL), .overlap = true,
                        LINE_NAME("stream-pdl", STREAM)},
    [WAY_STREAM_PDL_AGAIN] = {"cuLaunchKernelEx-pdl-again", DRIVER(STREAM_PDL), .overlap = true},
    [WAY_LIBPDL] = {"pdl_launch-auto", LIBPDL(false, STREAM_PDL), .overlap = true,
                    LINE_NAME("libpdl", STREAM_PDL)},
    [WAY_GRAPH] = {"graph", LINE_NAME("graph", STREAM), .maker = BY_GRAPH, .raw = WAY_GRAPH},
    [WAY_GRAPH_PDL] = {"graph-pdl", LINE_NAME("graph-pdl", GRAPH), .maker = BY_GRAPH,
                       .overlap = true, .raw = WAY_GRAPH_PDL},
    [WAY_CHAIN] = {"chain", LINE_NAME("chain", GRAPH_PDL), .maker = BY_CHAIN, .overlap = true,
                   .raw = WAY_GRAPH_PDL},
};

/* A launch into a stream, with everything made that a program would make once. */
struct call {
    CUlaunchAttribute attribute; /* BY_DRIVER, as the next one */
    CUlaunchConfig config;
    pdl_launch_desc desc; /* BY_LIBPDL, as the next one */
    pdl_kernel *kernel;
    struct runtime_launch runtime; /* BY_RUNTIME */
};

struct line {
    const struct line_way_info *way;
    const struct gpu_launch *launches;
    size_t count, repeat;
    struct call *calls; /* one a launch; not of graphs and chains */
    CUgraphExec graph;
    CUgraphNode *nodes; /* of the graph that `graph` was made from */
    CUgraph made_from;
    pdl_chain *chain;
    struct line_cost cost;
};

static pdl_launch_desc make_desc(const struct line_way_info *way, const struct gpu_launch *launch)
{
    return PDL_LAUNCH_DESC(.grid = {launch->grid}, .block = {launch->block},
                           .dynamic_shared_memory = launch->shared_bytes, .stream = gpu.stream,
                           .cooperative = way->cooperative,
                           .overlap = way->overlap ? PDL_OVERLAP_AUTO : PDL_OVERLAP_NONE);
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
    const bool programmatic = line->way->overlap;
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
        const pdl_launch_desc desc = make_desc(line->way, launch);
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

static void make_calls(struct line *line)
{
    const struct line_way_info *const way = line->way;
    line->calls = allocate(line->count, sizeof(*line->calls));
    for (size_t i = 0; i < line->count; i++) {
        const struct gpu_launch *const launch = &line->launches[i];
        struct call *const call = &line->calls[i];
        if (way->maker == BY_RUNTIME) {
            call->runtime = (struct runtime_launch){launch->symbol, launch->grid, launch->block,
                                                    gpu.stream,     way->overlap, launch->args};
        } else if (way->maker == BY_DRIVER) {
            call->config =
                gpu_config(launch, gpu.stream, way->overlap, way->cooperative, &call->attribute);
        } else {
            call->desc = make_desc(way, launch);
            if (way->detail) {
                MUST_RUNTIME(runtime_kernel(launch->symbol, &call->kernel));
            } else {
                call->kernel = gpu_kernel(launch->function);
            }
        }
    }
}

struct line *line_make(enum line_way way, const struct gpu_launch *launches, size_t count,
                       size_t repeat, CUresult *error)
{
    struct line *line = allocate(1, sizeof(*line));
    CUresult result = CUDA_SUCCESS;
    line->way = &line_ways[way];
    line->launches = launches;
    line->count = count;
    line->repeat = repeat;
    if (line->way->maker == BY_GRAPH) {
        result = make_graph(line);
    } else if (line->way->maker == BY_CHAIN) {
        result = make_chain(line);
    } else {
        make_calls(line);
    }
    if (error != NULL) {
        *error = result;
    } else {
        MUST(result);
    }
    if (result != CUDA_SUCCESS) {
        line_free(line);
        line = NULL;
    }
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
    for (size_t i = 0; line->calls != NULL && i < line->count; i++) {
        if (line->way->detail) { /* of a symbol; the others are gpu_kernel()'s */
            pdl_kernel_destroy(line->calls[i].kernel);
        }
    }
    free(line->nodes);
    free(line->calls);
    free(line);
}

static void run_calls(const struct line *line, size_t repeat)
{
    const struct line_way_info *const way = line->way;
    if (way->maker == BY_RUNTIME) { /* whose loop is in C++ */
        assert(line->count == 1);
        MUST_RUNTIME(runtime_run((enum runtime_form)way->detail, &line->calls[0].runtime, repeat));
        return;
    }
    for (; repeat > 0; repeat--) {
        for (size_t i = 0; i < line->count; i++) {
            const struct call *const call = &line->calls[i];
            const struct gpu_launch *const launch = &line->launches[i];
            if (way->maker == BY_DRIVER) {
                MUST(cu.cuLaunchKernelEx(&call->config, launch->function, launch->args, NULL));
            } else {
                MUST_PDL(pdl_launch(call->kernel, &call->desc, launch->args));
            }
        }
    }
}

void line_run_times(struct line *line, size_t repeat)
{
    if (line->graph != NULL) {
        MUST(cu.cuGraphLaunch(line->graph, gpu.stream));
    } else if (line->chain != NULL) {
        MUST_PDL(pdl_chain_launch(line->chain, gpu.stream));
    } else {
        run_calls(line, repeat);
    }
}

void line_run(void *context)
{
    line_run_times(context, ((struct line *)context)->repeat);
}

const struct line_cost *line_cost(const struct line *line)
{
    return &line->cost;
}

bool line_check_edges(struct bench_point *point, const struct line *line)
{
    const bool graph = line->way->maker == BY_GRAPH || line->way->maker == BY_CHAIN;
    const size_t edges = line->count * line->repeat - 1;
    const size_t expected = graph && line->way->overlap ? edges : 0;
    if (line->cost.programmatic_edges != expected) {
        bench_fail(point, "%zu of %zu edges are programmatic, not %zu",
                   line->cost.programmatic_edges, edges, expected);
        return false;
    }
    return true;
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
