/* SPDX-License-Identifier: MIT */
/** @file
 * Types of arrays in device memory, and their computation types: for kernels, with pdl/vector.cuh.
 *
 * For nvcc, clang and NVRTC, C++11 and newer. It includes nothing: the floating types of less than
 * 32 bits are its own, with the layout of CUDA's.
 *
 * A value is converted to the nearest value of another type. Conversions to floating types round
 * once, to nearest even; values that are too large become infinite, or the largest finite value in
 * the 8-bit types. Conversions to integers round towards zero and saturate; not-a-number becomes
 * 0. Conversions to bool are true for values other than 0, including not-a-number.
 */
#ifndef PDL_TYPES_CUH
#define PDL_TYPES_CUH

/* ------------------------------------------------------------------------------------------------
 * Types
 * ---------------------------------------------------------------------------------------------- */

/** IEEE binary16, as `__half`. */
struct alignas(2) pdl_half {
    unsigned short bits; /**< As in memory. */
};

/** The upper half of a float, as `__nv_bfloat16`. */
struct alignas(2) pdl_bfloat16 {
    unsigned short bits; /**< As in memory. */
};

/** 4 bits of exponent, 3 of mantissa, no infinity, as `__nv_fp8_e4m3`. */
struct pdl_float8_e4m3 {
    unsigned char bits; /**< As in memory. */
};

/** 5 bits of exponent, 2 of mantissa, as `__nv_fp8_e5m2`. */
struct pdl_float8_e5m2 {
    unsigned char bits; /**< As in memory. */
};

#if defined(__CUDACC__) || defined(__CUDA__)

#define PDL_TYPES_INLINE_ __attribute__((device, always_inline)) inline

/* Whether there are instructions that convert to 8 bits: of compute capability 8.9 on, and in the PTX of
 * the compilers that are known to have them there, of CUDA 12.1 on. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define PDL_TYPES_FLOAT8_ 1
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890 && defined(__CUDACC_VER_MAJOR__) &&           \
    (__CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 1))
#define PDL_TYPES_FLOAT8_ 1
#else
#define PDL_TYPES_FLOAT8_ 0
#endif

#ifdef __CUDACC_RTC__
#define PDL_TYPES_COPY_ memcpy
#else
#define PDL_TYPES_COPY_ __builtin_memcpy
#endif

/* ------------------------------------------------------------------------------------------------
 * Conversions to the floating types of less than 32 bits
 *
 * Through a float that was rounded to odd: its last bit is set where something was cut off. It has at
 * least two bits more than the type, so that rounding it is as rounding what it came from.
 * ---------------------------------------------------------------------------------------------- */

PDL_TYPES_INLINE_ float pdl_float_of_bits_(unsigned bits)
{
    float value;
    PDL_TYPES_COPY_(&value, &bits, sizeof(value));
    return value;
}

PDL_TYPES_INLINE_ unsigned pdl_bits_of_float_(float value)
{
    unsigned bits;
    PDL_TYPES_COPY_(&bits, &value, sizeof(bits));
    return bits;
}

PDL_TYPES_INLINE_ float pdl_odd_(float value)
{
    return value;
}

/** @cond */
/* `type` to float by the instruction `cut`, towards zero; `back` is what the float is as `wide`. */
#define PDL_TYPES_ODD_(type, cut, constraint)                                                      \
    PDL_TYPES_INLINE_ float pdl_odd_(type value)                                                   \
    {                                                                                              \
        float rounded;                                                                             \
        asm(cut " %0, %1;" : "=f"(rounded) : constraint(value));                                   \
        return pdl_float_of_bits_(pdl_bits_of_float_(rounded) |                                    \
                                  (static_cast<type>(rounded) != value ? 1u : 0u));                \
    }
PDL_TYPES_ODD_(double, "cvt.rz.f32.f64", "d")
PDL_TYPES_ODD_(int, "cvt.rz.f32.s32", "r")
PDL_TYPES_ODD_(unsigned, "cvt.rz.f32.u32", "r")
PDL_TYPES_ODD_(long long, "cvt.rz.f32.s64", "l")
PDL_TYPES_ODD_(unsigned long long, "cvt.rz.f32.u64", "l")
#undef PDL_TYPES_ODD_
/** @endcond */

