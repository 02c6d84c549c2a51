/* SPDX-License-Identifier: MIT */
/* Suites without a device, and the program `pdltool bench` with them. What they measure is the same in every
 * run, unless the environment says something else; ID stands for a part of points' ids:
 *
 *   MOCK_SCALE=ID:FACTOR[:METRIC]  figures are so much larger
 *   MOCK_DRIFT=ID:SHARE            and grow by that share from pass to pass
 *   MOCK_SEED=N                    other noise
 *   MOCK_NAN=ID                    cannot be measured
 *   MOCK_WAIVE=ID, MOCK_FAIL=ID    at a table's begin; when the result is checked
 *   MOCK_WITHOUT=ID                not declared
 *   MOCK_EVENT=N:WHAT              at the Nth sample: interrupt (SIGINT), interrupt-twice, abort, exit,
 *                                  or wait (for a signal)
 *   MOCK_DEVICE=lost               opening the device ends the program */
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/gpu.h"
#include "commands.h"
#include "common/print.h"

/* What a point's metrics are around. */
struct figures {
    double metrics[BENCH_METRICS];
};

static bool names(const char *variable, const char *id)
{
    const char *part = getenv(variable);
    return part != NULL && strstr(id, part) != NULL;
}

/* ID:NUMBER[:REST] of a variable, if the id has that part; NULL, or REST. */
static const char *number_for(const char *variable, const char *id, double *number)
{
    const char *value = getenv(variable);
    const char *colon = value != NULL ? strchr(value, ':') : NULL;
    char part[128];
    char *end = NULL;
    if (colon == NULL || (size_t)(colon - value) >= sizeof(part)) {
        return NULL;
    }
    memcpy(part, value, (size_t)(colon - value));
    part[colon - value] = '\0';
    if (strstr(id, part) == NULL) {
        return NULL;
    }
    *number = strtod(colon + 1, &end);
    return *end == ':' ? end + 1 : end;
}

/* Between -1 and 1, by what is measured for the how manieth time. */
static double noise(const struct bench_point *point, size_t metric)
{
    const char *seed = getenv("MOCK_SEED");
    uint64_t state = UINT64_C(1469598103934665603) + (seed != NULL ? strtoull(seed, NULL, 10) : 0);
    for (const char *at = point->id; *at != '\0'; at++) {
        state = (state ^ (unsigned char)*at) * UINT64_C(1099511628211);
    }
    state = (state ^ metric) * UINT64_C(1099511628211);
    state = (state ^ point->samples[0].count) * UINT64_C(1099511628211);
    state ^= state >> 29;
    state *= UINT64_C(0xbf58476d1ce4e5b9);
    return (double)(state >> 11) / 0x1p52 - 1;
}

static void happen(void)
{
    static size_t sample;
    char *end = NULL;
    const char *value = getenv("MOCK_EVENT");
    sample++;
    if (value == NULL || strtoull(value, &end, 10) != sample) {
        return;
    }
    if (strcmp(end, ":interrupt") == 0) {
        (void)raise(SIGINT);
    } else if (strcmp(end, ":interrupt-twice") == 0) {
        (void)raise(SIGINT);
        (void)raise(SIGINT);
    } else if (strcmp(end, ":abort") == 0) {
        bench_abort("the mock lost its device");
    } else if (strcmp(end, ":exit") == 0) {
        exit(EXIT_USAGE);
    } else {
        (void)fputs("waiting\n", stderr);
        while (!bench_interrupted) {
            (void)usleep(1000);
        }
    }
}

/* ---- the callbacks ---------------------------------------------------------------------------- */

static void begin(struct bench_table *table)
{
    table->state = table;
    for (size_t i = 0; i < table->count; i++) {
        if (names("MOCK_WAIVE", table->items[i]->id)) {
            bench_waive(table->items[i], "the device has no | clusters");
        }
    }
}

static void check(struct bench_point *point)
{
    if (point->table->state == NULL) {
        bench_fail(point, "checked without a begin");
    }
    if (names("MOCK_FAIL", point->id)) {
        bench_fail(point, "the sum is %d, \"not\" %d", 3, 4);
    }
}

static void measure(struct bench_point *point, double *values)
{
    const struct figures *const figures = point->config;
    const struct bench_metric *const metrics = point->table->spec.metrics;
    double factor = 1;
    double drift = 0;
    const char *metric = number_for("MOCK_SCALE", point->id, &factor);
    (void)number_for("MOCK_DRIFT", point->id, &drift);
    happen();
    for (size_t i = 0; i < BENCH_METRICS && metrics[i].name != NULL; i++) {
        values[i] = figures->metrics[i] * (1 + 0.01 * noise(point, i));
        values[i] *= 1 + drift * (double)point->passes;
        if (metric != NULL && (*metric == '\0' || strcmp(metric, metrics[i].name) == 0)) {
            values[i] *= factor;
        }
        if (strcmp(metrics[i].unit, "bytes") == 0) {
            values[i] = floor(values[i]);
        }
        if (names("MOCK_NAN", point->id)) {
            values[i] = NAN;
        }
    }
}

