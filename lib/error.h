/* SPDX-License-Identifier: MIT */
/* Recording what failed: the thread's pdl_error. */
#ifndef PDL_LIB_ERROR_H
#define PDL_LIB_ERROR_H

#include <pdl/pdl.h>

struct pdl_driver;

/* Where an error comes from. Unset members are 0 or NULL. */
struct pdl_error_source {
    const char *call;  /* static string */
    const char *field; /* static string */
    int32_t cuda_result;
};

/* Records an error on this thread and returns `status`. Called once an error, by the function that first
 * classifies it. */
__attribute__((format(printf, 3, 4))) pdl_status
pdl_error_set(pdl_status status, struct pdl_error_source source, const char *format, ...);

/* Shorthands for the common sources. */
#define PDL_FAIL(status, ...) pdl_error_set((status), (struct pdl_error_source){0}, __VA_ARGS__)
#define PDL_FAIL_FIELD(status, name, ...)                                                          \
    pdl_error_set((status), (struct pdl_error_source){.field = (name)}, __VA_ARGS__)

/* Classifies the result of a CUDA call that has no meaning of its own to the caller: "cuX failed: NAME"
 * and what was being done. */
pdl_status pdl_error_from_cuda(const struct pdl_driver *driver, const char *call, int32_t result,
                               const char *doing);

/* Records a copy of an error, for outcomes that are kept and told again. */
pdl_status pdl_error_repeat(const pdl_error *error);

#endif /* PDL_LIB_ERROR_H */
