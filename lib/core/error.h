/* SPDX-License-Identifier: MIT */
/* Recording what failed: the thread's pdl_error. */
#ifndef PDL_LIB_ERROR_H
#define PDL_LIB_ERROR_H

#include <pdl/pdl.h>

#include "os/compiler.h"

/* Records an error on this thread and returns `status`. Called once an error, by the function that
 * first classifies it. `call` and `field`, static strings or NULL, are where it comes from; `result` is what `call`
 * returned, or 0. They are no struct, because passing one takes more code at each of many places. */
PDL_COLD PDL_PRINTF(5, 6) pdl_status
    pdl_error_set(pdl_status status, const char *call, const char *field, int32_t result,
                  const char *format, ...);

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
#define PDL_FAIL(status, ...)             pdl_error_set((status), NULL, NULL, 0, __VA_ARGS__)
#define PDL_FAIL_FIELD(status, name, ...) pdl_error_set((status), NULL, (name), 0, __VA_ARGS__)
#define PDL_FAIL_CALL(status, name, result, ...)                                                   \
    pdl_error_set((status), (name), NULL, (int32_t)(result), __VA_ARGS__)
#define PDL_NO_MEMORY() PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory")

/* Returns the status of a call that failed, from a function that has nothing to clean up. */
#define PDL_RETURN_IF_ERROR(call)                                                                  \
    do {                                                                                           \
        const pdl_status status_ = (call);                                                         \
        if (status_ != PDL_SUCCESS) {                                                              \
            return status_;                                                                        \
        }                                                                                          \
    } while (0)

#endif /* PDL_LIB_ERROR_H */
