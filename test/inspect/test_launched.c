/* SPDX-License-Identifier: MIT */
/* How kernels are launched, as the caller tells, and what that does to their findings. */
#include "ptx_support.h"

#include "inspect/rules/launched.h"

#define WAIT    "griddepcontrol.wait;\n"
#define TRIGGER "griddepcontrol.launch_dependents;\n"
#define READ    "ld.global.u32 r, [ga];\n"
#define OLD     ".version 8.7\n.target sm_80\n.entry k()\n{\nret;\n}\n"

#define ALL_BEFORE                                                                                 \
    "read-before-wait warning 3 a\nwrite-before-wait warning 4 b\ntrigger-before-wait note 5"

/* What is found in a text where the kernel is in none of the lists, and in each. */
static const struct {
    const char *title, *text;
    const char *unknown, *plain, *said, *seen;
} launches[] = {
    {"a kernel that never waits", PTX_KERNEL(READ), "no-wait note 2", "no-wait note 2 allowed",
     "no-wait warning 2", "no-wait error 2"},
    {"one that triggers too", PTX_KERNEL(TRIGGER READ), "no-wait warning 3",
     "no-wait warning 3 allowed", "no-wait warning 3", "no-wait error 3"},
    {"what is before the wait", PTX_KERNEL(READ "st.global.u32 [gb], 1;\n" TRIGGER WAIT),
     ALL_BEFORE,
     "read-before-wait warning 3 a allowed\nwrite-before-wait warning 4 b allowed\n"
     "trigger-before-wait note 5",
     ALL_BEFORE, ALL_BEFORE},
    {"some threads without the wait",
     PTX_KERNEL("setp.eq.u32 p, t, 0;\n@p bra A; " WAIT "A: " READ), "partial-wait warning 5 a",
     "partial-wait warning 5 a allowed", "partial-wait warning 5 a", "partial-wait warning 5 a"},
    {"a flag around the wait, which may be set where it overlaps",
     PTX_HEADER ".visible .entry k(.param .u32 overlapped)\n{\nld.param.u32 n, [overlapped]; "
                "setp.eq.u32 p, n, 0;\n@p bra A;\n" WAIT "A:\nret;\n}\n",
     "no-wait note 5", "no-wait note 5 allowed", "no-wait warning 5", "no-wait note 5"},
    {"code that is too old", OLD, "", "", "compiled-out warning 3", "compiled-out error 3"},
};

TEST_ROWS(launches_change_what_is_found, launches)
{
    static const char *const names[] = {"other", "k"};
    static const char *const patterns[] = {"[jk]"};
    const char *const text = row->text;
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    assert_found("unknown", text, strlen(text), &options, SHOW_FINDINGS, row->unknown);
    options.launched_plain = names;
    options.launched_plain_count = 2;
    assert_found("seen plainly", text, strlen(text), &options, SHOW_FINDINGS, row->plain);
    options.overlapped = patterns;
    options.overlapped_count = 1;
    assert_found("said to overlap", text, strlen(text), &options, SHOW_FINDINGS, row->said);
    options.plain = patterns;
    options.plain_count = 1;
    assert_found("said to be plain", text, strlen(text), &options, SHOW_FINDINGS, row->plain);
    options.launched_overlapped = names;
    options.launched_overlapped_count = 2;
    assert_found("seen with overlap", text, strlen(text), &options, SHOW_FINDINGS, row->seen);
}

/* ---- names ---------------------------------------------------------------------------------- */