PDL_TYPES_INLINE_ float pdl_float_of_half_(unsigned short bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

PDL_TYPES_INLINE_ unsigned short pdl_half_of_float_(float value)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

PDL_TYPES_INLINE_ unsigned short pdl_bfloat16_of_float_(float value)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned short result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result) : "f"(value));
    return result;
#else
    const unsigned bits = pdl_bits_of_float_(value);
    return value != value ? 0x7fffu
                          : static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
#endif
}

#if !PDL_TYPES_FLOAT8_
/* A half's bits to 8 of them: `drop` are rounded off, to nearest even, and `largest` holds. */
PDL_TYPES_INLINE_ unsigned char pdl_float8_round_(float value, unsigned drop, unsigned largest)
{
    unsigned short cut;
    asm("cvt.rz.f16.f32 %0, %1;" : "=h"(cut) : "f"(value));
    const unsigned odd = cut | (pdl_float_of_half_(cut) != value ? 1u : 0u);
    const unsigned size = odd & 0x7fffu;
    unsigned rounded = (size + (1u << (drop - 1)) - 1u + (size >> drop & 1u)) >> drop;
    rounded = rounded > largest ? largest : rounded;
    return static_cast<unsigned char>(value != value ? 0x7fu : (odd >> 8 & 0x80u) | rounded);
}
#endif

PDL_TYPES_INLINE_ unsigned char pdl_e4m3_of_float_(float value)
{
#if PDL_TYPES_FLOAT8_
    unsigned short pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
    return static_cast<unsigned char>(pair);
#else
    /* Divided by 256 it has the exponents of a half, subnormal ones too. */
    return pdl_float8_round_(value * 0.00390625f, 7, 0x7e);
#endif
}

PDL_TYPES_INLINE_ unsigned char pdl_e5m2_of_float_(float value)
{
#if PDL_TYPES_FLOAT8_
    unsigned short pair;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
    return static_cast<unsigned char>(pair);
#else
    return pdl_float8_round_(value, 8, 0x7b);
#endif
}

PDL_TYPES_INLINE_ float pdl_float_of_e4m3_(unsigned char bits)
{
    const unsigned size = bits & 0x7fu;
    const unsigned half = (bits & 0x80u) << 8 | size << 7;
    return size == 0x7fu ? pdl_float_of_bits_(0x7fffffffu)
                         : 256.0f * pdl_float_of_half_(static_cast<unsigned short>(half));
}

/* ------------------------------------------------------------------------------------------------
 * Conversions to integers
 * ---------------------------------------------------------------------------------------------- */

/* The range of an integer type as int, unsigned, long long and unsigned long long have it. */
template <typename T> struct pdl_range_ {
    static const bool is_signed = static_cast<T>(-1) < static_cast<T>(1);
    static const int bits = 8 * static_cast<int>(sizeof(T));
    static const unsigned long long high = ~0ull >> (64 - bits + (is_signed ? 1 : 0));
    static const long long low = is_signed ? -static_cast<long long>(high) - 1 : 0;
    static const unsigned long long int_high = 0x7fffffffull;
    static const unsigned long long long_high = 0x7fffffffffffffffull;
};

template <typename T> PDL_TYPES_INLINE_ T pdl_saturate_(int value)
{
    typedef pdl_range_<T> range;
    const int high =
        static_cast<int>(range::high < range::int_high ? range::high : range::int_high);
    const int low = static_cast<int>(range::low < -0x80000000ll ? -0x80000000ll : range::low);
    return static_cast<T>(value < low ? low : value > high ? high : value);
}

template <typename T> PDL_TYPES_INLINE_ T pdl_saturate_(unsigned value)
{
    const unsigned long long high = pdl_range_<T>::high;
    const unsigned most = static_cast<unsigned>(high < 0xffffffffull ? high : 0xffffffffull);
    return static_cast<T>(value > most ? most : value);
}

template <typename T> PDL_TYPES_INLINE_ T pdl_saturate_(long long value)
{
    typedef pdl_range_<T> range;
    const long long high =
        static_cast<long long>(range::high < range::long_high ? range::high : range::long_high);
    const long long low = range::low;
    return static_cast<T>(value < low ? low : value > high ? high : value);
}

template <typename T> PDL_TYPES_INLINE_ T pdl_saturate_(unsigned long long value)
{
    const unsigned long long high = pdl_range_<T>::high;
    return static_cast<T>(value > high ? high : value);
}

