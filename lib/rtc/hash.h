/* SPDX-License-Identifier: MIT */
/* 128-bit hashes, by xxHash: of bytes, and of a sequence of strings with their lengths. */
#ifndef PDL_RTC_HASH_H
#define PDL_RTC_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pdl_rtc_hash {
    uint64_t high, low;
};

/* The two seeds: of what things are found by, and of what is compared then. */
#define PDL_RTC_SEED_TEXT  UINT64_C(0)
#define PDL_RTC_SEED_CHECK UINT64_C(0x9e3779b97f4a7c15)

struct pdl_rtc_hash pdl_rtc_hash_bytes(const void *bytes, size_t size, uint64_t seed);
uint64_t pdl_rtc_hash_short(const void *bytes, size_t size, uint64_t seed);

static inline bool pdl_rtc_hash_equal(struct pdl_rtc_hash a, struct pdl_rtc_hash b)
{
    return a.high == b.high && a.low == b.low;
}

/* A sequence: no two different ones give the same bytes. It must not be copied. */
struct pdl_rtc_sequence {
    /* xxHash's, with the two seeds, from an address that is a multiple of 64. The type is not aligned so: GCC 12's
     * AddressSanitizer does not align such variables on its stack. */
    unsigned char states[2 * 640 + 63];
};

void pdl_rtc_sequence_begin(struct pdl_rtc_sequence *sequence);
void pdl_rtc_sequence_add(struct pdl_rtc_sequence *sequence, const void *bytes, size_t size);
/* NULL is a text of its own. */
void pdl_rtc_sequence_text(struct pdl_rtc_sequence *sequence, const char *text);
void pdl_rtc_sequence_number(struct pdl_rtc_sequence *sequence, uint64_t number);
void pdl_rtc_sequence_hash(struct pdl_rtc_sequence *sequence, struct pdl_rtc_hash hash);
/* Both are of the same bytes. */
void pdl_rtc_sequence_end(struct pdl_rtc_sequence *sequence, struct pdl_rtc_hash *text,
                          struct pdl_rtc_hash *check);

#endif /* PDL_RTC_HASH_H */
