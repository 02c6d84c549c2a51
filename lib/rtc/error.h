/* SPDX-License-Identifier: MIT */
/* Recording what failed: libpdl's thread-local pdl_error, through pdl_error_record(). */
#ifndef PDL_RTC_ERROR_H
#define PDL_RTC_ERROR_H

#include <pdl/pdl.h>

/* Records an error of this thread and returns `status`. `call` and `field` are static strings or NULL;
 * `result` is what `call` returned, 0 without one. */
__attribute__((cold, noinline, format(printf, 5, 6))) pdl_status
pdl_rtc_error_set(pdl_status status, const char *call, const char *field, int32_t result,
                  const char *format, ...);

/* A recorded error is never PDL_SUCCESS: compilers and analyzers are told. */
static inline pdl_status pdl_rtc_error_certain(pdl_status status)
{
    if (status == PDL_SUCCESS) {
        __builtin_unreachable();
    }
    return status;
}
#define RTC_FAIL(status, ...)                                                                      \
    pdl_rtc_error_certain(pdl_rtc_error_set((status), NULL, NULL, 0, __VA_ARGS__))
#define RTC_FAIL_FIELD(status, field, ...)                                                         \
    pdl_rtc_error_certain(pdl_rtc_error_set((status), NULL, (field), 0, __VA_ARGS__))
#define RTC_FAIL_CALL(status, call, result, ...)                                                   \
    pdl_rtc_error_certain(pdl_rtc_error_set((status), (call), NULL, (int32_t)(result), __VA_ARGS__))
#define RTC_NO_MEMORY() RTC_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory")

#endif /* PDL_RTC_ERROR_H */
