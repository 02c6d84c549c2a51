/* SPDX-License-Identifier: MIT */
/** @file
 * Launches from the device: kernels and graphs that a running kernel starts, each with a check,
 * and the host's set-up for them.
 *
 * C++11 and newer. The device half needs nvcc with -rdc=true, or NVRTC with
 * --relocatable-device-code=true, and the program is linked with cudadevrt; the host half goes
 * through the CUDA Runtime. Nothing here needs libpdl itself to be linked. It is what CUDA 12 and
 * newer call dynamic parallelism (its second version: there is no waiting for a child).
 *
 * Two things are different from a launch by the host:
 * - It carries no attributes. There is no overlap with what launched it, and no PDL: PDL_WAIT() in
 *   such a kernel returns immediately.
 * - Its errors stay on the device. A launch that finds no room is dropped, and every call of the
 *   host returns success. Each function here returns the error, and records it in a pdl_cdp_log
 *   that the host reads with pdl_cdp_log_check().
 *
 * docs/device-launch.md describes when to use it and what it costs.
 */
#ifndef PDL_CDP_CUH
#define PDL_CDP_CUH

#ifndef __CUDACC_RTC__
#include <cuda_runtime_api.h>
#include <stdio.h>

#include <pdl/pdl.h>

#if CUDART_VERSION < 12030
#error "pdl/cdp.cuh needs the headers of CUDA 12.3 or newer"
#endif
#endif

/**
 * Errors of launches from the device: in memory that device and host can access, zeroed before
 * use, and shared by any number of kernels and threads of one device.
 */
typedef struct pdl_cdp_log {
    int first_error; /**< The cudaError_t of the first launch that failed; 0: none did. */
    unsigned failed; /**< How many launches failed. */
} pdl_cdp_log;

/* ------------------------------------------------------------------------------------------------
 * On the device
 * ---------------------------------------------------------------------------------------------- */

#if defined(__CUDACC__)

#if defined(__CUDACC_RDC__) || defined(PDL_DOXYGEN)
#define PDL_CDP_RDC_ 1
#else
#define PDL_CDP_RDC_ 0
#endif

/* The return of a launching function. In code that is not relocatable its use is an error, with the
 * reason; a template, so that the header can be included there. */
#if PDL_CDP_RDC_
#define PDL_CDP_RETURN_(Rdc, ...) return __VA_ARGS__
#else
#define PDL_CDP_RETURN_(Rdc, ...)                                                                  \
    static_assert(Rdc, "launches from the device need nvcc -rdc=true and -lcudadevrt");            \
    return cudaErrorNotSupported
#endif

/**
 * Records an error in a log, and returns it: for launches with `<<<>>>`, as `pdl_cdp_note(log,
 * cudaGetLastError())`.
 *
 * cudaSuccess is not recorded. The first error of all threads stays in the log.
 * @param log may be NULL: then nothing is recorded
 */
static inline __device__ cudaError_t pdl_cdp_note(pdl_cdp_log *log, cudaError_t error)
{
    if (error != cudaSuccess && log != nullptr) {
        atomicCAS(&log->first_error, 0, (int)error);
        atomicAdd(&log->failed, 1u);
    }
    return error;
}

#if PDL_CDP_RDC_
/* What `<<<>>>` does in device code, and the error that it leaves. The parameters are not deduced
 * here: arguments convert to them as in a call. */
template <typename... Params> struct pdl_cdp_launch_ {
    static __device__ cudaError_t run(pdl_cdp_log *log, cudaStream_t stream,
                                      void (*kernel)(Params...), dim3 grid, dim3 block,
                                      size_t shared, Params... params)
    {
        kernel<<<grid, block, shared, stream>>>(params...);
        return pdl_cdp_note(log, cudaGetLastError());
    }
};
#endif

