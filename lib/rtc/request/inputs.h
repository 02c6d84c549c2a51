/* SPDX-License-Identifier: MIT */
/* All that a compilation reads, as bytes to be hashed. */
#ifndef PDL_RTC_INPUTS_H
#define PDL_RTC_INPUTS_H

#include "rtc/hash.h"
#include "rtc/request/includes.h"

/* Adds what a compilation depends on: all of the request, of its text the first `source_size` bytes, but the
 * names; and what is included from disk. */
void pdl_rtc_inputs_add(struct pdl_rtc_sequence *sequence, const struct pdl_rtc_request *request,
                        size_t source_size, const struct pdl_rtc_dependencies *dependencies);

/* Adds strings, and how many they are. */
void pdl_rtc_inputs_add_texts(struct pdl_rtc_sequence *sequence, const char *const *texts,
                              size_t count);

#endif /* PDL_RTC_INPUTS_H */
