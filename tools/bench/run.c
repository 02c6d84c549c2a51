/* SPDX-License-Identifier: MIT */
#include "bench/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/output.h"
#include "common/memory.h"

volatile sig_atomic_t bench_interrupted;

/* The first one lets the run end in order, one that comes later ends the program. `timeout` and some shells
 * send the same signal twice at once: a second within a second is the first. */
static void interrupt(int number)
{
    static struct timespec first;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    if (bench_interrupted == 0) {
        first = now;
        bench_interrupted = number;
    } else if (now.tv_sec - first.tv_sec > 1) {
        (void)signal(number, SIG_DFL);
        (void)raise(number);
    }
}

void run_catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = interrupt;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction before;
        /* What the caller ignores (nohup) stays ignored. */
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            (void)sigaction(numbers[i], &action, NULL);
        }
    }
}

static int rounds_of(const struct bench_table *table, const struct run_options *options)
{
    enum { QUICK_SHARE = 8, QUICK_LEAST = 3 };
    if (options->rounds > 0) {
        return options->rounds;
    }
    if (!options->quick) {
        return table->spec.rounds;
    }
    const int few = table->spec.rounds / QUICK_SHARE;
    return few > QUICK_LEAST ? few : QUICK_LEAST;
}

static size_t count_active(const struct bench_table *table)
{
    size_t active = 0;
    for (size_t i = 0; i < table->count; i++) {
        active += bench_point_active(table->items[i]);
    }
    return active;
}

/* What the terminal is told. */
struct progress {
    bool wanted;
    int pass, passes;
    time_t begin, shown;
};

static void show_progress(struct progress *progress, const struct bench_table *table, int round,
                          int rounds)
{
    const time_t now = time(NULL);
    if (progress->wanted && now != progress->shown) {
        progress->shown = now;
        (void)fprintf(stderr, "\r\033[Kpass %d of %d, %s/%s, round %d of %d, %.0f s",
                      progress->pass + 1, progress->passes, table->suite, table->spec.name,
                      round + 1, rounds, difftime(now, progress->begin));
        (void)fflush(stderr);
    }
}

/* `check` may also waive the point: it may turn out only there. */
static void check_point(struct bench_point *point)
{
    point->table->spec.check(point);
    point->checks += bench_point_active(point);
}

static void take_sample(struct bench_point *point, size_t metrics, bool keep)
{
    double values[BENCH_METRICS];
    for (size_t i = 0; i < BENCH_METRICS; i++) {
        values[i] = NAN;
    }
    point->table->spec.measure(point, values);
    for (size_t i = 0; keep && i < metrics; i++) {
        APPEND(&point->samples[i], values[i]);
    }
}

/* One of every active point, beginning with another one each round. */
static void run_round(struct bench_table *table, size_t metrics, size_t round, bool keep)
{
    for (size_t i = 0; i < table->count && !bench_interrupted; i++) {
        struct bench_point *const point = table->items[(i + round) % table->count];
        if (bench_point_active(point)) {
            take_sample(point, metrics, keep);
        }
    }
}

/* Points have as many samples as rounds were finished: so a round's samples stand in the same place in
 * every point. */
static void drop_unfinished_round(struct bench_table *table, size_t metrics, const size_t *counts)
{
    for (size_t i = 0; i < table->count; i++) {
        for (size_t j = 0; j < metrics; j++) {
            table->items[i]->samples[j].count = counts[i];
        }
    }
}

static void run_rounds(struct bench_table *table, int rounds, struct progress *progress)
{
    const size_t metrics = output_metric_count(&table->spec);
    size_t *const counts = allocate(table->count, sizeof(*counts));
    run_round(table, metrics, 0, false); /* warms up */
    for (int round = 0; round < rounds && !bench_interrupted; round++) {
        show_progress(progress, table, round, rounds);
        for (size_t i = 0; i < table->count; i++) {
            counts[i] = table->items[i]->samples[0].count;
        }
        run_round(table, metrics, (size_t)round, true);
        if (bench_interrupted) {
            drop_unfinished_round(table, metrics, counts);
        }
    }
    free(counts);
}

static void open_point(struct bench_point *point)
{
    const struct bench_spec *const spec = &point->table->spec;
    if (spec->open != NULL) {
        point->state = allocate(1, spec->state_size);
        spec->open(point);
    }
}

static void close_points(const struct bench_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        struct bench_point *const point = table->items[i];
        if (point->state != NULL && table->spec.close != NULL) {
            table->spec.close(point);
        }
        free(point->state);
        point->state = NULL;
    }
}

static void run_table(struct bench_table *table, const struct run_options *options,
                      struct progress *progress)
{
    const int rounds = rounds_of(table, options);
    if (count_active(table) == 0) {
        return;
    }
    show_progress(progress, table, 0, rounds);
    if (table->spec.begin != NULL) {
        table->spec.begin(table);
    }
    bench_each_active(table, open_point);
    bench_each_active(table, check_point);
    run_rounds(table, rounds, progress);
    bench_each_active(table, check_point);
    close_points(table);
    if (table->spec.end != NULL) {
        table->spec.end(table);
    }
    table->state = NULL;
    for (size_t i = 0; i < table->count; i++) {
        struct bench_point *const point = table->items[i];
        const size_t before = point->passes > 0 ? point->pass_ends[point->passes - 1] : 0;
        if (point->samples[0].count > before) {
            point->pass_ends[point->passes++] = point->samples[0].count;
        }
    }
}

int run_bench(struct bench *bench, const struct run_options *options)
{
    struct progress progress = {.wanted = options->progress, .passes = options->passes};
    progress.begin = time(NULL);
    run_catch_signals();
    for (int pass = 0; pass < options->passes && !bench_interrupted; pass++) {
        progress.pass = pass;
        for (size_t i = 0; i < bench->count && !bench_interrupted; i++) {
            run_table(bench->items[i], options, &progress);
        }
    }
    if (progress.wanted) {
        (void)fputs("\r\033[K", stderr);
    }
    return bench_interrupted;
}

size_t run_failures(const struct bench *bench)
{
    size_t failures = 0;
    for (size_t i = 0; i < bench->count; i++) {
        for (size_t j = 0; j < bench->items[i]->count; j++) {
            const struct bench_point *const point = bench->items[i]->items[j];
            failures += point->selected && point->failed != NULL;
        }
    }
    return failures;
}
