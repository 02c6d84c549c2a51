/* SPDX-License-Identifier: MIT */
#include "bench/stats.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "common/memory.h"
#include "common/quantile.h"

/* Those that are numbers, in rising order. */
static double *sorted(const double *samples, size_t count, size_t *kept)
{
    double *copy = allocate(count + 1, sizeof(*copy));
    *kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isnan(samples[i])) {
            copy[(*kept)++] = samples[i];
        }
    }
    sort_rising(copy, *kept);
    return copy;
}

struct stats stats_of(const double *samples, size_t count)
{
    size_t kept = 0;
    double sum = 0;
    double *const rising = sorted(samples, count, &kept);
    for (size_t i = 0; i < kept; i++) {
        sum += rising[i];
    }
    const struct stats stats = {
        .count = kept,
        .min = quantile(rising, kept, 0),
        .p10 = quantile(rising, kept, 0.10),
        .median = quantile(rising, kept, 0.5),
        .p90 = quantile(rising, kept, 0.90),
        .p99 = quantile(rising, kept, 0.99),
        .max = quantile(rising, kept, 1),
        .mean = kept > 0 ? sum / (double)kept : NAN,
    };
    free(rising);
    return stats;
}

double stats_median(const double *samples, size_t count)
{
    return stats_of(samples, count).median;
}

double stats_noise(const struct stats *stats)
{
    return stats->median != 0 ? (stats->p90 - stats->p10) / 2 / fabs(stats->median) : NAN;
}

/* xorshift64*: the same resamplings in every run. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

/* The median of as many values as there are, each drawn from all of them. They are sorted, so that how often
 * each was drawn is enough: sorting every resampling would take most of the time that writing a run takes. */
static double resampled_median(const double *rising, size_t count, size_t *drawn, uint64_t *state)
{
    size_t below = 0; /* how many draws are of what stands in front of `at` */
    size_t at = 0;
    memset(drawn, 0, count * sizeof(*drawn));
    for (size_t i = 0; i < count; i++) {
        drawn[next_random(state) % count]++;
    }
    while (below + drawn[at] <= (count - 1) / 2) {
        below += drawn[at++];
    }
    const double lower = rising[at];
    while (below + drawn[at] <= count / 2) {
        below += drawn[at++];
    }
    return (lower + rising[at]) / 2;
}

struct stats_ratio stats_ratio_of(const double *samples, const double *base, size_t count)
{
    enum { RESAMPLINGS = 1000 };
    struct stats_ratio result = {0, NAN, NAN, NAN};
    double *const ratios = allocate(count, sizeof(*ratios));
    for (size_t i = 0; i < count; i++) {
        const double ratio = samples[i] / base[i];
        if (isfinite(ratio)) {
            ratios[result.count++] = ratio;
        }
    }
    if (result.count > 0) {
        uint64_t state = UINT64_C(88172645463325252);
        size_t *const drawn = allocate(result.count, sizeof(*drawn));
        double *const medians = allocate(RESAMPLINGS, sizeof(*medians));
        sort_rising(ratios, result.count);
        for (int i = 0; i < RESAMPLINGS; i++) {
            medians[i] = resampled_median(ratios, result.count, drawn, &state);
        }
        sort_rising(medians, RESAMPLINGS);
        result.median = quantile(ratios, result.count, 0.5);
        result.low = quantile(medians, RESAMPLINGS, 0.025);
        result.high = quantile(medians, RESAMPLINGS, 0.975);
        free(medians);
        free(drawn);
    }
    free(ratios);
    return result;
}

double stats_spread(const struct bench_point *point, int metric)
{
    const struct bench_samples *const all = &point->samples[metric];
    const double middle = stats_median(all->items, all->count);
    double farthest = 0;
    size_t begin = 0;
    size_t passes = 0;
    for (size_t i = 0; i < point->passes; i++) {
        const size_t end = point->pass_ends[i];
        const double median = stats_median(all->items + begin, end - begin);
        if (!isnan(median)) {
            const double distance = fabs(median - middle);
            farthest = distance > farthest ? distance : farthest;
            passes++;
        }
        begin = end;
    }
    return passes < 2 || middle == 0 ? NAN : farthest / fabs(middle);
}
