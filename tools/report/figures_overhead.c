/* SPDX-License-Identifier: MIT */
/* What a launch costs. Figures 2 to 6 are those of Zhang, Wahib and Matsuoka, "Understanding the Overheads
 * of Launching CUDA Kernels" (ICPP 2019), whose figures of a V100 with CUDA 10.0 are said beside. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/quantile.h"
#include "report/figures.h"

static const struct plan no_plan = {.metric = -1, .x = -1, .series = -1, .panel = -1};

/* Other spellings of calls that are shown, which cost the same but for what their own table shows. */
static bool is_variant(const char *way)
{
    static const char *const variants[] = {"cudaLaunchKernel",       "cudaLaunchKernelEx",
                                           "cudaLaunchKernelEx-pdl", "pdl_launch_kernel",
                                           "pdl_launch_kernel-auto", "pdl_launch-symbol",
                                           "pdl_launch-symbol-auto"};
    for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
        if (strcmp(variants[i], way) == 0) {
            return true;
        }
    }
    return false;
}

static bool ends_in(const char *text, const char *end)
{
    const size_t length = strlen(text);
    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

/* ---- the host's cost ---------------------------------------------------------------------------- */

/* The shares of samples that lie below, few enough for a page. The axis goes as far as most of them. */
static void add_shares(struct figure *figure, const char *panel, const char *name,
                       const struct bench_samples *samples)
{
    enum { STEPS = 160 };
    static const double shown = 0.97;
    double *rising = allocate(samples->count, sizeof(*rising));
    size_t count = 0;
    for (size_t i = 0; i < samples->count; i++) {
        if (isfinite(samples->items[i])) {
            rising[count++] = samples->items[i];
        }
    }
    sort_rising(rising, count);
    for (int i = 0; i <= STEPS && count > 0; i++) {
        const double share = (double)i / STEPS;
        const double value = quantile(rising, count, share);
        series_add(figure_series(figure, panel, name), value, 100 * share, NAN, NAN);
    }
    if (count > 0) {
        const double high = quantile(rising, count, shown);
        figure->x_from =
            figure->x_from == 0 || rising[0] < figure->x_from ? rising[0] : figure->x_from;
        figure->x_to = high > figure->x_to ? high : figure->x_to;
    }
    free(rising);
}

static void add_call(struct figure *figure, const struct bench_point *point, int metric, int way,
                     const char *kind, bool overlaps)
{
    char *name = shown_value(point, way);
    if (overlaps) {
        *strrchr(name, '-') = '\0'; /* the panel says it */
    }
    char *shown = format_text("%s%s", kind, name);
    const char *const panel = overlaps ? "with overlap" : "without overlap";
    if (figure_series(figure, panel, shown)->count == 0) {
        add_shares(figure, panel, shown, &point->samples[metric]);
    }
    free(shown);
    free(name);
}

static void make_shares(const struct subject *subject, int metric, int way, int args,
                        const char *count)
{
    const struct bench_table *const table = subject->table;
    struct figure *const figure = subject_figure(subject, FIGURE_LINES, "ecdf");
    for (size_t i = 0; i < table->count; i++) {
        const struct bench_point *const point = table->items[i];
        const char *const own = value_at(point, way);
        /* One launch of a whole graph is of another size altogether. */
        if (!has_values(point, metric) || strcmp(value_at(point, args), count) != 0 ||
            strncmp(own, "graph", 5) == 0 || strcmp(own, "chain") == 0 || is_raw_again(point)) {
            continue;
        }
        const bool overlaps = ends_in(own, "-pdl") || ends_in(own, "-auto");
        /* A libpdl call and the raw call that it is compared with, in turn. */
        if (point->against != NULL && has_values(point->against, metric)) {
            add_call(figure, point->against, metric, way, "raw: ", overlaps);
            add_call(figure, point, metric, way, "libpdl: ", overlaps);
        }
    }
    char *title = format_text("Host time of a launch with %s arguments: how many take less", count);
    figure_title(figure, title);
    free(title);
    figure_axes(figure, "ns per launch", "% of batches");
    figure->curves = true;
    const double room = 0.03 * (figure->x_to - figure->x_from);
    figure->x_from -= room;
    figure->x_to += room;
    struct plan plan = no_plan;
    plan.metric = metric;
    plan.only[0] = (struct want){args, count};
    (void)say_against(figure, table, &plan, way, "cuLaunchKernelEx", "pdl_launch");
    (void)say_against(figure, table, &plan, way, "cuLaunchKernelEx-pdl", "pdl_launch-auto");
    figure_say(figure, "The last 3 %% of the slowest are not shown.");
}

/* How libpdl's ways lie to their raw ones, by the table's own comparison. */
static void say_libpdl(struct figure *figure, const struct bench_table *table, int metric)
{
    double most = 0;
    double least = INFINITY;
    const struct bench_point *worst = NULL;
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct bench_point *const point = table->items[i];
        if (has_values(point, metric) && point->against != NULL && !is_raw_again(point) &&
            has_values(point->against, metric)) {
            const double ratio = point_speedup(point->against, point, metric).median;
            worst = ratio > most ? point : worst;
            most = ratio > most ? ratio : most;
            least = ratio < least ? ratio : least;
            count++;
        }
    }
    if (worst != NULL) {
        char *where = point_label(worst, 0);
        char *raw = point_label(worst->against, 0);
        figure_say(figure,
                   "libpdl takes %.3f to %.3f times as long as the raw call in %zu rows, most with "
                   "%s (raw: %s).",
                   least, most, count, where, raw);
        free(raw);
        free(where);
    }
}