/**
 * Launches a kernel from the device into a stream, and returns the launch's error.
 *
 * `<<<grid, block, shared, stream>>>` and cudaGetLastError(), which also returns, once, the error
 * of an unchecked launch that this thread made before. Errors of the device Runtime, such as
 * cudaErrorLaunchPendingCountExceeded: see pdl_cdp_set_pending_limit(). Any thread may call it;
 * each calling thread launches once.
 * @param log where an error is noted, or NULL
 * @param stream cudaStreamFireAndForget, cudaStreamTailLaunch, one that a thread of this block made
 * with cudaStreamCreateWithFlags(), or 0 for the block's own
 * @param kernel a `__global__` function
 * @param shared bytes of dynamic shared memory
 * @param args converted to the kernel's parameters as in a call; not pointers to shared or local
 * memory
 */
template <int Rdc = PDL_CDP_RDC_, typename... Params, typename... Args>
static inline __device__ cudaError_t pdl_cdp_launch(pdl_cdp_log *log, cudaStream_t stream,
                                                    void (*kernel)(Params...), dim3 grid,
                                                    dim3 block, size_t shared, Args... args)
{
    static_assert(sizeof...(Params) == sizeof...(Args),
                  "pdl_cdp_launch: the kernel takes another number of arguments");
    PDL_CDP_RETURN_(
        Rdc, pdl_cdp_launch_<Params...>::run(log, stream, kernel, grid, block, shared, args...));
}

/**
 * Launches a kernel that may start immediately. This kernel cannot wait for it. For later work in
 * the stream, the launching grid is complete when the launched one is.
 *
 * cudaStreamFireAndForget; otherwise as pdl_cdp_launch(). The kernel sees this thread's earlier
 * writes.
 */
template <int Rdc = PDL_CDP_RDC_, typename... Params, typename... Args>
static inline __device__ cudaError_t pdl_cdp_fire_and_forget(pdl_cdp_log *log,
                                                             void (*kernel)(Params...), dim3 grid,
                                                             dim3 block, size_t shared,
                                                             Args... args)
{
    PDL_CDP_RETURN_(Rdc, pdl_cdp_launch<Rdc>(log, cudaStreamFireAndForget, kernel, grid, block,
                                             shared, args...));
}

/**
 * Launches a kernel that starts when this grid, and everything that it launched, is complete: it
 * sees the writes of all their threads. Tail launches of one grid run one after the other.
 *
 * cudaStreamTailLaunch; otherwise as pdl_cdp_launch(). All of them stay pending until the grid ends.
 */
template <int Rdc = PDL_CDP_RDC_, typename... Params, typename... Args>
static inline __device__ cudaError_t pdl_cdp_tail(pdl_cdp_log *log, void (*kernel)(Params...),
                                                  dim3 grid, dim3 block, size_t shared,
                                                  Args... args)
{
    PDL_CDP_RETURN_(
        Rdc, pdl_cdp_launch<Rdc>(log, cudaStreamTailLaunch, kernel, grid, block, shared, args...));
}

/**
 * Launches a device graph that may start immediately. The graph of this kernel is complete when
 * that one is.
 *
 * cudaGraphLaunch() into cudaStreamGraphFireAndForget. The calling kernel itself must be in a graph:
 * the host's launch of one that is not fails with cudaErrorNotSupported. A graph that is running
 * cannot be launched again (cudaErrorInvalidValue), nor can more than CUDA allows: 120 in the run of
 * one graph, siblings included.
 * @param log where an error is noted, or NULL
 * @param graph from pdl_cdp_graph_instantiate()
 */
template <int Rdc = PDL_CDP_RDC_>
static inline __device__ cudaError_t pdl_cdp_graph_fire_and_forget(pdl_cdp_log *log,
                                                                   cudaGraphExec_t graph)
{
    PDL_CDP_RETURN_(Rdc, pdl_cdp_note(log, cudaGraphLaunch(graph, cudaStreamGraphFireAndForget)));
}

/**
 * Launches a device graph that starts when the graph of this kernel, and everything that it
 * launched, is complete. Tail launches of one graph run one after the other; 255 can be pending. A
 * graph may launch itself so, with cudaGetCurrentGraphExec(): a loop without the host.
 *
 * cudaGraphLaunch() into cudaStreamGraphTailLaunch; otherwise as pdl_cdp_graph_fire_and_forget().
 */
