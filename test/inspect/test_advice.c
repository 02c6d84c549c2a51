/* SPDX-License-Identifier: MIT */
/* What the advice says: it silences the finding that it stands at, and no other. */
#include "ptx_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT        "griddepcontrol.wait;\n"
#define OPTION      "--constant-param "
#define HOLDS_FOR   ", which holds for all pointers in it"
#define OTHERS_MOST 16

/* Reads through `p` on line 6, if the body is one line, and through every other pointer from line 7 on. */
#define TEXT(body)                                                                                 \
    PTX_HEADER "\n.entry k(.param .align 8 .b8 t[160], .param .u64 x, "                            \
               ".param .u64 y) { .reg .u64 p, q, e, g, b, f, d, m, c, i, gx, gy; mov.b64 b, t; "   \
               "ld.param.u64 f, [t]; ld.param.u64 d, [t+72]; ld.param.u64 m, [t+88]; "             \
               "ld.param.u64 c, [t+128]; ld.param.u64 i, [t+136]; ld.param.u64 gx, [x]; "          \
               "ld.param.u64 gy, [y]; mov.u32 n, %tid.x; mul.wide.u32 q, n, 8;\n\n" body           \
               "\nld.global.u32 r, [p];\nld.global.u32 r, [f];\nld.global.u32 r, [d];\n"           \
               "ld.global.u32 r, [m];\nld.global.u32 r, [c];\nld.global.u32 r, [i];\n"             \
               "ld.global.u32 r, [gx];\nld.global.u32 r, [gy];\n" WAIT "ret; }\n"

static const struct {
    const char *title, *text;
    const char *advised;
} cases[] = {
    {"a member", TEXT("ld.param.u64 p, [t+128];"), OPTION "t+128"},
    {"a member of a struct within", TEXT("ld.param.u64 p, [t+136];"), OPTION "t+136"},
    {"an element", TEXT("ld.param.u64 p, [t+96];"), OPTION "t+96"},
    {"an index", TEXT("add.s64 e, b, q; ld.param.u64 p, [e];"), OPTION "t+0"},
    {"an index in another array", TEXT("add.s64 e, b, q; ld.param.u64 p, [e+64];"), OPTION "t+64"},
    {"an index behind its array's address",
     TEXT("add.s64 e, b, 80; add.s64 g, e, q; ld.param.u64 p, [g];"), OPTION "t+80"},
    {"an index from a multiplication", TEXT("mad.wide.u32 e, n, 8, b; ld.param.u64 p, [e+80];"),
     OPTION "t+80"},
    {"bytes that are passed", TEXT("add.s64 e, b, gx; ld.param.u64 p, [e+64];"), OPTION "t+64"},
    {"a loop", TEXT("mov.u64 e, b; L: ld.param.u64 p, [e+80]; add.s64 e, e, 8; @z bra L;"),
     OPTION "t+80"},
    {"the second of an unrolled loop",
     TEXT("mov.u64 e, b; L: ld.param.u64 p, [e+88]; add.s64 e, e, 16; @z bra L;"), OPTION "t+88"},
    {"a loop to lower addresses",
     TEXT("add.s64 e, b, 56; L: ld.param.u64 p, [e]; add.s64 e, e, -8; @z bra L;"),
     OPTION "t" HOLDS_FOR},
    {"one of two members", TEXT("selp.b64 p, f, c, z;"), OPTION "t+0 " OPTION "t+128"},
    {"one of two arrays", TEXT("add.s64 e, b, q; ld.param.u64 p, [e]; @z ld.param.u64 p, [e+64];"),
     OPTION "t+0 " OPTION "t+64"},
    {"one of two parameters", TEXT("selp.b64 p, gx, gy, z;"), OPTION "x " OPTION "y"},
    {"a member or a parameter", TEXT("selp.b64 p, gx, c, z;"), OPTION "x " OPTION "t+128"},
    {"whatever a function gives", TEXT("call (p), elsewhere, (f); selp.b64 p, p, f, z;"), ""},
    {"a member or what a pointer leads to", TEXT("ld.global.u64 p, [gx]; selp.b64 p, p, f, z;"),
     ""},
};

/* The options in an advice, in memory that stays; "" if there is none. */
static const char *options_in(const char *advice)
{
    const char *found = strstr(advice, OPTION);
    return found != NULL ? found : "";
}

static pdl_inspection *inspect_advised(const char *text, const char *advised)
{
    char words[1024];
    const char *constants[OTHERS_MOST];
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    options.constant_params = constants;
    assert_true(strlen(advised) < sizeof(words));
    (void)snprintf(words, sizeof(words), "%s", advised);
    char *end = strchr(words, ',');
    if (end != NULL) {
        *end = '\0';
    }
    for (char *at = strtok(words, " "); at != NULL; at = strtok(NULL, " ")) {
        if (strncmp(at, "--", 2) != 0) {
            constants[options.constant_param_count++] = at;
        }
    }
    return inspect_text(text, &options);
}

static bool is_same(const pdl_lint_finding *a, const pdl_lint_finding *b)
{
    return a->line == b->line && a->rule == b->rule;
}

/* Whether an inspection has the finding at that access. */
static bool has(const pdl_inspection *inspection, const pdl_lint_finding *finding)
{
    bool found = false;
    for (size_t i = 0; i < pdl_inspection_finding_count(inspection) && !found; i++) {
        found = is_same(pdl_inspection_finding(inspection, i), finding);
    }
    return found;
}

/* The pointer of a finding in the list of those that are read in each text; whatever else reads the same
 * pointer goes with it. */
