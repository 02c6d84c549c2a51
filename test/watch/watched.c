/* SPDX-License-Identifier: MIT */
/* What the program does with CUDA.
 *
 *   plain=N, ex=N, ptsz=N, overlap=N    launches of fc1 without attributes, by one entry or the other; of fc2 with overlap
 *   cooperative, event, cluster         a launch of fc1 with that
 *   refused                             one that the driver refuses
 *   memset, copy, back, record, wait, host, value, allocate, sync    other work in a stream
 *   graph=N, capture=N                  a graph that is built or captured, launched N times
 *   destroy                             what graph and capture made
 *   threads=N                           that many threads, each with a stream, 100 launches and all other work
 *   reset                               what cudaDeviceReset() does, and begin again
 *   no                                  first: no CUDA at all
 *   later                               first: none until launches are made by a child, or `begin`
 */
#include "watched.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#include "../inspect/make_image.h"

enum { BYTES = 64, EACH = 100 };

static void *driver;
static CUfunction kernels[2];
static CUlibrary library;
static CUstream stream;
static CUdeviceptr memory;
static CUevent event;
static CUgraph graph;
static CUgraphExec exec;
static struct bytes image;
static bool has_begun;

void watched_fail(const char *what)
{
    (void)fprintf(stderr, "watched: %s\n", what);
    exit(99);
}

/* A call of the driver, by the name that cuda.h makes of it. */
#define CALL(name, ...) CALL_(name, __VA_ARGS__)
#define CALL_(name, ...)                                                                           \
    do {                                                                                           \
        if (TRY_(name, __VA_ARGS__) != CUDA_SUCCESS) {                                             \
            watched_fail(#name " failed");                                                         \
        }                                                                                          \
    } while (0)
#define TRY(name, ...)  TRY_(name, __VA_ARGS__)
#define TRY_(name, ...) ((__typeof__(name) *)symbol(#name))(__VA_ARGS__)

typedef void (*any_function)(void);

static any_function symbol(const char *name)
{
    void *const found = dlsym(driver, name);
    any_function function;
    if (found == NULL) {
        watched_fail(name);
    }
    memcpy(&function, &found, sizeof(function));
    return function;
}

static void begin(void)
{
    static const struct made_cubin made = {
        .target = 90,
        .functions = {{.name = "fc1", .code = {OP_OTHER, OP_TRIGGER, OP_EXIT}},
                      {.name = "fc2", .code = {OP_OTHER, OP_WAIT, OP_EXIT}}}};
    CUdevice device = 0;
    CUcontext context = NULL;
    CUkernel kernel = NULL;
    CALL(cuInit, 0);
    CALL(cuDeviceGet, &device, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, device);
    CALL(cuCtxSetCurrent, context);
    if (image.data == NULL) {
        image = make_cubin(&made);
    }
    CALL(cuLibraryLoadData, &library, image.data, NULL, NULL, 0, NULL, NULL, 0);
    for (int i = 0; i < 2; i++) {
        CALL(cuLibraryGetKernel, &kernel, library, i == 0 ? "fc1" : "fc2");
        CALL(cuKernelGetFunction, &kernels[i], kernel);
    }
    CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    CALL(cuMemAlloc, &memory, BYTES);
    CALL(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
    has_begun = true;
}

/* ---- launches --------------------------------------------------------------------------------------- */

static void launch_plainly(CUstream in)
{
    CALL(cuLaunchKernel, kernels[0], 3, 2, 1, 64, 1, 1, 128, in, NULL, NULL);
}

static void launch_with(CUfunction kernel, CUstream in, CUlaunchAttribute *attribute)
{
    const CUlaunchConfig config = {.gridDimX = 4,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = 32,
                                   .blockDimY = 2,
                                   .blockDimZ = 1,
                                   .sharedMemBytes = 256,
                                   .hStream = in,
                                   .attrs = attribute,
                                   .numAttrs = attribute != NULL};
    CALL(cuLaunchKernelEx, &config, kernel, NULL, NULL);
}

static void launch_overlapped(CUstream in)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                   .value.programmaticStreamSerializationAllowed = 1};
    launch_with(kernels[1], in, &attribute);
}

