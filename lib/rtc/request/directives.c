/* SPDX-License-Identifier: MIT */
/* A name too many costs a look at a file, and one too few a wrong kernel. So no condition is evaluated, names are taken
 * wherever they stand, in comments and strings as well, and what is not certainly harmless counts:
 *
 * - A # with nothing but comments before it in its line begins a directive.
 * - __has_include, or a word that has HAS_INCLUDE in it, makes the text unknown unless it is asked for a name, or stands
 *   where nothing is asked: in a comment, in a string, behind #ifdef and `defined`. Macros that hand their argument to it
 *   are of that name: others make the text unknown.
 * - ## may join any words that stand in macros and in one call of a macro.
 *
 * Where what is a comment or a string depends on the standard or on conditions, the text is unknown. */
#include "rtc/request/directives.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    MAX_NAME = 4095,    /* no longer one can be opened */
    MAX_DELIMITER = 16, /* of a raw string */
    READ_AGAIN = 16     /* how often a byte may be read ahead, on average */
};

enum kind {
    KIND_CODE,
    KIND_OTHER,  /* a directive in which macros may be replaced */
    KIND_IF,     /* #if, #elif */
    KIND_DEFINE, /* #define */
    KIND_IGNORED /* #include, #ifdef and the like: no macro is replaced in them */
};

struct reader {
    const struct pdl_rtc_reading *reading;
    struct pdl_rtc_macros *macros;
    const char *text, *end;
    bool joined;       /* it is not as it was written */
    size_t budget;     /* bytes that may still be read ahead */
    const char *dark;  /* the end of the last comment or string */
    const char *asked; /* the word that `defined` asks about */
    size_t depth;      /* parentheses that are open in a call of a macro */
    bool callable;     /* the next one may begin a call, whatever stands before it */
    const char *last;  /* the word before it, or NULL */
    /* Of the line: */
    enum kind kind;
    const char *macro; /* of #define, its name */
    size_t open;       /* and the parentheses that are open */
    bool first;        /* nothing but comments before */
    /* A comment before has the end of a line in it: NVRTC takes a # for the line's first. */
    bool broken;
};

/* ------------------------------------------------------------------------------------------------
 * Tokens
 * ---------------------------------------------------------------------------------------------- */

static void set_unknown(struct reader *reader, const char *why)
{
    if (reader->macros->unknown == NULL) {
        reader->macros->unknown = why;
    }
}

/* What is a comment or a string may depend on the standard and on conditions. */
static void set_uncertain(struct reader *reader)
{
    set_unknown(reader, "it is not certain what is a comment or a string in a text");
}

/* Of a word. NVRTC takes neither $ nor bytes of other alphabets for letters. */
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r';
}

static bool is_at(const char *at, const char *end, char c)
{
    return at < end && *at == c;
}

static bool starts(const char *at, const char *end, const char *with)
{
    const size_t length = strlen(with);
    return (size_t)(end - at) >= length && memcmp(at, with, length) == 0;
}

/* Whether the word is one of those, which have a blank before and behind each. */
static bool is_one_of(const char *from, const char *to, const char *words)
{
    char word[24];
    const size_t length = (size_t)(to - from);
    (void)snprintf(word, sizeof(word), " %.*s ", (int)(length < 20 ? length : 20), from);
    return strstr(words, word) != NULL;
}

/* Whether the word asks for files, or may be a macro that does. */
static bool is_callee(const char *from, const char *to)
{
    static const char has[] = "has_";
    static const char include[] = "include";
    static const char embed[] = "embed";
    for (const char *at = from; to - at >= (ptrdiff_t)(sizeof(has) + sizeof(embed)) - 2; at++) {
        const char *rest = at + sizeof(has) - 1;
        if ((*at == 'h' || *at == 'H') && strncasecmp(at, has, sizeof(has) - 1) == 0 &&
            (strncasecmp(rest, include, sizeof(include) - 1) == 0 ||
             strncasecmp(rest, embed, sizeof(embed) - 1) == 0)) {
            return true;
        }
    }
    return false;
}

