/* SPDX-License-Identifier: MIT */
/* What rtc_unary.cu's results are compared with: the conversions and the operators on the host, written
 * in another way than include/pdl/types.cuh has them. */
#ifndef PDL_TEST_RTC_REFERENCE_CUH
#define PDL_TEST_RTC_REFERENCE_CUH

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <pdl/vector.h>

#include "rtc_operators.h"

/* A number as it is computed with: an exact integer, or a float or double. */
struct number {
    enum { INTEGER, FLOAT, DOUBLE } kind;
    __int128 integer;
    double floating;
    double tolerance; /* how far off the device may be */
    bool wide;        /* an integer that the device has in 64 bits */
};

/* Floating types of less than 32 bits: bits of the significand with the one in front, the exponent of
 * the smallest normal number, and the largest finite number; whether it has infinity. */
struct small_float {
    int significand;
    int smallest;
    long double largest;
    bool infinite;
    int bits;
};

inline const small_float *small_float_of(pdl_vector_type type)
{
    static const small_float known[] = {{11, -14, 65504.0L, true, 16},
                                        {8, -126, 0x1.fep127L, true, 16},
                                        {4, -6, 448.0L, false, 8},
                                        {3, -14, 57344.0L, false, 8}};
    const int index = static_cast<int>(type) - PDL_VECTOR_FLOAT16;
    return index >= 0 && index < 4 ? &known[index] : nullptr;
}

inline uint64_t encode(const small_float &to, long double value)
{
    const uint64_t sign = std::signbit(value) ? uint64_t{1} << (to.bits - 1) : 0;
    const int fraction = to.significand - 1;
    if (std::isnan(value)) {
        return (uint64_t{1} << (to.bits - 1)) - 1;
    }
    long double size = std::fabs(value);
    if (size == 0) {
        return sign;
    }
    int exponent = std::isinf(size) ? 0 : std::max(std::ilogb(size), to.smallest);
    if (!std::isinf(size)) { /* to nearest, even */
        size =
            std::ldexp(std::nearbyint(std::ldexp(size, fraction - exponent)), exponent - fraction);
    }
    if (size > to.largest) {
        if (to.infinite) {
            return sign | ((uint64_t{1} << (to.bits - 1)) - (uint64_t{1} << fraction));
        }
        size = to.largest;
    }
    if (size == 0) {
        return sign;
    }
    exponent = std::max(std::ilogb(size), to.smallest);
    const uint64_t scaled = static_cast<uint64_t>(std::ldexp(size, fraction - exponent));
    const uint64_t one = uint64_t{1} << fraction;
    return sign | (scaled < one ? scaled
                                : (static_cast<uint64_t>(exponent - to.smallest + 1) << fraction) +
                                      (scaled - one));
}

inline double decode(const small_float &from, uint64_t bits)
{
    const int fraction = from.significand - 1;
    const uint64_t size = bits & ((uint64_t{1} << (from.bits - 1)) - 1);
    const uint64_t field = size >> fraction;
    const uint64_t rest = size & ((uint64_t{1} << fraction) - 1);
    const uint64_t most = (uint64_t{1} << (from.bits - 1 - fraction)) - 1;
    const double sign = (bits >> (from.bits - 1)) != 0 ? -1 : 1;
    const bool e4m3 = from.significand == 4; /* of the largest exponent, only one is no number */
    if (field == most && (!e4m3 || rest == 7)) {
        return rest == 0 ? sign * INFINITY : NAN;
    }
    const double scaled = static_cast<double>(field == 0 ? rest : rest + (uint64_t{1} << fraction));
    return sign * std::ldexp(scaled, from.smallest - fraction +
                                         (field == 0 ? 0 : static_cast<int>(field) - 1));
}

inline bool is_signed(pdl_vector_type type)
{
    return type == PDL_VECTOR_INT8 || type == PDL_VECTOR_INT16 || type == PDL_VECTOR_INT32 ||
           type == PDL_VECTOR_INT64;
}

