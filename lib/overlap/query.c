/* SPDX-License-Identifier: MIT */
/* pdl_overlap_query(): what the rules need to know, asked of the kernels, the descriptors and the
 * driver. */
#include <pdl/overlap.h>

#include "core/sized.h"
#include "launch/lower.h"
#include "overlap/rules.h"

const char *pdl_condition_name(pdl_condition condition)
{
    switch (condition) {
#define CONDITION_ROW(name, value, id, text)                                                       \
    case name:                                                                                     \
        return id;
        PDL_CONDITION_LIST(CONDITION_ROW)
#undef CONDITION_ROW
    default:
        return "unknown";
    }
}

/* ---- one launch ----------------------------------------------------------------------------- */

static uint32_t cluster_blocks(const struct pdl_lowered *lowered)
{
    uint32_t cluster[3];
    return pdl_lowered_cluster(lowered, cluster) ? cluster[0] * cluster[1] * cluster[2] : 1;
}

/* The share of shared memory that the launch prefers; -1: it leaves the choice to the driver. The
 * kernel's own is asked each time, since anyone may set it. */
static pdl_status get_carveout(const pdl_kernel *kernel, const struct pdl_lowered *lowered,
                               int32_t *carveout)
{
    const CUlaunchAttribute *const own =
        pdl_lowered_find(lowered, PDL_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
    if (own != NULL) {
        memcpy(carveout, &own->value, sizeof(*carveout));
        return PDL_SUCCESS;
    }
    return pdl_kernel_read_attribute(kernel, lowered->facts,
                                     CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                     "to learn how a kernel's shared memory is set", carveout);
}

/* What the driver's calculator says. It does not know of a launch's own carve-out and mode: then it
 * is no check. */
static pdl_status ask_driver(pdl_kernel *kernel, const struct pdl_lowered *lowered,
                             const pdl_launch_desc *desc, const struct pdl_block *block,
                             int32_t *blocks)
{
    if (pdl_lowered_find(lowered, PDL_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) != NULL ||
        pdl_lowered_find(lowered, PDL_ATTRIBUTE_SHARED_MEMORY_MODE) != NULL) {
        return PDL_SUCCESS;
    }
    return pdl_kernel_occupancy(kernel, lowered->facts, desc->stream, block->threads,
                                desc->dynamic_shared_memory, blocks);
}

/* Checks a launch as pdl_launch() would, and fills a side of the input. */
static pdl_status look_at(pdl_kernel *kernel, int device, const pdl_launch_desc *desc,
                          struct pdl_overlap_side *side)
{
    struct pdl_lowered lowered;
    pdl_launch_desc plain = *desc;
    plain.overlap = PDL_OVERLAP_NONE; /* what cannot be had is an answer here */
    PDL_RETURN_IF_ERROR(pdl_lower(kernel, device, &plain, &lowered));
    const CUlaunchConfig *config = &lowered.config;
    struct pdl_kernel_facts *facts = lowered.facts;
    const unsigned known = pdl_kernel_known(kernel, facts);
    *side = (struct pdl_overlap_side){
        .name = pdl_kernel_name(kernel),
        .blocks = (uint64_t)config->gridDimX * config->gridDimY * config->gridDimZ,
        .block = {.threads = config->blockDimX * config->blockDimY * config->blockDimZ,
                  .registers = (uint32_t)facts->registers,
                  .shared_memory =
                      (uint32_t)facts->static_shared_memory + desc->dynamic_shared_memory},
        .code = facts->ptx_version,
        .waits = (uint32_t)pdl_known_waits(known),
        .triggers = (uint32_t)pdl_known_triggers(known),
        .cluster = cluster_blocks(&lowered),
        .driver_per_sm = -1,
        .reason = pdl_launch_decide(kernel, facts, desc),
        .cooperative = desc->cooperative != 0,
        .block_known = true,
    };
    if (pdl_kernel_bounds(kernel, facts).counts_clusters == PDL_YES) {
        side->blocks *= side->cluster;
    }
    PDL_RETURN_IF_ERROR(get_carveout(kernel, &lowered, &side->block.carveout));
    return ask_driver(kernel, &lowered, desc, &side->block, &side->driver_per_sm);
}

/* ---- both ----------------------------------------------------------------------------------- */

/* `shared` is what a block takes of it at most. A larger one than others can have makes the driver
 * set an SM's shared memory to the oversized size. */
static struct pdl_sm sm_of(const pdl_device_info *device, uint32_t shared)
{
    const bool oversized = shared > (uint32_t)device->shared_memory_per_block_optin;
    const int32_t per_block = oversized ? device->oversized_shared_memory_per_block
                                        : device->shared_memory_per_block_optin;
    const int32_t capability =
        10 * device->compute_capability_major + device->compute_capability_minor;
    return (struct pdl_sm){
        .compute_capability = capability,
        .threads = (uint32_t)device->max_threads_per_multiprocessor,
        .threads_per_block = (uint32_t)device->max_threads_per_block,
        .warp_size = (uint32_t)device->warp_size,
        .blocks = (uint32_t)device->max_blocks_per_multiprocessor,
        .registers = (uint32_t)device->registers_per_multiprocessor,
        .shared_memory = (uint32_t)(oversized ? per_block + device->reserved_shared_memory_per_block
                                              : device->shared_memory_per_multiprocessor),
        .shared_memory_per_block = (uint32_t)per_block,
        .reserved_shared_memory = (uint32_t)device->reserved_shared_memory_per_block,
        .barriers = pdl_sm_barriers(capability),
    };
}

static pdl_status check_arguments(const pdl_kernel *primary, const pdl_launch_desc *primary_desc,
                                  const pdl_kernel *secondary,
                                  const pdl_launch_desc *secondary_desc,
                                  const pdl_overlap_report *report)
{
    const char *const missing = primary == NULL          ? "primary"
                                : primary_desc == NULL   ? "primary_desc"
                                : secondary == NULL      ? "secondary"
                                : secondary_desc == NULL ? "secondary_desc"
                                                         : NULL;
    if (missing != NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, missing, "%s is NULL", missing);
    }
    return pdl_sized_check(report, "report");
}

