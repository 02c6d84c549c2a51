/* SPDX-License-Identifier: MIT */
/* Text for a terminal. */
#ifndef PDL_TOOLS_PRINT_H
#define PDL_TOOLS_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Text that comes from an input: what would steer a terminal is shown as '?'. */
void print_plain(FILE *to, const char *text);

/* `1 file`, `2 files`, `1,024 files`: into a buffer that the caller frees. */
char *format_count(unsigned long long count, const char *one, const char *many);

/* Whether colours are wanted there: a terminal, and the environment's NO_COLOR and TERM do not
 * speak against it. */
bool wants_colours(FILE *to);

/* A table whose columns are as wide as what is in them. */
struct table {
    const char *const *headings; /* one a column */
    const char *right;           /* a character a column, r: right-aligned */
    char **items;                /* row by row, owned */
    size_t count, capacity;
};

/* Adds the next cell, which the table frees. */
void table_add(struct table *table, char *cell);
void table_print(const struct table *table, FILE *to);
void table_free(struct table *table);

#endif /* PDL_TOOLS_PRINT_H */
