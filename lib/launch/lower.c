/* SPDX-License-Identifier: MIT */
/* Checking a launch descriptor and lowering it to a CUlaunchConfig.
 *
 * Most launches set a grid, a block, a stream and the overlap. They take the short way through
 * pdl_lower(); every other field is behind one test. */
#include "launch/lower.h"

#include <string.h>

#include "core/error.h"
#include "core/sized.h"

_Static_assert(sizeof(CUlaunchAttribute) == 72 && sizeof(CUlaunchAttributeValue) == 64,
               "the driver's launch attribute has 8 bytes of id and 64 of value");

/* ---- the rule of sizes ---------------------------------------------------------------------- */

pdl_status pdl_desc_resize(const pdl_launch_desc *desc, pdl_launch_desc *copy)
{
    return pdl_sized_resize(copy, sizeof(*copy), desc, offsetof(pdl_launch_desc, cluster), "desc");
}

/* ---- checks --------------------------------------------------------------------------------- */

static uint32_t or_one(uint32_t value)
{
    return value != 0 ? value : 1;
}

/* A triple as the driver takes it: y and z default to 1. */
struct extent {
    uint32_t x, y, z;
};

static struct extent extent_of(const uint32_t given[3])
{
    return (struct extent){given[0], or_one(given[1]), or_one(given[2])};
}

/* x at least 1, and all within the limits. */
static inline bool within(struct extent extent, const uint32_t limit[3])
{
    return extent.x - 1 < limit[0] && extent.y <= limit[1] && extent.z <= limit[2];
}

PDL_COLD static pdl_status refuse_extent(pdl_status status, const char *field,
                                         const uint32_t given[3], const uint32_t limit[3],
                                         int device)
{
    int axis = 0;
    if (given[0] == 0) {
        return PDL_FAIL_FIELD(status, field, "%s.x is 0", field);
    }
    while (axis < 2 && given[axis] <= limit[axis]) {
        axis++;
    }
    return PDL_FAIL_FIELD(status, field, "%s.%c is %u, device %d allows %u", field, "xyz"[axis],
                          given[axis], device, limit[axis]);
}

PDL_COLD static pdl_status refuse_threads(const pdl_kernel *kernel,
                                          const struct pdl_kernel_facts *facts, uint64_t threads)
{
    return PDL_FAIL_FIELD(PDL_ERROR_BLOCK_TOO_LARGE, "block",
                          "block.x*y*z is %llu, kernel %s allows %u on device %d",
                          (unsigned long long)threads, pdl_kernel_name(kernel, facts),
                          facts->max_threads, facts->device->ordinal);
}

/* The limit may have been raised behind our back: ask before refusing. */
PDL_COLD static pdl_status check_shared_memory(pdl_kernel *kernel, struct pdl_kernel_facts *facts,
                                               uint32_t bytes)
{
    const pdl_status status = pdl_kernel_refresh_shared_memory(kernel, facts);
    if (status != PDL_SUCCESS) {
        return status;
    }
    const uint32_t limit =
        atomic_load_explicit(&facts->max_dynamic_shared_memory, memory_order_relaxed);
    if (bytes <= limit) {
        return PDL_SUCCESS;
    }
    return PDL_FAIL_FIELD(PDL_ERROR_SHARED_MEMORY, "dynamic_shared_memory",
                          "dynamic_shared_memory is %u bytes, kernel %s may have %u on device %d "
                          "(pdl_kernel_set_max_dynamic_shared_memory() can allow up to %d)",
                          bytes, pdl_kernel_name(kernel, facts), limit, facts->device->ordinal,
                          facts->device->shared_memory_per_block_optin -
                              facts->static_shared_memory);
}

