/* SPDX-License-Identifier: MIT */
/* Launches from the device. */
#include <string.h>

#include "report/figures.h"

/* A table whose figures are lines over a number, one a metric. */
static bool make_lines(const struct subject *subject, const char *x, const char *series,
                       const char *const (*metrics)[2], size_t count, bool log_y)
{
    const struct bench_table *const table = subject->table;
    struct plan plan = {-1, axis_of(table, x), axis_of(table, series), -1, {{-1, NULL}}};
    if (plan.x < 0 || plan.series < 0) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        plan.metric = metric_of(table, metrics[i][0]);
        if (plan.metric >= 0) {
            struct figure *const figure = plan_lines(subject, metrics[i][0], &plan);
            figure_title(figure, metrics[i][1]);
            figure->log_y = log_y;
            say_extremes(figure, table, &plan);
        }
    }
    return true;
}

/* Bars with a metric each. */
static bool make_bars(const struct subject *subject, const char *const *metrics, size_t count,
                      const char *title, const char *unit)
{
    const struct bench_table *const table = subject->table;
    int numbers[BENCH_METRICS];
    struct plan plan = {metric_of(table, metrics[0]), -1, -1, -1, {{-1, NULL}}};
    if (plan.metric < 0) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        numbers[i] = metric_of(table, metrics[i]);
    }
    struct figure *const figure = subject_figure(subject, FIGURE_BARS, "");
    plan_bars_of_metrics(figure, table, &plan, numbers, count);
    figure_title(figure, title);
    figure_axes(figure, unit, "");
    say_extremes(figure, table, &plan);
    return true;
}

bool figures_device(const struct subject *subject)
{
    static const char *const throughput[][2] = {
        {"rate", "Grids a second, by how many are launched"}};
    static const char *const limit[][2] = {
        {"lost", "Launches that are lost, by the limit of pending ones"},
        {"rate", "Grids a second of those that ran, by the limit of pending ones"}};
    static const char *const depth[][2] = {
        {"level", "A kernel that launches the next: time per level"}};
    static const char *const graphs[][2] = {{"each", "A graph launched from the device, time each"},
                                            {"lost", "Device graphs that are lost"}};
    static const char *const latency[] = {"initial", "subsequent", "call"};
    static const char *const host[] = {"rate"};
    static const char *const check[] = {"each", "call"};
    const char *const name = subject->table->spec.name;
    if (strcmp(name, "throughput") == 0) {
        return make_lines(subject, "children", "launchers", throughput, 1, true);
    }
    if (strcmp(name, "limit") == 0) {
        return make_lines(subject, "limit", "children", limit, 2, false);
    }
    if (strcmp(name, "depth") == 0) {
        return make_lines(subject, "depth", "way", depth, 1, false);
    }
    if (strcmp(name, "graphs") == 0) {
        return make_lines(subject, "graphs", "way", graphs, 2, false);
    }
    if (strcmp(name, "latency") == 0) {
        return make_bars(subject, latency, 3, "From a launch to the kernel's first instruction",
                         "ns");
    }
    if (strcmp(name, "host") == 0) {
        return make_bars(subject, host, 1, "1,024 small kernels: kernels a second", "1/s");
    }
    if (strcmp(name, "check") == 0) {
        return make_bars(subject, check, 2, "A launch from the device, with and without a check",
                         "ns");
    }
    return false;
}
