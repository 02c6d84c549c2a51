/* SPDX-License-Identifier: MIT */
/* Two runs, row by row.
 *
 * The medians of a metric may differ by a share of the old one: by as much as both runs are uncertain (of
 * each the noise of its samples or the spread of its passes, what is larger; added), and at least by the
 * metric's tolerance. Beyond that the figure is better or worse. A row is what the worst of its figures is. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench/output.h"
#include "common/memory.h"

/* From what is to be looked at first to what is not: a row has the first of its figures' verdicts. */
enum verdict { FAILED, WORSE, GONE, WAIVED, BETTER, NEW, NOT_MEASURED, SAME, VERDICTS };
static const char *const names[VERDICTS] = {
    [FAILED] = "failed",
    [WORSE] = "worse",
    [GONE] = "gone",
    [WAIVED] = "waived",
    [BETTER] = "better",
    [NEW] = "new",
    [NOT_MEASURED] = "not measured",
    [SAME] = "same",
};

/* The columns of the table of changes. */
enum { ROW, VERDICT, METRIC, OLD, CURRENT, CHANGE, ALLOWED, COLUMNS };
static const char *const headings[COLUMNS] = {"Row", "Verdict", "Metric", "Old",
                                              "New", "Change",  "Allowed"};

struct comparison {
    const struct bench_run *old_run, *new_run;
    struct table changes;
    size_t rows[VERDICTS]; /* how many have it */
    size_t worse;          /* or failed only in the new run */
    size_t left_out;       /* of the old run's rows, which were not asked for in the new one */
};

/* What is known of one metric in both runs. */
struct change {
    double old_median, new_median; /* NAN: not known */
    double share;                  /* of the old median */
    double allowed;
    enum verdict verdict;
};

/* ---- looking up ------------------------------------------------------------------------------- */

static bool of_table(const struct bench_table *table, const struct bench_table *other)
{
    return strcmp(table->suite, other->suite) == 0 &&
           strcmp(table->spec.name, other->spec.name) == 0;
}

/* The same point in another run, or NULL. Rows keep their order from run to run: `hint` is where the one
 * before was found, SIZE_MAX at first. */
static const struct bench_point *find_point(const struct bench *bench,
                                            const struct bench_point *point, size_t *hint)
{
    for (size_t i = 0; i < bench->count; i++) {
        const struct bench_table *const table = bench->items[i];
        for (size_t j = 0; j < table->count && of_table(table, point->table); j++) {
            const size_t at = (*hint + 1 + j) % table->count;
            if (strcmp(table->items[at]->id, point->id) == 0) {
                *hint = at;
                return table->items[at];
            }
        }
    }
    return NULL;
}

static bool has_suite(const struct bench *bench, const char *suite)
{
    for (size_t i = 0; i < bench->count; i++) {
        if (strcmp(bench->items[i]->suite, suite) == 0) {
            return true;
        }
    }
    return false;
}

/* The metric of the same name and unit in another table; BENCH_METRICS if there is none. */
static size_t find_metric(const struct bench_spec *spec, const struct bench_metric *metric)
{
    for (size_t i = 0; i < output_metric_count(spec); i++) {
        if (strcmp(spec->metrics[i].name, metric->name) == 0 &&
            strcmp(spec->metrics[i].unit, metric->unit) == 0) {
            return i;
        }
    }
    return BENCH_METRICS;
}

/* ---- what is printed -------------------------------------------------------------------------- */

static char *signed_percent(double share)
{
    return isnan(share)   ? copy_text("")
           : isinf(share) ? copy_text(share > 0 ? "+inf" : "-inf")
                          : format_text("%+.1f%%", 100 * share);
}

static char *figure_text(double median, const char *unit)
{
    if (isnan(median)) {
        return copy_text("");
    }
    char *number = output_number(median);
    char *const text = format_text("%s %s", number, unit_name(unit));
    free(number);
    return text;
}