static void end(struct bench_table *table)
{
    table->state = NULL;
}

/* ---- the suites ------------------------------------------------------------------------------- */

static struct bench_point *add(struct bench_table *table, struct bench_point *against,
                               const struct figures *figures, const char *first, const char *second)
{
    const char *const values[BENCH_AXES] = {first, second};
    const char *const without = getenv("MOCK_WITHOUT");
    char id[160];
    (void)snprintf(id, sizeof(id), "%s/%s/%s=%s/%s=%s", table->suite, table->spec.name,
                   table->spec.axes[0], first, table->spec.axes[1], second);
    if (without != NULL && strstr(id, without) != NULL) {
        return NULL;
    }
    return bench_point_add(table, against, figures, values);
}

/* Two ways beside a third one, with two lengths. */
static void declare_alpha(struct bench *bench)
{
    static const struct bench_spec launch = {
        .name = "launch",
        .title = "what a launch costs",
        .note = "Host time is CLOCK_MONOTONIC around a batch of launches. Device time is what "
                "lies between two events. The stream is drained between batches.",
        .axes = {"way", "arguments"},
        .metrics = {{"host", "ns", false, 0.06}, {"device", "us", false, 0}},
        .rounds = 40,
        .begin = begin,
        .check = check,
        .measure = measure,
        .end = end,
    };
    static const struct bench_spec speed = {
        .name = "speed",
        .title = "how much faster, by \"trigger\"",
        .axes = {"trigger", "fill"},
        .metrics = {{"rate", "1/s", true, 0}},
        .rounds = 8,
        .check = check,
        .measure = measure,
        .begin = begin,
    };
    static const struct figures raw[2] = {{{2345.6, 0.5}}, {{12345.6, 0.75}}};
    static const struct figures pdl[2] = {{{2111.1, 0.25}}, {{11111.1, 0.375}}};
    static const struct figures rate = {{1234567}};
    static const char *const arguments[2] = {"0", "64"};
    struct bench_table *table = bench_table_add(bench, &launch);
    for (int i = 0; i < 2; i++) {
        struct bench_point *const base = add(table, NULL, &raw[i], "raw", arguments[i]);
        (void)add(table, base, &raw[i], "libpdl", arguments[i]);
        (void)add(table, base, &pdl[i], "pdl", arguments[i]);
    }
    table = bench_table_add(bench, &speed);
    (void)add(table, NULL, &rate, "early", "a, \"b\"");
    (void)add(table, NULL, &rate, "late", "a|b");
}

/* As many metrics as there may be, and rows that are compared with different ones. */
static void declare_beta(struct bench *bench)
{
    static const struct bench_spec many = {
        .name = "many",
        .title = "many metrics",
        .axes = {"way", "mode"},
        .metrics = {{"create", "us", false, 0},
                    {"update", "us", false, 0},
                    {"launch", "ns", false, 0},
                    {"device", "us", false, 0},
                    {"size", "bytes", false, 0.001},
                    {"read", "GB/s", true, 0},
                    {"rate", "1/s", true, 0},
                    {"edges", "edges", false, 0}},
        .rounds = 4,
        .begin = begin,
        .check = check,
        .measure = measure,
        .end = end,
    };
    static const struct figures figures = {{0.012345, 1.5, 999.9, 1234, 12345678901, 4660, 0.5, 0}};
    struct bench_table *const table = bench_table_add(bench, &many);
    struct bench_point *const stream = add(table, NULL, &figures, "stream", "full");
    struct bench_point *const graph = add(table, stream, &figures, "graph", "full");
    (void)add(table, graph, &figures, "chain", "full");
    (void)add(table, graph, &figures, "graph", "half");
}

const struct bench_suite bench_suites[] = {
    {"alpha", "launches of the mock", declare_alpha},
    {"beta", "everything else", declare_beta},
    {NULL, NULL, NULL},
};

/* ---- the program ------------------------------------------------------------------------------ */

bool gpu_open(int ordinal, char *why, size_t why_size)
{
    const char *const device = getenv("MOCK_DEVICE");
    if (device != NULL && strcmp(device, "lost") == 0) {
        bench_abort("the mock's device does not answer");
    }
    if (ordinal >= gpu.count) {
        (void)snprintf(why, why_size, "there is no device %d", ordinal);
        return false;
    }
    return true;
}

void gpu_close(void)
{
}

int main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "bench") != 0) {
        (void)fputs("usage: bench_mock bench [OPTION...]\n", stderr);
        return EXIT_USAGE;
    }
    print_as("bench");
    return command_bench(argc - 1, argv + 1);
}
