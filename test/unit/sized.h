/* SPDX-License-Identifier: MIT */
/* The rule of structs that begin with their size, for every function that fills one: callers of an older
 * and of a newer version, and those that never set the size. The test layout.outputs compares the tables
 * of the programs that include this with the public headers. */
#ifndef PDL_TEST_UNIT_SIZED_H
#define PDL_TEST_UNIT_SIZED_H

#include "support.h"

/* A function that fills a struct. `smallest`: what a caller's inputs in it, if it has some, take. */
struct sized_output {
    const char *function;
    pdl_status (*fill)(void *to);
    uint32_t size;
    uint32_t smallest;
};

/* The program's table. */
extern const struct sized_output sized_outputs[];
extern const size_t sized_output_count;

/* How much larger a newer caller's struct is, and more than the largest has. */
enum { SIZED_NEWER = 72, SIZED_MOST = 16384, SIZED_ROOM = SIZED_MOST + 64 };

/* A struct of that size: zero, so that what it holds for the call is NULL and 0, then a pattern. */
unsigned char *sized_made(uint32_t size);

void an_older_callers_output_is_filled_to_its_end_and_not_behind_it(void **state);
void a_newer_callers_output_is_zero_where_this_library_knows_nothing(void **state);
void a_size_that_cannot_be_one_is_refused_and_nothing_is_written(void **state);

/* These three, for a list of tests. */
#define SIZED_TEST(function, setup, teardown)                                                      \
    cmocka_unit_test_setup_teardown(function, setup, teardown)
#define SIZED_TESTS(setup, teardown)                                                               \
    SIZED_TEST(an_older_callers_output_is_filled_to_its_end_and_not_behind_it, setup, teardown),   \
        SIZED_TEST(a_newer_callers_output_is_zero_where_this_library_knows_nothing, setup,         \
                   teardown),                                                                      \
        SIZED_TEST(a_size_that_cannot_be_one_is_refused_and_nothing_is_written, setup, teardown)

#endif /* PDL_TEST_UNIT_SIZED_H */
