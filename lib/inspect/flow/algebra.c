/* SPDX-License-Identifier: MIT */
/* What the terms of a formula say about its result. */
#include "inspect/flow/algebra.h"

/* ---- numbers -------------------------------------------------------------------------------------- */

/* The lowest bits of a number, with a sign. */
static int64_t extended(uint64_t value, unsigned bits)
{
    if (bits >= 64) {
        return (int64_t)value;
    }
    const uint64_t sign = UINT64_C(1) << (bits - 1);
    value &= (sign << 1) - 1;
    return (int64_t)((value ^ sign) - sign);
}

static int64_t wrap(uint64_t value, unsigned bits)
{
    return bits == 1 ? (int64_t)(value & 1) : extended(value, bits);
}

/* A number as one without a sign. */
static uint64_t plain_bits(int64_t value, unsigned bits)
{
    return bits >= 64 ? (uint64_t)value : (uint64_t)value & ((UINT64_C(1) << bits) - 1);
}

int64_t pdl_type_number(struct pdl_type type, int64_t value)
{
    return type.bits == 0   ? value
           : type.is_signed ? extended((uint64_t)value, type.bits)
                            : (int64_t)plain_bits(value, type.bits);
}

struct pdl_range pdl_formula_number(const struct pdl_formula *formula, unsigned term, int64_t value)
{
    return pdl_range_value(wrap((uint64_t)value, pdl_formula_term_bits(formula, term)));
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

/* A quotient or remainder; false if it has none. */
static bool divide(const struct pdl_formula *formula, const int64_t *in, uint64_t *out)
{
    const bool quotient = formula->op == PDL_FORMULA_DIV;
    if (in[1] == 0 || (formula->is_signed && in[1] == -1 && in[0] == INT64_MIN)) {
        return false;
    }
    if (formula->is_signed) {
        *out = (uint64_t)(quotient ? in[0] / in[1] : in[0] % in[1]);
    } else {
        const uint64_t a = plain_bits(in[0], formula->bits), b = plain_bits(in[1], formula->bits);
        *out = quotient ? a / b : a % b;
    }
    return true;
}

static uint64_t lookup(const int64_t *in)
{
    uint64_t out = 0;
    for (unsigned i = 0; i < 8; i++) {
        if ((uint64_t)in[3] >> i & 1) {
            out |= (uint64_t)((i & 4 ? in[0] : ~in[0]) & (i & 2 ? in[1] : ~in[1]) &
                              (i & 1 ? in[2] : ~in[2]));
        }
    }
    return out;
}

/* Bits of a number, the highest of them as a sign if it has one. */
static bool field(const struct pdl_formula *formula, const int64_t *in, uint64_t *out)
{
    const int64_t bits = formula->bits, room = bits - in[1];
    if (in[1] < 0 || in[1] >= bits || in[2] <= 0 || in[2] >= bits) {
        return false;
    }
    *out = plain_bits(in[0], formula->bits) >> in[1] & ((UINT64_C(1) << in[2]) - 1);
    if (formula->is_signed) {
        *out = (uint64_t)extended(*out, (unsigned)(in[2] < room ? in[2] : room));
    }
    return true;
}

/* The result of numbers; false if it has none. */
bool pdl_algebra_exact(const struct pdl_formula *formula, const int64_t *in, int64_t *result)
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
    case PDL_FORMULA_MUL_HIGH:
        if (bits > 32) {
            return false;
        }
        out = wide_a * wide_b >> bits;
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
        if (!divide(formula, in, &out)) {
            return false;
        }
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
    case PDL_FORMULA_LOOKUP:
        out = lookup(in);
        break;
    case PDL_FORMULA_FIELD:
        if (!field(formula, in, &out)) {
            return false;
        }
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
    if (!pdl_range_within(a, PDL_ALGEBRA_BOUND) || !pdl_range_within(b, PDL_ALGEBRA_BOUND) ||
        !pdl_range_not_negative(a) || !pdl_range_not_negative(b)) {
        return pdl_formula_type(formula->result_bits);
    }
    const int64_t factor = pdl_range_is_value(a) ? a->low : pdl_range_is_value(b) ? b->low : 0;
    return clamped(formula, a->low * b->low, a->high * b->high, factor <= 1 << 20);
}

