/* SPDX-License-Identifier: MIT */
/* What is known of a kernel by its code alone. */
#ifndef PDL_CODE_INFO_H
#define PDL_CODE_INFO_H

#include <pdl/pdl.h>

#include "code/bounds.h"

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
        .min_blocks_per_multiprocessor = -1,
    };
}

/* What code says of its launches. */
static inline void pdl_code_info_bounds(pdl_kernel_info *info, const struct pdl_bounds *bounds)
{
    info->max_threads_per_block = bounds->max_threads > 0 ? (int32_t)bounds->max_threads : -1;
    memcpy(info->required_block, bounds->block, sizeof(info->required_block));
    memcpy(info->required_cluster, bounds->cluster, sizeof(info->required_cluster));
    info->max_cluster_blocks = bounds->max_cluster;
    info->cluster_must_be_set = bounds->explicit_cluster;
    info->blocks_are_clusters = bounds->blocks_are_clusters ? (uint32_t)PDL_YES : (uint32_t)PDL_NO;
}

#endif /* PDL_CODE_INFO_H */
