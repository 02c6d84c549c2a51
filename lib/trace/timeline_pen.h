/* SPDX-License-Identifier: MIT */
/* The picture of a timeline: what is drawn, and the pen. Lengths are in pixels. */
#ifndef PDL_LIB_TIMELINE_PEN_H
#define PDL_LIB_TIMELINE_PEN_H

#include "trace/timeline_layout.h"

#define WIDTH   1200
#define LEFT    120 /* of the plot */
#define RIGHT   1180
#define PLOT    (RIGHT - LEFT)
#define COLOURS 7

struct svg {
    const struct pdl_timeline *timeline;
    FILE *out;
    int64_t start_ns;
    int64_t end_ns;
    uint32_t *sms; /* all, ascending */
    uint32_t sm_count;
    uint32_t rows; /* of SMs in a track */
    double row_height;
    double row_filled;                /* the rest of the height parts it from the next */
    struct pdl_timeline_slot *blocks; /* in their lanes */
    uint32_t lanes;                   /* of an SM */
    struct pdl_timeline_slot *launches;
    uint32_t launch_count; /* with blocks */
    uint32_t launch_lanes;
    bool dense;                         /* more blocks than can be drawn each */
    bool bands;                         /* one per launch, and no rows of SMs */
    char figures[PDL_TIMELINE_FIGURES]; /* how two tracks compare; "": they do not */
};

double pdl_timeline_svg_x(const struct svg *svg, int64_t time_ns);

/* With two digits after the point. printf's own may have a comma. */
void pdl_timeline_svg_number(const struct svg *svg, double value);

/* Begins the path of a phase of a launch, in its colour: boxes follow, then pdl_timeline_svg_close(). */
void pdl_timeline_svg_open(const struct svg *svg, uint32_t launch, enum pdl_timeline_phase phase);
void pdl_timeline_svg_box(const struct svg *svg, double x, double y, double width, double height);
void pdl_timeline_svg_close(const struct svg *svg);

void pdl_timeline_svg_rectangle(const struct svg *svg, const char *class, double x, double y,
                                double width, double height);

/* Opens a <text>; the caller puts the content, with pdl_text_put_xml(), and closes it. */
void pdl_timeline_svg_open_text(const struct svg *svg, double x, double y, const char *class);

#endif /* PDL_LIB_TIMELINE_PEN_H */
