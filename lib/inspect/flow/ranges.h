/* SPDX-License-Identifier: MIT */
/* What values a number may have: bounds, and which of the small ones. */
#ifndef PDL_INSPECT_RANGES_H
#define PDL_INSPECT_RANGES_H

#include <stdbool.h>
#include <stdint.h>

/* Values from `low` to `high`, as signed numbers. Of 0 to 62, those whose bit is set in `small`; bit 63
 * stands for all others. Empty if low > high. */
struct pdl_range {
    int64_t low, high;
    uint64_t small;
};

#define PDL_RANGE_SMALL  63
#define PDL_RANGE_OTHERS (UINT64_C(1) << PDL_RANGE_SMALL)

struct pdl_range pdl_range_of(int64_t low, int64_t high);

static inline struct pdl_range pdl_range_all(void)
{
    const struct pdl_range all = {INT64_MIN, INT64_MAX, ~UINT64_C(0)};
    return all;
}

static inline struct pdl_range pdl_range_value(int64_t value)
{
    const bool small = value >= 0 && value < PDL_RANGE_SMALL;
    const struct pdl_range one = {value, value, small ? UINT64_C(1) << value : PDL_RANGE_OTHERS};
    return one;
}

static inline struct pdl_range pdl_range_empty(void)
{
    const struct pdl_range none = {1, 0, 0};
    return none;
}

static inline bool pdl_range_is_empty(const struct pdl_range *range)
{
    return range->low > range->high;
}

/* Whether only one value is left. */
static inline bool pdl_range_is_value(const struct pdl_range *range)
{
    return range->low == range->high;
}

/* Whether every value that is left is one of the small ones. */
static inline bool pdl_range_is_small(const struct pdl_range *range)
{
    return !(range->small & PDL_RANGE_OTHERS);
}

static inline bool pdl_range_has(const struct pdl_range *range, int64_t value)
{
    return value >= range->low && value <= range->high &&
           (value < 0 || value >= PDL_RANGE_SMALL || (range->small >> value & 1) != 0);
}

static inline bool pdl_range_same(const struct pdl_range *a, const struct pdl_range *b)
{
    return a->low == b->low && a->high == b->high && a->small == b->small;
}

/* Keeps what is in both; true if that changed `to`. */
bool pdl_range_meet(struct pdl_range *to, const struct pdl_range *with);

/* Keeps what is within two bounds; true if that changed `range`. */
bool pdl_range_limit(struct pdl_range *range, int64_t low, int64_t high);

/* Adds what is in `from`; true if that changed `to`. */
bool pdl_range_join(struct pdl_range *to, const struct pdl_range *from);

/* Takes one value out, where that can be said; true if that changed `range`. */
bool pdl_range_exclude(struct pdl_range *range, int64_t value);

/* Takes the small values below `end` out. */
void pdl_range_exclude_below(struct pdl_range *range, int64_t end);

/* Makes the bounds that grew since `before` as wide as they can become, so that a loop comes to an end. */
void pdl_range_widen(struct pdl_range *range, const struct pdl_range *before);

#endif /* PDL_INSPECT_RANGES_H */