static const struct {
    const char *name, *brief; /* NULL: the name as it is */

} rows_0[] = {
    {"_Z1kPf", NULL},
    {"k", NULL},
    {"", NULL},
    {"_ZN34_GLOBAL__N__68ba3d68_4_a_cu__Z1fPf4anonEPf", "_ZN()4anonEPf"},
    {"_ZN2s134_GLOBAL__N__68ba3d68_4_a_cu__Z1fPf5tanonIfEEvPT_", "_ZN2s1()5tanonIfEEvPT_"},
    {"_ZN12_GLOBAL__N_14anonEPf", "_ZN()4anonEPf"},
    {"__nv_static_23__68ba3d68_4_a_cu__Z1fPf__Z4statPf", "_Z4statPf"},
    {"__nv_static_23__68ba3d68_4_a_cu__Z1fPf__ZN34_GLOBAL__N__68ba3d68_4_a_cu__Z1fPf4anonEPf",
     "_ZN()4anonEPf"},
    {"_ZL4statPf", "_Z4statPf"},
    {"_ZL4statPf__static__0123456789abcdef", "_Z4statPf"},
    {"_ZN99_GLOBAL__N__x", NULL},
    {"_ZN4_GLOBAL__N__x", NULL},
    {"_GLOBAL__N__x", NULL},
    {"__nv_static_", NULL},
    {"__nv_static_9", NULL},
    {"__nv_static_99__x", NULL},
    {"__nv_static_99999999999999999999999__x", NULL},
    {"__nv_static_-1__x", NULL},
    {"__nv_static_1_a_", NULL},
    {"__static__", NULL},
};

TEST_ROWS(names_with_internal_linkage_are_the_same_in_every_compilation, rows_0)
{
    char brief[256];
    const bool is_shorter = pdl_launched_shorten(row->name, brief);
    assert_string_equal(brief, row->brief != NULL ? row->brief : row->name);
    assert_int_equal(is_shorter, row->brief != NULL);
}

#define ANON(hash) "_ZN34_GLOBAL__N__" hash "_4_a_cu__Z1fPf4anonEPf"

TEST(a_name_is_found_in_another_compilation)
{
    static const char text[] = PTX_HEADER
        ".entry " ANON("68ba3d68") "()\n{\nret;\n}\n"
                                   ".entry __nv_static_23__68ba3d68_4_a_cu__Z1fPf__Z4statPf()\n"
                                   "{\nret;\n}\n";
    static const char *const names[] = {ANON("11111111"), "_Z4statPf"};
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    options.launched_overlapped = names;
    options.launched_overlapped_count = COUNT_OF(names);
    assert_found("static", text, strlen(text), &options, SHOW_FINDINGS,
                 "no-wait error 2\nno-wait error 6");
}

TEST(of_two_compilations_the_one_that_is_meant_is_found)
{
    static const char text[] =
        PTX_HEADER ".entry " ANON("11111111") "()\n{\nret;\n}\n"
                                              ".entry " ANON("22222222") "()\n{\nret;\n}\n";
    static const char *const overlapped[] = {ANON("22222222")};
    static const char *const plain[] = {ANON("11111111")};
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    options.launched_overlapped = overlapped;
    options.launched_overlapped_count = 1;
    options.launched_plain = plain;
    options.launched_plain_count = 1;
    assert_found("two", text, strlen(text), &options, SHOW_FINDINGS,
                 "no-wait note 2 allowed\nno-wait error 6");
}

/* ---- facts ---------------------------------------------------------------------------------- */

TEST(entries_tell_what_they_match)
{
    static const char text[] =
        PTX_KERNEL(READ WAIT) ".entry j(.param .u64 a)\n{\n" WAIT "ret;\n}\n";
    static const char *const constants[] = {"a", "k:count", "[xy]", "*:3", "k:*"};
    static const char *const patterns[] = {"nobody", "*", "k"};
    static const char *const names[] = {"j", "nobody"};
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    options.constant_params = constants;
    options.constant_param_count = COUNT_OF(constants);
    options.overlapped = patterns;
    options.overlapped_count = COUNT_OF(patterns);
    options.plain = patterns;
    options.plain_count = 1;
    options.launched_overlapped = names;
    options.launched_overlapped_count = COUNT_OF(names);
    options.launched_plain = names;
    options.launched_plain_count = COUNT_OF(names);
    pdl_inspection *const inspection = inspect_text(text, &options);
    static const uint64_t expected[][6] = {{0}, {2, 1, 0, 1, 3}, {0, 2, 1}, {0}, {1, 0}, {1, 0}};
    for (int list = 0; list <= PDL_INSPECT_LAUNCHED_PLAIN + 1; list++) {
        for (uint64_t i = 0; i < 6; i++) {
            assert_int_equal(pdl_inspection_matches(inspection, (pdl_inspect_list)list, i),
                             list <= PDL_INSPECT_LAUNCHED_PLAIN ? expected[list][i] : 0);
        }
    }
    assert_int_equal(pdl_inspection_kernel(inspection, 0)->launch, PDL_INSPECT_LAUNCH_OVERLAPPED);
    assert_int_equal(pdl_inspection_kernel(inspection, 1)->launch, PDL_INSPECT_LAUNCH_OVERLAPPED);
    assert_int_equal(pdl_inspection_matches(NULL, PDL_INSPECT_PLAIN, 0), 0);
}

