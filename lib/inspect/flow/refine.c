/* SPDX-License-Identifier: MIT */
/* What the result of a formula says about its terms. */
#include "inspect/flow/algebra.h"

static void refine_less(struct pdl_range *a, struct pdl_range *b)
{
    (void)pdl_range_limit(a, INT64_MIN, b->high == INT64_MIN ? INT64_MIN : b->high - 1);
    (void)pdl_range_limit(b, a->low == INT64_MAX ? INT64_MAX : a->low + 1, INT64_MAX);
}

static void refine_not_less(struct pdl_range *a, struct pdl_range *b)
{
    (void)pdl_range_limit(a, b->low, INT64_MAX);
    (void)pdl_range_limit(b, INT64_MIN, a->high);
}

/* Where the relation of a comparison holds, or does not. */
static void refine_relation(const struct pdl_formula *formula, bool holds, struct pdl_range *a,
                            struct pdl_range *b)
{
    if (formula->relation == PDL_RELATION_EQUAL) {
        if (holds) {
            (void)pdl_range_meet(a, b);
            (void)pdl_range_meet(b, a);
        } else if (pdl_range_is_value(b)) {
            (void)pdl_range_exclude(a, b->low);
        } else if (pdl_range_is_value(a)) {
            (void)pdl_range_exclude(b, a->low);
        }
    } else if (formula->is_signed || (pdl_range_not_negative(a) && pdl_range_not_negative(b))) {
        if (holds) {
            refine_less(a, b);
        } else {
            refine_not_less(a, b);
        }
    } else if (holds && pdl_range_not_negative(b)) {
        (void)pdl_range_limit(a, 0, b->high - 1);
    } else if (holds && pdl_range_is_value(a) && pdl_range_not_negative(a)) {
        pdl_range_exclude_below(b, a->low < PDL_RANGE_SMALL ? a->low + 1 : 0);
    } else if (!holds && pdl_range_not_negative(a)) {
        (void)pdl_range_limit(b, 0, a->high);
    } else if (!holds && pdl_range_not_negative(b)) {
        pdl_range_exclude_below(a, b->low < PDL_RANGE_SMALL ? b->low : PDL_RANGE_SMALL);
    }
}

static void refine_truth(struct pdl_range *predicate, int value)
{
    if (value >= 0) {
        (void)pdl_range_limit(predicate, value, value);
    }
}

/* Where two truths are combined to a third: what that says of one of them, given the other. */
static int other_truth(uint8_t how, int result, int one)
{
    switch (how) {
    case PDL_COMBINE_AND:
        return result == 1 ? 1 : one == 1 ? 0 : -1;
    case PDL_COMBINE_OR:
        return result == 0 ? 0 : one == 0 ? 1 : -1;
    case PDL_COMBINE_XOR:
        return one < 0 ? -1 : result != one;
    default:
        return result;
    }
}

static void refine_comparison(const struct pdl_formula *formula, int result,
                              struct pdl_range *terms, bool equal)
{
    int own = result;
    if (formula->count > 2) {
        const int other = pdl_range_truth(&terms[2]);
        refine_truth(&terms[2], other_truth(formula->combine, result,
                                            pdl_algebra_compared(formula, terms, equal)));
        own = other_truth(formula->combine, result, other);
    }
    if (own < 0) {
        return;
    }
    if (equal) { /* known from elsewhere */
        if (pdl_algebra_compared(formula, terms, true) == !own) {
            terms[0] = pdl_range_empty();
        }
        return;
    }
    refine_relation(formula, (own != 0) != formula->inverted, &terms[0], &terms[1]);
}

