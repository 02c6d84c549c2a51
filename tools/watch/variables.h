/* SPDX-License-Identifier: MIT */
/* The environment of a program that is to be started. */
#ifndef PDL_TOOLS_WATCH_VARIABLES_H
#define PDL_TOOLS_WATCH_VARIABLES_H

#include <stddef.h>

/* NAME=VALUE each, and NULL at the end. Zeroed, it is none. All of these end the tool where there is no memory. */
struct variables {
    char **items;
    size_t count; /* without the NULL */
};

/* Begins with the tool's own. */
void variables_read(struct variables *variables);
/* NULL takes a variable out. */
void variables_set(struct variables *variables, const char *name, const char *value);
/* NULL: it is not set. Valid until the variable is set. */
const char *variables_get(const struct variables *variables, const char *name);
void variables_free(struct variables *variables);

#endif /* PDL_TOOLS_WATCH_VARIABLES_H */
