/* SPDX-License-Identifier: MIT */
/* What the terms of a formula say about its result, and the other way round. */
#include "inspect/flow/formulas.h"

/* No sum or product of two of them leaves 64 bits. */
#define BOUND (INT64_C(1) << 31)

/* ---- numbers -------------------------------------------------------------------------------------- */

static int64_t wrap(uint64_t value, unsigned bits)
{
    if (bits == 1) {
        return (int64_t)(value & 1);
    }
    if (bits >= 64) {
        return (int64_t)value;
    }
    const uint64_t sign = UINT64_C(1) << (bits - 1);
    value &= (sign << 1) - 1;
    return (int64_t)((value ^ sign) - sign);
}

/* A number as one without a sign. */
static uint64_t plain_bits(int64_t value, unsigned bits)
{
    return bits >= 64 ? (uint64_t)value : (uint64_t)value & ((UINT64_C(1) << bits) - 1);
}

static bool combine(uint8_t how, bool compared, bool other)
{
    switch (how) {
    case PDL_COMBINE_AND:
        return compared && other;
    case PDL_COMBINE_OR:
        return compared || other;
    case PDL_COMBINE_XOR:
        return compared != other;
    default:
        return compared;
    }
}

static bool compare(const struct pdl_formula *formula, int64_t a, int64_t b)
{
    if (formula->relation == PDL_RELATION_EQUAL) {
        return a == b;
    }
    return formula->is_signed ? a < b : plain_bits(a, formula->bits) < plain_bits(b, formula->bits);
}

static int64_t shifted_right(const struct pdl_formula *formula, int64_t value, uint64_t by)
{
    if (by >= formula->bits) {
        return formula->is_signed && value < 0 ? -1 : 0;
    }
    if (formula->is_signed) {
        return value < 0 ? ~(int64_t)(~(uint64_t)value >> by) : value >> by;
    }
    return (int64_t)(plain_bits(value, formula->bits) >> by);
}

/* The result of numbers; false if it has none. */
static bool exact(const struct pdl_formula *formula, const int64_t *in, int64_t *result)
{
    const unsigned bits = formula->bits;
    const uint64_t a = (uint64_t)in[0];
    const uint64_t b = (uint64_t)in[1];
    const bool is_unsigned = !formula->is_signed;
    /* A wide product is that of numbers as their type says. */
    const uint64_t wide_a = is_unsigned ? plain_bits(in[0], bits) : a;
    const uint64_t wide_b = is_unsigned ? plain_bits(in[1], bits) : b;
    uint64_t out;
    switch (formula->op) {
    case PDL_FORMULA_COPY:
        out = is_unsigned ? plain_bits(in[0], bits) : a;
        break;
    case PDL_FORMULA_ADD:
        out = a + b;
        break;
    case PDL_FORMULA_SUB:
        out = a - b;
        break;
    case PDL_FORMULA_MUL:
        out = wide_a * wide_b;
        break;
    case PDL_FORMULA_MAD:
        out = wide_a * wide_b + (uint64_t)in[2];
        break;
    case PDL_FORMULA_SHL:
        out = b >= bits ? 0 : a << b;
        break;
    case PDL_FORMULA_SHR:
        out = (uint64_t)shifted_right(formula, in[0], plain_bits(in[1], 32));
        break;
    case PDL_FORMULA_DIV:
    case PDL_FORMULA_REM:
        if (in[1] <= 0 || (formula->is_signed && in[0] < 0)) {
            return false;
        }
        out = formula->op == PDL_FORMULA_DIV ? plain_bits(in[0], bits) / b
                                             : plain_bits(in[0], bits) % b;
        break;
    case PDL_FORMULA_AND:
        out = a & b;
        break;
    case PDL_FORMULA_OR:
        out = a | b;
        break;
    case PDL_FORMULA_XOR:
        out = a ^ b;
        break;
    case PDL_FORMULA_MIN:
    case PDL_FORMULA_MAX: {
        const bool less =
            formula->is_signed ? in[0] < in[1] : plain_bits(in[0], bits) < plain_bits(in[1], bits);
        out = less == (formula->op == PDL_FORMULA_MIN) ? a : b;
        break;
    }
    case PDL_FORMULA_FIELD:
        if (in[1] < 0 || in[1] >= (int64_t)bits || in[2] <= 0 || in[2] >= (int64_t)bits) {
            return false;
        }
        out = plain_bits(in[0], bits) >> b & ((UINT64_C(1) << in[2]) - 1);
        break;
    case PDL_FORMULA_SELECT:
        out = in[2] != 0 ? a : b;
        break;
    case PDL_FORMULA_COMPARE:
        out = combine(formula->combine, compare(formula, in[0], in[1]) != formula->inverted,
                      in[2] != 0);
        break;
    default:
        return false;
    }
    *result = wrap(out, formula->result_bits);
    return true;
}

