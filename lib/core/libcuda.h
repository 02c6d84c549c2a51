/* SPDX-License-Identifier: MIT */
/* What every library here needs that calls libcuda: its entries, and what its results mean. Records
 * errors by pdl_error_record(), and needs nothing else of libpdl. */
#ifndef PDL_LIB_LIBCUDA_H
#define PDL_LIB_LIBCUDA_H

#include <cuda.h>
#include <cudaTypedefs.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

/* The oldest driver that has all required entries, as cuDriverGetVersion counts. */
#define PDL_DRIVER_VERSION_MIN 12000

/* An entry of a driver table, and its place there. */
struct pdl_libcuda_entry {
    const char *name;
    int version; /* that cuGetProcAddress is asked for */
    bool required;
    /* Offset in the table, of a pointer that stays NULL if an older driver has no such entry. */
    size_t slot;
};

/* Loads libcuda from `soname` and fills the slots of `count` entries in a table. *library is the handle of
 * pdl_library_open(): once it is closed, the slots are invalid. *version is what cuDriverGetVersion says. On
 * failure nothing stays loaded, and slots may have been written. */
pdl_status pdl_libcuda_load(const char *soname, const struct pdl_libcuda_entry *entries,
                            size_t count, void *table, void **library, int *version);

/* The name of a result, such as "CUDA_ERROR_INVALID_VALUE". Never NULL. */
const char *pdl_libcuda_result_name(PFN_cuGetErrorName_v6000 get_name, CUresult result);

/* Classifies the result of a CUDA call that has no meaning of its own to the caller: "cuX failed:
 * NAME" and what was being done. `get_name` is NULL where the driver is not loaded. */
PDL_COLD pdl_status pdl_libcuda_error(PFN_cuGetErrorName_v6000 get_name, const char *call,
                                      int32_t result, const char *doing);

#endif /* PDL_LIB_LIBCUDA_H */
