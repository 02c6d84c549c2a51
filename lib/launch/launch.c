/* SPDX-License-Identifier: MIT */
/* Launches: submitting a descriptor, and explaining what that would do. */
#include <stdio.h>
#include <string.h>

#include "core/device.h"
#include "core/error.h"
#include "core/sized.h"
#include "launch/log.h"
#include "launch/lower.h"

/* ---- refusals by the driver ----------------------------------------------------------------- */

#define RUNTIME_CONFIGURATION 9 /* cudaErrorInvalidConfiguration */

/* What only the code forbids: the driver refuses such a launch, and says no more than that a value is invalid. */
PDL_COLD static pdl_status check_bounds(pdl_kernel *kernel, const struct pdl_lowered *lowered,
                                        const char *call, int32_t result)
{
    const CUlaunchConfig *const config = &lowered->config;
    const struct pdl_untold_bounds bounds = pdl_kernel_bounds(kernel, lowered->facts);
    const uint16_t *const own = bounds.block;
    uint32_t cluster[3];
    if (own[0] != 0 && (config->blockDimX != own[0] || config->blockDimY != own[1] ||
                        config->blockDimZ != own[2])) {
        return pdl_error_set(PDL_ERROR_INVALID_BLOCK, call, "block", result,
                             "block is %u x %u x %u, and kernel %s is compiled for blocks of %u x "
                             "%u x %u",
                             config->blockDimX, config->blockDimY, config->blockDimZ,
                             pdl_kernel_name(kernel), own[0], own[1], own[2]);
    }
    if (bounds.max_cluster != 0 && pdl_lowered_cluster(lowered, cluster) &&
        (uint64_t)cluster[0] * cluster[1] * cluster[2] > bounds.max_cluster) {
        return pdl_error_set(PDL_ERROR_INVALID_CLUSTER, call, "cluster", result,
                             "cluster is %u x %u x %u, and kernel %s is compiled for at most %u "
                             "blocks",
                             cluster[0], cluster[1], cluster[2], pdl_kernel_name(kernel),
                             bounds.max_cluster);
    }
    return PDL_SUCCESS;
}

/* The attributes of a launch by the fields that set them, and others by their numbers. */
PDL_COLD static void name_attributes(const CUlaunchConfig *config, char *text, size_t room)
{
    size_t used = 0;
    (void)snprintf(text, room, "none");
    for (unsigned i = 0; i < config->numAttrs && used < room; i++) {
        const int number = (int)config->attrs[i].id;
        const struct pdl_attribute *const row = pdl_attribute_find(number);
        const int length =
            row != NULL
                ? snprintf(text + used, room - used, "%s%s", i > 0 ? ", " : "", row->field)
                : snprintf(text + used, room - used, "%snumber %d", i > 0 ? ", " : "", number);
        used += (size_t)length;
    }
}

/* Works out which rule a refused launch broke, of those that are not checked before: the driver
 * says only that a value or a configuration is invalid. */