template <int Rdc = PDL_CDP_RDC_>
static inline __device__ cudaError_t pdl_cdp_graph_tail(pdl_cdp_log *log, cudaGraphExec_t graph)
{
    PDL_CDP_RETURN_(Rdc, pdl_cdp_note(log, cudaGraphLaunch(graph, cudaStreamGraphTailLaunch)));
}

/**
 * Launches a device graph as a sibling of this kernel's graph: as fire-and-forget, but a tail
 * launch of this graph does not wait for it. The parent of this graph does.
 *
 * cudaGraphLaunch() into cudaStreamGraphFireAndForgetAsSibling; otherwise as
 * pdl_cdp_graph_fire_and_forget().
 */
template <int Rdc = PDL_CDP_RDC_>
static inline __device__ cudaError_t pdl_cdp_graph_sibling(pdl_cdp_log *log, cudaGraphExec_t graph)
{
    PDL_CDP_RETURN_(
        Rdc, pdl_cdp_note(log, cudaGraphLaunch(graph, cudaStreamGraphFireAndForgetAsSibling)));
}

#endif /* a CUDA compiler */

/* ------------------------------------------------------------------------------------------------
 * On the host
 * ---------------------------------------------------------------------------------------------- */

#ifndef __CUDACC_RTC__

/* Writes all of an error but its sentence, and returns its status. The Runtime keeps its last error:
 * it is reported here, and must not turn up in the caller's next check as well. */
static inline pdl_status pdl_cdp_fail_(pdl_status status, cudaError_t result, const char *call,
                                       const char *field, pdl_error *error)
{
    (void)cudaGetLastError();
    error->status = (int32_t)status;
    error->cuda_result = (int32_t)result;
    error->call = call;
    error->field = field;
    return status;
}

/* For a Runtime call of which there is no more to say than its own error. */
static inline pdl_status pdl_cdp_fail_call_(cudaError_t result, const char *call, pdl_error *error)
{
    pdl_status status = PDL_ERROR_DRIVER;
    switch ((int)result) {
    case cudaErrorInvalidValue:
        status = PDL_ERROR_INVALID_ARGUMENT;
        break;
    case cudaErrorMemoryAllocation:
        status = PDL_ERROR_OUT_OF_MEMORY;
        break;
    case cudaErrorInsufficientDriver:
        status = PDL_ERROR_DRIVER_TOO_OLD;
        break;
    case cudaErrorNoDevice:
        status = PDL_ERROR_NO_DEVICE;
        break;
    case cudaErrorUnsupportedLimit:
    case cudaErrorNotSupported:
        status = PDL_ERROR_NOT_SUPPORTED;
        break;
    default:
        break;
    }
    (void)snprintf(error->message, sizeof(error->message), "%s: %s: %s", call,
                   cudaGetErrorName(result), cudaGetErrorString(result));
    return pdl_cdp_fail_(status, result, call, NULL, error);
}

/**
 * How many launches from the device may be pending on the current device: launched, and not yet
 * complete. Further launches are dropped.
 *
 * cudaDeviceGetLimit() of cudaLimitDevRuntimePendingLaunchCount; 2048 unless something set it.
 * Thread-safe. Errors: those of the Runtime.
 * @param[out] error what failed, in a sentence; written only on failure; may be NULL
 */
static inline pdl_status pdl_cdp_get_pending_limit(size_t *launches, pdl_error *error)
{
    pdl_error unwanted;
    size_t limit = 0;
    const cudaError_t result = cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount);
    if (result != cudaSuccess) {
        return pdl_cdp_fail_call_(result, "cudaDeviceGetLimit", error != NULL ? error : &unwanted);
    }
    *launches = limit;
    return PDL_SUCCESS;
}

