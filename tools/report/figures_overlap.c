/* SPDX-License-Identifier: MIT */
/* What overlap gives and takes: by phases, by the trigger's place, by what it needs, and in time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "report/figures.h"

/* ---- phases ------------------------------------------------------------------------------------ */

static bool make_phases(const struct subject *subject)
{
    const struct bench_table *const table = subject->table;
    const int metric = metric_of(table, "device");
    const int way = axis_of(table, "way");
    const int parts[] = {axis_of(table, "prologue"), axis_of(table, "before"),
                         axis_of(table, "after")};
    const int results = axis_of(table, "results");
    if (metric < 0 || way < 0 || parts[0] < 0 || parts[1] < 0 || parts[2] < 0) {
        return false;
    }
    struct figure *const figure = subject_figure(subject, FIGURE_BARS, "");
    for (size_t i = 0; i < table->count; i++) {
        const struct bench_point *const point = table->items[i];
        if (!has_values(point, metric)) {
            continue;
        }
        char *category = format_text("%s / %s / %s", value_at(point, parts[0]),
                                     value_at(point, parts[1]), value_at(point, parts[2]));
        char *panel = results < 0
                          ? copy_text("")
                          : format_text("%s block%s with results", value_at(point, results),
                                        strcmp(value_at(point, results), "one") == 0 ? "" : "s");
        point_add_bar(point, metric, figure, panel, value_at(point, way), category);
        free(panel);
        free(category);
    }
    figure_title(figure,
                 "A kernel of a line, by cycles before the wait / to the trigger / to the end");
    figure_axes(figure, "\u00b5s per kernel", "");
    for (int i = 0; i < 2; i++) {
        const char *const own = i == 0 ? "libpdl" : "chain";
        const char *const plain = i == 0 ? "stream" : "graph";
        double gain;
        const struct bench_point *const best = find_best(table, metric, own, plain, &gain);
        if (best != NULL) {
            figure_say(figure, "%s gains most over a plain %s at %s / %s / %s: %s.", own, plain,
                       value_at(best, parts[0]), value_at(best, parts[1]), value_at(best, parts[2]),
                       times_text(gain).text);
        }
    }
    say_raw(figure, table, metric, way, "libpdl", "stream-pdl");
    say_raw(figure, table, metric, way, "chain", "graph-pdl");
    return true;
}

/* ---- the trigger's place ----------------------------------------------------------------------- */

struct sweep {
    const struct bench_table *table;
    int metric, main, trigger, prologue, fill, shared, way;
};

/* How fast the point is against the same kernel and grid launched the plain way, which has one point for
 * all places of the trigger. */
static double gain_of(const struct sweep *sweep, const struct bench_point *point, const char *plain)
{
    const struct want wants[WANTS] = {
        {sweep->main, value_at(point, sweep->main)},
        {sweep->prologue, value_at(point, sweep->prologue)},
        {sweep->fill, value_at(point, sweep->fill)},
        {sweep->shared, value_at(point, sweep->shared)},
        {sweep->way, plain},
        {-1, NULL},
    };
    const struct bench_point *const base = find_point(sweep->table, sweep->metric, wants);
    return base != NULL ? point_speedup(point, base, sweep->metric).median : NAN;
}

static char *place_of(const struct sweep *sweep, const struct bench_point *point)
{
    return format_text("trigger %s, prologue %s, fill %s, shared %s",
                       value_at(point, sweep->trigger), value_at(point, sweep->prologue),
                       value_at(point, sweep->fill), value_at(point, sweep->shared));
}

