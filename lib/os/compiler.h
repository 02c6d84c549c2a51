/* SPDX-License-Identifier: MIT */
/* What C11 has no words for. Extensions of compilers stand here and nowhere else in libpdl. */
#ifndef PDL_LIB_COMPILER_H
#define PDL_LIB_COMPILER_H

#include <stdint.h>

/* PDL_COLD: off the way of a launch that succeeds. Such code is kept apart, so that the way is short in the
 * instruction cache. PDL_RARE: off the way of most launches, and on that of some that succeed: kept apart too, but
 * made for speed. PDL_FLAT: with all that it calls inlined. PDL_PRINTF(N, M): argument N is the format of those
 * from M on. PDL_RAW_MEMORY: reads what sanitizers and other threads write. PDL_AT_UNLOAD: called when the library
 * is unloaded, where the compiler can say so. PDL_UNREACHABLE(): never comes here. PDL_UNROLL: for loops of at most
 * 8 steps. PDL_THREAD_LOCAL: as _Thread_local. pdl_lowest_bit(): the number of zero bits below the lowest one; `bits` is not 0.
 * pdl_wide: some 64-bit words that are computed with at once; pdl_wide_any(): whether a bit is set. */
#if defined(__GNUC__) && !defined(PDL_PLAIN_COMPILER) /* the latter is for a test */
#define PDL_COLD             __attribute__((cold, noinline))
#define PDL_RARE             __attribute__((noinline))
#define PDL_FLAT             __attribute__((flatten))
#define PDL_RAW_MEMORY       __attribute__((no_sanitize("address", "thread")))
#define PDL_AT_UNLOAD        __attribute__((destructor))
#define PDL_UNREACHABLE()    __builtin_unreachable()
#define PDL_UNROLL           _Pragma("GCC unroll 8")
#define PDL_THREAD_LOCAL     _Thread_local
#define pdl_lowest_bit(bits) ((unsigned)__builtin_ctz(bits))
typedef uint64_t pdl_wide __attribute__((vector_size(16)));
#define pdl_wide_any(wide) (((wide)[0] | (wide)[1]) != 0)
#else
#define PDL_COLD __declspec(noinline)
#define PDL_RARE __declspec(noinline)
#define PDL_FLAT
#define PDL_RAW_MEMORY
#define PDL_AT_UNLOAD
#define PDL_UNREACHABLE() __assume(0)
#define PDL_UNROLL
static inline unsigned pdl_lowest_bit(unsigned bits)
{
    unsigned count = 0;
    for (; (bits & 1u) == 0; bits >>= 1) {
        count++;
    }
    return count;
}
typedef uint64_t pdl_wide;
#define pdl_wide_any(wide) ((wide) != 0)
#define PDL_THREAD_LOCAL   __declspec(thread)
#endif

/* The format is that of C11, which Windows' own C library once had not; objects of a library have no other
 * visibility there than that of their list of exports. */
#ifdef PDL_PLAIN_COMPILER
#define PDL_PRINTF(format_, first_)
#elif defined(__GNUC__) && defined(_WIN32) && !defined(__clang__)
#define PDL_PRINTF(format_, first_) __attribute__((format(gnu_printf, format_, first_)))
#elif defined(__GNUC__)
#define PDL_PRINTF(format_, first_) __attribute__((format(printf, format_, first_)))
#else
#define PDL_PRINTF(format_, first_)
#endif
#if defined(__GNUC__) && !defined(_WIN32)
#define PDL_HIDDEN __attribute__((visibility("hidden")))
#else
#define PDL_HIDDEN
#endif

#endif /* PDL_LIB_COMPILER_H */
