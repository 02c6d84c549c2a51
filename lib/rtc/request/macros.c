/* SPDX-License-Identifier: MIT */
#include "rtc/request/macros.h"

#include <string.h>

void pdl_rtc_macros_begin(struct pdl_rtc_macros *macros)
{
    static const char *const asks[] = {"__has_include", "__has_include_next", "__has_embed"};
    *macros = (struct pdl_rtc_macros){0};
    for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
        pdl_rtc_macros_add(macros, asks[i], strlen(asks[i]));
    }
}

bool pdl_rtc_macros_may_be_piece(const struct pdl_rtc_macros *macros, const char *word,
                                 size_t length)
{
    return length < PDL_RTC_CALLEE_LENGTH &&
           (length == 1 || macros->pairs[word[0] & 127][word[1] & 127]);
}

static bool is_listed(const struct pdl_rtc_macros *macros, const char *name, size_t length)
{
    bool found = false;
    for (size_t i = 0; i < macros->callee_count; i++) {
        found = found || (macros->callees[i].length == length &&
                          memcmp(macros->callees[i].name, name, length) == 0);
    }
    return found;
}

void pdl_rtc_macros_add(struct pdl_rtc_macros *macros, const char *name, size_t length)
{
    if (is_listed(macros, name, length)) {
        return;
    }
    if (macros->callee_count == PDL_RTC_CALLEES || length >= PDL_RTC_CALLEE_LENGTH) {
        macros->unknown = "too many macros, or one of too long a name, ask __has_include";
        return;
    }
    struct pdl_rtc_callee *callee = &macros->callees[macros->callee_count++];
    memcpy(callee->name, name, length);
    callee->length = length;
    for (size_t i = 0; i + 1 < length; i++) {
        macros->pairs[name[i] & 127][name[i + 1] & 127] = true;
    }
}

void pdl_rtc_macros_word(struct pdl_rtc_macros *macros, const char *word, size_t length,
                         bool global)
{
    for (size_t c = 0; c < macros->callee_count; c++) {
        struct pdl_rtc_callee *callee = &macros->callees[c];
        for (size_t i = 0; length < callee->length && i + length <= callee->length; i++) {
            if (memcmp(callee->name + i, word, length) == 0) {
                callee->pieces[global ? 0 : 1][i] |= UINT64_C(1) << length;
                macros->called = true;
            }
        }
    }
}

/* Whether ## may make it of words. Numbers also come from __LINE__ and the like. */
static bool may_be_pasted(const struct pdl_rtc_callee *callee)
{
    bool made[PDL_RTC_CALLEE_LENGTH] = {true};
    for (size_t end = 1; end <= callee->length; end++) {
        for (size_t i = 0; i < end; i++) {
            const uint64_t pieces = callee->pieces[0][i] | callee->pieces[1][i];
            const bool number = callee->name[i] >= '0' && callee->name[i] <= '9';
            made[end] = made[end] || (made[i] && (number || (pieces >> (end - i) & 1) != 0));
        }
    }
    return made[callee->length];
}

void pdl_rtc_macros_end_call(struct pdl_rtc_macros *macros)
{
    for (size_t i = 0; macros->called && i < macros->callee_count; i++) {
        struct pdl_rtc_callee *callee = &macros->callees[i];
        if (macros->pastes && may_be_pasted(callee)) {
            macros->unknown = "## may make __has_include of other words";
        }
        memset(callee->pieces[1], 0, sizeof(callee->pieces[1]));
    }
    macros->called = false;
}

void pdl_rtc_macros_note(struct pdl_rtc_macros *macros, enum pdl_rtc_fact fact, const char *word,
                         size_t length)
{
    (void)pdl_rtc_set_add(&macros->facts, pdl_rtc_hash_bytes(word, length, fact), 0);
}

bool pdl_rtc_macros_has(const struct pdl_rtc_macros *macros, enum pdl_rtc_fact fact,
                        const char *word, size_t length)
{
    return pdl_rtc_set_find(&macros->facts, pdl_rtc_hash_bytes(word, length, fact)) != NULL;
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
        macros->unknown = "__has_include asks for a name with a macro of the compiler in it";
    } else {
        (void)pdl_rtc_set_add(&macros->named, pdl_rtc_hash_bytes(word, length, PDL_RTC_MACRO), 0);
    }
}

void pdl_rtc_macros_check(struct pdl_rtc_macros *macros)
{
    macros->called = true;
    pdl_rtc_macros_end_call(macros);
    for (size_t i = 0; i < macros->named.capacity; i++) {
        const struct pdl_rtc_hash key = macros->named.slots[i].key;
        if ((key.high != 0 || key.low != 0) && pdl_rtc_set_find(&macros->facts, key) != NULL) {
            macros->unknown = "__has_include asks for a name with a macro in it";
        }
    }
}
