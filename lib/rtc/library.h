/* SPDX-License-Identifier: MIT */
/* Finding and opening a library of the toolkit. */
#ifndef PDL_RTC_LIBRARY_H
#define PDL_RTC_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include <pdl/rtc.h>

#include "os/environment.h"

/* What tells two builds of a library apart: its ELF build id, or what else there is (its file's size and
 * version). */
struct pdl_rtc_identity {
    unsigned char bytes[32];
    size_t size;
};

/* Where a library is looked for. */
struct pdl_rtc_library_names {
    const struct pdl_variable *variable; /* the environment's, with the only file that is tried */
    const char *sonames[4];              /* the newest first, then NULL */
    const char *marker;                  /* a symbol that it must have */
};

/* Opens it: a handle of dlopen(), and with it in `path` what was opened. NULL, with what was tried and why
 * it failed in `why`, otherwise. */
void *pdl_rtc_library_open(const struct pdl_rtc_library_names *names, char *path, size_t path_size,
                           char *why, size_t why_size);

/* Opens NAME for good in the folder that an open library's file, or what that is a link to, is in. What that
 * library opens by its name alone is this one from then on, and not what the loader's paths have, if
 * anything. Where it is not there nothing happens. */
void pdl_rtc_library_open_beside(const char *path, const char *name);

/* Tells the build of the library that has that symbol, whose version is `number`. */
void pdl_rtc_library_identify(void *symbol, int number, struct pdl_rtc_identity *identity);

#endif /* PDL_RTC_LIBRARY_H */