/** @cond */
/* The instructions hold the value in the range of 32 or 64 bits; what they make of not-a-number
 * depends on the types. */
#define PDL_TYPES_CUT_(name, type, instruction, constraint)                                        \
    PDL_TYPES_INLINE_ type pdl_cut_##name##_(float value)                                          \
    {                                                                                              \
        type cut;                                                                                  \
        asm("cvt.rzi." instruction ".f32 %0, %1;" : constraint(cut) : "f"(value));                 \
        return value != value ? 0 : cut;                                                           \
    }                                                                                              \
    PDL_TYPES_INLINE_ type pdl_cut_##name##_(double value)                                         \
    {                                                                                              \
        type cut;                                                                                  \
        asm("cvt.rzi." instruction ".f64 %0, %1;" : constraint(cut) : "d"(value));                 \
        return value != value ? 0 : cut;                                                           \
    }
PDL_TYPES_CUT_(s32, int, "s32", "=r")
PDL_TYPES_CUT_(u32, unsigned, "u32", "=r")
PDL_TYPES_CUT_(s64, long long, "s64", "=l")
PDL_TYPES_CUT_(u64, unsigned long long, "u64", "=l")
#undef PDL_TYPES_CUT_
/** @endcond */

/* ------------------------------------------------------------------------------------------------
 * How each type is computed with
 * ---------------------------------------------------------------------------------------------- */

/**
 * The properties of a type in memory. `compute` is the type of its values in registers: float for
 * floating types of at most 32 bits, int for integers of less than 32 and for bool, otherwise
 * itself. `load` and `store` convert between the two. `store` takes every type that is a `compute`
 * of some type.
 *
 * For other types, such as CUDA's: PDL_STORAGE_AS(__half, pdl_half).
 */
template <typename T> struct pdl_storage;

/** @cond */
/* The other arithmetic types become one of those that the conversions are for. */
#define PDL_TYPES_COMPUTED_(type, computed)                                                        \
    PDL_TYPES_INLINE_ computed pdl_computed_(type value)                                           \
    {                                                                                              \
        return value;                                                                              \
    }
PDL_TYPES_COMPUTED_(int, int)
PDL_TYPES_COMPUTED_(unsigned, unsigned)
PDL_TYPES_COMPUTED_(long, long long)
PDL_TYPES_COMPUTED_(unsigned long, unsigned long long)
PDL_TYPES_COMPUTED_(long long, long long)
PDL_TYPES_COMPUTED_(unsigned long long, unsigned long long)
PDL_TYPES_COMPUTED_(float, float)
PDL_TYPES_COMPUTED_(double, double)
#undef PDL_TYPES_COMPUTED_
/** @endcond */

/** @cond */
/* A type, what it is computed with, how a T `value` becomes that, and how a `value` of any computed
 * type becomes a T. */
#define PDL_TYPES_STORAGE_(type, computed, loaded, stored)                                         \
    template <> struct pdl_storage<type> {                                                         \
        typedef computed compute;                                                                  \
        static PDL_TYPES_INLINE_ compute load(type value)                                          \
        {                                                                                          \
            return loaded;                                                                         \
        }                                                                                          \
        template <typename C> static PDL_TYPES_INLINE_ type store(C value)                         \
        {                                                                                          \
            return stored;                                                                         \
        }                                                                                          \
    };
PDL_TYPES_STORAGE_(double, double, value, static_cast<double>(value))
PDL_TYPES_STORAGE_(float, float, value, static_cast<float>(value))
PDL_TYPES_STORAGE_(pdl_half, float, pdl_float_of_half_(value.bits),
                   pdl_half{pdl_half_of_float_(pdl_odd_(value))})
PDL_TYPES_STORAGE_(pdl_bfloat16, float, pdl_float_of_bits_(static_cast<unsigned>(value.bits) << 16),
                   pdl_bfloat16{pdl_bfloat16_of_float_(pdl_odd_(value))})
PDL_TYPES_STORAGE_(pdl_float8_e4m3, float, pdl_float_of_e4m3_(value.bits),
                   pdl_float8_e4m3{pdl_e4m3_of_float_(pdl_odd_(value))})
