/* SPDX-License-Identifier: MIT */
/* What the forms of a timeline share: phases, ticks, lanes and cells. */
#ifndef PDL_LIB_TIMELINE_LAYOUT_H
#define PDL_LIB_TIMELINE_LAYOUT_H

#include "trace/text.h"
#include "trace/timeline_summary.h"

/* What a block does, in the order of its time. */
enum pdl_timeline_phase {
    PDL_TIMELINE_BEFORE_WAIT,
    PDL_TIMELINE_WAITING,
    PDL_TIMELINE_RUNNING,   /* no wait to come, and not triggered */
    PDL_TIMELINE_TRIGGERED, /* no wait to come */
    PDL_TIMELINE_PHASES
};

struct pdl_timeline_piece {
    enum pdl_timeline_phase phase;
    int64_t start_ns;
    int64_t end_ns;
};

/* How the second of two tracks compares with the first, where both run the same kernels in the same
 * order: "16.1 → 12.9 µs, 1.25× faster". False where there is nothing to compare. */
#define PDL_TIMELINE_FIGURES 128
bool pdl_timeline_compare(const struct pdl_timeline *timeline, char figures[PDL_TIMELINE_FIGURES]);

/* What a comparison is headed by: the second track's name without a leading "with ". */
const char *pdl_timeline_compared(const struct pdl_timeline *timeline);

/* Whether each launch runs in a single wave whose blocks keep step: they start in the first quarter of
 * its time and end in the last one. Then rows of SMs add nothing to a band per launch. */
bool pdl_timeline_is_even(const struct pdl_timeline *timeline);

/* The pieces of a block's time, without empty ones but for a block of no length. Returns how many, at
 * least 1. */
unsigned pdl_timeline_pieces(const pdl_timeline_block *block,
                             struct pdl_timeline_piece pieces[PDL_TIMELINE_PHASES]);

/* The smallest of 1, 2 and 5 times a power of ten that parts the span into no more than `most`. */
int64_t pdl_timeline_step(int64_t span_ns, int64_t most);

/* The span of a picture: of all blocks, from a round number where that is near, never empty; false if
 * there are no blocks. */
bool pdl_timeline_axis(const struct pdl_timeline *timeline, int64_t *start_ns, int64_t *end_ns);

/* What is shown as 0: 0, or where the times are a second or more from it, their start. */
int64_t pdl_timeline_zero(int64_t start_ns);

/* The first multiple of a step that is not before a time. */
int64_t pdl_timeline_first_tick(int64_t time_ns, int64_t step_ns);

/* Microseconds with so many digits after the point, at most 3; rounded. -1: as many as it takes. */
#define PDL_TIMELINE_NUMBER 32
const char *pdl_timeline_us(int64_t time_ns, int digits, char text[PDL_TIMELINE_NUMBER]);

/* Blocks of one place (an SM of a track, or the launches of a track) that run at once get different
 * lanes, numbered from 0 in each place. Sorted by track, SM and start. */
struct pdl_timeline_slot {
    uint32_t track;
    uint32_t sm;
    uint32_t lane;
    uint32_t index; /* of the block or launch */
    int64_t start_ns;
    int64_t end_ns;
};

/* Both: *slots is malloced; *lanes is the most that a place needs, at least 1. */
pdl_status pdl_timeline_block_lanes(const struct pdl_timeline *timeline,
                                    struct pdl_timeline_slot **slots, uint32_t *lanes);
pdl_status pdl_timeline_launch_lanes(const struct pdl_timeline *timeline,
                                     struct pdl_timeline_slot **slots, uint32_t *count,
                                     uint32_t *lanes);

/* Where the slots of a track are: from *from to before *to. */
void pdl_timeline_slots_of(const struct pdl_timeline_slot *slots, size_t count, uint32_t track,
                           size_t *from, size_t *to);

/* Adds a piece from `from` to `to`, in cells, to those that it lies in: the part of each times `width`.
 * Cell i is at cells[i * stride]. */
void pdl_timeline_spread(double *cells, uint32_t count, size_t stride, double from, double to,
                         double width);

/* What launches do in each of `cells` equal parts of a span, for rows of them: the time of each phase,
 * in nanoseconds of all blocks, at times[(row * cells + cell) * PDL_TIMELINE_PHASES + phase]. */
struct pdl_timeline_cells {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t cells;
    double *times;
};

/* Adds a launch to a row. */
void pdl_timeline_fill(const struct pdl_timeline *timeline, uint32_t launch,
                       const struct pdl_timeline_cells *cells, uint32_t row);

/* The phase of most time in a cell; PDL_TIMELINE_PHASES if no block ran. */
enum pdl_timeline_phase pdl_timeline_cell_phase(const struct pdl_timeline_cells *cells,
                                                uint32_t row, uint32_t cell);

/* How long the SMs had blocks of a track in each of `cells` equal parts of a time, added over the SMs;
 * *sms is how many SMs there are in all tracks. */
pdl_status pdl_timeline_sm_cells(const struct pdl_timeline *timeline, uint32_t track,
                                 int64_t start_ns, int64_t end_ns, uint32_t cells, double *busy,
                                 uint32_t *sms);

#endif /* PDL_LIB_TIMELINE_LAYOUT_H */
