/* SPDX-License-Identifier: MIT */
/* The model of CUDA: contexts, streams and events. Every one that is passed in is looked up among
 * the live ones first. */
#include <stdlib.h>
#include <string.h>

#include "mock_entry.h"

#define STREAMS 8
#define STACK   16

struct CUctx_st {
    char none;
};
struct CUstream_st {
    struct CUstream_st *next;
    CUcontext context;
};
struct CUevent_st {
    struct CUevent_st *next;
    unsigned flags;
};

static struct CUctx_st contexts[2 * MOCK_DEVICES]; /* primary ones, then green ones */
static struct CUstream_st test_streams[STREAMS][MOCK_DEVICES];
static struct CUstream_st green_streams[MOCK_DEVICES];
static struct CUstream_st *streams; /* that were created */
static struct CUevent_st *events;

/* The last one is current; the first one was not pushed. */
static _Thread_local CUcontext stack[STACK];
static _Thread_local bool has_begun;
_Thread_local int mock_context_depth;

/* ------------------------------------------------------------------------------------------------
 * Contexts
 * ---------------------------------------------------------------------------------------------- */

CUcontext mock_context(int device)
{
    return &contexts[device];
}

CUcontext mock_green_context(int device)
{
    return &contexts[MOCK_DEVICES + device];
}

static int device_of(const struct CUctx_st *context)
{
    return context != NULL ? (int)(context - contexts) % MOCK_DEVICES : -1;
}

CUcontext mock_current_context(void)
{
    if (!has_begun) {
        has_begun = true;
        stack[0] = mock.is_fake ? NULL : mock_context(0);
    }
    return stack[mock_context_depth];
}

int mock_current_device(void)
{
    return device_of(mock_current_context());
}

void mock_make_current(CUcontext context)
{
    has_begun = true;
    stack[mock_context_depth] = context;
}

void mock_set_current(int device)
{
    mock_make_current(device >= 0 ? mock_context(device) : NULL);
}

bool mock_has_context(CUcontext context, const char *call)
{
    for (int i = 0; i < 2 * MOCK_DEVICES; i++) {
        if (context == &contexts[i]) {
            return true;
        }
    }
    mock_misused("%s was called with %p, which is not a context", call, (void *)context);
    return false;
}

