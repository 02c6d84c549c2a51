/* SPDX-License-Identifier: MIT */
/* A shared object with a copy of libpdl of its own. */
#define PDL_IMPLEMENTATION
#include "pdl.h"

#ifdef __cplusplus
extern "C"
#endif
    __attribute__((visibility("default"))) int
    NAME(int ordinal);

/* Fails, and returns the status that it finds recorded for this thread before. */
int NAME(int ordinal)
{
    const int before = pdl_last_error()->status;
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    (void)pdl_device_get(ordinal, &info);
    return before;
}
