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

/* ORs the bytes of a descriptor from one offset to another, at least a pdl_wide apart; the
 * last ones may be some that were seen already. */
static inline pdl_wide or_bytes(const pdl_launch_desc *desc, size_t from, size_t to)
{
    const char *const bytes = (const char *)desc;
    pdl_wide bits;
    memcpy(&bits, bytes + to - sizeof(bits), sizeof(bits));
    PDL_UNROLL
    for (; from + sizeof(bits) < to; from += sizeof(bits)) {
        pdl_wide here;
        memcpy(&here, bytes + from, sizeof(here));
        bits |= here;
    }
    return bits;
}

/* Whether anything is set beside size, grid, block, shared memory, stream and overlap, and from an offset on: an OR
 * over the rest, without branches. */
static inline bool has_rare(const pdl_launch_desc *desc, size_t from)
{
    const pdl_wide bits = or_bytes(desc, offsetof(pdl_launch_desc, cluster),
                                   offsetof(pdl_launch_desc, dynamic_shared_memory)) |
                          or_bytes(desc, from, sizeof(*desc));
    return desc->flags != 0 || pdl_wide_any(bits);
}

/* ---- checks --------------------------------------------------------------------------------- */

/* A triple as the driver takes it: y and z default to 1. */
struct extent {
    uint32_t x, y, z;
};

static struct extent extent_of(const uint32_t given[3])
{
    return (struct extent){given[0], pdl_or_one(given[1]), pdl_or_one(given[2])};
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
                          (unsigned long long)threads, pdl_kernel_name(kernel), facts->max_threads,
                          facts->device->ordinal);
}

/* The kernel's own limit may have been raised behind our back: ask before refusing. */
PDL_COLD static pdl_status check_shared_memory(pdl_kernel *kernel, struct pdl_kernel_facts *facts,
                                               const pdl_launch_desc *desc)
{
    const uint32_t bytes = desc->dynamic_shared_memory;
    uint32_t limit = pdl_kernel_mode_limit(facts, desc->shared_memory_mode);
    if (desc->shared_memory_mode == PDL_SHARED_MEMORY_DEFAULT) {
        const pdl_status status = pdl_kernel_refresh_shared_memory(kernel, facts);
        if (status != PDL_SUCCESS) {
            return status;
        }
        limit = atomic_load_explicit(&facts->max_dynamic_shared_memory, memory_order_relaxed);
    }
    if (bytes <= limit) {
        return PDL_SUCCESS;
    }
    return PDL_FAIL_FIELD(PDL_ERROR_SHARED_MEMORY, "dynamic_shared_memory",
                          "dynamic_shared_memory is %u bytes, kernel %s may have %u on device %d "
                          "(pdl_kernel_set_attribute() can allow up to %u)",
                          bytes, pdl_kernel_name(kernel), limit, facts->device->ordinal,
                          pdl_kernel_mode_limit(facts, PDL_SHARED_MEMORY_PREFER_OVERSIZED));
}

PDL_COLD static pdl_status refuse_value(const char *field, uint32_t value, uint32_t limit)
{
    return PDL_FAIL_FIELD(PDL_ERROR_DESC_FIELD, field,
                          "%s has the value %u, which is not one of 0 to %u", field, value, limit);
}

/* The rows of the table that a descriptor asks for, a bit each, and whether their words are within
 * the limits. */
static pdl_status find_attributes(const pdl_launch_desc *desc, uint32_t *asked)
{
    uint32_t bits = 0;
    for (unsigned i = 0; i < PDL_ATTRIBUTE_COUNT; i++) {
        const struct pdl_attribute *row = &pdl_attributes[i];
        uint64_t probed = 0;
        const char *at = (const char *)desc + row->probe;
        if (row->probe_size == sizeof(uint32_t)) {
            uint32_t word;
            memcpy(&word, at, sizeof(word));
            if (word > row->limit) {
                return refuse_value(row->field, word, row->limit);
            }
            probed = word;
        } else if (row->probe_size == sizeof(uint64_t)) {
            memcpy(&probed, at, sizeof(uint64_t));
        } else {
            memcpy(&probed, at, sizeof(uint16_t));
        }
        bits |= (uint32_t)(probed != 0 || (desc->flags & row->flag) != 0) << i;
    }
    *asked = bits;
    return PDL_SUCCESS;
}

