/* SPDX-License-Identifier: MIT */
/* Which figures a table gets. */
#ifndef PDL_TOOLS_REPORT_FIGURES_H
#define PDL_TOOLS_REPORT_FIGURES_H

#include "report/subject.h"

/* Adds the figures of a table: those made for it, else bars or lines of its medians. */
void figures_make(const struct subject *subject);

/* Each adds what it has for a table and returns false if it has nothing: the table is not what it knows. */
bool figures_overhead(const struct subject *subject);
bool figures_overlap(const struct subject *subject);
bool figures_graph(const struct subject *subject);
bool figures_sync(const struct subject *subject);
bool figures_device(const struct subject *subject);
bool figures_decode(const struct subject *subject);

/* What goes where; an axis of -1 is none. */
struct plan {
    int metric;
    int x;      /* lines: the axis of numbers; bars: the categories */
    int series; /* lines or bars side by side */
    int panel;
    struct want only[WANTS]; /* which points, ended by a value of NULL */
};
/* Medians as bars from the 10th to the 90th percentile, or as lines. Values of other axes become part of a
 * bar's category, of a line's name. */
struct figure *plan_bars(const struct subject *subject, const char *part, const struct plan *plan);
struct figure *plan_lines(const struct subject *subject, const char *part, const struct plan *plan);
/* Adds the bars of several metrics to a figure of plan_bars(); the bars are then called as the metrics. */
void plan_bars_of_metrics(struct figure *figure, const struct bench_table *table,
                          const struct plan *plan, const int *metrics, size_t count);

/* Says which points are best and worst, and how far apart. */
void say_extremes(struct figure *figure, const struct bench_table *table, const struct plan *plan);
/* Says what both have, all else being equal, and the median of their rounds' ratios: `chain: 388 ns; stream:
 * 1,239 ns, 3.19 times that`. Where the quotient of the two medians is another, that as well. False, and nothing is said, if one is not there. */
bool say_against(struct figure *figure, const struct bench_table *table, const struct plan *plan,
                 int axis, const char *first, const char *second);
/* Says how `mine` lies to `raw`, its counterpart in raw CUDA, over all points. */
void say_raw(struct figure *figure, const struct bench_table *table, int metric, int axis,
             const char *mine, const char *raw);

#endif /* PDL_TOOLS_REPORT_FIGURES_H */
