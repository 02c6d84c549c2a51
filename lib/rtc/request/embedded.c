/* SPDX-License-Identifier: MIT */
#include "rtc/request/embedded.h"

/* The build makes these of the files (pdl_embed, which ends each by a NUL). */
extern const char pdl_rtc_embedded_device[];
extern const char pdl_rtc_embedded_types[];
extern const char pdl_rtc_embedded_vector[];

const pdl_rtc_header pdl_rtc_embedded[PDL_RTC_EMBEDDED] = {
    {"pdl/device.cuh", pdl_rtc_embedded_device},
    {"pdl/types.cuh", pdl_rtc_embedded_types},
    {"pdl/vector.cuh", pdl_rtc_embedded_vector},
};
