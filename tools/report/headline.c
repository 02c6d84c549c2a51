/* SPDX-License-Identifier: MIT */
/* The few figures that matter: what they are of is looked up, and what is not there is left out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "report/page.h"
#include "report/subject.h"

/* Takes the texts over. */
static void add_card(struct cards *cards, struct card card)
{
    APPEND(cards, card);
}

void headline_free(struct cards *cards)
{
    for (size_t i = 0; i < cards->count; i++) {
        free(cards->items[i].value);
        free(cards->items[i].label);
        free(cards->items[i].more);
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
                     (struct card){
                         format_text("%.3f\u00d7", ratio.median),
                         copy_text("a launch through libpdl, of the raw call's host time"),
                         format_text("pdl_launch %s ns, cuLaunchKernelEx %s ns, both with PDL, %s "
                                     "arguments; 95 %%: %.3f to %.3f",
                                     value_text(point_median(own, metric)).text,
                                     value_text(point_median(raw, metric)).text, counts[i],
                                     ratio.low, ratio.high)});
            return;
        }
    }
}

/* The longest line that both have. */
static void add_line(struct cards *cards, const struct bench_table *table)
{
    const int metric = metric_of(table, "wall");
    const int kernels = axis_of(table, "kernels");
    const int blocks = axis_of(table, "blocks");
    const struct bench_point *own = NULL;
    const struct bench_point *stream = NULL;
    for (size_t i = 0; metric >= 0 && i < table->count; i++) {
        const struct bench_point *const point = table->items[i];
        const struct want chain[WANTS] = {{axis_of(table, "way"), "chain"},
                                          {kernels, value_at(point, kernels)},
                                          {blocks, value_at(point, blocks)}};
        const struct bench_point *const other = find_point(table, metric, chain);
        if (has_values(point, metric) && other != NULL &&
            strcmp(value_at(point, axis_of(table, "way")), "stream") == 0 &&
            (stream == NULL ||
             number_of(value_at(point, kernels)) > number_of(value_at(stream, kernels)))) {
            stream = point;
            own = other;
        }
    }
    if (own != NULL) {
        add_card(cards, (struct card){
                            copy_text(times_text(point_speedup(own, stream, metric).median).text),
                            format_text("%s empty kernels as a chain, over a stream, with the host",
                                        value_text(number_of(value_at(own, kernels))).text),
                            format_text("%s and %s ns a kernel",
                                        value_text(point_median(own, metric)).text,
                                        value_text(point_median(stream, metric)).text)});
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
                (struct card){
                    copy_text(times_text(most).text),
                    format_text("overlap at its best, %s over a plain %s", ways[w][0], ways[w][1]),
                    format_text("%s / %s / %s cycles before the wait, to the trigger, to the end",
                                value_at(best, axis_of(table, "prologue")),
                                value_at(best, axis_of(table, "before")),
                                value_at(best, axis_of(table, "after")))});
        }
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
            (struct card){
                copy_text(unit_text(point_median(chain, metric), metric_unit(table, metric)).text),
                copy_text("to order the whole device by a new kernel of a chain"),
                format_text("a grid barrier of cooperative groups takes %s",
                            value_text(point_median(grid, metric)).text)});
    }
}

static void add_decode(struct cards *cards, const struct bench_table *table)
{
    const int metric = metric_of(table, "time");
    const int share = metric_of(table, "of-read");
    const struct bench_point *const chain = find_way(table, metric, "chain", "part", "linear");
    const struct bench_point *const graph = find_way(table, metric, "graph", "part", "linear");
    if (chain == NULL) {
        return;
    }
    char *more = copy_text("");
    if (share >= 0 && has_values(chain, share)) {
        free(more);
        more = format_text("%.1f %% of the rate of reading the weights alone",
                           point_median(chain, share));
    }
    if (graph != NULL) {
        char *longer = format_text("%s%sthe same kernels in a plain graph take %s as long", more,
                                   *more != '\0' ? "; " : "",
                                   times_text(point_speedup(chain, graph, metric).median).text);
        free(more);
        more = longer;
    }
    add_card(cards,
             (struct card){
                 copy_text(unit_text(point_median(chain, metric), metric_unit(table, metric)).text),
                 copy_text("a token through the decoder's linear part, as a chain"), more});
}

void headline_make(const struct report *report, struct cards *cards)
{
    static const struct {
        const char *suite, *table;
        void (*add)(struct cards *cards, const struct bench_table *table);
    } makers[] = {
        {"overhead", "host", add_host},     {"graph", "line", add_line},
        {"overlap", "phases", add_overlap}, {"sync", "grid", add_order},
        {"decode", "token", add_decode},
    };
    for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
        const struct bench_table *const table =
            find_table(report, makers[i].suite, makers[i].table);
        if (table != NULL) {
            makers[i].add(cards, table);
        }
    }
}
