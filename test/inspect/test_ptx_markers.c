/* SPDX-License-Identifier: MIT */
/* What the caller and the source say beside the code: constant parameters, findings that are allowed,
 * kernels that are overlapped; and code for targets that cannot wait. */
#include "ptx_support.h"

#define WAIT "griddepcontrol.wait;\n"
#define READ "ld.global.u32 r, [ga];\n"

/* ---- constants ------------------------------------------------------------------------------ */

static const struct ptx_case cases1[] = {
    /* Reads of marked parameters are no findings. */
    {"a read", PTX_KERNEL("ld.param.u64 x, [a];\n// pdl:constant x\n" READ WAIT), ""},
    {"by another register that holds it", PTX_KERNEL("// pdl:constant ga\n" READ WAIT), ""},
    {"with an offset",
     PTX_KERNEL("// pdl:constant ga\nld.global.u32 r, [ga+4]; mad.wide.u32 "
                "y, t, 4, ga; ld.global.u32 r, [y];\n" WAIT),
     ""},
    {"wherever the marker stands", PTX_KERNEL(READ WAIT "// pdl:constant ga\n"), ""},
    {"in code", PTX_KERNEL("{ .reg .b64 pdl_constant; mov.b64 pdl_constant, ga; }\n" READ WAIT),
     ""},
    {"in code, of another",
     PTX_KERNEL("{ .reg .b64 pdl_constant; mov.b64 pdl_constant, gb; }\n" READ WAIT),
     "read-before-wait warning 4 a"},
    {"in code, by another name",
     PTX_KERNEL("{ .reg .b64 pdl_constants; mov.b64 pdl_constants, ga; }\n" READ WAIT),
     "read-before-wait warning 4 a"},
    {"with blanks", PTX_KERNEL("\t//   pdl:constant ga  \r\n" READ WAIT), ""},
    {"another parameter", PTX_KERNEL("// pdl:constant gb\n" READ WAIT),
     "read-before-wait warning 4 a"},
    {"a write", PTX_KERNEL("// pdl:constant ga\nst.global.u32 [ga], 1;\n" WAIT),
     "write-before-wait warning 4 a"},
    {"one of two",
     PTX_KERNEL("// pdl:constant ga\nselp.b64 y, ga, gb, p; ld.global.u32 r, "
                "[y];\n" WAIT),
     "read-before-wait warning 4"},
    {"both of two",
     PTX_KERNEL("// pdl:constant ga\n// pdl:constant gb\nselp.b64 y, ga, gb, p; "
                "ld.global.u32 r, [y];\n" WAIT),
     ""},
    {"what it points to points elsewhere",
     PTX_KERNEL("// pdl:constant ga\nld.global.u64 y, [ga]; ld.global.u32 r, [y];\n" WAIT),
     "read-before-wait warning 4 a"},
    {"a non-coherent load after the wait",
     PTX_KERNEL("// pdl:constant ga\n" WAIT "ld.global.nc.u32 r, [ga];\n"), ""},
    {"by threads that do not wait",
     PTX_KERNEL("// pdl:constant ga\nsetp.eq.u32 p, t, 0;\n"
                "@p bra A;\n" WAIT "A:\n" READ),
     ""},
    {"by a grid that does not wait",
     PTX_KERNEL("// pdl:constant ga\nsetp.eq.u32 p, n, 0;\n@p bra A;\n" WAIT "A:\n" READ),
     "no-wait warning 5"},
    {"one field of a struct",
     PTX_HEADER ".entry k(.param .align 8 .b8 s[16])\n{\nld.param.u64 x, [s]; ld.param.u64 y, "
                "[s+8];\n// pdl:constant y\nld.global.u32 r, [x];\nld.global.u32 r, "
                "[y];\n" WAIT "}\n",
     "read-before-wait warning 6 s"},
    {"in a function, for its callers",
     PTX_HEADER ".func f(.param .u64 x)\n{\nld.param.u64 y, [x];\n// pdl:constant y\n"
                "ld.u32 r, [y]; ret;\n}\n" PTX_KERNEL_BEGIN
                ".param .b64 q; st.param.b64 [q], ga; call f, (q);\n" READ WAIT PTX_KERNEL_END,
     "read-before-wait warning 10 a"},
    {"other comments",
     PTX_KERNEL("// constant ga\n// pdl:constant\n// pdl:constantga\n"
                "// pdl:\n/* pdl:constant ga */\n" READ WAIT),
     "read-before-wait warning 8 a"},
};
PTX_TESTS(cases1, SHOW_FINDINGS)

static void check_constant(const char *constant, const char *expected)
{
    static const char text[] = PTX_KERNEL(READ "ld.global.u32 r, [gb];\n" WAIT);
    const char *constants[] = {constant};
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    options.constant_params = constants;
    options.constant_param_count = 1;
    assert_found(constant, text, strlen(text), &options, SHOW_FINDINGS, expected);
}

