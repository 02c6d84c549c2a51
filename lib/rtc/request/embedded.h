/* SPDX-License-Identifier: MIT */
/* libpdl's own device headers, which a text may include. */
#ifndef PDL_RTC_EMBEDDED_H
#define PDL_RTC_EMBEDDED_H

#include <pdl/rtc.h>

enum { PDL_RTC_EMBEDDED = 3 };

/* "pdl/device.cuh" and those beside it. */
extern const pdl_rtc_header pdl_rtc_embedded[PDL_RTC_EMBEDDED];

#endif /* PDL_RTC_EMBEDDED_H */