static bool at_comment(const char *at, const char *end)
{
    return starts(at, end, "//") || starts(at, end, "/*");
}

/* The end of a line, or of the text. */
static const char *skip_line(const char *at, const char *end)
{
    const char *found = memchr(at, '\n', (size_t)(end - at));
    return found != NULL ? found : end;
}

static const char *skip_comment(const char *at, const char *end)
{
    if (at[1] == '/') {
        return skip_line(at, end);
    }
    const char *found = memmem(at + 2, (size_t)(end - at) - 2, "*/", 2);
    return found != NULL ? found + 2 : end;
}

static const char *skip_word(const char *at, const char *end)
{
    while (at < end && is_letter(*at)) {
        at++;
    }
    return at;
}

/* Counts what is read ahead. `to`. */
static const char *charge(struct reader *reader, const char *from, const char *to)
{
    const size_t read = (size_t)(to - from);
    if (read > reader->budget) {
        set_unknown(reader, "a text has directives that take too long to read");
        return reader->end;
    }
    reader->budget -= read;
    return to;
}

/* Blanks and comments. */
static const char *skip_blanks(struct reader *reader, const char *from)
{
    const char *end = reader->end;
    const char *at = from;
    while (at < end && (is_blank(*at) || at_comment(at, end))) {
        at = is_blank(*at) ? at + 1 : skip_comment(at, end);
    }
    return charge(reader, from, at);
}

/* A string or character from its opening quote; one that is not closed ends with its line. */
static const char *skip_quoted(const char *at, const char *end)
{
    const char quote = *at++;
    while (at < end && *at != '\n' && *at != quote) {
        at += *at == '\\' && at + 1 < end && at[1] != '\n' ? 2 : 1;
    }
    return is_at(at, end, quote) ? at + 1 : at;
}

/* R"x(...)x" from the quote behind `prefix`. Nothing is joined in it, and the prefix may be part of another word or
 * number. */
static const char *skip_raw(struct reader *reader, const char *prefix, const char *quote)
{
    const char *end = reader->end;
    char closing[MAX_DELIMITER + 3] = ")";
    size_t length = 1;
    const char *at = quote + 1;
    while (at < end && strchr("( \\)\"\n\t\v\f", *at) == NULL && length <= MAX_DELIMITER) {
        closing[length++] = *at++;
    }
    closing[length++] = '"';
    const char before = *(prefix > reader->text ? prefix - 1 : " ");
    if (!reader->reading->modern || reader->joined || !is_at(at, end, '(') ||
        strchr("+-.", before) != NULL || (unsigned char)before >= 0x80) {
        set_uncertain(reader);
        return quote;
    }
    at = memmem(at, (size_t)(end - at), closing, length);
    return at != NULL ? at + length : end;
}

/* The rest of a number with ' between its digits. Where a condition leaves it out, that begins a character, which
 * hides what begins a comment or a string. */
static const char *skip_digits(struct reader *reader, const char *from)
{
    const char *end = reader->end;
    const char *at = from;
    while (end - at >= 2 && *at == '\'' && is_letter(at[1])) {
        at = skip_word(at + 1, end);
    }
    if (at == from) {
        return at;
    }
    const size_t rest = (size_t)(charge(reader, at, skip_line(at, end)) - at);
    if (!reader->reading->modern || memmem(at, rest, "/*", 2) != NULL ||
        memmem(at, rest, "R\"", 2) != NULL) {
        set_uncertain(reader);
        return from;
    }
    return at;
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
    directive->quoted = closing == '"';
    directive->name = at + 1;
    directive->length = (size_t)(close - at) - 1;
    return is_at(close, end, closing) ? close + 1 : NULL;
}