static void refine_bits(const struct pdl_formula *formula, const struct pdl_range *result,
                        struct pdl_range *a, struct pdl_range *b)
{
    if (formula->bits == 1) {
        const uint8_t how = formula->op == PDL_FORMULA_AND  ? PDL_COMBINE_AND
                            : formula->op == PDL_FORMULA_OR ? PDL_COMBINE_OR
                                                            : PDL_COMBINE_XOR;
        const int value = pdl_range_truth(result);
        if (value >= 0) {
            refine_truth(a, other_truth(how, value, pdl_range_truth(b)));
            refine_truth(b, other_truth(how, value, pdl_range_truth(a)));
        }
        return;
    }
    const struct pdl_range *mask = pdl_range_is_value(a) ? a : b;
    struct pdl_range *other = mask == a ? b : a;
    if (formula->op == PDL_FORMULA_AND && pdl_algebra_rounds_down(other, mask)) {
        (void)pdl_range_limit(other, result->low, INT64_MAX);
        if (result->high >= 0 && result->high < PDL_ALGEBRA_BOUND) { /* and what was taken away */
            (void)pdl_range_limit(other, INT64_MIN, result->high + (mask->low & -mask->low) - 1);
        }
        return;
    }
    if (!pdl_range_not_negative(a) || !pdl_range_not_negative(b)) {
        return;
    }
    if (formula->op == PDL_FORMULA_AND) { /* no more than either of them */
        (void)pdl_range_limit(a, result->low, INT64_MAX);
        (void)pdl_range_limit(b, result->low, INT64_MAX);
    } else if (formula->op == PDL_FORMULA_OR) {
        (void)pdl_range_limit(a, INT64_MIN, result->high);
        (void)pdl_range_limit(b, INT64_MIN, result->high);
    }
}

static int64_t divided_up(int64_t value, int64_t by)
{
    return value <= 0 ? 0 : (value - 1) / by + 1;
}

/* a * by is within the result, and so is a: no bits were lost. */
static void refine_factor(const struct pdl_range *result, struct pdl_range *a, int64_t by)
{
    if (by > 0 && by < PDL_ALGEBRA_BOUND && pdl_range_not_negative(a) &&
        a->high < PDL_ALGEBRA_BOUND / by && result->high >= 0) {
        (void)pdl_range_limit(a, divided_up(result->low, by), result->high / by);
    }
}

/* The values of a that a whole number of steps divides down to the result. */
static void refine_quotient(const struct pdl_range *result, struct pdl_range *a, int64_t by)
{
    if (by > 0 && by < PDL_ALGEBRA_BOUND && pdl_range_not_negative(a) && result->high >= 0) {
        const int64_t low =
            result->low > 0 && result->low < PDL_ALGEBRA_BOUND ? result->low * by : 0;
        (void)pdl_range_limit(
            a, low, result->high < PDL_ALGEBRA_BOUND ? (result->high + 1) * by - 1 : INT64_MAX);
    }
}

/* a + sign * b is the result, if that did not overflow. */
static void refine_sum(const struct pdl_formula *formula, const struct pdl_range *result,
                       struct pdl_range *a, struct pdl_range *b, bool minus)
{
    const struct pdl_range type = pdl_formula_type(formula->result_bits);
    const int64_t bound = INT64_C(1) << 60;
    if (!pdl_range_within(a, bound) || !pdl_range_within(b, bound) ||
        !pdl_range_within(result, bound)) {
        return;
    }
    const int64_t low = minus ? a->low - b->high : a->low + b->low;
    const int64_t high = minus ? a->high - b->low : a->high + b->high;
    const bool index = !minus && pdl_range_not_negative(a) && pdl_range_not_negative(b);
    if (low < type.low || (high > type.high && !index)) {
        return;
    }
    const struct pdl_range old = *a;
    if (minus) {
        (void)pdl_range_limit(a, result->low + b->low, result->high + b->high);
        (void)pdl_range_limit(b, old.low - result->high, old.high - result->low);
    } else {
        (void)pdl_range_limit(a, result->low - b->high, result->high - b->low);
        (void)pdl_range_limit(b, result->low - old.high, result->high - old.low);
    }
}

static void refine_selection(const struct pdl_range *result, struct pdl_range *terms)
{
    for (int i = 0; i < 2; i++) {
        struct pdl_range both = terms[i];
        (void)pdl_range_meet(&both, result);
        if (pdl_range_is_empty(&both)) {
            refine_truth(&terms[2], i);
        }
    }
    const int chosen = pdl_range_truth(&terms[2]);
    if (chosen >= 0) {
        (void)pdl_range_meet(&terms[chosen == 1 ? 0 : 1], result);
    }
}

