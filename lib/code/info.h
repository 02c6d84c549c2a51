/* SPDX-License-Identifier: MIT */
/* What is known of a kernel by its code alone. */
#ifndef PDL_CODE_INFO_H
#define PDL_CODE_INFO_H

#include <pdl/pdl.h>

/* Nothing but a name: every number is -1, and what may be known is unknown. */
static inline pdl_kernel_info pdl_code_info(const char *name)
{
    return (pdl_kernel_info){
        .size = (uint32_t)sizeof(pdl_kernel_info),
        .device = -1,
        .name = name,
        .ptx_version = -1,
        .binary_version = -1,
        .max_threads_per_block = -1,
        .registers_per_thread = -1,
        .static_shared_memory = -1,
        .max_dynamic_shared_memory = -1,
        .local_memory = -1,
        .constant_memory = -1,
        .parameter_count = -1,
    };
}

#endif /* PDL_CODE_INFO_H */