PDL_TYPES_STORAGE_(pdl_float8_e5m2, float,
                   pdl_float_of_half_(static_cast<unsigned short>(value.bits << 8)),
                   pdl_float8_e5m2{pdl_e5m2_of_float_(pdl_odd_(value))})
PDL_TYPES_STORAGE_(bool, int, value, value != static_cast<C>(0))
#undef PDL_TYPES_STORAGE_

#define PDL_TYPES_INTEGER_(type, computed, cut)                                                    \
    template <> struct pdl_storage<type> {                                                         \
        typedef computed compute;                                                                  \
        static PDL_TYPES_INLINE_ compute load(type value)                                          \
        {                                                                                          \
            return value;                                                                          \
        }                                                                                          \
        template <typename C> static PDL_TYPES_INLINE_ type store(C value)                         \
        {                                                                                          \
            return pdl_saturate_<type>(value);                                                     \
        }                                                                                          \
        static PDL_TYPES_INLINE_ type store(float value)                                           \
        {                                                                                          \
            return pdl_saturate_<type>(pdl_cut_##cut##_(value));                                   \
        }                                                                                          \
        static PDL_TYPES_INLINE_ type store(double value)                                          \
        {                                                                                          \
            return pdl_saturate_<type>(pdl_cut_##cut##_(value));                                   \
        }                                                                                          \
    };
PDL_TYPES_INTEGER_(char, int, s32)
PDL_TYPES_INTEGER_(signed char, int, s32)
PDL_TYPES_INTEGER_(unsigned char, int, s32)
PDL_TYPES_INTEGER_(short, int, s32)
PDL_TYPES_INTEGER_(unsigned short, int, s32)
PDL_TYPES_INTEGER_(int, int, s32)
PDL_TYPES_INTEGER_(unsigned, unsigned, u32)
PDL_TYPES_INTEGER_(long, long long, s64)
PDL_TYPES_INTEGER_(unsigned long, unsigned long long, u64)
PDL_TYPES_INTEGER_(long long, long long, s64)
PDL_TYPES_INTEGER_(unsigned long long, unsigned long long, u64)
#undef PDL_TYPES_INTEGER_
/** @endcond */

/** Makes `type` one that arrays may have, of the layout of `known`: PDL_STORAGE_AS(__half,
 * pdl_half). At namespace scope. */
#define PDL_STORAGE_AS(type, known)                                                                \
    template <> struct pdl_storage<type> {                                                         \
        typedef pdl_storage<known>::compute compute;                                               \
        static PDL_TYPES_INLINE_ compute load(type value)                                          \
        {                                                                                          \
            return pdl_storage<known>::load(pdl_cast_<known>(value));                              \
        }                                                                                          \
        template <typename C> static PDL_TYPES_INLINE_ type store(C value)                         \
        {                                                                                          \
            return pdl_cast_<type>(pdl_storage<known>::store(value));                              \
        }                                                                                          \
    };

template <typename To, typename From> PDL_TYPES_INLINE_ To pdl_cast_(From from)
{
    static_assert(sizeof(To) == sizeof(From), "types of one size");
    To to;
    PDL_TYPES_COPY_(&to, &from, sizeof(to));
    return to;
}

/** A value as type T in memory: `pdl_convert<pdl_half>(1.5)`. */
template <typename T, typename C> PDL_TYPES_INLINE_ T pdl_convert(C value)
{
    return pdl_storage<T>::store(pdl_computed_(value));
}

/** The floating type for functions of a computed value, such as exp: double for double and integers of
 * 64 bits, else float. `pdl_real<C>::type`. */
template <typename C> struct pdl_real {
    typedef float type; /**< float or double. */
};
/** @cond */
template <> struct pdl_real<double> {
    typedef double type;
};
template <> struct pdl_real<long long> {
    typedef double type;
};
template <> struct pdl_real<unsigned long long> {
    typedef double type;
};
/** @endcond */

/* ------------------------------------------------------------------------------------------------
 * Sums: of what is in memory and what is added to it, as a type that can be stored
 * ---------------------------------------------------------------------------------------------- */

/* Integers: exact, and held in the range of 64 bits, with a sign where `old` has one. */
PDL_TYPES_INLINE_ long long pdl_sum_(long long old, unsigned long long value)
{
    const unsigned long long bits = static_cast<unsigned long long>(old);
    const unsigned long long room = 0x7fffffffffffffffull - bits;
    return value > room ? 0x7fffffffffffffffll : static_cast<long long>(bits + value);
}
PDL_TYPES_INLINE_ long long pdl_sum_(long long old, long long value)
{
    const unsigned long long bits = static_cast<unsigned long long>(old);
    const unsigned long long size = 0ull - static_cast<unsigned long long>(value);
    const unsigned long long room = bits + 0x8000000000000000ull;
    return value >= 0    ? pdl_sum_(old, static_cast<unsigned long long>(value))
           : size > room ? -0x7fffffffffffffffll - 1
                         : static_cast<long long>(bits - size);
}
PDL_TYPES_INLINE_ unsigned long long pdl_sum_(unsigned long long old, unsigned long long value)
{
    return value > ~old ? ~0ull : old + value;
}
PDL_TYPES_INLINE_ unsigned long long pdl_sum_(unsigned long long old, long long value)
{
    const unsigned long long size = 0ull - static_cast<unsigned long long>(value);
    return value >= 0   ? pdl_sum_(old, static_cast<unsigned long long>(value))
           : size > old ? 0
                        : old - size;
}

/** @cond */
/* By themselves: a multiplication before them is not made one with them. */
PDL_TYPES_INLINE_ float pdl_sum_(float old, float value)
{
    float sum;
    asm("add.rn.f32 %0, %1, %2;" : "=f"(sum) : "f"(old), "f"(value));
    return sum;
}
PDL_TYPES_INLINE_ double pdl_sum_(double old, double value)
{
    double sum;
    asm("add.rn.f64 %0, %1, %2;" : "=d"(sum) : "d"(old), "d"(value));
    return sum;
}
/** @endcond */

template <typename C> struct pdl_computed_as_ { /* integers of 32 bits */
    typedef long long wide;
    static const int kind = 0;
};
template <> struct pdl_computed_as_<long long> {
    typedef long long wide;
    static const int kind = 1;
};
template <> struct pdl_computed_as_<unsigned long long> {
    typedef unsigned long long wide;
    static const int kind = 1;
};
template <> struct pdl_computed_as_<float> {
    static const int kind = 2;
};
template <> struct pdl_computed_as_<double> {
    static const int kind = 3;
};

/* How a value of type C is added to one in memory: by the larger of their kinds. */
template <int Kind> struct pdl_adder_ {
    template <typename Old, typename C> static PDL_TYPES_INLINE_ double add(Old old, C value)
    {
        return pdl_sum_(static_cast<double>(old), static_cast<double>(value));
    }
};
template <> struct pdl_adder_<0> {
    template <typename Old, typename C> static PDL_TYPES_INLINE_ long long add(Old old, C value)
    {
        return static_cast<long long>(old) + static_cast<long long>(value);
    }
};
template <> struct pdl_adder_<1> {
    template <typename Old, typename C>
    static PDL_TYPES_INLINE_ typename pdl_computed_as_<Old>::wide add(Old old, C value)
    {
        return pdl_sum_(static_cast<typename pdl_computed_as_<Old>::wide>(old),
                        static_cast<typename pdl_computed_as_<C>::wide>(value));
    }
};
template <> struct pdl_adder_<2> {
    template <typename Old, typename C> static PDL_TYPES_INLINE_ float add(Old old, C value)
    {
        return pdl_sum_(static_cast<float>(old), static_cast<float>(value));
    }
};

/**
 * The result of `old += value` in memory: the sum as pdl_storage stores it.
 *
 * The sum of integers is exact. With a floating type it is computed in float. It is computed in
 * double if one of the two is double or an integer that float does not represent exactly: one of
 * 64 bits, or T itself one of 32. The value is rounded to that type before it is added.
 */
template <typename T, typename C> PDL_TYPES_INLINE_ T pdl_add(T old, C value)
{
    typedef typename pdl_storage<T>::compute from;
    const int mine = pdl_computed_as_<from>::kind;
    const int its = pdl_computed_as_<C>::kind;
    const int most = mine > its ? mine : its;
    const int least = mine > its ? its : mine;
    const bool wide = most == 2 && (least == 1 || (mine == 0 && sizeof(T) == 4));
    return pdl_storage<T>::store(
        pdl_adder_ < wide ? 3 : most > ::add(pdl_storage<T>::load(old), value));
}

#endif /* a CUDA compiler */

#endif /* PDL_TYPES_CUH */
