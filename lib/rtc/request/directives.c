/* SPDX-License-Identifier: MIT */
/* A text is read as NVRTC's preprocessor reads it, but for conditions: all of them hold. Where it depends on the
 * standard, or on whether a condition holds, what a token is, the text is read on in each of the ways: a path for each,
 * until they come to the same place again.
 *
 * A name too many costs a look at a file, and one too few a wrong kernel. So names are also taken wherever they
 * stand, in comments and strings as well. Only what a macro computes, which makes a text uncacheable, is
 * left to the paths. */
#include "rtc/request/directives.h"

#include <string.h>

#include "rtc/request/join.h"

enum {
    MAX_PATHS = 32,
    MAX_NAME = 4095,    /* no longer one can be opened */
    MAX_DELIMITER = 16, /* of a raw string */
    READ_AGAIN = 16     /* how often all paths together may read a byte, on average */
};

/* Where a path is in its line. */
enum place {
    PLACE_LINE,   /* nothing but blanks before it */
    PLACE_CODE,   /* in ordinary code, or in a directive whose macros are replaced */
    PLACE_IF,     /* in #if or #elif */
    PLACE_DEFINE, /* behind the name of a macro that is defined */
    PLACE_IGNORED /* in the rest of a directive, where macros are not replaced */
};

struct path {
    const char *at;
    const char *macro; /* of PLACE_DEFINE, its name; else NULL */
    enum place place;
};

struct reader {
    const struct pdl_rtc_reading *reading;
    struct pdl_rtc_macros *macros;
    const char *text, *end;
    const unsigned char *changed; /* see join.h; NULL: nothing is */
    size_t budget;                /* bytes that may still be read */
    struct path paths[MAX_PATHS];
    size_t count;
};

/* ------------------------------------------------------------------------------------------------
 * Tokens
 * ---------------------------------------------------------------------------------------------- */

/* Of a word. NVRTC takes neither $ nor bytes of other alphabets for letters. */
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
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

static bool word_is(const char *from, const char *to, const char *word)
{
    return (size_t)(to - from) == strlen(word) && memcmp(from, word, strlen(word)) == 0;
}

static bool word_is_one(const char *from, const char *to, const char *const *words)
{
    while (*words != NULL && !word_is(from, to, *words)) {
        words++;
    }
    return *words != NULL;
}

static const char *end_of_line(const char *at, const char *end)
{
    const char *found = memchr(at, '\n', (size_t)(end - at));
    return found != NULL ? found : end;
}

