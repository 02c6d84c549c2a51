/* SPDX-License-Identifier: MIT */
/* The functions that the driver and CUDA's device runtime supply to kernels. Shared by libpdl and
 * libpdl-inspect. */
#ifndef PDL_CODE_SYSTEM_H
#define PDL_CODE_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum pdl_system {
    PDL_SYSTEM_UNKNOWN,  /* none of them */
    PDL_SYSTEM_HARMLESS, /* it does not wait, trigger or touch the program's memory */
    PDL_SYSTEM_WAIT,     /* griddepcontrol.wait */
    PDL_SYSTEM_TRIGGER,  /* griddepcontrol.launch_dependents */
    PDL_SYSTEM_BARRIER,  /* of the grid */
    PDL_SYSTEM_LAUNCH    /* of a kernel, which touches memory; it does not wait itself */
};

static inline enum pdl_system pdl_code_system(const char *name, size_t length)
{
    static const struct {
        const char *name;
        enum pdl_system is;
    } functions[] = {
        {"vprintf", PDL_SYSTEM_HARMLESS},
        {"malloc", PDL_SYSTEM_HARMLESS},
        {"free", PDL_SYSTEM_HARMLESS},
        {"__assertfail", PDL_SYSTEM_HARMLESS},
        {"__nv_aligned_device_malloc", PDL_SYSTEM_HARMLESS},
        {"__cxa_pure_virtual", PDL_SYSTEM_HARMLESS},
        {"cudaCGGetIntrinsicHandle", PDL_SYSTEM_HARMLESS},
        {"cudaCGGetSize", PDL_SYSTEM_HARMLESS},
        {"cudaCGGetRank", PDL_SYSTEM_HARMLESS},
        {"cudaGetParameterBuffer", PDL_SYSTEM_HARMLESS},
        {"cudaGetParameterBufferV2", PDL_SYSTEM_HARMLESS},
        {"cudaMalloc", PDL_SYSTEM_HARMLESS},
        {"cudaFree", PDL_SYSTEM_HARMLESS},
        {"cudaGetLastError", PDL_SYSTEM_HARMLESS},
        {"cudaPeekAtLastError", PDL_SYSTEM_HARMLESS},
        {"cudaGetErrorString", PDL_SYSTEM_HARMLESS},
        {"cudaGetErrorName", PDL_SYSTEM_HARMLESS},
        {"cudaGetDevice", PDL_SYSTEM_HARMLESS},
        {"cudaGetDeviceCount", PDL_SYSTEM_HARMLESS},
        {"cudaDeviceGetAttribute", PDL_SYSTEM_HARMLESS},
        {"cudaDeviceGetLimit", PDL_SYSTEM_HARMLESS},
        {"cudaStreamCreateWithFlags", PDL_SYSTEM_HARMLESS},
        {"cudaStreamDestroy", PDL_SYSTEM_HARMLESS},
        {"cudaGridDependencySynchronize", PDL_SYSTEM_WAIT},
        {"cudaTriggerProgrammaticLaunchCompletion", PDL_SYSTEM_TRIGGER},
        {"cudaCGSynchronize", PDL_SYSTEM_BARRIER},
        {"cudaCGSynchronizeGrid", PDL_SYSTEM_BARRIER},
        {"cudaLaunchDevice", PDL_SYSTEM_LAUNCH},
        {"cudaLaunchDeviceV2", PDL_SYSTEM_LAUNCH},
        {"cudaGraphLaunch", PDL_SYSTEM_LAUNCH},
        {"cudaMemcpyAsync", PDL_SYSTEM_LAUNCH},
        {"cudaMemsetAsync", PDL_SYSTEM_LAUNCH},
    };
    /* Names as compilers write them: __cudaCDP2GetDevice, cudaLaunchDevice_ptsz. */
    static const char prefix[] = "__cudaCDP2", stream[] = "_ptsz";
    const size_t prefix_length = sizeof(prefix) - 1, stream_length = sizeof(stream) - 1;
    size_t skipped = 0;
    if (length > prefix_length && memcmp(name, prefix, prefix_length) == 0) {
        name += prefix_length;
        length -= prefix_length;
        skipped = strlen("cuda");
    }
    if (length > stream_length &&
        memcmp(name + length - stream_length, stream, stream_length) == 0) {
        length -= stream_length;
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        const char *known = functions[i].name;
        if (strlen(known) == skipped + length && memcmp(known, "cuda", skipped) == 0 &&
            memcmp(known + skipped, name, length) == 0) {
            return functions[i].is;
        }
    }
    return PDL_SYSTEM_UNKNOWN;
}

/* Whether a function touches no memory of the program's, and does not wait or trigger. */
static inline bool pdl_code_is_system(const char *name, size_t length)
{
    return pdl_code_system(name, length) == PDL_SYSTEM_HARMLESS;
}

#endif /* PDL_CODE_SYSTEM_H */
