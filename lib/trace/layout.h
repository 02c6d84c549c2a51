/* SPDX-License-Identifier: MIT */
/* What the outputs of timelines share with those of `pdltool watch`: lanes, the parts of a block's time, and an axis. */
#ifndef PDL_LIB_LAYOUT_H
#define PDL_LIB_LAYOUT_H

#include <pdl/timeline.h>

/* Times of one place (an SM, or the launches of a stream) that overlap are on different lanes. An SM holds 32 blocks,
 * and a stream a few launches at once: what needs more than these shares the last one. */
enum { PDL_LANES_MOST = 64 };

/* When each lane of a place is free. Zeroed, it is empty. */
struct pdl_lanes {
    unsigned used;
    int64_t free_at[PDL_LANES_MOST];
};

/* The first lane that is free at the start. Times come in the order of their starts. */
unsigned pdl_lanes_take(struct pdl_lanes *lanes, int64_t start_ns, int64_t end_ns);

/* What a block does, in the order of its time. */
enum pdl_phase {
    PDL_BEFORE_WAIT,
    PDL_WAITING,
    PDL_RUNNING,   /* no wait to come, and not triggered */
    PDL_TRIGGERED, /* no wait to come */
    PDL_PHASES
};

struct pdl_piece {
    enum pdl_phase phase;
    int64_t start_ns;
    int64_t end_ns;
};

/* The pieces of a block's time, without empty ones but for a block of no length. Returns how many, at least 1. */
unsigned pdl_pieces(const pdl_timeline_block *block, struct pdl_piece pieces[PDL_PHASES]);

/* The smallest of 1, 2 and 5 times a power of ten that divides the span into no more than `most`. */
int64_t pdl_axis_step(int64_t span_ns, int64_t most);

/* Where an axis begins: at a round time if one is shortly before the start. */
int64_t pdl_axis_start(int64_t start_ns, int64_t end_ns);

/* The first multiple of a step that is not before a time. */
int64_t pdl_axis_tick(int64_t time_ns, int64_t step_ns);

/* Microseconds with so many digits after the point, at most 3; rounded. -1: as many as it takes. */
#define PDL_MICROSECONDS 32
const char *pdl_microseconds(int64_t time_ns, int digits, char text[PDL_MICROSECONDS]);

#endif /* PDL_LIB_LAYOUT_H */
