/* SPDX-License-Identifier: MIT */
/* Recording what failed: the thread's pdl_error. */
#ifndef PDL_LIB_ERROR_H
#define PDL_LIB_ERROR_H

#include <pdl/pdl.h>

#include "os/compiler.h"

/* Where an error comes from. Unset members are 0 or NULL. */
struct pdl_error_source {
    const char *call;    /* static string */
    const char *field;   /* static string */
    int32_t cuda_result; /* what `call` returned */
};

/* Records an error on this thread and returns `status`. Called once an error, by the function that
 * first classifies it. */
PDL_COLD PDL_PRINTF(3, 4) pdl_status
    pdl_error_set(pdl_status status, struct pdl_error_source source, const char *format, ...);

/* Puts back what pdl_last_error() gave before a call whose failure is none of the caller's. */
void pdl_error_restore(const pdl_error *error);

/* A recorded error is never PDL_SUCCESS. Compilers and analyzers are told, so that they see that
 * outputs are written where there is no error. */
static inline pdl_status pdl_error_certain(pdl_status status)
{
    if (status == PDL_SUCCESS) {
        PDL_UNREACHABLE();
    }
    return status;
}
#define pdl_error_set(...) pdl_error_certain(pdl_error_set(__VA_ARGS__))

/* Shorthands for the common sources. */
#define PDL_FAIL(status, ...) pdl_error_set((status), (struct pdl_error_source){0}, __VA_ARGS__)
#define PDL_FAIL_FIELD(status, name, ...)                                                          \
    pdl_error_set((status), (struct pdl_error_source){.field = (name)}, __VA_ARGS__)
#define PDL_FAIL_CALL(status, name, result, ...)                                                   \
    pdl_error_set((status),                                                                        \
                  (struct pdl_error_source){.call = (name), .cuda_result = (int32_t)(result)},     \
                  __VA_ARGS__)
#define PDL_NO_MEMORY() PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory")

#endif /* PDL_LIB_ERROR_H */