/* Whether what is in it could begin a comment or a string, or end one early, where it is no token of its own. */
static bool is_more_than_token(const struct pdl_rtc_directive *directive)
{
    const char *end = directive->name + directive->length;
    for (const char *at = directive->name; at < end; at++) {
        if (strchr("'\"\\", *at) != NULL || at_comment(at, end)) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------------------------------------
 * What is asked for
 * ---------------------------------------------------------------------------------------------- */

/* Whether the word is a parameter of the macro. */
static bool is_parameter(struct reader *reader, const char *macro, const char *word, size_t length)
{
    const char *end = reader->end;
    const char *after = skip_word(macro, end);
    while (is_at(after, end, '(') || is_at(after, end, ',')) {
        const char *from = skip_blanks(reader, after + 1);
        const char *to = charge(reader, after, skip_word(from, end));
        if ((size_t)(to - from) == length && memcmp(from, word, length) == 0) {
            return true;
        }
        after = skip_blanks(reader, to);
    }
    return false;
}

/* An angled name that passed through a macro is made of tokens: words in it are replaced if they are macros, and
 * what stands between tokens becomes one blank. */
static void check_tokens(struct reader *reader, const struct pdl_rtc_directive *directive)
{
    const char *end = directive->name + directive->length;
    for (const char *at = directive->name; at < end;) {
        const char *after = skip_word(at, end);
        const size_t length = (size_t)(after - at);
        const bool parameter = length > 0 && reader->kind == KIND_DEFINE &&
                               is_parameter(reader, reader->macro, at, length);
        if (length > 0) {
            pdl_rtc_macros_name(reader->macros, at, length);
        }
        if (parameter || (length == 0 && strchr("./+-", *after++) == NULL)) {
            set_unknown(reader, "__has_include asks for a name that may be several words");
        }
        at = after;
    }
}

/* Whether the macro hands on what it is asked for: `#define X_HAS_INCLUDE(X) ... CALLEE(X) ...`. `at` follows the
 * callee. */
static bool is_alias(struct reader *reader, const char *at)
{
    const char *end = reader->end;
    const char *after = skip_word(reader->macro, end);
    if (!is_callee(reader->macro, after) || !is_at(after, end, '(') || !is_at(at, end, '(')) {
        return false;
    }
    const char *from = skip_blanks(reader, after + 1);
    const char *to = skip_word(from, end);
    const bool list = starts(from, end, "...");
    const char *given = list ? "__VA_ARGS__" : from;
    const size_t length = list ? strlen(given) : (size_t)(to - from);
    at = skip_blanks(reader, at + 1);
    return length > 0 && is_at(skip_blanks(reader, list ? from + 3 : to), end, ')') &&
           (size_t)(skip_word(at, end) - at) == length && memcmp(at, given, length) == 0 &&
           is_at(skip_blanks(reader, at + length), end, ')');
}

/* A callee that stands before `after`. */
static void read_call(struct reader *reader, const char *after, bool dark)
{
    const char *end = reader->end;
    struct pdl_rtc_directive directive = {.next =
                                              true}; /* NVRTC 12.0 looks past headers in memory */
    const char *at = skip_blanks(reader, after);
    const char *name = is_at(at, end, '(') ? skip_blanks(reader, at + 1) : end;
    const char *close = read_name(name, end, &directive);
    if (close != NULL && is_at(skip_blanks(reader, close), end, ')')) {
        reader->reading->visit(reader->reading->context, &directive);
        if (!dark && is_more_than_token(&directive)) {
            set_unknown(reader, "__has_include asks for a name with quotes or comments in it");
        } else if (!dark && !directive.quoted) {
            check_tokens(reader, &directive);
        } else if (!dark && reader->kind == KIND_DEFINE) {
            set_unknown(reader, "a macro asks for a file beside the text that uses it");
        }
    } else if (!dark && reader->kind == KIND_DEFINE && is_alias(reader, at)) {
        pdl_rtc_macros_add(reader->macros, reader->macro,
                           (size_t)(skip_word(reader->macro, end) - reader->macro));
    } else if (!dark) {
        set_unknown(reader, "__has_include, or a macro of that name, asks for no plain name");
    }
}

/* The word X of `defined(X)`, and of `defined X` where nothing follows that could make a call of it; else NULL. In the
 * call of a macro, ## may make another word of `defined`. */
static const char *read_defined(struct reader *reader, const char *after)
{
    const char *end = reader->end;
    const char *at = skip_blanks(reader, after);
    const bool open = is_at(at, end, '(');
    const char *word = open ? skip_blanks(reader, at + 1) : at;
    at = skip_blanks(reader, skip_word(word, end));
    const bool harmless = open ? is_at(at, end, ')') : at == end || strchr("\n&|", *at) != NULL;
    const bool called = reader->depth > 0 || (reader->macros->loose && reader->macros->pastes);
    return harmless && !called ? word : NULL;
}

static void read_define(struct reader *reader, const char *name)
{
    static const char keyword[] = "decltype";
    const char *after = skip_word(name, reader->end);
    const size_t length = (size_t)(after - name);
    pdl_rtc_macros_note(reader->macros, PDL_RTC_MACRO, name, length);
    if (length >= strlen(keyword) && starts(after - strlen(keyword), after, keyword)) {
        reader->macros->loose = true; /* see is_decltype() */
    }
}

/* Whether the last word is `decltype`, behind which a parenthesis begins no call: so libcu++ has it. */
static bool is_decltype(const struct reader *reader)
{
    return reader->depth == 0 && reader->last != NULL &&
           is_one_of(reader->last, skip_word(reader->last, reader->end), " decltype ");
}

/* A word that may be a piece of what is pasted. */
static void take_word(struct reader *reader, const char *word, size_t length)
{
    struct pdl_rtc_macros *macros = reader->macros;
    const bool defines = reader->kind == KIND_DEFINE;
    if (pdl_rtc_macros_may_be_piece(macros, word, length) &&
        (defines ? word != reader->macro && !is_parameter(reader, reader->macro, word, length)
                 : macros->loose || reader->depth > 0)) {
        pdl_rtc_macros_word(macros, word, length, defines || macros->loose);
    }
}

static const char *read_word(struct reader *reader, const char *word, bool dark)
{
    const char *end = reader->end;
    const char *after = skip_word(word, end);
    const size_t length = (size_t)(after - word);
    const bool callee = is_callee(word, after);
    const bool harmless =
        reader->kind == KIND_IGNORED || word == reader->asked || word == reader->macro;
    if (callee && !harmless) {
        read_call(reader, after, dark);
    }
    if (dark || reader->kind == KIND_IGNORED) {
        return after;
    }
    if (reader->kind == KIND_IF && is_one_of(word, after, " defined ")) {
        reader->asked = read_defined(reader, after);
    }
    take_word(reader, word, length);
    if (word != reader->macro &&
        pdl_rtc_macros_has(reader->macros, PDL_RTC_PARENTHESIS, word, length) &&
        !is_decltype(reader)) {
        reader->macros->loose = true;
    }
    reader->last = word;
    if (*word >= '0' && *word <= '9') {
        return skip_digits(reader, after);
    }
    if (is_at(after, end, '"') && is_one_of(word, after, " R LR uR UR u8R ")) {
        reader->dark = skip_raw(reader, word, after);
        return reader->dark;
    }
    return after;
}

/* ------------------------------------------------------------------------------------------------
 * Directives
 * ---------------------------------------------------------------------------------------------- */

static const char include_words[] = " include include_next import embed ";

/* The length of the mark that begins a directive; 0 if there is none. */
static size_t mark_at(const char *at, const char *end)
{
    return starts(at, end, "#") ? 1 : starts(at, end, "%:") ? 2 : 0;
}

/* The names behind all of one mark. */
static void take_includes(struct reader *reader, const char *mark)
{
    const char *end = reader->end;
    const char *at = reader->text;
    while ((at = memmem(at, (size_t)(end - at), mark, strlen(mark))) != NULL) {
        at += strlen(mark);
        const char *word = skip_blanks(reader, at);
        const char *after = skip_word(word, end);
        struct pdl_rtc_directive directive = {.next = is_one_of(word, after, " include_next ")};
        if (is_one_of(word, after, include_words) &&
            read_name(skip_blanks(reader, after), end, &directive) != NULL) {
            reader->reading->visit(reader->reading->context, &directive);
        }
    }
}

/* In what a condition leaves out, a name is no token of its own. */
static void read_include(struct reader *reader, const char *at)
{
    struct pdl_rtc_directive directive;
    if (at == reader->end || *at == '\n') {
        return;
    }
    if (read_name(at, reader->end, &directive) == NULL) {
        set_unknown(reader, "#include is followed by no plain name");
    } else if (is_more_than_token(&directive)) {
        set_uncertain(reader);
    }
}

/* Behind a mark. */
static void read_directive(struct reader *reader, const char *at)
{
    const char *word = skip_blanks(reader, at);
    const char *after = skip_word(word, reader->end);
    const char *next = skip_blanks(reader, after);
    if (is_one_of(word, after, " define ")) {
        read_define(reader, next);
    }
    if (!reader->first && !reader->broken) {
        return;
    }
    reader->macros->loose = reader->macros->loose || reader->depth > 0;
    reader->depth = 0;
    reader->kind = KIND_OTHER;
    if (is_one_of(word, after, " if elif ")) {
        reader->kind = KIND_IF;
    } else if (is_one_of(word, after, " ifdef ifndef elifdef elifndef undef error warning ")) {
        reader->kind = KIND_IGNORED;
    } else if (is_one_of(word, after, " define ")) {
        reader->kind = KIND_DEFINE;
        reader->macro = next;
    } else if (is_one_of(word, after, include_words)) {
        reader->kind = KIND_IGNORED;
        read_include(reader, next);
    }
    if (reader->broken) {
        set_uncertain(reader);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Code
 * ---------------------------------------------------------------------------------------------- */

/* What a macro leaves open goes on where it is used. */
static void end_define(struct reader *reader)
{
    const char *end = reader->end;
    const char *after = skip_word(reader->macro, end);
    const char *body = skip_blanks(reader, after);
    const char *next = is_at(body, end, '(') && body > after ? skip_blanks(reader, body + 1) : body;
    if (next > body && (next == end || *next == '\n')) {
        pdl_rtc_macros_note(reader->macros, PDL_RTC_PARENTHESIS, reader->macro,
                            (size_t)(after - reader->macro));
    } else {
        reader->macros->loose = true;
    }
}

static void begin_line(struct reader *reader)
{
    if (reader->open > 0) {
        end_define(reader);
    }
    if (reader->kind != KIND_CODE) {
        reader->callable = true; /* a macro may stand before the directive, or end a file */
        reader->depth = 0;
    }
    reader->kind = KIND_CODE;
    reader->macro = reader->asked = NULL;
    reader->open = 0;
    reader->first = true;
    reader->broken = false;
}

/* Whether the name of a macro stands before, or may come to stand there. */
static bool is_callable(const struct reader *reader)
{
    const size_t length =
        reader->last != NULL ? (size_t)(skip_word(reader->last, reader->end) - reader->last) : 0;
    return reader->callable ||
           (length > 0 && pdl_rtc_macros_has(reader->macros, PDL_RTC_MACRO, reader->last, length));
}

static void read_parenthesis(struct reader *reader, bool opens)
{
    if (reader->kind == KIND_DEFINE) {
        reader->open += opens ? 1 : reader->open > 0 ? (size_t)-1 : 0;
    } else if (reader->depth > 0) {
        reader->depth += opens ? 1 : (size_t)-1;
        reader->callable = reader->depth == 0; /* a call may stand for the name of another macro */
        return;
    } else if (opens && reader->kind != KIND_IGNORED && is_callable(reader)) {
        reader->depth = 1;
        pdl_rtc_macros_end_call(reader->macros); /* what the last one stands for has its words */
    }
    reader->callable = false;
}

/* Reads one token; what follows it. */
static const char *read_token(struct reader *reader, const char *at)
{
    const char *end = reader->end;
    const bool dark = at < reader->dark;
    if (is_letter(*at)) {
        reader->callable = reader->callable && dark;
        reader->first = reader->first && dark;
        reader->broken = reader->broken && dark;
        return read_word(reader, at, dark);
    }
    if (*at == '\n' && !dark) {
        begin_line(reader);
    }
    if (dark || is_blank(*at) || *at == '\n') {
        reader->broken = reader->broken || (dark && *at == '\n' && !reader->first);
        return at + 1;
    }
    if (at_comment(at, end)) {
        reader->dark = skip_comment(at, end);
        return at + 1;
    }
    const size_t mark = mark_at(at, end);
    if (mark > 0) {
        reader->macros->pastes = reader->macros->pastes || mark_at(at + mark, end) > 0;
        read_directive(reader, at + mark);
    } else if (*at == '(' || *at == ')') {
        read_parenthesis(reader, *at == '(');
    } else if (*at == '"' || *at == '\'') {
        reader->dark = skip_quoted(at, end);
    }
    if (*at != '(' && *at != ')') {
        reader->callable = false;
    }
    reader->last = NULL;
    reader->first = false;
    reader->broken = false;
    return at + (mark > 0 ? mark : 1);
}

/* ------------------------------------------------------------------------------------------------
 * Texts
 * ---------------------------------------------------------------------------------------------- */

/* Copies a text with its lines joined where they end in a backslash. What depends on the compiler's version or the
 * standard is not known: trigraphs, and blanks behind the backslash. */
static void join(struct reader *reader, char *copy)
{
    const char *at = reader->reading->text;
    const char *end = at + reader->reading->size;
    const char *next;
    reader->text = copy;
    for (; (next = memchr(at, '\\', (size_t)(end - at))) != NULL; at = next) {
        const char *line = next + 1;
        memcpy(copy, at, (size_t)(next - at));
        copy += next - at;
        while (line < end && is_blank(*line)) {
            line++;
        }
        const bool ends = is_at(line, end, '\n');
        if (ends && line > next + 1 && (line > next + 2 || *(line - 1) != '\r')) {
            set_unknown(reader, "a line ends in a backslash and blanks");
        }
        reader->joined = reader->joined || ends;
        if (!ends) {
            *copy++ = '\\';
        }
        next = ends ? line + 1 : next + 1;
    }
    memcpy(copy, at, (size_t)(end - at));
    reader->end = copy + (end - at);
    copy[end - at] = '\0'; /* words are compared up to what follows them */
    for (at = reader->text; (at = memmem(at, (size_t)(reader->end - at), "?\?", 2)) != NULL; at++) {
        if (reader->end - at > 2 && strchr("=/'()!<>-", at[2]) != NULL) {
            set_unknown(reader, "a text has a trigraph in it");
        }
    }
}

bool pdl_rtc_directives_read(const struct pdl_rtc_reading *reading)
{
    struct reader reader = {.reading = reading,
                            .macros = reading->macros,
                            .budget = (reading->size + 4096) * READ_AGAIN,
                            .callable = true, /* it may stand behind the name of a macro */
                            .first = true};
    char *copy = malloc(reading->size + 1);
    if (copy == NULL) {
        return false;
    }
    if (memchr(reading->text, '\0', reading->size) != NULL) {
        set_unknown(&reader, "a text has a NUL in it"); /* NVRTC takes it, in comments */
    }
    join(&reader, copy);
    take_includes(&reader, "#");
    take_includes(&reader, "%:");
    for (const char *at = copy; at < reader.end && reading->macros->unknown == NULL;) {
        at = read_token(&reader, at);
    }
    reading->macros->loose = reading->macros->loose || reader.depth > 0 || reader.open != 0;
    free(copy);
    return true;
}