inline bool is_integer(pdl_vector_type type)
{
    return type >= PDL_VECTOR_INT8;
}

/* The bits in memory of a number that becomes that type. */
inline uint64_t store(pdl_vector_type type, const number &value)
{
    const bool integer = value.kind == number::INTEGER;
    uint64_t bits = 0;
    if (const small_float *small = small_float_of(type)) {
        return encode(*small, integer ? static_cast<long double>(value.integer) : value.floating);
    }
    if (type == PDL_VECTOR_FLOAT64) {
        const double to = integer ? static_cast<double>(value.integer) : value.floating;
        std::memcpy(&bits, &to, sizeof(to));
        return bits;
    }
    if (type == PDL_VECTOR_FLOAT32) {
        const float to =
            integer ? static_cast<float>(value.integer) : static_cast<float>(value.floating);
        std::memcpy(&bits, &to, sizeof(to));
        return bits;
    }
    if (type == PDL_VECTOR_BOOL) {
        return integer ? value.integer != 0 : value.floating != 0;
    }
    const int width = 8 * static_cast<int>(pdl_vector_type_size(type));
    const __int128 high = (static_cast<__int128>(1) << (is_signed(type) ? width - 1 : width)) - 1;
    const __int128 low = is_signed(type) ? -high - 1 : 0;
    __int128 cut = value.integer;
    if (!integer) {
        const double f = value.floating;
        cut = std::isnan(f)  ? 0
              : f >= 0x1p65  ? high
              : f <= -0x1p65 ? low
                             : static_cast<__int128>(f);
    }
    cut = cut > high ? high : cut < low ? low : cut;
    return static_cast<uint64_t>(cut) & (width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1);
}

inline number load(pdl_vector_type type, uint64_t bits)
{
    number value = {number::FLOAT, 0, 0, 0, false};
    if (const small_float *small = small_float_of(type)) {
        value.floating = decode(*small, bits);
    } else if (type == PDL_VECTOR_FLOAT64) {
        value.kind = number::DOUBLE;
        std::memcpy(&value.floating, &bits, sizeof(double));
    } else if (type == PDL_VECTOR_FLOAT32) {
        float from;
        std::memcpy(&from, &bits, sizeof(from));
        value.floating = from;
    } else {
        const int width = 8 * static_cast<int>(pdl_vector_type_size(type));
        value.kind = number::INTEGER;
        value.integer = bits;
        value.wide = width == 64;
        if (is_signed(type) && (bits >> (width - 1)) != 0) {
            value.integer -= static_cast<__int128>(1) << width;
        }
        if (type == PDL_VECTOR_BOOL) {
            value.integer = bits != 0;
        }
    }
    return value;
}

/* An operator in floating type R. Those that CUDA's library rounds otherwise than the host's are made in
 * double and allowed a few last places; the fast exponential of sigmoid more, the larger its argument. */
template <typename R> number floating_of(unary_operator op, R x)
{
    const bool single = sizeof(R) == 4;
    number value = {single ? number::FLOAT : number::DOUBLE, 0, 0, 0, false};
    if (op == UNARY_RECIPROCAL || op == UNARY_SQRT) { /* exact */
        value.floating = op == UNARY_SQRT ? std::sqrt(x) : R(1) / x;
        return value;
    }
    const double from = x;
    const double result = op == UNARY_EXP    ? std::exp(from)
                          : op == UNARY_LOG  ? std::log(from)
                          : op == UNARY_TANH ? std::tanh(from)
                                             : 1 / (1 + std::exp(-from));
    value.floating = static_cast<R>(result);
    if (std::isfinite(value.floating)) {
        const bool fast = single && op == UNARY_SIGMOID;
        const double places = fast ? 8 + 2 * std::fabs(from) : 4;
        const double least = fast ? 0x1p-125 : single ? 0x1p-147 : 0x1p-1070; /* of subnormals */
        value.tolerance = std::fabs(result) * places * (single ? 0x1p-23 : 0x1p-52) + least;
    }
    return value;
}

