/* SPDX-License-Identifier: MIT */
#include "common/shorten.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"

/* Brackets that belong together. */
struct pair {
    size_t open, close;
    uint32_t depth; /* pairs around it */
    bool left_out;  /* what is between them */
};

struct pairs {
    struct pair *items;
    size_t count, capacity;
    uint32_t deepest;
};

/* Behind `operator` and its sign, where that begins at `at`: `<` and `(` in it are no brackets. */
static size_t behind_operator(const char *name, size_t at)
{
    static const char word[] = "operator";
    const size_t length = sizeof(word) - 1;
    if (strncmp(name + at, word, length) != 0 ||
        (at > 0 && (isalnum((unsigned char)name[at - 1]) || name[at - 1] == '_'))) {
        return at;
    }
    if (strncmp(name + at + length, "()", 2) == 0) {
        return at + length + 2;
    }
    const size_t sign = strspn(name + at + length, "<>=-+*/%^&|!~[],");
    return at + length + sign;
}

/* The brackets of a name in the order of their beginnings. A `>` in parentheses is a sign. */
static struct pairs find_pairs(const char *name)
{
    struct pairs pairs = {0};
    struct {
        size_t *items; /* pairs that are open */
        size_t count, capacity;
    } open = {0};
    for (size_t i = 0; name[i] != '\0'; i++) {
        const size_t behind = behind_operator(name, i);
        if (behind > i) {
            i = behind - 1;
            continue;
        }
        const size_t inner = open.count > 0 ? pairs.items[open.items[open.count - 1]].open : i;
        if (name[i] == '<' || name[i] == '(') {
            const struct pair pair = {i, 0, (uint32_t)open.count, false};
            APPEND(&open, pairs.count);
            APPEND(&pairs, pair);
        } else if (open.count > 0 && name[i] == '>' && name[inner] == '<') {
            pairs.items[open.items[--open.count]].close = i;
        } else if (name[i] == ')') {
            while (open.count > 0 && name[pairs.items[open.items[open.count - 1]].open] != '(') {
                open.count--;
            }
            if (open.count > 0) {
                pairs.items[open.items[--open.count]].close = i;
            }
        }
    }
    free(open.items);
    for (size_t i = 0; i < pairs.count; i++) {
        if (pairs.deepest < pairs.items[i].depth) {
            pairs.deepest = pairs.items[i].depth;
        }
    }
    return pairs;
}

/* The name without what is left out; `instead` stands there. */
static char *render(const char *name, const struct pairs *pairs, const char *instead)
{
    const size_t length = strlen(name);
    char *made = allocate(length + pairs->count * strlen(instead) + 1, 1);
    char *to = made;
    size_t at = 0;
    for (size_t i = 0; i < pairs->count; i++) {
        const struct pair *pair = &pairs->items[i];
        if (!pair->left_out || pair->open < at) {
            continue; /* it stays, or what is around it does not */
        }
        const size_t kept = pair->open + 1 - at;
        memcpy(to, name + at, kept);
        to = stpcpy(to + kept, instead);
        at = pair->close;
    }
    memcpy(to, name + at, length - at);
    return made;
}

/* Without the names that nvcc puts around what is static: `_INTERNAL_1234abcd_4_a_cu_5678::f` is `f`. */
static char *without_units(const char *name)
{
    static const char unit[] = "_INTERNAL_";
    char *made = copy_text(name);
    char *to = made;
    for (const char *at = name; *at != '\0';) {
        const char *end = strncmp(at, unit, sizeof(unit) - 1) == 0 ? strstr(at, "::") : NULL;
        if (end != NULL && strcspn(at, " <>(,") > (size_t)(end - at)) {
            at = end + 2;
        } else {
            *to++ = *at++;
        }
    }
    *to = '\0';
    return made;
}

/* The names that a mangled name begins with, where the demangler did not know the rest: `ns::f` and, for a template,
 * what stands for its arguments. NULL for what is not mangled. */
