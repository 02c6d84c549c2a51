/* SPDX-License-Identifier: MIT */
#include "bisect/odds.h"

#include <math.h>

static const double fading = 0.9;

void odds_add(struct odds *odds, uint32_t failures, uint32_t runs)
{
    odds->failures = odds->failures * fading + failures;
    odds->runs = odds->runs * fading + runs;
}

double odds_of_failure(const struct odds *odds)
{
    return odds->failures / (odds->runs + 1);
}

double odds_of_false_pass(const struct odds *odds, uint32_t runs)
{
    return pow(1 - odds_of_failure(odds), runs);
}

uint32_t odds_runs(const struct odds *odds, double confidence, uint32_t most)
{
    const double chance = odds_of_failure(odds);
    const double runs = chance > 0 ? ceil(log(1 - confidence) / log(1 - chance)) : (double)most;
    if (!(runs >= 1)) {
        return 1;
    }
    return runs < most ? (uint32_t)runs : most;
}
