/* SPDX-License-Identifier: MIT */
/* Lanes, the parts of a block's time, and an axis. */
#include "trace/layout.h"

#include <stdbool.h>
#include <stdio.h>

unsigned pdl_lanes_take(struct pdl_lanes *lanes, int64_t start_ns, int64_t end_ns)
{
    unsigned lane = 0;
    while (lane < lanes->used && lane < PDL_LANES_MOST - 1 && lanes->free_at[lane] > start_ns) {
        lane++;
    }
    if (lane == lanes->used || end_ns > lanes->free_at[lane]) {
        lanes->free_at[lane] = end_ns;
    }
    lanes->used += lane == lanes->used;
    return lane;
}

unsigned pdl_pieces(const pdl_timeline_block *block, struct pdl_piece pieces[PDL_PHASES])
{
    const bool waits = block->wait_ns != PDL_TIMELINE_NONE;
    const int64_t waiting = waits ? block->wait_ns : block->start_ns;
    const int64_t running = waits ? block->waited_ns : block->start_ns;
    int64_t triggered =
        block->triggered_ns != PDL_TIMELINE_NONE ? block->triggered_ns : block->end_ns;
    triggered = triggered > running ? triggered : running;
    const struct pdl_piece all[PDL_PHASES] = {
        {PDL_BEFORE_WAIT, block->start_ns, waiting},
        {PDL_WAITING, waiting, running},
        {PDL_RUNNING, running, triggered},
        {PDL_TRIGGERED, triggered, block->end_ns},
    };
    unsigned count = 0;
    for (unsigned i = 0; i < PDL_PHASES; i++) {
        if (all[i].end_ns > all[i].start_ns) {
            pieces[count++] = all[i];
        }
    }
    if (count == 0) {
        pieces[count++] = all[PDL_RUNNING];
    }
    return count;
}

int64_t pdl_axis_step(int64_t span_ns, int64_t most)
{
    for (int64_t power = 1; power <= INT64_MAX / 10; power *= 10) {
        for (int64_t factor = 1; factor <= 5; factor += factor == 1 ? 1 : 3) {
            if (span_ns / most < power * factor) {
                return power * factor;
            }
        }
    }
    return INT64_MAX;
}

int64_t pdl_axis_start(int64_t start_ns, int64_t end_ns)
{
    const int64_t step = pdl_axis_step(end_ns - start_ns, 10);
    const int64_t over = start_ns % step + (start_ns % step < 0 ? step : 0);
    return over <= (end_ns - start_ns) / 20 ? start_ns - over : start_ns;
}

int64_t pdl_axis_tick(int64_t time_ns, int64_t step_ns)
{
    const int64_t over = time_ns % step_ns;
    return time_ns - over + (over > 0 ? step_ns : 0);
}

const char *pdl_microseconds(int64_t time_ns, int digits, char text[PDL_MICROSECONDS])
{
    static const unsigned units[] = {1000, 100, 10, 1};
    const char *sign = time_ns < 0 ? "-" : "";
    uint64_t size = time_ns < 0 ? 0 - (uint64_t)time_ns : (uint64_t)time_ns;
    if (digits < 0) {
        digits = size % 1000 == 0 ? 0 : size % 100 == 0 ? 1 : size % 10 == 0 ? 2 : 3;
    }
    const unsigned unit = units[digits];
    size = (size + unit / 2) / unit;
    const unsigned thousandths = (unsigned)(size % (1000 / unit)) * unit;
    const int length = snprintf(text, PDL_MICROSECONDS, "%s%llu.%03u", size == 0 ? "" : sign,
                                (unsigned long long)(size / (1000 / unit)), thousandths);
    text[length - (digits == 0 ? 4 : 3 - digits)] = '\0';
    return text;
}
