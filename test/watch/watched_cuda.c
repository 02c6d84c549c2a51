/* SPDX-License-Identifier: MIT */
/* The fake libcuda.so.1 (test/fake) as a driver that can be watched: cuInit loads the library that
 * CUDA_INJECTION64_PATH names, as the real one does, and calls and the work that they bring about are shown to who
 * attached itself, which is mock_cupti.c.
 *
 * Beside what the fake driver has, it launches kernels in the old way, captures streams into graphs, and puts other work
 * than kernels into streams. */
/* For cuda.h: the types of old versions of calls, which generated_cuda_meta.h mentions. */
#define __CUDA_API_VERSION_INTERNAL /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <generated_cuda_meta.h>

#include "watched_cuda.h"
#include "watched_entries.h"

enum { CAPTURES = 8 };

static _Atomic(const struct watched_viewer *) viewer;
static _Atomic uint32_t correlations;
static _Atomic bool has_context[MOCK_DEVICES];

/* ------------------------------------------------------------------------------------------------
 * Showing
 * ---------------------------------------------------------------------------------------------- */

__attribute__((visibility("default"))) void watched_attach(const struct watched_viewer *who)
{
    atomic_store(&viewer, who);
}

static void show_resource(CUpti_CallbackIdResource id, CUcontext context, void *descriptor)
{
    const struct watched_viewer *const who = atomic_load(&viewer);
    if (who != NULL) {
        who->resource((uint32_t)id, context, descriptor);
    }
}

static void show_work(const struct watched_work *work)
{
    const struct watched_viewer *const who = atomic_load(&viewer);
    if (who != NULL) {
        who->work(work);
    }
}

/* A context is said to be created when something is first done in it. */
static CUcontext current(void)
{
    CUcontext context = mock_current_context();
    const int device = mock_current_device();
    if (device >= 0 && !atomic_exchange(&has_context[device], true)) {
        show_resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context, NULL);
    }
    return context;
}

static void enter(struct watched_call *call)
{
    const struct watched_viewer *const who = atomic_load(&viewer);
    call->context = current();
    call->correlation = atomic_fetch_add(&correlations, 1) + 1;
    if (who != NULL) {
        who->call(call, false);
    }
}

static CUresult leave(struct watched_call *call)
{
    const struct watched_viewer *const who = atomic_load(&viewer);
    if (who != NULL) {
        who->call(call, true);
    }
    return call->result;
}

#define CALL(called, ...)                                                                          \
    const called##_params params = {__VA_ARGS__};                                                  \
    struct watched_call call = {                                                                   \
        .id = CUPTI_DRIVER_TRACE_CBID_##called, .name = #called, .params = &params};               \
    enter(&call)

/* ------------------------------------------------------------------------------------------------
 * Loading
 * ---------------------------------------------------------------------------------------------- */

static void inject(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path != NULL && path[0] != '\0' ? dlopen(path, RTLD_LAZY) : NULL;
    void *symbol = library != NULL ? dlsym(library, "InitializeInjection") : NULL;
    if (symbol != NULL) {
        int (*initialize)(void);
        memcpy(&initialize, &symbol, sizeof(initialize));
        (void)initialize();
    }
}

CUresult shown_cuInit(unsigned flags)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, inject);
    return mock_cuInit(flags);
}

CUresult shown_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit,
                                 void **jit_values, unsigned jit_count, CUlibraryOption *options,
                                 void **values, unsigned count)
{
    CALL(cuLibraryLoadData, library, code, jit, jit_values, jit_count, options, values, count);
    call.result =
        mock_cuLibraryLoadData(library, code, jit, jit_values, jit_count, options, values, count);
    if (call.result == CUDA_SUCCESS && !(*library)->is_text) {
        CUpti_ModuleResourceData module = {.moduleId = call.correlation,
                                           .cubinSize = (*library)->size,
                                           .pCubin = (const char *)(*library)->bytes};
        show_resource(CUPTI_CBID_RESOURCE_MODULE_LOADED, call.context, &module);
    }
    return leave(&call);
}

/* ------------------------------------------------------------------------------------------------
 * Captures
 * ---------------------------------------------------------------------------------------------- */

/* Under the model's lock. */
static struct capture {
    CUstream stream; /* NULL: free */
    CUgraph graph;
    CUgraphNode last;
} captures[CAPTURES];

static struct capture *find_capture(CUstream stream)
{
    for (int i = 0; i < CAPTURES; i++) {
        if (captures[i].stream == stream) {
            return &captures[i];
        }
    }
    return NULL;
}

