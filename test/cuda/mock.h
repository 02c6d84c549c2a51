/* SPDX-License-Identifier: MIT */
/* A small model of CUDA: devices, contexts, streams, events, images, kernels, launches, graphs
 * and memory. It is used in two ways.
 *
 * Unit tests use it as a driver table. Every entry of PDL_DRIVER_ENTRIES has a mock_<entry>() in
 * one of the files mock_*.c (see mock_entry.h); the table is filled from the same list, so an
 * entry without one does not link. The same goes for libpdl-trace's table and
 * PDL_TRACE_DRIVER_ENTRIES. A test sets the model up directly (`mock.devices[0]…`, before the
 * library has cached it, or followed by mock_apply()), makes its calls, and reads what was
 * recorded. mock_teardown() fails the test if the library leaked or misused a handle.
 * test/unit/mock.c is what only unit tests have of this.
 *
 * The fake libcuda.so.1 exports the same entries, see test/fake/fake_cuda.c. */
#ifndef PDL_TEST_CUDA_MOCK_H
#define PDL_TEST_CUDA_MOCK_H

#include <pdl/detail/runtime.h>

#include <stdio.h>

#include "core/driver.h"
#include "trace/driver.h"

#define MOCK_DEVICES       4
#define MOCK_KERNELS       8
#define MOCK_VERSION       14000 /* of driver and Runtime: newer than every attribute */
#define MOCK_LAUNCHES      64
#define MOCK_ATTRIBUTES    32
#define MOCK_PARAMETERS    16  /* of a kernel, at most */
#define MOCK_ARGUMENT      64  /* bytes of one, at most */
#define MOCK_RUNS          256 /* nodes that ran */
#define MOCK_ATTRIBUTE_IDS 192 /* of devices and kernels; newer than any header's */
#define MOCK_HANDLES       8   /* conditions of a graph, at most */
#define MOCK_BODIES        4   /* of a conditional, at most */

/* Attributes that the oldest headers the library builds with do not name. Their values are written
 * by offset for the same reason. */
#define ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION      ((CUlaunchAttributeID)11)
#define ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE     ((CUlaunchAttributeID)13)
#define ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT ((CUlaunchAttributeID)14)
#define ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING   ((CUlaunchAttributeID)16)
#define ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE       ((CUlaunchAttributeID)17)
#define ATTRIBUTE_SHARED_MEMORY_MODE               ((CUlaunchAttributeID)18)

/* An index for each entry of the table, to count its calls and to make it fail. */
enum mock_entry {
    MOCK_cuMemAlloc, /* the first four: of libpdl-trace's table alone */
    MOCK_cuMemFree,
    MOCK_cuMemcpyDtoH,
    MOCK_cuMemsetD8,
#define MOCK_ENTRY_(name, version) MOCK_##name,
    PDL_DRIVER_ENTRIES(MOCK_ENTRY_, MOCK_ENTRY_)
#undef MOCK_ENTRY_
        MOCK_ENTRY_COUNT
};

/* Handles of graphs are these very objects. */
typedef struct CUgraph_st mock_graph;
typedef struct CUgraphNode_st mock_node;

struct mock_device {
    char name[128];
    int attributes[MOCK_ATTRIBUTE_IDS];
    unsigned green_sms; /* of the green context */
};

/* One kernel. It has a CUkernel and, on every device, a CUfunction. */
struct mock_kernel {
    const char *name;
    bool in_image;         /* cuLibraryGetKernel finds it */
    bool counts_clusters;  /* a grid is one of clusters */
    uint32_t block[3];     /* that launches must have; 0: any */
    uint32_t most_cluster; /* blocks; 0: any */
    /* Their addresses are the handles: CUkernel, CUfunctions, CUfunctions after a reset. */
    char handles[1 + 2 * MOCK_DEVICES];
    CUlibrary library;        /* of one that was found in an image: that image, */
    struct mock_kernel *next; /* and what else was found there */
    unsigned parameter_count;
    size_t parameter_sizes[MOCK_PARAMETERS];
    int attributes[MOCK_DEVICES][MOCK_ATTRIBUTE_IDS];
    int occupancy; /* blocks on an SM; -1: what fits by threads and shared memory */
    int device_occupancy[MOCK_DEVICES];               /* the same on one device; 0: as above */
    unsigned reads[MOCK_DEVICES][MOCK_ATTRIBUTE_IDS]; /* calls that read the attribute */
    unsigned writes;                                  /* calls that set an attribute */
    CUfunction_attribute last_written;                /* what the last of them set */
    int last_value;                                   /* and to what */
    int occupancy_block;                              /* arguments of the last */
    size_t occupancy_shared;                          /* occupancy query */
};

