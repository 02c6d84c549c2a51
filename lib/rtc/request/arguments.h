/* SPDX-License-Identifier: MIT */
/* Options of NVRTC: one spelling of each, and those that are refused. */
#ifndef PDL_RTC_ARGUMENTS_H
#define PDL_RTC_ARGUMENTS_H

#include <pdl/rtc.h>

/* Options in their canonical form: one string each, one spelling ("-DN=4", "-Idir", "--std=c++17"), in
 * their order. Neither target nor what pdl_rtc_flag stands for is among them. */
struct pdl_rtc_arguments {
    char **items;
    size_t count;
    const char **directories; /* where includes are looked for: those of the items, in order */
    size_t directory_count;
    const char **pre_includes; /* of --pre-include, in order */
    size_t pre_include_count;
};

/* What was made before a failure is there to be freed. */
pdl_status pdl_rtc_arguments_make(struct pdl_rtc_arguments *made, const char *const *arguments,
                                  size_t count);
void pdl_rtc_arguments_free(struct pdl_rtc_arguments *arguments);

#endif /* PDL_RTC_ARGUMENTS_H */
