/* SPDX-License-Identifier: MIT */
#include "watch/brief.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"

/* Columns: UTF-8's continuation bytes take none. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++) {
        width += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return width;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Before the first parenthesis that is in no template's arguments: operators and local names have others. */
static size_t without_parameters(const char *name)
{
    int angles = 0;
    int braces = 0;
    for (size_t i = 0; name[i] != '\0'; i++) {
        if (begins_with(name + i, "operator")) {
            i += strlen("operator");
            i += strspn(name + i, "<>=-!()[]&|+*/%^~,");
            i--;
            continue;
        }
        const bool arrow = i > 0 && name[i - 1] == '-' && name[i] == '>';
        angles += name[i] == '<' ? 1 : name[i] == '>' && !arrow && angles > 0 ? -1 : 0;
        braces += name[i] == '{' ? 1 : name[i] == '}' && braces > 0 ? -1 : 0;
        if (name[i] == '(' && angles == 0 && braces == 0 && i > 0 &&
            !begins_with(name + i, "(anonymous namespace)")) {
            return i;
        }
    }
    return strlen(name);
}

/* Takes `part` out wherever it is. */
static void remove_all(char *text, const char *part)
{
    for (char *at = strstr(text, part); at != NULL; at = strstr(at, part)) {
        memmove(at, at + strlen(part), strlen(at + strlen(part)) + 1);
    }
}

/* Words before "::", also in templates' arguments. */
static void remove_namespaces(char *text)
{
    size_t used = 0;
    for (size_t i = 0; text[i] != '\0'; i++) {
        if (text[i] == ':' && text[i + 1] == ':' && used > 0 && is_word(text[used - 1])) {
            while (used > 0 && is_word(text[used - 1])) {
                used--;
            }
            i++;
        } else {
            text[used++] = text[i];
        }
    }
    text[used] = '\0';
}

/* Puts "…" for the templates' arguments that are `depth` deep or more. */
static char *without_arguments(const char *text, int depth)
{
    char *const made = allocate(strlen(text) * 3 + 1, 1);
    size_t used = 0;
    int angles = 0;
    for (size_t i = 0; text[i] != '\0'; i++) {
        const bool opens = text[i] == '<';
        const bool closes = text[i] == '>' && angles > 0 && (i == 0 || text[i - 1] != '-');
        angles -= closes;
        if (angles < depth) {
            made[used++] = text[i];
        }
        angles += opens;
        if (opens && angles == depth) {
            memcpy(made + used, "…", strlen("…"));
            used += strlen("…");
        }
    }
    made[used] = '\0';
    return made;
}

static char *cut(const char *text, size_t columns)
{
    char *const made = allocate(strlen(text) + 4, 1);
    size_t used = 0;
    size_t width = 0;
    for (; text[used] != '\0'; used++) {
        width += ((unsigned char)text[used] & 0xc0) != 0x80;
        if (width >= columns) {
            break;
        }
        made[used] = text[used];
    }
    memcpy(made + used, "…", strlen("…") + 1);
    return made;
}

char *brief_name(const char *shown, size_t columns)
{
    if (width_of(shown) <= columns) {
        return copy_text(shown);
    }
    char *name = format_text("%.*s", (int)without_parameters(shown), shown);
    if (begins_with(name, "void ")) {
        memmove(name, name + strlen("void "), strlen(name + strlen("void ")) + 1);
    }
    if (width_of(name) > columns) {
        remove_all(name, "(anonymous namespace)::");
        remove_all(name, "<unnamed>::");
        remove_namespaces(name);
    }
    for (int depth = 3; depth > 1 && width_of(name) > columns; depth--) {
        char *const less = without_arguments(name, depth);
        free(name);
        name = less;
    }
    if (width_of(name) > columns) {
        char *const less = cut(name, columns);
        free(name);
        name = less;
    }
    return name;
}

char *brief_time(uint64_t ns)
{
    static const char *const units[] = {"µs", "ms", "s"};
    double value = (double)ns / 1e3;
    size_t unit = 0;
    while (value >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1e3;
        unit++;
    }
    if (ns == 0) {
        return copy_text("0 µs");
    }
    return format_text("%.*f %s", value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value, units[unit]);
}

char *brief_share(uint64_t part, uint64_t all)
{
    const double share = all > 0 ? 100.0 * (double)part / (double)all : 0;
    if (part > 0 && share < 1) {
        return copy_text("<1 %");
    }
    if (part < all && share > 99) {
        return copy_text(">99 %");
    }
    return format_text("%.0f %%", share);
}
