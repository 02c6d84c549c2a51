/* SPDX-License-Identifier: MIT */
/* Names of headers are taken wherever they stand, in comments and strings as well: a name too many costs a
 * look at a file, and one too few a wrong kernel. Only for names that a macro computes, of which one makes a
 * text uncacheable, the lexical structure decides. */
#include "rtc/request/directives.h"

#include <string.h>

/* ------------------------------------------------------------------------------------------------
 * Lines and trigraphs
 * ---------------------------------------------------------------------------------------------- */

bool pdl_rtc_directives_need_join(const char *text, size_t size)
{
    return memchr(text, '\\', size) != NULL || memmem(text, size, "??", 2) != NULL;
}

/* How many bytes from `at`, after a backslash, up to and with the end of the line; 0 if there is more than
 * blanks. */
static size_t rest_of_line(const char *at, const char *end)
{
    const char *from = at;
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) {
        at++;
    }
    return at < end && *at == '\n' ? (size_t)(at - from) + 1 : 0;
}

size_t pdl_rtc_directives_join(char *text, size_t size, bool *trigraphs)
{
    const char *end = text + size;
    const char *from = text;
    char *to = text;
    *trigraphs = false;
    while (from < end) {
        size_t joined = 0;
        if (*from == '\\' && (joined = rest_of_line(from + 1, end)) > 0) {
            from += 1 + joined;
        } else if (end - from > 3 && memcmp(from, "?\?/", 3) == 0 &&
                   (joined = rest_of_line(from + 3, end)) > 0) {
            from += 3 + joined;
            *trigraphs = true;
        } else if (end - from >= 3 && memcmp(from, "?\?=", 3) == 0) {
            from += 3;
            *to++ = '#';
        } else {
            *to++ = *from++;
        }
    }
    return (size_t)(to - text);
}

/* ------------------------------------------------------------------------------------------------
 * Tokens
 * ---------------------------------------------------------------------------------------------- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
           (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r';
}

static bool starts(const char *at, const char *end, const char *with)
{
    const size_t length = strlen(with);
    return (size_t)(end - at) >= length && memcmp(at, with, length) == 0;
}

static const char *end_of_line(const char *at, const char *end)
{
    const char *found = memchr(at, '\n', (size_t)(end - at));
    return found != NULL ? found : end;
}

/* What follows a comment that begins at `at`. A line's end is not part of it. */
static const char *skip_comment(const char *at, const char *end)
{
    if (at[1] == '/') {
        return end_of_line(at, end);
    }
    const char *found = memmem(at + 2, (size_t)(end - at) - 2, "*/", 2);
    return found != NULL ? found + 2 : end;
}

static bool at_comment(const char *at, const char *end)
{
    return starts(at, end, "/*") || starts(at, end, "//");
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end) {
        if (is_blank(*at)) {
            at++;
        } else if (at_comment(at, end)) {
            at = skip_comment(at, end);
        } else {
            break;
        }
    }
    return at;
}

static const char *skip_word(const char *at, const char *end)
{
    while (at < end && (is_letter(*at) || is_digit(*at))) {
        at++;
    }
    return at;
}

static const char *skip_number(const char *at, const char *end)
{
    while (at < end) {
        const bool separator = *at == '\'' && at + 1 < end && (is_letter(at[1]) || is_digit(at[1]));
        const bool sign = (*at == '+' || *at == '-') && strchr("eEpP", at[-1]) != NULL;
        if (!is_letter(*at) && !is_digit(*at) && *at != '.' && !separator && !sign) {
            break;
        }
        at++;
    }
    return at;
}

/* A string or character from its opening quote; one that is not closed ends with its line. */
static const char *skip_quoted(const char *at, const char *end)
{
    const char quote = *at++;
    while (at < end && *at != '\n') {
        if (*at == quote) {
            return at + 1;
        }
        at += *at == '\\' && at + 1 < end && at[1] != '\n' ? 2 : 1;
    }
    return at;
}

/* R"x(...)x" from its quote. One that has no delimiter is taken for a plain one. */
static const char *skip_raw(const char *at, const char *end)
{
    char closing[20] = ")";
    size_t length = 1;
    const char *open = at + 1;
    while (open < end && *open != '(' && length < sizeof(closing) - 2) {
        closing[length++] = *open++;
    }
    if (open >= end || *open != '(') {
        return skip_quoted(at, end);
    }
    closing[length++] = '"';
    const char *found = memmem(open, (size_t)(end - open), closing, length);
    return found != NULL ? found + length : end;
}

static bool is_raw_prefix(const char *word, const char *end)
{
    static const char *const prefixes[] = {"R", "LR", "uR", "UR", "u8R"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if ((size_t)(end - word) == strlen(prefixes[i]) && starts(word, end, prefixes[i])) {
            return true;
        }
    }
    return false;
}