CUresult mock_cuCtxGetDevice(CUdevice *device)
{
    MOCK_ENTER(cuCtxGetDevice);
    MOCK_FAIL_IF(mock_current_device() < 0, CUDA_ERROR_INVALID_CONTEXT);
    *device = mock_current_device();
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuCtxGetId(CUcontext context, unsigned long long *id)
{
    MOCK_ENTER(cuCtxGetId);
    const CUcontext of = context != NULL ? context : mock_current_context();
    MOCK_FAIL_IF(of == NULL || (context != NULL && !mock_has_context(context, "cuCtxGetId")),
                 CUDA_ERROR_INVALID_CONTEXT);
    /* A reset makes another context of the same device. */
    *id = 1 + (unsigned long long)(of - contexts) + 2ull * mock.resets * MOCK_DEVICES;
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuCtxGetCurrent(CUcontext *context)
{
    MOCK_ENTER(cuCtxGetCurrent);
    *context = mock_current_context();
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuCtxPushCurrent(CUcontext context)
{
    MOCK_ENTER(cuCtxPushCurrent);
    MOCK_FAIL_IF(!mock_has_context(context, "cuCtxPushCurrent"), CUDA_ERROR_INVALID_CONTEXT);
    MOCK_FAIL_IF(mock_context_depth + 1 == STACK, CUDA_ERROR_OUT_OF_MEMORY);
    (void)mock_current_context();
    stack[++mock_context_depth] = context;
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuCtxPopCurrent(CUcontext *context)
{
    MOCK_ENTER(cuCtxPopCurrent);
    MOCK_MISUSED_IF(mock_context_depth == 0, CUDA_ERROR_INVALID_CONTEXT,
                    "cuCtxPopCurrent was called and nothing had been pushed");
    if (context != NULL) {
        *context = mock_current_context();
    }
    mock_context_depth--;
    return mock_leave(CUDA_SUCCESS);
}

/* ------------------------------------------------------------------------------------------------
 * Streams
 * ---------------------------------------------------------------------------------------------- */

CUstream mock_stream(unsigned number, int device)
{
    if (number >= STREAMS || device < 0 || device >= MOCK_DEVICES) {
        mock_misused("stream %u of device %d was asked for", number, device);
        return NULL;
    }
    return &test_streams[number][device];
}

CUstream mock_green_stream(int device)
{
    return &green_streams[device];
}

/* The default streams are the current context's. */
static CUcontext context_of(CUstream stream)
{
    const uintptr_t at = (uintptr_t)stream;
    const uintptr_t first = (uintptr_t)test_streams;
    if (stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) {
        return mock_current_context();
    }
    if (at >= first && at < first + sizeof(test_streams)) {
        return mock_context((int)((at - first) / sizeof(test_streams[0][0]) % MOCK_DEVICES));
    }
    for (int i = 0; i < MOCK_DEVICES; i++) {
        if (stream == &green_streams[i]) {
            return mock_green_context(i);
        }
    }
    for (const struct CUstream_st *live = streams; live != NULL; live = live->next) {
        if (live == stream) {
            return live->context;
        }
    }
    return NULL;
}

int mock_stream_device(CUstream stream)
{
    return device_of(context_of(stream));
}

CUresult mock_check_stream(CUstream stream)
{
    if (context_of(stream) != NULL) {
        return CUDA_SUCCESS;
    }
    return mock_current_device() < 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_HANDLE;
}

void mock_create_stream(CUstream *stream)
{
    CUstream made = mock_new(sizeof(*made));
    *made = (struct CUstream_st){.next = streams, .context = mock_current_context()};
    streams = made;
    mock.live_streams++;
    *stream = made;
}

CUresult mock_destroy_stream(CUstream stream)
{
    for (CUstream *at = &streams; *at != NULL; at = &(*at)->next) {
        if (*at == stream) {
            *at = stream->next;
            free(stream);
            mock.live_streams--;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_HANDLE;
}

CUresult mock_cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    MOCK_ENTER(cuStreamGetCtx);
    const CUresult result = mock_check_stream(stream);
    if (result == CUDA_SUCCESS) {
        *context = context_of(stream);
    }
    return mock_leave(result);
}

CUresult mock_cuCtxGetDevResource(CUcontext context, PDL_DEV_RESOURCE *resource,
                                  PDL_DEV_RESOURCE_TYPE type)
{
    MOCK_ENTER(cuCtxGetDevResource);
    MOCK_FAIL_IF(type != PDL_DEV_RESOURCE_SM || !mock_has_context(context, "cuCtxGetDevResource"),
                 CUDA_ERROR_INVALID_VALUE);
    const struct mock_device *const device = &mock.devices[device_of(context)];
    memset(resource, 0, sizeof(*resource));
    resource->sm.smCount =
        context - contexts < MOCK_DEVICES
            ? (unsigned)device->attributes[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT]
            : device->green_sms;
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuStreamGetDevice(CUstream stream, CUdevice *device)
{
    MOCK_ENTER(cuStreamGetDevice);
    const CUresult result = mock_check_stream(stream);
    if (result == CUDA_SUCCESS) {
        *device = mock_stream_device(stream);
    }
    return mock_leave(result);
}

static struct capture {
    CUstream stream;
    CUgraph graph;
    CUstreamCaptureStatus status;
    CUgraphNode tail; /* what the next launch depends on; NULL: the last node of the graph, */
    CUgraphNode last; /* which is this */
    CUgraphEdgeData data;
} captures[STREAMS];

/* NULL: the stream does not capture. */
static struct capture *capture_of(CUstream stream)
{
    size_t i = 0;
    while (i < STREAMS && captures[i].stream != stream) {
        i++;
    }
    return i < STREAMS ? &captures[i] : NULL;
}

void mock_capture(CUstream stream, CUgraph graph, CUstreamCaptureStatus status)
{
    struct capture *at = capture_of(stream);
    for (size_t i = 0; i < STREAMS && at == NULL; i++) {
        at = captures[i].status == CU_STREAM_CAPTURE_STATUS_NONE ? &captures[i] : NULL;
    }
    if (at == NULL) {
        mock_misused("more than %d streams capture at once", STREAMS);
        return;
    }
    at->stream = stream;
    at->graph = graph;
    at->tail = NULL;
    at->status = status;
}

static CUstreamCaptureStatus capture_status(CUstream stream)
{
    const struct capture *capture = capture_of(stream);
    return capture != NULL ? capture->status : CU_STREAM_CAPTURE_STATUS_NONE;
}

static CUgraphNode tail_of(const struct capture *capture)
{
    CUgraphNode last = capture->tail != NULL ? capture->tail : capture->graph->nodes;
    while (capture->tail == NULL && last != NULL && last->next != NULL) {
        last = last->next;
    }
    return last;
}

CUresult mock_cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    MOCK_ENTER(cuStreamIsCapturing);
    MOCK_MISUSED_IF(stream == NULL || stream == CU_STREAM_LEGACY,
                    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                    "cuStreamIsCapturing was called with the legacy default stream");
    const CUresult result = mock_check_stream(stream);
    if (result == CUDA_SUCCESS) {
        *status = capture_status(stream);
    }
    return mock_leave(result);
}

CUresult mock_cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                     CUgraph *graph, const CUgraphNode **dependencies,
                                     const CUgraphEdgeData **data, size_t *count)
{
    MOCK_ENTER(cuStreamGetCaptureInfo);
    MOCK_MISUSED_IF(stream == NULL || stream == CU_STREAM_LEGACY,
                    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                    "cuStreamGetCaptureInfo was called with the legacy default stream");
    const CUresult result = mock_check_stream(stream);
    MOCK_FAIL_IF(result != CUDA_SUCCESS, result);
    if (id != NULL || (dependencies == NULL) != (data == NULL) ||
        (dependencies == NULL) != (count == NULL)) {
        mock_misused("cuStreamGetCaptureInfo was asked for what the mock does not know");
    }
    if (count != NULL) {
        *count = 0;
    }
    *status = capture_status(stream);
    *graph = (CUgraph)(void *)&mock; /* only good if the status says so */
    struct capture *capture = capture_of(stream);
    if (capture != NULL && capture->graph != NULL) {
        *graph = capture->graph;
        if (count != NULL) {
            capture->last = tail_of(capture);
            *count = capture->last != NULL;
            *dependencies = &capture->last;
            *data = &capture->data;
        }
    }
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                          const CUgraphNode *dependencies,
                                          const CUgraphEdgeData *data, size_t count,
                                          CUstreamCaptureMode mode)
{
    static const char call[] = "cuStreamBeginCaptureToGraph";
    MOCK_ENTER(cuStreamBeginCaptureToGraph);
    MOCK_MISUSED_IF(stream == NULL || stream == CU_STREAM_LEGACY,
                    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                    "%s was called with the legacy default stream", call);
    const CUresult result = mock_check_stream(stream);
    MOCK_FAIL_IF(result != CUDA_SUCCESS, result);
    MOCK_FAIL_IF(capture_status(stream) != CU_STREAM_CAPTURE_STATUS_NONE, CUDA_ERROR_ILLEGAL_STATE);
    MOCK_MISUSED_IF(!mock_has_graph(graph, call) || data != NULL || count > 1 ||
                        (count == 1 && !mock_has_node(dependencies[0], call)) ||
                        mode != CU_STREAM_CAPTURE_MODE_RELAXED,
                    CUDA_ERROR_INVALID_VALUE, "%s was called with what the mock does not know",
                    call);
    mock_capture(stream, graph, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    struct capture *const begun = capture_of(stream);
    MOCK_FAIL_IF(begun == NULL, CUDA_ERROR_OUT_OF_MEMORY);
    begun->tail = count == 1 ? dependencies[0] : NULL;
    MOCK_LOG("graph=%u", graph->number);
    return mock_leave(CUDA_SUCCESS);
}

CUresult mock_cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    MOCK_ENTER(cuStreamEndCapture);
    struct capture *capture = capture_of(stream);
    *graph = NULL;
    if (capture != NULL && capture->status != CU_STREAM_CAPTURE_STATUS_NONE) {
        *graph = capture->status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? capture->graph : NULL;
        capture->graph = NULL;
        capture->status = CU_STREAM_CAPTURE_STATUS_NONE;
        return mock_leave(*graph != NULL ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
    mock_misused("cuStreamEndCapture was called with a stream that does not capture");
    return mock_leave(CUDA_ERROR_ILLEGAL_STATE);
}

/* Parameters that a node of a type may have. */
static void fill_params(mock_node *node)
{
    CUgraphNodeParams params;
    memset(&params, 0, sizeof(params));
    params.type = node->type;
    switch ((int)node->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        node->params.function = (CUfunction)(void *)&mock.kernels[0].handles[1];
        for (size_t i = 0; i < 3; i++) {
            node->params.grid[i] = 1;
            node->params.block[i] = 1;
        }
        return;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        params.memset = (CUDA_MEMSET_NODE_PARAMS_v2){
            .dst = 0x1000, .elementSize = 4, .width = 16, .height = 1, .ctx = mock_context(0)};
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        params.memcpy.copyCtx = mock_context(0);
        params.memcpy.copyParams = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                                                   .srcDevice = 0x1000,
                                                   .srcPitch = 64,
                                                   .srcHeight = 1,
                                                   .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                                                   .dstDevice = 0x2000,
                                                   .dstPitch = 64,
                                                   .dstHeight = 1,
                                                   .WidthInBytes = 64,
                                                   .Height = 1,
                                                   .Depth = 1};
        break;
    case CU_GRAPH_NODE_TYPE_HOST:
        params.host.fn = (CUhostFn)(uintptr_t)0x3000;
        params.host.userData = &mock;
        break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        params.eventRecord.event = events;
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        params.eventWait.event = events;
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        node->graphs[0] = mock_make_graph(node, false);
        fill_params(mock_append_node(node->graphs[0], CU_GRAPH_NODE_TYPE_KERNEL));
        fill_params(mock_append_node(node->graphs[0], CU_GRAPH_NODE_TYPE_KERNEL));
        break;
    default:
        break;
    }
    node->other = params;
}

CUgraphNode mock_capture_node(CUstream stream, CUgraphNodeType type, bool overlaps)
{
    struct capture *capture = capture_of(stream);
    mock_node *last = tail_of(capture);
    mock_node *made = mock_append_node(capture->graph, type);
    capture->tail = made;
    fill_params(made);
    if (last != NULL) {
        const bool both = overlaps && type == CU_GRAPH_NODE_TYPE_KERNEL &&
                          last->type == CU_GRAPH_NODE_TYPE_KERNEL;
        mock_append_edge(last, made,
                         (CUgraphEdgeData){.type = both ? 1 : 0, .from_port = both ? 1 : 0});
    }
    return made;
}

/* ------------------------------------------------------------------------------------------------
 * Events
 * ---------------------------------------------------------------------------------------------- */

bool mock_has_event(CUevent event, const char *call)
{
    for (const struct CUevent_st *live = events; live != NULL; live = live->next) {
        if (live == event) {
            return true;
        }
    }
    mock_misused("%s was called with %p, which is not a live event", call, (void *)event);
    return false;
}

CUresult mock_check_event(CUevent event)
{
    return mock_has_event(event, "a launch") && (event->flags & CU_EVENT_DISABLE_TIMING) != 0 &&
                   (event->flags & CU_EVENT_INTERPROCESS) == 0
               ? CUDA_SUCCESS
               : CUDA_ERROR_NOT_SUPPORTED;
}

CUevent mock_event_create(unsigned flags)
{
    mock_lock("cuEventCreate");
    CUevent made = mock_new(sizeof(*made));
    *made = (struct CUevent_st){.next = events, .flags = flags};
    events = made;
    mock.live_events++;
    (void)mock_leave(CUDA_SUCCESS);
    return made;
}

CUresult mock_event_destroy(CUevent event)
{
    mock_lock("cuEventDestroy");
    MOCK_FAIL_IF(!mock_has_event(event, "cuEventDestroy"), CUDA_ERROR_INVALID_HANDLE);
    CUevent *at = &events;
    while (*at != event) {
        at = &(*at)->next;
    }
    *at = event->next;
    free(event);
    mock.live_events--;
    return mock_leave(CUDA_SUCCESS);
}

void mock_forget_streams(void)
{
    memset(captures, 0, sizeof(captures));
    mock_context_depth = 0;
    while (streams != NULL) {
        (void)mock_destroy_stream(streams);
    }
    while (events != NULL) {
        struct CUevent_st *next = events->next;
        free(events);
        events = next;
    }
}