/**
 * Sets how many launches from the device may be pending on the current device. On failure the
 * limit stays unchanged.
 *
 * cudaDeviceSetLimit() of cudaLimitDevRuntimePendingLaunchCount, and the limit read back: the
 * driver accepts a number that is too large, returns success and keeps a smaller one. It keeps at
 * least 32. Their memory, about 9 KiB each, is allocated immediately. Set it before the work is
 * launched, and only from one thread. Errors: PDL_ERROR_NOT_SUPPORTED (the driver keeps fewer; the
 * message has both numbers), and those of the Runtime.
 * @param launches the maximum that can be pending at any time: all launches of a kernel, and the
 * launches of these
 * @param[out] error what failed, in a sentence; written only on failure; may be NULL
 */
static inline pdl_status pdl_cdp_set_pending_limit(size_t launches, pdl_error *error)
{
    static const enum cudaLimit which = cudaLimitDevRuntimePendingLaunchCount;
    pdl_error unwanted;
    size_t before = 0;
    size_t kept = 0;
    error = error != NULL ? error : &unwanted;
    cudaError_t result = cudaDeviceGetLimit(&before, which);
    if (result != cudaSuccess) {
        return pdl_cdp_fail_call_(result, "cudaDeviceGetLimit", error);
    }
    result = cudaDeviceSetLimit(which, launches);
    if (result == cudaSuccess) {
        result = cudaDeviceGetLimit(&kept, which);
    }
    if (result == cudaSuccess && kept >= launches) {
        return PDL_SUCCESS;
    }
    (void)cudaDeviceSetLimit(which, before);
    if (result != cudaSuccess) {
        return pdl_cdp_fail_call_(result, "cudaDeviceSetLimit", error);
    }
    (void)snprintf(error->message, sizeof(error->message),
                   "asked for %zu pending launches from the device, and the driver keeps %zu; the"
                   " limit is %zu as before",
                   launches, kept, before);
    return pdl_cdp_fail_(PDL_ERROR_NOT_SUPPORTED, cudaSuccess, "cudaDeviceSetLimit", "launches",
                         error);
}

/**
 * Reports whether a launch from the device recorded an error in this log.
 *
 * Synchronize with the kernels that write it first. The log may be in device or host memory
 * (cudaMemcpy); it is not changed. Thread-safe. Errors: PDL_ERROR_LAUNCH_RESOURCES (more launches
 * were pending than the limit allows), PDL_ERROR_DRIVER (another error: see `cuda_result`), and
 * those of the Runtime.
 * @param[out] error how many failed, and the first one's error; written only on failure; may be
 * NULL
 */
static inline pdl_status pdl_cdp_log_check(const pdl_cdp_log *log, pdl_error *error)
{
    pdl_error unwanted;
    pdl_cdp_log copy = {0, 0};
    size_t limit = 0;
    error = error != NULL ? error : &unwanted;
    const cudaError_t result = cudaMemcpy(&copy, log, sizeof(copy), cudaMemcpyDefault);
    if (result != cudaSuccess) {
        return pdl_cdp_fail_call_(result, "cudaMemcpy", error);
    }
    if (copy.failed == 0) {
        return PDL_SUCCESS;
    }
    const cudaError_t first = (cudaError_t)copy.first_error;
    if (first != cudaErrorLaunchPendingCountExceeded) {
        (void)snprintf(error->message, sizeof(error->message),
                       "launches from the device that failed: %u; the first: %s: %s", copy.failed,
                       cudaGetErrorName(first), cudaGetErrorString(first));
        return pdl_cdp_fail_(PDL_ERROR_DRIVER, first, "a launch from the device", NULL, error);
    }
    (void)pdl_cdp_get_pending_limit(&limit, NULL);
    (void)snprintf(error->message, sizeof(error->message),
                   "launches from the device that were dropped: %u; more were pending than the"
                   " limit of %zu (pdl_cdp_set_pending_limit)",
                   copy.failed, limit);
    return pdl_cdp_fail_(PDL_ERROR_LAUNCH_RESOURCES, first, "a launch from the device", NULL,
                         error);
}

