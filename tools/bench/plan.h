/* SPDX-License-Identifier: MIT */
/* Which suites there are, and which of their points are wanted. */
#ifndef PDL_TOOLS_BENCH_PLAN_H
#define PDL_TOOLS_BENCH_PLAN_H

#include "bench/bench.h"

/* Lets the suites of these names declare their tables, all suites if there is no name. False with a line
 * on standard error if there is no such suite. */
bool plan_declare(struct bench *bench, char *const *names, size_t count);

/* Selects the points whose id has one of the patterns in it (as a shell's: * ? [...]), all if there is no
 * pattern, and those that they are compared with. Returns how many. */
size_t plan_select(struct bench *bench, char *const *filters, size_t count);

#endif /* PDL_TOOLS_BENCH_PLAN_H */
