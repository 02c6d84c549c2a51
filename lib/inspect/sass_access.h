/* SPDX-License-Identifier: MIT */
/* Which instructions of machine code access global memory. */
#ifndef PDL_INSPECT_SASS_ACCESS_H
#define PDL_INSPECT_SASS_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pdl_sass_access {
    PDL_SASS_ACCESS_NONE, /* also of constant banks, of shared and of local memory; and prefetches */
    PDL_SASS_ACCESS_UNKNOWN,
    PDL_SASS_ACCESS_READ,
    PDL_SASS_ACCESS_READ_CONSTANT, /* without coherence */
    PDL_SASS_ACCESS_WRITE          /* atomics too */
};

/* What an instruction of two words does. *generic: the address may be one of shared or local memory. */
enum pdl_sass_access pdl_sass_access_of(uint64_t low, uint64_t high, bool *generic);

/* Whether an instruction accesses memory in a way that the wait does not order, wherever it stands: a load without
 * coherence, a texture or a surface. */
bool pdl_sass_is_unordered(uint64_t low, uint64_t high);

/* Whether `count` instructions begin with harmless ones and a wait, where threads leave before the wait only by a
 * condition that depends on their index or on their block's, such as `if (i >= n) return;`. */
bool pdl_sass_comes_straight(const unsigned char *code, size_t count);

#endif /* PDL_INSPECT_SASS_ACCESS_H */
