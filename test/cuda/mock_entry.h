/* SPDX-License-Identifier: MIT */
/* Inside the mock: what its entries share. See mock.h for what tests use.
 *
 * An entry begins with MOCK_ENTER(its name), which counts the call, takes the lock, and returns if
 * the test wants the call to fail; it ends with mock_leave(result). No cmocka assertion may be made
 * in one: threads that cmocka does not know call them. They call mock_misused() instead. */
#ifndef PDL_TEST_CUDA_MOCK_ENTRY_H
#define PDL_TEST_CUDA_MOCK_ENTRY_H

#include <stddef.h>
#include <stdint.h>

#include "mock.h"

/* Every entry has the signature of the driver's. */
#define MOCK_DECLARE_(name, version) __typeof__(*(PFN_##name##_v##version)0) mock_##name;
PDL_DRIVER_ENTRIES(MOCK_DECLARE_, MOCK_DECLARE_)
PDL_TRACE_DRIVER_ENTRIES(MOCK_DECLARE_)
#undef MOCK_DECLARE_

void mock_lock(void);
CUresult mock_enter(enum mock_entry entry);
CUresult mock_leave(CUresult result);

#define MOCK_ENTER(name)                                                                           \
    do {                                                                                           \
        const CUresult injected_ = mock_enter(MOCK_##name);                                        \
        if (injected_ != CUDA_SUCCESS) {                                                           \
            return mock_leave(injected_);                                                          \
        }                                                                                          \
    } while (0)

/* Notes what a correct caller would not do: mock_teardown() fails the test. Under the lock. */
__attribute__((format(printf, 1, 2))) void mock_misused(const char *format, ...);

/* The device of the calling thread's context; -1: none is current. */
extern _Thread_local int mock_current_device;

bool mock_is_device(CUdevice device);

/* Of the calling thread: contexts pushed and not popped. */
extern _Thread_local int mock_context_depth;

/* The device of a stream; -1 if it is none. */
int mock_stream_device(CUstream stream);

/* Graphs, for executable ones. Under the lock. */
struct mock_edge {
    struct mock_edge *next;
    mock_node *from;
    mock_node *to;
    CUgraphEdgeData data;
};
struct CUgraph_st {
    mock_graph *next;
    mock_node *nodes;
    struct mock_edge *edges;
};
bool mock_has_graph(CUgraph graph, const char *call); /* notes misuse if not */
bool mock_has_node(CUgraphNode node, const char *call);
CUresult mock_copy_params(struct mock_node_params *to, const CUDA_KERNEL_NODE_PARAMS *from,
                          const char *call);
struct mock_kernel *mock_kernel_of_params(const struct mock_node_params *params, int *device);

/* Frees what a test left. */
void mock_forget_graphs(void);
void mock_forget_execs(void);
void mock_forget_memory(void);

/* Handles are addresses of single bytes, so that every one that is passed in can be told. */
#define MOCK_POOL 256

struct mock_pool {
    const char *what;
    int *live;
    bool used[MOCK_POOL];
    char handles[MOCK_POOL];
};

extern struct mock_pool mock_events;
extern struct mock_pool mock_libraries;

/* A handle that is not in use, now in use; NULL if there is none left. Under the lock, as the next
 * two. */
void *mock_pool_take(struct mock_pool *pool);

/* Whether a handle is in use; if not, that is noted as misuse by `call`. */
bool mock_pool_has(const struct mock_pool *pool, const void *handle, const char *call);

/* Takes a handle back. */
bool mock_pool_give(struct mock_pool *pool, const void *handle, const char *call);

/* The kernel that a handle stands for; NULL if it stands for none. *device is what the function is
 * for. */
struct mock_kernel *mock_kernel_of_function(CUfunction function, int *device);
struct mock_kernel *mock_kernel_of_cu_kernel(CUkernel kernel);

/* As launches and the occupancy query take it: a function, or a kernel cast to one. */
struct mock_kernel *mock_kernel_of_either(CUfunction function, int *device);

/* The operations behind mock_runtime_ops. */
int32_t mock_runtime_launch(const void *symbol, const pdl_runtime_launch *launch, void **arguments);
int32_t mock_runtime_get_function(const void *symbol, CUfunction *function);

#endif /* PDL_TEST_CUDA_MOCK_ENTRY_H */
