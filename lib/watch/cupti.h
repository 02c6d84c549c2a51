/* SPDX-License-Identifier: MIT */
/* CUPTI, opened at run time, and what the parts of libpdl-watch that use it share. */
#ifndef PDL_LIB_WATCH_CUPTI_H
#define PDL_LIB_WATCH_CUPTI_H

#include <cupti.h>

#include "watch/watch.h"

/* What of CUPTI is called. The second list may be missing in it. */
#define PDL_WATCH_CUPTI_ENTRIES(X)                                                                 \
    X(cuptiActivityEnable)                                                                         \
    X(cuptiActivityDisable)                                                                        \
    X(cuptiActivityFlushAll)                                                                       \
    X(cuptiActivityGetNextRecord)                                                                  \
    X(cuptiActivityGetNumDroppedRecords)                                                           \
    X(cuptiActivityRegisterCallbacks)                                                              \
    X(cuptiEnableCallback)                                                                         \
    X(cuptiGetResultString)                                                                        \
    X(cuptiGetTimestamp)                                                                           \
    X(cuptiGetVersion)                                                                             \
    X(cuptiSubscribe)                                                                              \
    X(cuptiUnsubscribe)
#define PDL_WATCH_CUPTI_OPTIONAL(X)                                                                \
    X(cuptiActivityFlushPeriod)                                                                    \
    X(cuptiActivityRegisterTimestampCallback)                                                      \
    X(cuptiGetContextId)                                                                           \
    X(cuptiGetGraphExecId)                                                                         \
    X(cuptiGetGraphNodeId)

struct pdl_watch_cupti {
#define PDL_WATCH_MEMBER(name) __typeof__(name) *name;
    PDL_WATCH_CUPTI_ENTRIES(PDL_WATCH_MEMBER)
    PDL_WATCH_CUPTI_OPTIONAL(PDL_WATCH_MEMBER)
#undef PDL_WATCH_MEMBER
    CUpti_SubscriberHandle subscriber;
    uint32_t version;
};

/* NULL unless it was started. */
const struct pdl_watch_cupti *pdl_watch_cupti(void);

/* ---- for cupti.c ------------------------------------------------------------------------------------ */

/* callbacks.c: what is subscribed with, and which calls it is told of. */
void CUPTIAPI pdl_watch_callback(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                 const void *data);
bool pdl_watch_callbacks_enable(const struct pdl_watch_cupti *cupti);

/* activity.c: buffers. */
bool pdl_watch_activity_start(const struct pdl_watch_cupti *cupti);

/* ---- graphs.c --------------------------------------------------------------------------------------- */

/* A node was made by the call that this thread is in, with flags of pdl_watch_call. */
void pdl_watch_node_created(CUgraphNode node, uint32_t flags);
/* A node was copied. */
void pdl_watch_node_cloned(CUgraphNode original, CUgraphNode node);
/* An executable graph was made. */
void pdl_watch_graph_made(CUgraph graph, CUgraphExec executable, uint32_t context);

#endif /* PDL_LIB_WATCH_CUPTI_H */
