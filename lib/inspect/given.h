/* SPDX-License-Identifier: MIT */
/* What callers give: structs of options that may grow, and lists of texts. */
#ifndef PDL_INSPECT_GIVEN_H
#define PDL_INSPECT_GIVEN_H

#include <stddef.h>

#include <pdl/inspect.h>

/* Makes `copy` (of `known` bytes) of a caller's options, of at least `smallest` bytes, or of NULL. What
 * is missing is zero, and what this library does not know must be. */
pdl_status pdl_given_resize(void *copy, size_t known, const void *options, size_t smallest,
                            const char *initializer);

/* Refuses a list that is NULL or has a NULL in it. */
pdl_status pdl_given_check_list(const char *const *list, uint64_t count, const char *name);

#endif /* PDL_INSPECT_GIVEN_H */
