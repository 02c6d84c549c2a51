/* SPDX-License-Identifier: MIT */
/* A driver table over a small model of devices, kernels and images, for unit tests.
 *
 * Every entry of PDL_DRIVER_ENTRIES has a mock_<entry>() in one of the files mock_*.c (see
 * mock_entry.h); the table is filled from the same list, so an entry without one does not link. A
 * test sets the model up directly (`mock.devices[0]…`, before the library has cached it, or
 * followed by mock_apply()), makes its calls, and reads what was recorded. mock_teardown() fails
 * the test if the library leaked or misused a handle. */
#ifndef PDL_TEST_UNIT_MOCK_H
#define PDL_TEST_UNIT_MOCK_H

#include "driver.h"

#define MOCK_DEVICES    4
#define MOCK_KERNELS    8
#define MOCK_LAUNCHES   64
#define MOCK_ATTRIBUTES 24

/* Attributes that the oldest headers the library builds with do not name. Their values are written
 * by offset for the same reason. */
#define ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION      ((CUlaunchAttributeID)11)
#define ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE     ((CUlaunchAttributeID)13)
#define ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT ((CUlaunchAttributeID)14)
#define ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING   ((CUlaunchAttributeID)16)

/* An index for each entry of the table, to count its calls and to make it fail. */
enum mock_entry {
#define MOCK_ENTRY_(name, version) MOCK_##name,
    PDL_DRIVER_ENTRIES(MOCK_ENTRY_, MOCK_ENTRY_)
#undef MOCK_ENTRY_
        MOCK_ENTRY_COUNT
};

struct mock_device {
    char name[128];
    int attributes[CU_DEVICE_ATTRIBUTE_MAX];
};

/* One kernel. It has a CUkernel and, on every device, a CUfunction. */
struct mock_kernel {
    const char *name;
    bool in_image; /* cuLibraryGetKernel finds it */
    int attributes[MOCK_DEVICES][CU_FUNC_ATTRIBUTE_MAX];
    int occupancy;                                       /* blocks on an SM */
    unsigned reads[MOCK_DEVICES][CU_FUNC_ATTRIBUTE_MAX]; /* calls that read the attribute */
    unsigned writes;                                     /* calls that set an attribute */
    CUfunction_attribute last_written;                   /* what the last of them set */
    int last_value;                                      /* and to what */
    int occupancy_block;                                 /* arguments of the last */
    size_t occupancy_shared;                             /* occupancy query */
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

struct mock {
    /* The model. */
    struct pdl_driver table;
    struct mock_device devices[MOCK_DEVICES];
    struct mock_kernel kernels[MOCK_KERNELS];
    CUresult image_result; /* of cuLibraryLoadData; 0: images that begin like one are accepted */
    CUresult find_result;  /* of cuLibraryGetKernel; 0: by name */
    const char *jit_log; /* what the PTX compiler says: at once if an image is refused, else late */
    struct CUgraphDeviceUpdatableNode_st
        *device_node; /* what a launch with a device-updatable node gets */

    /* The record. */
    unsigned calls[MOCK_ENTRY_COUNT];
    unsigned launch_count;
    struct mock_launch launches[MOCK_LAUNCHES]; /* launch i is at i % MOCK_LAUNCHES */
    size_t image_size;                          /* bytes that the last load looked at */
    unsigned event_flags;                       /* of the last cuEventCreate */
    int live_libraries;
    int live_events;
    char misuse[256]; /* the first thing that a correct caller would not do */

    /* Failures to inject: call number `fail_at` from now (1: the next; 0: none) of an entry. */
    unsigned fail_at[MOCK_ENTRY_COUNT];
    CUresult fail_with[MOCK_ENTRY_COUNT];
    bool fail_always[MOCK_ENTRY_COUNT];
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

/* Makes the n-th call from now of an entry fail (0: every call): mock_fail(MOCK_cuInit, 1, …). */
void mock_fail(enum mock_entry entry, unsigned nth, CUresult result);
void mock_fail_none(void);

/* Makes the driver an older one: its version, and no optional entry that it does not have yet. */
void mock_set_driver_version(int version);

/* All calls of the driver so far. */
unsigned mock_total_calls(void);

/* The latest launch; fails the test if there was none. */
const struct mock_launch *mock_last_launch(void);

/* Runtime operations that record into the same list, for symbols &mock.kernels[i]. Results are
 * cudaError_t: mock_runtime_launch_result and mock_runtime_function_result, 0 for success. */
extern pdl_runtime_ops mock_runtime_ops;
extern int32_t mock_runtime_launch_result;
extern int32_t mock_runtime_function_result;
extern unsigned mock_runtime_function_calls;

#endif /* PDL_TEST_UNIT_MOCK_H */