static void print_change(struct comparison *comparison, const struct bench_point *point,
                         const struct bench_metric *metric, const struct change *change)
{
    struct table *const changes = &comparison->changes;
    table_add(changes, copy_text(point->id));
    table_add(changes, copy_text(names[change->verdict]));
    table_add(changes, copy_text(metric->name));
    table_add(changes, figure_text(change->old_median, metric->unit));
    table_add(changes, figure_text(change->new_median, metric->unit));
    table_add(changes, signed_percent(change->share));
    table_add(changes, isnan(change->allowed) ? copy_text("")
                                              : format_text("%.1f%%", 100 * change->allowed));
}

/* A row, or many of them, without figures; `why` may be NULL. */
static void print_row(struct comparison *comparison, const char *row, enum verdict verdict,
                      const char *why)
{
    table_add(&comparison->changes, copy_text(row));
    table_add(&comparison->changes,
              why != NULL ? format_text("%s: %s", names[verdict], why) : copy_text(names[verdict]));
    for (int i = METRIC; i < COLUMNS; i++) {
        table_add(&comparison->changes, NULL);
    }
}

/* ---- verdicts --------------------------------------------------------------------------------- */

/* How uncertain a run's median is: what another process may make of it. What makes samples noisy, other
 * programs on the host above all, comes and goes more slowly than a run lasts, so that a run's passes
 * may agree by luck. */
static double spread_of(const struct bench_point *point, size_t metric)
{
    const struct bench_samples *const samples = &point->samples[metric];
    const struct stats stats = stats_of(samples->items, samples->count);
    return fmax(0, fmax(stats_noise(&stats), stats_spread(point, (int)metric))); /* no NANs */
}

static struct change judge(const struct bench_point *old_point, size_t old_metric,
                           const struct bench_point *new_point, size_t new_metric)
{
    const struct bench_metric *const metric = &new_point->table->spec.metrics[new_metric];
    const struct bench_samples *const now = &new_point->samples[new_metric];
    struct change change = {NAN, stats_median(now->items, now->count), NAN, NAN, SAME};
    if (old_metric < BENCH_METRICS) {
        const struct bench_samples *const before = &old_point->samples[old_metric];
        change.old_median = stats_median(before->items, before->count);
    }
    if (isnan(change.old_median) || isnan(change.new_median)) {
        change.verdict = !isnan(change.new_median)   ? NEW
                         : !isnan(change.old_median) ? GONE
                                                     : SAME; /* never measured here */
        return change;
    }
    const double tolerance = output_tolerance(metric);
    const double spreads = spread_of(old_point, old_metric) + spread_of(new_point, new_metric);
    const double difference = change.new_median - change.old_median;
    change.allowed = spreads > tolerance ? spreads : tolerance;
    change.share = difference == 0 ? 0 : difference / fabs(change.old_median);
    if (fabs(change.share) > change.allowed) {
        change.verdict = (change.share > 0) == metric->higher_is_better ? BETTER : WORSE;
    }
    return change;
}

static bool has_figures(const struct bench_point *point)
{
    return point->waived == NULL && point->failed == NULL && point->samples[0].count > 0;
}

/* Both runs measured it. */
static enum verdict compare_figures(struct comparison *comparison,
                                    const struct bench_point *old_point,
                                    const struct bench_point *new_point)
{
    const struct bench_spec *const spec = &new_point->table->spec;
    const struct bench_spec *const old_spec = &old_point->table->spec;
    enum verdict verdict = SAME;
    for (size_t i = 0; i < output_metric_count(spec); i++) {
        const struct change change =
            judge(old_point, find_metric(old_spec, &spec->metrics[i]), new_point, i);
        if (change.verdict != SAME) {
            print_change(comparison, new_point, &spec->metrics[i], &change);
        }
        verdict = change.verdict < verdict ? change.verdict : verdict;
    }
    for (size_t i = 0; i < output_metric_count(old_spec); i++) {
        if (find_metric(spec, &old_spec->metrics[i]) == BENCH_METRICS) {
            const struct bench_samples *const before = &old_point->samples[i];
            const struct change gone = {stats_median(before->items, before->count), NAN, NAN, NAN,
                                        GONE};
            print_change(comparison, new_point, &old_spec->metrics[i], &gone);
            verdict = GONE < verdict ? GONE : verdict;
        }
    }
    return verdict;
}

