/* SPDX-License-Identifier: MIT */
/* Words for pdl/instrument.h in options, variables, logs and JSON. */
#ifndef PDL_LIB_INSTRUMENT_WORDS_H
#define PDL_LIB_INSTRUMENT_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include <pdl/instrument.h>

/* Lists that NULL ends; the index of a word is its value. */
static inline const char *const *pdl_instrument_wait_words(void)
{
    static const char *const words[] = {"entry", "hoist", NULL};
    return words;
}

static inline const char *const *pdl_instrument_trigger_words(void)
{
    static const char *const words[] = {"none", "wait", "last-read", NULL};
    return words;
}

/* What a word of PDL_INSTRUMENT and PDL_INSTRUMENT_TRIGGER asks for, by its place in os/environment.h. */
static inline int32_t pdl_instrument_wait_at(uint64_t place)
{
    return place == 3 ? PDL_INSTRUMENT_HOIST : PDL_INSTRUMENT_ENTRY;
}

static inline int32_t pdl_instrument_trigger_at(uint64_t place)
{
    return place > 1 ? (int32_t)place - 1 : PDL_INSTRUMENT_NO_TRIGGER;
}

/* Of a pdl_instrument_action; "unknown" of any other number. */
static inline const char *pdl_instrument_action_word(int32_t action)
{
    static const char *const words[] = {"unknown", "instrumented", "waits already", "excluded",
                                        "refused"};
    return words[action > 0 && action <= PDL_INSTRUMENT_REFUSED ? action : 0];
}

/* Of a pdl_instrument_reason; NULL: none. */
static inline const char *pdl_instrument_reason_word(int32_t reason)
{
    static const char *const words[] = {NULL,       "target",   "cooperative",
                                        "launches", "no-place", "finding"};
    return words[reason > 0 && reason <= PDL_INSTRUMENT_REASON_FINDING ? reason : 0];
}

#endif /* PDL_LIB_INSTRUMENT_WORDS_H */