static bool at_comment(const char *at, const char *end)
{
    return end - at >= 2 && at[0] == '/' && (at[1] == '/' || at[1] == '*');
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

static const char *skip_spaces(const char *at, const char *end)
{
    while (at < end && is_blank(*at)) {
        at++;
    }
    return at;
}

/* Blanks and comments. */
static const char *skip_blanks(const char *at, const char *end)
{
    while ((at = skip_spaces(at, end)) < end && at_comment(at, end)) {
        at = skip_comment(at, end);
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

/* The length of the mark that begins a directive; 0 if there is none. */
static size_t mark_at(const char *at, const char *end)
{
    return starts(at, end, "#") ? 1 : starts(at, end, "%:") ? 2 : 0;
}

/* A header's name from its quote or angle bracket. What follows it; NULL if it is something else. */
static const char *read_name(const char *at, const char *end, struct pdl_rtc_directive *directive)
{
    if (at >= end || (*at != '"' && *at != '<')) {
        return NULL;
    }
    const char closing = *at == '<' ? '>' : '"';
    const char *close = at + 1;
    while (close < end && *close != closing && *close != '\n' && close - at <= MAX_NAME) {
        close++;
    }
    if (close == end || *close != closing) {
        return NULL;
    }
    directive->quoted = closing == '"';
    directive->name = at + 1;
    directive->length = (size_t)(close - at) - 1;
    return close + 1;
}

/* Whether what is in it could begin a comment or a string, or end one early. */
static bool is_more_than_token(const struct pdl_rtc_directive *directive)
{
    const char *end = directive->name + directive->length;
    for (const char *at = directive->name; at < end; at++) {
        if (*at == '\'' || *at == '"' || *at == '\\' || at_comment(at, end)) {
            return true;
        }
    }
    return false;
}

static const char *const include_words[] = {"include", "include_next", "import", "embed", NULL};

/* ------------------------------------------------------------------------------------------------
 * Names wherever they stand
 * ---------------------------------------------------------------------------------------------- */

static void take_include(const struct reader *reader, const char *at)
{
    struct pdl_rtc_directive directive = {.next = false};
    at = skip_spaces(at, reader->end);
    const char *after = skip_word(at, reader->end);
    directive.next = word_is(at, after, "include_next");
    if (word_is_one(at, after, include_words) &&
        read_name(skip_spaces(after, reader->end), reader->end, &directive) != NULL) {
        reader->reading->visit(reader->reading->context, &directive);
    }
}

static void take_calls(const struct reader *reader, size_t number)
{
    const struct pdl_rtc_callee *callee = &reader->macros->callees[number];
    const char *at = reader->text;
    while ((at = memmem(at, (size_t)(reader->end - at), callee->name, callee->length)) != NULL) {
        struct pdl_rtc_directive directive = {
            .next = true}; /* NVRTC 12.0 looks past headers in memory */
        at = skip_spaces(at + callee->length, reader->end);
        if (at < reader->end && *at == '(' &&
            read_name(skip_spaces(at + 1, reader->end), reader->end, &directive) != NULL) {
            reader->reading->visit(reader->reading->context, &directive);
        }
    }
}

static void take_names(const struct reader *reader)
{
    static const char *const marks[] = {"#", "%:"};
    for (size_t i = 0; reader->reading->from == 0 && i < 2; i++) {
        const size_t length = strlen(marks[i]);
        const char *at = reader->text;
        while ((at = memmem(at, (size_t)(reader->end - at), marks[i], length)) != NULL) {
            at += length;
            take_include(reader, at);
        }
    }
    for (size_t i = reader->reading->from; i < reader->macros->callee_count; i++) {
        take_calls(reader, i);
    }
}

/* ------------------------------------------------------------------------------------------------
 * What is asked for
 * ---------------------------------------------------------------------------------------------- */

/* Counts what is read beside a path's own way. */
static void charge(struct reader *reader, const char *from, const char *to)
{
    const size_t read = (size_t)(to - from);
    reader->macros->unknown = reader->macros->unknown || read > reader->budget;
    reader->budget -= read < reader->budget ? read : reader->budget;
}

/* An angled name that passed through a macro is made of tokens: words in it are replaced if they are macros, and
 * what stands between tokens becomes one blank. */
static void check_tokens(const struct reader *reader, const struct pdl_rtc_directive *directive)
{
    const char *at = directive->name;
    const char *end = at + directive->length;
    while (at < end && !reader->macros->unknown) {
        const char *after = skip_word(at, end);
        if (after > at) {
            pdl_rtc_macros_name(reader->macros, at, (size_t)(after - at));
        } else if (strchr("./+-", *at) == NULL || *at == '\0') {
            reader->macros->unknown = true;
        } else {
            after++;
        }
        at = after;
    }
}

/* Whether the word stands in the name. */
static bool has_word(const struct pdl_rtc_directive *directive, const char *word, size_t length)
{
    const char *end = directive->name + directive->length;
    for (const char *at = directive->name; length > 0 && at < end;) {
        const char *after = skip_word(at, end);
        if ((size_t)(after - at) == length && memcmp(at, word, length) == 0) {
            return true;
        }
        at = after > at ? after : at + 1;
    }
    return false;
}

/* The one parameter of the macro, "..." being __VA_ARGS__. False if it has none, or several. A name that one of them
 * stands in, which may be NULL, is not the one that is looked for. */
static bool read_parameter(struct reader *reader, const char *macro,
                           const struct pdl_rtc_directive *named, const char **from,
                           const char **to)
{
    const char *end = reader->end;
    const char *at = skip_word(macro, end);
    size_t count = 0;
    *from = *to = at;
    if (at == end || *at != '(') {
        return false;
    }
    do {
        *from = skip_blanks(at + 1, end);
        *to = skip_word(*from, end);
        if (named != NULL && has_word(named, *from, (size_t)(*to - *from))) {
            reader->macros->unknown = true;
        }
        at = skip_blanks(*to, end);
        count++;
        if (starts(at, end, "...") && *to == *from) {
            *from = "__VA_ARGS__";
            *to = *from + strlen(*from);
            at = skip_blanks(at + 3, end);
        }
    } while (at < end && *at == ',');
    charge(reader, macro, at);
    return count == 1 && at < end && *at == ')' && *to > *from;
}

/* Whether the macro does nothing to what it is asked for: `#define A CALLEE` and `#define A(X) ... CALLEE(X) ...`.
 * `at` follows the callee. */
static bool is_alias(struct reader *reader, const char *macro, const char *callee, const char *at)
{
    const char *end = reader->end;
    const char *from;
    const char *to;
    const char *after = skip_word(macro, end);
    if (!read_parameter(reader, macro, NULL, &from, &to)) {
        return skip_blanks(after, end) == callee && after < callee &&
               (at == end || *at == '\n'); /* the whole of what it stands for */
    }
    if (at == end || *at != '(') {
        return false;
    }
    at = skip_blanks(at + 1, end);
    after = skip_word(at, end);
    const size_t length = (size_t)(to - from);
    at = (size_t)(after - at) == length && memcmp(at, from, length) == 0 ? skip_blanks(after, end)
                                                                         : end;
    return at < end && *at == ')';
}

/* A callee that stands at `word` in code. */
static void read_call(struct reader *reader, const struct path *path, const char *word,
                      const char *after)
{
    struct pdl_rtc_directive directive = {.next =
                                              true}; /* NVRTC 12.0 looks past headers in memory */
    struct pdl_rtc_macros *macros = reader->macros;
    const char *end = reader->end;
    const char *at = skip_blanks(after, end);
    const char *from;
    const char *to;
    const char *close =
        at < end && *at == '(' ? read_name(skip_blanks(at + 1, end), end, &directive) : NULL;
    close = close != NULL ? skip_blanks(close, end) : end;
    const bool named = close < end && *close == ')';
    charge(reader, after, at);
    if (path->place == PLACE_DEFINE && named) {
        /* A file in quotes is looked for beside the text that uses the macro, wherever that is. */
        (void)read_parameter(reader, path->macro, &directive, &from, &to);
        macros->unknown = macros->unknown || directive.quoted;
    } else if (path->place == PLACE_DEFINE && is_alias(reader, path->macro, word, at)) {
        pdl_rtc_macros_add(macros, path->macro,
                           (size_t)(skip_word(path->macro, end) - path->macro));
    } else if (!named) {
        macros->unknown = true;
    }
    if (named) {
        reader->reading->visit(reader->reading->context, &directive);
        macros->unknown = macros->unknown || is_more_than_token(&directive);
        if (!directive.quoted) {
            check_tokens(reader, &directive);
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * Paths
 * ---------------------------------------------------------------------------------------------- */

/* The same path, going on elsewhere. */
static void fork_path(struct reader *reader, const struct path *path, const char *at,
                      enum place place)
{
    if (reader->count == MAX_PATHS) {
        reader->macros->unknown = true;
        return;
    }
    reader->paths[reader->count++] = (struct path){at, path->macro, place};
}

static bool is_changed(const struct reader *reader, const char *from, const char *to)
{
    for (const char *at = from; reader->changed != NULL && at < to; at++) {
        const size_t i = (size_t)(at - reader->text);
        if ((reader->changed[i / 8] >> i % 8 & 1) != 0) {
            return true;
        }
    }
    return false;
}

/* R"x(...)x" from its quote; NULL if it has no delimiter. Nothing is joined or replaced in it. */
static const char *skip_raw(struct reader *reader, const char *at)
{
    char closing[MAX_DELIMITER + 2] = ")";
    size_t length = 1;
    const char *end = reader->end;
    const char *open = at + 1;
    while (open < end && strchr("( \\)\"\n\t\v\f", *open) == NULL && length <= MAX_DELIMITER) {
        closing[length++] = *open++;
    }
    if (open >= end || *open != '(') {
        return NULL;
    }
    if (is_changed(reader, at + 1, open + 1)) {
        reader->macros->unknown = true;
    }
    closing[length++] = '"';
    const char *found = open;
    do {
        found = memmem(found + 1, (size_t)(end - found) - 1, closing, length);
    } while (found != NULL && is_changed(reader, found + 1, found + length));
    return found != NULL ? found + length : end;
}

static bool is_raw_prefix(const char *word, const char *end)
{
    static const char *const prefixes[] = {"R", "LR", "uR", "UR", "u8R", NULL};
    return word_is_one(word, end, prefixes);
}

/* What stands from the path to `to` may be a piece of what is pasted. */
static void take_word(const struct reader *reader, const struct path *path, const char *to)
{
    if (path->place != PLACE_IGNORED) {
        pdl_rtc_macros_word(reader->macros, reader->reading->from, path->at,
                            (size_t)(to - path->at), path->place != PLACE_CODE);
    }
}

/* Digits may be divided by ' and an exponent follow p: in some standards, and where a condition holds. */
static void read_number(struct reader *reader, struct path *path)
{
    const char *at = path->at;
    bool forked = false;
    for (; at < reader->end; at++) {
        const bool divides =
            *at == '\'' && at + 1 < reader->end && (is_letter(at[1]) || is_digit(at[1]));
        const bool sign = (*at == '+' || *at == '-') && strchr("eEpP", at[-1]) != NULL;
        if (!is_letter(*at) && !is_digit(*at) && *at != '.' && !divides && !sign) {
            break;
        }
        if (!forked && (divides || (sign && (at[-1] == 'p' || at[-1] == 'P')))) {
            fork_path(reader, path, at, path->place);
            forked = true;
        }
    }
    take_word(reader, path, at);
    path->at = at;
}

/* What follows `defined X` or `defined(X)` from behind its first word; NULL if it is something else. */
static const char *skip_defined(const char *at, const char *end)
{
    at = skip_blanks(at, end);
    const bool open = at < end && *at == '(';
    at = open ? skip_blanks(at + 1, end) : at;
    const char *after = skip_word(at, end);
    at = skip_blanks(after, end);
    const bool asked = at < end && *at == (open ? ')' : '(');
    return asked == open ? after : NULL;
}

/* Behind the prefix of a string that may be raw. */
static void read_prefixed(struct reader *reader, struct path *path, const char *quote)
{
    const char *close = skip_raw(reader, quote);
    const bool other_alphabet = path->at > reader->text && (unsigned char)path->at[-1] >= 0x80;
    if (close != NULL && (reader->reading->plain || other_alphabet)) {
        fork_path(reader, path, quote, path->place);
    }
    path->at = close != NULL ? close : quote;
}

static void read_word(struct reader *reader, struct path *path)
{
    const char *word = path->at;
    const char *after = skip_word(word, reader->end);
    const char *behind = NULL;
    if (after < reader->end && *after == '"' && is_raw_prefix(word, after)) {
        read_prefixed(reader, path, after);
        return;
    }
    if ((path->place == PLACE_IF || path->place == PLACE_DEFINE) &&
        word_is(word, after, "defined")) {
        behind = skip_defined(after, reader->end);
    }
    const size_t number = pdl_rtc_macros_find(reader->macros, word, (size_t)(after - word));
    if (number == reader->macros->callee_count) {
        take_word(reader, path, after);
    } else if (number >= reader->reading->from && path->place != PLACE_IGNORED) {
        read_call(reader, path, word, after);
    }
    path->at = behind != NULL ? behind : after;
}

/* Behind #include or the like. In what a condition leaves out, a name is no token of its own. */
static void read_include(struct reader *reader, struct path *path, bool next)
{
    struct pdl_rtc_directive directive = {.next = next};
    const char *at = skip_blanks(path->at, reader->end);
    const char *after = read_name(at, reader->end, &directive);
    path->place = PLACE_IGNORED;
    path->at = at;
    if (after == NULL) {
        reader->macros->unknown = reader->macros->unknown || (at < reader->end && *at != '\n');
        return;
    }
    if (is_more_than_token(&directive)) {
        fork_path(reader, path, at, PLACE_IGNORED);
    }
    path->at = after;
    if (reader->reading->from == 0) {
        reader->reading->visit(reader->reading->context, &directive);
    }
}

/* At the mark of a directive. */
static void read_directive(struct reader *reader, struct path *path, size_t mark)
{
    static const char *const conditions[] = {"if", "elif", NULL};
    static const char *const ignored[] = {"ifdef", "ifndef", "elifdef", "elifndef",
                                          "undef", "error",  "warning", NULL};
    const char *end = reader->end;
    const char *word = skip_blanks(path->at + mark, end);
    const char *after = skip_word(word, end);
    path->at = after;
    path->place = PLACE_CODE;
    if (word_is_one(word, after, include_words)) {
        read_include(reader, path, word_is(word, after, "include_next"));
    } else if (word_is(word, after, "define")) {
        path->macro = skip_blanks(after, end);
        path->at = skip_word(path->macro, end);
        path->place = PLACE_DEFINE;
        pdl_rtc_macros_define(reader->macros, path->macro, (size_t)(path->at - path->macro));
    } else if (word_is_one(word, after, conditions)) {
        path->place = PLACE_IF;
    } else if (word_is_one(word, after, ignored)) {
        path->place = PLACE_IGNORED;
    }
}

/* Reads one token. */
static void step(struct reader *reader, struct path *path)
{
    const char *at = path->at;
    const char *end = reader->end;
    const size_t mark = path->place == PLACE_LINE ? mark_at(at, end) : 0;
    if (*at == '\n') {
        *path = (struct path){at + 1, NULL, PLACE_LINE};
    } else if (is_blank(*at)) {
        path->at = skip_spaces(at, end);
    } else if (at_comment(at, end)) {
        path->at = skip_comment(at, end);
        if (path->place != PLACE_LINE && memchr(at, '\n', (size_t)(path->at - at)) != NULL) {
            fork_path(reader, path, path->at,
                      PLACE_LINE); /* NVRTC takes a # for the line's first */
        }
    } else if (mark > 0) {
        read_directive(reader, path, mark);
    } else {
        path->place = path->place == PLACE_LINE ? PLACE_CODE : path->place;
        if (is_letter(*at)) {
            read_word(reader, path);
        } else if (is_digit(*at)) {
            read_number(reader, path);
        } else if (*at == '"' || *at == '\'') {
            path->at = skip_quoted(at, end);
        } else {
            path->at++;
        }
    }
}

/* The path that has read least, after others that are where it is are gone. */
static struct path *next_path(struct reader *reader)
{
    struct path *next = &reader->paths[0];
    for (size_t i = 1; i < reader->count; i++) {
        next = reader->paths[i].at < next->at ? &reader->paths[i] : next;
    }
    for (size_t i = reader->count; i-- > 0;) {
        struct path *other = &reader->paths[i];
        if (other != next && other->at == next->at && other->place == next->place &&
            other->macro == next->macro) {
            struct path *last = &reader->paths[--reader->count];
            *other = *last;
            next = next == last ? other : next;
        }
    }
    return next;
}

static void read_paths(struct reader *reader)
{
    reader->paths[0] = (struct path){reader->text, NULL, PLACE_LINE};
    reader->count = 1;
    while (reader->count > 0 && !reader->macros->unknown) {
        struct path *path = next_path(reader);
        const char *before = path->at;
        if (path->at >= reader->end) {
            *path = reader->paths[--reader->count];
            continue;
        }
        step(reader, path);
        charge(reader, before, path->at);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Texts
 * ---------------------------------------------------------------------------------------------- */

static void read_as(const struct pdl_rtc_reading *reading, const char *text, size_t size,
                    const unsigned char *changed)
{
    struct reader reader = {.reading = reading,
                            .macros = reading->macros,
                            .text = text,
                            .end = text + size,
                            .changed = changed,
                            .budget = (size + 4096) * READ_AGAIN};
    if (memmem(text, size, "##", 2) != NULL || memmem(text, size, "%:%:", 4) != NULL) {
        reading->macros->pastes = true;
    }
    take_names(&reader);
    read_paths(&reader);
}

bool pdl_rtc_directives_read(const struct pdl_rtc_reading *reading)
{
    const unsigned needs = pdl_rtc_join_needs(reading->text, reading->size);
    if (memchr(reading->text, '\0', reading->size) != NULL) {
        reading->macros->unknown = true; /* NVRTC takes it, in comments */
        return true;
    }
    if (needs == 0) {
        read_as(reading, reading->text, reading->size, NULL);
        return true;
    }
    for (unsigned without = 0; without < 8; without++) {
        struct pdl_rtc_joined joined;
        if ((without & PDL_RTC_JOIN_LINES) != 0 || (without & needs) != without) {
            continue;
        }
        if (!pdl_rtc_join(reading->text, reading->size, needs & ~without, &joined)) {
            return false;
        }
        read_as(reading, joined.text, joined.size, joined.changed);
        pdl_rtc_join_free(&joined);
    }
    return true;
}
