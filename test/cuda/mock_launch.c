/* SPDX-License-Identifier: MIT */
/* The mocked driver and runtime: launches. */
#include <string.h>

#include "mock_entry.h"

static void record_attributes(struct mock_launch *launch, CUlaunchAttribute *attributes,
                              unsigned count)
{
    launch->attribute_count = count;
    if (count > MOCK_ATTRIBUTES) {
        mock_misused("a launch carries %u attributes", count);
        launch->attribute_count = MOCK_ATTRIBUTES;
    }
    for (unsigned i = 0; i < launch->attribute_count; i++) {
        launch->attributes[i] = attributes[i];
        if (attributes[i].id == ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) {
            memcpy(attributes[i].value.pad + 8, &mock.device_node, sizeof(mock.device_node));
        }
    }
}

static struct mock_launch *next_launch(void)
{
    struct mock_launch *launch = &mock.launches[mock.launch_count++ % MOCK_LAUNCHES];
    memset(launch, 0, sizeof(*launch));
    launch->device = mock_current_device;
    return launch;
}

CUresult mock_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments,
                               void **extra)
{
    MOCK_ENTER(cuLaunchKernelEx);
    int device = 0;
    if (mock_current_device < 0) {
        return mock_leave(CUDA_ERROR_INVALID_CONTEXT);
    }
    if (mock_kernel_of_either(function, &device) == NULL) {
        return mock_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    if (device != mock_current_device) {
        mock_misused("a function of device %d was launched with device %d current", device,
                     mock_current_device);
    }
    struct mock_launch *launch = next_launch();
    launch->function = function;
    launch->config = *config;
    launch->arguments = arguments;
    launch->extra = extra;
    record_attributes(launch, config->attrs, config->numAttrs);
    return mock_leave(CUDA_SUCCESS);
}

int32_t mock_runtime_launch(const void *symbol, const pdl_runtime_launch *from, void **arguments)
{
    mock_lock();
    const int32_t result = mock_runtime_launch_result;
    if (result == 0) {
        struct mock_launch *launch = next_launch();
        launch->by_runtime = true;
        launch->symbol = symbol;
        launch->config.gridDimX = from->grid[0];
        launch->config.gridDimY = from->grid[1];
        launch->config.gridDimZ = from->grid[2];
        launch->config.blockDimX = from->block[0];
        launch->config.blockDimY = from->block[1];
        launch->config.blockDimZ = from->block[2];
        launch->config.sharedMemBytes = from->dynamic_shared_memory;
        launch->config.hStream = from->stream;
        launch->config.attrs = from->attributes;
        launch->config.numAttrs = from->attribute_count;
        launch->arguments = arguments;
        record_attributes(launch, from->attributes, from->attribute_count);
    }
    (void)mock_leave(CUDA_SUCCESS);
    return result;
}

int32_t mock_runtime_get_function(const void *symbol, CUfunction *function)
{
    mock_lock();
    const int32_t result = mock_runtime_function_result;
    mock_runtime_function_calls++;
    if (result == 0 && mock_current_device < 0) {
        mock_current_device = 0; /* the Runtime makes its device's context when it needs one */
    }
    if (result == 0) {
        const ptrdiff_t i = (const struct mock_kernel *)symbol - mock.kernels;
        *function = mock_function((unsigned)i, mock_current_device);
    }
    (void)mock_leave(CUDA_SUCCESS);
    return result;
}
