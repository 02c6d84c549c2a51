/* SPDX-License-Identifier: MIT */
/* Measuring: passes, rounds, and what ends them early. */
#ifndef PDL_TOOLS_BENCH_RUN_H
#define PDL_TOOLS_BENCH_RUN_H

#include <stdbool.h>

#include "bench/bench.h"

struct run_options {
    int passes;    /* 1 to BENCH_PASSES */
    int rounds;    /* of each table; 0: what the table says */
    bool quick;    /* a few rounds of each table */
    bool progress; /* a line on standard error */
};

/* Lets SIGINT, SIGTERM and SIGHUP set bench_interrupted, unless they are ignored; a second one ends the
 * program. run_bench() does it itself. */
void run_catch_signals(void);

/* Measures what is selected. Returns the signal that ended it early, or 0. */
int run_bench(struct bench *bench, const struct run_options *options);

/* How many of the points that were selected failed. */
size_t run_failures(const struct bench *bench);

#endif /* PDL_TOOLS_BENCH_RUN_H */
