/* SPDX-License-Identifier: MIT */
/* The few figures that matter: what they are of is looked up, and what is not there is left out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "report/page.h"
#include "report/subject.h"

/* Takes the texts over. */
static void add_card(struct cards *cards, char *value, char *label, char *more)
{
    struct card card = {.value = NULL};
    card.value = value;
    card.label = label;
    card.more = more;
    APPEND(cards, card);
}

void headline_free(struct cards *cards)
{
    for (size_t i = 0; i < cards->count; i++) {
        free(cards->items[i].value);
        free(cards->items[i].label);
        free(cards->items[i].more);
        free(cards->items[i].from);
        free(cards->items[i].anchor);
    }
    free(cards->items);
    memset(cards, 0, sizeof(*cards));
}

/* The first run's table of that name. */
static const struct bench_table *find_table(const struct report *report, const char *suite,
                                            const char *name)
{
    for (size_t i = 0; i < report->count; i++) {
        const struct bench *const bench = &report->items[i].run.bench;
        for (size_t j = 0; j < bench->count; j++) {
            if (strcmp(bench->items[j]->suite, suite) == 0 &&
                strcmp(bench->items[j]->spec.name, name) == 0) {
                return bench->items[j];
            }
        }
    }
    return NULL;
}

/* The point whose axes have these values, the way's among them. */
static const struct bench_point *find_way(const struct bench_table *table, int metric,
                                          const char *way, const char *axis, const char *value)
{
    const struct want wants[WANTS] = {{axis_of(table, "way"), way}, {axis_of(table, axis), value}};
    return metric >= 0 ? find_point(table, metric, wants) : NULL;
}

static void add_host(struct cards *cards, const struct bench_table *table)
{
    static const char *const counts[] = {"8", "0", "64"};
    const int metric = metric_of(table, "host");
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        const struct bench_point *const own =
            find_way(table, metric, "pdl_launch-auto", "args", counts[i]);
        const struct bench_point *const raw =
            find_way(table, metric, "cuLaunchKernelEx-pdl", "args", counts[i]);
        if (own != NULL && raw != NULL) {
            const struct stats_ratio ratio = point_speedup(raw, own, metric);
            add_card(cards,

                     format_text("%.3f\u00d7", ratio.median),
                     copy_text("Host time of a launch with overlap, libpdl over raw CUDA"),
                     format_text("pdl_launch %s ns, cuLaunchKernelEx %s ns, %s arguments; the "
                                 "median of the rounds' ratios, 95 %%: %.3f to %.3f",
                                 value_text(point_median(own, metric)).text,
                                 value_text(point_median(raw, metric)).text, counts[i], ratio.low,
                                 ratio.high));
            break;
        }
    }
    const struct bench_point *worst = NULL;
    double most = 0;
    for (size_t i = 0; metric >= 0 && i < table->count; i++) {
        const struct bench_point *const own = table->items[i];
        if (own->against != NULL && !is_raw_again(own) && has_values(own, metric) &&
            has_values(own->against, metric)) {
            const double ratio = point_speedup(own->against, own, metric).median;
            worst = ratio > most ? own : worst;
            most = ratio > most ? ratio : most;
        }
    }
    if (worst != NULL) {
        char *label = point_label(worst, 0);
        add_card(cards, format_text("%.3f\u00d7", most),
                 copy_text("The same where libpdl costs most"),
                 format_text("%s: %s ns, the raw call %s ns", label,
                             value_text(point_median(worst, metric)).text,
                             value_text(point_median(worst->against, metric)).text));
        free(label);
    }
}

/* What the device takes per empty kernel, without overlap and with it. */
static void add_small(struct cards *cards, const struct bench_table *table)
{
    static const struct {
        const char *plain, *overlapped, *label;
    } pairs[] = {
        {"cuLaunchKernelEx", "pdl_launch-auto",
         "Device time per empty kernel of a stream, with overlap"},
        {"graph", "chain", "Device time per empty kernel of a pdl_chain"},
    };
    const int metric = metric_of(table, "device");
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        const struct bench_point *const plain =
            find_way(table, metric, pairs[i].plain, "args", "0");
        const struct bench_point *const own =
            find_way(table, metric, pairs[i].overlapped, "args", "0");
        if (plain != NULL && own != NULL) {
            add_card(cards, copy_text(unit_text(point_median(own, metric), "ns").text),
                     copy_text(pairs[i].label),
                     format_text("without overlap %s ns (%s)",
                                 value_text(point_median(plain, metric)).text, pairs[i].plain));
        }
    }
}

static void add_overlap(struct cards *cards, const struct bench_table *table)
{
    static const char *const ways[][2] = {{"libpdl", "stream"}, {"chain", "graph"}};
    const int metric = metric_of(table, "device");
    for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
        double most;
        const struct bench_point *const best =
            find_best(table, metric, ways[w][0], ways[w][1], &most);
        if (best != NULL) {
            add_card(
                cards,

                copy_text(times_text(most).text),
                format_text("Overlap at its best: a plain %s over %s", ways[w][1], ways[w][0]),
                format_text(
                    "%s and %s \u00b5s per kernel; %s / %s / %s cycles before the wait, to the "
                    "trigger, to the end",
                    value_text(point_median(find_counterpart(best, metric, axis_of(table, "way"),
                                                             ways[w][1]),
                                            metric))
                        .text,
                    value_text(point_median(best, metric)).text,
                    value_at(best, axis_of(table, "prologue")),
                    value_at(best, axis_of(table, "before")),
                    value_at(best, axis_of(table, "after"))));
        }
    }
}