static void make_map(const struct subject *subject, const struct sweep *sweep, const char *main,
                     const char *way, const char *plain)
{
    const struct bench_table *const table = sweep->table;
    char *part = format_text("%s-%s", way, main);
    struct figure *const figure = subject_figure(subject, FIGURE_HEAT, part);
    const struct bench_point *best = NULL;
    const struct bench_point *worst = NULL;
    double most = -INFINITY;
    double least = INFINITY;
    size_t count = 0;
    size_t losses = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct bench_point *const point = table->items[i];
        if (!has_values(point, sweep->metric) || strcmp(value_at(point, sweep->way), way) != 0 ||
            strcmp(value_at(point, sweep->main), main) != 0) {
            continue;
        }
        const double gain = gain_of(sweep, point, plain);
        if (isnan(gain)) {
            continue;
        }
        char *panel = format_text("fill %s, shared memory %s", value_at(point, sweep->fill),
                                  value_at(point, sweep->shared));
        const size_t column = texts_place(&figure->categories, value_at(point, sweep->trigger));
        const size_t row = texts_place(&figure->rows, value_at(point, sweep->prologue));
        series_add(figure_series(figure, panel, ""), (double)column, gain, (double)row, NAN);
        free(panel);
        count++;
        losses += gain < 0.99;
        best = gain > most ? point : best;
        most = gain > most ? gain : most;
        worst = gain < least ? point : worst;
        least = gain < least ? gain : least;
    }
    char *title = format_text("%s over a plain %s, main part \"%s\": how many times as fast", way,
                              plain, main);
    figure_title(figure, title);
    figure_axes(figure, "trigger", "prologue, cycles");
    if (best != NULL) {
        char *where = place_of(sweep, best);
        figure_say(figure, "Best at %s: %s.", where, times_text(most).text);
        free(where);
    }
    if (losses > 0) {
        char *where = place_of(sweep, worst);
        figure_say(figure, "It loses more than 1 %% in %zu of %zu places, most at %s: %s.", losses,
                   count, where, times_text(least).text);
        free(where);
    } else if (count > 0) {
        figure_say(figure, "It loses more than 1 %% in none of %zu places.", count);
    }
    free(title);
    free(part);
}

static bool make_trigger(const struct subject *subject)
{
    const struct bench_table *const table = subject->table;
    const struct sweep sweep = {
        .table = table,
        .metric = metric_of(table, "device"),
        .main = axis_of(table, "main"),
        .trigger = axis_of(table, "trigger"),
        .prologue = axis_of(table, "prologue"),
        .fill = axis_of(table, "fill"),
        .shared = axis_of(table, "shared"),
        .way = axis_of(table, "way"),
    };
    if (sweep.metric < 0 || sweep.trigger < 0 || sweep.prologue < 0 || sweep.way < 0) {
        return false;
    }
    struct texts mains = axis_values(table, sweep.main, sweep.metric);
    for (size_t i = 0; i < mains.count; i++) {
        make_map(subject, &sweep, mains.items[i], "libpdl", "stream");
        make_map(subject, &sweep, mains.items[i], "chain", "graph");
    }
    texts_free(&mains);
    if (subject->figures->count > 0) {
        struct figure *const last = subject->figures->items[subject->figures->count - 1];
        say_raw(last, table, sweep.metric, sweep.way, "libpdl", "stream-pdl");
        say_raw(last, table, sweep.metric, sweep.way, "chain", "graph-pdl");
    }
    return true;
}

/* ---- what it needs ----------------------------------------------------------------------------- */

