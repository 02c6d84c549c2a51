/* SPDX-License-Identifier: MIT */
/* Inside the model: what its entries share. See mock.h for what tests use.
 *
 * An entry begins with MOCK_ENTER(its name), which counts the call, takes the lock, and returns if
 * the test wants the call to fail; it ends with mock_leave(result). No cmocka assertion may be made
 * in one: threads that cmocka does not know call them. They call mock_misused() instead. */
#ifndef PDL_TEST_CUDA_MOCK_ENTRY_H
#define PDL_TEST_CUDA_MOCK_ENTRY_H

#include <stddef.h>
#include <stdint.h>

#include "mock.h"

/* X(name, since, symbol): the entries of the model, each with the CUDA version since which it
 * has been what it is, and the name that libcuda.so.1 exports it by. First those that a driver which
 * is watched (test/watch/watched_cuda.c) exports itself. */
#define MOCK_SHOWN_ENTRIES(X)                                                                      \
    X(cuInit, 2000, cuInit)                                                                        \
    X(cuMemcpyDtoH, 3020, cuMemcpyDtoH_v2)                                                         \
    X(cuMemsetD8, 3020, cuMemsetD8_v2)                                                             \
    X(cuLibraryLoadData, 12000, cuLibraryLoadData)                                                 \
    X(cuLaunchKernelEx, 11060, cuLaunchKernelEx)                                                   \
    X(cuGraphAddNode, 12030, cuGraphAddNode_v2)                                                    \
    X(cuGraphInstantiateWithFlags, 11040, cuGraphInstantiateWithFlags)                             \
    X(cuGraphExecDestroy, 10000, cuGraphExecDestroy)                                               \
    X(cuGraphLaunch, 10000, cuGraphLaunch)                                                         \
    X(cuCtxGetCurrent, 4000, cuCtxGetCurrent)                                                      \
    X(cuStreamEndCapture, 10000, cuStreamEndCapture)