/* A launch as the driver, or the runtime's mock, got it. */
struct mock_launch {
    bool by_runtime;       /* it came through a pdl_runtime_ops */
    const void *symbol;    /* by_runtime: what was launched */
    CUfunction function;   /* else: the handle */
    int device;            /* current on the launching thread */
    CUlaunchConfig config; /* attrs as it was passed: only good for comparing with NULL */
    unsigned attribute_count;
    CUlaunchAttribute attributes[MOCK_ATTRIBUTES]; /* copied before anything is written back */
    void **arguments;
    void **extra;
};

/* What a kernel node runs with: everything is a copy. */
struct mock_node_params {
    CUfunction function; /* one of these two, as it was given */
    CUkernel kernel;
    CUcontext context; /* NULL: not said */
    unsigned grid[3];
    unsigned block[3];
    unsigned shared;
    unsigned char arguments[MOCK_PARAMETERS][MOCK_ARGUMENT]; /* zero after the parameter's size */
    unsigned attribute_count;
    CUlaunchAttribute attributes[MOCK_ATTRIBUTES]; /* in the order in which they were first set */
};

/* A node of a graph. */
struct CUgraphNode_st {
    mock_node *next; /* of the graph, in the order of adding */
    mock_graph *graph;
    unsigned number; /* in its graph, also counting what was destroyed */
    CUgraphNodeType type;
    struct mock_node_params params;
    void *pointers[MOCK_PARAMETERS]; /* into params.arguments */
    unsigned sets;                   /* attributes set, again or not */
    CUgraphNodeParams other;         /* of a node that is not a kernel */
    CUgraph graphs[MOCK_BODIES];     /* the child graph, or the bodies */
};

/* A node that ran: the nodes of a replay stand together, each after those before it. Kernels are listed
 * alone unless mock.runs_all is set; a while runs its body once. */
struct mock_run {
    unsigned replay; /* counts cuGraphLaunch */
    CUstream stream;
    CUgraphNode node; /* that the executable one was made from: only good for comparing */
    CUgraphNodeType type;
    struct mock_node_params params;
    CUgraphNodeParams other;
};

struct mock {
    /* The model. First, whether it is a whole driver: cuInit comes first, no context is current at
     * first, images are searched for kernels, and launches and their attributes are checked. */
    bool is_fake;
    int code;  /* what kernels are compiled for, such as 90 */
    FILE *log; /* NULL: none */
    struct pdl_driver table;
    struct pdl_trace_driver trace_table; /* for pdl_trace_driver_override() */
    struct mock_device devices[MOCK_DEVICES];
    struct mock_kernel kernels[MOCK_KERNELS];
    CUresult image_result; /* of cuLibraryLoadData; 0: images that begin like one are accepted */
    CUresult find_result;  /* of cuLibraryGetKernel; 0: by name */
    const char *jit_log; /* what the PTX compiler says: at once if an image is refused, else late */
    struct CUgraphDeviceUpdatableNode_st
        *device_node; /* what a launch with a device-updatable node gets */

    /* The record. */
    bool initialized; /* by cuInit */
    unsigned calls[MOCK_ENTRY_COUNT];
    unsigned launch_count;
    struct mock_launch launches[MOCK_LAUNCHES]; /* launch i is at i % MOCK_LAUNCHES */
    size_t image_size;                          /* bytes that the last load looked at */
    int live_libraries;
    int live_events;
    int live_graphs;
    int live_nodes; /* of live graphs */
    int live_execs;
    int live_allocations;
    int live_streams;     /* that were created, not those of mock_stream() */
    unsigned graphs_made; /* which numbers them */
    unsigned execs_made;
    unsigned packed; /* nodes whose arguments came as one block */
    unsigned replay_count;
    unsigned run_count;
    struct mock_run runs[MOCK_RUNS]; /* run i is at i % MOCK_RUNS */
    bool runs_all;
    int refused_type;                     /* of nodes that the driver does not support; 0: none */
    unsigned long long instantiate_flags; /* of the last cuGraphInstantiateWithFlags */
    unsigned resets;                      /* mock_device_reset() */
    char misuse[256];                     /* the first thing that a correct caller would not do */

