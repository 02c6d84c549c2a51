/* SPDX-License-Identifier: MIT */
/* Texts by chance, the same after the same seed. */
#ifndef PDL_TEST_RTC_TEXTS_H
#define PDL_TEST_RTC_TEXTS_H

#include <stdarg.h>

#include "rtc_support.h"

/* ---- chance -------------------------------------------------------------------------------------- */

static uint64_t chance_state; /* the seed, at first */

static inline uint64_t chance(uint64_t below)
{
    chance_state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = chance_state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % below;
}

#define ONE_OF(array) ((array)[chance(sizeof(array) / sizeof((array)[0]))])

/* ---- texts --------------------------------------------------------------------------------------- */

struct text {
    char bytes[1 << 14];
    size_t size;
};

static inline void empty(struct text *text)
{
    text->size = 0;
    text->bytes[0] = '\0';
}

__attribute__((format(printf, 2, 3))) static inline void add(struct text *text, const char *format,
                                                             ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int size =
        vsnprintf(text->bytes + text->size, sizeof(text->bytes) - text->size, format, arguments);
    va_end(arguments);
    text->size += (size_t)size;
    assert_true(text->size < sizeof(text->bytes));
}

#endif /* PDL_TEST_RTC_TEXTS_H */
