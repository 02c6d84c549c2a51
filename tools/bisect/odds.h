/* SPDX-License-Identifier: MIT */
/* How often a failure shows, and how many runs without one make a pass. */
#ifndef PDL_TOOLS_BISECT_ODDS_H
#define PDL_TOOLS_BISECT_ODDS_H

#include <stdint.h>

/* Steps that failed, those further back counting less: a smaller set may fail more rarely. Zeroed, there are none. */
struct odds {
    double failures, runs;
};

/* Of runs with overlaps that make it fail, so many failed. */
void odds_add(struct odds *odds, uint32_t failures, uint32_t runs);

/* The share of runs with such overlaps that fail. */
double odds_of_failure(const struct odds *odds);

/* The chance that so many runs pass where they could fail. */
double odds_of_false_pass(const struct odds *odds, uint32_t runs);

/* As many runs that this is at most 1 - confidence; from 1 to `most`. */
uint32_t odds_runs(const struct odds *odds, double confidence, uint32_t most);

#endif /* PDL_TOOLS_BISECT_ODDS_H */