/* Takes out the small values of the only term that is not a number which do not give the result. */
static void refine_each(const struct pdl_formula *formula, const struct pdl_range *result,
                        struct pdl_range *terms)
{
    const unsigned variable = pdl_algebra_variable(formula, terms);
    int64_t in[PDL_FORMULA_TERMS] = {0};
    int64_t value = 0;
    if (variable == PDL_FORMULA_TERMS) {
        return;
    }
    struct pdl_range *range = &terms[variable];
    uint64_t left = range->small & ~PDL_RANGE_OTHERS, holds;
    if (pdl_algebra_small(formula, terms, variable, &holds)) {
        const uint64_t possible =
            (pdl_range_has(result, 1) ? holds : 0) | (pdl_range_has(result, 0) ? ~holds : 0);
        const struct pdl_range keep = {INT64_MIN, INT64_MAX, possible | PDL_RANGE_OTHERS};
        (void)pdl_range_meet(range, &keep);
        return;
    }
    for (unsigned i = 0; i < formula->count; i++) {
        in[i] = terms[i].low;
    }
    for (; left != 0; left &= left - 1) {
        in[variable] = __builtin_ctzll(left);
        if (pdl_algebra_exact(formula, in, &value) && !pdl_range_has(result, value)) {
            (void)pdl_range_exclude(range, in[variable]);
        }
    }
}

bool pdl_formula_refine(const struct pdl_formula *formula, const struct pdl_range *result,
                        struct pdl_range *terms, bool equal)
{
    struct pdl_range *a = &terms[0];
    struct pdl_range *b = &terms[1];
    switch (formula->op) {
    case PDL_FORMULA_NONE:
    case PDL_FORMULA_OPAQUE:
    case PDL_FORMULA_LOAD:
        return true;
    case PDL_FORMULA_COPY: {
        const struct pdl_range type = pdl_formula_type(formula->result_bits);
        const bool widened = formula->result_bits > formula->bits;
        if (a->low >= type.low && a->high <= type.high &&
            (!widened || formula->is_signed || pdl_range_not_negative(a))) {
            (void)pdl_range_meet(a, result);
        }
        break;
    }
    case PDL_FORMULA_ADD:
    case PDL_FORMULA_SUB:
        if (!equal) {
            refine_sum(formula, result, a, b, formula->op == PDL_FORMULA_SUB);
        }
        break;
    case PDL_FORMULA_MUL:
        if (pdl_range_is_value(b)) {
            refine_factor(result, a, b->low);
        } else if (pdl_range_is_value(a)) {
            refine_factor(result, b, a->low);
        }
        break;
    case PDL_FORMULA_SHL:
        if (pdl_range_is_value(b) && b->low >= 0 && b->low < 31) {
            refine_factor(result, a, INT64_C(1) << b->low);
        }
        break;
    case PDL_FORMULA_SHR:
        if (pdl_range_is_value(b) && b->low >= 0 && b->low < 31) {
            refine_quotient(result, a, INT64_C(1) << b->low);
        }
        break;
    case PDL_FORMULA_DIV:
        if (pdl_range_is_value(b)) {
            refine_quotient(result, a, b->low);
        }
        break;
    case PDL_FORMULA_AND:
    case PDL_FORMULA_OR:
    case PDL_FORMULA_XOR:
        refine_bits(formula, result, a, b);
        break;
    case PDL_FORMULA_SELECT:
        refine_selection(result, terms);
        break;
    case PDL_FORMULA_COMPARE:
        if (pdl_range_truth(result) >= 0) {
            refine_comparison(formula, pdl_range_truth(result), terms, equal);
        }
        break;
    default:
        break;
    }
    if (pdl_range_is_small(result) || result->small != ~UINT64_C(0)) {
        refine_each(formula, result, terms);
    }
    for (unsigned i = 0; i < formula->count; i++) {
        if (pdl_range_is_empty(&terms[i])) {
            return false;
        }
    }
    return true;
}
