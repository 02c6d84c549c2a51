/* SPDX-License-Identifier: MIT */
#include "rtc/request/macros.h"

#include <string.h>

enum {
    /* In ordinary code, single letters are everywhere: more words of it than that are not taken to be pasted into
     * one. */
    MAX_PIECES = 4
};

static struct pdl_rtc_hash hash_of(const char *word, size_t length)
{
    return pdl_rtc_hash_bytes(word, length, PDL_RTC_SEED_TEXT);
}

void pdl_rtc_macros_begin(struct pdl_rtc_macros *macros)
{
    static const char *const asks[] = {"__has_include", "__has_include_next", "__has_embed"};
    *macros = (struct pdl_rtc_macros){0};
    for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
        pdl_rtc_macros_add(macros, asks[i], strlen(asks[i]));
    }
}

void pdl_rtc_macros_end(struct pdl_rtc_macros *macros)
{
    pdl_rtc_set_free(&macros->defined);
    pdl_rtc_set_free(&macros->named);
}

size_t pdl_rtc_macros_find(const struct pdl_rtc_macros *macros, const char *word, size_t length)
{
    size_t i = 0;
    while (i < macros->callee_count && (macros->callees[i].length != length ||
                                        memcmp(macros->callees[i].name, word, length) != 0)) {
        i++;
    }
    return i;
}

void pdl_rtc_macros_add(struct pdl_rtc_macros *macros, const char *name, size_t length)
{
    if (pdl_rtc_macros_find(macros, name, length) < macros->callee_count) {
        return;
    }
    if (macros->callee_count == PDL_RTC_CALLEES || length >= PDL_RTC_CALLEE_LENGTH) {
        macros->unknown = true;
        return;
    }
    struct pdl_rtc_callee *callee = &macros->callees[macros->callee_count++];
    memcpy(callee->name, name, length);
    callee->length = length;
    for (size_t i = 0; i + 1 < length; i++) {
        const unsigned char next = (unsigned char)name[i + 1];
        macros->pairs[(unsigned char)name[i]][next / 32] |= UINT32_C(1) << next % 32;
    }
}

static bool may_be_piece(const struct pdl_rtc_macros *macros, const char *word, size_t length)
{
    const unsigned char next = length > 1 ? (unsigned char)word[1] : 0;
    return length == 1 ||
           (macros->pairs[(unsigned char)word[0]][next / 32] >> next % 32 & UINT32_C(1)) != 0;
}

void pdl_rtc_macros_word(struct pdl_rtc_macros *macros, size_t from, const char *word,
                         size_t length, bool in_directive)
{
    if (!may_be_piece(macros, word, length)) {
        return;
    }
    for (size_t c = from; c < macros->callee_count; c++) {
        struct pdl_rtc_callee *callee = &macros->callees[c];
        for (size_t i = 0; length < callee->length && i + length <= callee->length; i++) {
            if (memcmp(callee->name + i, word, length) == 0) {
                callee->pieces[1][i] |= UINT64_C(1) << length;
                callee->pieces[0][i] |= in_directive ? UINT64_C(1) << length : 0;
            }
        }
    }
}

void pdl_rtc_macros_define(struct pdl_rtc_macros *macros, const char *word, size_t length)
{
    (void)pdl_rtc_set_add(&macros->defined, hash_of(word, length), 0);
}

/* Whether it may be a macro of the compiler's own. */
static bool is_predefined(const char *word, size_t length)
{
    static const char standard[] = "__cplusplus";
    return length > 4 && memcmp(word, "__", 2) == 0 &&
           (memcmp(word + length - 2, "__", 2) == 0 ||
            (length == sizeof(standard) - 1 && memcmp(word, standard, length) == 0));
}

void pdl_rtc_macros_name(struct pdl_rtc_macros *macros, const char *word, size_t length)
{
    if (is_predefined(word, length)) {
        macros->unknown = true;
    } else {
        (void)pdl_rtc_set_add(&macros->named, hash_of(word, length), 0);
    }
}

/* The fewest pieces that make the callee; more than `most` if none do. */
static size_t fewest_pieces(const struct pdl_rtc_callee *callee, const uint64_t *pieces,
                            size_t most)
{
    size_t fewest[PDL_RTC_CALLEE_LENGTH] = {0};
    for (size_t end = 1; end <= callee->length; end++) {
        fewest[end] = most + 1;
        for (size_t i = 0; i < end; i++) {
            if ((pieces[i] >> (end - i) & 1) != 0 && fewest[i] + 1 < fewest[end]) {
                fewest[end] = fewest[i] + 1;
            }
        }
    }
    return fewest[callee->length];
}

bool pdl_rtc_macros_hide(const struct pdl_rtc_macros *macros)
{
    for (size_t c = 0; macros->pastes && c < macros->callee_count; c++) {
        const struct pdl_rtc_callee *callee = &macros->callees[c];
        if (fewest_pieces(callee, callee->pieces[0], callee->length) <= callee->length ||
            fewest_pieces(callee, callee->pieces[1], MAX_PIECES) <= MAX_PIECES) {
            return true;
        }
    }
    for (size_t i = 0; i < macros->named.capacity; i++) {
        const struct pdl_rtc_hash key = macros->named.slots[i].key;
        if ((key.high != 0 || key.low != 0) && pdl_rtc_set_find(&macros->defined, key) != NULL) {
            return true;
        }
    }
    return false;
}
