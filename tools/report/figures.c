/* SPDX-License-Identifier: MIT */
#include "report/figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"

/* ---- plans ------------------------------------------------------------------------------------- */

static bool is_wanted(const struct bench_point *point, const struct plan *plan)
{
    for (size_t i = 0; i < WANTS && plan->only[i].value != NULL; i++) {
        if (strcmp(value_at(point, plan->only[i].axis), plan->only[i].value) != 0) {
            return false;
        }
    }
    return has_values(point, plan->metric);
}

/* The axes that a plan has a use for, a bit each; those that all its points agree in say nothing. */
static unsigned used_axes(const struct bench_table *table, const struct plan *plan)
{
    unsigned used = 0;
    const int roles[] = {plan->series, plan->panel};
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        used |= roles[i] >= 0 ? 1u << roles[i] : 0;
    }
    for (int axis = 0; axis < axis_count(table); axis++) {
        const char *value = NULL;
        bool differs = false;
        for (size_t i = 0; i < table->count; i++) {
            if (is_wanted(table->items[i], plan)) {
                value = value == NULL ? value_at(table->items[i], axis) : value;
                differs = differs || strcmp(value, value_at(table->items[i], axis)) != 0;
            }
        }
        used |= differs ? 0 : 1u << axis;
    }
    return used;
}

static char *panel_title(const struct bench_point *point, int axis)
{
    return axis < 0 ? copy_text("")
                    : format_text("%s: %s", point->table->spec.axes[axis], value_at(point, axis));
}

/* A bar's category: its place on the axis, and on those that have no other use. */
static char *category_of(const struct bench_point *point, const struct plan *plan, unsigned used)
{
    if (plan->x < 0) {
        return point_label(point, used);
    }
    char *others = point_label(point, used | 1u << plan->x);
    char *own = shown_value(point, plan->x);
    char *all = format_text("%s%s%s", own, *others != '\0' ? ", " : "", others);
    free(own);
    free(others);
    return all;
}

static void add_bar(struct figure *figure, const struct bench_point *point, const struct plan *plan,
                    unsigned used, const char *series)
{
    char *category = category_of(point, plan, used);
    char *panel = panel_title(point, plan->panel);
    point_add_bar(point, plan->metric, figure, panel, series, category);
    free(category);
    free(panel);
}

static struct figure *titled(const struct subject *subject, enum figure_kind kind, const char *part,
                             int metric)
{
    struct figure *const figure = subject_figure(subject, kind, part);
    char *label = metric_label(subject->table, metric);
    figure_title(figure, subject->table->spec.title != NULL ? subject->table->spec.title
                                                            : subject->table->spec.name);
    figure_axes(figure, kind == FIGURE_LINES ? "" : label, kind == FIGURE_LINES ? label : "");
    free(label);
    return figure;
}

struct figure *plan_bars(const struct subject *subject, const char *part, const struct plan *plan)
{
    const struct bench_table *const table = subject->table;
    struct figure *const figure = titled(subject, FIGURE_BARS, part, plan->metric);
    const unsigned used = used_axes(table, plan);
    for (size_t i = 0; i < table->count; i++) {
        if (is_wanted(table->items[i], plan)) {
            char *series = shown_value(table->items[i], plan->series);
            add_bar(figure, table->items[i], plan, used, series);
            free(series);
        }
    }
    return figure;
}

void plan_bars_of_metrics(struct figure *figure, const struct bench_table *table,
                          const struct plan *plan, const int *metrics, size_t count)
{
    const unsigned used = used_axes(table, plan);
    for (size_t j = 0; j < count; j++) {
        struct plan own = *plan;
        own.metric = metrics[j];
        for (size_t i = 0; metrics[j] >= 0 && i < table->count; i++) {
            if (is_wanted(table->items[i], &own)) {
                add_bar(figure, table->items[i], &own, used, table->spec.metrics[metrics[j]].name);
            }
        }
    }
}

/* Whether the values of an axis lie apart as powers do. */
static bool spread_widely(const struct texts *values)
{
    double least = INFINITY;
    double most = -INFINITY;
    for (size_t i = 0; i < values->count; i++) {
        const double number = number_of(values->items[i]);
        least = number < least ? number : least;
        most = number > most ? number : most;
    }
    return least > 0 && most / least > 20;
}

