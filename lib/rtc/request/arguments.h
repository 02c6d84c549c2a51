/* SPDX-License-Identifier: MIT */
/* Options of NVRTC: one spelling of each, and those that are refused. */
#ifndef PDL_RTC_ARGUMENTS_H
#define PDL_RTC_ARGUMENTS_H

#include "rtc/request/request.h"

/* Fills the request's arguments, directories and pre_includes. What was made before a failure is the
 * request's to free. */
pdl_status pdl_rtc_arguments_make(struct pdl_rtc_request *request, const char *const *arguments,
                                  size_t count);

#endif /* PDL_RTC_ARGUMENTS_H */
