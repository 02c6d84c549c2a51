/* SPDX-License-Identifier: MIT */
/* A text's lines joined where they end in a backslash, and its trigraphs replaced: what a compiler does before it
 * reads a text, and what depends on its standard. */
#ifndef PDL_RTC_JOIN_H
#define PDL_RTC_JOIN_H

#include <stdbool.h>
#include <stddef.h>

enum {
    PDL_RTC_JOIN_LINES = 1,     /* a backslash at the end of a line */
    PDL_RTC_JOIN_BLANKS = 2,    /* one with blanks behind it, too */
    PDL_RTC_JOIN_TRIGRAPHS = 4, /* ?\?= and the other eight */
};

struct pdl_rtc_joined {
    char *text;
    size_t size;
    unsigned char
        *changed; /* a bit per byte: it is another one, or was not beside the one before it */
};

/* Which of these would change the text. */
unsigned pdl_rtc_join_needs(const char *text, size_t size);
/* Makes a copy, which pdl_rtc_join_free() frees. False without memory. */
bool pdl_rtc_join(const char *text, size_t size, unsigned what, struct pdl_rtc_joined *joined);
void pdl_rtc_join_free(struct pdl_rtc_joined *joined);

#endif /* PDL_RTC_JOIN_H */