static bool make_host(const struct subject *subject)
{
    const struct bench_table *const table = subject->table;
    const struct plan plan = {
        metric_of(table, "host"), axis_of(table, "way"), axis_of(table, "args"), -1, {{-1, NULL}}};
    if (plan.metric < 0 || plan.x < 0 || plan.series < 0) {
        return false;
    }
    struct texts counts = axis_values(table, plan.series, plan.metric);
    for (size_t i = 0; i < counts.count; i++) {
        if (strcmp(counts.items[i], "8") == 0 || counts.count == 1) {
            make_shares(subject, plan.metric, plan.x, plan.series, counts.items[i]);
        }
    }
    texts_free(&counts);
    struct figure *const figure = subject_figure(subject, FIGURE_BARS, "");
    for (size_t i = 0; i < table->count; i++) {
        const struct bench_point *const point = table->items[i];
        if (has_values(point, plan.metric) && !is_variant(value_at(point, plan.x))) {
            char *series = format_text("%s arguments", value_at(point, plan.series));
            char *name = shown_value(point, plan.x);
            point_add_bar(point, plan.metric, figure, "", series, name);
            free(name);
            free(series);
        }
    }
    figure_title(figure, "Host time of a launch");
    figure_axes(figure, "ns per launch", "");
    say_libpdl(figure, table, plan.metric);
    return true;
}

/* ---- bars by way, one a metric ------------------------------------------------------------------ */

/* Their V100 with <<<>>> and with a cooperative launch, ns. */
struct published {
    const char *metric, *what;
    double traditional, cooperative;
};

static const struct bars {
    const char *table, *title, *unit, *needs;
    const char *metrics[4], *names[4];
    const char *axis, *value; /* which points; NULL: all */
    enum figure_kind kind;
    bool variants;
    struct published published[2];
    const char *extremes; /* the metric to say them of, or NULL */
} all_bars[] = {
    {"latency",
     "One empty kernel: from the launch until the host knows its end",
     "ns",
     "latency",
     {"latency", "call"},
     {"latency", "of it in the launch call"},
     "args",
     "0",
     FIGURE_BARS,
     true,
     {{NULL, NULL, 0, 0}},
     "latency"},
    {"small",
     "One more empty kernel (Zhang et al., figure 4, left, and the device alone)",
     "ns per kernel",
     "additional",
     {"host", "additional", "device"},
     {"CPU launch overhead, 128 launches", "additional latency, 128 less 64", "on the device"},
     "args",
     "0",
     FIGURE_BARS,
     false,
     {{"host", "CPU launch overhead", 2545, 3388},
      {"additional", "Additional latency", 2541, 3326}},
     NULL},
    {"large",
     "Kernels of 5 \u00b5s (Zhang et al., figure 5, left)",
     "ns per kernel",
     "execution",
     {"additional", "host", "wait", "execution"},
     {"additional latency", "CPU launch overhead", "wait unit", "execution overhead"},
     "units",
     "5",
     FIGURE_BARS,
     false,
     {{"additional", "Additional latency", 6144, 6155},
      {"execution", "Execution overhead", 993, 1015}},
     "execution"},
    {"other",
     "Where the latency of one empty kernel goes (Zhang et al., figure 6)",
     "ns",
     "other",
     {"host", "execution", "other"},
     {"CPU launch overhead", "execution overhead", "other overhead"},
     NULL,
     NULL,
     FIGURE_STACKS,
     false,
     {{"other", "Other overhead", 4735, 4830}},
     NULL},
};

