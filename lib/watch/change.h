/* SPDX-License-Identifier: MIT */
/* Which overlaps of a program are added and taken out: rules, which `pdltool watch --overlap` and `pdltool bisect` write.
 *
 * The file that PDL_WATCH_RULES names has a rule a line, `#` comments and empty lines:
 *
 *     off PATTERN      the launches that the pattern matches do not overlap
 *     on PATTERN       they do, if their kernel is proved to wait on every path before it touches memory
 *     keep PATTERN     they stay as the program has them
 *     delay PATTERN    what runs before them is held up so that a race shows, see amplify.c
 *
 * The last rule that matches a launch counts, `delay` apart from the others. PATTERN is a glob of fnmatch(3) for the
 * kernel's mangled name; `=NAME` is exactly that name. Without a rule a launch stays as it is. */
#ifndef PDL_LIB_WATCH_CHANGE_H
#define PDL_LIB_WATCH_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pdl_watch_change { PDL_WATCH_KEEP, PDL_WATCH_OFF, PDL_WATCH_ON };

struct pdl_watch_rules;

/* Reads rules from text; NULL with the first line that is wrong, from 1, or 0 without memory. */
struct pdl_watch_rules *pdl_watch_rules_read(const char *text, size_t size, size_t *wrong_line);
void pdl_watch_rules_free(struct pdl_watch_rules *rules);

/* What is done to the launches of kernels of a name. Thread-safe. */
enum pdl_watch_change pdl_watch_rules_find(const struct pdl_watch_rules *rules, const char *name,
                                           bool *delay);

/* Whether a rule adds overlaps; whether one delays. */
bool pdl_watch_rules_add(const struct pdl_watch_rules *rules);
bool pdl_watch_rules_delay(const struct pdl_watch_rules *rules);

#endif /* PDL_LIB_WATCH_CHANGE_H */
