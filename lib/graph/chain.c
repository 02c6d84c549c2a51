/* SPDX-License-Identifier: MIT */
/* Chains: recording, building and replaying. */
#include "graph/chain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/error.h"
#include "core/sized.h"

/* ---- one thread at a time ------------------------------------------------------------------- */

pdl_status pdl_chain_not_entered(const struct pdl_chain *chain)
{
    return chain == NULL ? PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "chain", "chain is NULL")
                         : PDL_FAIL(PDL_ERROR_BUSY,
                                    "another thread is using the chain: only one at a time may");
}

pdl_status pdl_chain_no_link(const struct pdl_chain *chain, uint32_t link, const char *name)
{
    return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, name, "%s is %u and the chain has %u links",
                          name, link, chain->count);
}

/* ---- create and destroy --------------------------------------------------------------------- */

static pdl_status check_options(const pdl_chain_options *given, pdl_chain_options *options)
{
    const pdl_status status = pdl_sized_resize(
        options, sizeof(*options), given, offsetof(pdl_chain_options, default_stream), "options");
    if (status == PDL_SUCCESS && options->default_stream > PDL_DEFAULT_STREAM_PER_THREAD) {
        return PDL_FAIL_FIELD(PDL_ERROR_DESC_FIELD, "default_stream",
                              "default_stream has the value %u, which is not one of 0 to %d",
                              options->default_stream, PDL_DEFAULT_STREAM_PER_THREAD);
    }
    return status;
}

pdl_status pdl_chain_create(const pdl_chain_options *options, pdl_chain **chain)
{
    const struct pdl_driver *driver;
    pdl_chain_options whole = {.default_stream = PDL_DEFAULT_STREAM_LEGACY};
    pdl_status status = PDL_SUCCESS;
    if (chain == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "chain", "chain is NULL");
    }
    if (options != NULL) {
        status = check_options(options, &whole);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    status = pdl_driver_get(&driver);
    if (status != PDL_SUCCESS) {
        return status;
    }
    status = pdl_node_check_driver(driver);
    if (status != PDL_SUCCESS) {
        return status;
    }
    struct pdl_chain *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a chain");
    }
    made->driver = driver;
    made->device = -1;
    made->first = PDL_NO_LINK;
    made->last = PDL_NO_LINK;
    made->default_stream =
        whole.default_stream == PDL_DEFAULT_STREAM_PER_THREAD ? CU_STREAM_PER_THREAD : NULL;
    atomic_flag_clear(&made->busy);
    *chain = made;
    return PDL_SUCCESS;
}

static void discard(const struct pdl_driver *driver, CUgraph graph, CUgraphExec exec)
{
    if (exec != NULL) {
        (void)driver->cuGraphExecDestroy(exec);
    }
    if (graph != NULL) {
        (void)driver->cuGraphDestroy(graph);
    }
}

void pdl_chain_destroy(pdl_chain *chain)
{
    if (chain == NULL) {
        return;
    }
    discard(chain->driver, chain->graph, chain->exec);
    for (uint32_t i = 0; i < chain->count; i++) {
        free(chain->links[i].arguments);
        free(chain->links[i].on);
        free(chain->links[i].by);
    }
    free(chain->links);
    free(chain);
}

/* ---- recording ------------------------------------------------------------------------------ */

pdl_status pdl_chain_lower(const struct pdl_chain *chain, pdl_kernel *kernel,
                           const pdl_launch_desc *desc, struct pdl_lowered *lowered)
{
    int device = chain->device;
    if (!chain->built) {
        const pdl_status status = pdl_kernel_device(kernel, &device);
        if (status != PDL_SUCCESS) {
            return status;
        }
    }
    return pdl_node_lower(kernel, device, desc, lowered);
}

