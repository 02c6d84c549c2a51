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
    bool modern;                   /* the standard is C++14 or newer */
    struct pdl_rtc_macros *macros; /* gets what the text does to them, and `unknown` */
    pdl_rtc_directive_visit visit;
    void *context;
};

/* Visits every name of #include, #include_next, #import and #embed, and every one that a callee is asked for, those in
 * comments and strings too; some more than once. Takes a time that grows as the text does. False without memory. */
bool pdl_rtc_directives_read(const struct pdl_rtc_reading *reading);

#endif /* PDL_RTC_DIRECTIVES_H */
