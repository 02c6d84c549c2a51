/* SPDX-License-Identifier: MIT */
/* The error that pdl_inspect_last_error() returns. */
#ifndef PDL_INSPECT_ERROR_H
#define PDL_INSPECT_ERROR_H

#include <pdl/inspect.h>

/* Records an error and returns its status; line 0 for none. */
__attribute__((format(printf, 4, 5), cold)) pdl_status
pdl_inspect_fail(pdl_status status, uint32_t line, uint32_t column, const char *format, ...);

/* Puts the error back that was the last one: a call that succeeds leaves none of its own. */
void pdl_inspect_error_restore(const pdl_inspect_error *error);

/* A recorded error is never PDL_SUCCESS. Compilers and analyzers are told, so that they see that
 * outputs are written where there is no error. */
static inline pdl_status pdl_inspect_certain(pdl_status status)
{
    if (status == PDL_SUCCESS) {
        __builtin_unreachable();
    }
    return status;
}
#define pdl_inspect_fail(...) pdl_inspect_certain(pdl_inspect_fail(__VA_ARGS__))

#endif /* PDL_INSPECT_ERROR_H */
