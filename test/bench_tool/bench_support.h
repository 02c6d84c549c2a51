/* SPDX-License-Identifier: MIT */
/* What the tests of bench's parts share: suites without a device, and runs made by hand. */
#ifndef PDL_TEST_BENCH_SUPPORT_H
#define PDL_TEST_BENCH_SUPPORT_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/bench.h"
#include "bench/output.h"
#include "common/memory.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* A table of the suite "suite", of that name, with the axes "way" and "length" and the metrics "host" (ns,
 * tolerance 0.1) and "rate" (1/s, higher is better); and without callbacks that do anything. */
struct bench_table *add_table(struct bench_run *run, const char *name);
struct bench_point *add_point(struct bench_table *table, struct bench_point *against,
                              const char *way, const char *length);
/* A pass with these samples of the host; those of the rate are a million over each. */
void add_pass(struct bench_point *point, const double *samples, size_t count);
/* The samples 1, 1, ... of a pass, times `value`. */
void add_steady_pass(struct bench_point *point, double value);

/* What a function writes; the caller frees it. */
char *text_of(void (*write)(const struct bench_run *run, FILE *to), const struct bench_run *run);

/* What goes to standard error between the two; the caller frees it. */
void catch_errors(void);
char *caught_errors(void);

#define assert_has(text, part)     assert_has_((text), (part), true, __FILE__, __LINE__)
#define assert_has_not(text, part) assert_has_((text), (part), false, __FILE__, __LINE__)
void assert_has_(const char *text, const char *part, bool wanted, const char *file, int line);

#define assert_close(a, b) assert_double_((a), (b), __FILE__, __LINE__)
void assert_double_(double a, double b, const char *file, int line);

#endif /* PDL_TEST_BENCH_SUPPORT_H */