/* Fields whose values are a small set, or zero. */
PDL_RARE static pdl_status check_values(const pdl_launch_desc *desc)
{
    const pdl_access_policy *policy = &desc->access_policy;
    const uint32_t known_flags = PDL_LAUNCH_SET_PRIORITY | PDL_LAUNCH_SET_MEM_SYNC_DOMAIN |
                                 PDL_LAUNCH_SET_MEM_SYNC_DOMAIN_MAP |
                                 PDL_LAUNCH_SET_SHARED_MEMORY_CARVEOUT |
                                 PDL_LAUNCH_SET_NVLINK_CENTRIC_SCHEDULING;
    const struct {
        const char *field;
        uint32_t value;
        uint32_t limit;
    } fields[] = {
        {"flags", desc->flags & ~known_flags, 0},
        {"overlap", desc->overlap, PDL_OVERLAP_REQUIRE},
        {"default_stream", desc->default_stream, PDL_DEFAULT_STREAM_PER_THREAD},
        {"cluster_scheduling", desc->cluster_scheduling, PDL_CLUSTER_SCHEDULING_LOAD_BALANCING},
        {"cooperative", desc->cooperative, 1},
        {"trigger_at_block_start", desc->trigger_at_block_start, 1},
        {"mem_sync_domain", desc->mem_sync_domain, 1},
        {"reserved", (uint32_t)(desc->reserved[0] | desc->reserved[1]), 0},
        {"shared_memory_carveout", desc->shared_memory_carveout, 100},
        {"nvlink_centric_scheduling", desc->nvlink_centric_scheduling, 1},
        {"access_policy.hit_property", policy->hit_property, PDL_ACCESS_PERSISTING},
        {"access_policy.miss_property", policy->miss_property, PDL_ACCESS_STREAMING},
        {"access_policy.reserved", policy->reserved, 0},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (fields[i].value > fields[i].limit) {
            return PDL_FAIL_FIELD(PDL_ERROR_DESC_FIELD, fields[i].field,
                                  "%s has the value %u, which is not one of 0 to %u",
                                  fields[i].field, fields[i].value, fields[i].limit);
        }
    }
    if (!(policy->hit_ratio >= 0.0f && policy->hit_ratio <= 1.0f)) {
        return PDL_FAIL_FIELD(PDL_ERROR_DESC_FIELD, "access_policy.hit_ratio",
                              "access_policy.hit_ratio is %g, which is not in 0 to 1",
                              (double)policy->hit_ratio);
    }
    if (policy->bytes != 0 && policy->base == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_DESC_FIELD, "access_policy.base",
                              "access_policy.base is NULL and the window has %llu bytes",
                              (unsigned long long)policy->bytes);
    }
    return PDL_SUCCESS;
}

static bool divides(struct extent part, struct extent whole)
{
    return whole.x % part.x == 0 && whole.y % part.y == 0 && whole.z % part.z == 0;
}

static pdl_status check_clusters(const pdl_launch_desc *desc, const struct pdl_kernel_facts *facts)
{
    const struct extent grid = extent_of(desc->grid);
    const struct extent cluster = extent_of(desc->cluster);
    const struct extent preferred = extent_of(desc->preferred_cluster);
    const bool has_cluster = (desc->cluster[0] | desc->cluster[1] | desc->cluster[2]) != 0;
    const bool has_preferred =
        (desc->preferred_cluster[0] | desc->preferred_cluster[1] | desc->preferred_cluster[2]) != 0;
    if (!has_cluster && !has_preferred) {
        return PDL_SUCCESS;
    }
    if (!facts->device->cluster_launch) {
        return PDL_FAIL_FIELD(PDL_ERROR_NOT_SUPPORTED,
                              has_cluster ? "cluster" : "preferred_cluster",
                              "device %d (compute capability %d.%d) has no thread block clusters",
                              facts->device->ordinal, facts->device->compute_capability_major,
                              facts->device->compute_capability_minor);
    }
    if (has_cluster && (cluster.x == 0 || !divides(cluster, grid))) {
        return PDL_FAIL_FIELD(
            PDL_ERROR_INVALID_CLUSTER, "cluster",
            "cluster is %u x %u x %u, which does not divide the grid of %u x %u x %u", cluster.x,
            cluster.y, cluster.z, grid.x, grid.y, grid.z);
    }
    if (has_preferred && !has_cluster) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_CLUSTER, "preferred_cluster",
                              "preferred_cluster is %u x %u x %u and cluster is not set",
                              preferred.x, preferred.y, preferred.z);
    }
    if (has_preferred &&
        (preferred.x == 0 || !divides(cluster, preferred) || !divides(preferred, grid))) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_CLUSTER, "preferred_cluster",
                              "preferred_cluster is %u x %u x %u: it must be a multiple of the "
                              "cluster, %u x %u x %u, and divide the grid, %u x %u x %u",
                              preferred.x, preferred.y, preferred.z, cluster.x, cluster.y,
                              cluster.z, grid.x, grid.y, grid.z);
    }
    return PDL_SUCCESS;
}

