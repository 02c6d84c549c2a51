/* SPDX-License-Identifier: MIT */
/* What a compiled text is found by. */
#ifndef PDL_RTC_KEY_H
#define PDL_RTC_KEY_H

#include "rtc/compiler.h"
#include "rtc/hash.h"
#include "rtc/linker.h"
#include "rtc/request/includes.h"

/* Changes with whatever changes what is made of the same request, and with the format of a file. */
enum { PDL_RTC_SCHEMA = 2 };

struct pdl_rtc_key {
    /* All but the compilers: schema, output, target, flags, instrumentation, arguments, names, program,
     * source, headers, the embedded ones, what is included from disk. */
    struct pdl_rtc_hash text;
    struct pdl_rtc_hash check; /* the same bytes with another seed: kept in the file and compared */
    uint64_t compilers; /* the identities of NVRTC, and where it links of nvJitLink; 0: not known */
};

/* `linker` is NULL where the output does not need it, `compiler` where there is none. */
pdl_status pdl_rtc_key_make(const struct pdl_rtc_request *request,
                            const struct pdl_rtc_dependencies *dependencies,
                            const struct pdl_rtc_compiler *compiler,
                            const struct pdl_rtc_linker *linker, struct pdl_rtc_key *key);

#endif /* PDL_RTC_KEY_H */
