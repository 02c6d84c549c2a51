/* SPDX-License-Identifier: MIT */
/* What a text may include: the names in its directives and in __has_include(), found without evaluating
 * anything. */
#ifndef PDL_RTC_DIRECTIVES_H
#define PDL_RTC_DIRECTIVES_H

#include <stdbool.h>
#include <stddef.h>

enum pdl_rtc_form {
    PDL_RTC_QUOTED,
    PDL_RTC_ANGLED,
    PDL_RTC_COMPUTED, /* a macro makes the name: there is none here */
    PDL_RTC_ALIAS     /* the name of a macro that is made of what was looked for */
};

/* A name in the text, which it points into. */
struct pdl_rtc_directive {
    enum pdl_rtc_form form;
    bool next; /* include_next: the search begins anywhere */
    const char *name;
    size_t length;
};

typedef void (*pdl_rtc_directive_visit)(void *context, const struct pdl_rtc_directive *directive);

/* Joins lines that end in a backslash, and replaces the trigraphs that matter, in place. Returns the new
 * size; `*trigraphs` tells whether there was one that ends a line. */
size_t pdl_rtc_directives_join(char *text, size_t size, bool *trigraphs);
/* Whether that would change anything. Says yes now and then where it would not. */
bool pdl_rtc_directives_need_join(const char *text, size_t size);

/* Every #include, #include_next, #import and #embed, those in comments and strings too; COMPUTED only where it may be
 * read as a directive. */
void pdl_rtc_directives_includes(const char *text, size_t size, pdl_rtc_directive_visit visit,
                                 void *context);

/* Likewise what is asked by CALLEE("name") or CALLEE(<name>), with __has_include as the callee. Macros that
 * are defined by it are told as ALIAS. */
void pdl_rtc_directives_calls(const char *text, size_t size, const char *callee,
                              pdl_rtc_directive_visit visit, void *context);

#endif /* PDL_RTC_DIRECTIVES_H */