/* `old_point` is NULL where the old run does not have it. */
static enum verdict compare_point(struct comparison *comparison,
                                  const struct bench_point *old_point,
                                  const struct bench_point *new_point)
{
    if (new_point->failed != NULL) {
        const bool before = old_point != NULL && old_point->failed != NULL;
        comparison->worse += !before;
        print_row(comparison, new_point->id, FAILED, new_point->failed);
        return FAILED;
    }
    if (new_point->waived != NULL) {
        if (old_point == NULL || old_point->waived == NULL) {
            print_row(comparison, new_point->id, WAIVED, new_point->waived);
        }
        return WAIVED;
    }
    if (new_point->samples[0].count == 0) {
        return NOT_MEASURED; /* the run ended before */
    }
    if (old_point == NULL || !has_figures(old_point)) {
        print_row(comparison, new_point->id, NEW,
                  old_point == NULL           ? NULL
                  : old_point->failed != NULL ? "it failed in the old run"
                  : old_point->waived != NULL ? "it was waived in the old run"
                                              : "the old run ended before it");
        return NEW;
    }
    const enum verdict verdict = compare_figures(comparison, old_point, new_point);
    comparison->worse += verdict == WORSE;
    return verdict;
}

static void compare_new_points(struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->new_run->bench.count; i++) {
        const struct bench_table *const table = comparison->new_run->bench.items[i];
        size_t hint = SIZE_MAX;
        for (size_t j = 0; j < table->count; j++) {
            const struct bench_point *const point = table->items[j];
            if (point->selected) {
                const struct bench_point *const old_point =
                    find_point(&comparison->old_run->bench, point, &hint);
                comparison->rows[compare_point(comparison, old_point, point)]++;
            }
        }
    }
}

/* Rows that only the old run has are gone if the new one has their suite. A whole table takes one line. */
static void compare_old_points(struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->old_run->bench.count; i++) {
        const struct bench_table *const table = comparison->old_run->bench.items[i];
        const bool wanted = has_suite(&comparison->new_run->bench, table->suite);
        const size_t before = comparison->changes.count;
        size_t hint = SIZE_MAX;
        size_t gone = 0;
        for (size_t j = 0; j < table->count; j++) {
            const struct bench_point *const old_point = table->items[j];
            const struct bench_point *const new_point =
                find_point(&comparison->new_run->bench, old_point, &hint);
            if (!wanted || (new_point != NULL && !new_point->selected)) {
                comparison->left_out++;
            } else if (new_point == NULL) {
                print_row(comparison, old_point->id, GONE, NULL);
                gone++;
            }
        }
        comparison->rows[GONE] += gone;
        if (gone > 1 && gone == table->count) {
            while (comparison->changes.count > before) {
                free(comparison->changes.items[--comparison->changes.count]);
            }
            char *const name = format_text("%s/%s", table->suite, table->spec.name);
            char *const rows = format_count(gone, "row", "rows");
            print_row(comparison, name, GONE, rows);
            free(rows);
            free(name);
        }
    }
}

/* ---- environments ----------------------------------------------------------------------------- */

/* What differs between any two runs, and says nothing about the figures. */
static bool is_of_the_moment(const char *key)
{
    static const char *const keys[] = {"date", "command"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (strcmp(key, keys[i]) == 0) {
            return true;
        }
    }
    /* What held the clocks back is worth a word. */
    return (output_ends_in(key, "_before") || output_ends_in(key, "_after")) &&
           strncmp(key, "clocks_held_back_by_", 20) != 0;
}

static char *fact_text(const struct bench_fact *fact)
{
    return fact == NULL         ? copy_text("not known")
           : fact->text != NULL ? copy_text(fact->text)
                                : output_number(fact->number);
}

