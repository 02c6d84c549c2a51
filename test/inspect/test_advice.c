/* SPDX-License-Identifier: MIT */
/* What the advice says: it silences the finding that it stands at, and no other. */
#include "ptx_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT        "griddepcontrol.wait;\n"
#define SOURCE      "pdl-advice-test.cu"
#define OPTION      "--constant-param "
#define HOLDS_FOR   ", which holds for all pointers in it"
#define OTHERS_MOST 16

/* The bytes: flags 0, data 64, counters 128, inner.p 136, inner.n 144, rank 152, ranks 156, all 160. */
#define STRUCTS                                                                                    \
    "struct Inner { const float *p; int n; };\n"                                                   \
    "struct Team { // struct Team { of the words in a comment\n"                                   \
    "    static_words *flags[8]; float *PDL_RESTRICT data[2 ];\n"                                  \
    "    float *const more[6];\n"                                                                  \
    "    unsigned long long int *counters; Inner inner;\n"                                         \
    "    __device__ int size() const { return ranks; }\n"                                          \
    "    int rank = 0, ranks;\n"                                                                   \
    "};\n"
#define KERNEL "__global__ void k(const Team t, const float *x, const float *y)\n{\n}\n"

/* Reads through `p` on line 6, if the body is one line, and through every other pointer from line 7 on. */
#define TEXT(body)                                                                                 \
    PTX_HEADER ".file 1 \"" SOURCE "\"\n.entry k(.param .align 8 .b8 t[160], .param .u64 x, "      \
               ".param .u64 y) { .reg .u64 p, q, e, g, b, f, d, m, c, i, gx, gy; mov.b64 b, t; "   \
               "ld.param.u64 f, [t]; ld.param.u64 d, [t+72]; ld.param.u64 m, [t+88]; "             \
               "ld.param.u64 c, [t+128]; ld.param.u64 i, [t+136]; ld.param.u64 gx, [x]; "          \
               "ld.param.u64 gy, [y]; mov.u32 n, %tid.x; mul.wide.u32 q, n, 8;\n.loc 1 9 1\n" body \
               "\nld.global.u32 r, [p];\nld.global.u32 r, [f];\nld.global.u32 r, [d];\n"           \
               "ld.global.u32 r, [m];\nld.global.u32 r, [c];\nld.global.u32 r, [i];\n"             \
               "ld.global.u32 r, [gx];\nld.global.u32 r, [gy];\n" WAIT "ret; }\n"

static const struct {
    const char *title, *text;
    const char *named, *bytes; /* what is advised with the source and without it */
} cases[] = {
    {"a member", TEXT("ld.param.u64 p, [t+128];"), OPTION "t.counters", OPTION "t+128"},
    {"a member of a struct within", TEXT("ld.param.u64 p, [t+136];"), OPTION "t.inner.p",
     OPTION "t+136"},
    {"an element", TEXT("ld.param.u64 p, [t+96];"), OPTION "t.more[2]", OPTION "t+96"},
    {"an index", TEXT("add.s64 e, b, q; ld.param.u64 p, [e];"), OPTION "t.flags", OPTION "t+0"},
    {"an index in another array", TEXT("add.s64 e, b, q; ld.param.u64 p, [e+64];"), OPTION "t.data",
     OPTION "t+64"},
    {"an index behind its array's address",
     TEXT("add.s64 e, b, 80; add.s64 g, e, q; ld.param.u64 p, [g];"), OPTION "t.more",
     OPTION "t+80"},
    {"an index from a multiplication", TEXT("mad.wide.u32 e, n, 8, b; ld.param.u64 p, [e+80];"),
     OPTION "t.more", OPTION "t+80"},
    {"bytes that are passed", TEXT("add.s64 e, b, gx; ld.param.u64 p, [e+64];"), OPTION "t.data",
     OPTION "t+64"},
    {"a loop", TEXT("mov.u64 e, b; L: ld.param.u64 p, [e+80]; add.s64 e, e, 8; @z bra L;"),
     OPTION "t.more", OPTION "t+80"},
    {"the second of an unrolled loop",
     TEXT("mov.u64 e, b; L: ld.param.u64 p, [e+88]; add.s64 e, e, 16; @z bra L;"), OPTION "t.more",
     OPTION "t+88"},
    {"a loop to lower addresses",
     TEXT("add.s64 e, b, 56; L: ld.param.u64 p, [e]; add.s64 e, e, -8; @z bra L;"),
     OPTION "t" HOLDS_FOR, OPTION "t" HOLDS_FOR},
    {"one of two members", TEXT("selp.b64 p, f, c, z;"), OPTION "t.flags[0] " OPTION "t.counters",
     OPTION "t+0 " OPTION "t+128"},
    {"one of two arrays", TEXT("add.s64 e, b, q; ld.param.u64 p, [e]; @z ld.param.u64 p, [e+64];"),
     OPTION "t.flags " OPTION "t.data", OPTION "t+0 " OPTION "t+64"},
    {"one of two parameters", TEXT("selp.b64 p, gx, gy, z;"), OPTION "x " OPTION "y",
     OPTION "x " OPTION "y"},
    {"a member or a parameter", TEXT("selp.b64 p, gx, c, z;"), OPTION "x " OPTION "t.counters",
     OPTION "x " OPTION "t+128"},
    {"whatever a function gives", TEXT("call (p), elsewhere, (f); selp.b64 p, p, f, z;"), "", ""},
    {"a member or what a pointer leads to", TEXT("ld.global.u64 p, [gx]; selp.b64 p, p, f, z;"), "",
     ""},
};

