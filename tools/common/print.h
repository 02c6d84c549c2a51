/* SPDX-License-Identifier: MIT */
/* Text for a terminal. */
#ifndef PDL_TOOLS_PRINT_H
#define PDL_TOOLS_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What comes from outside (inputs, names of files, arguments, what other programs say) goes to a terminal through
 * these three. What would steer it, and what is not UTF-8, is shown as an escape: \x1b, \x9b, \u202e. A text of more
 * than PRINT_MOST characters has an ellipsis where the rest was, before its last quarter. */
enum { PRINT_MOST = 1000 };
void print_plain(FILE *to, const char *text);
/* The same as a text, which the caller frees. */
char *plain_text(const char *text);
/* A line that is formatted as by printf(), then printed as one text; the newline is added. */
__attribute__((format(printf, 2, 3))) void print_line(FILE *to, const char *format, ...);

/* Messages of pdltool, on standard error: `pdltool lint: error: ...`. What is wrong in an input begins with its name
 * and line instead: `fc.ptx:12:3: error: ...`. */
void print_as(const char *name); /* the command that runs */
__attribute__((format(printf, 1, 2))) void print_error(const char *format, ...);
__attribute__((format(printf, 1, 2))) void print_warning(const char *format, ...);
__attribute__((format(printf, 1, 2))) void print_note(const char *format, ...);
/* An error of the command line, and where the right one is described. */
__attribute__((format(printf, 1, 2))) void print_misuse(const char *format, ...);

/* A sentence. On a terminal in lines of at most 80 columns, the second and further ones indented by that many blanks; the
 * first begins at column `begin`. Elsewhere in one line. */
void print_wrapped(FILE *to, int begin, int indent, const char *text);

/* `1 file`, `2 files`, `1,024 files`: into a buffer that the caller frees. */
char *format_count(unsigned long long count, const char *one, const char *many);

/* A unit as it is shown: `µs` for `us`, "" for NULL. */
const char *unit_name(const char *unit);

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
