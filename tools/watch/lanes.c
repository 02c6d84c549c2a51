/* SPDX-License-Identifier: MIT */
#include "watch/lanes.h"

#include <stdlib.h>

#include "common/memory.h"

void lanes_find(struct lanes *lanes, const struct watch *watch)
{
    /* Runs come in the order of their starts. */
    struct pdl_lanes *const of_tracks = allocate(watch->tracks.count, sizeof(*of_tracks));
    lanes->lane_of_run = allocate(watch->runs.count, sizeof(*lanes->lane_of_run));
    lanes->lanes_of_track = allocate(watch->tracks.count, sizeof(*lanes->lanes_of_track));
    for (size_t i = 0; i < watch->runs.count; i++) {
        const struct watch_run *const run = &watch->runs.items[i];
        if (!run->in_window || run->track >= watch->tracks.count) {
            continue;
        }
        const unsigned lane =
            pdl_lanes_take(&of_tracks[run->track], (int64_t)run->start_ns, (int64_t)run->end_ns);
        lanes->lane_of_run[i] = (uint8_t)lane;
        if (lanes->lanes_of_track[run->track] <= lane) {
            lanes->lanes_of_track[run->track] = (uint8_t)(lane + 1);
        }
    }
    free(of_tracks);
}

void lanes_free(struct lanes *lanes)
{
    free(lanes->lane_of_run);
    free(lanes->lanes_of_track);
}
