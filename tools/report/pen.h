/* SPDX-License-Identifier: MIT */
/* What the kinds of figures are drawn with. */
#ifndef PDL_TOOLS_REPORT_PEN_H
#define PDL_TOOLS_REPORT_PEN_H

#include <stdio.h>

#include "report/figure.h"

/* Of figures, in pixels: on a wide and on a narrow page. */
enum { PEN_WIDE = 760, PEN_NARROW = 480 };

/* A script in the making. */
struct pen {
    FILE *to;
    const struct figure *figure;
    int width; /* of the figure, in pixels */
    double height;
    double head; /* of its title and its key */
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

/* The names of the series of all panels. */
void pen_series_names(const struct figure *figure, struct texts *names);
/* The number of characters of the longest one. */
size_t pen_longest(const struct texts *texts);

/* `set COMMAND 'TEXT'`; texts go through here so that gnuplot takes them literally. */
void pen_set(const struct pen *pen, const char *command, const char *text);
/* A text alone, of so many characters at most. */
void pen_quoted(FILE *to, const char *text, size_t most);
/* `set xtics ('NAME' PLACE, ...)`: a name at each place that is a number; NULL: at 0, 1, 2... */
void pen_named_tics(const struct pen *pen, char axis, const struct texts *names,
                    const double *places);
/* `set xrange`, and how its numbers are written. */
void pen_axis(const struct pen *pen, char axis, double from, double to);
/* Where the next plot goes, in pixels from the left and from the top, and what of that its title and its x axis
 * take. gnuplot makes room for the y axis. */
struct pen_area {
    double left, top, width, height, above, below;
};
void pen_area(const struct pen *pen, struct pen_area area);

void draw_lines(const struct pen *pen);
void draw_bars(const struct pen *pen);
void draw_heat(const struct pen *pen);
/* Of the panels, in pixels. */
double height_of_lines(const struct pen *pen);
double height_of_bars(const struct pen *pen);
double height_of_heat(const struct pen *pen);

#endif /* PDL_TOOLS_REPORT_PEN_H */