void watched_launch(unsigned count)
{
    if (!has_begun) {
        begin();
    }
    for (unsigned i = 0; i < count; i++) {
        launch_plainly(stream);
    }
}

static bool launches(const char *word, unsigned count)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_IGNORE};
    const bool is_ptsz = strcmp(word, "ptsz") == 0;
    if (strcmp(word, "plain") == 0) {
        watched_launch(count);
    } else if (strcmp(word, "ex") == 0) {
        for (unsigned i = 0; i < count; i++) {
            launch_with(kernels[0], NULL, NULL);
        }
    } else if (strcmp(word, "overlap") == 0) {
        for (unsigned i = 0; i < count; i++) {
            launch_overlapped(stream);
        }
    } else if (is_ptsz) {
        __typeof__(cuLaunchKernel) *const call =
            (__typeof__(cuLaunchKernel) *)symbol("cuLaunchKernel_ptsz");
        for (unsigned i = 0; i < count; i++) {
            (void)call(kernels[0], 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
        }
    } else if (strcmp(word, "cooperative") == 0) {
        CALL(cuLaunchCooperativeKernel, kernels[0], 1, 1, 1, 1, 1, 1, 0, stream, NULL);
    } else if (strcmp(word, "event") == 0) {
        attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
        attribute.value.programmaticEvent.event = event;
        attribute.value.programmaticEvent.triggerAtBlockStart = 1;
        launch_with(kernels[0], stream, &attribute);
    } else if (strcmp(word, "cluster") == 0) {
        attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attribute.value.clusterDim.x = 2;
        attribute.value.clusterDim.y = 1;
        attribute.value.clusterDim.z = 1;
        launch_with(kernels[0], stream, &attribute);
    } else if (strcmp(word, "refused") == 0) {
        if (TRY(cuLaunchKernel, kernels[0], 1, 1, 1, 2048, 1, 1, 0, stream, NULL, NULL) ==
            CUDA_SUCCESS) {
            watched_fail("a block of 2048 threads was launched");
        }
    } else {
        return false;
    }
    return true;
}

/* ---- other work ------------------------------------------------------------------------------------- */

static void CUDA_CB on_host(void *user)
{
    (void)user;
}

static bool operations(const char *word, CUstream in)
{
    unsigned char bytes[BYTES] = {0};
    if (strcmp(word, "memset") == 0) {
        CALL(cuMemsetD8Async, memory, 7, BYTES, in);
    } else if (strcmp(word, "copy") == 0) {
        CALL(cuMemcpyHtoDAsync, memory, bytes, BYTES, in);
    } else if (strcmp(word, "back") == 0) {
        CALL(cuMemcpyDtoH, bytes, memory, BYTES);
    } else if (strcmp(word, "record") == 0) {
        CALL(cuEventRecord, event, in);
    } else if (strcmp(word, "wait") == 0) {
        CALL(cuStreamWaitEvent, in, event, 0);
    } else if (strcmp(word, "host") == 0) {
        CALL(cuLaunchHostFunc, in, on_host, NULL);
    } else if (strcmp(word, "value") == 0) {
        CALL(cuStreamWriteValue32, in, memory, 1, 0);
    } else if (strcmp(word, "allocate") == 0) {
        CUdeviceptr more = 0;
        CALL(cuMemAllocAsync, &more, BYTES, in);
        CALL(cuMemFreeAsync, more, in);
    } else if (strcmp(word, "sync") == 0) {
        if (((__typeof__(cuCtxSynchronize) *)symbol("cuCtxSynchronize"))() != CUDA_SUCCESS) {
            watched_fail("cuCtxSynchronize");
        }
    } else {
        return false;
    }
    return true;
}

/* ---- graphs ----------------------------------------------------------------------------------------- */

