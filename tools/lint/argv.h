/* SPDX-License-Identifier: MIT */
/* The arguments of a command. */
#ifndef PDL_TOOLS_LINT_ARGV_H
#define PDL_TOOLS_LINT_ARGV_H

#include <stddef.h>

/* Owns its strings. Zeroed, it is empty. All of these end the tool where there is no memory. */
struct argv {
    char **items;
    size_t count, capacity;
};

/* Adds a copy. */
void argv_add(struct argv *arguments, const char *text);
/* Adds the text itself. */
void argv_take(struct argv *arguments, char *text);
/* Adds the words of a command as a shell splits it: quotes and backslashes count, nothing is expanded. A quote that
 * is left open ends with the text. */
void argv_split(struct argv *arguments, const char *command);
/* Puts the words of a command in place of an item. */
void argv_replace(struct argv *arguments, size_t index, const char *command);
void argv_remove(struct argv *arguments, size_t index);
/* The items and a NULL, which exec() takes; valid until something is added. */
char *const *argv_vector(struct argv *arguments);
void argv_free(struct argv *arguments);

#endif /* PDL_TOOLS_LINT_ARGV_H */
