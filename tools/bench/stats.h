/* SPDX-License-Identifier: MIT */
/* Statistics of samples. */
#ifndef PDL_TOOLS_BENCH_STATS_H
#define PDL_TOOLS_BENCH_STATS_H

#include <stddef.h>

struct bench_point;

struct stats {
    size_t count;
    double min, p10, median, p90, p99, max, mean;
};

/* Of samples in any order, which stay as they are; those that are NAN do not count. All NAN where there
 * are none. */
struct stats stats_of(const double *samples, size_t count);
double stats_median(const double *samples, size_t count);

/* Half of what lies between p10 and p90, as a share of the median. NAN where that is 0. */
double stats_noise(const struct stats *stats);

/* The samples of one metric against those that another point had in the same rounds: the median of the
 * rounds' ratios, and the interval that 95 % of the medians of resamplings fall into. */
struct stats_ratio {
    size_t count;
    double median, low, high;
};
struct stats_ratio stats_ratio_of(const double *samples, const double *base, size_t count);

/* How far the passes of a run are apart, as a share of the median: the largest distance of a pass's
 * median from the median of all. NAN with fewer than two passes. */
double stats_spread(const struct bench_point *point, int metric);

#endif /* PDL_TOOLS_BENCH_STATS_H */
