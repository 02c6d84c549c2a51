/* SPDX-License-Identifier: MIT */
/* What both directions of a formula need: from the terms to the result, and back. */
#ifndef PDL_INSPECT_ALGEBRA_H
#define PDL_INSPECT_ALGEBRA_H

#include "inspect/flow/formulas.h"

/* No sum or product of two of them leaves 64 bits. */
#define PDL_ALGEBRA_BOUND (INT64_C(1) << 31)

static inline bool pdl_range_not_negative(const struct pdl_range *range)
{
    return range->low >= 0;
}

static inline bool pdl_range_within(const struct pdl_range *range, int64_t bound)
{
    return range->low > -bound && range->high < bound;
}

/* 1, 0, or -1 if both are possible. */
static inline int pdl_range_truth(const struct pdl_range *range)
{
    return pdl_range_is_value(range) ? range->low != 0 : -1;
}

/* Whether a mask takes nothing but low bits away: `x & -32`, or `x & 0xFFE0` of an x of 16 bits. */
bool pdl_algebra_rounds_down(const struct pdl_range *value, const struct pdl_range *mask);

/* The result of numbers; false if it has none. */
bool pdl_algebra_exact(const struct pdl_formula *formula, const int64_t *in, int64_t *result);

/* A comparison before it is combined: 1, 0, or -1 if both are possible. */
int pdl_algebra_compared(const struct pdl_formula *formula, const struct pdl_range *terms,
                         bool equal);

/* Of a comparison of a small value, its only term that is not a number, with a number: the bits of those
 * for which it is true. False if it is another formula. */
bool pdl_algebra_small(const struct pdl_formula *formula, const struct pdl_range *terms,
                       unsigned variable, uint64_t *bits);

/* The one term that is not a number; PDL_FORMULA_TERMS if there is none, or more than one. */
unsigned pdl_algebra_variable(const struct pdl_formula *formula, const struct pdl_range *terms);

#endif /* PDL_INSPECT_ALGEBRA_H */
