/* SPDX-License-Identifier: MIT */
/* What the watched driver shows to who watches: calls, and the work that they bring about. */
#ifndef PDL_TEST_WATCH_WATCHED_CUDA_H
#define PDL_TEST_WATCH_WATCHED_CUDA_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

/* A call of the driver API. The same object on entry and on exit. */
struct watched_call {
    uint32_t id; /* CUPTI_DRIVER_TRACE_CBID_… */
    const char *name;
    const void *params; /* struct …_params of generated_cuda_meta.h */
    CUresult result;    /* on exit */
    const char *symbol; /* of launches: the kernel's name */
    CUcontext context;
    uint32_t correlation;
    uint64_t data; /* of the watcher, from entry to exit */
};

enum watched_kind { WATCHED_KERNEL, WATCHED_COPY, WATCHED_SET };

/* A kernel, copy or memset that runs. */
struct watched_work {
    enum watched_kind kind;
    uint32_t correlation;
    CUcontext context;
    CUstream stream;
    const char *name; /* of a kernel */
    unsigned grid[3];
    unsigned block[3];
    unsigned shared;
    uint64_t bytes;
    bool overlaps;     /* it begins before what is in front of it has ended */
    CUgraphNode node;  /* of the executable graph; NULL: no graph */
    CUgraphExec graph; /* NULL */
};

/* Called without the lock of the driver, on the thread that makes the call. */
struct watched_viewer {
    void (*call)(struct watched_call *call, bool exit);
    void (*resource)(uint32_t id, CUcontext context, void *descriptor); /* CUPTI_CBID_RESOURCE_… */
    void (*work)(const struct watched_work *work);
};

/* Exported by the driver: who watches from now on. */
typedef void watched_attach_type(const struct watched_viewer *viewer);
watched_attach_type watched_attach;

#endif /* PDL_TEST_WATCH_WATCHED_CUDA_H */
