/* SPDX-License-Identifier: MIT */
#include "code/lexer.h"

#include <string.h>

#include "os/compiler.h"

/* Longer words than the longest mangled names are noise. */
#define WORD_MAX ((size_t)1 << 20)

/* PLAIN: nothing that pdl_lexer_seek() looks for begins with it. */
enum { SPACE = 1, WORD_START = 2, WORD_PART = 4, DIGIT = 8, MARK = 16, PLAIN = 32 };

/* By character: 16 of ASCII per row, without designators, which C++ has not for arrays. */
enum {
    O = 0,
    S = SPACE | PLAIN,
    L = WORD_START | WORD_PART | PLAIN,
    W = WORD_START | WORD_PART,
    D = DIGIT | WORD_PART | PLAIN,
    M = MARK | PLAIN,
    B = MARK
};
static const unsigned char classes[256] = {
    /* clang-format off */
    O, O, O, O, O, O, O, O, O, S, O, S, S, S, O, O,
    O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O,
    S, M, O, O, L, L, M, O, M, M, M, M, M, M, L, B,
    D, D, D, D, D, D, D, D, D, D, M, M, M, M, M, M,
    M, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L,
    L, L, L, L, L, L, L, L, L, L, L, M, O, M, M, L,
    O, L, L, W, L, L, L, L, L, L, L, L, L, W, L, L,
    L, L, L, L, L, L, L, L, L, L, L, B, M, B, M, O,
    /* clang-format on */
};

static bool has(char c, unsigned class)
{
    return (classes[(unsigned char)c] & class) != 0;
}

void pdl_lexer_start(struct pdl_lexer *lexer, const char *text, const char *end, uint32_t line,
                     uint32_t column)
{
    *lexer = (struct pdl_lexer){.at = text, .end = end, .line_start = text, .line = line};
    lexer->line_start -= column > 0 ? column - 1 : 0;
}

static void set(struct pdl_lexer *lexer, enum pdl_token_kind kind, const char *text, size_t length)
{
    struct pdl_token *token = &lexer->token;
    token->kind = kind;
    token->mark = 0;
    token->text = text;
    token->length = (uint32_t)length;
    token->line = lexer->line;
    token->column = (uint32_t)(text - lexer->line_start) + 1;
}

static void fail(struct pdl_lexer *lexer, const char *at, const char *message)
{
    set(lexer, PDL_TOKEN_ERROR, at, 0);
    lexer->token.text = message;
    lexer->at = lexer->end;
}

static void new_line(struct pdl_lexer *lexer, const char *start)
{
    lexer->line++;
    lexer->line_start = start;
}

/* Skips a comment that begins at `at`; true if the lexer now has a token: a marker or an error. */
static bool comment(struct pdl_lexer *lexer, const char *at)
{
    const char *end = lexer->end;
    if (at[1] == '/') {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const char *text = at + 2;
        stop = stop != NULL ? stop : end;
        lexer->at = stop;
        if (lexer->markers) {
            while (text < stop && has(*text, SPACE)) {
                text++;
            }
            /* cppcheck-suppress knownConditionTrueFalse */
            if (stop - text > 4 && memcmp(text, "pdl:", 4) == 0) {
                set(lexer, PDL_TOKEN_MARKER, text + 4, (size_t)(stop - text) - 4);
                return true;
            }
        }
        return false;
    }
    for (const char *p = at + 2; p + 1 < end; p++) {
        if (*p == '\n') {
            new_line(lexer, p + 1);
        } else if (p[0] == '*' && p[1] == '/') {
            lexer->at = p + 2;
            return false;
        }
    }
    fail(lexer, end, "a comment is not closed");
    return true;
}

static void string(struct pdl_lexer *lexer, const char *at)
{
    for (const char *p = at + 1; p < lexer->end && *p != '\n'; p++) {
        if (*p == '"') {
            set(lexer, PDL_TOKEN_STRING, at + 1, (size_t)(p - at) - 1);
            lexer->at = p + 1;
            return;
        }
        if (*p == '\\') {
            p++;
        }
    }
    fail(lexer, at, "a string is not closed");
}

/* The end of the characters from `at` on that are part of a word. */
static const char *word_end(const char *at, const char *end)
{
    while (end - at >= 4) {
        if (!has(at[0], WORD_PART)) {
            return at;
        }
        if (!has(at[1], WORD_PART)) {
            return at + 1;
        }
        if (!has(at[2], WORD_PART)) {
            return at + 2;
        }
        if (!has(at[3], WORD_PART)) {
            return at + 3;
        }
        at += 4;
    }
    while (at < end && has(*at, WORD_PART)) {
        at++;
    }
    return at;
}

static void word(struct pdl_lexer *lexer, const char *at)
{
    const char *const end = lexer->end;
    const char *p = word_end(at + 1, end);
    /* "::" is part of an opcode, ":" ends a label. */
    while (end - p > 2 && p[0] == ':' && p[1] == ':' && has(p[2], WORD_PART)) {
        p = word_end(p + 2, end);
    }
    if ((size_t)(p - at) > WORD_MAX) {
        fail(lexer, at, "a word of more than 1 MiB");
        return;
    }
    set(lexer, has(*at, DIGIT) ? PDL_TOKEN_NUMBER : PDL_TOKEN_WORD, at, (size_t)(p - at));
    lexer->at = p;
}