static void print_difference(const struct bench_fact *old_fact, const struct bench_fact *new_fact,
                             size_t *differences, FILE *to)
{
    char *const before = fact_text(old_fact);
    char *const now = fact_text(new_fact);
    if (strcmp(before, now) != 0) {
        (void)fputs((*differences)++ == 0 ? "\nThe runs were made under other conditions: " : "; ",
                    to);
        print_plain(to, old_fact != NULL ? old_fact->key : new_fact->key);
        (void)fputs(" was ", to);
        print_plain(to, before);
        (void)fputs(", now ", to);
        print_plain(to, now);
    }
    free(now);
    free(before);
}

static void compare_environments(const struct bench_environment *old_environment,
                                 const struct bench_environment *new_environment, FILE *to)
{
    size_t differences = 0;
    for (size_t i = 0; i < old_environment->count; i++) {
        const struct bench_fact *const fact = &old_environment->items[i];
        if (!is_of_the_moment(fact->key)) {
            print_difference(fact, environment_find(new_environment, fact->key), &differences, to);
        }
    }
    for (size_t i = 0; i < new_environment->count; i++) {
        const struct bench_fact *const fact = &new_environment->items[i];
        if (!is_of_the_moment(fact->key) && environment_find(old_environment, fact->key) == NULL) {
            print_difference(NULL, fact, &differences, to);
        }
    }
    if (differences > 0) {
        (void)fputs(".\n", to);
    }
}

static void print_end(const char *which, const char *why, FILE *to)
{
    if (why != NULL) {
        (void)fprintf(to, "\nThe %s run ended early: ", which);
        print_plain(to, why);
        (void)fputs(".\n", to);
    }
}

static void print_summary(const struct comparison *comparison, FILE *to)
{
    /* The good news first: this is what is read when there is no other. */
    static const enum verdict order[VERDICTS] = {SAME, WORSE,  BETTER, NEW,
                                                 GONE, WAIVED, FAILED, NOT_MEASURED};
    for (size_t i = 0; i < VERDICTS; i++) {
        const size_t count = comparison->rows[order[i]];
        if (count > 0 || order[i] == SAME || order[i] == WORSE) {
            char *const text = format_count(count, "", "");
            (void)fprintf(to, "%s%s %s", i > 0 ? ", " : "\n", text, names[order[i]]);
            free(text);
        }
    }
    if (comparison->left_out > 0) {
        char *const text = format_count(comparison->left_out, "row", "rows");
        (void)fprintf(to, "; %s of the old run not asked for", text);
        free(text);
    }
    (void)fputs(".\n", to);
}

bool compare_is_blind(const struct bench_run *old_run, const struct bench_run *new_run)
{
    bool any = false;
    bool missing = false;
    for (size_t i = 0; i < new_run->bench.count; i++) {
        const struct bench_table *const table = new_run->bench.items[i];
        size_t hint = SIZE_MAX;
        for (size_t j = 0; j < table->count; j++) {
            const struct bench_point *const point = table->items[j];
            if (point->selected && point->failed == NULL && point->waived == NULL) {
                const struct bench_point *const before = find_point(&old_run->bench, point, &hint);
                missing = missing || point->samples[0].count == 0;
                any = any || (has_figures(point) && before != NULL && has_figures(before));
            }
        }
    }
    return missing || !any;
}

size_t compare_runs(const struct bench_run *old_run, const struct bench_run *new_run, FILE *to)
{
    static const size_t all[COLUMNS] = {ROW, VERDICT, METRIC, OLD, CURRENT, CHANGE, ALLOWED};
    struct comparison comparison = {
        .old_run = old_run,
        .new_run = new_run,
        .changes = {.headings = headings, .right = "lllrrrr"},
    };
    compare_new_points(&comparison);
    compare_old_points(&comparison);
    (void)fputs("\n## Compared with the old run\n", to);
    if (comparison.changes.count > 0) {
        (void)putc('\n', to);
        markdown_print(&comparison.changes, all, COLUMNS, to);
    }
    print_summary(&comparison, to);
    print_end("old", old_run->ended_early, to);
    print_end("new", new_run->ended_early, to);
    compare_environments(&old_run->environment, &new_run->environment, to);
    table_free(&comparison.changes);
    return comparison.worse;
}
