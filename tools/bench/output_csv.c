/* SPDX-License-Identifier: MIT */
/* A run as comma-separated values, quoted as RFC 4180 says: a line a metric of each point. Every axis has a
 * column of its own, which is empty where a table does not have that axis: a spreadsheet can then filter and
 * pivot by them. Shares are shares, not per cent, and what is not known is empty. */
#include "bench/output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"

/* The names of all axes, each once, in the order of the tables. */
struct axes {
    const char **items;
    size_t count, capacity;
};

static bool has_axis(const struct axes *axes, const char *name)
{
    for (size_t i = 0; i < axes->count; i++) {
        if (strcmp(axes->items[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static struct axes all_axes(const struct bench *bench)
{
    struct axes axes = {NULL, 0, 0};
    for (size_t i = 0; i < bench->count; i++) {
        const struct bench_table *const table = bench->items[i];
        const size_t count = output_selected_count(table) > 0 ? output_axis_count(&table->spec) : 0;
        for (size_t j = 0; j < count; j++) {
            if (!has_axis(&axes, table->spec.axes[j])) {
                APPEND(&axes, table->spec.axes[j]);
            }
        }
    }
    return axes;
}

/* The first cell of a line has no comma in front. */
static void put_text(FILE *to, const char *before, const char *text)
{
    (void)fputs(before, to);
    if (text == NULL) {
        return;
    }
    if (strpbrk(text, ",\"\r\n") == NULL) {
        (void)fputs(text, to);
        return;
    }
    (void)putc('"', to);
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '"') {
            (void)putc('"', to);
        }
        (void)putc(*at, to);
    }
    (void)putc('"', to);
}

static void put_number(FILE *to, double number)
{
    (void)putc(',', to);
    if (isfinite(number)) {
        (void)fprintf(to, "%.9g", number);
    }
}

static void put_axes(FILE *to, const struct axes *axes, const struct bench_point *point)
{
    const struct bench_spec *const spec = &point->table->spec;
    for (size_t i = 0; i < axes->count; i++) {
        const char *value = NULL;
        for (size_t j = 0; j < output_axis_count(spec); j++) {
            if (strcmp(spec->axes[j], axes->items[i]) == 0) {
                value = point->values[j];
            }
        }
        put_text(to, ",", value);
    }
}

static void put_figure(FILE *to, const struct axes *axes, const struct bench_point *point,
                       size_t metric)
{
    const struct output_figure figure = output_figure_of(point, metric);
    const struct bench_metric *const what = &point->table->spec.metrics[metric];
    const double numbers[] = {
        figure.stats.min,    figure.stats.median, figure.stats.p90,  figure.stats.p99,
        figure.stats.max,    figure.stats.mean,   figure.noise,      figure.spread,
        figure.ratio.median, figure.ratio.low,    figure.ratio.high,
    };
    put_text(to, "", point->table->suite);
    put_text(to, ",", point->table->spec.name);
    put_axes(to, axes, point);
    put_text(to, ",", what->name);
    put_text(to, ",", what->unit);
    (void)fprintf(to, ",%zu", figure.stats.count);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        put_number(to, numbers[i]);
    }
    put_text(to, ",", point->against != NULL ? point->against->id : NULL);
    put_text(to, ",", point->waived);
    put_text(to, ",", point->failed);
    put_text(to, ",", point->id);
    (void)putc('\n', to);
}

void output_csv(const struct bench_run *run, FILE *to)
{
    const struct axes axes = all_axes(&run->bench);
    (void)fputs("suite,table", to);
    for (size_t i = 0; i < axes.count; i++) {
        put_text(to, ",", axes.items[i]);
    }
    (void)fputs(",metric,unit,samples,min,median,p90,p99,max,mean,noise,spread,"
                "ratio,ratio_low,ratio_high,against,waived,failed,id\n",
                to);
    for (size_t i = 0; i < run->bench.count; i++) {
        const struct bench_table *const table = run->bench.items[i];
        for (size_t j = 0; j < table->count; j++) {
            const struct bench_point *const point = table->items[j];
            const size_t metrics = point->selected ? output_metric_count(&table->spec) : 0;
            for (size_t metric = 0; metric < metrics; metric++) {
                put_figure(to, &axes, point, metric);
            }
        }
    }
    free(axes.items);
}