static char *outline(const char *name, const char *arguments)
{
    const bool nested = strncmp(name, "_ZN", 3) == 0;
    const char *at = name + (nested ? 3 : 2);
    const char *const end = name + strlen(name);
    if (strncmp(name, "_Z", 2) != 0) {
        return NULL;
    }
    char *made = allocate(2 * (size_t)(end - name) + strlen(arguments) + 1, 1);
    char *to = made;
    while (isdigit((unsigned char)*at)) {
        char *ident = NULL;
        const unsigned long length = strtoul(at, &ident, 10);
        if (length == 0 || length > (size_t)(end - ident)) {
            break;
        }
        to = to > made ? stpcpy(to, "::") : to;
        memcpy(to, ident, length);
        to += length;
        at = ident + length;
        if (!nested) {
            break;
        }
    }
    (void)stpcpy(to, *at == 'I' ? arguments : "");
    if (to == made) {
        free(made);
        return NULL;
    }
    return made;
}

char *shorten_name(const char *whole, size_t most)
{
    /* What is short is of little use to leave out; parameters tell less than template arguments. */
    static const struct {
        char open;
        size_t least;
    } turns[] = {{'<', 16}, {'(', 16}, {'<', 3}};
    enum { DEPTHS = 32 }; /* that are gone through one by one */
    char *outlined = strlen(whole) > most ? outline(whole, "<...>") : NULL;
    char *name = without_units(outlined != NULL ? outlined : whole);
    struct pairs pairs = find_pairs(name);
    char *made = copy_text(name);
    for (size_t turn = 0; turn < sizeof(turns) / sizeof(turns[0]); turn++) {
        const uint32_t deepest = pairs.deepest < DEPTHS ? pairs.deepest : DEPTHS;
        for (uint32_t depth = deepest + 1; depth > 0 && strlen(made) > most; depth--) {
            for (size_t i = 0; i < pairs.count; i++) {
                struct pair *pair = &pairs.items[i];
                if (pair->depth >= depth - 1 && name[pair->open] == turns[turn].open &&
                    pair->close > pair->open + turns[turn].least &&
                    strncmp(name + pair->open, "(anonymous", 10) != 0) {
                    pair->left_out = true;
                }
            }
            free(made);
            made = render(name, &pairs, "...");
        }
    }
    free(pairs.items);
    free(name);
    free(outlined);
    return made;
}

char *template_name(const char *whole)
{
    char *outlined = outline(whole, "");
    char *name = without_units(outlined != NULL ? outlined : whole);
    struct pairs pairs = find_pairs(name);
    size_t begin = 0;
    size_t end = strlen(name);
    for (size_t i = 0; i < pairs.count; i++) {
        const struct pair *pair = &pairs.items[i];
        if (pair->depth == 0 && name[pair->open] == '(' && pair->close > 0 &&
            strncmp(name + pair->open, "(anonymous", 10) != 0) {
            end = pair->open;
            break;
        }
    }
    size_t inside = 0; /* of brackets, up to there */
    for (size_t i = 0, p = 0; i < end; i++) {
        const size_t behind = behind_operator(name, i);
        while (p < pairs.count && pairs.items[p].open <= i) {
            inside = pairs.items[p].close > inside ? pairs.items[p].close : inside;
            p++;
        }
        if (behind > i) {
            break; /* `operator bool` */
        }
        begin = name[i] == ' ' && i > inside ? i + 1 : begin;
    }
    char *only = format_text("%.*s", (int)(end - begin), name + begin);
    free(pairs.items);
    pairs = find_pairs(only);
    for (size_t i = 0; i < pairs.count; i++) {
        pairs.items[i].left_out = only[pairs.items[i].open] == '<' && pairs.items[i].close > 0;
    }
    char *made = render(only, &pairs, "");
    /* The brackets themselves. */
    size_t kept = 0;
    for (size_t i = 0; made[i] != '\0'; i++) {
        const bool pair = made[i] == '<' && made[i + 1] == '>';
        i += pair;
        if (!pair) {
            made[kept++] = made[i];
        }
    }
    while (kept > 0 && made[kept - 1] == ' ') { /* `operator< <float>` */
        kept--;
    }
    made[kept] = '\0';
    free(pairs.items);
    free(only);
    free(name);
    free(outlined);
    return made;
}
