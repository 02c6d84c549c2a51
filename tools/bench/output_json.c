/* SPDX-License-Identifier: MIT */
/* A run as JSON, with jansson, a line per point. docs/bench.md documents the keys. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench/output.h"
#include "commands.h"
#include "common/json.h"
#include "common/memory.h"
#include "common/print.h"

enum { SCHEMA = 1 };

/* Below 2^53 a double holds every one. */
static bool is_whole(double number)
{
    return number == floor(number) && fabs(number) < 0x1p53;
}

/* Six digits are more than any clock here has; whole numbers (bytes, nodes) keep all that they have. */
static double rounded(double number)
{
    char text[32];
    if (!isfinite(number) || is_whole(number)) {
        return isfinite(number) ? number : NAN; /* null */
    }
    (void)snprintf(text, sizeof(text), "%.6g", number);
    return strtod(text, NULL);
}

static json_t *number(double value)
{
    const double short_value = rounded(value);
    if (!isfinite(short_value)) {
        return json_null();
    }
    if (is_whole(short_value)) {
        return json_number((int64_t)short_value);
    }
    json_t *const made = json_real(short_value);
    return made != NULL ? made : json_null();
}

/* A copy of a point whose samples are those that are written: the figures beside them are made of the same
 * numbers as after reading them. */
static void round_samples(struct bench_point *copy, const struct bench_point *point)
{
    *copy = *point;
    for (size_t i = 0; i < BENCH_METRICS; i++) {
        struct bench_samples *const samples = &copy->samples[i];
        samples->items = allocate(samples->count, sizeof(*samples->items));
        for (size_t j = 0; j < samples->count; j++) {
            samples->items[j] = rounded(point->samples[i].items[j]);
        }
    }
}

static void free_samples(struct bench_point *copy)
{
    for (size_t i = 0; i < BENCH_METRICS; i++) {
        free(copy->samples[i].items);
    }
}

static json_t *write_ratio(const struct stats_ratio *ratio)
{
    if (ratio->count == 0) {
        return json_null();
    }
    json_t *const object = json_new_object();
    json_set(object, "median", number(ratio->median));
    json_set(object, "low", number(ratio->low));
    json_set(object, "high", number(ratio->high));
    return object;
}

static json_t *write_figure(const struct bench_point *point, size_t metric)
{
    const struct output_figure figure = output_figure_of(point, metric);
    const struct bench_samples *const all = &point->samples[metric];
    json_t *const object = json_new_object();
    json_t *const samples = json_new_array();
    for (size_t i = 0; i < all->count; i++) {
        json_add(samples, number(all->items[i]));
    }
    json_set(object, "count", json_number((int64_t)figure.stats.count));
    json_set(object, "min", number(figure.stats.min));
    json_set(object, "median", number(figure.stats.median));
    json_set(object, "p90", number(figure.stats.p90));
    json_set(object, "p99", number(figure.stats.p99));
    json_set(object, "max", number(figure.stats.max));
    json_set(object, "mean", number(figure.stats.mean));
    json_set(object, "noise", number(figure.noise));
    json_set(object, "spread", number(figure.spread));
    json_set(object, "ratio", write_ratio(&figure.ratio));
    json_set(object, "samples", samples);
    return object;
}

static json_t *write_point(const struct bench_point *point)
{
    const struct bench_spec *const spec = &point->table->spec;
    json_t *const object = json_new_object();
    json_t *const axes = json_new_object();
    json_t *const passes = json_new_array();
    json_t *const metrics = json_new_object();
    struct bench_point copy;
    struct bench_point against;
    for (size_t i = 0; i < output_axis_count(spec); i++) {
        json_set(axes, spec->axes[i], json_text(point->values[i]));
    }
    for (size_t i = 0; i < point->passes; i++) {
        json_add(passes, json_number((int64_t)point->pass_ends[i]));
    }
    round_samples(&copy, point);
    if (point->against != NULL) {
        round_samples(&against, point->against);
        copy.against = &against;
    }
    for (size_t i = 0; i < output_metric_count(spec); i++) {
        json_set(metrics, spec->metrics[i].name, write_figure(&copy, i));
    }
    free_samples(&copy);
    if (point->against != NULL) {
        free_samples(&against);
    }
    json_set(object, "id", json_text(point->id));
    json_set(object, "axes", axes);
    json_set(object, "against", json_text(point->against != NULL ? point->against->id : NULL));
    json_set(object, "waived", json_text(point->waived));
    json_set(object, "failed", json_text(point->failed));
    json_set(object, "checks", json_number(point->checks));
    json_set(object, "passes", passes);
    json_set(object, "metrics", metrics);
    return object;
}