/* ---- the result of ranges ------------------------------------------------------------------------- */

static bool not_negative(const struct pdl_range *range)
{
    return range->low >= 0;
}

static bool within(const struct pdl_range *range, int64_t bound)
{
    return range->low > -bound && range->high < bound;
}

/* Sums and products of sizes and indexes, none of them negative, are not taken to overflow. */
static struct pdl_range clamped(const struct pdl_formula *formula, int64_t low, int64_t high,
                                bool index)
{
    const struct pdl_range type = pdl_formula_type(formula->result_bits);
    if (low >= type.low && high <= type.high) {
        return pdl_range_of(low, high);
    }
    return index && low <= type.high ? pdl_range_of(low, type.high) : type;
}

static struct pdl_range product(const struct pdl_formula *formula, const struct pdl_range *a,
                                const struct pdl_range *b)
{
    if (!within(a, BOUND) || !within(b, BOUND) || !not_negative(a) || !not_negative(b)) {
        return pdl_formula_type(formula->result_bits);
    }
    const int64_t factor = pdl_range_is_value(a) ? a->low : pdl_range_is_value(b) ? b->low : 0;
    return clamped(formula, a->low * b->low, a->high * b->high, factor <= 1 << 20);
}

static struct pdl_range sum(const struct pdl_formula *formula, const struct pdl_range *a,
                            const struct pdl_range *b)
{
    const int64_t bound = INT64_C(1) << 62;
    if (!within(a, bound) || !within(b, bound)) {
        return pdl_formula_type(formula->result_bits);
    }
    return clamped(formula, a->low + b->low, a->high + b->high, not_negative(a) && not_negative(b));
}

/* 1, 0, or -1 if both are possible. */
static int truth(const struct pdl_range *range)
{
    return pdl_range_is_value(range) ? range->low != 0 : -1;
}

/* Whether a is certainly less than b, 1; certainly not, 0; or neither, -1. Without signs. */
static int less_unsigned(const struct pdl_range *a, const struct pdl_range *b)
{
    struct pdl_range part = *a;
    if (not_negative(a) && not_negative(b)) {
        return a->high < b->low ? 1 : a->low >= b->high ? 0 : -1;
    }
    if (not_negative(a) && b->high < 0) {
        return 1;
    }
    if (a->high < 0 && not_negative(b)) {
        return 0;
    }
    if (not_negative(b) && b->high <= PDL_RANGE_SMALL) {
        (void)pdl_range_limit(&part, 0, b->high - 1);
        return pdl_range_is_empty(&part) ? 0 : -1;
    }
    if (pdl_range_is_value(a) && not_negative(a) && a->low < PDL_RANGE_SMALL) {
        part = *b;
        (void)pdl_range_limit(&part, 0, a->low);
        return pdl_range_is_empty(&part) ? 1 : -1;
    }
    return -1;
}

/* The same for the relation of a comparison, as it is without `inverted`. */
static int relation(const struct pdl_formula *formula, const struct pdl_range *terms, bool equal)
{
    const struct pdl_range *a = &terms[0];
    const struct pdl_range *b = &terms[1];
    if (formula->relation == PDL_RELATION_EQUAL) {
        struct pdl_range both = *a;
        (void)pdl_range_meet(&both, b);
        if (pdl_range_is_empty(&both)) {
            return 0;
        }
        return equal || (pdl_range_is_value(a) && pdl_range_is_value(b)) ? 1 : -1;
    }
    if (equal) {
        return 0;
    }
    if (!formula->is_signed) {
        return less_unsigned(a, b);
    }
    return a->high < b->low ? 1 : a->low >= b->high ? 0 : -1;
}

/* A comparison's own side, before it is combined. */
static int compared(const struct pdl_formula *formula, const struct pdl_range *terms, bool equal)
{
    const int holds = relation(formula, terms, equal);
    return holds < 0 ? -1 : (holds != 0) != formula->inverted;
}

