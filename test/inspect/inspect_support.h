/* SPDX-License-Identifier: MIT */
/* What the tests of libpdl-inspect's readers share. */
#ifndef PDL_TEST_INSPECT_SUPPORT_H
#define PDL_TEST_INSPECT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pdl/inspect.h>

#include "make_image.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* TEST(name) { … } is a test of the program, TEST_ROWS(name, rows) { … } one for each `row` of a table, whose first
 * member is the test's name. They run in their order in the file. */
#define TEST(name_)                                                                                \
    static void name_(void);                                                                       \
    static void run_##name_(const void *row)                                                       \
    {                                                                                              \
        (void)row;                                                                                 \
        name_();                                                                                   \
    }                                                                                              \
    __attribute__((constructor)) static void add_##name_(void)                                     \
    {                                                                                              \
        add_test(#name_, run_##name_, NULL);                                                       \
    }                                                                                              \
    static void name_(void)
#define TEST_ROWS(name_, rows)                                                                     \
    static void name_(const __typeof__(*(rows)) *row);                                             \
    static void run_##name_(const void *row)                                                       \
    {                                                                                              \
        name_(row);                                                                                \
    }                                                                                              \
    __attribute__((constructor)) static void add_##name_(void)                                     \
    {                                                                                              \
        for (size_t i = 0; i < COUNT_OF(rows); i++) {                                              \
            add_test(*(const char *const *)&(rows)[i], run_##name_, &(rows)[i]);                   \
        }                                                                                          \
    }                                                                                              \
    static void name_(const __typeof__(*(rows)) *row)
void add_test(const char *name, void (*run)(const void *row), const void *row);

/* For a program with a main() of its own. */
int run_all_tests(CMFixtureFunction setup, CMFixtureFunction teardown);

/* Has an inspection destroyed after the test, as all bytes are freed then that were made in it. */
pdl_inspection *kept(pdl_inspection *inspection);

/* Makes a last error; and asserts that a call which succeeds has left it alone. */
void mark_inspect_error(void);
pdl_status leaves_inspect_error(pdl_status status);

/* pdl_inspect_memory() between the two. */
pdl_status inspect_memory(const void *bytes, size_t size, const char *name,
                          const pdl_inspect_options *options, pdl_inspection **out);

/* The inspection, which must succeed; it is destroyed after the test. */
pdl_inspection *inspect_with(const struct bytes *bytes, const char *name,
                             const pdl_inspect_options *options);
pdl_inspection *inspect(const struct bytes *bytes, const char *name);
pdl_inspection *inspect_text(const char *text, const pdl_inspect_options *options);

/* Asserts that it fails so, with a sentence that holds `words`, and leaves nothing. */
void assert_not_inspected(const struct bytes *bytes, pdl_status status, const char *words);

/* Inspects, whatever comes of it, and looks at everything that did. */
void inspect_whatever(const struct bytes *bytes);

/* Inspects each prefix, which has to be refused or, if not `refused`, to do no harm. */
void check_every_prefix(const struct bytes *bytes, bool refused);

/* Inspects with each byte changed, in three ways. */
void check_every_byte(struct bytes *bytes);

/* The kernel of that name in the first image that has one; fails without. */
const pdl_inspect_kernel *find_kernel(const pdl_inspection *inspection, const char *name);

/* The image whose origin ends so; fails without. */
const pdl_inspect_image *find_image(const pdl_inspection *inspection, const char *end);

void assert_kernel(const pdl_inspect_kernel *kernel, pdl_known waits, pdl_known triggers,
                   unsigned wait_count, unsigned trigger_count);

/* Asserts that the facts that bound launches are those of `wanted`; blocks_are_clusters 0 is PDL_NO. */
void assert_bounds(const pdl_kernel_info *info, const pdl_kernel_info *wanted);

/* A PTX text with a kernel fc1 that waits, and one fc2 that does not. */
extern const char ptx_text[];

#endif /* PDL_TEST_INSPECT_SUPPORT_H */
