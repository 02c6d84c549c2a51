/* SPDX-License-Identifier: MIT */
#include "watch/lanes.h"

#include <stdlib.h>

#include "common/memory.h"

void lanes_find(struct lanes *lanes, const struct watch *watch)
{
    /* The end of what is on each lane; runs come in the order of their starts. */
    uint64_t *const ends = allocate(watch->tracks.count, LANES_MOST * sizeof(*ends));
    lanes->lane_of_run = allocate(watch->runs.count, sizeof(*lanes->lane_of_run));
    lanes->lanes_of_track = allocate(watch->tracks.count, sizeof(*lanes->lanes_of_track));
    for (size_t i = 0; i < watch->runs.count; i++) {
        const struct watch_run *const run = &watch->runs.items[i];
        if (!run->in_window || run->track >= watch->tracks.count) {
            continue;
        }
        uint64_t *const own = &ends[(size_t)run->track * LANES_MOST];
        uint8_t lane = 0;
        while (lane < LANES_MOST - 1 && own[lane] > run->start_ns) {
            lane++;
        }
        own[lane] = run->end_ns > own[lane] ? run->end_ns : own[lane];
        lanes->lane_of_run[i] = lane;
        if (lanes->lanes_of_track[run->track] <= lane) {
            lanes->lanes_of_track[run->track] = (uint8_t)(lane + 1);
        }
    }
    free(ends);
}

void lanes_free(struct lanes *lanes)
{
    free(lanes->lane_of_run);
    free(lanes->lanes_of_track);
}
