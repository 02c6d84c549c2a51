/* SPDX-License-Identifier: MIT */
/* Options and their values. Errors go to standard error as print_error() writes them. */
#ifndef PDL_TOOLS_OPTIONS_H
#define PDL_TOOLS_OPTIONS_H

#include <stdbool.h>

struct option; /* of <getopt.h> */

/* getopt_long() with the messages of pdltool: '?' follows one about an option that is unknown, ambiguous or without
 * its value. */
int next_option(int argc, char **argv, const char *letters, const struct option *options);

/* A whole number from `least` to `most`. False after an error if the text is something else; `count` then stays as it
 * is. */
bool parse_count(const char *name, const char *text, int least, int most, int *count);

/* The index of the choice that the text is; -1 after an error that lists the choices, which end with NULL. */
int parse_choice(const char *name, const char *text, const char *const *choices);

/* That this build lacks the JSON library that an option needs; false. */
bool lacks_json(const char *name);

#endif /* PDL_TOOLS_OPTIONS_H */
