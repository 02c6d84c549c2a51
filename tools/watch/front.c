/* SPDX-License-Identifier: MIT */
/* What a kernel does in front of its first wait, by its PTX.
 *
 * Overlap hides what is there. Reading parameters and working out an index takes some ten instructions, which are over before
 * a launch's latency is; what counts is access to memory, a barrier, a call, or many instructions. */
#include <ctype.h>
#include <string.h>

#include "watch/store.h"

enum { MANY_INSTRUCTIONS = 64 };

/* A text that need not end in a NUL. */
struct text {
    const char *at, *end;
};

static struct text find(struct text in, const char *word)
{
    const char *const found =
        in.at < in.end ? memmem(in.at, (size_t)(in.end - in.at), word, strlen(word)) : NULL;
    in.at = found != NULL ? found : in.end;
    return in;
}

static bool is_word(char character)
{
    return isalnum((unsigned char)character) || character == '_' || character == '$' ||
           character == '.' || character == '%';
}

static struct text skip_blanks(struct text in)
{
    while (in.at < in.end && isspace((unsigned char)*in.at)) {
        in.at++;
    }
    return in;
}

static bool starts(struct text in, const char *word)
{
    const size_t length = strlen(word);
    return (size_t)(in.end - in.at) >= length && memcmp(in.at, word, length) == 0;
}

/* What follows the first brace of the kernel that begins next; empty if it has another name. */
static struct text find_body(struct text in, const char *kernel)
{
    const size_t length = strlen(kernel);
    in = find(in, ".entry");
    in.at += in.at < in.end ? strlen(".entry") : 0;
    in = skip_blanks(in);
    if (!starts(in, kernel) || ((size_t)(in.end - in.at) > length && is_word(in.at[length]))) {
        in.at = in.end;
        return in;
    }
    in = find(in, "{");
    in.at += in.at < in.end;
    return in;
}

/* One statement, which ends at a semicolon, a label's colon or a brace. */
static struct text next_statement(struct text *in)
{
    struct text statement = skip_blanks(*in);
    const char *at = statement.at;
    while (at < in->end && *at != ';' && *at != '{' && *at != '}' &&
           (*at != ':' || (at + 1 < in->end && at[1] == ':'))) {
        at += *at == ':' ? 2 : 1;
    }
    statement.end = at < in->end ? at : in->end;
    in->at = at < in->end ? at + 1 : in->end;
    return statement;
}

/* Leaves the comments and lines of directives in front of a statement out. */
static struct text without_comments(struct text in)
{
    for (;;) {
        in = skip_blanks(in);
        if (starts(in, "/*")) {
            in = find(in, "*/");
            in.at += in.at < in.end ? 2 : 0;
        } else if (starts(in, "//") || starts(in, ".loc") || starts(in, ".file")) {
            in = find(in, "\n");
        } else {
            return in;
        }
    }
}

static bool is_work(struct text instruction)
{
    static const char *const words[] = {
        "atom",  "bar",  "barrier",  "brx", "call",      "cp",       "elect", "fence", "ld",
        "match", "mma",  "mbarrier", "red", "membar",    "multimem", "shfl",  "st",    "prefetch",
        "suld",  "sust", "tcgen05",  "tex", "tensormap", "tld4",     "vote",  "wgmma", "wmma"};
    if (starts(instruction, "ld.param") || starts(instruction, "prefetch.param")) {
        return false;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const size_t length = strlen(words[i]);
        if (starts(instruction, words[i]) &&
            ((size_t)(instruction.end - instruction.at) == length ||
             instruction.at[length] == '.' || isspace((unsigned char)instruction.at[length]))) {
            return true;
        }
    }
    return false;
}

struct front front_of_wait(const char *ptx, size_t size, const char *kernel)
{
    struct text rest = find_body((struct text){ptx, ptx + size}, kernel);
    unsigned instructions = 0;
    unsigned depth = 1;
    bool work = false;
    while (rest.at < rest.end && depth > 0) {
        struct text statement = without_comments(next_statement(&rest));
        const char ended_by = rest.at[-1];
        if (starts(statement, "@")) { /* a predicate */
            while (statement.at < statement.end && !isspace((unsigned char)*statement.at)) {
                statement.at++;
            }
            statement = skip_blanks(statement);
        }
        if (starts(statement, "griddepcontrol.wait")) {
            return (struct front){true, work || instructions >= MANY_INSTRUCTIONS};
        }
        if (ended_by == ';' && statement.at < statement.end && *statement.at != '.') {
            instructions++;
            work = work || is_work(statement);
        }
        depth += ended_by == '{';
        depth -= ended_by == '}';
    }
    return (struct front){false, false}; /* in a function that it calls, or nowhere */
}
