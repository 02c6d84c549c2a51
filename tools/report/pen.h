/* SPDX-License-Identifier: MIT */
/* What the kinds of figures are drawn with. Places are pixels from the left and from the top. */
#ifndef PDL_TOOLS_REPORT_PEN_H
#define PDL_TOOLS_REPORT_PEN_H

#include <stdio.h>

#include "report/draw.h"

enum {
    PEN_WIDTH = 760,
    PEN_TITLE = 34,  /* the height of the title */
    PEN_LEGEND = 21, /* of a row of the legend */
    PEN_ROW = 18,    /* of a line of other text */
};

struct pen {
    FILE *to;
    const struct figure *figure;
    enum draw_form form;
    int height;
    int legend_rows;
    int labels; /* used so far: gnuplot counts them */
    int objects;
    int arrows;
};

/* How a series of that name is drawn. The names of the ways to launch look the same in every figure. */
struct pen_style {
    unsigned color; /* 0xrrggbb */
    int point;      /* gnuplot's number */
    const char *dash;
};
struct pen_style pen_style(const struct figure *figure, const char *series);
/* The colour of bars that have no series: by what they are of. */
unsigned pen_category_color(const char *name);

/* What colours mean, for light and dark pages alike; see svg.c. */
enum pen_ink { INK_TEXT, INK_FAINT, INK_GRID, INK_MARK, INK_AXIS };
const char *pen_ink(const struct pen *pen, enum pen_ink ink);

/* The part of a figure that a panel's axes enclose. */
struct pen_area {
    double left, right, top, bottom;
};

/* Where the legend's names begin a new row: how many rows that is. */
int pen_legend_rows(const struct figure *figure);
/* Terminal, title and legend. The height must be known. */
void pen_begin(struct pen *pen);
/* Lines at the ticks: `xtics`, or `xtics ytics`. */
void pen_grid(const struct pen *pen, const char *axes);
void pen_area(const struct pen *pen, const struct pen_area *area);
/* `align` is left, center or right. */
void pen_text(struct pen *pen, double x, double y, const char *align, enum pen_ink ink,
              const char *text);
void pen_panel_title(struct pen *pen, double x, double y, const char *text);
/* A text as gnuplot takes it literally. */
void pen_quoted(FILE *to, const char *text);
/* The same for what stands at a tick, which gnuplot takes as a format. */
void pen_quoted_tick(FILE *to, const char *text);

/* About how wide a text is. */
double pen_text_width(const char *text);
/* At most so wide; the caller frees it. */
char *pen_shortened(const char *text, double width);

/* The least and the greatest of what is shown. */
struct pen_range {
    double from, to;
};
void pen_range_take(struct pen_range *range, double value);

/* Steps of an axis: 1, 2 or 5 times a power of ten. */
struct pen_ticks {
    double items[64];
    int count;
};
/* As many as there is room for, `least` being what one takes; at whole ends if `widen`. */
struct pen_ticks pen_ticks_linear(struct pen_range *range, double room, double least, bool widen);
struct pen_ticks pen_ticks_log(const struct pen_range *range, double room, double least);
/* `set xtics (...)`, or y; with or without what stands beside them. */
void pen_put_ticks(const struct pen *pen, char axis, const struct pen_ticks *ticks, bool words);
/* What stands at one of the ticks. The caller frees it. */
char *pen_tick_text(const struct pen_ticks *ticks, double value);
double pen_tick_width(const struct pen_ticks *ticks);

void draw_lines(struct pen *pen);
void draw_bars(struct pen *pen);
void draw_heat(struct pen *pen);
int height_of_lines(const struct figure *figure);
int height_of_bars(const struct figure *figure);
int height_of_heat(const struct figure *figure);

#endif /* PDL_TOOLS_REPORT_PEN_H */
