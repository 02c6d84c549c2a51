/* SPDX-License-Identifier: MIT */
/* Machine code that comes to its wait without a branch. */
#ifndef PDL_INSPECT_SASS_STRAIGHT_H
#define PDL_INSPECT_SASS_STRAIGHT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether `count` instructions begin with harmless ones and a wait, where threads leave before the wait only by a
 * condition that depends on their index or on their block's, such as `if (i >= n) return;`. */
bool pdl_sass_comes_straight(const unsigned char *code, size_t count);

#endif /* PDL_INSPECT_SASS_STRAIGHT_H */
