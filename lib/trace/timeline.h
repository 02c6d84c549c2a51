/* SPDX-License-Identifier: MIT */
/* Timelines: what the object holds. */
#ifndef PDL_LIB_TIMELINE_H
#define PDL_LIB_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>

#include <pdl/timeline.h>

/* The blocks of a launch in short. The times mean something only if there are blocks. */
struct pdl_timeline_launch {
    uint32_t kernel; /* index of its name */
    uint32_t track;
    uint64_t blocks;
    uint64_t waits;       /* blocks that waited */
    uint64_t triggers;    /* blocks that triggered */
    int64_t start_ns;     /* first */
    int64_t end_ns;       /* last */
    int64_t waited_ns;    /* the last return from a wait; PDL_TIMELINE_NONE if !waits */
    int64_t triggered_ns; /* the last trigger; PDL_TIMELINE_NONE if !triggers */
    int64_t blocked_ns;   /* of all blocks together */
};

/* Strings, each once, in the order of their coming. */
struct pdl_timeline_names {
    char **names;
    uint32_t count;
    size_t room;
};

struct pdl_timeline {
    struct pdl_timeline_names kernels;
    struct pdl_timeline_names tracks;
    struct pdl_timeline_names notes; /* what else the outputs should say, a sentence each */
    struct pdl_timeline_launch *launches;
    uint32_t launch_count;
    size_t launch_room;
    pdl_timeline_block *blocks;
    uint64_t block_count;
    size_t block_room;
    uint64_t lost;
};

/* Refuses NULL. */
pdl_status pdl_timeline_need(const pdl_timeline *timeline);

/* All tracks. */
#define PDL_TIMELINE_ALL UINT32_MAX

/* The launch's blocks spent this long in waits, the mean of a block. */
int64_t pdl_timeline_blocked(const struct pdl_timeline_launch *launch);

/* The first start and the last end of a track's blocks, or of all; false if it has none. */
bool pdl_timeline_span(const struct pdl_timeline *timeline, uint32_t track, int64_t *start_ns,
                       int64_t *end_ns);

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
