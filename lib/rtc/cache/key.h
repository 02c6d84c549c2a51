/* SPDX-License-Identifier: MIT */
/* What a compiled text is found by. */
#ifndef PDL_RTC_KEY_H
#define PDL_RTC_KEY_H

#include "rtc/compiler.h"
#include "rtc/hash.h"
#include "rtc/request/includes.h"

/* Changes with whatever changes what is made of the same request, and with the format of a file. */
enum { PDL_RTC_SCHEMA = 2 };

struct pdl_rtc_key {
    /* All but the compiler: schema, output, target, flags, arguments, names, program,
     * source, headers, the embedded ones, what is included from disk. */
    struct pdl_rtc_hash text;
    struct pdl_rtc_hash check; /* the same bytes with another seed: kept in the file and compared */
    uint64_t compilers;        /* the identity of NVRTC; 0: not known */
};

/* `compiler` is NULL where there is none. */
void pdl_rtc_key_make(const struct pdl_rtc_request *request,
                      const struct pdl_rtc_dependencies *dependencies,
                      const struct pdl_rtc_compiler *compiler, struct pdl_rtc_key *key);

#endif /* PDL_RTC_KEY_H */
