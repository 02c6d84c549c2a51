/* SPDX-License-Identifier: MIT */
#include "inspect/flow/ranges.h"

/* The bits of the values from `low` to `high`. */
static uint64_t small_between(int64_t low, int64_t high)
{
    uint64_t bits = 0;
    if (low > high) {
        return 0;
    }
    if (low < 0 || high >= PDL_RANGE_SMALL) {
        bits = PDL_RANGE_OTHERS;
    }
    if (low < PDL_RANGE_SMALL && high >= 0) {
        const unsigned first = low < 0 ? 0 : (unsigned)low;
        const unsigned last = high >= PDL_RANGE_SMALL ? PDL_RANGE_SMALL - 1 : (unsigned)high;
        bits |= (~UINT64_C(0) >> (PDL_RANGE_SMALL - last)) & (~UINT64_C(0) << first);
    }
    return bits;
}

/* Of bits that are not all 0. */
static int64_t lowest(uint64_t bits)
{
    return __builtin_ctzll(bits);
}

static int64_t highest(uint64_t bits)
{
    return PDL_RANGE_SMALL - __builtin_clzll(bits);
}

/* Makes bounds and bits say the same. */
static void agree(struct pdl_range *range)
{
    range->small &= small_between(range->low, range->high);
    const uint64_t bits = range->small & ~PDL_RANGE_OTHERS;
    if (range->small == 0) {
        range->low = 1;
        range->high = 0;
    } else if (!(range->small & PDL_RANGE_OTHERS)) {
        range->low = lowest(bits);
        range->high = highest(bits);
    } else {
        if (range->low >= 0 && range->low < PDL_RANGE_SMALL) {
            range->low = bits != 0 ? lowest(bits) : PDL_RANGE_SMALL;
        }
        if (range->high >= 0 && range->high < PDL_RANGE_SMALL) {
            range->high = bits != 0 ? highest(bits) : -1;
        }
    }
}

struct pdl_range pdl_range_of(int64_t low, int64_t high)
{
    return (struct pdl_range){low, high, small_between(low, high)};
}

bool pdl_range_meet(struct pdl_range *to, const struct pdl_range *with)
{
    const struct pdl_range before = *to;
    if (to->low >= with->low && to->high <= with->high && !(to->small & ~with->small)) {
        return false;
    }
    to->low = to->low > with->low ? to->low : with->low;
    to->high = to->high < with->high ? to->high : with->high;
    to->small &= with->small;
    agree(to);
    return !pdl_range_same(to, &before);
}

bool pdl_range_limit(struct pdl_range *range, int64_t low, int64_t high)
{
    const struct pdl_range with = pdl_range_of(low, high);
    return pdl_range_meet(range, &with);
}

bool pdl_range_join(struct pdl_range *to, const struct pdl_range *from)
{
    const struct pdl_range before = *to;
    if (pdl_range_is_empty(from)) {
        return false;
    }
    if (pdl_range_is_empty(to)) {
        *to = *from;
        return true;
    }
    to->low = to->low < from->low ? to->low : from->low;
    to->high = to->high > from->high ? to->high : from->high;
    to->small |= from->small;
    return !pdl_range_same(to, &before);
}

bool pdl_range_exclude(struct pdl_range *range, int64_t value)
{
    const struct pdl_range before = *range;
    if (value >= 0 && value < PDL_RANGE_SMALL) {
        range->small &= ~(UINT64_C(1) << value);
    } else if (pdl_range_is_value(range) && range->low == value) {
        *range = pdl_range_empty();
        return true;
    } else if (range->low == value) {
        range->low++;
    } else if (range->high == value) {
        range->high--;
    }
    agree(range);
    return !pdl_range_same(range, &before);
}

void pdl_range_exclude_below(struct pdl_range *range, int64_t end)
{
    range->small &= ~(small_between(0, end - 1) & ~PDL_RANGE_OTHERS);
    agree(range);
}

void pdl_range_widen(struct pdl_range *range, const struct pdl_range *before)
{
    if (range->low < before->low) {
        range->low = range->low >= 0 ? 0 : INT64_MIN;
    }
    if (range->high > before->high) {
        range->high = range->high <= INT32_MAX ? INT32_MAX : INT64_MAX;
    }
    range->small = small_between(range->low, range->high);
}