static bool make_conditions(const struct subject *subject)
{
    const struct bench_table *const table = subject->table;
    const struct plan plan = {metric_of(table, "overlap"),
                              axis_of(table, "condition"),
                              axis_of(table, "way"),
                              -1,
                              {{-1, NULL}}};
    if (plan.metric < 0 || plan.x < 0 || plan.series < 0) {
        return false;
    }
    static const struct {
        const char *metric, *title;
    } panels[] = {{"overlap", "from the second kernel's first start to the first one's last end"},
                  {"useful", "of that, the second one's work before its wait"}};
    /* The raw ways are in the table. */
    static const char *const ways[] = {"stream", "libpdl", "graph", "chain"};
    struct figure *const figure = subject_figure(subject, FIGURE_BARS, "");
    for (size_t i = 0; i < 2; i++) {
        const int metric = metric_of(table, panels[i].metric);
        for (size_t j = 0; metric >= 0 && j < table->count; j++) {
            const struct bench_point *const point = table->items[j];
            bool wanted = false;
            for (size_t k = 0; k < sizeof(ways) / sizeof(ways[0]); k++) {
                wanted = wanted || strcmp(value_at(point, plan.series), ways[k]) == 0;
            }
            if (wanted && has_values(point, metric)) {
                point_add_bar(point, metric, figure, panels[i].title, value_at(point, plan.series),
                              value_at(point, plan.x));
            }
        }
    }
    figure_title(figure, "How long two kernels overlap, by what they lack");
    figure_axes(figure, "\u00b5s; below 0: the second one came later", "");
    const struct want all[WANTS] = {{plan.x, "all"}, {plan.series, "libpdl"}};
    const struct bench_point *const whole = find_point(table, plan.metric, all);
    struct texts conditions = axis_values(table, plan.x, plan.metric);
    double most = -INFINITY;
    const char *which = NULL;
    for (size_t i = 0; i < conditions.count; i++) {
        const struct want wants[WANTS] = {{plan.x, conditions.items[i]}, {plan.series, "libpdl"}};
        const struct bench_point *const point = find_point(table, plan.metric, wants);
        if (point != NULL && point != whole && point_median(point, plan.metric) > most) {
            most = point_median(point, plan.metric);
            which = conditions.items[i];
        }
    }
    if (whole != NULL) {
        figure_say(figure, "With all that it needs, libpdl's pair overlaps by %s.",
                   unit_text(point_median(whole, plan.metric), "us").text);
        if (which != NULL) {
            figure_say(figure, "Where one condition is broken, %s has most: %s.", which,
                       unit_text(most, "us").text);
            const int useful = metric_of(table, "useful");
            const struct want wants[WANTS] = {{plan.x, which}, {plan.series, "libpdl"}};
            const struct bench_point *const point = find_point(table, useful, wants);
            if (point != NULL) {
                figure_say(figure, "The second kernel works for %s of it.",
                           unit_text(point_median(point, useful), "us").text);
            }
        }
    } else {
        say_extremes(figure, table, &plan);
    }
    say_raw(figure, table, metric_of(table, "pair"), plan.series, "libpdl", "stream-pdl");
    say_raw(figure, table, metric_of(table, "pair"), plan.series, "chain", "graph-pdl");
    texts_free(&conditions);
    return true;
}

/* ---- in time ----------------------------------------------------------------------------------- */

static bool make_timeline(const struct subject *subject)
{
    static const struct {
        const char *from, *to, *name;
    } spans[] = {
        {"first_start", "last_waited", "before the wait, and waiting"},
        {"last_waited", "last_triggered", "to the trigger"},
        {"last_triggered", "last_ended", "to the end"},
    };
    const struct bench_table *const table = subject->table;
    const int way = axis_of(table, "way");
    const int kernel = axis_of(table, "kernel");
    const int ended = metric_of(table, "last_ended");
    if (way < 0 || kernel < 0 || ended < 0) {
        return false;
    }
    struct figure *const figure = subject_figure(subject, FIGURE_SPANS, "");
    double least = INFINITY;
    double most = 0;
    const struct bench_point *first = NULL;
    const struct bench_point *last = NULL;
    for (size_t i = 0; i < table->count; i++) {
        const struct bench_point *const point = table->items[i];
        if (!has_values(point, ended)) {
            continue;
        }
        char *row = format_text("%s, %s", value_at(point, way), value_at(point, kernel));
        const size_t place = texts_place(&figure->categories, row);
        free(row);
        for (size_t j = 0; j < sizeof(spans) / sizeof(spans[0]); j++) {
            const int from = metric_of(table, spans[j].from);
            const int to = metric_of(table, spans[j].to);
            if (from >= 0 && to >= 0) {
                const double begin = point_median(point, from);
                const double end = point_median(point, to);
                series_add(figure_series(figure, "", spans[j].name), (double)place, end - begin,
                           begin, end);
            }
        }
        const double end = point_median(point, ended);
        if (strcmp(value_at(point, kernel), "fc2") == 0) {
            first = end < least ? point : first;
            least = end < least ? end : least;
            last = end > most ? point : last;
            most = end > most ? end : most;
        }
    }
    figure_title(figure, "Two kernels, from the first one's start");
    figure_axes(figure, "\u00b5s; from the first block's start, then by the last block", "");
    if (first != NULL && first != last) {
        figure_say(figure, "Both have ended after %s with %s, after %s with %s.",
                   unit_text(least, "us").text, value_at(first, way), unit_text(most, "us").text,
                   value_at(last, way));
    }
    return true;
}

bool figures_overlap(const struct subject *subject)
{
    const char *const name = subject->table->spec.name;
    return strcmp(name, "phases") == 0       ? make_phases(subject)
           : strcmp(name, "trigger") == 0    ? make_trigger(subject)
           : strcmp(name, "conditions") == 0 ? make_conditions(subject)
           : strcmp(name, "timeline") == 0   ? make_timeline(subject)
                                             : false;
}