TEST(parameters_are_made_constant_by_the_caller)
{
    static const char both[] = "read-before-wait warning 3 a\nread-before-wait warning 4 b";
    static const char first[] = "read-before-wait warning 3 a";
    static const char second[] = "read-before-wait warning 4 b";
    check_constant("a", second);
    check_constant("b", first);
    check_constant("1", second);
    check_constant("2", first);
    check_constant("k:a", second);
    check_constant("k:2", first);
    check_constant("*:a", second);
    check_constant("[jk]:1", second);
    check_constant("c", both);
    check_constant("0", both);
    check_constant("4", both);
    check_constant("12", both);
    check_constant("", both);
    check_constant(":", both);
    check_constant("l:a", both);
    check_constant("k:", both);
    check_constant("18446744073709551617", both);
}

/* ---- allowed findings ------------------------------------------------------------------------ */

#define FILES       ".file 1 \"a.cu\"\n.file 2 \"b.cu\"\n"
#define LOC(line)   ".loc 1 " #line " 1\n"
#define LINES(body) PTX_HEADER FILES PTX_KERNEL_BEGIN body PTX_KERNEL_END

/* As in the PTX of a program; the number is the rule's. */
#define ALLOW(number) "{ .reg .b32 pdl_allow; mov.b32 pdl_allow, " number "; }\n"

static const struct ptx_case cases2[] = {
    /* Findings are allowed by markers. */
    {"in the whole kernel, without lines",
     PTX_KERNEL(READ "// pdl:allow read-before-wait: it is right\n" WAIT),
     "read-before-wait warning 3 a allowed"},
    {"of another rule", PTX_KERNEL("// pdl:allow write-before-wait: no\n" READ WAIT),
     "read-before-wait warning 4 a"},
    {"in code", PTX_KERNEL(READ ALLOW("-1124727476") WAIT), "read-before-wait warning 3 a allowed"},
    {"in code, unsigned", PTX_KERNEL(READ ALLOW("3170239820") WAIT),
     "read-before-wait warning 3 a allowed"},
    {"in code, of another rule", PTX_KERNEL(ALLOW("1431494165") READ WAIT),
     "read-before-wait warning 4 a"},
    {"in code, of a rule that is none", PTX_KERNEL(ALLOW("7") READ WAIT),
     "read-before-wait warning 4 a"},
    {"in code, on the next line", LINES(LOC(7) ALLOW("-1124727476") LOC(8) READ WAIT),
     "read-before-wait warning 8 a allowed"},
    {"in code, two lines away", LINES(LOC(7) ALLOW("-1124727476") LOC(9) READ WAIT),
     "read-before-wait warning 8 a"},
    {"of a rule that is none", PTX_KERNEL("// pdl:allow read: no\n" READ WAIT),
     "read-before-wait warning 4 a"},
    {"on the same line", LINES(LOC(7) "// pdl:allow read-before-wait: yes\n" READ LOC(8) WAIT),
     "read-before-wait warning 7 a allowed"},
    {"on the next line", LINES(LOC(7) "// pdl:allow read-before-wait: yes\n" LOC(8) READ WAIT),
     "read-before-wait warning 8 a allowed"},
    {"two lines away", LINES(LOC(7) "// pdl:allow read-before-wait: no\n" LOC(9) READ WAIT),
     "read-before-wait warning 8 a"},
    {"on the line before", LINES(LOC(7) "// pdl:allow read-before-wait: no\n" LOC(6) READ WAIT),
     "read-before-wait warning 8 a"},
    {"in another file", LINES(LOC(7) "// pdl:allow read-before-wait: no\n.loc 2 7 1\n" READ WAIT),
     "read-before-wait warning 8 a"},
    {"where it was inlined to",
     LINES(LOC(20) "// pdl:allow read-before-wait: yes\n"
                   ".loc 2 3 1, function_name L, inlined_at 1 20 1\n" READ LOC(21) WAIT),
     "read-before-wait warning 8 a allowed"},
};
PTX_TESTS(cases2, SHOW_FINDINGS)

/* The device header writes the comment with the reason first. */
TEST(a_marker_in_a_comment_and_in_code_is_one)
{
    static const char text[] =
        PTX_KERNEL("// pdl:allow no-wait: why\n" ALLOW("2064193025") ALLOW("564900417") WAIT);
    pdl_inspection *inspection = inspect_text(text, NULL);
    assert_int_equal(pdl_inspection_marker_count(inspection), 2);
    assert_string_equal(pdl_inspection_marker(inspection, 0)->reason, "why");
    assert_int_equal(pdl_inspection_marker(inspection, 0)->used, 0);
    assert_string_equal(pdl_inspection_marker(inspection, 1)->text, "partial-wait");
    assert_int_equal(pdl_inspection_marker(inspection, 1)->used, 1); /* is not reported */
}

