/* SPDX-License-Identifier: MIT */
/* What those who make figures ask of a table. */
#ifndef PDL_TOOLS_REPORT_SUBJECT_H
#define PDL_TOOLS_REPORT_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/output.h"
#include "bench/stats.h"
#include "report/figure.h"

/* A table of a run, and where its figures go. */
struct subject {
    const struct bench_run *run;
    const struct bench_table *table;
    const char *label; /* the run's, where several runs have the table; else empty */
    struct figures *figures;
};

/* Adds a figure that is named after the table; `part` tells several of a table apart, else empty. */
struct figure *subject_figure(const struct subject *subject, enum figure_kind kind,
                              const char *part);

/* The number of the axis, of the metric; -1 where there is none of that name. */
int axis_of(const struct bench_table *table, const char *name);
int metric_of(const struct bench_table *table, const char *name);
int axis_count(const struct bench_table *table);
int metric_count(const struct bench_table *table);

/* The point's value of an axis; empty where the axis is -1. */
const char *value_at(const struct bench_point *point, int axis);
/* The same as it is shown: `<<<>>>` for chevron, `8 args` or `depth 8` for 8. The caller frees it. */
char *shown_value(const struct bench_point *point, int axis);
/* Whether it was measured and is right. */
bool has_values(const struct bench_point *point, int metric);
/* Whether it is a raw call that was measured once more, for the noise of ratios. */
bool is_raw_again(const struct bench_point *point);
/* The values of an axis, in the order of the points, of points that have values. */
struct texts axis_values(const struct bench_table *table, int axis, int metric);

/* A value that a point is to have; an axis of -1 asks for nothing. */
struct want {
    int axis;
    const char *value;
};
enum { WANTS = 6 };
/* The first point with values that has all of these, ended by a value of NULL. NULL if there is none. */
const struct bench_point *find_point(const struct bench_table *table, int metric,
                                     const struct want *wants);

/* The point whose other axes are the same; NULL if there is none with values. */
const struct bench_point *find_counterpart(const struct bench_point *point, int metric, int axis,
                                           const char *value);
/* The point of the way that gains most over its counterpart of the other way, and how much. NULL if there is
 * none. */
const struct bench_point *find_best(const struct bench_table *table, int metric, const char *way,
                                    const char *other, double *gain);

struct stats point_stats(const struct bench_point *point, int metric);
double point_median(const struct bench_point *point, int metric);
/* How many times as long the other one takes: base / point, by the rounds that both have. */
struct stats_ratio point_speedup(const struct bench_point *point, const struct bench_point *base,
                                 int metric);
/* Adds its median to a figure, with a whisker from the 10th to the 90th percentile. */
void point_add(const struct bench_point *point, int metric, double x, struct figure_series *series);
/* The same as a bar: in a category of that name. */
void point_add_bar(const struct bench_point *point, int metric, struct figure *figure,
                   const char *panel, const char *series, const char *category);
/* `graph, 132 blocks`: its values of the axes that are not in `skip`, a bit an axis. */
char *point_label(const struct bench_point *point, unsigned skip);
/* `device, ns`: for an axis. The caller frees it. */
char *metric_label(const struct bench_table *table, int metric);
const char *metric_unit(const struct bench_table *table, int metric);

#endif /* PDL_TOOLS_REPORT_SUBJECT_H */
