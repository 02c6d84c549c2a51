/* SPDX-License-Identifier: MIT */
/* Folders of caches: which, made, and opened if they may be trusted. */
#ifndef PDL_RTC_DIRECTORY_H
#define PDL_RTC_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include <pdl/pdl.h>

/* The folder of the default cache as the environment says, made by nobody yet; NULL if there is none. The
 * caller frees it. PDL_ERROR_OUT_OF_MEMORY. */
pdl_status pdl_rtc_directory_default(char **directory);

/* Makes a folder and those above it, for the user alone. False with errno. */
bool pdl_rtc_directory_make(const char *directory);

/* Opens a folder, with more `flags` of open(), if it is the user's (one that is only read: or root's) and
 * nobody else may write to it. -1 with errno, and with the reason in `why`, if not. */
int pdl_rtc_directory_open(int at, const char *name, int flags, bool read_only, char *why,
                           size_t why_size);

/* Whether a file or a folder is the user's (one that is only read: or root's), and nobody else may write to it. */
bool pdl_rtc_directory_trusts(const struct stat *about, bool read_only);

#endif /* PDL_RTC_DIRECTORY_H */
