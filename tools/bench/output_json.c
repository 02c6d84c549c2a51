/* SPDX-License-Identifier: MIT */
/* A run as JSON, with jansson: written with a line a point, and read again. docs/bench.md documents the
 * keys. */
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench/output.h"
#include "commands.h"
#include "common/json.h"
#include "common/memory.h"
#include "common/print.h"

enum { SCHEMA = 1 };

/* ---- written ---------------------------------------------------------------------------------- */

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

/* ---- read ------------------------------------------------------------------------------------- */

/* Where the reader stands: for what it says when something is wrong. */
struct reader {
    const char *path;
    char where[160];
    struct bench_run *run;
    json_t *ids; /* of the points so far: each one's place in its table */
};

/* Always false. */
__attribute__((format(printf, 2, 3))) static bool refuse(const struct reader *reader,
                                                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *const wrong = format_text_of(format, arguments);
    va_end(arguments);
    print_line(stderr, "%s: error: %s%s%s", reader->path, reader->where,
               reader->where[0] != '\0' ? ": " : "", wrong);
    free(wrong);
    return false;
}

__attribute__((format(printf, 2, 3))) static void stand_at(struct reader *reader,
                                                           const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reader->where, sizeof(reader->where), format, arguments);
    va_end(arguments);
}

/* A text, or NULL where the file has null or nothing and that is allowed. */
static bool take_text(const struct reader *reader, const json_t *object, const char *key,
                      bool required, const char **text)
{
    const json_t *const value = json_object_get(object, key);
    *text = json_string_value(value);
    if (*text == NULL && (required || (value != NULL && !json_is_null(value)))) {
        return refuse(reader, "\"%s\" is no text", key);
    }
    return true;
}

/* What is part of ids and of headings: something, and nothing that steers a terminal. */
static bool is_name(const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f) {
            return false;
        }
    }
    return *text != '\0';
}

static bool take_name(const struct reader *reader, const json_t *object, const char *key,
                      const char **text)
{
    *text = json_string_value(json_object_get(object, key));
    return (*text != NULL && is_name(*text)) || refuse(reader, "\"%s\" is no name", key);
}

/* A list with at most so many items. */
static bool take_list(const struct reader *reader, const json_t *object, const char *key,
                      size_t most, json_t **list)
{
    *list = json_object_get(object, key);
    if (!json_is_array(*list)) {
        return refuse(reader, "\"%s\" is no list", key);
    }
    if (json_array_size(*list) > most) {
        return refuse(reader, "\"%s\" has %zu items, at most %zu are known here", key,
                      json_array_size(*list), most);
    }
    return true;
}

static bool take_object(const struct reader *reader, const json_t *object, const char *key,
                        json_t **value)
{
    *value = json_object_get(object, key);
    return json_is_object(*value) || refuse(reader, "\"%s\" is no object", key);
}

/* For texts that suites own, and here the run does. */
static const char *keep(struct bench_run *run, const char *text)
{
    char *const copy = copy_text(text);
    APPEND(&run->texts, copy);
    return copy;
}

static bool read_samples(const struct reader *reader, const json_t *figure,
                         struct bench_samples *samples)
{
    json_t *list = NULL;
    if (!take_list(reader, figure, "samples", SIZE_MAX, &list)) {
        return false;
    }
    const size_t count = json_array_size(list);
    samples->items = allocate(count, sizeof(*samples->items));
    samples->capacity = count;
    for (size_t i = 0; i < count; i++) {
        const json_t *const sample = json_array_get(list, i);
        if (!json_is_number(sample) && !json_is_null(sample)) {
            return refuse(reader, "sample %zu is neither a number nor null", i);
        }
        samples->items[samples->count++] = json_is_null(sample) ? NAN : json_number_value(sample);
    }
    return true;
}

static bool read_figures(struct reader *reader, const json_t *object, struct bench_point *point)
{
    const struct bench_spec *const spec = &point->table->spec;
    json_t *metrics = NULL;
    if (!take_object(reader, object, "metrics", &metrics)) {
        return false;
    }
    for (size_t i = 0; i < output_metric_count(spec); i++) {
        json_t *figure = NULL;
        if (!take_object(reader, metrics, spec->metrics[i].name, &figure) ||
            !read_samples(reader, figure, &point->samples[i])) {
            return false;
        }
        if (point->samples[i].count != point->samples[0].count) {
            return refuse(reader, "its metrics have different numbers of samples");
        }
    }
    return true;
}

