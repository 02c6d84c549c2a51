/* SPDX-License-Identifier: MIT */
/* What functions do by calling others: marks that spread from callees to callers. */
#ifndef PDL_LIB_CALLS_H
#define PDL_LIB_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The caller calls the callee, or takes its address: two indices. */
struct pdl_call {
    uint32_t caller;
    uint32_t callee;
};

/* Gives each function the marks in `spreads` of those that it calls, directly or not. Takes time that grows with
 * functions and calls. The marks of the next function are `stride` bytes behind those of the one
 * before. False without memory. */
bool pdl_calls_spread(uint32_t *marks, size_t stride, uint32_t count, uint32_t spreads,
                      const struct pdl_call *calls, uint32_t call_count);

#endif /* PDL_LIB_CALLS_H */
