/* SPDX-License-Identifier: MIT */
/* What the unit tests share: kernels of the mock, assertions on results, and the table of what each
 * field of the descriptor becomes. */
#ifndef PDL_TEST_UNIT_SUPPORT_H
#define PDL_TEST_UNIT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mock.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* A test with the mock set up before and checked for leaks after. */
#define MOCK_TEST(function) cmocka_unit_test_setup_teardown(function, mock_setup, mock_teardown)

/* TEST(name) { … } is the same, and is added to the tests that run_all_tests() runs. TEST_WITH() has another set-up and
 * tear-down, PLAIN_TEST() none. TEST_ROWS() is a test per row of a table, whose first member is the test's name; the row is
 * `row`. */
#define TEST(name)       TEST_WITH(name, mock_setup, mock_teardown)
#define PLAIN_TEST(name) TEST_WITH(name, NULL, drop_after)
#define TEST_WITH(name, setup_, teardown_)                                                         \
    static void name(void);                                                                        \
    static void run_##name(const void *row)                                                        \
    {                                                                                              \
        (void)row;                                                                                 \
        name();                                                                                    \
    }                                                                                              \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        add_test(#name, run_##name, NULL, setup_, teardown_);                                      \
    }                                                                                              \
    static void name(void)
#define TEST_ROWS(name_, rows, setup_, teardown_)                                                  \
    static void name_(const __typeof__(*(rows)) *row);                                             \
    static void run_##name_(const void *row)                                                       \
    {                                                                                              \
        name_(row);                                                                                \
    }                                                                                              \
    __attribute__((constructor)) static void add_##name_(void)                                     \
    {                                                                                              \
        for (size_t i = 0; i < COUNT_OF(rows); i++) {                                              \
            add_test((rows)[i].name, run_##name_, &(rows)[i], setup_, teardown_);                  \
        }                                                                                          \
    }                                                                                              \
    static void name_(const __typeof__(*(rows)) *row)

typedef int fixture_function(void **state);
void add_test(const char *name, void (*run)(const void *row), const void *row,
              fixture_function *setup, fixture_function *teardown);

/* Runs the tests in their order in the file. A program without a main() of its own calls it. */
int run_all_tests(fixture_function *setup, fixture_function *teardown);

/* Kernels of the mock, the three ways. The caller destroys them. */
enum kernel_source { FROM_FUNCTION, FROM_CU_KERNEL, FROM_SYMBOL, KERNEL_SOURCES };
pdl_kernel *make_kernel(enum kernel_source source, unsigned kernel);

/* The same, of which nobody knows whether it waits. */
pdl_kernel *make_unknown_kernel(enum kernel_source source, unsigned kernel);

/* These are destroyed after the test, as are chains and graphs of graph_support.h: by mock_teardown(), the last first.
 * drop_kernel() destroys one before. */
pdl_kernel *test_kernel(enum kernel_source source, unsigned kernel);
pdl_kernel *test_unknown_kernel(enum kernel_source source, unsigned kernel);
pdl_kernel *test_image_kernel(const void *image, size_t size, const char *name);
void drop_kernel(pdl_kernel *kernel);

/* What mock_teardown() and drop_after() destroy. */
void destroy_after(void *object, void (*destroy)(void *object));
void drop(void *object);
void drop_all(void);
int drop_after(void **state);

/* What pdl_policy.off turns off; replaces the policy. */
void overlap_enable(bool on);

/* A descriptor of 132 blocks of 256 threads. */
pdl_launch_desc plain_desc(void);

/* The same with fields: DESC(.cooperative = 1). */
#define DESC(...) PDL_LAUNCH_DESC(.grid = {132}, .block = {256}, __VA_ARGS__)

/* The same with an overlap mode. */
pdl_launch_desc overlap_desc(pdl_overlap overlap);

/* Asserts success, which leaves the last error alone, and says what the error was otherwise. */
#define assert_ok(call) assert_ok_((mark_last_error(), (call)), #call, __FILE__, __LINE__)
/* A last error that no call makes; and whether it still is the last one. */
void mark_last_error(void);
bool is_last_error_marked(void);
void assert_ok_(pdl_status status, const char *call, const char *file, int line);

/* What the functions fill, which must succeed. */
pdl_launch_report explained(pdl_kernel *kernel, const pdl_launch_desc *desc);
pdl_occupancy occupancy_of(pdl_kernel *kernel, const pdl_launch_desc *desc);
pdl_kernel_info kernel_info(pdl_kernel *kernel, int device);
pdl_device_info device_info(int device);

/* Asserts that the call failed with the status, that pdl_last_error() names the field (NULL: none
 * is asked for; "x" also accepts "x.y"), and that its sentence holds each of the words. A word that
 * begins or ends with a digit must not stand inside a longer number. */
#define assert_refused(call, status, field, ...)                                                   \
    assert_refused_((call), #call, (status), (field), (const char *const[]){__VA_ARGS__, NULL},    \
                    __FILE__, __LINE__)
void assert_refused_(pdl_status got, const char *call, pdl_status want, const char *field,
                     const char *const *words, const char *file, int line);

/* The same of an invalid argument. */
#define assert_invalid(call, field, ...)                                                           \
    assert_refused((call), PDL_ERROR_INVALID_ARGUMENT, (field), __VA_ARGS__)

/* Whether the sentence names a version (12030 as "12.3" or "12030"). */
bool names_version(const char *sentence, int version);

/* The attribute list that a launch should carry. */
struct expected {
    unsigned count;
    CUlaunchAttribute attributes[MOCK_ATTRIBUTES];
};

/* Appends an attribute, all of its value zero. */
CUlaunchAttributeValue *expect_attribute(struct expected *expected, CUlaunchAttributeID id);

/* Asserts that a launch carried exactly these attributes: ids, order, and all 64 bytes of each
 * value. */
#define assert_attributes(launch, expected)                                                        \
    assert_attributes_((launch), (expected), __FILE__, __LINE__)
void assert_attributes_(const struct mock_launch *launch, const struct expected *expected,
                        const char *file, int line);

/* Asserts that pdl_launch_explain() says the same as the launch did. */
void assert_explained(pdl_kernel *kernel, const pdl_launch_desc *desc,
                      const struct mock_launch *launch);

/* One thing that can be asked for: how the descriptor says it, and what the driver should get. */
struct field_case {
    const char *name;
    CUlaunchAttributeID id; /* cases are in the order of these */
    int since;              /* the oldest driver, as cuDriverGetVersion counts */
    size_t end;             /* of the field in the descriptor */
    pdl_launch_desc desc;   /* the field, and nothing else */
    CUlaunchAttributeValue value;
};

extern const struct field_case field_cases[];
extern const size_t field_case_count;

/* The case of an attribute. */
const struct field_case *field_case_of(CUlaunchAttributeID id);

/* Sets the field, and appends its attribute. */
void set_field(const struct field_case *field, pdl_launch_desc *desc);
void expect_field(struct expected *expected, const struct field_case *field);

/* What the device-updatable node of a launch is written to. */
extern struct CUgraphDeviceUpdatableNode_st *field_device_node;

#endif /* PDL_TEST_UNIT_SUPPORT_H */