#define MOCK_QUIET_ENTRIES(X)                                                                      \
    X(cuGetErrorName, 6000, cuGetErrorName)                                                        \
    X(cuDeviceGet, 2000, cuDeviceGet)                                                              \
    X(cuDeviceGetCount, 2000, cuDeviceGetCount)                                                    \
    X(cuDeviceGetName, 2000, cuDeviceGetName)                                                      \
    X(cuDeviceGetAttribute, 2000, cuDeviceGetAttribute)                                            \
    X(cuCtxPushCurrent, 4000, cuCtxPushCurrent_v2)                                                 \
    X(cuCtxPopCurrent, 4000, cuCtxPopCurrent_v2)                                                   \
    X(cuCtxGetDevice, 2000, cuCtxGetDevice)                                                        \
    X(cuCtxGetId, 12000, cuCtxGetId)                                                               \
    X(cuMemAlloc, 3020, cuMemAlloc_v2)                                                             \
    X(cuMemFree, 3020, cuMemFree_v2)                                                               \
    X(cuStreamGetCtx, 9020, cuStreamGetCtx)                                                        \
    X(cuCtxGetDevResource, 12040, cuCtxGetDevResource)                                             \
    X(cuStreamGetDevice, 12080, cuStreamGetDevice)                                                 \
    X(cuStreamIsCapturing, 10000, cuStreamIsCapturing)                                             \
    X(cuStreamGetCaptureInfo, 12030, cuStreamGetCaptureInfo_v3)                                    \
    X(cuLibraryUnload, 12000, cuLibraryUnload)                                                     \
    X(cuLibraryGetKernel, 12000, cuLibraryGetKernel)                                               \
    X(cuKernelGetFunction, 12000, cuKernelGetFunction)                                             \
    X(cuKernelGetAttribute, 12000, cuKernelGetAttribute)                                           \
    X(cuKernelSetAttribute, 12000, cuKernelSetAttribute)                                           \
    X(cuKernelGetName, 12030, cuKernelGetName)                                                     \
    X(cuKernelGetParamInfo, 12040, cuKernelGetParamInfo)                                           \
    X(cuFuncGetAttribute, 2020, cuFuncGetAttribute)                                                \
    X(cuFuncSetAttribute, 9000, cuFuncSetAttribute)                                                \
    X(cuFuncGetName, 12030, cuFuncGetName)                                                         \
    X(cuFuncGetParamInfo, 12040, cuFuncGetParamInfo)                                               \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050,                                           \
      cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                 \
    X(cuOccupancyMaxActiveClusters, 11070, cuOccupancyMaxActiveClusters)                           \
    X(cuOccupancyMaxPotentialClusterSize, 11070, cuOccupancyMaxPotentialClusterSize)               \
    X(cuGraphCreate, 10000, cuGraphCreate)                                                         \
    X(cuGraphDestroy, 10000, cuGraphDestroy)                                                       \
    X(cuGraphDestroyNode, 10000, cuGraphDestroyNode)                                               \
    X(cuGraphGetNodes, 10000, cuGraphGetNodes)                                                     \
    X(cuGraphGetEdges, 12030, cuGraphGetEdges_v2)                                                  \
    X(cuGraphNodeGetDependencies, 12030, cuGraphNodeGetDependencies_v2)                            \
    X(cuGraphNodeGetType, 10000, cuGraphNodeGetType)                                               \
    X(cuGraphKernelNodeGetParams, 12000, cuGraphKernelNodeGetParams_v2)                            \
    X(cuGraphKernelNodeGetAttribute, 11000, cuGraphKernelNodeGetAttribute)                         \
    X(cuGraphKernelNodeSetAttribute, 11000, cuGraphKernelNodeSetAttribute)                         \
    X(cuGraphExecKernelNodeSetParams, 12000, cuGraphExecKernelNodeSetParams_v2)                    \
    X(cuGraphClone, 10000, cuGraphClone)                                                           \
    X(cuGraphAddDependencies, 12030, cuGraphAddDependencies_v2)                                    \
    X(cuGraphMemcpyNodeGetParams, 10000, cuGraphMemcpyNodeGetParams)                               \
    X(cuGraphMemsetNodeGetParams, 10000, cuGraphMemsetNodeGetParams)                               \
    X(cuGraphHostNodeGetParams, 10000, cuGraphHostNodeGetParams)                                   \
    X(cuGraphChildGraphNodeGetGraph, 10000, cuGraphChildGraphNodeGetGraph)                         \
    X(cuGraphEventRecordNodeGetEvent, 11010, cuGraphEventRecordNodeGetEvent)                       \
    X(cuGraphEventWaitNodeGetEvent, 11010, cuGraphEventWaitNodeGetEvent)                           \
    X(cuGraphKernelNodeCopyAttributes, 11000, cuGraphKernelNodeCopyAttributes)                     \
    X(cuGraphConditionalHandleCreate, 12030, cuGraphConditionalHandleCreate)                       \
    X(cuGraphExecNodeSetParams, 12020, cuGraphExecNodeSetParams)                                   \
    X(cuStreamBeginCaptureToGraph, 12030, cuStreamBeginCaptureToGraph)
#define MOCK_ENTRIES(X) MOCK_SHOWN_ENTRIES(X) MOCK_QUIET_ENTRIES(X)

