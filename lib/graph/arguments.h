/* SPDX-License-Identifier: MIT */
/* Copies of kernel arguments. */
#ifndef PDL_LIB_ARGUMENTS_H
#define PDL_LIB_ARGUMENTS_H

#include <string.h>

#include "core/error.h"
#include "launch/kernel.h"

/* A copy of a launch's arguments, as the driver takes them, and room for the next one. One block of
 * memory. */
struct pdl_arguments {
    size_t count;
    size_t *sizes;   /* bytes each */
    void **pointers; /* to the values that are in force */
    void **spare;    /* to as much room */
    size_t bytes;    /* from the first to the last, as the kernel takes them */
    void *extra[5];  /* the driver's list for that */
};

/* Asks the driver for the sizes of a kernel's parameters, compares them with `sizes` if that is not NULL,
 * and copies the values. The caller frees *arguments. */
pdl_status pdl_arguments_copy(pdl_kernel *kernel, void *const *args, const size_t *sizes,
                              size_t count, struct pdl_arguments **arguments);

/* Refuses a missing argument. */
PDL_COLD pdl_status pdl_arguments_missing(const struct pdl_arguments *arguments, size_t index);

/* Copies values to the spare room. Most are numbers and pointers of 4 or 8 bytes. */
static inline pdl_status pdl_arguments_stage(struct pdl_arguments *arguments, void *const *args)
{
    for (size_t i = 0; i < arguments->count; i++) {
        if (args == NULL || args[i] == NULL) {
            return pdl_arguments_missing(arguments, i);
        }
        switch (arguments->sizes[i]) {
        case 4:
            memcpy(arguments->spare[i], args[i], 4);
            break;
        case 8:
            memcpy(arguments->spare[i], args[i], 8);
            break;
        default:
            memcpy(arguments->spare[i], args[i], arguments->sizes[i]);
            break;
        }
    }
    return PDL_SUCCESS;
}

/* Passes what was staged. The driver copies the values at once faster than one by one, and refuses that for
 * cooperative kernels. */
static inline void pdl_arguments_pass(struct pdl_arguments *arguments, bool cooperative,
                                      CUDA_KERNEL_NODE_PARAMS *params)
{
    const bool packed = arguments->bytes > 0 && !cooperative;
    if (packed) {
        arguments->extra[1] = arguments->spare[0];
    }
    params->kernelParams = packed ? NULL : arguments->spare;
    params->extra = packed ? arguments->extra : NULL;
}

/* Puts what was staged in force. */
static inline void pdl_arguments_commit(struct pdl_arguments *arguments)
{
    void **const staged = arguments->spare;
    arguments->spare = arguments->pointers;
    arguments->pointers = staged;
}

#endif /* PDL_LIB_ARGUMENTS_H */
