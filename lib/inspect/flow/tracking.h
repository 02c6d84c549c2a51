/* SPDX-License-Identifier: MIT */
/* Between the two halves of the conditions: what is tracked, and what is known of it. */
#ifndef PDL_INSPECT_TRACKING_H
#define PDL_INSPECT_TRACKING_H

#include "inspect/flow/conditions.h"

/* In tracked[]: the symbol is a predicate, and the opposite of the register's. */
#define PDL_TRACKED_NEGATED 0x80u

static inline uint64_t pdl_tracked_bit(uint32_t number)
{
    return UINT64_C(1) << number;
}

/* The number of a tracked symbol, + 1; 0 if it is not. */
static inline uint32_t pdl_tracked_number(const struct pdl_conditions *conditions, uint32_t symbol)
{
    return symbol == PDL_NONE ? 0 : conditions->tracked[symbol] & ~PDL_TRACKED_NEGATED;
}

/* Addresses of parameters and variables: they stand for themselves in formulas. */
static inline bool pdl_tracked_is_address(const struct pdl_conditions *conditions, uint32_t symbol)
{
    const struct pdl_symbol *at = &conditions->body->symbols[symbol];
    return at->kind == PDL_SYMBOL_VARIABLE || at->kind == PDL_SYMBOL_FUNCTION ||
           (at->kind == PDL_SYMBOL_PARAMETER && at->space == PDL_SPACE_PARAM);
}

/* Whether a symbol's name begins with a word. */
bool pdl_tracked_is_name(const struct pdl_conditions *conditions, uint32_t symbol,
                         const char *word);

#endif /* PDL_INSPECT_TRACKING_H */