static int combined(uint8_t how, int a, int b)
{
    switch (how) {
    case PDL_COMBINE_AND:
        return a == 0 || b == 0 ? 0 : a == 1 && b == 1 ? 1 : -1;
    case PDL_COMBINE_OR:
        return a == 1 || b == 1 ? 1 : a == 0 && b == 0 ? 0 : -1;
    case PDL_COMBINE_XOR:
        return a < 0 || b < 0 ? -1 : a != b;
    default:
        return a;
    }
}

static struct pdl_range of_truth(int value)
{
    return value < 0 ? pdl_range_of(0, 1) : pdl_range_value(value);
}

static struct pdl_range bitwise(const struct pdl_formula *formula, const struct pdl_range *a,
                                const struct pdl_range *b)
{
    if (formula->bits == 1) {
        const uint8_t how = formula->op == PDL_FORMULA_AND  ? PDL_COMBINE_AND
                            : formula->op == PDL_FORMULA_OR ? PDL_COMBINE_OR
                                                            : PDL_COMBINE_XOR;
        return of_truth(combined(how, truth(a), truth(b)));
    }
    if (formula->op == PDL_FORMULA_AND && (not_negative(a) || not_negative(b))) {
        const int64_t high = !not_negative(a)    ? b->high
                             : !not_negative(b)  ? a->high
                             : a->high < b->high ? a->high
                                                 : b->high;
        const struct pdl_range *mask = pdl_range_is_value(b) ? b : a;
        const struct pdl_range *other = mask == b ? a : b;
        if (pdl_range_is_value(mask) && not_negative(other) && (mask->low & (mask->low + 1)) == 0 &&
            other->high <= mask->low) {
            return *other;
        }
        return pdl_range_of(0, high);
    }
    if (formula->op != PDL_FORMULA_AND && not_negative(a) && not_negative(b)) {
        int64_t high = a->high | b->high;
        for (unsigned shift = 1; shift < 64; shift *= 2) {
            high |= high >> shift;
        }
        const int64_t low = a->low > b->low ? a->low : b->low;
        return pdl_range_of(formula->op == PDL_FORMULA_OR ? low : 0, high);
    }
    return pdl_formula_type(formula->result_bits);
}

static struct pdl_range by_number(const struct pdl_formula *formula, const struct pdl_range *a,
                                  int64_t number)
{
    const struct pdl_range type = pdl_formula_type(formula->result_bits);
    switch (formula->op) {
    case PDL_FORMULA_SHR:
        if (number < 0 || number >= formula->bits) {
            return type;
        }
        if (!not_negative(a) && !formula->is_signed) {
            return number == 0
                       ? type
                       : pdl_range_of(0, (int64_t)(plain_bits(-1, formula->bits) >> number));
        }
        return pdl_range_of(shifted_right(formula, a->low, (uint64_t)number),
                            shifted_right(formula, a->high, (uint64_t)number));
    case PDL_FORMULA_SHL:
        if (number < 0 || number > 20 || !not_negative(a) || !within(a, BOUND)) {
            return type;
        }
        return clamped(formula, a->low << number, a->high << number, true);
    case PDL_FORMULA_DIV:
        return number > 0 && not_negative(a) ? pdl_range_of(a->low / number, a->high / number)
                                             : type;
    case PDL_FORMULA_REM:
        if (number <= 0 || (formula->is_signed && !not_negative(a))) {
            return type;
        }
        return not_negative(a) && a->high < number ? *a : pdl_range_of(0, number - 1);
    default:
        return type;
    }
}

static struct pdl_range converted(const struct pdl_formula *formula, const struct pdl_range *a)
{
    const struct pdl_range to = pdl_formula_type(formula->result_bits);
    struct pdl_range from = *a;
    if (!not_negative(a) && !formula->is_signed && formula->result_bits > formula->bits) {
        from = formula->bits >= 32 ? pdl_range_of(0, UINT32_MAX)
                                   : pdl_range_of(0, (INT64_C(1) << formula->bits) - 1);
    }
    return from.low >= to.low && from.high <= to.high ? from : to;
}

