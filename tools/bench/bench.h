/* SPDX-License-Identifier: MIT */
/* What is measured: suites of tables, a table's points (rows), a point's samples.
 *
 * A suite declares its tables without a device. A table has axes (what is varied) and metrics (what is
 * measured). A point says what to run, with what, and which other point it is compared with. Each round
 * takes one sample of every point, in turning order, so that what drifts drifts for all of them; a pass is a
 * number of rounds between a table's begin and end; a run makes several passes over everything.
 *
 * A pass calls for a table: begin, open of each point, check of each, measure of each in each round, check
 * again, close of each point that was opened, end. */
#ifndef PDL_TOOLS_BENCH_H
#define PDL_TOOLS_BENCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

enum { BENCH_AXES = 6, BENCH_METRICS = 8, BENCH_PASSES = 32 };

struct bench_table;

struct bench_metric {
    const char *name; /* one word: "host", "device" */
    const char *unit; /* "ns", "us", "GB/s", "1/s", "bytes" */
    bool higher_is_better;
    double tolerance; /* what two runs may differ by, as a share, when nothing changed; 0: 0.03 */
};

/* The samples of one metric of one point, in the order of the rounds. */
struct bench_samples {
    double *items;
    size_t count, capacity;
};

/* One configuration. */
struct bench_point {
    struct bench_table *table;
    char *values[BENCH_AXES];    /* of the table's axes */
    char *id;                    /* suite/table/axis=value/...: unique */
    struct bench_point *against; /* what it is compared with, or NULL */
    const void *config;          /* the suite's own */
    void *state;                 /* the suite's own, from open to close */
    bool selected;
    char *waived;    /* why it is not measured here, or NULL */
    char *failed;    /* what went wrong, or NULL; its samples are then not to be trusted */
    unsigned checks; /* how often its result was checked and right */
    struct bench_samples samples[BENCH_METRICS];
    size_t pass_ends[BENCH_PASSES]; /* how many samples there were at the end of each pass */
    size_t passes;
};

/* How a table is measured. Every callback runs with the device's context current. */
struct bench_spec {
    const char *name;                           /* one word */
    const char *title;                          /* one line: what it shows */
    const char *note;                           /* how it is measured, in sentences; may be NULL */
    const char *axes[BENCH_AXES];               /* one word each; the rest NULL */
    struct bench_metric metrics[BENCH_METRICS]; /* the rest without a name */
    int rounds;                                 /* samples of each point in a pass */
    size_t config_size;                         /* of what bench_row() copies */
    size_t state_size;                          /* of a point's state, which begins as zeros */

    /* Sets up for a pass over the selected points; may waive some. All but check and measure may be NULL. */
    void (*begin)(struct bench_table *table);
    /* Makes what the point runs; may waive it, or fail. close() is called in any case. */
    void (*open)(struct bench_point *point);
    /* Runs the point once and checks its result: bench_fail() if it is wrong. Called before a pass's
     * rounds and after them. */
    void (*check)(struct bench_point *point);
    /* Takes one sample: values[i] is of metrics[i]. NAN where it could not be measured this time. */
    void (*measure)(struct bench_point *point, double *values);
    void (*close)(struct bench_point *point);
    void (*end)(struct bench_table *table);
};

struct bench_table {
    const char *suite;
    struct bench_spec spec;
    struct bench_point **items;
    size_t count, capacity;
    void *state; /* the suite's own, from begin to end */
};

/* Everything that there is to measure. */
struct bench {
    struct bench_table **items;
    size_t count, capacity;
    const char *suite; /* the one that is being declared */
    int seed;          /* of random configurations */
};

/* ---- for the suites --------------------------------------------------------------------------- */

/* Adds a table to the suite that is being declared. */
struct bench_table *bench_table_add(struct bench *bench, const struct bench_spec *spec);

/* Adds a point: `values` has one for each of the table's axes and is copied; `config` must outlive the
 * run. `against` is a point added before, of the same table, or NULL. */
struct bench_point *bench_point_add(struct bench_table *table, struct bench_point *against,
                                    const void *config, const char *const *values);
/* The same with a copy of the configuration, and with values as by printf(), a slash between two. */
__attribute__((format(printf, 4, 5))) struct bench_point *bench_row(struct bench_table *table,
                                                                    struct bench_point *against,
                                                                    const void *config,
                                                                    const char *format, ...);

/* The point is not measured, and why: "the device has no ...". */
__attribute__((format(printf, 2, 3))) void bench_waive(struct bench_point *point,
                                                       const char *format, ...);
/* The point's result is wrong, or it could not be run. It is not measured any further. */
__attribute__((format(printf, 2, 3))) void bench_fail(struct bench_point *point, const char *format,
                                                      ...);
/* Whether the point is to be measured: selected, and neither waived nor failed. */
bool bench_point_active(const struct bench_point *point);
/* Calls that for each active point, for a table's begin, until the run is interrupted. */
void bench_each_active(struct bench_table *table, void (*call)(struct bench_point *point));

/* Ends the run at once because the device is of no use any more: what was measured so far is written. */
__attribute__((format(printf, 1, 2), noreturn)) void bench_abort(const char *format, ...);

/* Set by SIGINT, SIGTERM and SIGHUP: long callbacks may look, and return early. */
extern volatile sig_atomic_t bench_interrupted;

/* A suite: declares its tables. */
struct bench_suite {
    const char *name;
    const char *summary;
    void (*declare)(struct bench *bench);
};
/* Ended by one without a function: suites.c, or a test's own. */
extern const struct bench_suite bench_suites[];

#endif /* PDL_TOOLS_BENCH_H */
