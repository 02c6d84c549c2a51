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

void check_older_outputs(void);
void check_newer_outputs(void);
void check_invalid_sizes(void);

/* The tests of a program. */
#define SIZED_TESTS(setup, teardown)                                                               \
    TEST_WITH(an_older_callers_output_is_filled_to_its_end_and_not_behind_it, setup, teardown)     \
    {                                                                                              \
        check_older_outputs();                                                                     \
    }                                                                                              \
    TEST_WITH(a_newer_callers_output_is_zero_where_this_library_knows_nothing, setup, teardown)    \
    {                                                                                              \
        check_newer_outputs();                                                                     \
    }                                                                                              \
    TEST_WITH(a_size_that_cannot_be_one_is_refused_and_nothing_is_written, setup, teardown)        \
    {                                                                                              \
        check_invalid_sizes();                                                                     \
    }

#endif /* PDL_TEST_UNIT_SIZED_H */
