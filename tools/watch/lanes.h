/* SPDX-License-Identifier: MIT */
/* Where runs of one stream that overlap are drawn: each on the first lane that is free. */
#ifndef PDL_TOOLS_WATCH_LANES_H
#define PDL_TOOLS_WATCH_LANES_H

#include "trace/layout.h"
#include "watch/model.h"

enum { LANES_MOST = PDL_LANES_MOST }; /* of a track */

struct lanes {
    uint8_t *lane_of_run;    /* as many as there are runs */
    uint8_t *lanes_of_track; /* 0: it has no run in the window */
};

/* Of the runs in the window. */
void lanes_find(struct lanes *lanes, const struct watch *watch);
void lanes_free(struct lanes *lanes);

#endif /* PDL_TOOLS_WATCH_LANES_H */
