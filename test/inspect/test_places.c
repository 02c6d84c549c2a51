/* SPDX-License-Identifier: MIT */
/* The chain of places of a finding, which of them comes first, and how advice names what waits. */
#include <unistd.h>

#include "ptx_support.h"

#define WAIT "griddepcontrol.wait;\n"
#define READ "ld.global.u32 r, [ga];\n"
#define FILES                                                                                      \
    ".file 1 \"own.cu\"\n.file 2 \"/usr/local/cuda-13.0/targets/x86_64-linux/include/"             \
    "cuda_device_runtime_api.h\"\n.file 3 \"lib/deep.hpp\"\n.file 4 "                              \
    "\"/usr/local/cuda/include/cccl/cub/block.cuh\"\n.file 5 \"kernel.py\"\n"

struct text {
    char at[1 << 16];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void append(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text->length += (size_t)vsnprintf(text->at + text->length, sizeof(text->at) - text->length,
                                      format, arguments);
    va_end(arguments);
    assert_true(text->length < sizeof(text->at));
}

static pdl_inspection *inspect_beside(const char *text, const char *third_party)
{
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    options.third_party = &third_party;
    options.third_party_count = third_party != NULL;
    return inspect_text(text, &options);
}

/* The chains of the findings about accesses: "7 9 *12", a star at the place that comes first, a gap as "-". */
static void check_chains(const char *title, const char *body, const char *third_party,
                         const char *expected)
{
    static struct text text, found;
    text.length = found.length = 0;
    found.at[0] = '\0';
    append(&text, "%s%s%s", PTX_HEADER PTX_KERNEL_BEGIN, body, PTX_KERNEL_END FILES);
    pdl_inspection *inspection = inspect_beside(text.at, third_party);
    for (size_t i = 0; i < pdl_inspection_finding_count(inspection); i++) {
        const pdl_lint_finding *finding = pdl_inspection_finding(inspection, i);
        if (finding->rule != PDL_LINT_READ_BEFORE_WAIT && finding->rule != PDL_LINT_NO_WAIT) {
            continue;
        }
        append(&found, "%s", found.length > 0 ? "; " : "");
        for (uint32_t p = 0; p < finding->place_count; p++) {
            append(&found, "%s%s", p > 0 ? " " : "", p == finding->place ? "*" : "");
            if (finding->places[p]->file == NULL) {
                append(&found, "-");
            } else {
                append(&found, "%u", (unsigned)finding->places[p]->line);
            }
        }
    }
    if (strcmp(found.at, expected) != 0) {
        fail_msg("%s: %s, not %s", title, found.at, expected);
    }
}

TEST(chains_end_in_the_kernel)
{
    check_chains("not inlined", ".loc 1 7 1\n" READ WAIT, NULL, "*7");
    check_chains("once", ".loc 1 9 1, inlined_at 1 7 1\n" READ ".loc 1 8 1\n" WAIT, NULL, "9 *7");
    check_chains("the caller before it",
                 ".loc 1 9 1, inlined_at 1 7 1\n.loc 1 12 1, inlined_at 1 9 1\n" READ
                 ".loc 1 8 1\n" WAIT,
                 NULL, "12 9 *7");
    check_chains("the caller behind it",
                 ".loc 1 12 1, inlined_at 1 9 1\n" READ
                 ".loc 1 9 1, inlined_at 1 7 1\nadd.u32 t, t, 1;\n.loc 1 8 1\n" WAIT,
                 NULL, "12 9 *7");
    check_chains("inlined to its own line",
                 ".loc 1 7 1, inlined_at 1 7 1\n" READ ".loc 1 7 1, inlined_at 1 7 1\n" READ
                 ".loc 1 8 1\n" WAIT,
                 NULL, "7 *7; 7 7 *7");
    check_chains("in a circle",
                 ".loc 1 5 1, inlined_at 1 6 1\n" READ ".loc 1 6 1, inlined_at 1 5 1\n" READ
                 ".loc 1 8 1\n" WAIT,
                 NULL, "5 6 *5; 6 *5");
}

/* nvcc 13 leaves out where code was inlined to, if it goes on with the place in front of line 0. */
TEST(a_place_goes_on_behind_line_0)
{
#define ADD     "add.u32 t, t, 1;\n"
#define INLINED ".loc 1 9 1, inlined_at 1 7 1\n" ADD
#define LINE_0  ".loc 1 0 1\n" ADD
#define BARE    ".loc 1 9 1\n" READ
#define FUNCTION                                                                                   \
    ".loc 1 30 1\ncall f, (ga);\n.loc 1 8 1\n" WAIT                                                \
    "ret; }\n.func f(.param .u64 p) {\nld.param.u64 ga, [p];\n.loc 1 5 0\n"
    static const struct {
        const char *title, *body, *expected;
    } cases[] = {
        {"one call", INLINED LINE_0 BARE, "9 *7"},
        {"one call of two", INLINED LINE_0 BARE ".loc 1 9 1, inlined_at 1 6 1\n" ADD LINE_0 BARE,
         "9 *7; 9 *6"},
        {"a call in a call", ".loc 1 7 1, inlined_at 1 6 1\n" INLINED LINE_0 BARE, "9 7 *6"},
        {"twice", INLINED LINE_0 BARE LINE_0 BARE, "9 *7"},
        {"line 0 twice", INLINED LINE_0 LINE_0 BARE, "9 *7"},
        {"line 0 of another file", INLINED ".loc 3 0 9\n" ADD BARE, "9 *7"},
        {"no line 0", INLINED BARE, "*9"},
        {"another place between", INLINED LINE_0 ".loc 1 10 1\n" BARE, "*9"},
        {"another line", INLINED LINE_0 ".loc 1 10 1\n" READ, "*10"},
        {"another column", INLINED LINE_0 ".loc 1 9 2\n" READ, "*9"},
        {"another file", INLINED LINE_0 ".loc 5 9 1\n" READ, "*9"},
        {"a place that says where it was inlined to",
         INLINED LINE_0 ".loc 1 9 1, inlined_at 1 6 1\n" READ, "9 *6"},
        {"the kernel's own", ".loc 1 9 1\n" ADD LINE_0 BARE, "*9"},
        {"the first place", LINE_0 BARE, "*9"},
        {"another kernel's place",
         INLINED LINE_0 WAIT PTX_KERNEL_END
         ".visible .entry other(.param .u64 a) { ld.param.u64 ga, [a];\n" BARE,
         "*9"},
        {"in a function, what stands before it",
         FUNCTION ".loc 1 3 1, inlined_at 1 7 1\n" ADD LINE_0 ".loc 1 3 1\n" READ, "3 *7 30"},
        {"in a function, of another file",
         FUNCTION ".loc 3 9 1, inlined_at 1 7 1\n" ADD LINE_0 ".loc 3 9 1\n" READ, "9 *7 30"},
        {"in a function, perhaps its own", FUNCTION INLINED LINE_0 BARE, "*9 30"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        static struct text body;
        body.length = 0;
        append(&body, "%s.loc 1 8 1\n" WAIT, cases[i].body);
        check_chains(cases[i].title, body.at, NULL, cases[i].expected);
    }
}

TEST(the_nearest_caller_is_meant)
{
    /* One helper line, 12, inlined to one line, 9, of a function that is inlined twice. */
    check_chains("two ways to one line",
                 ".loc 1 9 1, inlined_at 1 6 1\n.loc 1 12 1, inlined_at 1 9 1\n" READ
                 ".loc 1 9 1, inlined_at 1 7 1\n.loc 1 12 1, inlined_at 1 9 1\n" READ
                 ".loc 1 8 1\n" WAIT,
                 NULL, "12 9 *6; 12 9 *7");
}

TEST(long_chains_keep_both_ends)
{
    static struct text body;
    for (unsigned depth = 16; depth <= 40; depth += 8) {
        body.length = 0;
        for (unsigned i = 1; i < depth; i++) {
            append(&body, ".loc 1 %u 1, inlined_at 1 %u 1\n", 10 + i, 9 + i);
        }
        append(&body, READ ".loc 1 11 1, inlined_at 1 10 1\n.loc 1 3 1, inlined_at 1 11 1\n" WAIT);
        check_chains("long", body.at, NULL,
                     depth == 16   ? "25 24 23 22 21 20 19 18 17 16 15 14 13 *12 11 10"
                     : depth == 24 ? "33 32 31 30 29 28 27 26 - 17 16 15 14 13 *12 11 10"
                     : depth == 32 ? "41 40 39 38 37 36 35 34 - 17 16 15 14 13 *12 11 10"
                                   : "49 48 47 46 45 44 43 42 - 17 16 15 14 13 *12 11 10");
    }
    /* They differ at their outer ends only. */
    body.length = 0;
    for (unsigned outer = 2; outer <= 4; outer++) {
        append(&body, ".loc 1 10 1, inlined_at 1 %u 1\n", outer);
        for (unsigned i = 1; i < 20; i++) {
            append(&body, ".loc 1 %u 1, inlined_at 1 %u 1\n", 10 + i, 9 + i);
        }
        append(&body, READ);
    }
    append(&body, ".loc 1 8 1\n" WAIT);
    check_chains("three ways", body.at, NULL,
                 "29 28 27 26 25 24 23 22 - 16 15 14 13 12 11 10 *2; "
                 "29 28 27 26 25 24 23 22 - 16 15 14 13 12 11 10 *3; "
                 "29 28 27 26 25 24 23 22 - 16 15 14 13 12 11 10 *4");
}

TEST(the_line_beside_the_wait_comes_first)
{
    check_chains("both in one inlined function",
                 ".loc 1 20 1, inlined_at 1 7 1\n.loc 1 30 1, inlined_at 1 20 1\n" READ
                 ".loc 1 21 1, inlined_at 1 7 1\n" WAIT,
                 NULL, "30 *20 7");
    check_chains("the deepest of two waits",
                 ".loc 1 20 1, inlined_at 1 7 1\n.loc 1 30 1, inlined_at 1 20 1\n" READ
                 ".loc 1 21 1, inlined_at 1 7 1\n" WAIT ".loc 1 8 1\n" WAIT,
                 NULL, "30 *20 7");
    check_chains("at the very line of the wait", ".loc 1 20 1, inlined_at 1 7 1\n" READ WAIT, NULL,
                 "*20 7");
    check_chains("no wait", ".loc 1 20 1, inlined_at 1 7 1\ngriddepcontrol.launch_dependents;\n",
                 NULL, "20 *7");
    check_chains("a function that waits is called",
                 ".loc 1 20 1, inlined_at 1 7 1\n" READ ".loc 1 21 1, inlined_at 1 7 1\n" WAIT,
                 NULL, "*20 7");
}

TEST(headers_do_not_come_first)
{
    check_chains("CUDA's own",
                 ".loc 2 20 1, inlined_at 1 7 1\n" READ ".loc 2 21 1, inlined_at 1 7 1\n" WAIT,
                 NULL, "20 *7");
    check_chains("a library that is not known to be one",
                 ".loc 3 20 1, inlined_at 1 7 1\n" READ ".loc 3 21 1, inlined_at 1 7 1\n" WAIT,
                 NULL, "*20 7");
    check_chains("a library",
                 ".loc 3 20 1, inlined_at 1 7 1\n" READ ".loc 3 21 1, inlined_at 1 7 1\n" WAIT,
                 "lib/*", "20 *7");
    check_chains("templates that come with CUDA",
                 ".loc 4 20 1, inlined_at 1 7 1\n" READ ".loc 4 21 1, inlined_at 1 7 1\n" WAIT,
                 NULL, "20 *7");
    check_chains("a user's function in a library's kernel",
                 ".loc 1 20 1, inlined_at 3 7 1\n" READ ".loc 3 8 1\n" WAIT, "lib/*", "*20 7");
    check_chains("a library's kernel", ".loc 3 20 1, inlined_at 3 7 1\n" READ ".loc 3 8 1\n" WAIT,
                 "lib/*", "20 *7");
    check_chains("CUDA's own in a library's kernel",
                 ".loc 2 20 1, inlined_at 4 9 1\n" READ ".loc 4 8 1\n" WAIT, NULL, "20 *9");
    check_chains("nothing else", ".loc 2 20 1\n" READ ".loc 2 8 1\n" WAIT, NULL, "*20");
}

TEST(names_of_files_are_read_as_compilers_write_them)
{
    static const struct {
        const char *written, *meant;
    } names[] = {{"\\303\\274 \\\"\\\\.cu", "\303\274 \"\\.cu"},
                 {"C:\\\\x\\\\y.cu", "C:\\x\\y.cu"},
                 {"C:\\k.cu", "C:\\k.cu"},
                 {"a\\0b\\78\\1234", "ab\a8S4"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        static struct text text;
        text.length = 0;
        append(&text, "%s.loc 1 7 1\n" READ WAIT "%s.file 1 \"%s\"\n", PTX_HEADER PTX_KERNEL_BEGIN,
               PTX_KERNEL_END, names[i].written);
        pdl_inspection *inspection = inspect_text(text.at, NULL);
        assert_true(pdl_inspection_finding_count(inspection) > 0);
        const pdl_lint_finding *finding = pdl_inspection_finding(inspection, 0);
        assert_string_equal(finding->places[0]->file, names[i].meant);
    }
}
