/* SPDX-License-Identifier: MIT */
/* What macros may make of __has_include(), over all texts of a request: which names ask as it does, and
 * whether one may be put together where no text has it. */
#ifndef PDL_RTC_MACROS_H
#define PDL_RTC_MACROS_H

#include "rtc/request/set.h"

enum { PDL_RTC_CALLEES = 32, PDL_RTC_CALLEE_LENGTH = 64 };

/* What a word is in some text, whatever the conditions. */
enum pdl_rtc_fact {
    PDL_RTC_MACRO,
    PDL_RTC_PARENTHESIS /* a macro that stands for an opening one */
};

struct pdl_rtc_macros {
    struct pdl_rtc_callee { /* __has_include, or a macro that hands on to it */
        char name[PDL_RTC_CALLEE_LENGTH];
        size_t length;
        /* Bit n of number i: the n letters from its letter i on are a word, in some macro and in the current call. */
        uint64_t pieces[2][PDL_RTC_CALLEE_LENGTH];
    } callees[PDL_RTC_CALLEES];
    size_t callee_count;
    bool pairs[128][128];     /* which letters follow which in a callee */
    bool called;              /* the current call has pieces */
    struct pdl_rtc_set facts; /* what words are */
    struct pdl_rtc_set named; /* words of names, which must not be macros */
    bool pastes;              /* some text has ## */
    bool loose;               /* calls may be longer than they seem: all words are in one */
    const char *unknown;      /* why it cannot be told what is asked for; else NULL */
};

void pdl_rtc_macros_begin(struct pdl_rtc_macros *macros);

/* One more callee, unless it is there. */
void pdl_rtc_macros_add(struct pdl_rtc_macros *macros, const char *name, size_t length);

/* A word that ## may join to others: those of all macros, or of the current call. */
bool pdl_rtc_macros_may_be_piece(const struct pdl_rtc_macros *macros, const char *word,
                                 size_t length);
void pdl_rtc_macros_word(struct pdl_rtc_macros *macros, const char *word, size_t length,
                         bool global);
void pdl_rtc_macros_end_call(struct pdl_rtc_macros *macros);

void pdl_rtc_macros_note(struct pdl_rtc_macros *macros, enum pdl_rtc_fact fact, const char *word,
                         size_t length);
bool pdl_rtc_macros_has(const struct pdl_rtc_macros *macros, enum pdl_rtc_fact fact,
                        const char *word, size_t length);
/* A word in a name, which would change if it were a macro. */
void pdl_rtc_macros_name(struct pdl_rtc_macros *macros, const char *word, size_t length);

/* After all texts were read. */
void pdl_rtc_macros_check(struct pdl_rtc_macros *macros);

#endif /* PDL_RTC_MACROS_H */
