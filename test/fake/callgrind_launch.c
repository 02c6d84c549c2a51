/* SPDX-License-Identifier: MIT */
/* Launches a kernel as often as told, with one attribute (the overlap or, if told so, cooperative), for
 * callgrind_launch.py. */
#include <pdl/pdl.h>

#include "../cuda/from_image.h"
#include "driver_calls.h"

int main(int argc, char **argv)
{
    CUcontext context = NULL;
    CUmodule module = NULL;
    CUfunction function = NULL;
    CUstream stream = NULL;
    pdl_kernel *kernel = NULL;
    int value = 1;
    const long launches = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    const uint32_t cooperative = argc > 2 && strcmp(argv[2], "cooperative") == 0;

    DRIVER_CALL(cuInit, (unsigned), 0);
    DRIVER_CALL(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice), &context, 0);
    DRIVER_CALL(cuCtxSetCurrent, (CUcontext), context);
    DRIVER_CALL(cuModuleLoadData, (CUmodule *, const void *), &module, TEST_PTX);
    DRIVER_CALL(cuModuleGetFunction, (CUfunction *, CUmodule, const char *), &function, module,
                "fc1");
    DRIVER_CALL(cuStreamCreate, (CUstream *, unsigned), &stream, 0);
    if (kernel_from_function_image(function, TEST_PTX, sizeof(TEST_PTX), &kernel) != PDL_SUCCESS) {
        fprintf(stderr, "%s\n", pdl_last_error()->message);
        return 2;
    }
    for (long i = 0; i < launches; i++) {
        if (pdl_launch(
                kernel,
                &PDL_LAUNCH_DESC(.grid = {132}, .block = {256}, .stream = stream,
                                 .overlap = cooperative ? PDL_OVERLAP_NONE : PDL_OVERLAP_REQUIRE,
                                 .cooperative = cooperative),
                PDL_ARGS(value)) != PDL_SUCCESS) {
            fprintf(stderr, "%s\n", pdl_last_error()->message);
            return 2;
        }
    }
    pdl_kernel_destroy(kernel);
    DRIVER_CALL(cuStreamDestroy_v2, (CUstream), stream);
    DRIVER_CALL(cuModuleUnload, (CUmodule), module);
    DRIVER_CALL(cuDevicePrimaryCtxRelease_v2, (CUdevice), 0);
    return 0;
}
