/* SPDX-License-Identifier: MIT */
/* PTX text as tokens. Shared by libpdl and libpdl-inspect. */
#ifndef PDL_CODE_LEXER_H
#define PDL_CODE_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum pdl_token_kind {
    PDL_TOKEN_END,
    PDL_TOKEN_WORD,   /* names, registers, directives and opcodes with all their suffixes */
    PDL_TOKEN_NUMBER, /* integers and floating-point literals, without a sign */
    PDL_TOKEN_STRING, /* without its quotes */
    PDL_TOKEN_MARK,   /* one character of punctuation */
    PDL_TOKEN_MARKER, /* what follows "pdl:" in a comment, to the end of the line */
    PDL_TOKEN_ERROR   /* `text` is the message */
};

struct pdl_token {
    enum pdl_token_kind kind;
    char mark; /* of PDL_TOKEN_MARK; else 0 */
    uint32_t length;
    const char *text;
    uint32_t line;
    uint32_t column;
};

struct pdl_lexer {
    const char *at;
    const char *end;
    const char *line_start;
    uint32_t line;
    bool markers; /* whether PDL_TOKEN_MARKER is wanted; else such comments are skipped too */
    struct pdl_token token; /* the current one */
};

/* Starts before the first token of [text, end), which is on `line`, at `column`. */
void pdl_lexer_start(struct pdl_lexer *lexer, const char *text, const char *end, uint32_t line,
                     uint32_t column);

/* Goes on to the next token. */
void pdl_lexer_next(struct pdl_lexer *lexer);

/* Goes on to the next brace or string, or to a word that begins with `call`, `.call` or `mov.`, as many
 * calls of pdl_lexer_next() would; or to some token before it. */
void pdl_lexer_seek(struct pdl_lexer *lexer);

/* Skips to the bracket that closes the current one, which is '{', '(' or '['. Returns false at the
 * end of the text or at an error. */
bool pdl_lexer_skip(struct pdl_lexer *lexer);

static inline bool pdl_token_is(const struct pdl_token *token, const char *word, size_t length)
{
    return token->kind == PDL_TOKEN_WORD && token->length == length &&
           memcmp(token->text, word, length) == 0;
}
/* Whether the current token is that word, a literal. */
#define PDL_TOKEN_IS(lexer, word) pdl_token_is(&(lexer)->token, word, sizeof(word) - 1)

/* Whether the current token is `call`, with its modifiers or without. */
static inline bool pdl_lexer_at_call(const struct pdl_lexer *lexer)
{
    return pdl_token_is(&lexer->token, "call", 4) ||
           (lexer->token.kind == PDL_TOKEN_WORD && lexer->token.length > 4 &&
            memcmp(lexer->token.text, "call.", 5) == 0);
}

/* Goes from `call` over what it returns, if anything, to where the name of what is called stands. */
void pdl_lexer_callee(struct pdl_lexer *lexer);

/* Whether there is no further token, be it for an error. */
static inline bool pdl_lexer_at_end(const struct pdl_lexer *lexer)
{
    return lexer->token.kind == PDL_TOKEN_END || lexer->token.kind == PDL_TOKEN_ERROR;
}

/* The value of a number token; false if it is no integer or too large. */
bool pdl_token_integer(const struct pdl_token *token, uint64_t *value);

#endif /* PDL_CODE_LEXER_H */