/* Whether `place` is neither in a comment nor in a string; `*first` whether it begins a line. */
static bool in_code(const char *text, const char *end, const char *place, bool *first)
{
    const char *at = text;
    *first = true;
    while (at < place) {
        const char *const token = at;
        bool blank = false;
        if (*at == '\n') {
            *first = true;
            at++;
            continue;
        }
        if (is_blank(*at)) {
            at++;
            blank = true;
        } else if (at_comment(at, end)) {
            at = skip_comment(at, end);
            blank = true;
        } else if (is_letter(*at)) {
            at = skip_word(at, end);
            if (at < end && *at == '"' && is_raw_prefix(token, at)) {
                at = skip_raw(at, end);
            }
        } else if (is_digit(*at)) {
            at = skip_number(at + 1, end);
        } else if (*at == '"' || *at == '\'') {
            at = skip_quoted(at, end);
        } else {
            at++;
        }
        *first = *first && blank;
    }
    return at == place;
}

/* ------------------------------------------------------------------------------------------------
 * Directives
 * ---------------------------------------------------------------------------------------------- */

/* A header's name from its quote or angle bracket; false if it is something else. */
static bool read_name(const char *at, const char *end, struct pdl_rtc_directive *directive)
{
    if (at >= end || (*at != '"' && *at != '<')) {
        return false;
    }
    const char closing = *at == '<' ? '>' : '"';
    const char *line = end_of_line(at, end);
    const char *close = memchr(at + 1, closing, (size_t)(line - at) - 1);
    directive->form = closing == '>' ? PDL_RTC_ANGLED : PDL_RTC_QUOTED;
    directive->name = at + 1;
    directive->length = (size_t)((close != NULL ? close : line) - at) - 1;
    return true;
}

static bool word_is(const char *from, const char *to, const char *word)
{
    return (size_t)(to - from) == strlen(word) && memcmp(from, word, strlen(word)) == 0;
}

/* `mark` is the # and `at` what follows it. */
static void read_directive(const char *text, const char *end, const char *mark, const char *at,
                           pdl_rtc_directive_visit visit, void *context)
{
    struct pdl_rtc_directive directive = {.form = PDL_RTC_COMPUTED};
    bool first = false;
    at = skip_blanks(at, end);
    const char *after = skip_word(at, end);
    directive.next = word_is(at, after, "include_next");
    if (!directive.next && !word_is(at, after, "include") && !word_is(at, after, "import") &&
        !word_is(at, after, "embed")) {
        return;
    }
    at = skip_blanks(after, end);
    if (read_name(at, end, &directive) ||
        (at < end && *at != '\n' && in_code(text, end, mark, &first) && first)) {
        visit(context, &directive);
    }
}

void pdl_rtc_directives_includes(const char *text, size_t size, pdl_rtc_directive_visit visit,
                                 void *context)
{
    const char *end = text + size;
    const char *at = text;
    while ((at = memchr(at, '#', (size_t)(end - at))) != NULL) {
        read_directive(text, end, at, at + 1, visit, context);
        at++;
    }
    at = text;
    while ((at = memmem(at, (size_t)(end - at), "%:", 2)) != NULL) {
        read_directive(text, end, at, at + 2, visit, context);
        at += 2;
    }
}

/* The macro that is defined on the line of `place`; false if none is. */
static bool find_defined(const char *text, const char *end, const char *place, const char **from,
                         const char **to)
{
    const char *line = memrchr(text, '\n', (size_t)(place - text));
    const char *at = skip_blanks(line != NULL ? line + 1 : text, place);
    if (!starts(at, end, "#") && !starts(at, end, "%:")) {
        return false;
    }
    at = skip_blanks(at + (*at == '#' ? 1 : 2), end);
    const char *after = skip_word(at, end);
    if (!word_is(at, after, "define")) {
        return false;
    }
    *from = skip_blanks(after, end);
    *to = skip_word(*from, end);
    return *to > *from;
}

/* A callee that stands at `place`, `at` being behind it. */
static void read_call(const char *text, const char *end, const char *place, const char *at,
                      pdl_rtc_directive_visit visit, void *context)
{
    struct pdl_rtc_directive directive = {.form = PDL_RTC_COMPUTED};
    const char *from;
    const char *to;
    bool first;
    at = skip_blanks(at, end);
    const bool called = at < end && *at == '(';
    if (called && read_name(skip_blanks(at + 1, end), end, &directive)) {
        visit(context, &directive);
        return;
    }
    if (find_defined(text, end, place, &from, &to)) {
        if (from != place) {
            directive.form = PDL_RTC_ALIAS;
            directive.name = from;
            directive.length = (size_t)(to - from);
            visit(context, &directive);
        }
        return;
    }
    if (called && in_code(text, end, place, &first)) {
        visit(context, &directive);
    }
}

void pdl_rtc_directives_calls(const char *text, size_t size, const char *callee,
                              pdl_rtc_directive_visit visit, void *context)
{
    const char *end = text + size;
    const char *at = text;
    const size_t length = strlen(callee);
    while ((at = memmem(at, (size_t)(end - at), callee, length)) != NULL) {
        const char *after = at + length;
        const bool begins = at == text || (!is_letter(at[-1]) && !is_digit(at[-1]));
        if (begins && (after == end || (!is_letter(*after) && !is_digit(*after)))) {
            read_call(text, end, at, after, visit, context);
        }
        at = after;
    }
}