pdl_status pdl_chain_check_launch(const struct pdl_chain *chain, pdl_kernel *kernel,
                                  const pdl_launch_desc *desc, pdl_launch_desc *whole,
                                  struct pdl_lowered *lowered)
{
    if (kernel == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "kernel", "kernel is NULL");
    }
    if (desc == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "desc", "desc is NULL");
    }
    pdl_status status = pdl_desc_whole(&desc, whole);
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (desc != whole) {
        *whole = *desc;
    }
    whole->size = (uint32_t)sizeof(*whole);
    if (whole->device_node != NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_NOT_SUPPORTED, "device_node",
                              "device_node is set: the nodes of a chain belong to it");
    }
    return pdl_chain_lower(chain, kernel, whole, lowered);
}

static pdl_status add(struct pdl_chain *chain, pdl_kernel *kernel, const pdl_launch_desc *desc,
                      void *const *args, const size_t *sizes, size_t count)
{
    struct pdl_lowered lowered;
    struct pdl_link made = {.kernel = kernel};
    if (sizes == NULL && count > 0) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "sizes", "sizes is NULL and count is %zu",
                              count);
    }
    pdl_status status = pdl_chain_check_launch(chain, kernel, desc, &made.desc, &lowered);
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (!PDL_ARRAY_ROOM(chain->links, chain->count, chain->capacity)) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for link %u", chain->count);
    }
    status = pdl_arguments_copy(kernel, args, sizes, count, &made.arguments);
    if (status != PDL_SUCCESS) {
        return status;
    }
    chain->links[chain->count++] = made;
    pdl_chain_put_last(chain, chain->count - 1);
    chain->built = false;
    return PDL_SUCCESS;
}

pdl_status pdl_chain_add(pdl_chain *chain, pdl_kernel *kernel, const pdl_launch_desc *desc,
                         void *const *args, const size_t *sizes, size_t count, uint32_t *link)
{
    pdl_status status = pdl_chain_enter(chain);
    if (status != PDL_SUCCESS) {
        return status;
    }
    status = add(chain, kernel, desc, args, sizes, count);
    if (status == PDL_SUCCESS && link != NULL) {
        *link = chain->count - 1;
    }
    return pdl_chain_leave(chain, status);
}

/* ---- dependencies --------------------------------------------------------------------------- */

const uint32_t *pdl_chain_dependencies(const struct pdl_chain *chain, uint32_t link,
                                       uint32_t *before, uint32_t *count)
{
    const struct pdl_link *of = &chain->links[link];
    if (of->explicit_dependencies) {
        *count = of->on_count;
        return of->on;
    }
    *count = link > 0 ? 1 : 0;
    *before = link - 1;
    return before;
}

/* Looks in the shorter list. */
static bool depends_directly(const struct pdl_link *link, const struct pdl_link *on,
                             uint32_t link_number, uint32_t on_number)
{
    const bool in_on = link->on_count <= on->by_count;
    const uint32_t *list = in_on ? link->on : on->by;
    const uint32_t count = in_on ? link->on_count : on->by_count;
    const uint32_t wanted = in_on ? on_number : link_number;
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] == wanted) {
            return true;
        }
    }
    return false;
}

static pdl_status add_dependency(struct pdl_chain *chain, uint32_t link, uint32_t on)
{
    bool cycle = false;
    pdl_status status = pdl_chain_check_link(chain, link, "link");
    if (status != PDL_SUCCESS) {
        return status;
    }
    struct pdl_link *waits = &chain->links[link];
    if (on == PDL_CHAIN_START) {
        if (waits->on_count > 0) {
            return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "on",
                                  "link %u depends on %u links and cannot be at the start as well",
                                  link, waits->on_count);
        }
        waits->explicit_dependencies = true;
        chain->built = false;
        return PDL_SUCCESS;
    }
    status = pdl_chain_check_link(chain, on, "on");
    if (status != PDL_SUCCESS) {
        return status;
    }
    struct pdl_link *waited = &chain->links[on];
    if (depends_directly(waits, waited, link, on)) {
        return PDL_SUCCESS;
    }
    status = pdl_chain_put_after(chain, link, on, &cycle);
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (cycle) {
        return PDL_FAIL_FIELD(PDL_ERROR_CYCLE, "on",
                              on == link ? "link %u cannot wait for itself (%u)"
                                         : "link %u cannot wait for link %u, which waits for it",
                              link, on);
    }
    if (!PDL_ARRAY_ROOM(waits->on, waits->on_count, waits->on_capacity) ||
        !PDL_ARRAY_ROOM(waited->by, waited->by_count, waited->by_capacity)) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for dependency %u", waits->on_count);
    }
    waits->on[waits->on_count++] = on;
    waited->by[waited->by_count++] = link;
    waits->explicit_dependencies = true;
    chain->built = false;
    return PDL_SUCCESS;
}

