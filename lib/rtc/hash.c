/* SPDX-License-Identifier: MIT */
#include "rtc/hash.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct pdl_rtc_sequence {
    XXH3_state_t *text;
    XXH3_state_t *check;
};

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

static void sequence_free(struct pdl_rtc_sequence *sequence)
{
    (void)XXH3_freeState(sequence->text);
    (void)XXH3_freeState(sequence->check);
    free(sequence);
}

struct pdl_rtc_sequence *pdl_rtc_sequence_begin(void)
{
    struct pdl_rtc_sequence *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return NULL;
    }
    made->text = XXH3_createState();
    made->check = XXH3_createState();
    if (made->text == NULL || made->check == NULL ||
        XXH3_128bits_reset_withSeed(made->text, PDL_RTC_SEED_TEXT) != XXH_OK ||
        XXH3_128bits_reset_withSeed(made->check, PDL_RTC_SEED_CHECK) != XXH_OK) {
        sequence_free(made);
        return NULL;
    }
    return made;
}

static void add(struct pdl_rtc_sequence *sequence, const void *bytes, size_t size)
{
    (void)XXH3_128bits_update(sequence->text, bytes, size);
    (void)XXH3_128bits_update(sequence->check, bytes, size);
}

void pdl_rtc_sequence_number(struct pdl_rtc_sequence *sequence, uint64_t number)
{
    unsigned char bytes[8]; /* little-endian on every machine: caches are shipped */
    for (int i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(number >> (8 * i));
    }
    add(sequence, bytes, sizeof(bytes));
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
    pdl_rtc_sequence_add(sequence, text, strlen(text));
}

void pdl_rtc_sequence_hash(struct pdl_rtc_sequence *sequence, struct pdl_rtc_hash hash)
{
    pdl_rtc_sequence_number(sequence, hash.high);
    pdl_rtc_sequence_number(sequence, hash.low);
}

void pdl_rtc_sequence_end(struct pdl_rtc_sequence *sequence, struct pdl_rtc_hash *text,
                          struct pdl_rtc_hash *check)
{
    *text = from_xxhash(XXH3_128bits_digest(sequence->text));
    *check = from_xxhash(XXH3_128bits_digest(sequence->check));
    sequence_free(sequence);
}
