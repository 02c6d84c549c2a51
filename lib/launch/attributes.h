/* SPDX-License-Identifier: MIT */
/* The launch attributes that a descriptor's fields become: one table for checks, lowering, version
 * messages, `pdltool info` and docs/attributes.md.
 *
 * A new attribute is a field of pdl_launch_desc, a row here, and a row in the tests. The numbers are
 * the driver's ABI: what can be asked for depends on the driver that is there, not on the headers
 * that this was compiled with. */
#ifndef PDL_LIB_ATTRIBUTES_H
#define PDL_LIB_ATTRIBUTES_H

#include <pdl/pdl.h>

/* How a field becomes the 64 bytes of its attribute's value. What is not written is zero. */
enum pdl_emit {
    PDL_EMIT_COPY,    /* the field's bytes */
    PDL_EMIT_EXTENT,  /* three words, 0 in y and z meaning 1 */
    PDL_EMIT_ONE,     /* the word 1 */
    PDL_EMIT_OVERLAP, /* the word 1, where the gate granted it and not where the field is set */
    PDL_EMIT_TRIGGER  /* the event, a word of flags, and trigger_at_block_start */
};

#define PDL_NO_LIMIT UINT32_MAX

/* X(number, CUDA's name, field, emit, first member that is not zero if it is asked for, bit in
 * `flags` that asks for a zero, largest value, since driver, least compute capability, remark), in
 * the order of the numbers. */
#define PDL_ATTRIBUTE_LIST(X)                                                                      \
    X(1, ACCESS_POLICY_WINDOW, access_policy, COPY, access_policy.bytes, 0, PDL_NO_LIMIT, 12000,   \
      80, "")                                                                                      \
    X(2, COOPERATIVE, cooperative, ONE, cooperative, 0, 1, 12000, 60, "never overlaps")            \
    X(4, CLUSTER_DIMENSION, cluster, EXTENT, cluster[0], 0, PDL_NO_LIMIT, 12000, 90, "")           \
    X(5, CLUSTER_SCHEDULING_POLICY_PREFERENCE, cluster_scheduling, COPY, cluster_scheduling, 0,    \
      PDL_CLUSTER_SCHEDULING_RUBIN_DSMEM_LOCALITY, 12000, 90, "a hint; 3 needs CUDA 13.4")         \
    X(6, PROGRAMMATIC_STREAM_SERIALIZATION, overlap, OVERLAP, overlap, 0, PDL_OVERLAP_REQUIRE,     \
      12000, 90, "the kernel's code for 9.0, too")                                                 \
    X(7, PROGRAMMATIC_EVENT, trigger_event, TRIGGER, trigger_event, 0, PDL_NO_LIMIT, 12000, 90,    \
      "overlaps from a graph only")                                                                \
    X(8, PRIORITY, priority, COPY, priority, PDL_LAUNCH_SET_PRIORITY, PDL_NO_LIMIT, 12000, 0, "")  \
    X(9, MEM_SYNC_DOMAIN_MAP, mem_sync_domain_map, COPY, mem_sync_domain_map,                      \
      PDL_LAUNCH_SET_MEM_SYNC_DOMAIN_MAP, PDL_NO_LIMIT, 12000, 0, "")                              \
    X(10, MEM_SYNC_DOMAIN, mem_sync_domain, COPY, mem_sync_domain, PDL_LAUNCH_SET_MEM_SYNC_DOMAIN, \
      1, 12000, 0, "")                                                                             \
    X(11, PREFERRED_CLUSTER_DIMENSION, preferred_cluster, EXTENT, preferred_cluster[0], 0,         \
      PDL_NO_LIMIT, 12080, 90, "")                                                                 \
    X(12, LAUNCH_COMPLETION_EVENT, launch_event, COPY, launch_event, 0, PDL_NO_LIMIT, 12030, 0,    \
      "the wait does not cover it")                                                                \
    X(13, DEVICE_UPDATABLE_KERNEL_NODE, device_node, ONE, device_node, 0, PDL_NO_LIMIT, 12040, 0,  \
      "in a graph only")                                                                           \
    X(14, PREFERRED_SHARED_MEMORY_CARVEOUT, shared_memory_carveout, COPY, shared_memory_carveout,  \
      PDL_LAUNCH_SET_SHARED_MEMORY_CARVEOUT, 100, 12050, 70, "a hint")                             \
    X(16, NVLINK_UTIL_CENTRIC_SCHEDULING, nvlink_centric_scheduling, COPY,                         \
      nvlink_centric_scheduling, PDL_LAUNCH_SET_NVLINK_CENTRIC_SCHEDULING, 1, 13000, 0, "a hint")  \
    X(17, PORTABLE_CLUSTER_SIZE_MODE, portable_cluster_size, COPY, portable_cluster_size, 0,       \
      PDL_PORTABLE_CLUSTER_SIZE_NOT_REQUIRED, 13020, 90, "")                                       \
    X(18, SHARED_MEMORY_MODE, shared_memory_mode, COPY, shared_memory_mode, 0,                     \
      PDL_SHARED_MEMORY_PREFER_OVERSIZED, 13020, 0, "3 and 4 need CUDA 13.4")

enum {
#define PDL_ATTRIBUTE_NUMBER_(number, name, ...) PDL_ATTRIBUTE_##name = (number),
    PDL_ATTRIBUTE_LIST(PDL_ATTRIBUTE_NUMBER_)
#undef PDL_ATTRIBUTE_NUMBER_
};

/* A row of the table. */
struct pdl_attribute {
    const char *name;  /* without CU_LAUNCH_ATTRIBUTE_ */
    const char *field; /* of pdl_launch_desc */
    const char *remark;
    uint16_t offset; /* of the field */
    uint16_t size;
    uint16_t probe; /* of what is not zero if it is asked for: 2, 4 or 8 bytes */
    uint16_t probe_size;
    uint8_t number;
    uint8_t emit;
    uint8_t capability; /* 10 * major + minor; 0: any */
    int32_t since;      /* as cuDriverGetVersion counts */
    uint32_t flag;
    uint32_t limit; /* of a word */
};

#define PDL_ATTRIBUTE_COUNT_ONE_(...) +1
/* How many rows there are. */
#define PDL_ATTRIBUTE_COUNT (0 PDL_ATTRIBUTE_LIST(PDL_ATTRIBUTE_COUNT_ONE_))

extern const struct pdl_attribute pdl_attributes[PDL_ATTRIBUTE_COUNT];

/* The row of a number; NULL if there is none, as for extra_attributes. */
const struct pdl_attribute *pdl_attribute_find(int number);

#endif /* PDL_LIB_ATTRIBUTES_H */
