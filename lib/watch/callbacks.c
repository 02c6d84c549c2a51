/* SPDX-License-Identifier: MIT */
/* The driver's calls, as CUPTI tells of them. Calls that are not enabled here cost the program nothing. */
#include <string.h>

#include "watch/cupti.h"
#include "watch/driver.h"

enum { NO_MEMBER = UINT16_MAX };

/* A call that puts something into a stream: where its parameters have the stream and a handle that matters. */
struct call {
    uint16_t id;
    uint8_t operation;
    uint8_t per_thread;
    uint16_t stream, detail;
};

#define CBID(name)      CUPTI_DRIVER_TRACE_CBID_##name
#define STREAM_OF(name) offsetof(name##_params, hStream)
/* With a stream, in that member or in hStream; with a stream and something else; on the default stream. Each in both
 * forms. */
#define IN_MEMBER(name, operation, member)                                                         \
    {CBID(name), operation, 0, offsetof(name##_params, member), NO_MEMBER},                        \
    {                                                                                              \
        CBID(name##_ptsz), operation, 1, offsetof(name##_ptsz_params, member), NO_MEMBER           \
    }
#define IN_STREAM(name, operation) IN_MEMBER(name, operation, hStream)
#define WITH_DETAIL(name, operation, member)                                                       \
    {CBID(name), operation, 0, STREAM_OF(name), offsetof(name##_params, member)},                  \
    {                                                                                              \
        CBID(name##_ptsz), operation, 1, STREAM_OF(name##_ptsz),                                   \
            offsetof(name##_ptsz_params, member)                                                   \
    }
#define IN_DEFAULT(name, operation)                                                                \
    {CBID(name), operation, 0, NO_MEMBER, NO_MEMBER},                                              \
    {                                                                                              \
        CBID(name##_ptds), operation, 1, NO_MEMBER, NO_MEMBER                                      \
    }

static const struct call calls[] = {
    IN_STREAM(cuMemcpyAsync, PDL_WATCH_COPY),
    IN_STREAM(cuMemcpyHtoDAsync_v2, PDL_WATCH_COPY),
    IN_STREAM(cuMemcpyDtoHAsync_v2, PDL_WATCH_COPY),
    IN_STREAM(cuMemcpyDtoDAsync_v2, PDL_WATCH_COPY),
    IN_STREAM(cuMemcpyHtoAAsync_v2, PDL_WATCH_COPY),
    IN_STREAM(cuMemcpyAtoHAsync_v2, PDL_WATCH_COPY),
    IN_STREAM(cuMemcpy2DAsync_v2, PDL_WATCH_COPY),
    IN_STREAM(cuMemcpy3DAsync_v2, PDL_WATCH_COPY),
    IN_STREAM(cuMemcpyPeerAsync, PDL_WATCH_COPY),
    IN_STREAM(cuMemcpy3DPeerAsync, PDL_WATCH_COPY),
    IN_STREAM(cuMemPrefetchAsync, PDL_WATCH_COPY),
    IN_DEFAULT(cuMemcpy, PDL_WATCH_COPY),
    IN_DEFAULT(cuMemcpyHtoD_v2, PDL_WATCH_COPY),
    IN_DEFAULT(cuMemcpyDtoH_v2, PDL_WATCH_COPY),
    IN_DEFAULT(cuMemcpyDtoD_v2, PDL_WATCH_COPY),
    IN_DEFAULT(cuMemcpyDtoA_v2, PDL_WATCH_COPY),
    IN_DEFAULT(cuMemcpyAtoD_v2, PDL_WATCH_COPY),
    IN_DEFAULT(cuMemcpyAtoA_v2, PDL_WATCH_COPY),
    IN_DEFAULT(cuMemcpyHtoA_v2, PDL_WATCH_COPY),
    IN_DEFAULT(cuMemcpyAtoH_v2, PDL_WATCH_COPY),
    IN_DEFAULT(cuMemcpy2D_v2, PDL_WATCH_COPY),
    IN_DEFAULT(cuMemcpy2DUnaligned_v2, PDL_WATCH_COPY),
    IN_DEFAULT(cuMemcpy3D_v2, PDL_WATCH_COPY),
    IN_DEFAULT(cuMemcpyPeer, PDL_WATCH_COPY),
    IN_DEFAULT(cuMemcpy3DPeer, PDL_WATCH_COPY),
    IN_STREAM(cuMemsetD8Async, PDL_WATCH_SET),
    IN_STREAM(cuMemsetD16Async, PDL_WATCH_SET),
    IN_STREAM(cuMemsetD32Async, PDL_WATCH_SET),
    IN_STREAM(cuMemsetD2D8Async, PDL_WATCH_SET),
    IN_STREAM(cuMemsetD2D16Async, PDL_WATCH_SET),
    IN_STREAM(cuMemsetD2D32Async, PDL_WATCH_SET),
    IN_DEFAULT(cuMemsetD8_v2, PDL_WATCH_SET),
    IN_DEFAULT(cuMemsetD16_v2, PDL_WATCH_SET),
    IN_DEFAULT(cuMemsetD32_v2, PDL_WATCH_SET),
    IN_DEFAULT(cuMemsetD2D8_v2, PDL_WATCH_SET),
    IN_DEFAULT(cuMemsetD2D16_v2, PDL_WATCH_SET),
    IN_DEFAULT(cuMemsetD2D32_v2, PDL_WATCH_SET),
    WITH_DETAIL(cuEventRecord, PDL_WATCH_EVENT_RECORD, hEvent),
    WITH_DETAIL(cuEventRecordWithFlags, PDL_WATCH_EVENT_RECORD, hEvent),
    WITH_DETAIL(cuStreamWaitEvent, PDL_WATCH_EVENT_WAIT, hEvent),
    IN_STREAM(cuLaunchHostFunc, PDL_WATCH_HOST_FUNCTION),
    {CBID(cuGraphLaunch), PDL_WATCH_GRAPH_LAUNCH, 0, STREAM_OF(cuGraphLaunch), 0},
    {CBID(cuGraphLaunch_ptsz), PDL_WATCH_GRAPH_LAUNCH, 1, STREAM_OF(cuGraphLaunch_ptsz), 0},
    IN_MEMBER(cuStreamWaitValue32_v2, PDL_WATCH_VALUE, stream),
    IN_MEMBER(cuStreamWaitValue64_v2, PDL_WATCH_VALUE, stream),
    IN_MEMBER(cuStreamWriteValue32_v2, PDL_WATCH_VALUE, stream),
    IN_MEMBER(cuStreamWriteValue64_v2, PDL_WATCH_VALUE, stream),
    IN_MEMBER(cuStreamBatchMemOp_v2, PDL_WATCH_VALUE, stream),
    IN_STREAM(cuMemAllocAsync, PDL_WATCH_ALLOCATION),
    IN_STREAM(cuMemAllocFromPoolAsync, PDL_WATCH_ALLOCATION),
    IN_STREAM(cuMemFreeAsync, PDL_WATCH_ALLOCATION),
    IN_STREAM(cuStreamSynchronize, PDL_WATCH_SYNCHRONIZE),
    {CBID(cuEventSynchronize), PDL_WATCH_SYNCHRONIZE, 0, NO_MEMBER,
     offsetof(cuEventSynchronize_params, hEvent)},
    {CBID(cuCtxSynchronize), PDL_WATCH_SYNCHRONIZE, 0, NO_MEMBER, NO_MEMBER},
    IN_STREAM(cuStreamBeginCapture, PDL_WATCH_CAPTURE_BEGIN),
    IN_STREAM(cuStreamBeginCapture_v2, PDL_WATCH_CAPTURE_BEGIN),
    IN_STREAM(cuStreamBeginCaptureToGraph, PDL_WATCH_CAPTURE_BEGIN),
    IN_STREAM(cuStreamEndCapture, PDL_WATCH_CAPTURE_END),
#if CUDA_VERSION >= 12080
    IN_STREAM(cuMemcpyBatchAsync, PDL_WATCH_MANY),
    IN_STREAM(cuMemcpy3DBatchAsync, PDL_WATCH_MANY),
#endif
#if CUDA_VERSION >= 13000
    IN_STREAM(cuMemcpyBatchAsync_v2, PDL_WATCH_MANY),
    IN_STREAM(cuMemcpy3DBatchAsync_v2, PDL_WATCH_MANY),
#endif
};

/* The others. */
static const uint16_t others[] = {
    CBID(cuLaunchKernel),
    CBID(cuLaunchKernel_ptsz),
    CBID(cuLaunchKernelEx),
    CBID(cuLaunchKernelEx_ptsz),
    CBID(cuLaunchCooperativeKernel),
    CBID(cuLaunchCooperativeKernel_ptsz),
    CBID(cuGraphInstantiate),
    CBID(cuGraphInstantiate_v2),
    CBID(cuGraphInstantiateWithFlags),
    CBID(cuGraphInstantiateWithParams),
    CBID(cuGraphInstantiateWithParams_ptsz),
    CBID(cuModuleLoadData),
    CBID(cuModuleLoadDataEx),
    CBID(cuModuleLoadFatBinary),
    CBID(cuLibraryLoadData),
    CBID(cuModuleUnload),
    CBID(cuLibraryUnload),
};

static const uint16_t resources[] = {
    CUPTI_CBID_RESOURCE_CONTEXT_CREATED,  CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
    CUPTI_CBID_RESOURCE_MODULE_LOADED,    CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
    CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
};

/* By id: its place in `calls`, from 1. */
static uint8_t place_of[CUPTI_DRIVER_TRACE_CBID_SIZE];

bool pdl_watch_callbacks_enable(const struct pdl_watch_cupti *cupti)
{
    bool all = true;
    _Static_assert(sizeof(calls) / sizeof(calls[0]) < UINT8_MAX, "place_of");
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        place_of[calls[i].id] = (uint8_t)(i + 1);
        /* An older CUPTI does not know the newest of them. */
        (void)cupti->cuptiEnableCallback(1, cupti->subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                                         calls[i].id);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        const CUptiResult result =
            cupti->cuptiEnableCallback(1, cupti->subscriber, CUPTI_CB_DOMAIN_DRIVER_API, others[i]);
        all = all && (result == CUPTI_SUCCESS || i > 3);
    }
    for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
        (void)cupti->cuptiEnableCallback(1, cupti->subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                                         resources[i]);
    }
    return all;
}

/* ---- launches ---------------------------------------------------------------------------------------- */

static void config_of_plain(CUlaunchConfig *config, CUlaunchAttribute *attribute,
                            const cuLaunchKernel_params *plain, bool cooperative)
{
    *config = (CUlaunchConfig){
        .gridDimX = plain->gridDimX,
        .gridDimY = plain->gridDimY,
        .gridDimZ = plain->gridDimZ,
        .blockDimX = plain->blockDimX,
        .blockDimY = plain->blockDimY,
        .blockDimZ = plain->blockDimZ,
        .sharedMemBytes = plain->sharedMemBytes,
        .hStream = plain->hStream,
    };
    if (cooperative) {
        attribute->id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attribute->value.cooperative = 1;
        config->attrs = attribute;
        config->numAttrs = 1;
    }
}

/* The cooperative form begins as the plain one does. */
_Static_assert(offsetof(cuLaunchKernel_params, hStream) ==
                   offsetof(cuLaunchCooperativeKernel_params, hStream),
               "parameters");

static void launch(const CUpti_CallbackData *data, bool is_ex, bool cooperative, bool per_thread)
{
    struct pdl_watch_call *const call = pdl_watch_call();
    const cuLaunchKernelEx_params *const ex = data->functionParams;
    const cuLaunchKernel_params *const plain = data->functionParams;
    CUlaunchConfig config = {0};
    CUlaunchAttribute attribute;
    if (data->callbackSite == CUPTI_API_ENTER) {
        /* Else the interposer began it. One that a callback began and that did not end was lost on the way. */
        if (!call->active || call->by_callback) {
            pdl_watch_call_begin(call, is_ex ? ex->f : plain->f);
            call->by_callback = true;
        }
        if (is_ex && ex->config != NULL) { /* for the node, if it is captured */
            call->flags |= pdl_watch_flags_of(ex->config->attrs, ex->config->numAttrs);
            call->flags |=
                (call->flags & PDL_WATCH_OVERLAP) != 0 && (call->flags & PDL_WATCH_ADDED) == 0
                    ? PDL_WATCH_ASKED
                    : 0;
        }
        return;
    }
    if (!call->active) {
        return;
    }
    const CUlaunchConfig *used = &config;
    if (is_ex) {
        used = ex->config;
    } else {
        config_of_plain(&config, &attribute, plain, cooperative);
    }
    const CUresult result = data->functionReturnValue != NULL
                                ? *(const CUresult *)data->functionReturnValue
                                : CUDA_SUCCESS;
    if (used != NULL) {
        pdl_watch_device(data->contextUid);
        pdl_watch_call_record(call, used, pdl_watch_stream(used->hStream, per_thread), result,
                              data->correlationId, data->contextUid);
    }
    if (call->by_callback) {
        call->active = false;
    }
}

/* ---- the other calls --------------------------------------------------------------------------------- */

static CUstream stream_of(const struct call *call, const char *parameters)
{
    CUstream stream = NULL;
    if (call->stream != NO_MEMBER) {
        memcpy(&stream, parameters + call->stream, sizeof(stream));
    }
    return stream;
}

static void operate(const CUpti_CallbackData *data, const struct call *call)
{
    const char *const parameters = data->functionParams;
    uint64_t detail = 0;
    if (data->callbackSite == CUPTI_API_ENTER) {
        *data->correlationData = pdl_watch_now();
        return;
    }
    const bool failed = data->functionReturnValue != NULL &&
                        *(const CUresult *)data->functionReturnValue != CUDA_SUCCESS;
    if (call->operation == PDL_WATCH_CAPTURE_BEGIN && !failed) {
        pdl_watch_captures(1);
    }
    CUstream stream = stream_of(call, parameters);
    const bool captured = pdl_watch_is_captured(stream, call->per_thread != 0);
    if (call->operation == PDL_WATCH_CAPTURE_END) {
        pdl_watch_captures(-1);
    }
    if (call->detail != NO_MEMBER) {
        memcpy(&detail, parameters + call->detail, sizeof(detail));
    }
    if (!failed) {
        pdl_watch_operation(call->operation, *data->correlationData,
                            pdl_watch_stream(stream, call->per_thread != 0), detail,
                            data->correlationId, data->contextUid, captured);
    }
    if (call->operation == PDL_WATCH_SYNCHRONIZE) {
        pdl_watch_cupti_flush_at_times();
    }
}

static void instantiated(const CUpti_CallbackData *data)
{
    /* All forms begin with these two. */
    const cuGraphInstantiateWithFlags_params *const parameters = data->functionParams;
    if (data->callbackSite == CUPTI_API_EXIT && data->functionReturnValue != NULL &&
        *(const CUresult *)data->functionReturnValue == CUDA_SUCCESS) {
        pdl_watch_graph_made(parameters->hGraph, *parameters->phGraphExec, data->contextUid);
    }
}

static void driver_called(CUpti_CallbackId id, const CUpti_CallbackData *data)
{
    switch (id) {
    case CBID(cuLaunchKernel):
    case CBID(cuLaunchKernel_ptsz):
        launch(data, false, false, id == CBID(cuLaunchKernel_ptsz));
        return;
    case CBID(cuLaunchKernelEx):
    case CBID(cuLaunchKernelEx_ptsz):
        launch(data, true, false, id == CBID(cuLaunchKernelEx_ptsz));
        return;
    case CBID(cuLaunchCooperativeKernel):
    case CBID(cuLaunchCooperativeKernel_ptsz):
        launch(data, false, true, id == CBID(cuLaunchCooperativeKernel_ptsz));
        return;
    case CBID(cuGraphInstantiate):
    case CBID(cuGraphInstantiate_v2):
    case CBID(cuGraphInstantiateWithFlags):
    case CBID(cuGraphInstantiateWithParams):
    case CBID(cuGraphInstantiateWithParams_ptsz):
        instantiated(data);
        return;
    case CBID(cuModuleLoadData):
    case CBID(cuModuleLoadDataEx):
    case CBID(cuModuleLoadFatBinary):
    case CBID(cuLibraryLoadData):
        if (data->callbackSite == CUPTI_API_ENTER) { /* all have the code in second place */
            pdl_watch_image_given(((const cuModuleLoadData_params *)data->functionParams)->image);
        }
        return;
    case CBID(cuModuleUnload):
        if (data->callbackSite == CUPTI_API_ENTER) { /* the handles may be given out again */
            pdl_watch_functions_forget_module(
                ((const cuModuleUnload_params *)data->functionParams)->hmod);
        }
        return;
    case CBID(cuLibraryUnload):
        if (data->callbackSite == CUPTI_API_ENTER) {
            pdl_watch_functions_forget();
        }
        return;
    default:
        if (id < CUPTI_DRIVER_TRACE_CBID_SIZE && place_of[id] != 0) {
            operate(data, &calls[place_of[id] - 1]);
        }
    }
}

/* ---- resources --------------------------------------------------------------------------------------- */

static void resource(CUpti_CallbackId id, const CUpti_ResourceData *data)
{
    if (id == CUPTI_CBID_RESOURCE_MODULE_LOADED) {
        const CUpti_ModuleResourceData *const module = data->resourceDescriptor;
        if (module != NULL && module->pCubin != NULL) {
            pdl_watch_cubin_loaded(module->pCubin, module->cubinSize);
        }
    } else if (id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) {
        pdl_watch_cupti_flush();
        pdl_watch_functions_forget();
    } else if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) {
        const CUpti_GraphData *const graph = data->resourceDescriptor;
        const struct pdl_watch_call *const call = pdl_watch_call();
        if (graph != NULL && call->active) { /* captured */
            pdl_watch_node_created(graph->node, call->flags);
        }
    } else if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
        const CUpti_GraphData *const graph = data->resourceDescriptor;
        if (graph != NULL) {
            pdl_watch_node_cloned(graph->originalNode, graph->node);
        }
    }
}

void CUPTIAPI pdl_watch_callback(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                 const void *data)
{
    (void)context;
    if (data == NULL) {
        return;
    }
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
        driver_called(id, data);
    } else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
        resource(id, data);
    }
}

/* ---- devices ----------------------------------------------------------------------------------------- */

static uint32_t ask(const struct pdl_watch_driver *driver, CUdevice device,
                    CUdevice_attribute which)
{
    int value = 0;
    return driver->cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS && value > 0
               ? (uint32_t)value
               : 0;
}

void pdl_watch_device(uint32_t context_id)
{
    enum { CONTEXTS = 64 };
    static _Atomic uint32_t known[CONTEXTS]; /* ids + 1 */
    const struct pdl_watch_driver *const driver = pdl_watch_driver();
    _Atomic uint32_t *const place = &known[context_id % CONTEXTS];
    CUdevice device = 0;
    CUuuid uuid;
    char name[256] = "";
    if (*place == context_id + 1 || driver == NULL || driver->cuDeviceGetAttribute == NULL ||
        driver->cuCtxGetDevice == NULL || driver->cuCtxGetDevice(&device) != CUDA_SUCCESS) {
        return;
    }
    *place = context_id + 1;
    memset(&uuid, 0, sizeof(uuid));
    if (driver->cuDeviceGetUuid != NULL) {
        (void)driver->cuDeviceGetUuid(&uuid, device);
    }
    if (driver->cuDeviceGetName != NULL) {
        (void)driver->cuDeviceGetName(name, (int)sizeof(name), device);
    }
    const uint32_t major = ask(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    const uint32_t minor = ask(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    const struct pdl_watch_device facts = {
        .context = context_id,
        .device = (uint32_t)device,
        .capability = 10 * major + minor,
        .sms = ask(driver, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        .threads = ask(driver, device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
        .blocks = ask(driver, device, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
        .registers = ask(driver, device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
        .shared_memory =
            ask(driver, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        .shared_memory_per_block =
            ask(driver, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        .reserved_shared_memory =
            ask(driver, device, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK),
        .threads_per_block = ask(driver, device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        .clock_khz = ask(driver, device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
    };
    const size_t head = offsetof(struct pdl_watch_record, extra) + sizeof(uint16_t);
    struct pdl_watch_device *const record =
        pdl_watch_reserve_text(PDL_WATCH_DEVICE, sizeof(*record), name, strlen(name));
    if (record != NULL) {
        memcpy((char *)record + head, (const char *)&facts + head, sizeof(facts) - head);
        memcpy(record->uuid, &uuid, sizeof(record->uuid));
        pdl_watch_commit(record);
    }
}