static json_t *write_axes(const struct bench_spec *spec)
{
    json_t *const axes = json_new_array();
    for (size_t i = 0; i < output_axis_count(spec); i++) {
        json_add(axes, json_text(spec->axes[i]));
    }
    return axes;
}

static json_t *write_metrics(const struct bench_spec *spec)
{
    json_t *const metrics = json_new_array();
    for (size_t i = 0; i < output_metric_count(spec); i++) {
        const struct bench_metric *const metric = &spec->metrics[i];
        json_t *const object = json_new_object();
        json_set(object, "name", json_text(metric->name));
        json_set(object, "unit", json_text(metric->unit));
        json_set(object, "higher_is_better", json_boolean(metric->higher_is_better));
        json_set(object, "tolerance", number(output_tolerance(metric)));
        json_add(metrics, object);
    }
    return metrics;
}

/* Where writing fails, the stream remembers it. */
static void dump(FILE *to, json_t *value, size_t flags)
{
    if (json_dumpf(value, to, flags | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6)) != 0 &&
        ferror(to) == 0) {
        (void)fputs("pdltool: error: out of memory\n", stderr);
        exit(EXIT_USAGE);
    }
    json_decref(value);
}

static void put(FILE *to, const char *before, json_t *value)
{
    (void)fputs(before, to);
    dump(to, value, JSON_COMPACT | JSON_ENCODE_ANY);
}

static void put_table(FILE *to, const struct bench_table *table)
{
    const char *before = "\n";
    put(to, "\n{\"suite\": ", json_text(table->suite));
    put(to, ", \"name\": ", json_text(table->spec.name));
    put(to, ",\n\"title\": ", json_text(table->spec.title));
    put(to, ",\n\"note\": ", json_text(table->spec.note));
    put(to, ",\n\"axes\": ", write_axes(&table->spec));
    put(to, ",\n\"metrics\": ", write_metrics(&table->spec));
    (void)fputs(",\n\"points\": [", to);
    for (size_t i = 0; i < table->count; i++) {
        if (table->items[i]->selected) {
            put(to, before, write_point(table->items[i]));
            before = ",\n";
        }
    }
    (void)fputs("\n]}", to);
}

static void put_environment(FILE *to, const struct bench_environment *environment)
{
    json_t *const object = json_new_object();
    for (size_t i = 0; i < environment->count; i++) {
        const struct bench_fact *const fact = &environment->items[i];
        json_set(object, fact->key,
                 fact->text != NULL ? json_text(fact->text) : number(fact->number));
    }
    (void)fputs("\"environment\": ", to);
    dump(to, object, JSON_INDENT(1));
}

void output_json(const struct bench_run *run, FILE *to)
{
    const char *before = "";
    (void)fprintf(to, "{\"schema\": %d,\n\"tool\": \"pdltool bench\",\n", SCHEMA);
    put_environment(to, &run->environment);
    put(to, ",\n\"ended_early\": ", json_text(run->ended_early));
    (void)fputs(",\n\"tables\": [", to);
    for (size_t i = 0; i < run->bench.count; i++) {
        if (output_selected_count(run->bench.items[i]) > 0) {
            (void)fputs(before, to);
            put_table(to, run->bench.items[i]);
            before = ",";
        }
    }
    (void)fputs("\n]}\n", to);
}
