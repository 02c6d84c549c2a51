/* SPDX-License-Identifier: MIT */
/* Options' values. */
#ifndef PDL_TOOLS_OPTIONS_H
#define PDL_TOOLS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* A whole number from `least` to `most`. False with a line on standard error, which begins with the program's
 * name, where the text is none; `count` then stays as it is. */
bool parse_count(const char *program, const char *name, const char *text, int least, int most,
                 int *count);

/* A number from 0 to `most`, which K, M or G (of 1024) may follow, and iB those: 64K, 1GiB. False where the text
 * is none; `size` then stays as it is. */
bool parse_size(const char *text, uint64_t most, uint64_t *size);

#endif /* PDL_TOOLS_OPTIONS_H */