static bool goes_with(const char *options, const pdl_lint_finding *other)
{
    static const struct {
        const char *words[3];
    } known[] = {{{"t+0", NULL}},     {{"t+72", "t+64", NULL}}, {{"t+88", "t+80", NULL}},
                 {{"t+128", NULL}},   {{"t+136", NULL}},        {{OPTION "x", NULL}},
                 {{OPTION "y", NULL}}};
    const uint32_t first = 7;
    bool found = other->line < first || other->line >= first + COUNT_OF(known);
    for (size_t i = 0; !found && known[other->line - first].words[i] != NULL; i++) {
        found = strstr(options, known[other->line - first].words[i]) != NULL;
    }
    return found;
}

static void check_case(size_t index)
{
    pdl_inspection *before = inspect_text(cases[index].text, NULL);
    const size_t count = pdl_inspection_finding_count(before);
    bool checked = false;
    for (size_t i = 0; i < count; i++) {
        const pdl_lint_finding *const finding = pdl_inspection_finding(before, i);
        const char *const options = options_in(finding->advice);
        if (finding->rule != PDL_LINT_READ_BEFORE_WAIT) {
            assert_string_equal(options, "");
            continue;
        }
        if (finding->line == 6) {
            checked = true;
            if (strcmp(options, cases[index].advised) != 0) {
                fail_msg("%s: '%s', not '%s'", cases[index].title, options, cases[index].advised);
            }
        }
        if (*options == '\0') {
            continue;
        }
        pdl_inspection *const after = inspect_advised(cases[index].text, options);
        if (has(after, finding)) {
            fail_msg("%s: '%s' does not silence line %u", cases[index].title, options,
                     (unsigned)finding->line);
        }
        for (size_t j = 0; j < count && strstr(options, HOLDS_FOR) == NULL; j++) {
            const pdl_lint_finding *const other = pdl_inspection_finding(before, j);
            if (!has(after, other) && other->line != 6 && !goes_with(options, other)) {
                fail_msg("%s: '%s' silences line %u, too", cases[index].title, options,
                         (unsigned)other->line);
            }
        }
    }
    if (!checked) {
        fail_msg("%s is no finding", cases[index].title);
    }
}

TEST(advice_silences_its_finding_and_no_other)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        check_case(i);
    }
}

/* A marker on the pointer of the finding does as the option does. */
TEST(a_marker_silences_no_other_array)
{
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    static const struct {
        const char *title, *text;
        uint32_t silenced; /* by the lines' numbers from 6 on, that of the case first */
    } rows[] = {
        {"an element is that element", TEXT("ld.param.u64 p, [t+72];\n// pdl:constant p\n"), 5},
        {"an index is its array",
         TEXT("add.s64 e, b, q; ld.param.u64 p, [e+72];\n"
              "// pdl:constant p\n"),
         5},
        {"an index is no other array",
         TEXT("add.s64 e, b, q; ld.param.u64 p, [e+64];\n"
              "// pdl:constant p\n"),
         1},
        {"an element is no index",
         TEXT("// pdl:constant f\n"
              "add.s64 e, b, q; ld.param.u64 p, [e];\n"),
         2},
        {"what may be any is none",
         TEXT("add.s64 e, b, 56; L: ld.param.u64 p, [e]; add.s64 e, e, "
              "-8; @z bra L;\n// pdl:constant p\n"),
         0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        pdl_inspection *const inspection = inspect_text(rows[i].text, &options);
        uint32_t silenced = (1u << 8) - 1;
        const uint32_t first = 8;
        for (size_t j = 0; j < pdl_inspection_finding_count(inspection); j++) {
            const pdl_lint_finding *const finding = pdl_inspection_finding(inspection, j);
            if (finding->rule == PDL_LINT_READ_BEFORE_WAIT) {
                silenced &= ~(1u << (finding->line - first));
            }
        }
        if (silenced != rows[i].silenced) {
            fail_msg("%s: %#x, not %#x", rows[i].title, silenced, rows[i].silenced);
        }
    }
}

TEST(parts_of_parameters_are_named)
{
    static const char text[] = TEXT("ld.param.u64 p, [t+64];");
    static const struct {
        const char *constant;
        uint32_t silenced; /* p f d m c i x y */
    } rows[] = {
        {"t", 0x3f},         {"t+64", 0x01}, {"t+64:16", 0x05}, {"t+0:160", 0x3f},
        {"k:1+136:8", 0x20}, {"t+", 0},      {"t+x", 0},        {"t+64x", 0},
        {"t+64:", 0},        {"t+64:x", 0},  {"t+64:0", 0},     {"t+-64", 0},
        {"t+4294967360", 0}, {"j:t+64", 0},  {"t+64:8:8", 0},   {"t.data", 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
        options.constant_params = &rows[i].constant;
        options.constant_param_count = 1;
        pdl_inspection *const inspection = inspect_text(text, &options);
        uint32_t silenced = 0xff;
        for (size_t j = 0; j < pdl_inspection_finding_count(inspection); j++) {
            const pdl_lint_finding *const finding = pdl_inspection_finding(inspection, j);
            if (finding->rule == PDL_LINT_READ_BEFORE_WAIT) {
                silenced &= ~(1u << (finding->line - 6));
            }
        }
        if (silenced != rows[i].silenced) {
            fail_msg("%s: %#x, not %#x", rows[i].constant, silenced, rows[i].silenced);
        }
        const bool any = pdl_inspection_matches(inspection, PDL_INSPECT_CONSTANT_PARAMS, 0) > 0;
        assert_true(any || silenced == 0);
    }
}