PDL_COLD static pdl_status refused(pdl_kernel *kernel, const struct pdl_lowered *lowered,
                                   const char *call, int32_t result)
{
    const CUlaunchConfig *config = &lowered->config;
    const char *kernel_name = pdl_kernel_name(kernel);
    const char *result_name = pdl_driver_result_name(kernel->driver, (CUresult)result);
    uint32_t cluster[3];
    const CUlaunchAttribute *trigger =
        pdl_lowered_find(lowered, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT);
    const CUlaunchAttribute *completion =
        pdl_lowered_find(lowered, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT);

    if (result == CUDA_ERROR_NOT_SUPPORTED && (trigger != NULL || completion != NULL)) {
        const char *const field = trigger != NULL ? "trigger_event" : "launch_event";
        return pdl_error_set(
            PDL_ERROR_EVENT, call, field, result,
            "%s refused the %s of kernel %s (%s): such an event is created without "
            "timing (CU_EVENT_DISABLE_TIMING, cudaEventDisableTiming), not interprocess",
            call, field, kernel_name, result_name);
    }
    const bool invalid = result == CUDA_ERROR_INVALID_VALUE || result == RUNTIME_CONFIGURATION;
    const pdl_status forbidden = invalid || result == CUDA_ERROR_INVALID_CLUSTER_SIZE
                                     ? check_bounds(kernel, lowered, call, result)
                                     : PDL_SUCCESS;
    if (forbidden != PDL_SUCCESS) {
        return forbidden;
    }
    if (pdl_lowered_cluster(lowered, cluster) &&
        (invalid || result == CUDA_ERROR_INVALID_CLUSTER_SIZE)) {
        const unsigned blocks = cluster[0] * cluster[1] * cluster[2];
        if (!pdl_lowered_divides(lowered, cluster)) {
            return pdl_error_set(PDL_ERROR_INVALID_CLUSTER, call, "grid", result,
                                 "%s refused the grid %u x %u x %u of kernel %s (%s): its clusters "
                                 "of %u x %u x %u do not divide it",
                                 call, config->gridDimX, config->gridDimY, config->gridDimZ,
                                 kernel_name, result_name, cluster[0], cluster[1], cluster[2]);
        }
        if (blocks > 8 || result == CUDA_ERROR_INVALID_CLUSTER_SIZE) {
            return pdl_error_set(
                PDL_ERROR_INVALID_CLUSTER, call, "cluster", result,
                "%s refused a cluster of %u blocks for kernel %s (%s): more than 8 need "
                "portable_cluster_size or PDL_KERNEL_NON_PORTABLE_CLUSTER_SIZE, and "
                "all must fit on the device together (pdl_launch_occupancy())",
                call, blocks, kernel_name, result_name);
        }
    }
    if (result == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE) {
        uint32_t sms = 0;
        (void)pdl_device_sms(kernel->driver, lowered->facts->device, config->hStream, &sms);
        return pdl_error_set(PDL_ERROR_COOPERATIVE_TOO_LARGE, call, "cooperative", result,
                             "%s refused the cooperative grid %u x %u x %u of kernel %s, whose "
                             "stream's context has %u SMs: %s (%d)",
                             call, config->gridDimX, config->gridDimY, config->gridDimZ,
                             kernel_name, sms, result_name, (int)result);
    }
    char text[160];
    if (invalid) {
        name_attributes(config, text, sizeof(text));
        return PDL_FAIL_CALL(PDL_ERROR_DRIVER, call, result,
                             "%s refused kernel %s with grid %u x %u x %u, block %u x %u x %u, %u "
                             "bytes of dynamic shared memory and these attributes: %s: %s (%d)",
                             call, kernel_name, config->gridDimX, config->gridDimY,
                             config->gridDimZ, config->blockDimX, config->blockDimY,
                             config->blockDimZ, config->sharedMemBytes, text, result_name,
                             (int)result);
    }
    (void)snprintf(text, sizeof(text), "to launch kernel %s", kernel_name);
    return pdl_error_from_cuda(kernel->driver, call, result, text);
}

/* ---- submit --------------------------------------------------------------------------------- */

_Static_assert(offsetof(CUlaunchConfig, blockDimX) == offsetof(pdl_runtime_launch, block) &&
                   offsetof(CUlaunchConfig, hStream) == offsetof(pdl_runtime_launch, stream) &&
                   offsetof(CUlaunchConfig, numAttrs) ==
                       offsetof(pdl_runtime_launch, attribute_count) &&
                   sizeof(CUlaunchConfig) == sizeof(pdl_runtime_launch),
               "what the Runtime's side gets is the driver's configuration under another name");

/* The Runtime loads a symbol's code and makes its context, and keeps an error for cudaGetLastError(): so it makes the
 * first launch in a context, and those that the driver refused. It may not know an attribute that the driver knows, so
 * it makes those with a rare one as well. */
PDL_RARE static int32_t launch_by_runtime(pdl_kernel *kernel, const struct pdl_lowered *lowered,
                                          void **values)
{
    const int32_t result = kernel->ops->launch(
        kernel->symbol, (const pdl_runtime_launch *)(const void *)&lowered->config, values);
    if (result == 0 && lowered->function == NULL && !lowered->rare) {
        pdl_kernel_bind(kernel);
    }
    return result;
}

/* The caller's descriptor, which may be older: it has the field if it became an attribute. */
PDL_RARE static void copy_device_node(const struct pdl_lowered *lowered,
                                      const pdl_launch_desc *desc)
{
    const CUlaunchAttribute *attribute =
        pdl_lowered_find(lowered, PDL_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE);
    if (attribute != NULL) {
        pdl_device_node_get(&attribute->value, desc->device_node);
    }
}