static pdl_status check_cooperative(pdl_kernel *kernel, struct pdl_kernel_facts *facts,
                                    const pdl_launch_desc *desc)
{
    const struct extent grid = extent_of(desc->grid);
    const struct extent block = extent_of(desc->block);
    int blocks = 0;
    if (!desc->cooperative) {
        return PDL_SUCCESS;
    }
    if (!facts->device->cooperative_launch) {
        return PDL_FAIL_FIELD(PDL_ERROR_NOT_SUPPORTED, "cooperative",
                              "device %d has no cooperative launches", facts->device->ordinal);
    }
    const pdl_status status = pdl_kernel_occupancy(kernel, facts, block.x * block.y * block.z,
                                                   desc->dynamic_shared_memory, &blocks);
    if (status != PDL_SUCCESS) {
        return status;
    }
    /* A grid's limits are 2^31 - 1 and twice 2^16 - 1: the product fits. */
    const uint64_t wanted = (uint64_t)grid.x * grid.y * grid.z;
    const uint64_t room = (uint64_t)blocks * (uint64_t)facts->device->multiprocessor_count;
    if (wanted > room) {
        return PDL_FAIL_FIELD(PDL_ERROR_COOPERATIVE_TOO_LARGE, "cooperative",
                              "the cooperative grid has %llu blocks and device %d holds %llu of "
                              "kernel %s at a time (%d on each of %d SMs)",
                              (unsigned long long)wanted, facts->device->ordinal,
                              (unsigned long long)room, pdl_kernel_name(kernel, facts), blocks,
                              facts->device->multiprocessor_count);
    }
    return PDL_SUCCESS;
}

static pdl_status check_versions(const pdl_kernel *kernel, const pdl_launch_desc *desc)
{
    enum { NEWEST = 13000 };
    const int version = kernel->attribute_version;
    if (version >= NEWEST) {
        return PDL_SUCCESS;
    }
    const struct {
        const char *field;
        bool wanted;
        int since;
    } fields[] = {
        {"launch_event", desc->launch_event != NULL, 12030},
        {"device_node", desc->device_node != NULL, 12040},
        {"shared_memory_carveout",
         desc->shared_memory_carveout != 0 ||
             (desc->flags & PDL_LAUNCH_SET_SHARED_MEMORY_CARVEOUT) != 0,
         12050},
        {"preferred_cluster", desc->preferred_cluster[0] != 0, 12080},
        {"nvlink_centric_scheduling",
         desc->nvlink_centric_scheduling != 0 ||
             (desc->flags & PDL_LAUNCH_SET_NVLINK_CENTRIC_SCHEDULING) != 0,
         NEWEST},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (fields[i].wanted && version < fields[i].since) {
            return PDL_FAIL_FIELD(
                PDL_ERROR_NOT_SUPPORTED, fields[i].field, "%s needs CUDA %d.%d and the %s is %d.%d",
                fields[i].field, fields[i].since / 1000, fields[i].since % 1000 / 10,
                version < kernel->driver->version ? "program's runtime" : "driver", version / 1000,
                version % 1000 / 10);
        }
    }
    return PDL_SUCCESS;
}

PDL_RARE static pdl_status check_rare(pdl_kernel *kernel, struct pdl_kernel_facts *facts,
                                      const pdl_launch_desc *desc)
{
    pdl_status status = check_clusters(desc, facts);
    if (status == PDL_SUCCESS) {
        status = check_cooperative(kernel, facts, desc);
    }
    if (status == PDL_SUCCESS && desc->trigger_at_block_start && desc->trigger_event == NULL) {
        status = PDL_FAIL_FIELD(PDL_ERROR_DESC_FIELD, "trigger_at_block_start",
                                "trigger_at_block_start is set and trigger_event is not");
    }
    if (status == PDL_SUCCESS) {
        status = check_versions(kernel, desc);
    }
    return status;
}

PDL_COLD static pdl_status refuse_overlap(const pdl_kernel *kernel,
                                          const struct pdl_kernel_facts *facts, pdl_reason reason)
{
    const int code = facts->ptx_version;
    return PDL_FAIL_FIELD(
        reason == PDL_REASON_COOPERATIVE ? PDL_ERROR_COOPERATIVE_OVERLAP : PDL_ERROR_OVERLAP,
        "overlap",
        "kernel %s cannot overlap as required: %s (device %d is %d.%d, the code is for %d.%d)",
        pdl_kernel_name(kernel, facts), pdl_reason_string(reason), facts->device->ordinal,
        facts->device->compute_capability_major, facts->device->compute_capability_minor, code / 10,
        code % 10);
}

/* ---- lowering ------------------------------------------------------------------------------- */