    /* Failures to inject: call number `fail_at` from now (1: the next; 0: none) of an entry. */
    unsigned fail_at[MOCK_ENTRY_COUNT];
    CUresult fail_with[MOCK_ENTRY_COUNT];
    bool fail_always[MOCK_ENTRY_COUNT];
    unsigned fail_any_at; /* the same for calls of all entries together, without cuGetErrorName */
    CUresult fail_any_with;

    /* Called on the way into every entry, without the lock, so that it may wait. */
    void (*on_entry)(enum mock_entry entry);
};

extern struct mock mock;

/* One H200 with a 13.0 driver; kernels 0 to 7 named "fc1" to "fc8", compiled for 9.0, 1024 threads,
 * 48 KiB. The calling thread's current device is 0. Overrides the library's table. For cmocka. */
int mock_setup(void **state);
int mock_teardown(void **state);

/* Makes the library forget what it has cached of devices, after the model was changed. */
void mock_apply(void);

/* The handles of a kernel of the model. */
CUkernel mock_cu_kernel(unsigned kernel);
CUfunction mock_function(unsigned kernel, int device);

/* Makes the device current on the calling thread; -1: no context. */
void mock_set_current(int device);

/* What cudaDeviceReset() does: all CUfunctions become invalid, and others take their place. */
void mock_device_reset(void);

/* Makes the n-th call from now of an entry fail (0: every call): mock_fail(MOCK_cuInit, 1, …). */
void mock_fail(enum mock_entry entry, unsigned nth, CUresult result);
void mock_fail_none(void);

/* Makes the driver an older one: its version, and no optional entry that it does not have yet. */
void mock_set_driver_version(int version);

/* All calls of the driver so far. */
unsigned mock_total_calls(void);

/* The latest launch; fails the test if there was none. */
const struct mock_launch *mock_last_launch(void);

/* Sets the parameters of a kernel of the model: their sizes, up to a 0. */
void mock_set_parameters(unsigned kernel, const size_t *sizes);

/* The host's memory behind device memory that cuMemAlloc gave. */
void *mock_memory(CUdeviceptr address);

/* Streams of a device, and its context. */
CUstream mock_stream(unsigned number, int device);

/* An event, which the test destroys. */
CUevent mock_event_create(unsigned flags);
CUresult mock_event_destroy(CUevent event);
CUcontext mock_context(int device);

/* The same of a device's green context, which has devices[device].green_sms SMs. */
void mock_make_current(CUcontext context);
CUstream mock_green_stream(int device);
CUcontext mock_green_context(int device);

/* What a stream captures: a graph, nothing (NULL, CU_STREAM_CAPTURE_STATUS_NONE), or what cannot be
 * had any more (NULL, CU_STREAM_CAPTURE_STATUS_INVALIDATED). Not for the legacy default stream. */
void mock_capture(CUstream stream, CUgraph graph, CUstreamCaptureStatus status);

/* Puts a node at the end of what a stream captures, as the driver does: a kernel's edge from a kernel is
 * programmatic if it `overlaps`. A kernel is the model's first. */
CUgraphNode mock_capture_node(CUstream stream, CUgraphNodeType type, bool overlaps);

/* A node that is not a kernel, with nothing before it; an edge; the edge between two nodes, NULL if
 * there is none; and how many edges end in a node. For the test's own graphs and the library's. */
CUgraphNode mock_add_node(CUgraph graph, CUgraphNodeType type);
void mock_add_edge(CUgraphNode from, CUgraphNode to, unsigned char type, unsigned char from_port);
const CUgraphEdgeData *mock_edge(CUgraphNode from, CUgraphNode to);
unsigned mock_edges_into(CUgraphNode node);

/* The n-th node of a graph, in the order of adding; NULL past the last. */
CUgraphNode mock_node_at(CUgraph graph, unsigned n);

/* The n-th kernel of the latest replay; fails the test if there was no replay or not so many. */
const struct mock_run *mock_ran(unsigned n);
unsigned mock_ran_count(void); /* kernels in the latest replay */

/* Runtime operations that record into the same list, for symbols &mock.kernels[i]. Results are
 * cudaError_t: mock_runtime_launch_result and mock_runtime_function_result, 0 for success. */
extern pdl_runtime_ops mock_runtime_ops;
extern int32_t mock_runtime_launch_result;
extern int32_t mock_runtime_function_result;
extern unsigned mock_runtime_function_calls;

#endif /* PDL_TEST_CUDA_MOCK_H */
