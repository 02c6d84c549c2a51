/* SPDX-License-Identifier: MIT */
/* A run as text for a terminal. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/output.h"
#include "common/memory.h"

static char *grouped(const char *digits)
{
    const size_t sign = *digits == '-';
    const size_t length = strlen(digits + sign);
    char *const text = allocate(sign + 2 * length + 1, 1);
    size_t used = sign;
    memcpy(text, digits, sign);
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            text[used++] = ',';
        }
        text[used++] = digits[sign + i];
    }
    return text;
}

char *output_number(double number)
{
    const double size = fabs(number);
    if (!isfinite(number)) {
        return copy_text(isnan(number) ? "-" : number > 0 ? "inf" : "-inf");
    }
    if (number == 0 || (size < 1000 && size == floor(size))) {
        return format_text("%.0f", size == 0 ? 0 : number);
    }
    if (size >= 1e15 || size < 1e-6) {
        return format_text("%.3e", number);
    }
    if (size < 999.95) {
        return format_text("%.*f", 3 - (int)floor(log10(size)), number);
    }
    char *digits = format_text("%.0f", number);
    char *const text = grouped(digits);
    free(digits);
    return text;
}

/* A share in per cent. */
static char *percent(double share)
{
    if (!isfinite(share)) {
        return copy_text("-");
    }
    return format_text(share < 0.9995 ? "%.1f%%" : "%.0f%%", 100 * share);
}

/* What the other point has different, such as "stream"; all of its values where nothing is. */
static char *name_against(const struct bench_point *point, size_t axes)
{
    char *name = NULL;
    for (int all = 0; all < 2 && name == NULL; all++) {
        for (size_t i = 0; i < axes; i++) {
            if (all || strcmp(point->values[i], point->against->values[i]) != 0) {
                char *longer = format_text("%s%s%s", name != NULL ? name : "",
                                           name != NULL ? "/" : "", point->against->values[i]);
                free(name);
                name = longer;
            }
        }
    }
    return name != NULL ? name : copy_text("");
}

static char *ratio_text(const struct bench_point *point, size_t axes,
                        const struct stats_ratio *ratio)
{
    if (ratio->count == 0) {
        return copy_text("-");
    }
    const int digits = ratio->median < 10 ? 3 : ratio->median < 100 ? 2 : 1;
    char *const name = name_against(point, axes);
    char *const text = format_text("%.*f [%.*f, %.*f] to %s", digits, ratio->median, digits,
                                   ratio->low, digits, ratio->high, name);
    free(name);
    return text;
}

/* Why there are no figures in a row; NULL where there are. The caller frees it. */
static char *missing_text(const struct bench_point *point)
{
    if (point->failed != NULL) {
        return format_text("FAILED: %s", point->failed);
    }
    if (point->waived != NULL) {
        return format_text("waived: %s", point->waived);
    }
    return point->samples[0].count == 0 ? copy_text("not measured") : NULL;
}

/* The points that have figures, by one metric. */
static void print_metric(const struct bench_table *points, size_t metric, FILE *to)
{
    enum { MEDIAN = 1, NOISE, RATIO, MOST = BENCH_AXES + RATIO + 1 };
    const struct bench_spec *const spec = &points->spec;
    const size_t axes = output_axis_count(spec);
    const char *headings[MOST];
    char right[MOST + 1] = "";
    struct table table = {.headings = headings, .right = right};
    char *const heading =
        format_text("%s (%s)", spec->metrics[metric].name, unit_name(spec->metrics[metric].unit));
    memcpy(headings, spec->axes, axes * sizeof(*headings));
    memset(right, 'l', axes);
    memcpy(right + axes, "rrrl", sizeof("rrrl"));
    headings[axes] = "samples";
    headings[axes + MEDIAN] = heading;
    headings[axes + NOISE] = "noise";
    headings[axes + RATIO] = "ratio";
    for (size_t i = 0; i < points->count; i++) {
        const struct bench_point *const point = points->items[i];
        char *const missing = missing_text(point);
        if (point->selected && missing == NULL) {
            const struct output_figure figure = output_figure_of(point, metric);
            for (size_t j = 0; j < axes; j++) {
                table_add(&table, copy_text(point->values[j]));
            }
            table_add(&table, format_count(point->samples[metric].count, "", ""));
            table_add(&table, output_number(figure.stats.median));
            table_add(&table, percent(figure.noise));
            table_add(&table, ratio_text(point, axes, &figure.ratio));
        }
        free(missing);
    }
    if (table.count > 0) {
        (void)putc('\n', to);
        table_print(&table, to);
    }
    table_free(&table);
    free(heading);
}

static void print_points(const struct bench_table *points, FILE *to)
{
    const char *before = "\n";
    if (output_selected_count(points) == 0) {
        return;
    }
    (void)putc('\n', to);
    print_line(to, "%s/%s: %s", points->suite, points->spec.name, points->spec.title);
    if (points->spec.note != NULL) {
        print_wrapped(to, 0, 0, points->spec.note);
    }
    for (size_t i = 0; i < output_metric_count(&points->spec); i++) {
        print_metric(points, i, to);
    }
    for (size_t i = 0; i < points->count; i++) {
        char *const missing = missing_text(points->items[i]);
        if (points->items[i]->selected && missing != NULL) {
            (void)fputs(before, to);
            print_line(to, "%s: %s", points->items[i]->id, missing);
            before = "";
        }
        free(missing);
    }
}

void output_text(const struct bench_run *run, FILE *to)
{
    for (size_t i = 0; i < run->environment.count; i++) {
        const struct bench_fact *const fact = &run->environment.items[i];
        char *const number = fact->text == NULL ? output_number(fact->number) : NULL;
        print_line(to, "%s: %s", fact->key, number != NULL ? number : fact->text);
        free(number);
    }
    if (run->ended_early != NULL) {
        (void)putc('\n', to);
        print_line(to, "ended early: %s; what had been measured until then follows",
                   run->ended_early);
    }
    (void)putc('\n', to);
    print_wrapped(to, 0, 0,
                  "Figures are medians. Noise is half of the distance from the 10th to the 90th "
                  "percentile, in percent of the median. A ratio is the median of the ratios of "
                  "the rounds, with the interval that 95 % of its resamplings fall into.");
    for (size_t i = 0; i < run->bench.count; i++) {
        print_points(run->bench.items[i], to);
    }
}
