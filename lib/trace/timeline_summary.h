/* SPDX-License-Identifier: MIT */
/* What a timeline comes to, in numbers and in words. */
#ifndef PDL_LIB_TIMELINE_SUMMARY_H
#define PDL_LIB_TIMELINE_SUMMARY_H

#include "trace/layout.h"
#include "trace/timeline.h"

/* "12.73 µs, overlap 2.71 µs (33.9 %), gaps 0.00 µs, SMs busy 64.9 %" of a track, and "The stamps of 3 blocks were
 * lost." */
#define PDL_TIMELINE_SENTENCE 256
pdl_status pdl_timeline_describe(const struct pdl_timeline *timeline, uint32_t track,
                                 char text[PDL_TIMELINE_SENTENCE]);
void pdl_timeline_describe_lost(const struct pdl_timeline *timeline,
                                char text[PDL_TIMELINE_SENTENCE]);

/* How the second of two tracks compares with the first, where both run the same kernels in the same order: "PDL: 16.1 →
 * 12.9 µs, 1.25× faster". False where there is nothing to compare. */
bool pdl_timeline_compare(const struct pdl_timeline *timeline, char text[PDL_TIMELINE_SENTENCE]);

/* Of microseconds, after the point. */
int pdl_timeline_digits(int64_t span_ns);

#endif /* PDL_LIB_TIMELINE_SUMMARY_H */
