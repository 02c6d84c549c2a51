/* SPDX-License-Identifier: MIT */
/* What mock CUPTI exports. */
#include "mock_cupti.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUPTI_CALL()                                                                               \
    do {                                                                                           \
        if (mock_call_fails()) {                                                                   \
            return CUPTI_ERROR_UNKNOWN;                                                            \
        }                                                                                          \
    } while (0)

CUptiResult cuptiGetVersion(uint32_t *version)
{
    CUPTI_CALL();
    *version = mock_plan.version;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
    *text = result == CUPTI_SUCCESS ? "CUPTI_SUCCESS"
            : result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
                ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                : "CUPTI_ERROR_UNKNOWN";
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetErrorMessage(CUptiResult result, const char **text)
{
    return cuptiGetResultString(result, text);
}

CUptiResult cuptiGetLastError(void)
{
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *time)
{
    CUPTI_CALL();
    mock_state_lock();
    *time = mock_now();
    mock_state_unlock();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
                           void *user)
{
    CUPTI_CALL();
    if (mock_plan.taken) {
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    }
    mock_state_lock();
    mock_state.callback = callback;
    mock_state.user = user;
    mock_state_unlock();
    *subscriber = (CUpti_SubscriberHandle)(void *)&mock_state;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
                              void *user, CUpti_SubscriberParams *params)
{
    if (mock_plan.taken && params != NULL && params->oldSubscriberName != NULL) {
        (void)snprintf(params->oldSubscriberName, params->oldSubscriberSize, "CUPTI for another");
    }
    return cuptiSubscribe(subscriber, callback, user);
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
    (void)subscriber;
    CUPTI_CALL();
    mock_state_lock();
    mock_state.callback = NULL;
    mock_state_unlock();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    (void)subscriber;
    CUPTI_CALL();
    CUptiResult result = CUPTI_SUCCESS;
    mock_state_lock();
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && id < CUPTI_DRIVER_TRACE_CBID_SIZE) {
        mock_state.calls[id] = enable != 0;
    } else if (domain == CUPTI_CB_DOMAIN_RESOURCE && id < CUPTI_CBID_RESOURCE_SIZE) {
        mock_state.resources[id] = enable != 0;
    } else if (domain >= CUPTI_CB_DOMAIN_SIZE) {
        result = CUPTI_ERROR_INVALID_PARAMETER;
    }
    mock_state_unlock();
    return result;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                              CUpti_CallbackDomain domain)
{
    (void)subscriber;
    CUPTI_CALL();
    if (domain >= CUPTI_CB_DOMAIN_SIZE) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    mock_state_lock();
    mock_state.domains[domain] = enable != 0;
    mock_state_unlock();
    return CUPTI_SUCCESS;
}

static CUptiResult set_activity(CUpti_ActivityKind kind, bool on)
{
    if (kind == CUPTI_ACTIVITY_KIND_KERNEL) {
        (void)fprintf(stderr, "mock CUPTI: CUPTI_ACTIVITY_KIND_KERNEL serializes kernels\n");
        abort();
    }
    if ((unsigned)kind >= CUPTI_ACTIVITY_KIND_COUNT) {
        return CUPTI_ERROR_INVALID_KIND;
    }
    mock_state_lock();
    mock_state.activities[kind] = on;
    mock_state_unlock();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    CUPTI_CALL();
    return set_activity(kind, true);
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    CUPTI_CALL();
    return set_activity(kind, false);
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete)
{
    pthread_t thread;
    CUPTI_CALL();
    if (request == NULL || complete == NULL) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    mock_state_lock();
    const bool first = mock_state.complete == NULL;
    mock_state.request = request;
    mock_state.complete = complete;
    mock_state_unlock();
    if (first && mock_plan.thread && pthread_create(&thread, NULL, mock_deliver_on, NULL) == 0) {
        (void)pthread_detach(thread);
    }
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock)
{
    CUPTI_CALL();
    mock_state_lock();
    mock_state.clock = clock;
    mock_state_unlock();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    (void)flag;
    CUPTI_CALL();
    if (!mock_plan.never && !mock_plan.late && mock_state.complete != NULL) {
        mock_deliver();
    }
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushPeriod(uint32_t milliseconds)
{
    (void)milliseconds;
    CUPTI_CALL();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
    (void)attribute;
    (void)size;
    (void)value;
    CUPTI_CALL();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableDeviceGraph(uint8_t enable)
{
    (void)enable;
    CUPTI_CALL();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    size_t size = 0;
    CUPTI_CALL();
    uint8_t *next = buffer;
    if (*record != NULL) {
        next = (uint8_t *)*record;
        memcpy(&size, next - 8, sizeof(size));
        next += size;
    }
    if (next >= buffer + valid) {
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    }
    *record = (CUpti_Activity *)(void *)(next + 8);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped)
{
    (void)context;
    (void)stream;
    CUPTI_CALL();
    mock_state_lock();
    *dropped = mock_plan.lost;
    mock_plan.lost = 0;
    mock_state_unlock();
    return CUPTI_SUCCESS;
}

static CUptiResult answer_id(const void *object, uint64_t *id)
{
    mock_state_lock();
    *id = mock_id_of(object);
    mock_state_unlock();
    return *id != 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
    CUPTI_CALL();
    return answer_id(node, id);
}

static CUptiResult answer_short_id(const void *object, uint32_t *id)
{
    uint64_t found = 0;
    const CUptiResult result = answer_id(object, &found);
    *id = (uint32_t)found;
    return result;
}

CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *id)
{
    CUPTI_CALL();
    mock_state_lock();
    *id = (uint32_t)mock_have_id(graph);
    mock_state_unlock();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphExecId(CUgraphExec exec, uint32_t *id)
{
    CUPTI_CALL();
    return answer_short_id(exec, id);
}

CUptiResult cuptiGetContextId(CUcontext context, uint32_t *id)
{
    CUPTI_CALL();
    mock_state_lock();
    *id = (uint32_t)mock_have_id(context);
    mock_state_unlock();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *id)
{
    (void)context;
    CUPTI_CALL();
    *id = 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread, uint32_t *id)
{
    (void)context;
    (void)per_thread;
    CUPTI_CALL();
    mock_state_lock();
    *id = mock_stream_id(stream);
    mock_state_unlock();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiFinalize(void)
{
    CUPTI_CALL();
    return CUPTI_SUCCESS;
}
