/* SPDX-License-Identifier: MIT */
#include "common/quantile.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    const double left = *(const double *)a;
    const double right = *(const double *)b;
    return (left > right) - (left < right);
}

void sort_rising(double *values, size_t count)
{
    if (count > 0) {
        qsort(values, count, sizeof(*values), by_value);
    }
}

double quantile(const double *rising, size_t count, double share)
{
    if (count == 0) {
        return NAN;
    }
    const double at = share * (double)(count - 1);
    const size_t below = (size_t)at;
    const size_t above = below + 1 < count ? below + 1 : below;
    return rising[below] + (rising[above] - rising[below]) * (at - (double)below);
}