/* What libpdl checks, decides or writes back is in a field alone: as an extra attribute it would not be seen. */
static pdl_status check_extra(const pdl_launch_desc *desc)
{
    const CUlaunchAttribute *const extra = (const CUlaunchAttribute *)desc->extra_attributes;
    for (uint32_t i = 0; i < desc->extra_attribute_count; i++) {
        const struct pdl_attribute *const row = pdl_attribute_find((int)extra[i].id);
        if (row != NULL && row->emit != PDL_EMIT_COPY) {
            return PDL_FAIL_FIELD(PDL_ERROR_DESC_FIELD, "extra_attributes",
                                  "extra_attributes[%u] is %s, which only the field %s may set", i,
                                  row->name, row->field);
        }
    }
    return PDL_SUCCESS;
}

/* Fields that become no attribute of their own. */
static pdl_status check_values(const pdl_launch_desc *desc)
{
#define FLAG(number, name, field, emit, probe, flag, ...) | (flag)
    const uint32_t known_flags = 0 PDL_ATTRIBUTE_LIST(FLAG);
#undef FLAG
    const pdl_access_policy *policy = &desc->access_policy;
    const struct {
        const char *field;
        uint32_t value;
        uint32_t limit;
    } fields[] = {
        {"flags", desc->flags & ~known_flags, 0},
        {"default_stream", desc->default_stream, PDL_DEFAULT_STREAM_PER_THREAD},
        {"trigger_at_block_start", desc->trigger_at_block_start, 1},
        {"reserved", (uint32_t)(desc->reserved[0] | desc->reserved[1]), 0},
        {"access_policy.hit_property", policy->hit_property, PDL_ACCESS_PERSISTING},
        {"access_policy.miss_property", policy->miss_property, PDL_ACCESS_STREAMING},
        {"access_policy.reserved", policy->reserved, 0},
        {"extra_attribute_count", desc->extra_attribute_count, PDL_EXTRA_ATTRIBUTES},
        {"reserved_end", desc->reserved_end, 0},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (fields[i].value > fields[i].limit) {
            return refuse_value(fields[i].field, fields[i].value, fields[i].limit);
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
    if (desc->extra_attribute_count > 0 && desc->extra_attributes == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_DESC_FIELD, "extra_attributes",
                              "extra_attributes is NULL and extra_attribute_count is %u",
                              desc->extra_attribute_count);
    }
    return check_extra(desc);
}

/* Most of them are cooperative and nothing else. */
PDL_RARE static pdl_status check_fields(const pdl_launch_desc *desc, uint32_t *asked)
{
    if (desc->cooperative == 1 && desc->overlap <= PDL_OVERLAP_REQUIRE &&
        desc->default_stream <= PDL_DEFAULT_STREAM_PER_THREAD &&
        !has_rare(desc, offsetof(pdl_launch_desc, trigger_event))) {
        *asked = 1u << (pdl_attribute_find(PDL_ATTRIBUTE_COOPERATIVE) - pdl_attributes);
        return PDL_SUCCESS;
    }
    const pdl_status status = check_values(desc);
    return status == PDL_SUCCESS ? find_attributes(desc, asked) : status;
}

static bool divides(struct extent part, struct extent whole)
{
    return whole.x % part.x == 0 && whole.y % part.y == 0 && whole.z % part.z == 0;
}

static pdl_status check_clusters(pdl_kernel *kernel, struct pdl_kernel_facts *facts,
                                 const pdl_launch_desc *desc)
{
    struct extent grid = extent_of(desc->grid);
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
    if (facts->max_grid[0] == 0 && pdl_kernel_bounds(kernel, facts).counts_clusters == PDL_YES) {
        grid = (struct extent){grid.x * cluster.x, grid.y * cluster.y, grid.z * cluster.z};
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

/* What clusters that are compiled in forbid of a launch. */
enum fault { FAULT_NONE, FAULT_MISSING, FAULT_OTHER, FAULT_GRID };

static enum fault find_fault(pdl_kernel *kernel, struct pdl_kernel_facts *facts, struct extent grid,
                             struct extent given, struct extent own)
{
    if (own.x == 0) {
        return given.x == 0 && facts->cluster_must_be_set != 0 ? FAULT_MISSING : FAULT_NONE;
    }
    if (given.x != 0 && memcmp(&given, &own, sizeof(own)) != 0) {
        return FAULT_OTHER;
    }
    const bool uneven = !divides(own, grid);
    return uneven && pdl_kernel_bounds(kernel, facts).counts_clusters == PDL_NO ? FAULT_GRID
                                                                                : FAULT_NONE;
}

/* A grid that the short way does not take: it is too large, or clusters are compiled in. */
PDL_COLD static pdl_status check_grid(pdl_kernel *kernel, struct pdl_kernel_facts *facts,
                                      const pdl_launch_desc *desc)
{
    const struct extent grid = extent_of(desc->grid);
    const struct extent given = extent_of(desc->cluster);
    const char *const name = pdl_kernel_name(kernel);
    pdl_status status = PDL_SUCCESS;
    uint32_t limit[3];
    struct extent own;
    memcpy(limit, facts->device->max_grid, sizeof(limit));
    memcpy(&own, facts->cluster, sizeof(own));
    if (!within(grid, limit)) {
        return refuse_extent(PDL_ERROR_INVALID_GRID, "grid", desc->grid, limit,
                             facts->device->ordinal);
    }
    if (find_fault(kernel, facts, grid, given, own) == FAULT_NONE) {
        return PDL_SUCCESS;
    }
    /* Others may have changed the kernel's attributes: ask before refusing. */
    int now[3] = {0};
    for (int i = 0; i < 3 && status == PDL_SUCCESS; i++) {
        status = pdl_kernel_read_attribute(
            kernel, facts, (CUfunction_attribute)(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + i),
            "to learn a kernel's clusters", &now[i]);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    memcpy(&own, now, sizeof(own));
    const enum fault fault = find_fault(kernel, facts, grid, given, own);
    if (fault == FAULT_MISSING) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_CLUSTER, "cluster",
                              "cluster is not set, and kernel %s is compiled for launches that set "
                              "it (__cluster_dims__() without a size)",
                              name);
    }
    const struct extent wrong = fault == FAULT_OTHER ? given : grid;
    const char *const field = fault == FAULT_OTHER ? "cluster" : "grid";
    return fault == FAULT_NONE
               ? PDL_SUCCESS
               : PDL_FAIL_FIELD(PDL_ERROR_INVALID_CLUSTER, field,
                                "%s is %u x %u x %u, and kernel %s is compiled for clusters of "
                                "%u x %u x %u%s",
                                field, wrong.x, wrong.y, wrong.z, name, own.x, own.y, own.z,
                                fault == FAULT_GRID ? ", which do not divide it" : "");
}

static pdl_status check_cooperative(pdl_kernel *kernel, struct pdl_kernel_facts *facts,
                                    const pdl_launch_desc *desc)
{
    const struct extent grid = extent_of(desc->grid);
    const struct extent block = extent_of(desc->block);
    const uint32_t threads = block.x * block.y * block.z;
    const uint64_t sms = (uint64_t)facts->device->multiprocessor_count;
    if (!desc->cooperative || !pdl_kernel_can_count(facts, desc->dynamic_shared_memory)) {
        return PDL_SUCCESS; /* the driver can */
    }
    if (!facts->device->cooperative_launch) {
        return PDL_FAIL_FIELD(PDL_ERROR_NOT_SUPPORTED, "cooperative",
                              "device %d has no cooperative launches", facts->device->ordinal);
    }
    /* A grid's limits are 2^31 - 1 and twice 2^16 - 1: the product fits. A green context has fewer SMs:
     * the driver refuses what does not fit there, because to ask for them costs each launch. */
    const uint64_t wanted = (uint64_t)grid.x * grid.y * grid.z;
    if (wanted <= sms * pdl_kernel_last_occupancy(facts, threads, desc->dynamic_shared_memory)) {
        return PDL_SUCCESS;
    }
    /* Others may have changed the kernel's carve-out since: ask before refusing. */
    int blocks = 0;
    const pdl_status status = pdl_kernel_occupancy(kernel, facts, desc->stream, threads,
                                                   desc->dynamic_shared_memory, &blocks);
    if (status != PDL_SUCCESS) {
        return status;
    }
    const uint64_t room = (uint64_t)blocks * sms;
    if (wanted > room) {
        return PDL_FAIL_FIELD(PDL_ERROR_COOPERATIVE_TOO_LARGE, "cooperative",
                              "the cooperative grid has %llu blocks and device %d holds %llu of "
                              "kernel %s at a time (%d on each of %d SMs)",
                              (unsigned long long)wanted, facts->device->ordinal,
                              (unsigned long long)room, pdl_kernel_name(kernel), blocks,
                              facts->device->multiprocessor_count);
    }
    return PDL_SUCCESS;
}

/* Some values are newer than their attribute. */
static int since_of(const struct pdl_attribute *row, const pdl_launch_desc *desc)
{
    const bool newer = (row->number == PDL_ATTRIBUTE_SHARED_MEMORY_MODE &&
                        desc->shared_memory_mode >= PDL_SHARED_MEMORY_ALLOW_OVERSIZED) ||
                       (row->number == PDL_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE &&
                        desc->cluster_scheduling >= PDL_CLUSTER_SCHEDULING_RUBIN_DSMEM_LOCALITY);
    return newer ? PDL_OVERSIZED_SINCE : row->since;
}

static pdl_status check_versions(const pdl_kernel *kernel, const pdl_launch_desc *desc,
                                 uint32_t asked)
{
    const int version = kernel->attribute_version;
    for (; asked != 0; asked &= asked - 1) {
        const struct pdl_attribute *row = &pdl_attributes[pdl_lowest_bit(asked)];
        const int since = since_of(row, desc);
        if (version < since) {
            return PDL_FAIL_FIELD(
                PDL_ERROR_NOT_SUPPORTED, row->field, "%s%s needs CUDA %d.%d and the %s is %d.%d",
                row->field, since > row->since ? " with this value" : "", since / 1000,
                since % 1000 / 10,
                version < kernel->driver->version ? "program's runtime" : "driver", version / 1000,
                version % 1000 / 10);
        }
    }
    return PDL_SUCCESS;
}

PDL_RARE static pdl_status check_rare(pdl_kernel *kernel, struct pdl_kernel_facts *facts,
                                      const pdl_launch_desc *desc, uint32_t asked)
{
    pdl_status status = check_clusters(kernel, facts, desc);
    if (status == PDL_SUCCESS) {
        status = check_cooperative(kernel, facts, desc);
    }
    if (status == PDL_SUCCESS && desc->trigger_at_block_start && desc->trigger_event == NULL) {
        status = PDL_FAIL_FIELD(PDL_ERROR_DESC_FIELD, "trigger_at_block_start",
                                "trigger_at_block_start is set and trigger_event is not");
    }
    if (status == PDL_SUCCESS) {
        status = check_versions(kernel, desc, asked);
    }
    if (status == PDL_SUCCESS && desc->shared_memory_mode != PDL_SHARED_MEMORY_DEFAULT) {
        status = check_shared_memory(kernel, facts, desc);
    }
    return status;
}

PDL_COLD static pdl_status refuse_overlap(const pdl_kernel *kernel,
                                          const struct pdl_kernel_facts *facts, pdl_reason reason)
{
    const int code = facts->ptx_version;
    const char *const why = pdl_kernel_unknown_why(facts, reason);
    const char *between = "";
    const char *const proof = pdl_kernel_proof_text(kernel, facts, reason, &between);
    return PDL_FAIL_FIELD(
        reason == PDL_REASON_COOPERATIVE ? PDL_ERROR_COOPERATIVE_OVERLAP : PDL_ERROR_OVERLAP,
        "overlap",
        "kernel %s cannot overlap as required: %s%s%s%s%s (device %d is %d.%d, the code is for "
        "%d.%d)",
        pdl_kernel_name(kernel), pdl_reason_string(reason), why[0] != '\0' ? ": " : "", why,
        between, proof, facts->device->ordinal, facts->device->compute_capability_major,
        facts->device->compute_capability_minor, code / 10, code % 10);
}

PDL_RARE pdl_reason pdl_launch_decide(pdl_kernel *kernel, struct pdl_kernel_facts *facts,
                                      const pdl_launch_desc *desc)
{
    if (desc->overlap == PDL_OVERLAP_NONE) {
        return PDL_REASON_NOT_REQUESTED;
    }
    const pdl_reason reason = pdl_kernel_reason(kernel, facts, desc->cooperative != 0);
    return reason == PDL_REASON_GRANTED && !pdl_policy_allows(kernel->driver, desc)
               ? PDL_REASON_NOT_CAPTURING
               : reason;
}

/* ---- lowering ------------------------------------------------------------------------------- */

/* What is emitted must have the driver's layout. */
_Static_assert(
    sizeof(CUaccessPolicyWindow) == sizeof(pdl_access_policy) &&
        offsetof(CUaccessPolicyWindow, num_bytes) == offsetof(pdl_access_policy, bytes) &&
        offsetof(CUaccessPolicyWindow, hitRatio) == offsetof(pdl_access_policy, hit_ratio) &&
        offsetof(CUaccessPolicyWindow, missProp) == offsetof(pdl_access_policy, miss_property),
    "pdl_access_policy has the layout of CUaccessPolicyWindow");

static void emit(const struct pdl_attribute *row, const pdl_launch_desc *desc,
                 CUlaunchAttribute *attribute)
{
    const char *const field = (const char *)desc + row->offset;
    char *const value = (char *)&attribute->value;
    const uint32_t one = 1;
    memset(attribute, 0, sizeof(*attribute));
    attribute->id = (CUlaunchAttributeID)row->number;
    switch ((enum pdl_emit)row->emit) {
    case PDL_EMIT_COPY:
        memcpy(value, field, row->size);
        break;
    case PDL_EMIT_EXTENT: {
        const struct extent extent = extent_of((const uint32_t *)(const void *)field);
        memcpy(value, &extent, sizeof(extent));
        break;
    }
    case PDL_EMIT_ONE:
    case PDL_EMIT_OVERLAP:
        memcpy(value, &one, sizeof(one));
        break;
    case PDL_EMIT_TRIGGER:
        attribute->value.programmaticEvent.event = desc->trigger_event;
        attribute->value.programmaticEvent.triggerAtBlockStart = (int)desc->trigger_at_block_start;
        break;
    }
}

/* In the order of the table, which is that of the numbers; then what the caller brought. */
PDL_RARE static void append_all(const pdl_launch_desc *desc, struct pdl_lowered *lowered)
{
    unsigned count = 0;
    for (uint32_t asked = lowered->asked; asked != 0; asked &= asked - 1) {
        const struct pdl_attribute *row = &pdl_attributes[pdl_lowest_bit(asked)];
        if (row->emit != PDL_EMIT_OVERLAP || lowered->reason == PDL_REASON_GRANTED) {
            emit(row, desc, &lowered->attributes[count++]);
        }
    }
    if (desc->extra_attribute_count > 0) {
        memcpy(&lowered->attributes[count], desc->extra_attributes,
               desc->extra_attribute_count * sizeof(lowered->attributes[0]));
        count += desc->extra_attribute_count;
    }
    lowered->config.numAttrs = count;
    lowered->config.attrs = count > 0 ? lowered->attributes : NULL;
}

/* What most launches that overlap have, and nothing else. The driver reads what was not just written. */
static const CUlaunchAttribute overlap_attribute = {
    .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
    .value = {.programmaticStreamSerializationAllowed = 1}};

pdl_status pdl_lower(pdl_kernel *kernel, int device, const pdl_launch_desc *desc,
                     struct pdl_lowered *lowered)
{
    struct pdl_kernel_facts *facts;
    pdl_status status = pdl_kernel_facts_get(kernel, device, &facts);
    if (status != PDL_SUCCESS) {
        return status;
    }
    const uint32_t rare = has_rare(desc, offsetof(pdl_launch_desc, cooperative)) ||
                          desc->overlap > PDL_OVERLAP_REQUIRE ||
                          desc->default_stream > PDL_DEFAULT_STREAM_PER_THREAD;
    if (rare) {
        status = check_fields(desc, &lowered->asked);
        if (status != PDL_SUCCESS) {
            return status;
        }
    }
    const struct extent grid = extent_of(desc->grid);
    if (!within(grid, facts->max_grid)) {
        status = check_grid(kernel, facts, desc);
        if (status != PDL_SUCCESS) {
            return status;
        }
    }
    const struct extent block = extent_of(desc->block);
    if (!within(block, facts->max_block)) {
        return refuse_extent(PDL_ERROR_INVALID_BLOCK, "block", desc->block, facts->max_block,
                             facts->device->ordinal);
    }
    const uint64_t threads = (uint64_t)block.x * block.y * block.z;
    if (threads > facts->max_threads) {
        return refuse_threads(kernel, facts, threads);
    }
    if (desc->dynamic_shared_memory >
            atomic_load_explicit(&facts->max_dynamic_shared_memory, memory_order_relaxed) &&
        desc->shared_memory_mode == PDL_SHARED_MEMORY_DEFAULT) { /* else the mode is the limit */
        status = check_shared_memory(kernel, facts, desc);
        if (status != PDL_SUCCESS) {
            return status;
        }
    }
    if (rare) {
        status = check_rare(kernel, facts, desc, lowered->asked);
        if (status != PDL_SUCCESS) {
            return status;
        }
    }
    lowered->facts = facts;
    lowered->rare = rare;
    lowered->reason = PDL_REASON_NOT_REQUESTED;
    if (desc->overlap != PDL_OVERLAP_NONE) {
        lowered->reason = (pdl_reason)atomic_load_explicit(&facts->reason, memory_order_relaxed);
        if ((rare | pdl_gate_is_special()) != 0 || lowered->reason != PDL_REASON_GRANTED) {
            lowered->reason = pdl_launch_decide(kernel, facts, desc);
            if (desc->overlap == PDL_OVERLAP_REQUIRE && lowered->reason != PDL_REASON_GRANTED) {
                return refuse_overlap(kernel, facts, lowered->reason);
            }
        }
    }
    const bool plain = !rare && lowered->reason == PDL_REASON_GRANTED;
    lowered->config = (CUlaunchConfig){
        .gridDimX = grid.x,
        .gridDimY = grid.y,
        .gridDimZ = grid.z,
        .blockDimX = block.x,
        .blockDimY = block.y,
        .blockDimZ = block.z,
        .sharedMemBytes = desc->dynamic_shared_memory,
        .hStream = pdl_desc_stream(desc),
        .attrs = plain ? (CUlaunchAttribute *)&overlap_attribute : NULL,
        .numAttrs = plain,
    };
    if (rare) {
        append_all(desc, lowered);
    }
    return PDL_SUCCESS;
}

bool pdl_lowered_cluster(const struct pdl_lowered *lowered, uint32_t cluster[3])
{
    const CUlaunchAttribute *const own = pdl_lowered_find(lowered, PDL_ATTRIBUTE_CLUSTER_DIMENSION);
    memcpy(cluster, own != NULL ? (const void *)&own->value.clusterDim : lowered->facts->cluster,
           3 * sizeof(cluster[0]));
    return cluster[0] != 0 && cluster[1] != 0 && cluster[2] != 0;
}

/* With all of the above inlined, for speed. */
PDL_FLAT pdl_status pdl_launch_prepare(pdl_kernel *kernel, const pdl_launch_desc *desc, int *device,
                                       struct pdl_lowered *lowered)
{
    pdl_launch_desc copy;
    if (kernel == NULL || desc == NULL) {
        const char *const missing = kernel == NULL ? "kernel" : "desc";
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, missing, "%s is NULL", missing);
    }
    pdl_status status = pdl_desc_whole(&desc, &copy);
    const struct pdl_bound *const bound = pdl_kernel_bound(kernel);
    if (bound != NULL) {
        *device = bound->device;
    } else if (status == PDL_SUCCESS) {
        status = pdl_kernel_device(kernel, desc->stream, device);
    }
    lowered->function = bound != NULL ? bound->function : kernel->function;
    return status == PDL_SUCCESS ? pdl_lower(kernel, *device, desc, lowered) : status;
}