const char *pdl_attribute_field(int id)
{
    static const char *const fields[] = {
        [CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW] = "access_policy",
        [CU_LAUNCH_ATTRIBUTE_COOPERATIVE] = "cooperative",
        [CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION] = "cluster",
        [CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE] = "cluster_scheduling",
        [CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION] = "overlap",
        [CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT] = "trigger_event",
        [CU_LAUNCH_ATTRIBUTE_PRIORITY] = "priority",
        [CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP] = "mem_sync_domain_map",
        [CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN] = "mem_sync_domain",
        [PDL_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION] = "preferred_cluster",
        [CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT] = "launch_event",
        [PDL_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE] = "device_node",
        [PDL_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT] = "shared_memory_carveout",
        [PDL_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING] = "nvlink_centric_scheduling",
    };
    return fields[id];
}

/* The next attribute, its value zero. */
static CUlaunchAttributeValue *append(struct pdl_lowered *lowered, int id)
{
    CUlaunchAttribute *attribute = &lowered->attributes[lowered->config.numAttrs++];
    memset(attribute, 0, sizeof(*attribute));
    attribute->id = (CUlaunchAttributeID)id;
    return &attribute->value;
}

static void append_word(struct pdl_lowered *lowered, int id, uint32_t word)
{
    memcpy(append(lowered, id), &word, sizeof(word));
}

static void append_extent(struct pdl_lowered *lowered, int id, const uint32_t given[3])
{
    const struct extent extent = extent_of(given);
    memcpy(append(lowered, id), &extent, sizeof(extent));
}

static void append_overlap(struct pdl_lowered *lowered)
{
    append(lowered, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
        ->programmaticStreamSerializationAllowed = 1;
}

/* In the order of the ids. */
PDL_RARE static void append_all(const pdl_launch_desc *desc, struct pdl_lowered *lowered)
{
    const uint32_t flags = desc->flags;
    if (desc->access_policy.bytes != 0) {
        CUaccessPolicyWindow *window =
            &append(lowered, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW)->accessPolicyWindow;
        window->base_ptr = desc->access_policy.base;
        window->num_bytes = desc->access_policy.bytes;
        window->hitRatio = desc->access_policy.hit_ratio;
        window->hitProp = (CUaccessProperty)desc->access_policy.hit_property;
        window->missProp = (CUaccessProperty)desc->access_policy.miss_property;
    }
    if (desc->cooperative) {
        append(lowered, CU_LAUNCH_ATTRIBUTE_COOPERATIVE)->cooperative = 1;
    }
    if (desc->cluster[0] != 0) {
        append_extent(lowered, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, desc->cluster);
    }
    if (desc->cluster_scheduling != 0) {
        append_word(lowered, CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
                    desc->cluster_scheduling);
    }
    if (lowered->reason == PDL_REASON_GRANTED) {
        append_overlap(lowered);
    }
    if (desc->trigger_event != NULL) {
        CUlaunchAttributeValue *value = append(lowered, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT);
        value->programmaticEvent.event = desc->trigger_event;
        value->programmaticEvent.triggerAtBlockStart = (int)desc->trigger_at_block_start;
    }
    if (desc->priority != 0 || (flags & PDL_LAUNCH_SET_PRIORITY) != 0) {
        append(lowered, CU_LAUNCH_ATTRIBUTE_PRIORITY)->priority = desc->priority;
    }
    if ((desc->mem_sync_domain_map[0] | desc->mem_sync_domain_map[1]) != 0 ||
        (flags & PDL_LAUNCH_SET_MEM_SYNC_DOMAIN_MAP) != 0) {
        CUlaunchAttributeValue *value = append(lowered, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP);
        value->memSyncDomainMap.default_ = desc->mem_sync_domain_map[0];
        value->memSyncDomainMap.remote = desc->mem_sync_domain_map[1];
    }
    if (desc->mem_sync_domain != 0 || (flags & PDL_LAUNCH_SET_MEM_SYNC_DOMAIN) != 0) {
        append_word(lowered, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, desc->mem_sync_domain);
    }
    if (desc->preferred_cluster[0] != 0) {
        append_extent(lowered, PDL_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, desc->preferred_cluster);
    }
    if (desc->launch_event != NULL) {
        append(lowered, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)->launchCompletionEvent.event =
            desc->launch_event;
    }
    if (desc->device_node != NULL) {
        append_word(lowered, PDL_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, 1);
    }
    if (desc->shared_memory_carveout != 0 || (flags & PDL_LAUNCH_SET_SHARED_MEMORY_CARVEOUT) != 0) {
        append_word(lowered, PDL_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                    desc->shared_memory_carveout);
    }
    if (desc->nvlink_centric_scheduling != 0 ||
        (flags & PDL_LAUNCH_SET_NVLINK_CENTRIC_SCHEDULING) != 0) {
        append_word(lowered, PDL_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING,
                    desc->nvlink_centric_scheduling);
    }
}

/* ORs the bytes of a descriptor from one offset to another, a multiple of 4 apart. */
static inline uint64_t or_bytes(const pdl_launch_desc *desc, size_t from, size_t to)
{
    const char *at = (const char *)desc + from;
    uint64_t bits = 0;
    for (; from + 8 <= to; from += 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof(word));
        bits |= word;
    }
    if (from < to) {
        uint32_t half;
        memcpy(&half, at, sizeof(half));
        bits |= half;
    }
    return bits;
}