/* What is neither a word nor a mark: true if it is a token. Out of the way of what there is more of. */
PDL_RARE static bool rare(struct pdl_lexer *lexer)
{
    const char *const at = lexer->at;
    const char *const end = lexer->end;
    if (at == end) {
        if (lexer->token.kind != PDL_TOKEN_ERROR) {
            set(lexer, PDL_TOKEN_END, at, 0);
        }
        return true;
    }
    if (*at == '/' && end - at > 1 && (at[1] == '/' || at[1] == '*')) {
        return comment(lexer, at);
    }
    if (*at == '"') {
        string(lexer, at);
        return true;
    }
    if (*at == '#' && at == lexer->line_start) { /* a line of a preprocessor */
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        lexer->at = stop != NULL ? stop : end;
        return false;
    }
    if (has(*at, MARK)) {
        set(lexer, PDL_TOKEN_MARK, at, 1);
        lexer->token.mark = *at;
        lexer->at = at + 1;
        return true;
    }
    fail(lexer, at, "a character that is not part of PTX");
    return true;
}

void pdl_lexer_next(struct pdl_lexer *lexer)
{
    const char *const end = lexer->end;
    do {
        const char *at = lexer->at;
        while (at < end && (has(*at, SPACE) || *at == '\n')) {
            at++;
            if (at[-1] == '\n') {
                new_line(lexer, at);
            }
        }
        lexer->at = at;
        if (at < end && has(*at, WORD_PART)) {
            word(lexer, at);
            return;
        }
        if (at < end && has(*at, MARK) && *at != '/') {
            set(lexer, PDL_TOKEN_MARK, at, 1);
            lexer->token.mark = *at;
            lexer->at = at + 1;
            return;
        }
    } while (!rare(lexer));
}

/* Whether `call`, `.call` or `mov.` begins a word; *at is its `c` or `m`, and becomes where it begins. */
static bool sought(const struct pdl_lexer *lexer, const char **at)
{
    const char *begin = *at;
    const bool call = *begin == 'c';
    if (lexer->end - begin < 4 || memcmp(begin, call ? "call" : "mov.", 4) != 0) {
        return false;
    }
    begin -= call && begin > lexer->at && begin[-1] == '.';
    *at = begin;
    return begin == lexer->at ||
           (!has(begin[-1], WORD_PART) && !(begin - lexer->at > 2 && begin[-1] == ':' &&
                                            begin[-2] == ':' && has(begin[-3], WORD_PART)));
}

void pdl_lexer_seek(struct pdl_lexer *lexer)
{
    const char *const end = lexer->end;
    const char *at = lexer->at;
    for (;;) {
        while (at < end && has(*at, PLAIN)) {
            at++;
        }
        const char *begin = at;
        if (at < end && *at == '\n') {
            new_line(lexer, ++at);
        } else if (at < end && has(*at, WORD_START) && !sought(lexer, &begin)) {
            at++;
        } else {
            lexer->at = begin;
            pdl_lexer_next(lexer);
            return;
        }
    }
}

bool pdl_lexer_skip(struct pdl_lexer *lexer)
{
    uint64_t depth = 0;
    do {
        switch (lexer->token.mark) {
        case '{':
        case '(':
        case '[':
            depth++;
            break;
        case '}':
        case ')':
        case ']':
            depth--;
            break;
        default:
            if (lexer->token.kind == PDL_TOKEN_END || lexer->token.kind == PDL_TOKEN_ERROR) {
                return false;
            }
        }
        if (depth > 0) {
            pdl_lexer_next(lexer);
        }
    } while (depth > 0);
    return true;
}

void pdl_lexer_callee(struct pdl_lexer *lexer)
{
    pdl_lexer_next(lexer);
    if (lexer->token.mark == '(' && pdl_lexer_skip(lexer)) {
        pdl_lexer_next(lexer);
        if (lexer->token.mark == ',') {
            pdl_lexer_next(lexer);
        }
    }
}

bool pdl_token_integer(const struct pdl_token *token, uint64_t *value)
{
    uint64_t number = 0;
    unsigned base = 10;
    uint32_t i = 0;
    if (token->kind != PDL_TOKEN_NUMBER) {
        return false;
    }
    const char *text = token->text;
    uint32_t length = token->length;
    if (length > 1 && text[length - 1] == 'U') {
        length--;
    }
    if (length > 1 && text[0] == '0') {
        if (text[1] == 'x' || text[1] == 'X') {
            base = 16;
            i = 2;
        } else if (text[1] == 'b' || text[1] == 'B') {
            base = 2;
            i = 2;
        } else {
            base = 8;
            i = 1;
        }
    }
    for (; i < length; i++) {
        const char c = text[i];
        unsigned digit = 16;
        if (c >= '0' && c <= '9') {
            digit = (unsigned)(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            digit = (unsigned)(c - 'a') + 10;
        } else if (c >= 'A' && c <= 'F') {
            digit = (unsigned)(c - 'A') + 10;
        }
        if (digit >= base || number > (UINT64_MAX - digit) / base) {
            return false;
        }
        number = number * base + digit;
    }
    *value = number;
    return true;
}
