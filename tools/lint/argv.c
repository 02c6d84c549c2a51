/* SPDX-License-Identifier: MIT */
#include "lint/command.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"

void argv_take(struct argv *arguments, char *text)
{
    APPEND(arguments, text);
}

void argv_add(struct argv *arguments, const char *text)
{
    argv_take(arguments, copy_text(text));
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Takes a word's next character, if it has one. Quotes that open and close have none. */
static bool next_character(const char **at, char *quote, char *found)
{
    const char c = **at;
    if (*quote != '\0' && c == *quote) {
        *quote = '\0';
        (*at)++;
        return false;
    }
    if (*quote == '\0' && (c == '\'' || c == '"')) {
        *quote = c;
        (*at)++;
        return false;
    }
    *found = c;
    (*at)++;
    const char next = **at;
    if (c != '\\' || *quote == '\'' || next == '\0' ||
        (*quote == '"' && strchr("$`\"\\\n", next) == NULL)) {
        return true;
    }
    *found = next;
    (*at)++;
    return next != '\n'; /* an escaped end of a line joins two lines */
}

void argv_split(struct argv *arguments, const char *command)
{
    char *const word = allocate(strlen(command) + 1, 1);
    const char *at = command;
    for (;;) {
        size_t length = 0;
        char quote = '\0';
        while (is_blank(*at)) {
            at++;
        }
        if (*at == '\0') {
            break;
        }
        while (*at != '\0' && (quote != '\0' || !is_blank(*at))) {
            length += next_character(&at, &quote, &word[length]);
        }
        word[length] = '\0';
        argv_add(arguments, word);
    }
    free(word);
}

void argv_remove(struct argv *arguments, size_t index)
{
    free(arguments->items[index]);
    arguments->count--;
    memmove(&arguments->items[index], &arguments->items[index + 1],
            (arguments->count - index) * sizeof(*arguments->items));
}

void argv_replace(struct argv *arguments, size_t index, const char *command)
{
    struct argv made = {0};
    for (size_t i = 0; i < index; i++) {
        argv_take(&made, arguments->items[i]);
    }
    argv_split(&made, command);
    free(arguments->items[index]);
    for (size_t i = index + 1; i < arguments->count; i++) {
        argv_take(&made, arguments->items[i]);
    }
    free(arguments->items);
    *arguments = made;
}

char *const *argv_vector(struct argv *arguments)
{
    argv_take(arguments, NULL);
    arguments->count--;
    return arguments->items;
}

void argv_free(struct argv *arguments)
{
    for (size_t i = 0; i < arguments->count; i++) {
        free(arguments->items[i]);
    }
    free(arguments->items);
    *arguments = (struct argv){0};
}