static struct pdl_range of_ranges(const struct pdl_formula *formula, const struct pdl_range *terms,
                                  bool equal)
{
    const struct pdl_range *a = &terms[0];
    const struct pdl_range *b = &terms[1];
    struct pdl_range made = *a;
    switch (formula->op) {
    case PDL_FORMULA_COPY:
        return converted(formula, a);
    case PDL_FORMULA_ADD:
        return sum(formula, a, b);
    case PDL_FORMULA_SUB:
        if (equal) {
            return pdl_range_value(0);
        }
        made = pdl_range_of(b->high > -BOUND * 4 ? -b->high : INT64_MIN,
                            b->low > -BOUND * 4 ? -b->low : INT64_MAX);
        return sum(formula, a, &made);
    case PDL_FORMULA_MUL:
        return product(formula, a, b);
    case PDL_FORMULA_MAD:
        made = product(formula, a, b);
        return sum(formula, &made, &terms[2]);
    case PDL_FORMULA_AND:
    case PDL_FORMULA_OR:
    case PDL_FORMULA_XOR:
        return bitwise(formula, a, b);
    case PDL_FORMULA_MIN:
        return not_negative(a) && not_negative(b)
                   ? pdl_range_of(a->low < b->low ? a->low : b->low,
                                  a->high < b->high ? a->high : b->high)
                   : pdl_formula_type(formula->result_bits);
    case PDL_FORMULA_MAX:
        return not_negative(a) && not_negative(b)
                   ? pdl_range_of(a->low > b->low ? a->low : b->low,
                                  a->high > b->high ? a->high : b->high)
                   : pdl_formula_type(formula->result_bits);
    case PDL_FORMULA_FIELD:
        return pdl_range_is_value(&terms[2]) && terms[2].low > 0 && terms[2].low < 32
                   ? pdl_range_of(0, (INT64_C(1) << terms[2].low) - 1)
                   : pdl_formula_type(formula->result_bits);
    case PDL_FORMULA_SELECT:
        if (truth(&terms[2]) >= 0) {
            return truth(&terms[2]) == 1 ? *a : *b;
        }
        (void)pdl_range_join(&made, b);
        return made;
    case PDL_FORMULA_COMPARE:
        return of_truth(combined(formula->combine, compared(formula, terms, equal),
                                 formula->count > 2 ? truth(&terms[2]) : -1));
    case PDL_FORMULA_LOAD:
        if (formula->bits < formula->result_bits) {
            return formula->is_signed ? pdl_formula_type(formula->bits)
                                      : pdl_range_of(0, (INT64_C(1) << formula->bits) - 1);
        }
        return pdl_formula_type(formula->result_bits);
    case PDL_FORMULA_SHL:
    case PDL_FORMULA_SHR:
    case PDL_FORMULA_DIV:
    case PDL_FORMULA_REM:
        return pdl_range_is_value(b) ? by_number(formula, a, b->low)
                                     : pdl_formula_type(formula->result_bits);
    default:
        return pdl_formula_type(formula->result_bits);
    }
}

/* The one term that is not a number, and whose values are few; PDL_FORMULA_TERMS if there is none. */
static unsigned variable_term(const struct pdl_formula *formula, const struct pdl_range *terms)
{
    unsigned found = PDL_FORMULA_TERMS;
    for (unsigned i = 0; i < formula->count; i++) {
        if (!pdl_range_is_value(&terms[i])) {
            if (found != PDL_FORMULA_TERMS) {
                return PDL_FORMULA_TERMS;
            }
            found = i;
        }
    }
    return found;
}

struct pdl_range pdl_formula_result(const struct pdl_formula *formula,
                                    const struct pdl_range *terms, bool equal)
{
    int64_t in[PDL_FORMULA_TERMS] = {0};
    int64_t value = 0;
    unsigned numbers = 0;
    for (unsigned i = 0; i < formula->count; i++) {
        if (pdl_range_is_empty(&terms[i])) {
            return pdl_range_empty();
        }
        in[i] = terms[i].low;
        numbers += pdl_range_is_value(&terms[i]);
    }
    if (numbers == formula->count && exact(formula, in, &value)) {
        return pdl_range_value(value);
    }
    struct pdl_range made = of_ranges(formula, terms, equal);
    const unsigned variable = variable_term(formula, terms);
    if (formula->op == PDL_FORMULA_LOAD || formula->op == PDL_FORMULA_OPAQUE ||
        variable == PDL_FORMULA_TERMS || !pdl_range_is_small(&terms[variable])) {
        return made;
    }
    struct pdl_range each = pdl_range_empty();
    for (in[variable] = 0; in[variable] < PDL_RANGE_SMALL; in[variable]++) {
        if (!pdl_range_has(&terms[variable], in[variable])) {
            continue;
        }
        if (!exact(formula, in, &value)) {
            return made;
        }
        const struct pdl_range one = pdl_range_value(value);
        (void)pdl_range_join(&each, &one);
    }
    (void)pdl_range_meet(&made, &each);
    return made;
}

