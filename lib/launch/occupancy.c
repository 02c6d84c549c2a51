/* SPDX-License-Identifier: MIT */
/* pdl_launch_occupancy(): how much of a launch runs at a time. */
#include "core/sized.h"
#include "launch/lower.h"

static pdl_status failed(const pdl_kernel *kernel, const char *call, CUresult result)
{
    return pdl_error_from_cuda(kernel->driver, call, (int32_t)result,
                               "to count what a device holds at a time");
}

/* With those of the launch's own attributes that change the answer. */
static pdl_status count_clusters(pdl_kernel *kernel, const struct pdl_lowered *lowered,
                                 pdl_occupancy *occupancy)
{
    const struct pdl_driver *driver = kernel->driver;
    CUlaunchConfig config = lowered->config;
    uint32_t cluster[3];
    const bool has_cluster = pdl_lowered_cluster(lowered, cluster);
    static const int wanted[] = {PDL_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE,
                                 PDL_ATTRIBUTE_SHARED_MEMORY_MODE};
    CUlaunchAttribute attributes[1 + sizeof(wanted) / sizeof(wanted[0])];
    CUfunction function = NULL;
    int largest = 0;
    int active = 0;
    pdl_status status = pdl_kernel_resolve(kernel, &function);
    if (status != PDL_SUCCESS) {
        return status;
    }
    config.attrs = attributes;
    config.numAttrs = has_cluster;
    attributes[0] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    memcpy(&attributes[0].value.clusterDim, cluster, sizeof(cluster));
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        const CUlaunchAttribute *one = pdl_lowered_find(lowered, wanted[i]);
        if (one != NULL) {
            attributes[config.numAttrs++] = *one;
        }
    }
    CUresult result = driver->cuOccupancyMaxPotentialClusterSize(&largest, function, &config);
    if (result != CUDA_SUCCESS) {
        return failed(kernel, "cuOccupancyMaxPotentialClusterSize", result);
    }
    occupancy->max_cluster_size = (uint32_t)largest;
    if (!has_cluster) {
        return PDL_SUCCESS;
    }
    result = driver->cuOccupancyMaxActiveClusters(&active, function, &config);
    if (result != CUDA_SUCCESS) {
        return failed(kernel, "cuOccupancyMaxActiveClusters", result);
    }
    occupancy->active_clusters = (uint32_t)active;
    occupancy->active_blocks = (uint32_t)active * cluster[0] * cluster[1] * cluster[2];
    return PDL_SUCCESS;
}

pdl_status pdl_launch_occupancy(pdl_kernel *kernel, const pdl_launch_desc *desc,
                                pdl_occupancy *occupancy)
{
    struct pdl_lowered lowered;
    pdl_occupancy known = {.size = (uint32_t)sizeof(known)};
    int blocks = 0;
    uint32_t sms = 0;
    pdl_status status = pdl_sized_check(occupancy, "occupancy");
    if (status == PDL_SUCCESS) {
        status = pdl_launch_prepare(kernel, desc, &known.device, &lowered);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    const CUlaunchConfig *config = &lowered.config;
    if (!pdl_kernel_can_count(lowered.facts, config->sharedMemBytes)) {
        return PDL_FAIL_FIELD(PDL_ERROR_NOT_SUPPORTED, "shared_memory_mode",
                              "the driver counts blocks for at most %u bytes of dynamic shared "
                              "memory: set PDL_KERNEL_SHARED_MEMORY_MODE of kernel %s instead",
                              (unsigned)lowered.facts->max_dynamic_shared_memory,
                              pdl_kernel_name(kernel));
    }
    status = pdl_kernel_occupancy(kernel, lowered.facts, config->hStream,
                                  config->blockDimX * config->blockDimY * config->blockDimZ,
                                  config->sharedMemBytes, &blocks);
    if (status == PDL_SUCCESS) {
        status = pdl_device_sms(kernel->driver, lowered.facts->device, config->hStream, &sms);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    known.blocks_per_sm = (uint32_t)blocks;
    known.active_blocks = (uint32_t)blocks * sms;
    if (lowered.facts->device->cluster_launch) {
        CUstream stream = pdl_kernel_stream(kernel, config->hStream);
        status = pdl_stream_enter(kernel->driver, stream);
        if (status == PDL_SUCCESS) {
            status = count_clusters(kernel, &lowered, &known);
            pdl_stream_leave(kernel->driver, stream);
        }
    }
    if (status == PDL_SUCCESS) {
        pdl_sized_copy(occupancy, &known, sizeof(known));
    }
    return status;
}
