/* SPDX-License-Identifier: MIT */
/* The device code that programs and shared objects of this process bring along, and what the
 * kernels in it do: found by the host address that stands for a kernel. */
#ifndef PDL_LIB_OBJECT_H
#define PDL_LIB_OBJECT_H

#include "code/scan.h"

/* What the driver says of the code that it chose for a kernel on a device. */
struct pdl_object_code {
    uint32_t capability;     /* of the device: 90 for 9.0 */
    uint32_t ptx_version;    /* CU_FUNC_ATTRIBUTE_PTX_VERSION */
    uint32_t binary_version; /* CU_FUNC_ATTRIBUTE_BINARY_VERSION */
    bool unlimited;          /* what is proved of it: without the budget */
};

/* What the kernel does whose host stub is at that address and whose device name that is. The object
 * that holds the stub is read when the first of its kernels is asked for, and must not be unloaded
 * meanwhile. Thread-safe. */
struct pdl_scan_answer pdl_object_scan(const void *stub, const char *name,
                                       const struct pdl_object_code *code);

/* Forgets what was read. Done when the library is unloaded, too. */
void pdl_object_forget(void);

#endif /* PDL_LIB_OBJECT_H */