TEST(patterns_make_parameters_constant)
{
    static const char text[] = PTX_HEADER
        ".entry k(.param .align 8 .b8 args[16], .param .u64 arg2)\n{\n"
        "ld.param.u64 x, [args]; ld.param.u64 y, [args+8]; ld.param.u64 z, [arg2];\n"
        "ld.global.u32 r, [x];\nld.global.u32 r, [y];\nld.global.u32 r, [z];\n" WAIT "}\n";
    static const struct {
        const char *constant, *expected;
    } cases[] = {
        {"arg?+8", "read-before-wait warning 5 args\nread-before-wait warning 7 arg2"},
        {"k:arg*", ""},
        {"*:*", ""},
        {"j:*", "read-before-wait warning 5 args\nread-before-wait warning 6 args\n"
                "read-before-wait warning 7 arg2"},
        {"[!z]rg2", "read-before-wait warning 5 args\nread-before-wait warning 6 args"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
        options.constant_params = &cases[i].constant;
        options.constant_param_count = 1;
        assert_found(cases[i].constant, text, strlen(text), &options, SHOW_FINDINGS,
                     cases[i].expected);
    }
}

TEST(kernels_tell_whether_they_touch_memory)
{
#define FUNCTION(body)                                                                             \
    ".func f(.param .u64 x)\n{\n.reg .u64 y; ld.param.u64 y, [x];\n" body "ret;\n}\n"
#define CALL ".param .b64 q; st.param.b64 [q], ga; call f, (q);\n"
    static const struct {
        const char *text;
        uint32_t expected;
    } cases[] = {
        {PTX_KERNEL(""), PDL_NO},
        {PTX_KERNEL(READ), PDL_YES},
        {PTX_KERNEL("st.global.u32 [ga], 1;\n"), PDL_YES},
        {PTX_KERNEL("st.u32 [ga], 1;\n"), PDL_YES},
        {PTX_KERNEL("red.global.add.u32 [ga], 1;\n"), PDL_YES},
        {PTX_KERNEL(".shared .u32 s; st.shared.u32 [s], 1; ld.shared.u32 r, [s];\n"), PDL_NO},
        {PTX_KERNEL(WAIT READ), PDL_YES},
        {PTX_KERNEL(WAIT), PDL_NO},
        {PTX_HEADER FUNCTION("ld.global.u32 z, [y];\n") PTX_KERNEL_BEGIN CALL PTX_KERNEL_END,
         PDL_YES},
        {PTX_HEADER FUNCTION(WAIT "ld.global.u32 z, [y];\n") PTX_KERNEL_BEGIN CALL PTX_KERNEL_END,
         PDL_YES},
        {PTX_HEADER FUNCTION("") PTX_KERNEL_BEGIN CALL PTX_KERNEL_END, PDL_NO},
        {PTX_HEADER ".extern .func g;\n" PTX_KERNEL_BEGIN "call g;\n" PTX_KERNEL_END, PDL_UNKNOWN},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        pdl_inspection *const inspection = inspect_text(cases[i].text, NULL);
        const pdl_inspect_kernel *const kernel = pdl_inspection_kernel(inspection, 0);
        if (kernel->touches_memory != cases[i].expected) {
            fail_msg("case %zu: %u", i, (unsigned)kernel->touches_memory);
        }
    }
}

/* In time that goes with their number. */
TEST(many_names_are_looked_up)
{
    enum { COUNT = 100000 };
    static char texts[COUNT][24];
    static const char *names[COUNT];
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "_Z6k%dv", i);
        names[i] = texts[i];
    }
    names[COUNT - 1] = "k";
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    options.launched_overlapped = names;
    options.launched_overlapped_count = COUNT;
    options.launched_plain = names;
    options.launched_plain_count = COUNT;
    assert_found("many", PTX_KERNEL(READ), strlen(PTX_KERNEL(READ)), &options, SHOW_FINDINGS,
                 "no-wait error 2");
}
