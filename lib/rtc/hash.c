/* SPDX-License-Identifier: MIT */
#include "rtc/hash.h"

#include <endian.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

_Static_assert(2 * sizeof(XXH3_state_t) + _Alignof(XXH3_state_t) - 1 <=
                   sizeof(struct pdl_rtc_sequence),
               "a sequence has room for xxHash's states");

static struct pdl_rtc_hash from_xxhash(XXH128_hash_t hash)
{
    return (struct pdl_rtc_hash){.high = hash.high64, .low = hash.low64};
}

struct pdl_rtc_hash pdl_rtc_hash_bytes(const void *bytes, size_t size, uint64_t seed)
{
    return from_xxhash(XXH3_128bits_withSeed(bytes, size, seed));
}

uint64_t pdl_rtc_hash_short(const void *bytes, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, size, seed);
}

static XXH3_state_t *state_of(struct pdl_rtc_sequence *sequence, size_t i)
{
    const size_t before = -(uintptr_t)sequence->states % _Alignof(XXH3_state_t);
    return (XXH3_state_t *)(void *)(sequence->states + before) + i;
}

static void add(struct pdl_rtc_sequence *sequence, const void *bytes, size_t size)
{
    (void)XXH3_128bits_update(state_of(sequence, 0), bytes, size);
    (void)XXH3_128bits_update(state_of(sequence, 1), bytes, size);
}

void pdl_rtc_sequence_begin(struct pdl_rtc_sequence *sequence)
{
    memset(sequence, 0, sizeof(*sequence)); /* a state remembers the seed that it had */
    (void)XXH3_128bits_reset_withSeed(state_of(sequence, 0), PDL_RTC_SEED_TEXT);
    (void)XXH3_128bits_reset_withSeed(state_of(sequence, 1), PDL_RTC_SEED_CHECK);
}

void pdl_rtc_sequence_number(struct pdl_rtc_sequence *sequence, uint64_t number)
{
    const uint64_t bytes = htole64(number); /* caches are shipped */
    add(sequence, &bytes, sizeof(bytes));
}

void pdl_rtc_sequence_add(struct pdl_rtc_sequence *sequence, const void *bytes, size_t size)
{
    pdl_rtc_sequence_number(sequence, size);
    if (size > 0) {
        add(sequence, bytes, size);
    }
}

void pdl_rtc_sequence_text(struct pdl_rtc_sequence *sequence, const char *text)
{
    if (text != NULL) {
        pdl_rtc_sequence_add(sequence, text, strlen(text));
    } else {
        pdl_rtc_sequence_number(sequence, UINT64_MAX);
    }
}

void pdl_rtc_sequence_hash(struct pdl_rtc_sequence *sequence, struct pdl_rtc_hash hash)
{
    pdl_rtc_sequence_number(sequence, hash.high);
    pdl_rtc_sequence_number(sequence, hash.low);
}

void pdl_rtc_sequence_end(struct pdl_rtc_sequence *sequence, struct pdl_rtc_hash *text,
                          struct pdl_rtc_hash *check)
{
    *text = from_xxhash(XXH3_128bits_digest(state_of(sequence, 0)));
    *check = from_xxhash(XXH3_128bits_digest(state_of(sequence, 1)));
}
