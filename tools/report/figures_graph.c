/* SPDX-License-Identifier: MIT */
/* Lines of kernels by length, what making graphs takes, and what orders a device. */
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "report/figures.h"

static const struct plan no_plan = {.metric = -1, .x = -1, .series = -1, .panel = -1};

/* The last value that an axis has in the order of the points. */
static char *last_value(const struct bench_table *table, int axis, int metric)
{
    struct texts values = axis_values(table, axis, metric);
    char *last = copy_text(values.count > 0 ? values.items[values.count - 1] : "");
    texts_free(&values);
    return last;
}

/* ---- lines ------------------------------------------------------------------------------------- */

static bool make_line(const struct subject *subject)
{
    static const struct {
        const char *metric, *title;
    } figures[] = {
        {"device", "Device time per kernel, by the length of the series"},
        {"wall", "From the first call until the host knows the end, per kernel"},
        {"host", "Host time in the launching calls, per kernel"},
    };
    const struct bench_table *const table = subject->table;
    const int way = axis_of(table, "way");
    const int kernels = axis_of(table, "kernels");
    if (way < 0 || kernels < 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        struct plan plan = no_plan;
        plan.metric = metric_of(table, figures[i].metric);
        plan.x = kernels;
        plan.series = way;
        plan.panel = axis_of(table, "blocks");
        if (plan.metric < 0) {
            continue;
        }
        struct figure *const figure = plan_lines(subject, figures[i].metric, &plan);
        char *longest = last_value(table, kernels, plan.metric);
        figure_title(figure, figures[i].title);
        figure->log_x = figure->log_y = true;
        plan.only[0] = (struct want){kernels, longest};
        figure_say(figure, "At %s kernels:", value_text(number_of(longest)).text);
        if (!say_against(figure, table, &plan, way, "chain", "stream") &&
            !say_against(figure, table, &plan, way, "chain", "graph")) {
            say_extremes(figure, table, &plan);
        }
        say_raw(figure, table, plan.metric, way, "chain", "graph-pdl");
        free(longest);
    }
    return true;
}

static bool make_slope(const struct subject *subject)
{
    const struct bench_table *const table = subject->table;
    struct plan plan = {metric_of(table, "device"),
                        axis_of(table, "span"),
                        axis_of(table, "way"),
                        axis_of(table, "blocks"),
                        {{-1, NULL}}};
    if (plan.metric < 0 || plan.x < 0 || plan.series < 0) {
        return false;
    }
    struct figure *const figure = plan_bars(subject, "device", &plan);
    figure_title(figure, "Device time of each further kernel of a line");
    say_extremes(figure, table, &plan);
    say_raw(figure, table, plan.metric, plan.series, "chain", "graph-pdl");
    return true;
}

/* ---- graphs ------------------------------------------------------------------------------------ */

/* A panel a metric, all with the same axes. */
static bool make_build(const struct subject *subject)
{
    static const char *const build[] = {"make",   "instantiate", "upload",
                                        "change", "update",      "launch"};
    static const char *const memory[] = {"device", "host"};
    const struct bench_table *const table = subject->table;
    const bool is_build = strcmp(table->spec.name, "build") == 0;
    const char *const *const metrics = is_build ? build : memory;
    const int way = axis_of(table, "way");
    struct plan plan = no_plan;
    plan.metric = metric_of(table, metrics[0]);
    plan.x = axis_of(table, "kernels");
    if (plan.metric < 0 || plan.x < 0 || way < 0) {
        return false;
    }
    struct figure *const figure = subject_figure(subject, FIGURE_LINES, "");
    for (int j = 0; j < (is_build ? 6 : 2); j++) {
        const int metric = metric_of(table, metrics[j]);
        for (size_t i = 0; metric >= 0 && i < table->count; i++) {
            const struct bench_point *const point = table->items[i];
            if (has_values(point, metric)) {
                point_add(point, metric, number_of(value_at(point, plan.x)),
                          figure_series(figure, metrics[j], value_at(point, way)));
            }
        }
    }
    figure->log_x = figure->log_y = true;
    char *longest = last_value(table, plan.x, plan.metric);
    figure_title(figure, is_build
                             ? "Host time to make, change and launch a graph of so many kernels"
                             : "Memory that a graph keeps, per kernel");
    figure_axes(figure, "kernels", is_build ? "\u00b5s" : "bytes");
    plan.only[0] = (struct want){plan.x, longest};
    figure_say(figure, is_build ? "Made with %s kernels:" : "Device memory with %s kernels:",
               value_text(number_of(longest)).text);
    if (!say_against(figure, table, &plan, way, "graph-pdl", "chain") && !is_build) {
        say_extremes(figure, table, &plan);
    }
    plan.metric = metric_of(table, "change");
    if (is_build && plan.metric >= 0) {
        figure_say(figure, "New arguments for one of them:");
        (void)say_against(figure, table, &plan, way, "graph-pdl", "chain");
    }
    free(longest);
    return true;
}

