/* SPDX-License-Identifier: MIT */
#include "report/subject.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/print.h"

struct figure *subject_figure(const struct subject *subject, enum figure_kind kind,
                              const char *part)
{
    const struct bench_table *const table = subject->table;
    return figure_new(subject->figures, kind,
                      file_name(table->suite, table->spec.name, part, subject->label));
}

int axis_count(const struct bench_table *table)
{
    int count = 0;
    while (count < BENCH_AXES && table->spec.axes[count] != NULL) {
        count++;
    }
    return count;
}

int metric_count(const struct bench_table *table)
{
    int count = 0;
    while (count < BENCH_METRICS && table->spec.metrics[count].name != NULL) {
        count++;
    }
    return count;
}

int axis_of(const struct bench_table *table, const char *name)
{
    for (int i = 0; i < axis_count(table); i++) {
        if (strcmp(table->spec.axes[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

int metric_of(const struct bench_table *table, const char *name)
{
    for (int i = 0; i < metric_count(table); i++) {
        if (strcmp(table->spec.metrics[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

const char *value_at(const struct bench_point *point, int axis)
{
    return axis < 0 || point->values[axis] == NULL ? "" : point->values[axis];
}

char *shown_value(const struct bench_point *point, int axis)
{
    const char *const value = value_at(point, axis);
    if (strcmp(value, "chevron") == 0) {
        return copy_text("<<<>>>"); /* as it is written in a program */
    }
    if (isnan(number_of(value))) {
        return copy_text(value);
    }
    /* A number alone says nothing. */
    const char *const name = point->table->spec.axes[axis];
    const size_t length = strlen(name);
    if (length == 0 || name[length - 1] != 's') {
        return format_text("%s %s", name, value);
    }
    return format_text("%s %.*s", value, (int)(strcmp(value, "1") == 0 ? length - 1 : length),
                       name);
}

bool is_raw_again(const struct bench_point *point)
{
    return strstr(point->id, "-again/") != NULL;
}

bool has_values(const struct bench_point *point, int metric)
{
    const struct bench_samples *const samples = &point->samples[metric];
    bool any = false;
    for (size_t i = 0; i < samples->count && !any; i++) {
        any = !isnan(samples->items[i]);
    }
    return any && point->selected && point->waived == NULL && point->failed == NULL;
}

struct texts axis_values(const struct bench_table *table, int axis, int metric)
{
    struct texts values = {.items = NULL};
    for (size_t i = 0; i < table->count; i++) {
        if (has_values(table->items[i], metric)) {
            (void)texts_place(&values, value_at(table->items[i], axis));
        }
    }
    return values;
}

static bool matches(const struct bench_point *point, const struct want *wants)
{
    for (size_t i = 0; i < WANTS && wants[i].value != NULL; i++) {
        if (wants[i].axis >= 0 && strcmp(value_at(point, wants[i].axis), wants[i].value) != 0) {
            return false;
        }
    }
    return true;
}

const struct bench_point *find_point(const struct bench_table *table, int metric,
                                     const struct want *wants)
{
    for (size_t i = 0; metric >= 0 && i < table->count; i++) {
        if (has_values(table->items[i], metric) && matches(table->items[i], wants)) {
            return table->items[i];
        }
    }
    return NULL;
}

const struct bench_point *find_counterpart(const struct bench_point *point, int metric, int axis,
                                           const char *value)
{
    struct want wants[BENCH_AXES + 1] = {{-1, NULL}};
    for (int i = 0; i < axis_count(point->table); i++) {
        wants[i] = (struct want){i, i == axis ? value : value_at(point, i)};
    }
    return find_point(point->table, metric, wants);
}

const struct bench_point *find_best(const struct bench_table *table, int metric, const char *way,
                                    const char *other, double *gain)
{
    const int axis = axis_of(table, "way");
    const struct bench_point *best = NULL;
    *gain = 0;
    for (size_t i = 0; metric >= 0 && axis >= 0 && i < table->count; i++) {
        const struct bench_point *const point = table->items[i];
        if (has_values(point, metric) && strcmp(value_at(point, axis), way) == 0) {
            const struct bench_point *const base = find_counterpart(point, metric, axis, other);
            const double own = base != NULL ? point_speedup(point, base, metric).median : 0;
            best = own > *gain ? point : best;
            *gain = own > *gain ? own : *gain;
        }
    }
    return best;
}

struct stats point_stats(const struct bench_point *point, int metric)
{
    return stats_of(point->samples[metric].items, point->samples[metric].count);
}

double point_median(const struct bench_point *point, int metric)
{
    return point_stats(point, metric).median;
}

struct stats_ratio point_speedup(const struct bench_point *point, const struct bench_point *base,
                                 int metric)
{
    const size_t mine = point->samples[metric].count;
    const size_t others = base->samples[metric].count;
    return stats_ratio_of(base->samples[metric].items, point->samples[metric].items,
                          mine < others ? mine : others);
}

void point_add(const struct bench_point *point, int metric, double x, struct figure_series *series)
{
    const struct stats stats = point_stats(point, metric);
    series_add(series, x, stats.median, stats.p10, stats.p90);
}

void point_add_bar(const struct bench_point *point, int metric, struct figure *figure,
                   const char *panel, const char *series, const char *category)
{
    const size_t place = texts_place(&figure->categories, category);
    point_add(point, metric, (double)place, figure_series(figure, panel, series));
}

char *point_label(const struct bench_point *point, unsigned skip)
{
    struct texts parts = {.items = NULL};
    for (int i = 0; i < axis_count(point->table); i++) {
        if ((skip & 1u << i) == 0) {
            texts_take(&parts, shown_value(point, i));
        }
    }
    char *label = joined_text(&parts, ", ");
    texts_free(&parts);
    return label;
}

const char *metric_unit(const struct bench_table *table, int metric)
{
    const char *const unit = table->spec.metrics[metric].unit;
    return unit != NULL ? unit : "";
}

char *metric_label(const struct bench_table *table, int metric)
{
    const char *const unit = unit_name(metric_unit(table, metric));
    return format_text("%s%s%s", table->spec.metrics[metric].name, *unit != '\0' ? ", " : "", unit);
}
