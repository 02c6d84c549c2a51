/* SPDX-License-Identifier: MIT */
/* The same launch in a translation unit with the legacy default stream. */
#include <pdl/cudart.h>

pdl_status launch_from_legacy_unit(int *flag);

static __global__ void raise_flag(int *flag)
{
    *static_cast<volatile int *>(flag) = 1;
}

pdl_status launch_from_legacy_unit(int *flag)
{
    return pdl_launch_kernel(pdl_launch_desc_make(1, 1), raise_flag, flag);
}
