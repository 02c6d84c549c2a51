/* SPDX-License-Identifier: MIT */
/* libpdl's own device headers, whose text the build puts beside this (pdl_embed, which ends it by a NUL). */
#include "rtc/request/request.h"

extern const char pdl_rtc_embedded_device[];
extern const char pdl_rtc_embedded_types[];
extern const char pdl_rtc_embedded_vector[];

const pdl_rtc_header pdl_rtc_embedded[] = {
    {"pdl/device.cuh", pdl_rtc_embedded_device},
    {"pdl/types.cuh", pdl_rtc_embedded_types},
    {"pdl/vector.cuh", pdl_rtc_embedded_vector},
    {NULL, NULL},
};
