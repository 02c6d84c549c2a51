/* SPDX-License-Identifier: MIT */
/* Precompiled headers of NVRTC's automatic mode, see PDL_RTC_PCH.
 *
 * NVRTC does not look at what a header holds when it takes a precompiled one, nor at the lines that the
 * directives before it stand in. Each compilation therefore names a folder that only compilations share in
 * which all of that is the same. A precompiled header is of use in the process that made it alone, so the
 * folders are below a temporary one of the process, TMPDIR/pdl-rtc-pch-XXXXXX, which goes at its exit. */
#ifndef PDL_RTC_PCH_H
#define PDL_RTC_PCH_H

#include "rtc/compiler.h"
#include "rtc/hash.h"
#include "rtc/request/includes.h"

/* A compilation's use of a folder. */
struct pdl_rtc_pch {
    bool on;     /* there is a folder */
    bool making; /* it is new, and nobody else's yet */
    struct pdl_rtc_hash hash;
    struct pdl_rtc_dependencies dependencies;
    char option[4096]; /* "--pch-dir=FOLDER" */
};

/* Finds or makes the folder of a request. Without one (it is not known what the text includes, another
 * compilation is filling the folder, or none can be made) the text is to be compiled without, and `on` is
 * false. */
pdl_status pdl_rtc_pch_begin(struct pdl_rtc_pch *pch, const struct pdl_rtc_request *request,
                             const struct pdl_rtc_compiler *compiler);

/* Ends what begin() began. What is in the folder goes if it is not `good`, or if a file was changed while
 * it was read. */
void pdl_rtc_pch_end(struct pdl_rtc_pch *pch, bool good);

/* How much of a text precompiled headers are made of, at most: all up to the first thing that is neither a
 * directive nor between an #if and its #endif. */
size_t pdl_rtc_pch_prefix(const char *source, size_t size);

/* Removes the process's folders, as its exit does. No compilation may be under way. */
void pdl_rtc_pch_clear(void);

#endif /* PDL_RTC_PCH_H */
