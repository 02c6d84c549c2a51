/* SPDX-License-Identifier: MIT */
/* Options' values. */
#ifndef PDL_TOOLS_OPTIONS_H
#define PDL_TOOLS_OPTIONS_H

#include <stdbool.h>

/* A whole number from `least` to `most`. False with a line on standard error, which begins with the program's
 * name, where the text is none; `count` then stays as it is. */
bool parse_count(const char *program, const char *name, const char *text, int least, int most,
                 int *count);

#endif /* PDL_TOOLS_OPTIONS_H */