/* Each pass ends with more samples than the one before. */
static bool read_passes(const struct reader *reader, const json_t *object,
                        struct bench_point *point)
{
    json_t *list = NULL;
    size_t before = 0;
    if (!take_list(reader, object, "passes", BENCH_PASSES, &list)) {
        return false;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_int_t end = json_integer_value(json_array_get(list, i));
        if (end <= (json_int_t)before || end > (json_int_t)point->samples[0].count) {
            return refuse(reader, "\"passes\" does not rise to the number of samples");
        }
        before = (size_t)end;
        point->pass_ends[point->passes++] = before;
    }
    return true;
}

/* NULL in `against` where there is none; only a point in front of it will do. */
static bool take_against(const struct reader *reader, const json_t *object,
                         const struct bench_table *table, struct bench_point **against)
{
    const char *id = NULL;
    *against = NULL;
    if (!take_text(reader, object, "against", false, &id)) {
        return false;
    }
    if (id != NULL) {
        const json_t *const place = json_object_get(reader->ids, id);
        const size_t index = (size_t)json_integer_value(place);
        if (place == NULL || index >= table->count || strcmp(table->items[index]->id, id) != 0) {
            return refuse(reader, "\"against\" is not an earlier point of its table");
        }
        *against = table->items[index];
    }
    return true;
}

static bool read_point(struct reader *reader, const json_t *object, struct bench_table *table)
{
    const char *values[BENCH_AXES] = {NULL};
    const char *id = NULL;
    const char *waived = NULL;
    const char *failed = NULL;
    json_t *axes = NULL;
    struct bench_point *against = NULL;
    const json_int_t checks = json_integer_value(json_object_get(object, "checks"));
    if (!take_name(reader, object, "id", &id) || !take_object(reader, object, "axes", &axes) ||
        !take_against(reader, object, table, &against) ||
        !take_text(reader, object, "waived", false, &waived) ||
        !take_text(reader, object, "failed", false, &failed)) {
        return false;
    }
    for (size_t i = 0; i < output_axis_count(&table->spec); i++) {
        if (!take_name(reader, axes, table->spec.axes[i], &values[i])) {
            return false;
        }
    }
    if (json_object_get(reader->ids, id) != NULL) {
        return refuse(reader, "there is a point of its id before it");
    }
    if (checks < 0 || checks > UINT_MAX) {
        return refuse(reader, "\"checks\" is not a number of checks");
    }
    struct bench_point *const point = bench_point_add(table, against, NULL, values);
    point->waived = waived != NULL ? copy_text(waived) : NULL;
    point->failed = failed != NULL ? copy_text(failed) : NULL;
    point->checks = (unsigned)checks;
    if (strcmp(point->id, id) != 0) {
        return refuse(reader, "its id is not that of its axes, %s", point->id);
    }
    json_set(reader->ids, id, json_number((int64_t)table->count - 1));
    return read_figures(reader, object, point) && read_passes(reader, object, point);
}

static bool read_axes(const struct reader *reader, const json_t *object, struct bench_spec *spec)
{
    json_t *list = NULL;
    if (!take_list(reader, object, "axes", BENCH_AXES, &list)) {
        return false;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *const name = json_string_value(json_array_get(list, i));
        if (name == NULL || !is_name(name)) {
            return refuse(reader, "axis %zu is not a name", i);
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(spec->axes[j], name) == 0) {
                return refuse(reader, "two axes have the same name");
            }
        }
        spec->axes[i] = keep(reader->run, name);
    }
    return true;
}