static bool is_captured(CUstream stream, struct capture *found)
{
    mock_lock("a capture");
    const struct capture *const capture = stream != NULL ? find_capture(stream) : NULL;
    if (capture != NULL) {
        *found = *capture;
    }
    (void)mock_leave(CUDA_SUCCESS);
    return capture != NULL;
}

static void show_node(CUgraph graph, CUgraphNode node, CUgraphNodeType type)
{
    CUpti_GraphData data = {.graph = graph, .node = node, .nodeType = type};
    show_resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, current(), &data);
}

static void add_captured(const struct capture *capture, CUgraphNode node, CUgraphNodeType type)
{
    mock_lock("a capture");
    struct capture *const kept = find_capture(capture->stream);
    if (kept != NULL) {
        kept->last = node;
    }
    (void)mock_leave(CUDA_SUCCESS);
    show_node(capture->graph, node, type);
}

CUresult shown_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    CALL(cuStreamBeginCapture_v2, stream, mode);
    CUgraph graph = NULL;
    call.result = stream != NULL ? mock_cuGraphCreate(&graph, 0) : CUDA_ERROR_INVALID_VALUE;
    if (call.result == CUDA_SUCCESS) {
        mock_lock("cuStreamBeginCapture");
        struct capture *const unused = find_capture(NULL);
        if (unused == NULL || find_capture(stream) != NULL) {
            abort(); /* the test asks for too much */
        }
        *unused = (struct capture){.stream = stream, .graph = graph};
        mock_capture(stream, graph, CU_STREAM_CAPTURE_STATUS_ACTIVE);
        (void)mock_leave(CUDA_SUCCESS);
    }
    return leave(&call);
}

CUresult shown_cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    CALL(cuStreamEndCapture, stream, graph);
    mock_lock("cuStreamEndCapture");
    struct capture *const capture = stream != NULL ? find_capture(stream) : NULL;
    if (capture != NULL) {
        *graph = capture->graph;
        memset(capture, 0, sizeof(*capture));
        mock_capture(stream, NULL, CU_STREAM_CAPTURE_STATUS_NONE);
    }
    call.result = mock_leave(capture != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    return leave(&call);
}

static bool asks_for_overlap(const CUlaunchConfig *config)
{
    for (unsigned i = 0; i < config->numAttrs; i++) {
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
            return config->attrs[i].value.programmaticStreamSerializationAllowed != 0;
        }
    }
    return false;
}

static CUresult capture_launch(const struct capture *capture, const CUlaunchConfig *config,
                               CUfunction function, void **arguments)
{
    CUgraphNode node = NULL;
    CUgraphEdgeData edge = {0};
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    params.kernel.func = function;
    params.kernel.gridDimX = config->gridDimX;
    params.kernel.gridDimY = config->gridDimY;
    params.kernel.gridDimZ = config->gridDimZ;
    params.kernel.blockDimX = config->blockDimX;
    params.kernel.blockDimY = config->blockDimY;
    params.kernel.blockDimZ = config->blockDimZ;
    params.kernel.sharedMemBytes = config->sharedMemBytes;
    params.kernel.kernelParams = arguments;
    if (capture->last != NULL && capture->last->type == CU_GRAPH_NODE_TYPE_KERNEL &&
        asks_for_overlap(config)) {
        edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
        edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
    }
    const CUresult result = mock_cuGraphAddNode(&node, capture->graph, &capture->last, &edge,
                                                capture->last != NULL, &params);
    if (result == CUDA_SUCCESS) {
        add_captured(capture, node, CU_GRAPH_NODE_TYPE_KERNEL);
    }
    return result;
}

/* ------------------------------------------------------------------------------------------------
 * Launches
 * ---------------------------------------------------------------------------------------------- */

static const char *name_of(CUfunction function)
{
    int device = 0;
    mock_lock("a name");
    const struct mock_kernel *const kernel = mock_kernel_of_either(function, &device);
    const char *const name = kernel != NULL ? kernel->name : NULL;
    (void)mock_leave(CUDA_SUCCESS);
    return name;
}

static void launch(struct watched_call *call, const CUlaunchConfig *config, CUfunction function,
                   void **arguments, void **extra)
{
    struct capture capture;
    if (is_captured(config->hStream, &capture)) {
        call->result = capture_launch(&capture, config, function, arguments);
        return;
    }
    call->result = mock_cuLaunchKernelEx(config, function, arguments, extra);
    if (call->result == CUDA_SUCCESS) {
        show_work(&(struct watched_work){
            .kind = WATCHED_KERNEL,
            .correlation = call->correlation,
            .context = call->context,
            .stream = config->hStream,
            .name = call->symbol,
            .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
            .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
            .shared = config->sharedMemBytes,
            .overlaps = asks_for_overlap(config)});
    }
}