pdl_status pdl_chain_add_dependency(pdl_chain *chain, uint32_t link, uint32_t on)
{
    const pdl_status status = pdl_chain_enter(chain);
    return status == PDL_SUCCESS ? pdl_chain_leave(chain, add_dependency(chain, link, on)) : status;
}

/* ---- building ------------------------------------------------------------------------------- */

/* A build under way: nothing of the chain changes before it has succeeded. */
struct build {
    int device;
    CUgraphNode *nodes;              /* by link */
    CUDA_KERNEL_NODE_PARAMS *params; /* by link */
    pdl_edge *edges;                 /* room for the dependencies of any link */
    bool has_priority;               /* a link sets one */
    CUgraph graph;
    CUgraphExec exec;
};

static pdl_status add_node(const struct pdl_chain *chain, struct build *build, uint32_t link)
{
    struct pdl_link *of = &chain->links[link];
    struct pdl_lowered lowered;
    uint32_t before;
    uint32_t count;
    const uint32_t *on = pdl_chain_dependencies(chain, link, &before, &count);
    pdl_status status = pdl_node_lower(of->kernel, build->device, &of->desc, &lowered);
    if (status != PDL_SUCCESS) {
        return status;
    }
    for (uint32_t i = 0; i < count; i++) {
        build->edges[i] = (pdl_edge){
            .node = build->nodes[on[i]],
            .kind = PDL_EDGE_PROGRAMMATIC, /* full where that is not granted */
        };
    }
    status = pdl_node_params(of->kernel, &lowered, of->arguments->pointers, &build->params[link]);
    if (status != PDL_SUCCESS) {
        return status;
    }
    build->has_priority =
        build->has_priority || pdl_lowered_find(&lowered, CU_LAUNCH_ATTRIBUTE_PRIORITY);
    return pdl_node_add(of->kernel, &lowered, &build->params[link], build->graph, build->edges,
                        count, &build->nodes[link]);
}

static pdl_status make_graph(const struct pdl_chain *chain, struct build *build)
{
    const struct pdl_driver *driver = chain->driver;
    CUresult result = driver->cuGraphCreate(&build->graph, 0);
    if (result != CUDA_SUCCESS) {
        build->graph = NULL;
        return pdl_error_from_cuda(driver, "cuGraphCreate", (int32_t)result, "to build a chain");
    }
    for (uint32_t link = chain->first; link != PDL_NO_LINK; link = chain->links[link].later) {
        const pdl_status status = add_node(chain, build, link);
        if (status != PDL_SUCCESS) {
            return status;
        }
    }
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

static pdl_status build_chain(struct pdl_chain *chain)
{
    struct build build = {.device = -1};
    const size_t count = chain->count;
    pdl_status status;
    if (count == 0) {
        return PDL_FAIL(PDL_ERROR_NOT_BUILT, "the chain has no links to build");
    }
    status = pdl_device_of_context(chain->driver, &build.device);
    if (status != PDL_SUCCESS) {
        return status;
    }
    build.nodes = calloc(count, sizeof(CUgraphNode));
    build.params = calloc(count, sizeof(*build.params));
    build.edges = malloc(count * sizeof(*build.edges));
    if (build.nodes == NULL || build.params == NULL || build.edges == NULL) {
        status = PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory to build %zu links", count);
        goto done;
    }
    status = make_graph(chain, &build);
    if (status != PDL_SUCCESS) {
        discard(chain->driver, build.graph, build.exec);
        goto done;
    }
    discard(chain->driver, chain->graph, chain->exec);
    chain->graph = build.graph;
    chain->exec = build.exec;
    chain->device = build.device;
    for (uint32_t i = 0; i < chain->count; i++) {
        chain->links[i].node = build.nodes[i];
        chain->links[i].params = build.params[i];
    }
    chain->built = true;

done:
    free(build.nodes);
    free(build.params);
    free(build.edges);
    return status;
}

pdl_status pdl_chain_build(pdl_chain *chain)
{
    const pdl_status status = pdl_chain_enter(chain);
    return status == PDL_SUCCESS ? pdl_chain_leave(chain, build_chain(chain)) : status;
}

pdl_status pdl_chain_reset(pdl_chain *chain)
{
    const pdl_status status = pdl_chain_enter(chain);
    if (status != PDL_SUCCESS) {
        return status;
    }
    discard(chain->driver, chain->graph, chain->exec);
    chain->graph = NULL;
    chain->exec = NULL;
    chain->built = false;
    return pdl_chain_leave(chain, PDL_SUCCESS);
}

static pdl_status check_built(const struct pdl_chain *chain)
{
    if (!chain->built) {
        return PDL_FAIL(PDL_ERROR_NOT_BUILT,
                        "the chain of %u links %s: call pdl_chain_build() first", chain->count,
                        chain->exec != NULL ? "was changed since it was built" : "is not built");
    }
    return PDL_SUCCESS;
}

pdl_status pdl_chain_graph(pdl_chain *chain, struct CUgraph_st **graph)
{
    pdl_status status = pdl_chain_enter(chain);
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (graph == NULL) {
        status = PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "graph", "graph is NULL");
    } else {
        status = check_built(chain);
    }
    if (status == PDL_SUCCESS) {
        *graph = chain->graph;
    }
    return pdl_chain_leave(chain, status);
}