bool figures_graph(const struct subject *subject)
{
    const char *const name = subject->table->spec.name;
    return strcmp(name, "line") == 0     ? make_line(subject)
           : strcmp(name, "slope") == 0  ? make_slope(subject)
           : strcmp(name, "build") == 0  ? make_build(subject)
           : strcmp(name, "memory") == 0 ? make_build(subject)
                                         : false;
}

/* ---- order ------------------------------------------------------------------------------------- */

static bool make_grid(const struct subject *subject)
{
    const struct bench_table *const table = subject->table;
    const int metrics[] = {metric_of(table, "barrier"), metric_of(table, "exchange")};
    const int way = axis_of(table, "way");
    const int blocks = axis_of(table, "blocks");
    const int threads = axis_of(table, "threads");
    if (metrics[0] < 0 || way < 0 || blocks < 0 || threads < 0 || table->count == 0) {
        return false;
    }
    /* The first shape with both, then all shapes. */
    struct plan plan = no_plan;
    plan.metric = metrics[0];
    plan.x = way;
    plan.only[0] = (struct want){blocks, value_at(table->items[0], blocks)};
    plan.only[1] = (struct want){threads, value_at(table->items[0], threads)};
    struct figure *const first = subject_figure(subject, FIGURE_BARS, "first");
    plan_bars_of_metrics(first, table, &plan, metrics, 2);
    char *title = format_text("Ordering the device once: %s blocks per SM, %s threads per block",
                              plan.only[0].value, plan.only[1].value);
    figure_title(first, title);
    free(title);
    figure_axes(first, "ns", "");
    say_extremes(first, table, &plan);
    (void)say_against(first, table, &plan, way, "chain", "grid-sync");

    struct figure *const all = subject_figure(subject, FIGURE_BARS, "all");
    for (size_t i = 0; i < table->count; i++) {
        const struct bench_point *const point = table->items[i];
        if (has_values(point, metrics[0])) {
            char *shape = format_text("%s \u00d7 %s threads", value_at(point, blocks),
                                      value_at(point, threads));
            point_add_bar(point, metrics[0], all, "", shape, value_at(point, way));
            free(shape);
        }
    }
    struct plan any = no_plan;
    any.metric = metrics[0];
    figure_title(all, "The same by blocks per SM and threads per block");
    figure_axes(all, "ns", "");
    say_extremes(all, table, &any);
    return true;
}

static bool make_local(const struct subject *subject)
{
    const struct bench_table *const table = subject->table;
    const struct plan plan = {metric_of(table, "barrier"),
                              axis_of(table, "cluster"),
                              axis_of(table, "threads"),
                              -1,
                              {{-1, NULL}}};
    if (plan.metric < 0 || plan.x < 0 || plan.series < 0) {
        return false;
    }
    struct figure *const figure = subject_figure(subject, FIGURE_BARS, "");
    for (size_t i = 0; i < table->count; i++) {
        const struct bench_point *const point = table->items[i];
        if (has_values(point, plan.metric)) {
            const char *const blocks = value_at(point, plan.x);
            char *category = strcmp(blocks, "1") == 0 ? copy_text("one block")
                                                      : format_text("cluster of %s", blocks);
            char *series = format_text("%s threads a block", value_at(point, plan.series));
            point_add_bar(point, plan.metric, figure, "", series, category);
            free(series);
            free(category);
        }
    }
    figure_title(figure, "One barrier of a block or a cluster");
    figure_axes(figure, "ns", "");
    say_extremes(figure, table, &plan);
    return true;
}

bool figures_sync(const struct subject *subject)
{
    const char *const name = subject->table->spec.name;
    return strcmp(name, "grid") == 0    ? make_grid(subject)
           : strcmp(name, "local") == 0 ? make_local(subject)
                                        : false;
}
