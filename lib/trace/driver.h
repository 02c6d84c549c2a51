/* SPDX-License-Identifier: MIT */
/* The driver table of libpdl-trace: every CUDA driver call that it makes goes through it. libpdl has
 * its own. */
#ifndef PDL_LIB_TRACE_DRIVER_H
#define PDL_LIB_TRACE_DRIVER_H

#include "core/libcuda.h"

/* R(name, version), all required. The version is the one that cuGetProcAddress is asked for and the
 * typedef is named after. */
#define PDL_TRACE_DRIVER_ENTRIES(R)                                                                \
    R(cuGetErrorName, 6000)                                                                        \
    R(cuMemAlloc, 3020)                                                                            \
    R(cuMemFree, 3020)                                                                             \
    R(cuMemcpyDtoH, 3020)                                                                          \
    R(cuMemsetD8, 3020)                                                                            \
    R(cuCtxPushCurrent, 4000)                                                                      \
    R(cuCtxPopCurrent, 4000)                                                                       \
    R(cuStreamGetCtx, 9020)

struct pdl_trace_driver {
#define PDL_TRACE_DRIVER_MEMBER_(name, version_) PFN_##name##_v##version_ name;
    PDL_TRACE_DRIVER_ENTRIES(PDL_TRACE_DRIVER_MEMBER_)
#undef PDL_TRACE_DRIVER_MEMBER_
};

/* The table, loaded on the first call; later calls repeat the first one's outcome. On failure the
 * thread's error is set and *driver is not written. The caller has asked libpdl for the current
 * device before, which starts the driver. */
pdl_status pdl_trace_driver_get(const struct pdl_trace_driver **driver);

/* For tests: makes pdl_trace_driver_get() return this table (NULL: load again on the next call). */
void pdl_trace_driver_override(const struct pdl_trace_driver *driver);

/* For tests and for pdl_trace_driver_get(): loads libcuda from `soname` into *driver. */
pdl_status pdl_trace_driver_load(const char *soname, struct pdl_trace_driver *driver);

#endif /* PDL_LIB_TRACE_DRIVER_H */