struct figure *plan_lines(const struct subject *subject, const char *part, const struct plan *plan)
{
    const struct bench_table *const table = subject->table;
    struct figure *const figure = titled(subject, FIGURE_LINES, part, plan->metric);
    const unsigned used = used_axes(table, plan);
    struct texts values = axis_values(table, plan->x, plan->metric);
    figure->log_x = spread_widely(&values);
    texts_free(&values);
    for (size_t i = 0; i < table->count; i++) {
        const struct bench_point *const point = table->items[i];
        if (!is_wanted(point, plan)) {
            continue;
        }
        char *others = point_label(point, used | 1u << plan->x);
        char *own = shown_value(point, plan->series);
        char *name =
            format_text("%s%s%s", own, *own != '\0' && *others != '\0' ? ", " : "", others);
        char *panel = panel_title(point, plan->panel);
        point_add(point, plan->metric, number_of(value_at(point, plan->x)),
                  figure_series(figure, panel, name));
        free(panel);
        free(name);
        free(own);
        free(others);
    }
    figure_axes(figure, table->spec.axes[plan->x], figure->y_label);
    return figure;
}

/* ---- sentences --------------------------------------------------------------------------------- */

static char *name_of(const struct bench_point *point, unsigned skip)
{
    char *label = point_label(point, skip);
    if (*label == '\0') {
        free(label);
        label = point_label(point, 0);
    }
    return label;
}

/* The axes in which all wanted points agree. */
static unsigned settled_axes(const struct bench_table *table, const struct plan *plan)
{
    struct plan own = *plan;
    own.x = own.series = own.panel = -1;
    return used_axes(table, &own);
}

void say_extremes(struct figure *figure, const struct bench_table *table, const struct plan *plan)
{
    const struct bench_metric *const metric = &table->spec.metrics[plan->metric];
    const struct bench_point *least = NULL;
    const struct bench_point *most = NULL;
    for (size_t i = 0; i < table->count; i++) {
        const struct bench_point *const point = table->items[i];
        if (is_wanted(point, plan)) {
            const double median = point_median(point, plan->metric);
            least = least == NULL || median < point_median(least, plan->metric) ? point : least;
            most = most == NULL || median > point_median(most, plan->metric) ? point : most;
        }
    }
    if (least == NULL) {
        return;
    }
    const unsigned skip = settled_axes(table, plan);
    const double low = point_median(least, plan->metric);
    const double high = point_median(most, plan->metric);
    const struct word low_text = unit_text(low, metric->unit);
    if (least == most) {
        figure_say(figure, "One value: %s.", low_text.text);
    } else {
        char *low_name = name_of(least, skip);
        char *high_name = name_of(most, skip);
        figure_say(figure, "Lowest: %s, %s. Highest: %s, %s%s%s%s.", low_name, low_text.text,
                   high_name, unit_text(high, metric->unit).text, low > 0 ? " (" : "",
                   low > 0 ? times_text(high / low).text : "", low > 0 ? ")" : "");
        free(high_name);
        free(low_name);
    }
}

/* Ends a sentence with a ratio. The rounds run both in turn, so their ratios vary less than the medians do. */
static char *end_ratio(char *say, const char *shown, const char *quotient)
{
    char *whole = strcmp(shown, quotient) == 0
                      ? format_text("%s.", say)
                      : format_text("%s (the median of the rounds' ratios; the quotient of the two "
                                    "medians is %s).",
                                    say, quotient);
    free(say);
    return whole;
}

bool say_against(struct figure *figure, const struct bench_table *table, const struct plan *plan,
                 int axis, const char *first, const char *second)
{
    const struct bench_metric *const metric = &table->spec.metrics[plan->metric];
    struct want wants[WANTS] = {{axis, first}};
    for (size_t i = 0; i + 1 < WANTS && plan->only[i].value != NULL; i++) {
        wants[i + 1] = plan->only[i];
    }
    const struct bench_point *const one = find_point(table, plan->metric, wants);
    wants[0].value = second;
    const struct bench_point *const other = find_point(table, plan->metric, wants);
    if (one == NULL || other == NULL) {
        return false;
    }
    const struct stats_ratio ratio = point_speedup(one, other, plan->metric);
    char *own_name = shown_value(one, axis);
    char *its_name = shown_value(other, axis);
    const double distance = fabs(ratio.median - 1);
    const int digits = distance < 0.1 ? 3 : distance < 9 ? 2 : 1;
    char *shown = format_text("%.*f", digits, ratio.median);
    char *quotient = format_text(
        "%.*f", digits, point_median(other, plan->metric) / point_median(one, plan->metric));
    figure_say(figure, "%s: %s; %s: %s, %s times that", own_name,
               unit_text(point_median(one, plan->metric), metric->unit).text, its_name,
               unit_text(point_median(other, plan->metric), metric->unit).text, shown);
    figure->say = end_ratio(figure->say, shown, quotient);
    free(quotient);
    free(shown);
    free(its_name);
    free(own_name);
    return true;
}

