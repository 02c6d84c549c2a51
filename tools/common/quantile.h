/* SPDX-License-Identifier: MIT */
#ifndef PDL_TOOLS_QUANTILE_H
#define PDL_TOOLS_QUANTILE_H

#include <stddef.h>

/* Puts values that are numbers in rising order. */
void sort_rising(double *values, size_t count);

/* The value below which that share (0 to 1) of values in rising order lies, interpolated between the two nearest.
 * NAN where there are none. */
double quantile(const double *rising, size_t count, double share);

#endif /* PDL_TOOLS_QUANTILE_H */
