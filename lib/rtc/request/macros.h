/* SPDX-License-Identifier: MIT */
/* What macros may make of __has_include(), over all texts of a request: which names ask as it does, and
 * whether one may be put together where no text has it. */
#ifndef PDL_RTC_MACROS_H
#define PDL_RTC_MACROS_H

#include "rtc/request/set.h"

enum { PDL_RTC_CALLEES = 32, PDL_RTC_CALLEE_LENGTH = 64 };

/* __has_include, or a macro that is made of it. */
struct pdl_rtc_callee {
    char name[PDL_RTC_CALLEE_LENGTH];
    size_t length;
    /* Bit n of number i: the n letters from its letter i on stand somewhere as a word. The first are of words in
     * directives and macros, the second those of all words. */
    uint64_t pieces[2][PDL_RTC_CALLEE_LENGTH];
};

struct pdl_rtc_macros {
    struct pdl_rtc_callee callees[PDL_RTC_CALLEES];
    size_t callee_count;
    uint32_t pairs[256][8];     /* which letters follow which in a callee */
    struct pdl_rtc_set defined; /* the names of macros */
    struct pdl_rtc_set named;   /* words of names that a macro may change */
    bool pastes;                /* some text has ## */
    bool unknown;               /* something is asked for that cannot be told */
};

void pdl_rtc_macros_begin(struct pdl_rtc_macros *macros);
void pdl_rtc_macros_end(struct pdl_rtc_macros *macros);

/* The number of a callee; callee_count if it is none. */
size_t pdl_rtc_macros_find(const struct pdl_rtc_macros *macros, const char *word, size_t length);
/* One more callee, unless it is there. */
void pdl_rtc_macros_add(struct pdl_rtc_macros *macros, const char *name, size_t length);

/* A word that stands in a text, for the callees from `from` on. */
void pdl_rtc_macros_word(struct pdl_rtc_macros *macros, size_t from, const char *word,
                         size_t length, bool in_directive);
/* A word that is defined, and one in a name that would change if it were. */
void pdl_rtc_macros_define(struct pdl_rtc_macros *macros, const char *word, size_t length);
void pdl_rtc_macros_name(struct pdl_rtc_macros *macros, const char *word, size_t length);

/* After all texts were read: whether a callee can be pasted, or a name changed. */
bool pdl_rtc_macros_hide(const struct pdl_rtc_macros *macros);

#endif /* PDL_RTC_MACROS_H */
