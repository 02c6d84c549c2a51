/* SPDX-License-Identifier: MIT */
/* Timelines: what the object holds. */
#ifndef PDL_LIB_TIMELINE_H
#define PDL_LIB_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>

#include <pdl/timeline.h>

#include "trace/names.h"

/* The blocks of a launch in short. The times mean something only if there are blocks. */
struct pdl_timeline_launch {
    uint32_t kernel; /* index of its name */
    uint32_t track;
    uint64_t blocks;
    int64_t start_ns;     /* first */
    int64_t end_ns;       /* last */
    int64_t wait_ns;      /* the first that began; PDL_TIMELINE_NONE: no block waited */
    int64_t waited_ns;    /* the first that returned: all do when the launch before has ended */
    int64_t triggered_ns; /* the last trigger; PDL_TIMELINE_NONE: none */
    int64_t blocked_ns;   /* of all blocks together */
    uint32_t next;        /* launch of the track; PDL_TIMELINE_END: there is none */
    uint32_t first_block; /* likewise */
    uint32_t last_block;
};

/* The launches of a track: each leads to the next one, so that a track is as cheap to sum up among many. */
struct pdl_timeline_track {
    uint32_t first;
    uint32_t last;
};

/* Of SMs. */
#define PDL_TIMELINE_SMS_MOST 65536u

struct pdl_timeline {
    struct pdl_names kernels;
    struct pdl_names tracks;
    struct pdl_timeline_track *launches_of; /* each track */
    size_t track_room;
    struct pdl_names notes; /* what else the outputs should say, a sentence each */
    struct pdl_timeline_launch *launches;
    uint32_t launch_count;
    size_t launch_room;
    pdl_timeline_block *blocks;
    uint32_t *next_blocks; /* of each block: the next one of its launch */
    size_t next_room;
    uint64_t block_count;
    size_t block_room;
    uint64_t lost;
    uint32_t sm_count; /* those that have blocks */
    bool sms[PDL_TIMELINE_SMS_MOST];
};

/* Refuses NULL. */
pdl_status pdl_timeline_need(const pdl_timeline *timeline);

/* All tracks. */
#define PDL_TIMELINE_ALL UINT32_MAX

/* No launch, no block. */
#define PDL_TIMELINE_END UINT32_MAX

/* The launches of a track, or of all. */
static inline uint32_t pdl_timeline_first(const struct pdl_timeline *timeline, uint32_t track)
{
    if (track != PDL_TIMELINE_ALL) {
        return timeline->launches_of[track].first;
    }
    return timeline->launch_count > 0 ? 0 : PDL_TIMELINE_END;
}
static inline uint32_t pdl_timeline_next(const struct pdl_timeline *timeline, uint32_t track,
                                         uint32_t launch)
{
    if (track != PDL_TIMELINE_ALL) {
        return timeline->launches[launch].next;
    }
    return launch + 1 < timeline->launch_count ? launch + 1 : PDL_TIMELINE_END;
}
#define PDL_TIMELINE_EACH(timeline, track, launch)                                                 \
    for (uint32_t launch = pdl_timeline_first(timeline, track); launch != PDL_TIMELINE_END;        \
         launch = pdl_timeline_next(timeline, track, launch))

/* The launch's blocks spent this long in waits, the mean of a block. */
int64_t pdl_timeline_blocked(const struct pdl_timeline_launch *launch);

/* The first start and the last end of a track's blocks, or of all; false if it has none. */
bool pdl_timeline_span(const struct pdl_timeline *timeline, uint32_t track, int64_t *start_ns,
                       int64_t *end_ns);

/* A launch, as if it were one block: from the first start to the last end. */
pdl_timeline_block pdl_timeline_whole(const struct pdl_timeline *timeline, uint32_t launch);

/* A launch or a block in its lane: of those of a track, or of those of an SM. */
struct pdl_timeline_slot {
    uint32_t track;
    uint32_t lane;
    pdl_timeline_block times;
};

/* All launches with blocks, or all blocks: by track, then by SM, then by start. *slots is malloced. */
pdl_status pdl_timeline_launch_slots(const struct pdl_timeline *timeline,
                                     struct pdl_timeline_slot **slots, size_t *count);
pdl_status pdl_timeline_block_slots(const struct pdl_timeline *timeline,
                                    struct pdl_timeline_slot **slots, size_t *count);

/* a + b, as near as the type comes to it. */
static inline int64_t pdl_timeline_sum(int64_t a, int64_t b)
{
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum)) {
        return sum;
    }
    return a < 0 ? INT64_MIN : INT64_MAX;
}

#endif /* PDL_LIB_TIMELINE_H */
