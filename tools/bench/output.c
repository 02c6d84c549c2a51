/* SPDX-License-Identifier: MIT */
/* What the forms of output share. */
#include "bench/output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"

size_t output_axis_count(const struct bench_spec *spec)
{
    size_t count = 0;
    while (count < BENCH_AXES && spec->axes[count] != NULL) {
        count++;
    }
    return count;
}

size_t output_metric_count(const struct bench_spec *spec)
{
    size_t count = 0;
    while (count < BENCH_METRICS && spec->metrics[count].name != NULL) {
        count++;
    }
    return count;
}

size_t output_selected_count(const struct bench_table *table)
{
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++) {
        count += table->items[i]->selected;
    }
    return count;
}

double output_tolerance(const struct bench_metric *metric)
{
    return metric->tolerance > 0 ? metric->tolerance : 0.03;
}

static bool is_trusted(const struct bench_point *point)
{
    return point->waived == NULL && point->failed == NULL;
}

struct output_figure output_figure_of(const struct bench_point *point, size_t metric)
{
    const struct bench_samples *const own = &point->samples[metric];
    const struct bench_point *const against = point->against;
    const bool trusted = is_trusted(point);
    struct output_figure figure = {
        .stats = stats_of(own->items, trusted ? own->count : 0),
        .spread = trusted ? stats_spread(point, (int)metric) : NAN,
        .ratio = {0, NAN, NAN, NAN},
    };
    figure.noise = stats_noise(&figure.stats);
    if (trusted && against != NULL && is_trusted(against)) {
        /* A run that ended in the middle of a round leaves some points one sample more than others: the
         * rounds that both of them have stand in front. */
        const struct bench_samples *const base = &against->samples[metric];
        figure.ratio = stats_ratio_of(own->items, base->items,
                                      own->count < base->count ? own->count : base->count);
    }
    return figure;
}

static void free_point(struct bench_point *point)
{
    for (size_t i = 0; i < BENCH_AXES; i++) {
        free(point->values[i]);
    }
    for (size_t i = 0; i < BENCH_METRICS; i++) {
        free(point->samples[i].items);
    }
    if (point->table->spec.config_size > 0) {
        free((void *)point->config); /* of bench_row() */
    }
    free(point->id);
    free(point->waived);
    free(point->failed);
    free(point);
}

void bench_run_free(struct bench_run *run)
{
    for (size_t i = 0; i < run->bench.count; i++) {
        struct bench_table *const table = run->bench.items[i];
        for (size_t j = 0; j < table->count; j++) {
            free_point(table->items[j]);
        }
        free(table->items);
        free(table);
    }
    free(run->bench.items);
    free(run->ended_early);
    environment_free(&run->environment);
    memset(run, 0, sizeof(*run));
}