pdl_status pdl_launch(pdl_kernel *kernel, const pdl_launch_desc *desc, void *const *args)
{
    struct pdl_lowered lowered;
    int device;
    const pdl_status status = pdl_launch_prepare(kernel, desc, &device, &lowered);
    if (status != PDL_SUCCESS) {
        return status;
    }
    int32_t result = CUDA_ERROR_NOT_FOUND;
    const char *call = "cuLaunchKernelEx";
    void **const values = (void **)args; /* CUDA's calls do not write through it */
    if (lowered.function != NULL && (kernel->kind != PDL_KERNEL_SYMBOL || !lowered.rare)) {
        result = (int32_t)kernel->driver->cuLaunchKernelEx(&lowered.config, lowered.function,
                                                           values, NULL);
    }
    if (result != 0 && kernel->kind == PDL_KERNEL_SYMBOL) {
        call = "cudaLaunchKernelExC";
        result = launch_by_runtime(kernel, &lowered, values);
    }
    if (result != 0) {
        return refused(kernel, &lowered, call, result);
    }
    pdl_log_decision(kernel, &lowered);
    if (lowered.rare) {
        copy_device_node(&lowered, desc);
    }
    return PDL_SUCCESS;
}

/* ---- explain -------------------------------------------------------------------------------- */

_Static_assert(PDL_ATTRIBUTE_MAX * sizeof(uint32_t) <=
                   sizeof(((pdl_launch_report *)NULL)->attributes),
               "a report holds every attribute of a launch");

static void describe(pdl_kernel *kernel, const struct pdl_lowered *lowered,
                     pdl_launch_report *report)
{
    struct pdl_kernel_facts *facts = lowered->facts;
    const bool granted = lowered->reason == PDL_REASON_GRANTED;
    const char *const why = pdl_kernel_unknown_why(facts, lowered->reason);
    const char *between = "";
    const char *const proof = pdl_kernel_proof_text(kernel, facts, lowered->reason, &between);
    report->overlap = granted;
    report->overlap_reason = (uint32_t)lowered->reason;
    report->attribute_count = lowered->config.numAttrs;
    for (unsigned i = 0; i < lowered->config.numAttrs; i++) {
        report->attributes[i] = (uint32_t)lowered->config.attrs[i].id;
    }
    const char *warning = "";
    uint32_t cluster[3];
    if (pdl_lowered_find(lowered, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT) != NULL) {
        warning = "; launch_event orders none of the kernel's writes";
    } else if (pdl_lowered_find(lowered, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT) != NULL) {
        warning = "; work that waits for trigger_event may start early in a captured graph, but "
                  "did not in plain streams";
    } else if (pdl_lowered_cluster(lowered, cluster) && !pdl_lowered_divides(lowered, cluster) &&
               pdl_kernel_bounds(kernel, facts).counts_clusters == PDL_UNKNOWN) {
        warning = "; the driver refuses the grid, which its clusters do not divide, unless the "
                  "code counts clusters";
    }
    if (granted) {
        (void)snprintf(report->message, sizeof(report->message),
                       "kernel %s overlaps the work before it on device %d (%d.%d, code for %d.%d, "
                       "known to wait)%s%s%s%s%s",
                       pdl_kernel_name(kernel), facts->device->ordinal,
                       facts->device->compute_capability_major,
                       facts->device->compute_capability_minor, facts->ptx_version / 10,
                       facts->ptx_version % 10, why[0] != '\0' ? ": " : "", why, between, proof,
                       warning);
    } else {
        (void)snprintf(report->message, sizeof(report->message),
                       "kernel %s does not overlap: %s%s%s%s%s%s", pdl_kernel_name(kernel),
                       pdl_reason_string(lowered->reason), why[0] != '\0' ? ": " : "", why, between,
                       proof, warning);
    }
}

pdl_status pdl_launch_explain(pdl_kernel *kernel, const pdl_launch_desc *desc,
                              pdl_launch_report *report)
{
    struct pdl_lowered lowered = {.reason = PDL_REASON_NOT_REQUESTED};
    pdl_launch_report known = {.device = -1, .overlap_reason = PDL_REASON_NOT_REQUESTED};
    pdl_status status = pdl_sized_check(report, "report");
    if (status != PDL_SUCCESS) {
        return status;
    }
    status = pdl_launch_prepare(kernel, desc, &known.device, &lowered);
    if (status == PDL_SUCCESS) {
        status = check_bounds(kernel, &lowered, NULL, 0);
    }
    if (status == PDL_SUCCESS) {
        describe(kernel, &lowered, &known);
    } else {
        /* An overlap that was required and refused has its reason; other refusals came before. */
        known.overlap_reason = (uint32_t)lowered.reason;
        (void)snprintf(known.message, sizeof(known.message), "not launched: %s",
                       pdl_last_error()->message);
    }
    pdl_sized_copy(report, &known, sizeof(known));
    return status;
}
