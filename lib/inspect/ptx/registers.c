/* SPDX-License-Identifier: MIT */
#include "inspect/ptx/registers.h"

#include <stddef.h>
#include <string.h>

bool pdl_special_register(const char *name, uint32_t length, uint16_t *depends)
{
    static const struct {
        char prefix[21];
        uint16_t depends;
    } registers[] = {
        {"%tid.", PDL_DEPENDS_THREAD | PDL_DEPENDS_WARP},
        {"%laneid", PDL_DEPENDS_THREAD},
        {"%warpid", PDL_DEPENDS_THREAD | PDL_DEPENDS_WARP},
        {"%lanemask_", PDL_DEPENDS_THREAD},
        {"%clock", PDL_DEPENDS_THREAD | PDL_DEPENDS_WARP},
        {"%globaltimer", PDL_DEPENDS_THREAD | PDL_DEPENDS_WARP},
        {"%ctaid.", PDL_DEPENDS_BLOCK | PDL_DEPENDS_CLUSTER},
        {"%smid", PDL_DEPENDS_BLOCK | PDL_DEPENDS_CLUSTER},
        {"%clusterid.", PDL_DEPENDS_BLOCK | PDL_DEPENDS_CLUSTER},
        {"%cluster_ctaid.", PDL_DEPENDS_BLOCK},
        {"%cluster_ctarank", PDL_DEPENDS_BLOCK},
        {"%ntid.", 0},
        {"%nctaid.", 0},
        {"%nwarpid", 0},
        {"%nsmid", 0},
        {"%gridid", 0},
        {"%nclusterid.", 0},
        {"%cluster_nctaid.", 0},
        {"%cluster_nctarank", 0},
        {"%is_explicit_cluster", 0},
        {"%envreg", 0},
        {"%dynamic_smem_size", 0},
        {"%total_smem_size", 0},
        {"%aggr_smem_size", 0},
        {"%reserved_smem_", 0},
        {"%current_graph_exec", 0},
    };
    if (length < 5 || name[0] != '%') {
        return false;
    }
    for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
        /* Most differ in the first letter. */
        if (name[1] != registers[i].prefix[1]) {
            continue;
        }
        const size_t size = strlen(registers[i].prefix);
        if (length >= size && memcmp(name, registers[i].prefix, size) == 0) {
            *depends = registers[i].depends;
            return true;
        }
    }
    return false;
}