/* The options in an advice, in memory that stays; "" if there is none. */
static const char *options_in(const char *advice)
{
    const char *found = strstr(advice, OPTION);
    return found != NULL ? found : "";
}

static pdl_inspection *inspect_text(const char *text, const pdl_inspect_options *options)
{
    pdl_inspection *inspection = NULL;
    assert_int_equal(inspect_memory(text, strlen(text), "test.ptx", options, &inspection),
                     PDL_SUCCESS);
    return inspection;
}

static pdl_inspection *inspect_with(const char *text, const char *advised, uint32_t flags)
{
    char words[1024];
    const char *constants[OTHERS_MOST];
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    options.flags = flags;
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
        const char *words[5];
    } known[] = {{{"t.flags", "t+0", NULL}},
                 {{"t.data", "t+72", "t+64", NULL}},
                 {{"t.more", "t+88", "t+80", NULL}},
                 {{"t.counters", "t+128", NULL}},
                 {{"t.inner.p", "t+136", NULL}},
                 {{OPTION "x", NULL}},
                 {{OPTION "y", NULL}}};
    const uint32_t first = 7;
    bool found = other->line < first || other->line >= first + COUNT_OF(known);
    for (size_t i = 0; !found && known[other->line - first].words[i] != NULL; i++) {
        found = strstr(options, known[other->line - first].words[i]) != NULL;
    }
    return found;
}

static void check_case(size_t index, uint32_t flags, const char *wanted)
{
    pdl_inspection *before =
        inspect_text(cases[index].text,
                     &(pdl_inspect_options){.size = sizeof(pdl_inspect_options), .flags = flags});
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
            if (strcmp(options, wanted) != 0) {
                fail_msg("%s: '%s', not '%s'", cases[index].title, options, wanted);
            }
        }
        if (*options == '\0') {
            continue;
        }
        pdl_inspection *const after = inspect_with(cases[index].text, options, flags);
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
        pdl_inspection_destroy(after);
    }
    if (!checked) {
        fail_msg("%s is no finding", cases[index].title);
    }
    pdl_inspection_destroy(before);
}

static void write_source(const char *text)
{
    FILE *const source = fopen(SOURCE, "w");
    assert_non_null(source);
    assert_true(fputs(text, source) >= 0);
    assert_int_equal(fclose(source), 0);
}

static void advice_silences_its_finding_and_no_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        write_source(STRUCTS KERNEL);
        check_case(i, 0, cases[i].named);
        check_case(i, PDL_INSPECT_NO_SOURCES, cases[i].bytes);
    }
    assert_int_equal(unlink(SOURCE), 0);
}

/* A marker on the pointer of the finding does as the option does. */
static void a_marker_silences_no_other_array(void **state)
{
    (void)state;
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    options.flags = PDL_INSPECT_NO_SOURCES;
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
        pdl_inspection_destroy(inspection);
    }
}

static void parts_of_parameters_are_named(void **state)
{
    (void)state;
    static const char text[] = TEXT("ld.param.u64 p, [t+64];");
    static const struct {
        const char *constant;
        uint32_t silenced; /* p f d m c i x y */
    } rows[] = {
        {"t", 0x3f},         {"t+64", 0x01},      {"t+64:16", 0x05},
        {"t+0:160", 0x3f},   {"t.data", 0x05},    {"t.data[0]", 0x01},
        {"t.data[1]", 0x04}, {"t.more", 0x08},    {"k:t.counters", 0x10},
        {"1.inner.p", 0x20}, {"k:1+136:8", 0x20}, {"*.flags", 0x02},
        {"t.data[2]", 0},    {"t.data[", 0},      {"t.data[x]", 0},
        {"t.inner", 0},      {"t.", 0},           {"t.p", 0},
        {"t+", 0},           {"t+x", 0},          {"t+64x", 0},
        {"t+64:", 0},        {"t+64:x", 0},       {"t+64:0", 0},
        {"t+-64", 0},        {"t+4294967360", 0}, {"j:t+64", 0},
        {"x.data", 0},       {"t.rank", 0},       {"t+64:8:8", 0},
        {"t.data[0]x", 0},
    };
    write_source(STRUCTS KERNEL);
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
        pdl_inspection_destroy(inspection);
    }
    assert_int_equal(unlink(SOURCE), 0);
}

