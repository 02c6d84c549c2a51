/* SPDX-License-Identifier: MIT */
/* The chance of a failure is not known, only some failures and runs. All chances are equally likely before those, so that it
 * has a beta distribution; over that, (1 - chance)^runs is averaged. Three failures in three runs ask for more runs than
 * thirty in thirty. */
#include "bisect/odds.h"

#include <math.h>

static const double fading = 0.95;

void odds_add(struct odds *odds, uint32_t failures, uint32_t runs)
{
    odds->failures = odds->failures * fading + failures;
    odds->runs = odds->runs * fading + runs;
}

double odds_of_failure(const struct odds *odds)
{
    return odds->runs > 0 ? odds->failures / odds->runs : 0;
}

double odds_of_false_pass(const struct odds *odds, uint32_t runs)
{
    const double passed = odds->runs - odds->failures + 1;
    const double all = odds->runs + 2;
    return exp(lgamma(passed + runs) - lgamma(passed) - (lgamma(all + runs) - lgamma(all)));
}

uint32_t odds_runs(const struct odds *odds, double confidence, uint32_t most)
{
    uint32_t low = 0; /* too few */
    uint32_t high = most;
    if (odds->runs <= 0) {
        return most;
    }
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        *(odds_of_false_pass(odds, middle) <= 1 - confidence ? &high : &low) = middle;
    }
    return high;
}