/* The trigger position that loses most against the same kernels without overlap, whose trigger does nothing. */
static void add_worst(struct cards *cards, const struct bench_table *table)
{
    const int metric = metric_of(table, "device");
    const int way = axis_of(table, "way");
    const int trigger = axis_of(table, "trigger");
    const struct bench_point *worst = NULL;
    const struct bench_point *plain = NULL;
    double least = INFINITY;
    for (size_t i = 0; metric >= 0 && way >= 0 && trigger >= 0 && i < table->count; i++) {
        const struct bench_point *const own = table->items[i];
        if (!has_values(own, metric) || strcmp(value_at(own, way), "libpdl") != 0) {
            continue;
        }
        struct want wants[WANTS] = {{way, "stream"}, {trigger, "any"}};
        size_t count = 2;
        for (int axis = 0; axis < axis_count(table) && count + 1 < WANTS; axis++) {
            if (axis != way && axis != trigger) {
                wants[count++] = (struct want){axis, value_at(own, axis)};
            }
        }
        const struct bench_point *const base = find_point(table, metric, wants);
        const double gain = base != NULL ? point_speedup(own, base, metric).median : NAN;
        if (gain < least) {
            least = gain;
            worst = own;
            plain = base;
        }
    }
    if (worst != NULL) {
        char *label = copy_text("");
        for (int axis = 0; axis < axis_count(table); axis++) {
            if (axis != way) {
                char *const longer = format_text("%s%s%s %s", label, *label != '\0' ? ", " : "",
                                                 table->spec.axes[axis], value_at(worst, axis));
                free(label);
                label = longer;
            }
        }
        add_card(cards, copy_text(times_text(least).text),
                 copy_text("Overlap at its worst: a plain stream over libpdl"),
                 format_text("%s and %s \u00b5s per kernel; %s",
                             value_text(point_median(plain, metric)).text,
                             value_text(point_median(worst, metric)).text, label));
        free(label);
    }
}

static void add_order(struct cards *cards, const struct bench_table *table)
{
    const int metric = metric_of(table, "barrier");
    const struct bench_point *const chain = find_way(table, metric, "chain", "blocks", "1");
    const struct bench_point *const grid = find_way(table, metric, "grid-sync", "blocks", "1");
    if (chain != NULL && grid != NULL) {
        add_card(
            cards,

            copy_text(unit_text(point_median(chain, metric), metric_unit(table, metric)).text),
            copy_text("Ordering the whole device by a new link of a pdl_chain"),
            format_text("grid.sync() of cooperative groups takes %s",
                        unit_text(point_median(grid, metric), metric_unit(table, metric)).text));
    }
}

static void add_decode(struct cards *cards, const struct bench_table *table)
{
    static const struct {
        const char *part, *label;
    } parts[] = {{"linear", "One token through the decoder's linear part, as a pdl_chain"},
                 {"attention", "The same with attention"}};
    const int metric = metric_of(table, "time");
    const int share = metric_of(table, "of-read");
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        const struct bench_point *const chain =
            find_way(table, metric, "chain", "part", parts[i].part);
        const struct bench_point *const graph =
            find_way(table, metric, "graph", "part", parts[i].part);
        if (chain == NULL) {
            continue;
        }
        char *of_read = share >= 0 && has_values(chain, share)
                            ? format_text("%.1f %% of the rate of reading the weights alone",
                                          point_median(chain, share))
                            : copy_text("");
        char *of_graph =
            graph != NULL
                ? format_text("%sa plain graph takes %s as long", *of_read != '\0' ? "; " : "",
                              times_text(point_speedup(chain, graph, metric).median).text)
                : copy_text("");
        add_card(cards,

                 copy_text(unit_text(point_median(chain, metric), metric_unit(table, metric)).text),
                 copy_text(parts[i].label), format_text("%s%s", of_read, of_graph));
        free(of_graph);
        free(of_read);
    }
}

void headline_make(const struct report *report, struct cards *cards)
{
    static const struct {
        const char *suite, *table;
        void (*add)(struct cards *cards, const struct bench_table *table);
    } makers[] = {
        {"overhead", "host", add_host},     {"overhead", "small", add_small},
        {"overlap", "phases", add_overlap}, {"overlap", "trigger", add_worst},
        {"sync", "grid", add_order},        {"decode", "token", add_decode},
    };
    for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
        const struct bench_table *const table =
            find_table(report, makers[i].suite, makers[i].table);
        const size_t before = cards->count;
        if (table != NULL) {
            makers[i].add(cards, table);
        }
        for (size_t k = before; k < cards->count; k++) {
            cards->items[k].from = format_text("%s/%s", makers[i].suite, makers[i].table);
            cards->items[k].anchor = file_name(makers[i].suite, makers[i].table, "", "");
        }
    }
}
