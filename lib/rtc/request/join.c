/* SPDX-License-Identifier: MIT */
#include "rtc/request/join.h"

#include <stdlib.h>
#include <string.h>

/* How many bytes from `at`, behind a backslash, up to and with the end of the line; 0 if there is more. NVRTC joins
 * lines that end in \r\n. */
static size_t rest_of_line(const char *at, const char *end, bool blanks)
{
    const char *from = at;
    at += !blanks && at < end && *at == '\r';
    while (blanks && at < end && strchr(" \t\v\f\r", *at) != NULL && *at != '\0') {
        at++;
    }
    return at < end && *at == '\n' ? (size_t)(at - from) + 1 : 0;
}

/* What a trigraph stands for; NUL if there is none. */
static char trigraph(const char *at, const char *end)
{
    static const char trigraphs[][2] = {{'=', '#'}, {'/', '\\'}, {'\'', '^'},
                                        {'(', '['}, {')', ']'},  {'!', '|'},
                                        {'<', '{'}, {'>', '}'},  {'-', '~'}};
    if (end - at < 3 || at[0] != '?' || at[1] != '?') {
        return '\0';
    }
    for (size_t i = 0; i < sizeof(trigraphs) / sizeof(trigraphs[0]); i++) {
        if (trigraphs[i][0] == at[2]) {
            return trigraphs[i][1];
        }
    }
    return '\0';
}

unsigned pdl_rtc_join_needs(const char *text, size_t size)
{
    const char *end = text + size;
    unsigned needs = 0;
    for (const char *at = text; (at = memchr(at, '\\', (size_t)(end - at))) != NULL; at++) {
        const size_t plain = rest_of_line(at + 1, end, false);
        needs |= plain > 0 ? PDL_RTC_JOIN_LINES : 0;
        needs |= plain == 0 && rest_of_line(at + 1, end, true) > 0 ? PDL_RTC_JOIN_BLANKS : 0;
    }
    for (const char *at = text; (at = memmem(at, (size_t)(end - at), "??", 2)) != NULL; at++) {
        const char stands = trigraph(at, end);
        needs |= stands != '\0' ? PDL_RTC_JOIN_TRIGRAPHS : 0;
        needs |= stands == '\\' && rest_of_line(at + 3, end, true) > 0 ? PDL_RTC_JOIN_BLANKS : 0;
    }
    return needs;
}

static void mark(struct pdl_rtc_joined *joined)
{
    joined->changed[joined->size / 8] |= (unsigned char)(1U << joined->size % 8);
}

bool pdl_rtc_join(const char *text, size_t size, unsigned what, struct pdl_rtc_joined *joined)
{
    const char *end = text + size;
    *joined = (struct pdl_rtc_joined){.text = malloc(size + 1), .changed = calloc(1, size / 8 + 1)};
    if (joined->text == NULL || joined->changed == NULL) {
        pdl_rtc_join_free(joined);
        return false;
    }
    while (text < end) {
        const char *next = text + 1;
        char c = *text;
        const char stands = trigraph(text, end);
        const bool replaced = stands != '\0' && (what & PDL_RTC_JOIN_TRIGRAPHS) != 0;
        if (replaced) {
            c = stands;
            next = text + 3;
        }
        const bool blanks = (what & PDL_RTC_JOIN_BLANKS) != 0;
        const size_t rest = c == '\\' ? rest_of_line(next, end, blanks) : 0;
        if (rest > 0 || replaced) {
            mark(joined);
        }
        if (rest == 0) {
            joined->text[joined->size++] = c;
        }
        text = next + rest;
    }
    return true;
}

void pdl_rtc_join_free(struct pdl_rtc_joined *joined)
{
    free(joined->text);
    free(joined->changed);
    *joined = (struct pdl_rtc_joined){0};
}