/* Every entry has the signature of the driver's. */
#define MOCK_TYPE_(name, version)                                                                  \
    typedef __typeof__(*(PFN_##name##_v##version)0) mock_##name##_type;
PDL_DRIVER_ENTRIES(MOCK_TYPE_, MOCK_TYPE_)
PDL_TRACE_DRIVER_ENTRIES(MOCK_TYPE_)
#undef MOCK_TYPE_

/* Under names of its own, because cuda.h declares and renames entries (cuMemAlloc to cuMemAlloc_v2) in ways that
 * differ between its versions. fake_cuda.c exports them under the driver's. */
#define MOCK_DECLARE_(name, since, symbol) mock_##name##_type mock_##name;
MOCK_ENTRIES(MOCK_DECLARE_)
#undef MOCK_DECLARE_

/* Takes the lock. The name is that of the call in the log. For calls that are not in mock_entry. */
void mock_lock(const char *name);

/* The same for an entry: counts the call, and returns the failure that the test wants. A call that
 * releases something does so all the same, and mock_leave() returns the failure. */
CUresult mock_enter(enum mock_entry entry);

/* Whether the calling thread is in an entry: what is allocated there is the model's. */
extern _Thread_local bool mock_is_inside;

/* Writes a line of the log if the call has written none, and releases the lock. */
CUresult mock_leave(CUresult result);

#define MOCK_ENTER(name)                                                                           \
    do {                                                                                           \
        const CUresult injected_ = mock_enter(MOCK_##name);                                        \
        if (injected_ != CUDA_SUCCESS) {                                                           \
            return mock_leave(injected_);                                                          \
        }                                                                                          \
    } while (0)

/* Leaves the entry with a failure. */
#define MOCK_FAIL_IF(condition, result)                                                            \
    do {                                                                                           \
        if (condition) {                                                                           \
            return mock_leave(result);                                                             \
        }                                                                                          \
    } while (0)

/* Notes what a correct caller would not do: mock_teardown() fails the test. Under the lock, as
 * everything below. */
__attribute__((format(printf, 1, 2))) void mock_misused(const char *format, ...);

/* Leaves the entry with a failure, and notes it. The format and its arguments are last. */
#define MOCK_MISUSED_IF(condition, result, ...)                                                    \
    do {                                                                                           \
        if (condition) {                                                                           \
            mock_misused(__VA_ARGS__);                                                             \
            return mock_leave(result);                                                             \
        }                                                                                          \
    } while (0)

/* Zeroed memory. There always is some. */
void *mock_new(size_t size);

/* A line of the log, if there is one: the name of the call, and this. */
#define MOCK_LOG(...)                                                                              \
    do {                                                                                           \
        if (mock.log != NULL) {                                                                    \
            mock_log(__VA_ARGS__);                                                                 \
        }                                                                                          \
    } while (0)
__attribute__((format(printf, 1, 2))) void mock_log(const char *format, ...);

/* What a launch, an attribute and a kernel node look like in the log. */
void mock_log_launch(const CUlaunchConfig *config, const char *name);
void mock_log_node(const char *head, const struct mock_node_params *params);
void mock_format_attribute(char *text, size_t size, const CUlaunchAttribute *attribute);

/* Fills the model: H200s, and code for them; no device is to be seen yet, and there is no
 * kernel. */
void mock_reset(void);

/* Frees what a program left. */
void mock_forget(void);

bool mock_is_device(CUdevice device);

/* Contexts. A device has one. Of the calling thread: the current one and its device (NULL and -1:
 * none is current), and how many were pushed and not popped. */
CUcontext mock_current_context(void);
int mock_current_device(void);
bool mock_has_context(CUcontext context, const char *call); /* notes misuse if not */
extern _Thread_local int mock_context_depth;

/* The device of a stream; -1 if it is none. And what is wrong with a stream in that case. */
int mock_stream_device(CUstream stream);
CUresult mock_check_stream(CUstream stream);

/* Streams beside those of mock_stream(), of the current context. */
void mock_create_stream(CUstream *stream);
CUresult mock_destroy_stream(CUstream stream);

/* Failures: the one that chance wants, and a note of one that a call returned. */
CUresult mock_chance(enum mock_entry entry);
bool mock_is_answer(enum mock_entry entry, CUresult result); /* which no failure can be told from */
void mock_note_failure(const char *call, CUresult result);

/* Show who watches (soak.h) a kernel that runs. */
void mock_see_launch(const CUlaunchConfig *config, const struct mock_kernel *kernel,
                     void *const *arguments);
void mock_see_node(CUgraphExec exec, unsigned number, CUstream stream,
                   const struct mock_node_params *params);

/* Whether an event was created in a way that a launch may record it. */
CUresult mock_check_event(CUevent event);

/* Whether all of a piece of device memory is allocated. */
bool mock_has_memory(CUdeviceptr address, size_t bytes, const char *call);

/* The kernel that a handle stands for; NULL if it stands for none. *device is what the function is
 * for. */
struct mock_kernel *mock_kernel_of_function(CUfunction function, int *device);
struct mock_kernel *mock_kernel_of_cu_kernel(CUkernel handle);

/* As launches and the occupancy query take it: a function, or a kernel cast to one. */
struct mock_kernel *mock_kernel_of_either(CUfunction function, int *device);

/* What a kernel has before anything is set. The name is not copied. */
void mock_init_kernel(struct mock_kernel *kernel, const char *name);

/* Images. A library is one, and so is a module. */
struct CUlib_st {
    struct CUlib_st *next;
    unsigned char *bytes;
    size_t size;
    bool is_text;
    bool is_compressed; /* some of it cannot be searched for names */
    struct mock_kernel *kernels;
    char *log; /* where the library's user wants its log */
    size_t log_size;
};
CUresult mock_load(const void *code, CUlibrary *library);
bool mock_has_library(CUlibrary library, const char *call); /* notes misuse if not */
void mock_unload(CUlibrary library);
void mock_write_late_logs(void);

/* The kernel of a name in an image; NULL: there is none. */
struct mock_kernel *mock_find_kernel(CUlibrary library, const char *name);

/* All kernels there are, those of the model and of images, one after the other, from NULL to
 * NULL. */
struct mock_kernel *mock_next_kernel(const struct mock_kernel *kernel);

/* A launch, and the record of one. */
CUresult mock_launch(const CUlaunchConfig *config, CUfunction function, void **arguments,
                     void **extra);
struct mock_launch *mock_next_launch(CUlaunchAttribute *attributes, unsigned count);
CUresult mock_check_attribute(const CUlaunchAttribute *attribute);

/* Graphs, for executable ones. */
struct mock_edge {
    struct mock_edge *next;
    mock_node *from;
    mock_node *to;
    CUgraphEdgeData data;
};
struct CUgraph_st {
    mock_graph *next;
    unsigned number;
    unsigned made; /* nodes, also those destroyed again */
    mock_node *nodes;
    struct mock_edge *edges;
    mock_node *owner;               /* a child graph's, or a body's; NULL: the caller's */
    bool is_body;                   /* or in one */
    unsigned handles;               /* of conditions that were made for it, */
    unsigned initial[MOCK_HANDLES]; /* their values, */
    bool used[MOCK_HANDLES];        /* and whether a node has them */
};
mock_graph *mock_make_graph(mock_node *owner, bool is_body);
void mock_remove_graph(mock_graph *graph);
mock_node *mock_append_node(mock_graph *graph, CUgraphNodeType type);
void mock_append_edge(mock_node *from, mock_node *to, CUgraphEdgeData data);

/* Parameters of a node that is not a kernel; what it has of its own is made. And the end of that. */
CUresult mock_take_params(mock_node *node, CUgraphNodeParams *params, const char *call);
void mock_free_params(mock_node *node);

/* The graph of a condition's handle, and the condition's number there; NULL: none. */
mock_graph *mock_graph_of_handle(CUgraphConditionalHandle handle, unsigned *number);
mock_graph *mock_graph_of_number(unsigned number);
bool mock_has_event(CUevent event, const char *call); /* notes misuse if not */
bool mock_has_graph(CUgraph graph, const char *call); /* notes misuse if not */
bool mock_has_node(CUgraphNode node, const char *call);
bool mock_has_type(CUgraphNode node, CUgraphNodeType type, const char *call);
CUresult mock_copy_params(struct mock_node_params *to, const CUDA_KERNEL_NODE_PARAMS *from,
                          const char *call);
struct mock_kernel *mock_kernel_of_params(const struct mock_node_params *params, int *device);

/* The parts of mock_forget(). */
void mock_forget_streams(void);
void mock_forget_images(void);
void mock_forget_graphs(void);
void mock_forget_execs(void);
void mock_forget_memory(void);
void mock_forget_soak(void);

#endif /* PDL_TEST_CUDA_MOCK_ENTRY_H */
