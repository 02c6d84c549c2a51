/* SPDX-License-Identifier: MIT */
/* Devices: what they are, and whether launches may overlap on them. */
#include "core/device.h"

#include <stdatomic.h>
#include <string.h>

#include "core/error.h"
#include "core/gate.h"
#include "core/sized.h"
#include "os/lock.h"

/* Facts are written under the lock, once, and read without it once `known` is set. */
static struct pdl_lock ask_lock;
static struct {
    atomic_bool known;
    pdl_device_info info;
} devices[PDL_DEVICE_MAX];

static pdl_status ask(const struct pdl_driver *driver, int ordinal, pdl_device_info *info)
{
    int cooperative = 0;
    int cluster = 0;
    const struct {
        CUdevice_attribute attribute;
        int *value;
    } questions[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &info->compute_capability_major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &info->compute_capability_minor},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &info->multiprocessor_count},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, &info->warp_size},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &info->max_threads_per_block},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &info->max_threads_per_multiprocessor},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, &info->max_blocks_per_multiprocessor},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &info->registers_per_multiprocessor},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &info->shared_memory_per_block},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
         &info->shared_memory_per_block_optin},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
         &info->shared_memory_per_multiprocessor},
        {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK,
         &info->reserved_shared_memory_per_block},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &info->l2_cache_size},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, &info->max_block[0]},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, &info->max_block[1]},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, &info->max_block[2]},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, &info->max_grid[0]},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, &info->max_grid[1]},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, &info->max_grid[2]},
        {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, &cooperative},
        {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, &cluster},
        {PDL_DEVICE_ATTRIBUTE_OVERSIZED, &info->oversized_shared_memory_per_block},
    };
    const size_t count = sizeof(questions) / sizeof(questions[0]) -
                         (driver->version < PDL_OVERSIZED_SINCE); /* the last one is new */
    CUdevice device = 0;
    const char *call = "cuDeviceGet";
    CUresult result = driver->cuDeviceGet(&device, ordinal);
    for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++) {
        call = "cuDeviceGetAttribute";
        result = driver->cuDeviceGetAttribute(questions[i].value, questions[i].attribute, device);
    }
    if (result == CUDA_SUCCESS) {
        call = "cuDeviceGetName";
        result = driver->cuDeviceGetName(info->name, (int)sizeof(info->name), device);
    }
    if (result != CUDA_SUCCESS) {
        return pdl_error_from_cuda(driver, call, (int32_t)result, "to learn what the device is");
    }
    info->size = (uint32_t)sizeof(*info);
    info->ordinal = ordinal;
    info->driver_version = driver->version;
    info->cooperative_launch = cooperative != 0;
    info->cluster_launch = cluster != 0;
    return PDL_SUCCESS;
}

pdl_status pdl_device_facts(const struct pdl_driver *driver, int device,
                            const pdl_device_info **facts)
{
    pdl_status status = PDL_SUCCESS;
    if (!atomic_load_explicit(&devices[device].known, memory_order_acquire)) {
        pdl_lock_take(&ask_lock);
        if (!atomic_load_explicit(&devices[device].known, memory_order_relaxed)) {
            pdl_device_info info = {0};
            status = ask(driver, device, &info);
            if (status == PDL_SUCCESS) {
                devices[device].info = info;
                atomic_store_explicit(&devices[device].known, true, memory_order_release);
            }
        }
        pdl_lock_release(&ask_lock);
    }
    if (status == PDL_SUCCESS) {
        *facts = &devices[device].info;
    }
    return status;
}

void pdl_device_override(const struct pdl_driver *driver)
{
    pdl_driver_override(driver);
    for (int i = 0; i < PDL_DEVICE_MAX; i++) {
        atomic_store_explicit(&devices[i].known, false, memory_order_release);
    }
}

/* The default streams belong to the current context. */
static bool has_context(CUstream stream)
{
    return stream != NULL && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
}

pdl_status pdl_stream_enter(const struct pdl_driver *driver, CUstream stream)
{
    const char *call = "cuStreamGetCtx";
    CUcontext context = NULL;
    if (!has_context(stream)) {
        return PDL_SUCCESS;
    }
    CUresult result = driver->cuStreamGetCtx(stream, &context);
    if (result == CUDA_SUCCESS) {
        call = "cuCtxPushCurrent";
        result = driver->cuCtxPushCurrent(context);
    }
    return result == CUDA_SUCCESS ? PDL_SUCCESS
                                  : pdl_error_from_cuda(driver, call, (int32_t)result,
                                                        "to find the context of a stream");
}