static void say_published(struct figure *figure, const struct bench_table *table, struct want only,
                          const struct published *published)
{
    static const char *const ways[] = {"chevron", "cooperative"};
    const double then[] = {published->traditional, published->cooperative};
    const int metric = metric_of(table, published->metric);
    for (int i = 0; i < 2; i++) {
        const struct want wants[WANTS] = {{axis_of(table, "way"), ways[i]}, only, {-1, NULL}};
        const struct bench_point *const point = find_point(table, metric, wants);
        if (point == NULL) {
            return;
        }
        figure_say(figure, "%s of %s: %s ns; %s on the V100 of Zhang et al.", published->what,
                   i == 0 ? "<<<>>>" : "a cooperative launch",
                   value_text(point_median(point, metric)).text, value_text(then[i]).text);
    }
}

static bool make_bars(const struct subject *subject)
{
    const struct bench_table *const table = subject->table;
    const struct bars *bars = all_bars;
    while (strcmp(bars->table, table->spec.name) != 0) {
        bars++;
    }
    const int way = axis_of(table, "way");
    const struct want only = {bars->axis != NULL ? axis_of(table, bars->axis) : -1, bars->value};
    if (metric_of(table, bars->needs) < 0 || way < 0 || (bars->axis != NULL && only.axis < 0)) {
        return false;
    }
    struct figure *const figure = subject_figure(subject, bars->kind, "");
    for (size_t i = 0; i < table->count; i++) {
        const struct bench_point *const point = table->items[i];
        if ((only.value != NULL && strcmp(value_at(point, only.axis), only.value) != 0) ||
            (!bars->variants && is_variant(value_at(point, way)))) {
            continue;
        }
        for (size_t j = 0; j < 4 && bars->metrics[j] != NULL; j++) {
            const int metric = metric_of(table, bars->metrics[j]);
            if (metric >= 0 && has_values(point, metric)) {
                char *name = shown_value(point, way);
                point_add_bar(point, metric, figure, "", bars->names[j], name);
                free(name);
            }
        }
    }
    figure_title(figure, bars->title);
    figure_axes(figure, bars->unit, "");
    for (size_t i = 0; i < 2 && bars->published[i].metric != NULL; i++) {
        say_published(figure, table, only, &bars->published[i]);
    }
    if (bars->extremes != NULL) {
        struct plan plan = no_plan;
        plan.metric = metric_of(table, bars->extremes);
        plan.only[0] = only;
        say_extremes(figure, table, &plan);
    }
    return true;
}

/* ---- lines -------------------------------------------------------------------------------------- */

