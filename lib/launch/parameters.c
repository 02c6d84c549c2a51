/* SPDX-License-Identifier: MIT */
/* The parameters of a kernel, as the driver tells them, and arguments compared with them. */
#include <stdlib.h>

#include "core/array.h"
#include "core/error.h"
#include "launch/kernel.h"

/* CUDA_ERROR_INVALID_VALUE past the last one. */
static CUresult ask_place(const pdl_kernel *kernel, CUfunction handle, size_t index,
                          struct pdl_place *place)
{
    const struct pdl_driver *const driver = kernel->driver;
    return kernel->kind == PDL_KERNEL_KERNEL
               ? driver->cuKernelGetParamInfo((CUkernel)handle, index, &place->offset, &place->size)
               : driver->cuFuncGetParamInfo(handle, index, &place->offset, &place->size);
}

pdl_status pdl_kernel_parameters(const pdl_kernel *kernel, struct pdl_place **places, size_t *count)
{
    struct pdl_place *asked = NULL;
    size_t room = 0;
    size_t known = 0;
    CUfunction handle;
    CUresult result = CUDA_SUCCESS;
    pdl_status status = pdl_kernel_handle(kernel, &handle);
    while (status == PDL_SUCCESS && result == CUDA_SUCCESS) {
        if (!PDL_ARRAY_ROOM(asked, known, room)) {
            status =
                PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for %zu parameter sizes", known + 1);
        } else {
            result = ask_place(kernel, handle, known, &asked[known]);
            known += result == CUDA_SUCCESS;
        }
    }
    if (status == PDL_SUCCESS && result != CUDA_ERROR_INVALID_VALUE) { /* which ends the list */
        status = pdl_error_from_cuda(kernel->driver,
                                     kernel->kind == PDL_KERNEL_KERNEL ? "cuKernelGetParamInfo"
                                                                       : "cuFuncGetParamInfo",
                                     (int32_t)result, "to learn a kernel's parameters");
    }
    if (status != PDL_SUCCESS) {
        free(asked);
        return status;
    }
    *places = asked;
    *count = known;
    return PDL_SUCCESS;
}

pdl_status pdl_kernel_compare_sizes(const pdl_kernel *kernel, const size_t *given,
                                    size_t given_count, const struct pdl_place *asked,
                                    size_t asked_count)
{
    if (given_count != asked_count) {
        return PDL_FAIL_FIELD(PDL_ERROR_ARGUMENT_SIZE, "sizes",
                              "%zu argument sizes are given and kernel %s has %zu parameters",
                              given_count, pdl_kernel_name(kernel), asked_count);
    }
    for (size_t i = 0; i < given_count; i++) {
        if (given[i] != asked[i].size) {
            return PDL_FAIL_FIELD(PDL_ERROR_ARGUMENT_SIZE, "sizes",
                                  "argument %zu has %zu bytes and kernel %s takes %zu", i, given[i],
                                  pdl_kernel_name(kernel), asked[i].size);
        }
    }
    return PDL_SUCCESS;
}

pdl_status pdl_kernel_check_args(pdl_kernel *kernel, const size_t *sizes, size_t count)
{
    struct pdl_place *places = NULL;
    size_t asked = 0;
    if (kernel == NULL || (sizes == NULL && count > 0)) {
        const char *const missing = kernel == NULL ? "kernel" : "sizes";
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, missing, "%s is NULL", missing);
    }
    if (!pdl_driver_has_parameters(kernel->driver)) {
        return PDL_SUCCESS;
    }
    pdl_status status = pdl_kernel_parameters(kernel, &places, &asked);
    if (status == PDL_SUCCESS) {
        status = pdl_kernel_compare_sizes(kernel, sizes, count, places, asked);
    }
    free(places);
    return status;
}
