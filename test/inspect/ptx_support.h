/* SPDX-License-Identifier: MIT */
/* What the tests of the PTX reader and its analysis share: a text in, what was found out as text. */
#ifndef PDL_TEST_PTX_SUPPORT_H
#define PDL_TEST_PTX_SUPPORT_H

#include "inspect_support.h"

#define PTX_HEADER ".version 8.7 .target sm_90 .address_size 64\n"

/* A kernel k(a, b, count) on the lines behind PTX_HEADER; what is in its braces begins on a new line. The
 * registers hold: ga and gb what a and b point to, n the count, t the thread and c the block. */
#define PTX_KERNEL_BEGIN                                                                           \
    ".visible .entry k(.param .u64 a, .param .u64 b, .param .u32 count) { "                        \
    "ld.param.u64 ga, [a]; cvta.to.global.u64 ga, ga; "                                            \
    "ld.param.u64 gb, [b]; cvta.to.global.u64 gb, gb; "                                            \
    "ld.param.u32 n, [count]; mov.u32 t, %tid.x; mov.u32 c, %ctaid.x;\n"
#define PTX_KERNEL_END "\nret; }\n"

/* The body begins on line 3. */
#define PTX_KERNEL(body) PTX_HEADER PTX_KERNEL_BEGIN body PTX_KERNEL_END

/* What is shown of an inspection. */
enum {
    SHOW_FINDINGS = 0,
    SHOW_FACTS = 1,      /* a line a kernel in front of its findings */
    SHOW_NO_TRIGGER = 2, /* the findings of that rule too, which most of the small texts have */
    SHOW_COLUMNS = 4,
    SHOW_PLACES = 8, /* "line 3 (a.cu:7 f, a.cu:20)" */
    SHOW_MESSAGES = 16
};

struct ptx_case {
    const char *title;
    const char *text;
    const char *expected;
};

/* A test for each of the cases. */
#define PTX_TESTS(cases, show)                                                                     \
    TEST_ROWS(are_found_##cases, cases)                                                            \
    {                                                                                              \
        assert_found(row->title, row->text, strlen(row->text), NULL, show, row->expected);         \
    }

/* Fails unless what is found in the text is `expected`: lines without a last newline. A finding is
 * "RULE LEVEL LINE[:COLUMN] [PARAMETER] [xCOUNT] [allowed]", PARAMETER by name or "#NUMBER". */
void assert_found(const char *title, const char *text, size_t size,
                  const pdl_inspect_options *options, unsigned show, const char *expected);

/* As it is described above, in memory that the caller frees. */
char *describe_inspection(const pdl_inspection *inspection, unsigned show);

#endif /* PDL_TEST_PTX_SUPPORT_H */