TEST(markers_tell_whether_they_are_needed)
{
    static const char text[] = LINES(
        LOC(7) "// pdl:allow read-before-wait:  it is \"right\": twice\r\n" READ READ
            LOC(9) "// pdl:allow exit-before-wait\n" LOC(12) "// pdl:allow nonsense: why\n" LOC(
                12) "// pdl:allow nonsense: again\n" WAIT);
    static const struct {
        const char *origin, *text, *reason;
        uint32_t used;
    } expected[] = {
        {"a.cu:7", "read-before-wait", "it is \"right\": twice", 1},
        {"a.cu:9", "exit-before-wait", "", 0},
        {"a.cu:12", "nonsense", "why", 0},
    };
    pdl_inspection *inspection = inspect_text(text, NULL);
    assert_int_equal(pdl_inspection_marker_count(inspection), COUNT_OF(expected));
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        const pdl_lint_suppression *marker = pdl_inspection_marker(inspection, i);
        assert_string_equal(marker->origin, expected[i].origin);
        assert_string_equal(marker->text, expected[i].text);
        assert_string_equal(marker->reason, expected[i].reason);
        assert_int_equal(marker->used, expected[i].used);
    }
    const pdl_lint_finding *finding = pdl_inspection_finding(inspection, 1);
    assert_non_null(finding);
    assert_int_equal(finding->rule, PDL_LINT_READ_BEFORE_WAIT); /* behind no-trigger */
    assert_non_null(finding->suppressed);
    assert_string_equal(finding->suppressed, "it is \"right\": twice");
}

/* ---- non-coherent loads ----------------------------------------------------------------------- */

static const struct ptx_case cases3[] = {
    /* Non coherent loads are found. */
    {"after the wait", PTX_KERNEL(WAIT "ld.global.nc.u32 r, [ga];\n"), "nc-after-wait warning 4 a"},
    {"with a cache hint",
     PTX_KERNEL(WAIT "ld.global.L1::no_allocate.L2::128B.nc.v4.u32 {r, r, "
                     "r, r}, [gb+16];\n"),
     "nc-after-wait warning 4 b"},
    {"ldu", PTX_KERNEL(WAIT "ldu.global.u32 r, [gb];\n"), "nc-after-wait warning 4 b"},
    {"a texture", PTX_KERNEL(WAIT "tex.1d.v4.f32.s32 {r, r, r, r}, [x, {t}];\n"),
     "nc-after-wait warning 4"},
    {"a surface is coherent enough", PTX_KERNEL(WAIT "suld.b.1d.b32.trap {r}, [x, {t}];\n"), ""},
    {"before the wait", PTX_KERNEL("ld.global.nc.u32 r, [ga];\n" WAIT),
     "read-before-wait warning 3 a"},
    {"moved above the wait", LINES(LOC(9) "ld.global.nc.u32 r, [ga];\n" LOC(8) WAIT),
     "nc-after-wait warning 6 a"},
    {"not moved", LINES(LOC(7) "ld.global.nc.u32 r, [ga];\n" LOC(8) WAIT),
     "read-before-wait warning 6 a"},
    {"a plain load is not moved", LINES(LOC(9) "ld.global.u32 r, [ga];\n" LOC(8) WAIT),
     "read-before-wait warning 6 a"},
};
PTX_TESTS(cases3, SHOW_FINDINGS)

/* ---- overlapped, old targets, facts ----------------------------------------------------------- */

TEST(kernels_that_are_overlapped_have_to_wait)
{
    static const char text[] =
        PTX_HEADER ".entry _Z3fc1v()\n{\nret;\n}\n.entry _Z3fc2v()\n{\nret;\n"
                   "}\n.entry norm()\n{\n" WAIT "ret;\n}\n";
    static const char *const patterns[] = {"*fc1*", "nor?"};
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    options.overlapped = patterns;
    options.overlapped_count = COUNT_OF(patterns);
    assert_found("overlapped", text, strlen(text), &options, SHOW_FINDINGS,
                 "no-wait warning 2\nno-wait note 6");
}

#define OLD(body) ".version 8.7\n.target sm_89\n.entry k()\n{\n" body "ret;\n}\n"

static const struct ptx_case cases4[] = {
    /* Code for older targets cannot wait. */
    {"a wait", OLD(WAIT), "compiled-out error 5"},
    {"a trigger", OLD("griddepcontrol.launch_dependents;\n"), "compiled-out error 5"},
    {"two on a line", OLD("griddepcontrol.wait; griddepcontrol.wait;\n"),
     "compiled-out error 5 x2"},
    {"accesses before it are not the trouble", OLD("ld.global.u32 r, [x];\n" WAIT),
     "compiled-out error 6"},
    {"neither", OLD("ld.global.u32 r, [x];\n"), ""},
};
PTX_TESTS(cases4, SHOW_FINDINGS)

TEST(code_for_older_targets_cannot_wait)
{
    static const char *const pattern = "k";
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    options.overlapped = &pattern;
    options.overlapped_count = 1;
    assert_found("overlapped", OLD(""), strlen(OLD("")), &options, SHOW_FINDINGS,
                 "compiled-out warning 3");
}

TEST(facts_alone_come_without_findings)
{
    static const char text[] = PTX_KERNEL(READ WAIT);
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    options.flags = PDL_INSPECT_FACTS_ONLY;
    assert_found("facts", text, strlen(text), &options, SHOW_FACTS | SHOW_NO_TRIGGER,
                 "k(3) line 2: waits yes, always yes, triggers no, 1+0");
}
