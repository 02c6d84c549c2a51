/* SPDX-License-Identifier: MIT */
/* Failed compilations, written to a file for whoever looks into them. */
#ifndef PDL_RTC_DUMP_H
#define PDL_RTC_DUMP_H

#include <stdbool.h>

#include "rtc/request/request.h"

/* Writes source, headers, options, versions and the log to one of 32 files in PDL_RTC_DUMP_DIR, else in
 * `directory`/dumps (NULL: nowhere). True with its name in `path`; false with the reason in it, or with ""
 * where no file is wanted. Does not touch the thread's error. */
bool pdl_rtc_dump(const struct pdl_rtc_request *request, const char *directory, const char *log,
                  char *path, size_t size);

#endif /* PDL_RTC_DUMP_H */