/* Whether anything is set beside size, grid, block, shared memory, stream and overlap: an OR over
 * the rest, without branches. */
static inline bool has_rare(const pdl_launch_desc *desc)
{
    return (desc->flags |
            or_bytes(desc, offsetof(pdl_launch_desc, cluster),
                     offsetof(pdl_launch_desc, dynamic_shared_memory)) |
            or_bytes(desc, offsetof(pdl_launch_desc, cooperative), sizeof(*desc))) != 0;
}

pdl_status pdl_lower(pdl_kernel *kernel, int device, const pdl_launch_desc *desc,
                     struct pdl_lowered *lowered)
{
    struct pdl_kernel_facts *facts;
    pdl_status status = pdl_kernel_facts_get(kernel, device, &facts);
    if (status != PDL_SUCCESS) {
        return status;
    }
    const bool rare = has_rare(desc) || desc->overlap > PDL_OVERLAP_REQUIRE ||
                      desc->default_stream > PDL_DEFAULT_STREAM_PER_THREAD;
    if (rare) {
        status = check_values(desc);
        if (status != PDL_SUCCESS) {
            return status;
        }
    }
    const struct extent grid = extent_of(desc->grid);
    const struct extent block = extent_of(desc->block);
    if (!within(grid, facts->max_grid)) {
        return refuse_extent(PDL_ERROR_INVALID_GRID, "grid", desc->grid, facts->max_grid, device);
    }
    if (!within(block, facts->max_block)) {
        return refuse_extent(PDL_ERROR_INVALID_BLOCK, "block", desc->block, facts->max_block,
                             device);
    }
    const uint64_t threads = (uint64_t)block.x * block.y * block.z;
    if (threads > facts->max_threads) {
        return refuse_threads(kernel, facts, threads);
    }
    if (desc->dynamic_shared_memory >
        atomic_load_explicit(&facts->max_dynamic_shared_memory, memory_order_relaxed)) {
        status = check_shared_memory(kernel, facts, desc->dynamic_shared_memory);
        if (status != PDL_SUCCESS) {
            return status;
        }
    }
    if (rare) {
        status = check_rare(kernel, facts, desc);
        if (status != PDL_SUCCESS) {
            return status;
        }
    }
    lowered->facts = facts;
    lowered->reason = desc->overlap == PDL_OVERLAP_NONE
                          ? PDL_REASON_NOT_REQUESTED
                          : pdl_kernel_overlap(kernel, facts, desc->cooperative != 0);
    if (desc->overlap == PDL_OVERLAP_REQUIRE && lowered->reason != PDL_REASON_GRANTED) {
        return refuse_overlap(kernel, facts, lowered->reason);
    }
    CUstream stream = desc->stream;
    if (stream == NULL && desc->default_stream == PDL_DEFAULT_STREAM_PER_THREAD) {
        stream = CU_STREAM_PER_THREAD;
    }
    lowered->config = (CUlaunchConfig){
        .gridDimX = grid.x,
        .gridDimY = grid.y,
        .gridDimZ = grid.z,
        .blockDimX = block.x,
        .blockDimY = block.y,
        .blockDimZ = block.z,
        .sharedMemBytes = desc->dynamic_shared_memory,
        .hStream = stream,
    };
    if (rare) {
        append_all(desc, lowered);
    } else if (lowered->reason == PDL_REASON_GRANTED) {
        append_overlap(lowered);
    }
    lowered->config.attrs = lowered->config.numAttrs > 0 ? lowered->attributes : NULL;
    return PDL_SUCCESS;
}
