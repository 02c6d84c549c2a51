/* SPDX-License-Identifier: MIT */
/* The model of CUDA: launches. */
#include <string.h>

#include "mock_entry.h"

struct mock_launch *mock_next_launch(CUlaunchAttribute *attributes, unsigned count)
{
    struct mock_launch *launch = &mock.launches[mock.launch_count++ % MOCK_LAUNCHES];
    memset(launch, 0, sizeof(*launch));
    launch->device = mock_current_device();
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
    return launch;
}

CUresult mock_check_attribute(const CUlaunchAttribute *attribute)
{
    static const int since[] = {
        [11] = 12080, [12] = 12030, [14] = 12050, [16] = 13000, [17] = 13020, [18] = 13020};
    const unsigned id = (unsigned)attribute->id;
    /* 3 is a stream's, and 13 a captured launch's only, which this driver cannot do. */
    if (id >= sizeof(since) / sizeof(since[0]) || id == 3 || id == 13 ||
        mock.table.version < since[id]) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return id == 7 || id == 12 ? mock_check_event(attribute->value.programmaticEvent.event)
                               : CUDA_SUCCESS;
}

/* What the real driver checks of a launch, of which unit tests make such that it would refuse. */
static CUresult check(const CUlaunchConfig *config, const int *attributes)
{
    const unsigned threads = config->blockDimX * config->blockDimY * config->blockDimZ;
    const int most = attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES];
    if (config->gridDimX == 0 || config->gridDimY == 0 || config->gridDimZ == 0 || threads == 0 ||
        threads > 1024 || config->sharedMemBytes > (unsigned)most) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUresult result = mock_check_attribute(&config->attrs[i]);
        if (result != CUDA_SUCCESS) {
            return result;
        }
    }
    return CUDA_SUCCESS;
}

/* What is compiled in, or set for the kernel. */
static CUresult check_bounds(const CUlaunchConfig *config, const struct mock_kernel *kernel,
                             const int *attributes)
{
    const unsigned own[3] = {(unsigned)attributes[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH],
                             (unsigned)attributes[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT],
                             (unsigned)attributes[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH]};
    const unsigned *given = NULL;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            given = &config->attrs[i].value.clusterDim.x;
        }
    }
    if (kernel->block[0] != 0 &&
        memcmp(&config->blockDimX, kernel->block, sizeof(kernel->block)) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (given != NULL && kernel->most_cluster != 0 &&
        given[0] * given[1] * given[2] > kernel->most_cluster) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (own[0] == 0) {
        return given == NULL && attributes[CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET] != 0
                   ? CUDA_ERROR_INVALID_CLUSTER_SIZE
                   : CUDA_SUCCESS;
    }
    if (given != NULL && memcmp(given, own, sizeof(own)) != 0) {
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    }
    return !kernel->counts_clusters &&
                   (config->gridDimX % own[0] != 0 || config->gridDimY % own[1] != 0 ||
                    config->gridDimZ % own[2] != 0)
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
}

CUresult mock_launch(const CUlaunchConfig *config, CUfunction function, void **arguments,
                     void **extra)
{
    const int stream_device = mock_stream_device(config->hStream);
    int device = 0;
    const struct mock_kernel *kernel = mock_kernel_of_either(function, &device);
    if (kernel == NULL) {
        return mock_current_device() < 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_HANDLE;
    }
    if (mock_kernel_of_function(function, &device) == NULL) {
        device = stream_device >= 0 ? stream_device : mock_current_device(); /* of a CUkernel */
    } else if (device != mock_current_device()) {
        mock_misused("a function of device %d was launched with device %d current", device,
                     mock_current_device());
    }
    if (device < 0) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    CUresult result = check_bounds(config, kernel, kernel->attributes[device]);
    if (result == CUDA_SUCCESS && mock.is_fake) {
        result = check(config, kernel->attributes[device]);
    }
    if (result != CUDA_SUCCESS) {
        return result;
    }
    struct mock_launch *launch = mock_next_launch(config->attrs, config->numAttrs);
    launch->device = device;
    launch->function = function;
    launch->config = *config;
    launch->arguments = arguments;
    launch->extra = extra;
    mock_see_launch(config, kernel, arguments);
    if (mock.log != NULL) {
        mock_log_launch(config, kernel->name);
    }
    return CUDA_SUCCESS;
}

CUresult mock_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments,
                               void **extra)
{
    MOCK_ENTER(cuLaunchKernelEx);
    return mock_leave(mock_launch(config, function, arguments, extra));
}