void pdl_stream_leave(const struct pdl_driver *driver, CUstream stream)
{
    CUcontext previous = NULL;
    if (has_context(stream)) {
        (void)driver->cuCtxPopCurrent(&previous);
    }
}

pdl_status pdl_device_of_stream(const struct pdl_driver *driver, CUstream stream, int *device)
{
    const bool asks = has_context(stream) && driver->cuStreamGetDevice != NULL;
    CUdevice of = 0;
    const pdl_status status = asks ? PDL_SUCCESS : pdl_stream_enter(driver, stream);
    if (status != PDL_SUCCESS) {
        return status;
    }
    const CUresult result =
        asks ? driver->cuStreamGetDevice(stream, &of) : driver->cuCtxGetDevice(&of);
    pdl_stream_leave(driver, asks ? NULL : stream);
    if (result != CUDA_SUCCESS) {
        return pdl_error_from_cuda(driver, asks ? "cuStreamGetDevice" : "cuCtxGetDevice",
                                   (int32_t)result, "to find the device of a context");
    }
    if (of >= driver->device_count) {
        return PDL_FAIL(PDL_ERROR_INVALID_DEVICE,
                        "device %d is current and libpdl knows %d devices", of,
                        driver->device_count);
    }
    *device = of;
    return PDL_SUCCESS;
}

pdl_status pdl_device_sms(const struct pdl_driver *driver, const pdl_device_info *facts,
                          CUstream stream, uint32_t *sms)
{
    const bool is_default = !has_context(stream);
    PDL_DEV_RESOURCE resource;
    CUcontext context = NULL;
    const char *call = "cuCtxGetDevice";
    CUdevice device = facts->ordinal; /* a default stream is the current context's, if any */
    CUresult result = is_default ? driver->cuCtxGetDevice(&device) : CUDA_SUCCESS;
    *sms = (uint32_t)facts->multiprocessor_count;
    memset(&resource, 0, sizeof(resource));
    if (result == CUDA_ERROR_INVALID_CONTEXT || device != facts->ordinal) {
        return PDL_SUCCESS;
    }
    if (result == CUDA_SUCCESS) {
        /* Not asked of a default stream, which could break captures of others. */
        call = is_default ? "cuCtxGetCurrent" : "cuStreamGetCtx";
        result = is_default ? driver->cuCtxGetCurrent(&context)
                            : driver->cuStreamGetCtx(stream, &context);
    }
    if (result != CUDA_SUCCESS) {
        return pdl_error_from_cuda(driver, call, (int32_t)result, "to find a stream's SMs");
    }
    if (driver->cuCtxGetDevResource != NULL &&
        driver->cuCtxGetDevResource(context, &resource, PDL_DEV_RESOURCE_SM) == CUDA_SUCCESS &&
        resource.sm.smCount > 0) {
        *sms = resource.sm.smCount;
    }
    return PDL_SUCCESS;
}

pdl_status pdl_device_get(int device, pdl_device_info *info)
{
    const struct pdl_driver *driver;
    const pdl_device_info *facts;
    pdl_status status = pdl_sized_check(info, "info");
    if (status == PDL_SUCCESS) {
        status = pdl_driver_get(&driver);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (device == -1) {
        PDL_RETURN_IF_ERROR(pdl_device_of_stream(driver, NULL, &device));
    }
    if (device < 0 || device >= driver->device_count) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_DEVICE, "device",
                              "there is no device %d: the driver reports %d", device,
                              driver->device_count);
    }
    status = pdl_device_facts(driver, device, &facts);
    if (status != PDL_SUCCESS) {
        return status;
    }
    const struct pdl_gate gate = {
        .disabled = driver->overlap_disabled || (pdl_gate_is_special() & PDL_GATE_OFF) != 0,
        .capability = 10 * facts->compute_capability_major + facts->compute_capability_minor,
        .code = PDL_GATE_CAPABILITY,
        .waits = PDL_YES,
    };
    pdl_device_info known = *facts;
    known.overlap_reason = (uint32_t)pdl_gate_decide(&gate);
    known.can_overlap = known.overlap_reason == PDL_REASON_GRANTED;
    pdl_sized_copy(info, &known, sizeof(known));
    return PDL_SUCCESS;
}