static bool make_unit(const struct subject *subject)
{
    const struct bench_table *const table = subject->table;
    struct plan plan = {metric_of(table, "unit"),
                        axis_of(table, "units"),
                        axis_of(table, "way"),
                        axis_of(table, "wait"),
                        {{-1, NULL}}};
    if (plan.metric < 0 || plan.x < 0 || plan.series < 0) {
        return false;
    }
    struct figure *const figure = plan_lines(subject, "", &plan);
    figure_title(
        figure,
        "What a wait unit of 1 \u00b5s adds, by units in a kernel (Zhang et al., figure 2)");
    figure_axes(figure, "wait units in the kernel", "ns per unit");
    figure->log_x = true;
    struct texts units = axis_values(table, plan.x, plan.metric);
    if (units.count > 0) {
        struct texts waits = axis_values(table, plan.panel, plan.metric);
        for (size_t i = 0; i < waits.count; i++) {
            const struct want wants[WANTS] = {{plan.x, units.items[units.count - 1]},
                                              {plan.panel, waits.items[i]}};
            const struct bench_point *const point = find_point(table, plan.metric, wants);
            if (point != NULL) {
                char *way = shown_value(point, plan.series);
                figure_say(figure, "With %s units of %s each adds %s ns (%s).",
                           units.items[units.count - 1], waits.items[i],
                           value_text(point_median(point, plan.metric)).text, way);
                free(way);
            }
        }
        figure_say(figure, "Zhang et al. had about 1,020 ns from 4 units on.");
        texts_free(&waits);
    }
    texts_free(&units);
    return true;
}

static bool make_total(const struct subject *subject)
{
    const struct bench_table *const table = subject->table;
    struct plan plan = {metric_of(table, "latency"),
                        axis_of(table, "kernels"),
                        axis_of(table, "way"),
                        axis_of(table, "units"),
                        {{-1, NULL}}};
    if (plan.metric < 0 || plan.x < 0 || plan.series < 0) {
        return false;
    }
    struct figure *const figure = plan_lines(subject, "", &plan);
    figure_title(figure, "Latency of so many kernels of so many \u00b5s each");
    figure_axes(figure, "kernels", "\u00b5s until the host knows the end");
    figure->log_x = figure->log_y = true;
    struct texts kernels = axis_values(table, plan.x, plan.metric);
    struct texts units = axis_values(table, plan.panel, plan.metric);
    for (size_t i = 0; i < units.count && i < 1; i++) {
        plan.only[0] = (struct want){plan.panel, units.items[i]};
        plan.only[1] = (struct want){plan.x, kernels.items[kernels.count - 1]};
        figure_say(figure, "%s kernels of %s units:", kernels.items[kernels.count - 1],
                   units.items[i]);
        (void)say_against(figure, table, &plan, plan.series, "chain", "chevron");
    }
    texts_free(&units);
    texts_free(&kernels);
    return true;
}

static bool make_devices(const struct subject *subject)
{
    static const struct {
        const char *metric, *title;
    } figures[] = {
        {"host", "CPU launch overhead, by devices"},
        {"additional",
         "One more round of empty kernels, by devices (Zhang et al., figure 4, right)"},
        {"execution", "Execution overhead, by devices (Zhang et al., figure 5, right)"},
    };
    const struct bench_table *const table = subject->table;
    struct plan plan = {-1, axis_of(table, "devices"), axis_of(table, "way"), -1, {{-1, NULL}}};
    if (plan.x < 0 || plan.series < 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        plan.metric = metric_of(table, figures[i].metric);
        if (plan.metric < 0) {
            continue;
        }
        struct texts devices = axis_values(table, plan.x, plan.metric);
        struct plan bars = plan;
        bars.x = plan.series;
        bars.series = plan.x;
        /* Lines want more than two places. */
        struct figure *const figure = devices.count > 2
                                          ? plan_lines(subject, figures[i].metric, &plan)
                                          : plan_bars(subject, figures[i].metric, &bars);
        figure_title(figure, figures[i].title);
        if (devices.count > 2) {
            figure_axes(figure, "devices", "ns");
        } else {
            figure_axes(figure, "ns", "");
        }
        say_extremes(figure, table, &plan);
        texts_free(&devices);
    }
    return true;
}

bool figures_overhead(const struct subject *subject)
{
    static const struct {
        const char *table;
        bool (*make)(const struct subject *subject);
    } tables[] = {
        {"host", make_host},   {"latency", make_bars},    {"small", make_bars},
        {"large", make_bars},  {"other", make_bars},      {"unit", make_unit},
        {"total", make_total}, {"devices", make_devices},
    };
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        if (strcmp(tables[i].table, subject->table->spec.name) == 0) {
            return tables[i].make(subject);
        }
    }
    return false;
}