void say_raw(struct figure *figure, const struct bench_table *table, int metric, int axis,
             const char *mine, const char *raw)
{
    double least = INFINITY;
    double most = 0;
    size_t count = 0;
    for (size_t i = 0; axis >= 0 && metric >= 0 && i < table->count; i++) {
        const struct bench_point *const point = table->items[i];
        if (!has_values(point, metric) || strcmp(value_at(point, axis), mine) != 0) {
            continue;
        }
        const struct bench_point *const other = find_counterpart(point, metric, axis, raw);
        const double ratio = other != NULL ? point_speedup(other, point, metric).median : NAN;
        if (isfinite(ratio)) {
            least = ratio < least ? ratio : least;
            most = ratio > most ? ratio : most;
            count++;
        }
    }
    if (count > 1) {
        figure_say(figure, "%s is %.3f to %.3f times raw %s in %zu rows.", mine, least, most, raw,
                   count);
    } else if (count == 1) {
        figure_say(figure, "%s is %.3f times raw %s.", mine, least, raw);
    }
}

/* ---- tables that nothing is known of ----------------------------------------------------------- */

/* The axis whose values are different numbers at most points. */
static int numeric_axis(const struct bench_table *table, int metric)
{
    int found = -1;
    size_t most = 3;
    for (int axis = 0; axis < axis_count(table); axis++) {
        struct texts values = axis_values(table, axis, metric);
        bool numeric = values.count >= most;
        for (size_t i = 0; numeric && i < values.count; i++) {
            numeric = !isnan(number_of(values.items[i]));
        }
        if (numeric) {
            found = axis;
            most = values.count + 1;
        }
        texts_free(&values);
    }
    return found;
}

static int way_axis(const struct bench_table *table, int other_than)
{
    int axis = axis_of(table, "way");
    for (int i = axis_count(table) - 1; i >= 0 && axis < 0; i--) {
        axis = i != other_than ? i : -1;
    }
    return axis == other_than ? -1 : axis;
}

static size_t count_values(const struct bench_table *table, int metric)
{
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++) {
        count += has_values(table->items[i], metric);
    }
    return count;
}

/* Bars as long as they can be told apart; lines where there is a number to lay them over. */
static void make_generic(const struct subject *subject)
{
    enum { MOST_BARS = 48, MOST_LINES = 10, MOST_METRICS = 3 };
    const struct bench_table *const table = subject->table;
    for (int metric = 0; metric < metric_count(table) && metric < MOST_METRICS; metric++) {
        const size_t count = count_values(table, metric);
        const int x = numeric_axis(table, metric);
        struct plan plan = {.metric = metric, .x = -1, .series = -1, .panel = -1};
        struct figure *figure;
        if (count == 0) {
            continue;
        }
        struct texts values = axis_values(table, x >= 0 ? x : 0, metric);
        const size_t lines = values.count > 0 ? count / values.count : count;
        texts_free(&values);
        if (x >= 0 && count > 5 && lines <= MOST_LINES) {
            plan.x = x;
            plan.series = way_axis(table, x);
            figure = plan_lines(subject, table->spec.metrics[metric].name, &plan);
        } else {
            figure = plan_bars(subject, table->spec.metrics[metric].name, &plan);
            if (figure->categories.count > MOST_BARS) {
                figures_drop_last(subject->figures);
                continue; /* the table has it */
            }
        }
        say_extremes(figure, table, &plan);
    }
}

void figures_make(const struct subject *subject)
{
    static const struct {
        const char *suite;
        bool (*make)(const struct subject *subject);
    } suites[] = {
        {"overhead", figures_overhead}, {"overlap", figures_overlap}, {"graph", figures_graph},
        {"sync", figures_sync},         {"device", figures_device},   {"decode", figures_decode},
    };
    bool made = false;
    for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++) {
        if (strcmp(suites[i].suite, subject->table->suite) == 0) {
            made = suites[i].make(subject);
        }
    }
    if (!made) {
        make_generic(subject);
    }
    /* What has nothing to be drawn is not drawn. */
    struct figures *const figures = subject->figures;
    size_t kept = 0;
    for (size_t i = 0; i < figures->count; i++) {
        struct figure *const figure = figures->items[i];
        figures->items[i] = figures->items[kept];
        figures->items[kept] = figure;
        kept += !figure_is_empty(figure);
    }
    while (figures->count > kept) {
        figures_drop_last(figures);
    }
}