static struct pdl_range sum(const struct pdl_formula *formula, const struct pdl_range *a,
                            const struct pdl_range *b)
{
    const int64_t bound = INT64_C(1) << 62;
    if (!pdl_range_within(a, bound) || !pdl_range_within(b, bound)) {
        return pdl_formula_type(formula->result_bits);
    }
    return clamped(formula, a->low + b->low, a->high + b->high,
                   pdl_range_not_negative(a) && pdl_range_not_negative(b));
}

/* Whether a is certainly less than b, 1; certainly not, 0; or neither, -1. Without signs. */
static int less_unsigned(const struct pdl_range *a, const struct pdl_range *b)
{
    struct pdl_range part = *a;
    if (pdl_range_not_negative(a) && pdl_range_not_negative(b)) {
        return a->high < b->low ? 1 : a->low >= b->high ? 0 : -1;
    }
    if (pdl_range_not_negative(a) && b->high < 0) {
        return 1;
    }
    if (a->high < 0 && pdl_range_not_negative(b)) {
        return 0;
    }
    if (pdl_range_not_negative(b) && b->high <= PDL_RANGE_SMALL) {
        (void)pdl_range_limit(&part, 0, b->high - 1);
        return pdl_range_is_empty(&part) ? 0 : -1;
    }
    if (pdl_range_is_value(a) && pdl_range_not_negative(a) && a->low < PDL_RANGE_SMALL) {
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
int pdl_algebra_compared(const struct pdl_formula *formula, const struct pdl_range *terms,
                         bool equal)
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

static bool is_all_ones(const struct pdl_range *range)
{
    return pdl_range_is_value(range) && range->low == -1;
}

bool pdl_algebra_rounds_down(const struct pdl_range *value, const struct pdl_range *mask)
{
    if (!pdl_range_is_value(mask) || mask->low == 0 || mask->low <= -PDL_ALGEBRA_BOUND ||
        !pdl_range_not_negative(value)) {
        return false;
    }
    const int64_t all = mask->low | (mask->low - 1);
    return (all & (all + 1)) == 0 && (all < 0 || value->high <= all);
}

static struct pdl_range bitwise(const struct pdl_formula *formula, const struct pdl_range *a,
                                const struct pdl_range *b)
{
    if (formula->bits == 1) {
        const uint8_t how = formula->op == PDL_FORMULA_AND  ? PDL_COMBINE_AND
                            : formula->op == PDL_FORMULA_OR ? PDL_COMBINE_OR
                                                            : PDL_COMBINE_XOR;
        return of_truth(combined(how, pdl_range_truth(a), pdl_range_truth(b)));
    }
    if (formula->op == PDL_FORMULA_OR && (is_all_ones(a) || is_all_ones(b))) {
        return pdl_range_value(-1);
    }
    if (formula->op == PDL_FORMULA_AND &&
        (pdl_range_not_negative(a) || pdl_range_not_negative(b))) {
        const int64_t high = !pdl_range_not_negative(a)   ? b->high
                             : !pdl_range_not_negative(b) ? a->high
                             : a->high < b->high          ? a->high
                                                          : b->high;
        const struct pdl_range *mask = pdl_range_is_value(b) ? b : a;
        const struct pdl_range *other = mask == b ? a : b;
        if (pdl_range_is_value(mask) && pdl_range_not_negative(other) &&
            (mask->low & (mask->low + 1)) == 0 && other->high <= mask->low) {
            return *other;
        }
        if (pdl_algebra_rounds_down(other, mask)) {
            return pdl_range_of(other->low & mask->low, other->high & mask->low);
        }
        return pdl_range_of(0, high);
    }
    if (formula->op != PDL_FORMULA_AND && pdl_range_not_negative(a) && pdl_range_not_negative(b)) {
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
        if (!pdl_range_not_negative(a) && !formula->is_signed) {
            return number == 0
                       ? type
                       : pdl_range_of(0, (int64_t)(plain_bits(-1, formula->bits) >> number));
        }
        return pdl_range_of(shifted_right(formula, a->low, (uint64_t)number),
                            shifted_right(formula, a->high, (uint64_t)number));
    case PDL_FORMULA_SHL:
        if (number < 0 || number > 20 || !pdl_range_not_negative(a) ||
            !pdl_range_within(a, PDL_ALGEBRA_BOUND)) {
            return type;
        }
        return clamped(formula, a->low << number, a->high << number, true);
    case PDL_FORMULA_DIV:
        return number > 0 && pdl_range_not_negative(a)
                   ? pdl_range_of(a->low / number, a->high / number)
                   : type;
    case PDL_FORMULA_REM:
        if (number <= 0 || (formula->is_signed && !pdl_range_not_negative(a))) {
            return type;
        }
        return pdl_range_not_negative(a) && a->high < number ? *a : pdl_range_of(0, number - 1);
    default:
        return type;
    }
}

static struct pdl_range converted(const struct pdl_formula *formula, const struct pdl_range *a)
{
    const struct pdl_range to = pdl_formula_type(formula->result_bits);
    struct pdl_range from = *a;
    if (!pdl_range_not_negative(a) && !formula->is_signed && formula->result_bits > formula->bits) {
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
        made = pdl_range_of(b->high > -PDL_ALGEBRA_BOUND * 4 ? -b->high : INT64_MIN,
                            b->low > -PDL_ALGEBRA_BOUND * 4 ? -b->low : INT64_MAX);
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
        return pdl_range_not_negative(a) && pdl_range_not_negative(b)
                   ? pdl_range_of(a->low < b->low ? a->low : b->low,
                                  a->high < b->high ? a->high : b->high)
                   : pdl_formula_type(formula->result_bits);
    case PDL_FORMULA_MAX:
        return pdl_range_not_negative(a) && pdl_range_not_negative(b)
                   ? pdl_range_of(a->low > b->low ? a->low : b->low,
                                  a->high > b->high ? a->high : b->high)
                   : pdl_formula_type(formula->result_bits);
    case PDL_FORMULA_FIELD: {
        if (!pdl_range_is_value(&terms[2]) || terms[2].low <= 0 || terms[2].low >= 32) {
            return pdl_formula_type(formula->result_bits);
        }
        const int64_t end = INT64_C(1) << terms[2].low;
        return formula->is_signed ? pdl_range_of(-(end / 2), end / 2 - 1)
                                  : pdl_range_of(0, end - 1);
    }
    case PDL_FORMULA_SELECT:
        if (pdl_range_truth(&terms[2]) >= 0) {
            return pdl_range_truth(&terms[2]) == 1 ? *a : *b;
        }
        (void)pdl_range_join(&made, b);
        return made;
    case PDL_FORMULA_COMPARE:
        return of_truth(combined(formula->combine, pdl_algebra_compared(formula, terms, equal),
                                 formula->count > 2 ? pdl_range_truth(&terms[2]) : -1));
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
unsigned pdl_algebra_variable(const struct pdl_formula *formula, const struct pdl_range *terms)
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

bool pdl_algebra_small(const struct pdl_formula *formula, const struct pdl_range *terms,
                       unsigned variable, uint64_t *bits)
{
    const uint64_t all = ~PDL_RANGE_OTHERS;
    if (formula->op != PDL_FORMULA_COMPARE || formula->count != 2) {
        return false;
    }
    const int64_t number = terms[1 - variable].low;
    const uint64_t plain = plain_bits(number, formula->bits);
    const bool below = formula->is_signed && number < 0;
    /* Those that are less, and that number itself. */
    const uint64_t less = below ? 0 : plain < PDL_RANGE_SMALL ? (UINT64_C(1) << plain) - 1 : all;
    const uint64_t same = number >= 0 && number < PDL_RANGE_SMALL ? UINT64_C(1) << number : 0;
    const uint64_t holds = formula->relation == PDL_RELATION_EQUAL ? same
                           : variable == 0                         ? less
                                                                   : ~(less | same);
    *bits = (formula->inverted ? ~holds : holds) & all;
    return true;
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
    if (numbers == formula->count && pdl_algebra_exact(formula, in, &value)) {
        return pdl_range_value(value);
    }
    struct pdl_range made = of_ranges(formula, terms, equal);
    const unsigned variable = pdl_algebra_variable(formula, terms);
    if (formula->op == PDL_FORMULA_LOAD || formula->op == PDL_FORMULA_OPAQUE ||
        variable == PDL_FORMULA_TERMS || !pdl_range_is_small(&terms[variable])) {
        return made;
    }
    uint64_t left = terms[variable].small, holds;
    if (pdl_algebra_small(formula, terms, variable, &holds)) {
        return of_truth((left & ~holds) == 0 ? 1 : (left & holds) == 0 ? 0 : -1);
    }
    struct pdl_range each = pdl_range_empty();
    for (; left != 0; left &= left - 1) {
        in[variable] = __builtin_ctzll(left);
        if (!pdl_algebra_exact(formula, in, &value)) {
            return made;
        }
        const struct pdl_range one = pdl_range_value(value);
        (void)pdl_range_join(&each, &one);
    }
    (void)pdl_range_meet(&made, &each);
    return made;
}