static bool read_metrics(const struct reader *reader, const json_t *object, struct bench_spec *spec)
{
    json_t *list = NULL;
    if (!take_list(reader, object, "metrics", BENCH_METRICS, &list)) {
        return false;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *const metric = json_array_get(list, i);
        const json_t *const tolerance = json_object_get(metric, "tolerance");
        const json_t *const higher = json_object_get(metric, "higher_is_better");
        const char *name = NULL;
        const char *unit = NULL;
        if (!take_name(reader, metric, "name", &name) ||
            !take_name(reader, metric, "unit", &unit)) {
            return false;
        }
        if (!json_is_boolean(higher) || !json_is_number(tolerance) ||
            json_number_value(tolerance) < 0) {
            return refuse(reader, "metric %s has no direction or no tolerance", name);
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(spec->metrics[j].name, name) == 0) {
                return refuse(reader, "two metrics have the same name");
            }
        }
        spec->metrics[i] = (struct bench_metric){
            .name = keep(reader->run, name),
            .unit = keep(reader->run, unit),
            .higher_is_better = json_is_true(higher),
            .tolerance = json_number_value(tolerance),
        };
    }
    return json_array_size(list) > 0 || refuse(reader, "it has no metrics");
}

static bool read_table(struct reader *reader, const json_t *object, size_t number)
{
    const char *suite = NULL;
    const char *name = NULL;
    const char *title = NULL;
    const char *note = NULL;
    json_t *points = NULL;
    struct bench_table *const table = allocate(1, sizeof(*table));
    APPEND(&reader->run->bench, table);
    stand_at(reader, "table %zu", number);
    if (!take_name(reader, object, "suite", &suite) || !take_name(reader, object, "name", &name) ||
        !take_text(reader, object, "title", true, &title) ||
        !take_text(reader, object, "note", false, &note) ||
        !read_axes(reader, object, &table->spec) || !read_metrics(reader, object, &table->spec) ||
        !take_list(reader, object, "points", SIZE_MAX, &points)) {
        return false;
    }
    table->suite = keep(reader->run, suite);
    table->spec.name = keep(reader->run, name);
    table->spec.title = keep(reader->run, title);
    table->spec.note = note != NULL ? keep(reader->run, note) : NULL;
    for (size_t i = 0; i < json_array_size(points); i++) {
        stand_at(reader, "table %zu, point %zu", number, i);
        if (!read_point(reader, json_array_get(points, i), table)) {
            return false;
        }
    }
    return true;
}

static bool read_environment(const struct reader *reader, json_t *object)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(object, key, value)
    {
        if (json_is_string(value)) {
            environment_add_text(&reader->run->environment, key, json_string_value(value));
        } else if (json_is_number(value) || json_is_null(value)) {
            environment_add_number(&reader->run->environment, key,
                                   json_is_null(value) ? NAN : json_number_value(value));
        } else {
            return refuse(reader, "\"environment\" has more than texts and numbers");
        }
    }
    return true;
}

static bool read_run(struct reader *reader, const json_t *root)
{
    const char *const tool = json_string_value(json_object_get(root, "tool"));
    const json_t *const schema = json_object_get(root, "schema");
    const char *ended_early = NULL;
    json_t *environment = NULL;
    json_t *tables = NULL;
    if (tool == NULL || strcmp(tool, "pdltool bench") != 0 || !json_is_integer(schema)) {
        return refuse(reader, "it was not written by pdltool bench");
    }
    if (json_integer_value(schema) != SCHEMA) {
        return refuse(reader, "it has the schema %" JSON_INTEGER_FORMAT ", this program knows %d",
                      json_integer_value(schema), SCHEMA);
    }
    if (!take_object(reader, root, "environment", &environment) ||
        !read_environment(reader, environment) ||
        !take_text(reader, root, "ended_early", false, &ended_early) ||
        !take_list(reader, root, "tables", SIZE_MAX, &tables)) {
        return false;
    }
    reader->run->ended_early = ended_early != NULL ? copy_text(ended_early) : NULL;
    for (size_t i = 0; i < json_array_size(tables); i++) {
        if (!read_table(reader, json_array_get(tables, i), i)) {
            return false;
        }
    }
    return true;
}

bool input_json(const char *path, struct bench_run *run)
{
    struct reader reader = {.path = path, .run = run};
    char *why = NULL;
    memset(run, 0, sizeof(*run));
    json_t *const root = json_read(path, &why);
    if (root == NULL) {
        (void)refuse(&reader, "%s", why);
        free(why);
        return false;
    }
    reader.ids = json_new_object();
    const bool good = read_run(&reader, root);
    json_decref(reader.ids);
    json_decref(root);
    if (!good) {
        bench_run_free(run);
    }
    return good;
}
