/* SPDX-License-Identifier: MIT */
/* A compilation that was asked for: checked, and in a form in which equal ones are equal. */
#ifndef PDL_RTC_REQUEST_H
#define PDL_RTC_REQUEST_H

#include <stdbool.h>

#include "rtc/request/arguments.h"

enum { PDL_RTC_TARGET_SIZE = 16, PDL_RTC_SOURCE_MAX = 64 << 20, PDL_RTC_COUNT_MAX = 1 << 20 };

/* A target's name in parts: "sm_90a". */
struct pdl_rtc_target {
    bool real; /* sm_, else compute_ */
    int number;
    char suffix; /* 'a', 'f' or NUL */
};
bool pdl_rtc_target_parse(const char *target, struct pdl_rtc_target *parts);

/* The texts are the caller's; the arrays and the strings that were made are the request's. */
struct pdl_rtc_request {
    const char *program; /* never NULL */
    const char *source;
    size_t source_size;
    char target[PDL_RTC_TARGET_SIZE]; /* "sm_90a", "compute_90" */
    uint32_t output;                  /* CUBIN or PTX, never DEFAULT */
    uint32_t flags;
    struct pdl_rtc_arguments arguments;
    const char **names; /* name expressions, ascending, each once, blanks trimmed */
    size_t name_count;
    const pdl_rtc_header *headers; /* the caller's; the embedded ones come after them */
    size_t header_count;
    /* The folder of the cache that compiles it, which failures are written below; NULL: the default
     * cache's. The caller's, set after pdl_rtc_request_make(); it is no part of what is compiled. */
    const char *cache_directory;
};

/* `name` is one more name expression, or NULL. */
pdl_status pdl_rtc_request_make(struct pdl_rtc_request *request, const char *program,
                                const char *source, const pdl_rtc_options *options,
                                const char *name);
void pdl_rtc_request_free(struct pdl_rtc_request *request);

#endif /* PDL_RTC_REQUEST_H */