/* ---- replaying ------------------------------------------------------------------------------ */

/* The device of a stream. The default streams belong to the current context. */
static pdl_status stream_device(const struct pdl_driver *driver, CUstream stream, int *device)
{
    const char *call = "cuStreamGetDevice";
    CUdevice of = 0;
    CUresult result;
    if (stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) {
        return pdl_device_of_context(driver, device);
    }
    if (driver->cuStreamGetDevice != NULL) {
        result = driver->cuStreamGetDevice(stream, &of);
    } else {
        CUcontext context = NULL;
        CUcontext previous = NULL;
        call = "cuStreamGetCtx";
        result = driver->cuStreamGetCtx(stream, &context);
        if (result == CUDA_SUCCESS) {
            call = "cuCtxPushCurrent";
            result = driver->cuCtxPushCurrent(context);
        }
        if (result == CUDA_SUCCESS) {
            call = "cuCtxGetDevice";
            result = driver->cuCtxGetDevice(&of);
            (void)driver->cuCtxPopCurrent(&previous);
        }
    }
    if (result != CUDA_SUCCESS) {
        return pdl_error_from_cuda(driver, call, (int32_t)result, "to find the device of a stream");
    }
    *device = of;
    return PDL_SUCCESS;
}

static pdl_status check_device(const struct pdl_chain *chain, CUstream stream)
{
    int device = -1;
    const pdl_status status = stream_device(chain->driver, stream, &device);
    if (status == PDL_SUCCESS && device != chain->device) {
        return PDL_FAIL_FIELD(PDL_ERROR_WRONG_DEVICE, "stream",
                              "the stream is of device %d and the chain was built for device %d",
                              device, chain->device);
    }
    return status;
}

