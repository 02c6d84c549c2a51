/* SPDX-License-Identifier: MIT */
/* What the results of rtc_unary.cu and of test/device/vector_host.cpp are compared with: the conversions and the
 * sums on the host, written in another way than include/pdl/types.cuh has them. */
#ifndef PDL_TEST_RTC_REFERENCE_CUH
#define PDL_TEST_RTC_REFERENCE_CUH

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <pdl/vector.h>

/* A number as it is computed with: an exact integer, or a float or double. */
struct number {
    enum { INTEGER, FLOAT, DOUBLE } kind;
    __int128 integer;
    double floating;
    bool wide; /* an integer that the device has in 64 bits */
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
    number value = {number::FLOAT, 0, 0, false};
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
    return sum;
}

/* Whether `bits` are what `expected` becomes as that type. Of not-a-number the bits may differ. */
inline bool matches(pdl_vector_type type, uint64_t bits, const number &expected)
{
    const number got = load(type, bits);
    const uint64_t exact = store(type, expected);
    return bits == exact || (got.kind != number::INTEGER && std::isnan(got.floating) &&
                             std::isnan(load(type, exact).floating));
}

#endif /* PDL_TEST_RTC_REFERENCE_CUH */
