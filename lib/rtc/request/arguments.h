/* SPDX-License-Identifier: MIT */
/* Options of NVRTC: one spelling of each, and what they say about files. */
#ifndef PDL_RTC_ARGUMENTS_H
#define PDL_RTC_ARGUMENTS_H

#include <stdbool.h>

#include <pdl/rtc.h>

/* Options in their canonical form: one string each, one spelling ("-DN=4", "-Idir", "--std=c++17"), in
 * their order. One that is not understood stays as it is. */
struct pdl_rtc_arguments {
    char **items;
    size_t count;
    const char **directories; /* where includes are looked for: those of the items, in order */
    size_t directory_count;
    const char **pre_includes; /* of --pre-include, in order */
    size_t pre_include_count;
    bool unknown; /* one of them may read or write files: what is made with it is not cached */
};

/* What was made before a failure is there to be freed. */
pdl_status pdl_rtc_arguments_make(struct pdl_rtc_arguments *made, const char *const *arguments,
                                  size_t count);
void pdl_rtc_arguments_free(struct pdl_rtc_arguments *arguments);

#endif /* PDL_RTC_ARGUMENTS_H */
