/* SPDX-License-Identifier: MIT */
/* What is to be drawn, without how. */
#ifndef PDL_TOOLS_REPORT_FIGURE_H
#define PDL_TOOLS_REPORT_FIGURE_H

#include <stdbool.h>
#include <stddef.h>

#include "report/words.h"

/* What a panel's values mean. */
enum figure_kind {
    FIGURE_LINES,  /* y over x, low to high as a whisker */
    FIGURE_BARS,   /* y long, in the category x, low to high as a whisker */
    FIGURE_STACKS, /* as bars, the series of a category one behind the other */
    FIGURE_HEAT,   /* a ratio y, in the category x and the row `low` */
    FIGURE_SPANS,  /* from low to high, in the category x */
};

struct figure_value {
    double x, y, low, high;
};
struct figure_series {
    char *name;
    struct figure_value *items;
    size_t count, capacity;
};
struct figure_panel {
    char *title; /* may be empty */
    struct figure_series *items;
    size_t count, capacity;
};

/* A line across the panels of bars at a value, to compare with. */
struct figure_mark {
    double at;
    char *label;
};

struct figure {
    enum figure_kind kind;
    char *name;  /* the file's, without its ending */
    char *title; /* what is drawn */
    char *say;   /* what is to be seen, from the numbers */
    char *x_label, *y_label;
    bool log_x, log_y;
    bool curves;             /* lines of many values, in panels below each other */
    double x_from, x_to;     /* what of the axis is shown; both 0: all of it */
    struct texts categories; /* of bars, stacks and spans; the columns of a heat map */
    struct texts rows;       /* of a heat map */
    struct {
        struct figure_panel *items;
        size_t count, capacity;
    } panels;
    struct {
        struct figure_mark *items;
        size_t count, capacity;
    } marks;

    char *svg, *narrow; /* when drawn */
    bool picture;
    char *failure; /* why it was not drawn */
};

struct figures {
    struct figure **items;
    size_t count, capacity;
};

/* Takes the name over. */
struct figure *figure_new(struct figures *figures, enum figure_kind kind, char *name);
/* What it says of itself; each copies the texts. */
void figure_title(struct figure *figure, const char *title);
void figure_axes(struct figure *figure, const char *x_label, const char *y_label);
/* Its panel of that title and that one's series of that name; made if they are not there. To be used at
 * once: a new one may move the others. */
struct figure_series *figure_series(struct figure *figure, const char *panel, const char *name);
/* Values that are no numbers are left out; whiskers may be NAN. */
void series_add(struct figure_series *series, double x, double y, double low, double high);
void figure_mark(struct figure *figure, double at, const char *label);
/* Adds to the sentences. */
__attribute__((format(printf, 2, 3))) void figure_say(struct figure *figure, const char *format,
                                                      ...);
/* Without a value. */
bool figure_is_empty(const struct figure *figure);
/* Takes the last figure out again. */
void figures_drop_last(struct figures *figures);
void figures_free(struct figures *figures);

#endif /* PDL_TOOLS_REPORT_FIGURE_H */