static CUgraphNode add_kernel(CUfunction kernel, CUgraphNode *after, unsigned char type)
{
    CUgraphNode node = NULL;
    const CUgraphEdgeData edge = {.from_port = type, .type = type};
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    params.kernel.func = kernel;
    params.kernel.gridDimX = 5;
    params.kernel.gridDimY = params.kernel.gridDimZ = 1;
    params.kernel.blockDimX = 96;
    params.kernel.blockDimY = params.kernel.blockDimZ = 1;
    CALL(cuGraphAddNode, &node, graph, after, after != NULL ? &edge : NULL, after != NULL, &params);
    return node;
}

static void launch_graph(unsigned count)
{
    CALL(cuGraphInstantiateWithFlags, &exec, graph, 0);
    for (unsigned i = 0; i < count; i++) {
        CALL(cuGraphLaunch, exec, stream);
    }
}

static bool graphs(const char *word, unsigned count)
{
    if (strcmp(word, "graph") == 0) {
        CALL(cuGraphCreate, &graph, 0);
        CUgraphNode first = add_kernel(kernels[0], NULL, 0);
        CUgraphNode second = add_kernel(kernels[1], &first, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
        (void)add_kernel(kernels[1], &second, 0);
        launch_graph(count);
    } else if (strcmp(word, "capture") == 0) {
        CALL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
        launch_plainly(stream);
        launch_overlapped(stream);
        (void)operations("memset", stream);
        launch_overlapped(stream);
        CALL(cuStreamEndCapture, stream, &graph);
        launch_graph(count);
    } else if (strcmp(word, "destroy") == 0) {
        CALL(cuGraphExecDestroy, exec);
        CALL(cuGraphDestroy, graph);
    } else {
        return false;
    }
    return true;
}

/* ---- the rest --------------------------------------------------------------------------------------- */

static void *on_thread(void *none)
{
    CUcontext context = NULL;
    CUstream mine = NULL;
    CALL(cuDevicePrimaryCtxRetain, &context, 0);
    CALL(cuCtxSetCurrent, context);
    CALL(cuStreamCreate, &mine, CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < EACH; i++) {
        if (i % 2 == 0) {
            launch_plainly(mine);
        } else {
            launch_overlapped(mine);
        }
        (void)operations("copy", mine);
        (void)operations("record", mine);
    }
    return none;
}

static void run_threads(unsigned count)
{
    pthread_t *const threads = calloc(count, sizeof(*threads));
    for (unsigned i = 0; i < count; i++) {
        if (threads == NULL || pthread_create(&threads[i], NULL, on_thread, NULL) != 0) {
            watched_fail("no thread");
        }
    }
    for (unsigned i = 0; i < count; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    free(threads);
}

static bool others(const char *word, const char *value)
{
    if (strcmp(word, "threads") == 0) {
        run_threads((unsigned)atoi(value));
    } else if (strcmp(word, "begin") == 0) {
        begin();
    } else if (strcmp(word, "reset") == 0) {
        CALL(cuDevicePrimaryCtxReset, 0);
        begin();
    } else {
        return false;
    }
    return true;
}

void watched_do(char **words)
{
    for (; *words != NULL; words++) {
        char *const word = strdup(*words);
        char *const equals = word != NULL ? strchr(word, '=') : NULL;
        if (word == NULL) {
            watched_fail("no memory");
        }
        if (equals != NULL) {
            *equals = '\0';
        }
        const char *const value = equals != NULL ? equals + 1 : "1";
        const unsigned count = (unsigned)strtoul(value, NULL, 10);
        if (!launches(word, count) && !operations(word, stream) && !graphs(word, count) &&
            !others(word, value) && !watched_process(word, value, words + 1)) {
            watched_fail(*words);
        }
        free(word);
    }
}

int main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "no") == 0) {
        watched_do(words + 2);
        return 0;
    }
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == NULL) {
        watched_fail("no libcuda.so.1");
    }
    const bool later = count > 1 && strcmp(words[1], "later") == 0;
    if (!later) {
        begin();
    }
    watched_do(words + 1 + later);
    bytes_free(&image);
    return 0;
}