/* Launches with what a watcher may have put in the place of the configuration. */
static CUresult launch_with(struct watched_call *call, const cuLaunchKernelEx_params *params)
{
    call->params = params;
    call->symbol = name_of(params->f);
    enter(call);
    launch(call, params->config, params->f, params->kernelParams, params->extra);
    return leave(call);
}

CUresult shown_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments,
                                void **extra)
{
    struct watched_call call = {.id = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
                                .name = "cuLaunchKernelEx"};
    cuLaunchKernelEx_params params = {config, function, arguments, extra};
    return launch_with(&call, &params);
}

CUresult shown_cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function,
                                     void **arguments, void **extra)
{
    struct watched_call call = {.id = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
                                .name = "cuLaunchKernelEx_ptsz"};
    cuLaunchKernelEx_params params = {config, function, arguments, extra};
    return launch_with(&call, &params);
}

static CUresult launch_plainly(struct watched_call *call, const cuLaunchKernel_params *params,
                               CUlaunchAttribute *attribute)
{
    const CUlaunchConfig config = {.gridDimX = params->gridDimX,
                                   .gridDimY = params->gridDimY,
                                   .gridDimZ = params->gridDimZ,
                                   .blockDimX = params->blockDimX,
                                   .blockDimY = params->blockDimY,
                                   .blockDimZ = params->blockDimZ,
                                   .sharedMemBytes = params->sharedMemBytes,
                                   .hStream = params->hStream,
                                   .attrs = attribute,
                                   .numAttrs = attribute != NULL};
    call->params = params;
    call->symbol = name_of(params->f);
    enter(call);
    launch(call, &config, params->f, params->kernelParams, params->extra);
    return leave(call);
}

#define PLAIN_PARAMS(extra)                                                                        \
    {                                                                                              \
        function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, arguments,    \
            extra                                                                                  \
    }

CUresult shown_cuLaunchKernel(CUfunction function, WATCHED_SHAPE_, CUstream stream,
                              void **arguments, void **extra)
{
    const cuLaunchKernel_params params = PLAIN_PARAMS(extra);
    struct watched_call call = {.id = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                                .name = "cuLaunchKernel"};
    return launch_plainly(&call, &params, NULL);
}

CUresult shown_cuLaunchKernel_ptsz(CUfunction function, WATCHED_SHAPE_, CUstream stream,
                                   void **arguments, void **extra)
{
    const cuLaunchKernel_params params = PLAIN_PARAMS(extra);
    struct watched_call call = {.id = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
                                .name = "cuLaunchKernel_ptsz"};
    return launch_plainly(&call, &params, NULL);
}

CUresult shown_cuLaunchCooperativeKernel(CUfunction function, WATCHED_SHAPE_, CUstream stream,
                                         void **arguments)
{
    CUlaunchAttribute cooperative = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    const cuLaunchKernel_params params = PLAIN_PARAMS(NULL); /* the call's own lack `extra` */
    struct watched_call call = {.id = CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
                                .name = "cuLaunchCooperativeKernel"};
    return launch_plainly(&call, &params, &cooperative);
}

/* ------------------------------------------------------------------------------------------------
 * Graphs
 * ---------------------------------------------------------------------------------------------- */

/* What is known of an executable graph. A clone's handle is the address of its member. */
struct clone {
    char handle;
    CUgraphNodeType type;
    bool overlaps;
    CUgraphNode original;
    const char *name;
    struct mock_node_params params;
};
struct exec {
    struct exec *next;
    CUgraphExec handle;
    size_t count;
    struct clone clones[];
};
static struct exec *execs; /* under the model's lock */

CUresult shown_cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                 const CUgraphEdgeData *data, size_t count,
                                 CUgraphNodeParams *node_params)
{
    CALL(cuGraphAddNode_v2, node, graph, dependencies, data, count, node_params);
    if (node_params->type == CU_GRAPH_NODE_TYPE_KERNEL) {
        call.result = mock_cuGraphAddNode(node, graph, dependencies, data, count, node_params);
    } else {
        mock_lock("cuGraphAddNode");
        *node = mock_add_node(graph, node_params->type);
        for (size_t i = 0; i < count; i++) {
            mock_add_edge(dependencies[i], *node, data != NULL ? data[i].type : 0,
                          data != NULL ? data[i].from_port : 0);
        }
        call.result = mock_leave(CUDA_SUCCESS);
    }
    if (call.result == CUDA_SUCCESS) {
        show_node(graph, *node, node_params->type);
    }
    return leave(&call);
}

