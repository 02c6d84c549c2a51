/* SPDX-License-Identifier: MIT */
/* Pictures of launches, as SVG: a track per stream, in it a bar per launch, and below it a row per SM. */
#ifndef PDL_LIB_PICTURE_H
#define PDL_LIB_PICTURE_H

#include <stdbool.h>
#include <stdio.h>

#include "trace/layout.h"

/* A launch, or a block. */
struct pdl_picture_bar {
    uint32_t track;
    uint32_t kernel; /* of its name and colour */
    uint32_t row;    /* 0: of the launches. Others: of an SM */
    uint32_t lane;
    pdl_timeline_block times;
    const char *title; /* of a launch: what a viewer shows for it; NULL: its name and its time */
};

struct pdl_picture_track {
    const char *name;
    char summary[256];
    uint32_t
        lanes; /* pdl_picture_write() writes these: of launches; without any, it is not drawn */
    int y;
};

struct pdl_picture {
    const char *title; /* NULL: none */
    const char *const *notes;
    uint32_t note_count;
    char *const *kernels;
    uint32_t kernel_count;
    const uint32_t *sms; /* the number of each row's SM, the first one's at 0 */
    uint32_t rows;
    struct pdl_picture_track *tracks;
    uint32_t track_count;
    const struct pdl_picture_bar *bars;
    size_t bar_count;
    int64_t start_ns; /* of the axis */
    int64_t end_ns;   /* after the start */
};

/* Errors of the stream are left to the caller. */
void pdl_picture_write(const struct pdl_picture *picture, FILE *out);

#endif /* PDL_LIB_PICTURE_H */
