/* SPDX-License-Identifier: MIT */
/* Compiling with NVRTC. */
#ifndef PDL_RTC_COMPILE_H
#define PDL_RTC_COMPILE_H

#include "rtc/compile/image.h"

/* Compiles, without any cache. pdl_rtc_log() has what the compiler said. */
pdl_status pdl_rtc_compile_request(const struct pdl_rtc_request *request, pdl_rtc_image **image);

#endif /* PDL_RTC_COMPILE_H */