static struct exec *clone_graph(CUgraphExec handle, CUgraph graph)
{
    size_t count = 0;
    mock_lock("a graph's clone");
    for (const mock_node *node = graph->nodes; node != NULL; node = node->next) {
        count++;
    }
    struct exec *const made = calloc(1, sizeof(*made) + count * sizeof(made->clones[0]));
    if (made == NULL) {
        abort();
    }
    made->handle = handle;
    for (mock_node *node = graph->nodes; node != NULL; node = node->next) {
        struct clone *const clone = &made->clones[made->count++];
        int device = 0;
        clone->type = node->type;
        clone->original = node;
        clone->params = node->params;
        if (node->type == CU_GRAPH_NODE_TYPE_KERNEL) {
            clone->name = mock_kernel_of_params(&node->params, &device)->name;
        }
        for (const struct mock_edge *edge = graph->edges; edge != NULL; edge = edge->next) {
            if (edge->to == node && edge->data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC) {
                clone->overlaps = true;
            }
        }
    }
    made->next = execs;
    execs = made;
    (void)mock_leave(CUDA_SUCCESS);
    return made;
}

static CUgraphNode handle_of(struct clone *clone)
{
    return (CUgraphNode)(void *)&clone->handle;
}

CUresult shown_cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
                                           unsigned long long flags)
{
    CALL(cuGraphInstantiateWithFlags, exec, graph, flags);
    call.result = mock_cuGraphInstantiateWithFlags(exec, graph, flags);
    if (call.result == CUDA_SUCCESS) {
        struct exec *const made = clone_graph(*exec, graph);
        CUpti_GraphData data = {.graph = graph, .graphExec = *exec};
        show_resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING, call.context, &data);
        for (size_t i = 0; i < made->count; i++) {
            CUpti_GraphData clone = {.graph = (CUgraph)(void *)made,
                                     .originalGraph = graph,
                                     .node = handle_of(&made->clones[i]),
                                     .originalNode = made->clones[i].original,
                                     .nodeType = made->clones[i].type};
            show_resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, call.context, &clone);
        }
        show_resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, call.context, &data);
    }
    return leave(&call);
}

CUresult shown_cuGraphExecDestroy(CUgraphExec exec)
{
    CALL(cuGraphExecDestroy, exec);
    CUpti_GraphData data = {.graphExec = exec};
    show_resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, call.context, &data);
    mock_lock("an executable graph's end");
    for (struct exec **at = &execs; *at != NULL; at = &(*at)->next) {
        if ((*at)->handle == exec) {
            struct exec *const gone = *at;
            *at = gone->next;
            free(gone);
            break;
        }
    }
    (void)mock_leave(CUDA_SUCCESS);
    call.result = mock_cuGraphExecDestroy(exec);
    return leave(&call);
}

CUresult shown_cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    CALL(cuGraphLaunch, exec, stream);
    call.result = mock_cuGraphLaunch(exec, stream);
    mock_lock("an executable graph");
    struct exec *found = execs;
    while (found != NULL && found->handle != exec) {
        found = found->next;
    }
    (void)mock_leave(CUDA_SUCCESS); /* the caller does not destroy it meanwhile */
    for (size_t i = 0; call.result == CUDA_SUCCESS && found != NULL && i < found->count; i++) {
        struct clone *const clone = &found->clones[i];
        struct watched_work work = {.kind = WATCHED_KERNEL,
                                    .correlation = call.correlation,
                                    .context = call.context,
                                    .stream = stream,
                                    .name = clone->name,
                                    .shared = clone->params.shared,
                                    .overlaps = clone->overlaps,
                                    .node = handle_of(clone),
                                    .graph = exec};
        if (clone->type != CU_GRAPH_NODE_TYPE_KERNEL) {
            work.kind = clone->type == CU_GRAPH_NODE_TYPE_MEMCPY ? WATCHED_COPY : WATCHED_SET;
            work.bytes = 64;
        }
        memcpy(work.grid, clone->params.grid, sizeof(work.grid));
        memcpy(work.block, clone->params.block, sizeof(work.block));
        show_work(&work);
    }
    return leave(&call);
}

/* ------------------------------------------------------------------------------------------------
 * Other work
 * ---------------------------------------------------------------------------------------------- */

