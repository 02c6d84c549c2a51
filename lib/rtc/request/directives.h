/* SPDX-License-Identifier: MIT */
/* What a text may include: the names in its directives and in __has_include(), found without evaluating
 * anything. */
#ifndef PDL_RTC_DIRECTIVES_H
#define PDL_RTC_DIRECTIVES_H

#include <stdbool.h>
#include <stddef.h>

#include "rtc/request/macros.h"

/* A name in the text, which it points into. */
struct pdl_rtc_directive {
    bool quoted; /* else in angle brackets */
    bool next;   /* include_next: the search begins anywhere */
    const char *name;
    size_t length;
};

typedef void (*pdl_rtc_directive_visit)(void *context, const struct pdl_rtc_directive *directive);

struct pdl_rtc_reading {
    const char *text;
    size_t size;
    bool plain; /* a raw string may be a plain one: the standard is older, or not known */
    size_t
        from; /* callees before it were read in this text; if it is not 0, so were the directives */
    struct pdl_rtc_macros *macros; /* gets what the text does to them, and `unknown` */
    pdl_rtc_directive_visit visit;
    void *context;
};

/* Visits every name of #include, #include_next, #import and #embed, and every one that a callee is asked for; some
 * more than once, and those in comments and strings too. In code, one that a macro computes makes it unknown.
 * Takes a time that grows as the text does. False without memory. */
bool pdl_rtc_directives_read(const struct pdl_rtc_reading *reading);

#endif /* PDL_RTC_DIRECTIVES_H */
