/* SPDX-License-Identifier: MIT */
/* What was measured, written: as tables and as JSON. */
#ifndef PDL_TOOLS_BENCH_OUTPUT_H
#define PDL_TOOLS_BENCH_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "bench/bench.h"
#include "bench/stats.h"
#include "common/optional.h"
#include "common/print.h"

/* What a run was made with and on: a list of facts. A fact is a text or a number. */
struct bench_fact {
    char *key;  /* such as "gpu", "driver", "sm_clock_mhz_before" */
    char *text; /* NULL for a number */
    double number;
};
struct bench_environment {
    struct bench_fact *items;
    size_t count, capacity;
};
void environment_add_text(struct bench_environment *environment, const char *key, const char *text);
void environment_add_number(struct bench_environment *environment, const char *key, double number);
void environment_free(struct bench_environment *environment);

/* A run, finished or not. */
struct bench_run {
    struct bench bench;
    struct bench_environment environment;
    char *ended_early; /* why, or NULL: "interrupted", or what the device did */
};
/* Leaves an empty run. */
void bench_run_free(struct bench_run *run);

/* ---- written ---------------------------------------------------------------------------------- */

/* Both write only points that are selected. */
void output_text(const struct bench_run *run, FILE *to);
/* JSON needs jansson: this is in output_json.c, which is built where it was found. */
TOOL_OPTIONAL void output_json(const struct bench_run *run, FILE *to);

/* ---- what the forms share --------------------------------------------------------------------- */

/* How many axes and metrics a table has. */
size_t output_axis_count(const struct bench_spec *spec);
size_t output_metric_count(const struct bench_spec *spec);
/* The selected points of a table. */
size_t output_selected_count(const struct bench_table *table);

/* By which share of the old median two runs may differ when nothing has changed, at least. */
double output_tolerance(const struct bench_metric *metric);

/* What is said of one metric of one point. What is not known is NAN, and all of it is where the point was
 * waived or failed. */
struct output_figure {
    struct stats stats;
    double noise;             /* stats_noise() */
    double spread;            /* of the passes: stats_spread() */
    struct stats_ratio ratio; /* to the point that it is compared with; a count of 0 without one */
};
struct output_figure output_figure_of(const struct bench_point *point, size_t metric);

/* A number for people, with at least four significant digits where there are as many: "1,234,567",
 * "12.34", "0.001234", "-" for NAN. The caller frees it. */
char *output_number(double number);

#endif /* PDL_TOOLS_BENCH_OUTPUT_H */