/* The device that both are asked about: as pdl_kernel_get() takes it, or where the secondary would run. */
static pdl_status find_device(pdl_kernel *primary, pdl_kernel *secondary, CUstream stream,
                              int *device)
{
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    if (*device == -1) {
        PDL_RETURN_IF_ERROR(pdl_kernel_device(secondary, stream, device));
    }
    PDL_RETURN_IF_ERROR(pdl_kernel_get(primary, *device, &info));
    return pdl_kernel_get(secondary, *device, &info);
}

pdl_status pdl_overlap_query(pdl_kernel *primary, const pdl_launch_desc *primary_desc,
                             pdl_kernel *secondary, const pdl_launch_desc *secondary_desc,
                             int device, pdl_overlap_report *report)
{
    pdl_launch_desc primary_copy;
    pdl_launch_desc secondary_copy;
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    struct pdl_overlap_input input = {.device = -1};
    uint32_t sms = 0;
    pdl_overlap_report known = {.size = (uint32_t)sizeof(known)};
    PDL_RETURN_IF_ERROR(check_arguments(primary, primary_desc, secondary, secondary_desc, report));
    PDL_RETURN_IF_ERROR(pdl_desc_whole(&primary_desc, &primary_copy));
    PDL_RETURN_IF_ERROR(pdl_desc_whole(&secondary_desc, &secondary_copy));
    PDL_RETURN_IF_ERROR(find_device(primary, secondary, secondary_desc->stream, &device));
    PDL_RETURN_IF_ERROR(pdl_device_get(device, &info));
    PDL_RETURN_IF_ERROR(look_at(primary, device, primary_desc, &input.primary));
    PDL_RETURN_IF_ERROR(look_at(secondary, device, secondary_desc, &input.secondary));
    PDL_RETURN_IF_ERROR(
        pdl_device_sms(primary->driver, &info, pdl_desc_stream(primary_desc), &input.sms));
    PDL_RETURN_IF_ERROR(
        pdl_device_sms(primary->driver, &info, pdl_desc_stream(secondary_desc), &sms));
    const bool same_stream = pdl_desc_stream(primary_desc) == pdl_desc_stream(secondary_desc);
    const uint32_t first = input.primary.block.shared_memory;
    const uint32_t second = input.secondary.block.shared_memory;
    input.sm = sm_of(&info, first > second ? first : second);
    input.sms = sms < input.sms ? sms : input.sms;
    input.device = device;
    input.device_name = info.name;
    input.disabled = info.overlap_reason == PDL_REASON_DISABLED;
    input.requested = secondary_desc->overlap != PDL_OVERLAP_NONE;
    input.same_stream = same_stream ? PDL_YES : PDL_NO;
    input.by_event = !same_stream && primary_desc->trigger_event != NULL;
    pdl_overlap_judge(&input, &known);
    pdl_sized_copy(report, &known, sizeof(known));
    return PDL_SUCCESS;
}