static inline pdl_status submit(const struct pdl_chain *chain, CUstream stream, bool upload)
{
    const struct pdl_driver *const driver = chain->driver;
    pdl_status status = check_built(chain);
    if (stream == NULL) {
        stream = chain->default_stream;
    }
    if (status == PDL_SUCCESS && driver->device_count > 1) {
        status = check_device(chain, stream);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    const CUresult result = upload ? driver->cuGraphUpload(chain->exec, stream)
                                   : driver->cuGraphLaunch(chain->exec, stream);
    if (result != CUDA_SUCCESS) {
        return pdl_error_from_cuda(driver, upload ? "cuGraphUpload" : "cuGraphLaunch",
                                   (int32_t)result,
                                   upload ? "to upload a chain" : "to launch a chain");
    }
    return PDL_SUCCESS;
}

pdl_status pdl_chain_upload(pdl_chain *chain, struct CUstream_st *stream)
{
    const pdl_status status = pdl_chain_enter(chain);
    return status == PDL_SUCCESS ? pdl_chain_leave(chain, submit(chain, stream, true)) : status;
}

pdl_status pdl_chain_launch(pdl_chain *chain, struct CUstream_st *stream)
{
    const pdl_status status = pdl_chain_enter(chain);
    return status == PDL_SUCCESS ? pdl_chain_leave(chain, submit(chain, stream, false)) : status;
}

/* ---- explain -------------------------------------------------------------------------------- */

static const char *how(bool granted, uint32_t dependencies)
{
    if (dependencies == 0) {
        return "starts with the replay";
    }
    return granted ? "overlaps what it depends on" : "waits for the end of what it depends on";
}

static pdl_status explain(struct pdl_chain *chain, uint32_t index, pdl_chain_report *report)
{
    struct pdl_lowered lowered = {.reason = PDL_REASON_NOT_REQUESTED};
    pdl_chain_report known = {
        .dependency_capacity = report->dependency_capacity,
        .dependency_links = report->dependency_links,
        .links = chain->count,
        .built = chain->built,
    };
    char links[64] = "";
    size_t written = 0;
    uint32_t before;
    pdl_status status = pdl_chain_check_link(chain, index, "link");
    if (status != PDL_SUCCESS) {
        return status;
    }
    const struct pdl_link *link = &chain->links[index];
    status = pdl_chain_lower(chain, link->kernel, &link->desc, &lowered);
    if (status != PDL_SUCCESS) {
        return status;
    }
    const uint32_t *on = pdl_chain_dependencies(chain, index, &before, &known.dependencies);
    for (uint32_t i = 0; i < known.dependencies; i++) {
        if (written > sizeof(links) - 20) { /* room for one more and the dots */
            (void)snprintf(links + written, sizeof(links) - written, ", ...");
            break;
        }
        written += (size_t)snprintf(links + written, sizeof(links) - written, "%s%u",
                                    i > 0 ? ", " : " ", on[i]);
    }
    for (uint32_t i = 0;
         known.dependency_links != NULL && i < known.dependency_capacity && i < known.dependencies;
         i++) {
        known.dependency_links[i] = on[i];
    }
    const CUlaunchConfig *const config = &lowered.config;
    known.kernel = link->kernel;
    const uint32_t grid[] = {config->gridDimX, config->gridDimY, config->gridDimZ};
    const uint32_t block[] = {config->blockDimX, config->blockDimY, config->blockDimZ};
    memcpy(known.grid, grid, sizeof(known.grid));
    memcpy(known.block, block, sizeof(known.block));
    known.dynamic_shared_memory = config->sharedMemBytes;
    known.device = lowered.facts->device->ordinal;
    known.overlap = lowered.reason == PDL_REASON_GRANTED && known.dependencies > 0;
    known.overlap_reason = (uint32_t)lowered.reason;
    (void)snprintf(known.message, sizeof(known.message), "link %u (kernel %s) %s%s%s%s%s", index,
                   pdl_kernel_name(link->kernel), how(known.overlap, known.dependencies),
                   known.dependencies > 0 ? ", link" : "", links,
                   known.overlap || known.dependencies == 0 ? "" : ": ",
                   known.overlap || known.dependencies == 0 ? ""
                                                            : pdl_reason_string(lowered.reason));
    pdl_sized_copy(report, &known, sizeof(known));
    return PDL_SUCCESS;
}

pdl_status pdl_chain_explain(pdl_chain *chain, uint32_t link, pdl_chain_report *report)
{
    pdl_status status =
        pdl_sized_within(report, offsetof(pdl_chain_report, dependencies), "report");
    if (status != PDL_SUCCESS) {
        return status;
    }
    status = pdl_chain_enter(chain);
    return status == PDL_SUCCESS ? pdl_chain_leave(chain, explain(chain, link, report)) : status;
}