/* ---- back to the terms ---------------------------------------------------------------------------- */

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
    } else if (formula->is_signed || (not_negative(a) && not_negative(b))) {
        if (holds) {
            refine_less(a, b);
        } else {
            refine_not_less(a, b);
        }
    } else if (holds && not_negative(b)) {
        (void)pdl_range_limit(a, 0, b->high - 1);
    } else if (holds && pdl_range_is_value(a) && not_negative(a)) {
        pdl_range_exclude_below(b, a->low < PDL_RANGE_SMALL ? a->low + 1 : 0);
    } else if (!holds && not_negative(a)) {
        (void)pdl_range_limit(b, 0, a->high);
    } else if (!holds && not_negative(b)) {
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
        const int other = truth(&terms[2]);
        refine_truth(&terms[2],
                     other_truth(formula->combine, result, compared(formula, terms, equal)));
        own = other_truth(formula->combine, result, other);
    }
    if (own < 0) {
        return;
    }
    if (equal) { /* known from elsewhere */
        if (compared(formula, terms, true) == !own) {
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
        const int value = truth(result);
        if (value >= 0) {
            refine_truth(a, other_truth(how, value, truth(b)));
            refine_truth(b, other_truth(how, value, truth(a)));
        }
        return;
    }
    if (!not_negative(a) || !not_negative(b)) {
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
    if (by > 0 && by < BOUND && not_negative(a) && a->high < BOUND / by && result->high >= 0) {
        (void)pdl_range_limit(a, divided_up(result->low, by), result->high / by);
    }
}

/* The values of a that a whole number of steps divides down to the result. */
static void refine_quotient(const struct pdl_range *result, struct pdl_range *a, int64_t by)
{
    if (by > 0 && by < BOUND && not_negative(a) && result->high >= 0) {
        const int64_t low = result->low > 0 && result->low < BOUND ? result->low * by : 0;
        (void)pdl_range_limit(a, low,
                              result->high < BOUND ? (result->high + 1) * by - 1 : INT64_MAX);
    }
}

/* a + sign * b is the result, if that did not overflow. */
static void refine_sum(const struct pdl_formula *formula, const struct pdl_range *result,
                       struct pdl_range *a, struct pdl_range *b, bool minus)
{
    const struct pdl_range type = pdl_formula_type(formula->result_bits);
    const int64_t bound = INT64_C(1) << 60;
    if (!within(a, bound) || !within(b, bound) || !within(result, bound)) {
        return;
    }
    const int64_t low = minus ? a->low - b->high : a->low + b->low;
    const int64_t high = minus ? a->high - b->low : a->high + b->high;
    const bool index = !minus && not_negative(a) && not_negative(b);
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
    const int chosen = truth(&terms[2]);
    if (chosen >= 0) {
        (void)pdl_range_meet(&terms[chosen == 1 ? 0 : 1], result);
    }
}

/* Takes out the small values of the only term that is not a number which do not give the result. */
static void refine_each(const struct pdl_formula *formula, const struct pdl_range *result,
                        struct pdl_range *terms)
{
    const unsigned variable = variable_term(formula, terms);
    int64_t in[PDL_FORMULA_TERMS] = {0};
    int64_t value = 0;
    if (variable == PDL_FORMULA_TERMS) {
        return;
    }
    for (unsigned i = 0; i < formula->count; i++) {
        in[i] = terms[i].low;
    }
    for (int64_t i = 0; i < PDL_RANGE_SMALL; i++) {
        in[variable] = i;
        if (pdl_range_has(&terms[variable], i) && exact(formula, in, &value) &&
            !pdl_range_has(result, value)) {
            (void)pdl_range_exclude(&terms[variable], i);
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
            (!widened || formula->is_signed || not_negative(a))) {
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
        if (truth(result) >= 0) {
            refine_comparison(formula, truth(result), terms, equal);
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