inline number apply(unary_operator op, pdl_vector_type type, const number &x)
{
    const bool wide = pdl_vector_type_size(type) == 8; /* of 64 bits: in double */
    number value = x;
    const bool integer = x.kind == number::INTEGER;
    switch (op) {
    case UNARY_IDENTITY:
        return value;
    case UNARY_RELU:
        if (integer ? x.integer < 0 : x.floating < 0) {
            value.integer = 0, value.floating = 0;
        }
        return value;
    case UNARY_ABSOLUTE:
        value.integer = x.integer < 0 ? -x.integer : x.integer;
        value.wide = wide || type != PDL_VECTOR_UINT32;
        value.floating = std::fabs(x.floating);
        return value;
    case UNARY_NEGATIVE:
        value.integer = -x.integer, value.floating = -x.floating, value.wide = true;
        return value;
    case UNARY_SQUARE:
        value.integer = wide ? 0 : x.integer * x.integer;
        value.wide = true;
        value.floating = x.floating * x.floating;
        if (x.kind == number::FLOAT) {
            value.floating = static_cast<float>(x.floating) * static_cast<float>(x.floating);
        } else if (integer && wide) {
            value.kind = number::DOUBLE;
            value.floating = static_cast<double>(x.integer) * static_cast<double>(x.integer);
        }
        return value;
    default:
        break;
    }
    const double from = integer ? static_cast<double>(x.integer) : x.floating;
    return wide ? floating_of<double>(op, from)
                : floating_of<float>(op, integer ? static_cast<float>(x.integer)
                                                 : static_cast<float>(from));
}

/* What `old += value` computes, for an output of that type. */
inline number add(pdl_vector_type type, const number &old, const number &value)
{
    number sum = value;
    if (old.kind == number::INTEGER && value.kind == number::INTEGER) {
        sum.integer = old.integer + value.integer;
        return sum;
    }
    const double a = old.kind == number::INTEGER ? static_cast<double>(old.integer) : old.floating;
    const double b =
        value.kind == number::INTEGER ? static_cast<double>(value.integer) : value.floating;
    const bool wide =
        old.kind == number::DOUBLE || value.kind == number::DOUBLE ||
        (value.kind == number::INTEGER ? value.wide
                                       : is_integer(type) && pdl_vector_type_size(type) >= 4);
    sum.kind = wide ? number::DOUBLE : number::FLOAT;
    sum.floating =
        wide ? a + b : static_cast<double>(static_cast<float>(a) + static_cast<float>(b));
    if (value.tolerance > 0) {
        sum.tolerance = value.tolerance + std::fabs(sum.floating) * (wide ? 0x1p-52 : 0x1p-23);
    }
    return sum;
}

/* Whether `bits` are what `expected` becomes as that type, within its tolerance. */
inline bool matches(pdl_vector_type type, uint64_t bits, const number &expected)
{
    const number got = load(type, bits);
    const uint64_t exact = store(type, expected);
    if (bits == exact || (got.kind != number::INTEGER && std::isnan(got.floating) &&
                          std::isnan(load(type, exact).floating))) {
        return true;
    }
    if (!(expected.tolerance > 0)) {
        return false;
    }
    number low = expected, high = expected;
    low.floating -= expected.tolerance;
    high.floating += expected.tolerance;
    low = load(type, store(type, low));
    high = load(type, store(type, high));
    if (type == PDL_VECTOR_BOOL) { /* not monotonous */
        return std::fabs(expected.floating) <= expected.tolerance;
    }
    return got.kind == number::INTEGER
               ? low.integer <= got.integer && got.integer <= high.integer
               : low.floating <= got.floating && got.floating <= high.floating;
}

#endif /* PDL_TEST_RTC_REFERENCE_CUH */