static inline const char *pdl_cdp_node_type_(cudaGraphNode_t node)
{
    enum cudaGraphNodeType type = cudaGraphNodeTypeCount;
    if (node == NULL || cudaGraphNodeGetType(node, &type) != cudaSuccess) {
        return "node";
    }
    switch (type) {
    case cudaGraphNodeTypeKernel:
        return "kernel that launches from the device itself, or is of another device,";
    case cudaGraphNodeTypeMemcpy:
        return "copy that is not within the device's own memory";
    case cudaGraphNodeTypeMemset:
        return "memset";
    case cudaGraphNodeTypeHost:
        return "host function";
    case cudaGraphNodeTypeGraph:
        return "child graph";
    case cudaGraphNodeTypeWaitEvent:
    case cudaGraphNodeTypeEventRecord:
        return "event";
    case cudaGraphNodeTypeMemAlloc:
    case cudaGraphNodeTypeMemFree:
        return "memory allocation";
    default:
        return "node of another kind";
    }
}

/**
 * Makes a graph that kernels can launch: instantiated for the device, and uploaded in a stream, behind
 * which it can be used.
 *
 * cudaGraphInstantiateWithParams() with cudaGraphInstantiateFlagDeviceLaunch and
 * cudaGraphInstantiateFlagUpload. The caller destroys it with cudaGraphExecDestroy(). CUDA's
 * conditions: at least one node; kernels, copies and memsets alone, all of one device; no kernel in
 * it launches with `<<<>>>`. Thread-safe. Errors: PDL_ERROR_INVALID_ARGUMENT (no nodes),
 * PDL_ERROR_NOT_SUPPORTED (a node that cannot be, named in the sentence), and those of the Runtime.
 * @param[out] exec written on success alone
 * @param[out] error what failed, in a sentence; written only on failure; may be NULL
 */
static inline pdl_status pdl_cdp_graph_instantiate(cudaGraph_t graph, cudaStream_t stream,
                                                   cudaGraphExec_t *exec, pdl_error *error)
{
    static const char *const call = "cudaGraphInstantiateWithParams";
    pdl_error unwanted;
    cudaGraphExec_t made = NULL;
    cudaGraphInstantiateParams params;
    size_t nodes = 0;
    error = error != NULL ? error : &unwanted;
    params.flags = cudaGraphInstantiateFlagDeviceLaunch | cudaGraphInstantiateFlagUpload;
    params.uploadStream = stream;
    params.errNode_out = NULL;
    params.result_out = cudaGraphInstantiateSuccess;
    const cudaError_t result = cudaGraphInstantiateWithParams(&made, graph, &params);
    if (result == cudaSuccess) {
        *exec = made;
        return PDL_SUCCESS;
    }
    if (params.result_out == cudaGraphInstantiateNodeOperationNotSupported) {
        (void)snprintf(error->message, sizeof(error->message),
                       "a %s cannot be in a graph that is launched from the device",
                       pdl_cdp_node_type_(params.errNode_out));
        return pdl_cdp_fail_(PDL_ERROR_NOT_SUPPORTED, result, call, "graph", error);
    }
    if (params.result_out == cudaGraphInstantiateMultipleDevicesNotSupported) {
        (void)snprintf(error->message, sizeof(error->message),
                       "a graph that is launched from the device has all its nodes on one device");
        return pdl_cdp_fail_(PDL_ERROR_NOT_SUPPORTED, result, call, "graph", error);
    }
    if (cudaGraphGetNodes(graph, NULL, &nodes) == cudaSuccess && nodes == 0) {
        (void)snprintf(error->message, sizeof(error->message),
                       "a graph that is launched from the device has at least one node");
        return pdl_cdp_fail_(PDL_ERROR_INVALID_ARGUMENT, result, call, "graph", error);
    }
    return pdl_cdp_fail_call_(result, call, error);
}

#endif /* not NVRTC */

#endif /* PDL_CDP_CUH */