static void show_transfer(const struct watched_call *call, CUstream stream, enum watched_kind kind,
                          size_t bytes)
{
    if (call->result == CUDA_SUCCESS) {
        show_work(&(struct watched_work){.kind = kind,
                                         .correlation = call->correlation,
                                         .context = call->context,
                                         .stream = stream,
                                         .bytes = bytes});
    }
}

CUresult shown_cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    CALL(cuMemcpyDtoH_v2, to, from, bytes);
    call.result = mock_cuMemcpyDtoH(to, from, bytes);
    show_transfer(&call, NULL, WATCHED_COPY, bytes);
    return leave(&call);
}

CUresult shown_cuMemsetD8_v2(CUdeviceptr to, unsigned char byte, size_t count)
{
    CALL(cuMemsetD8_v2, to, byte, count);
    call.result = mock_cuMemsetD8(to, byte, count);
    show_transfer(&call, NULL, WATCHED_SET, count);
    return leave(&call);
}

static CUresult check(CUstream stream)
{
    mock_lock("a stream");
    return mock_leave(mock_check_stream(stream));
}

CUresult shown_cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    CALL(cuMemcpyHtoDAsync_v2, to, from, bytes, stream);
    mock_lock("cuMemcpyHtoDAsync");
    const bool good = mock_has_memory(to, bytes, "cuMemcpyHtoDAsync");
    if (good) {
        memcpy(mock_memory(to), from, bytes);
    }
    call.result = mock_leave(good ? mock_check_stream(stream) : CUDA_ERROR_INVALID_VALUE);
    show_transfer(&call, stream, WATCHED_COPY, bytes);
    return leave(&call);
}

CUresult shown_cuMemsetD8Async(CUdeviceptr to, unsigned char byte, size_t count, CUstream stream)
{
    struct capture capture;
    CALL(cuMemsetD8Async, to, byte, count, stream);
    if (is_captured(stream, &capture)) {
        mock_lock("cuMemsetD8Async");
        CUgraphNode node = mock_add_node(capture.graph, CU_GRAPH_NODE_TYPE_MEMSET);
        if (capture.last != NULL) {
            mock_add_edge(capture.last, node, 0, 0);
        }
        call.result = mock_leave(CUDA_SUCCESS);
        add_captured(&capture, node, CU_GRAPH_NODE_TYPE_MEMSET);
        return leave(&call);
    }
    call.result = check(stream);
    if (call.result == CUDA_SUCCESS) {
        call.result = mock_cuMemsetD8(to, byte, count);
    }
    show_transfer(&call, stream, WATCHED_SET, count);
    return leave(&call);
}

CUresult shown_cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    CALL(cuMemAllocAsync, address, bytes, stream);
    call.result = mock_cuMemAlloc(address, bytes);
    return leave(&call);
}

CUresult shown_cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    CALL(cuMemFreeAsync, address, stream);
    call.result = mock_cuMemFree(address);
    return leave(&call);
}

CUresult shown_cuEventRecord(CUevent event, CUstream stream)
{
    CALL(cuEventRecord, event, stream);
    call.result = check(stream);
    return leave(&call);
}

CUresult shown_cuEventSynchronize(CUevent event)
{
    CALL(cuEventSynchronize, event);
    return leave(&call);
}

CUresult shown_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    CALL(cuStreamWaitEvent, stream, event, flags);
    call.result = check(stream);
    return leave(&call);
}

CUresult shown_cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value,
                                       unsigned flags)
{
    CALL(cuStreamWriteValue32_v2, stream, address, value, flags);
    call.result = check(stream);
    return leave(&call);
}

CUresult shown_cuLaunchHostFunc(CUstream stream, CUhostFn function, void *user)
{
    CALL(cuLaunchHostFunc, stream, function, user);
    call.result = check(stream);
    if (call.result == CUDA_SUCCESS) {
        function(user);
    }
    return leave(&call);
}

CUresult shown_cuCtxGetCurrent(CUcontext *context)
{
    *context = mock_current_context();
    return CUDA_SUCCESS;
}

CUresult shown_cuCtxSynchronize(void)
{
    struct watched_call call = {.id = CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize,
                                .name = "cuCtxSynchronize"};
    enter(&call);
    return leave(&call);
}

CUresult shown_cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    CALL(cuDevicePrimaryCtxReset_v2, device);
    if (atomic_exchange(&has_context[device], false)) {
        show_resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, mock_context(device), NULL);
    }
    mock_lock("cuDevicePrimaryCtxReset");
    mock_device_reset();
    call.result = mock_leave(CUDA_SUCCESS);
    return leave(&call);
}
