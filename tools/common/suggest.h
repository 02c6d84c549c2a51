/* SPDX-License-Identifier: MIT */
/* "did you mean": the word that a mistyped one is closest to. */
#ifndef PDL_TOOLS_SUGGEST_H
#define PDL_TOOLS_SUGGEST_H

#include <stddef.h>

/* The closest of the words, the first of several; NULL if none is close enough to be a typing error. */
const char *suggest(const char *typed, const char *const *words, size_t count);

#endif /* PDL_TOOLS_SUGGEST_H */
