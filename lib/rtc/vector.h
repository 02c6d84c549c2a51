/* SPDX-License-Identifier: MIT */
/* The arithmetic of pdl_vector_plan_make(), for any device. */
#ifndef PDL_RTC_VECTOR_H
#define PDL_RTC_VECTOR_H

#include <pdl/vector.h>

/* As pdl_vector_plan_make(), with a plan that is this library's and all of which is written. */
pdl_status pdl_rtc_vector_shape(const pdl_device_info *device, const pdl_vector_operand *operands,
                                size_t count, int64_t rows, int64_t columns, pdl_vector_plan *plan);

#endif /* PDL_RTC_VECTOR_H */
