/* SPDX-License-Identifier: MIT */
/* What a timeline comes to. */
#ifndef PDL_LIB_TIMELINE_SUMMARY_H
#define PDL_LIB_TIMELINE_SUMMARY_H

#include "trace/timeline.h"

/* pdl_timeline_summarize() by number. Into *summary as this library knows it. */
pdl_status pdl_timeline_measure(const struct pdl_timeline *timeline, uint32_t track,
                                pdl_timeline_summary *summary);

/* The SMs that have blocks, in ascending order: *sms is malloced, NULL if there are none. */
pdl_status pdl_timeline_sms(const struct pdl_timeline *timeline, uint32_t **sms, uint32_t *count);

/* Times of one group: all, a launch or an SM. */
struct pdl_timeline_interval {
    uint32_t group;
    int64_t start_ns;
    int64_t end_ns;
};

/* When each SM had blocks of a track: *intervals is malloced, apart from each other, a group per SM. */
pdl_status pdl_timeline_sm_times(const struct pdl_timeline *timeline, uint32_t track,
                                 struct pdl_timeline_interval **intervals, size_t *count);

#endif /* PDL_LIB_TIMELINE_SUMMARY_H */