/* A struct of which a word is not understood has no members: the bytes say it, and never a wrong name. */
static void members_are_named_only_of_what_is_understood(void **state)
{
    (void)state;
#define ALL "const float *flags[8], *data[8]; int *counters, *p; long rank, ranks;"
    static const struct {
        const char *source;
        bool named;
    } rows[] = {
        {"struct Team { " ALL " };\n" KERNEL, true},
        {"struct\nTeam\n{\npublic: " ALL " Team(int n) : rank(n) {}\n ~Team() {}\n};\n" KERNEL,
         true},
        {"struct Team { const float **flags; int *p[7]; const a::B<float, 3> *data[8];"
         "int *counters, *q; unsigned long rank; int a; short b; unsigned char c[2]; };\n" KERNEL,
         true},
        {"struct Team { " ALL " int one_more; };\n" KERNEL, false},
        {"struct Team : Base { " ALL " };\n" KERNEL, false},
        {"template <int N> struct Team { " ALL " };\n" KERNEL, false},
        {"template <class T>\nstruct Team { " ALL " };\n" KERNEL, false},
        {"#if A\nstruct Team { " ALL " };\n#else\nstruct Team { " ALL " };\n#endif\n" KERNEL,
         false},
        {"struct Team {\n#if A\n" ALL "\n#endif\n};\n" KERNEL, false},
        {"struct Team { virtual void f(); " ALL " };\n" KERNEL, false},
        {"struct Team { " ALL " int flag : 1; };\n" KERNEL, false},
        {"struct Team { const float *flags[N], *data[8]; int *counters, *p; long a, b; "
         "};\n" KERNEL,
         false},
        {"struct Team { union { int *a; int *b; }; " ALL " };\n" KERNEL, false},
        {"struct Team { Other other; " ALL " };\n" KERNEL, false},
        {"struct Team { void (*f)(int); " ALL " };\n" KERNEL, false},
        {"#pragma pack(1)\nstruct Team { " ALL " };\n" KERNEL, false},
        {"struct alignas(8) Team { " ALL " };\n" KERNEL, false},
        {"struct Team { " ALL "\n" KERNEL, false},
        {"struct Team;\n" KERNEL, false},
        {"struct Team { Team team; };\n" KERNEL, false},
        {"struct Team { " ALL
         " };\n__global__ void k(Pair<Team> t, const float *x, const float *y)\n"
         "{\n}\n",
         false},
        {"struct Team { " ALL " };\n__global__ void k(const ns::Team __grid_constant__ t, "
         "const float *x, const float *y)\n{\n}\n",
         true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[4096];
        const char *const kernel = strstr(rows[i].source, "__global__");
        unsigned line = 1;
        for (const char *at = rows[i].source; at < kernel; at++) {
            line += *at == '\n';
        }
        write_source(rows[i].source);
        const char *const body = TEXT("ld.param.u64 p, [t+128];");
        const char *const loc = strstr(body, ".loc 1 9 1");
        (void)snprintf(text, sizeof(text), "%.*s.loc 1 %u 1%s", (int)(loc - body), body, line,
                       loc + strlen(".loc 1 9 1"));
        pdl_inspection *const inspection = inspect_text(text, NULL);
        const char *const wanted = rows[i].named ? OPTION "t.counters" : OPTION "t+128";
        const char *found = "";
        for (size_t j = 0; j < pdl_inspection_finding_count(inspection); j++) {
            const pdl_lint_finding *const finding = pdl_inspection_finding(inspection, j);
            found = finding->line == 6 ? options_in(finding->advice) : found;
        }
        if (strcmp(found, wanted) != 0) {
            fail_msg("%s: '%s'", rows[i].source, found);
        }
        pdl_inspection_destroy(inspection);
    }
    assert_int_equal(unlink(SOURCE), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(advice_silences_its_finding_and_no_other),
        cmocka_unit_test(a_marker_silences_no_other_array),
        cmocka_unit_test(parts_of_parameters_are_named),
        cmocka_unit_test(members_are_named_only_of_what_is_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
