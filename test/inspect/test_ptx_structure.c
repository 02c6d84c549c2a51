/* SPDX-License-Identifier: MIT */
/* Everything that PTX text is made of is read, and means what it means. */
#include "ptx_support.h"

#define WAIT  "griddepcontrol.wait;\n"
#define READ  "ld.global.u32 r, [ga];\n"
#define FOUND "read-before-wait warning "

static const struct ptx_case cases1[] = {
    /* Kernels and functions are found however they are declared. */
    {"kernels of all linkages",
     PTX_HEADER ".visible .entry a()\n{ " WAIT "}\n.weak .entry b() { " WAIT "}\n.entry c { " WAIT
                "}\n.visible\n.entry\nd\n(\n)\n{\n" WAIT "}\n",
     "a(0) line 2: waits yes, always yes, triggers no, 1+0\n"
     "b(0) line 5: waits yes, always yes, triggers no, 1+0\n"
     "c(0) line 7: waits yes, always yes, triggers no, 1+0\n"
     "d(0) line 11: waits yes, always yes, triggers no, 1+0"},
    {"parameters of all kinds",
     PTX_HEADER ".entry k(.param .u64 .ptr .global .align 16 a, .param .align 8 .b8 s[24],\n"
                "\t.param .f32 f, .param .b8 c[0], .param .u16 h) { " WAIT "}\n",
     "k(5) line 2: waits yes, always yes, triggers no, 1+0"},
    {"performance directives",
     PTX_HEADER ".entry k()\n.maxntid 256, 1, 1\n.reqntid 256\n.minnctapersm 2\n.maxnreg 64\n"
                ".reqnctapercluster 2, 1, 1\n.explicitcluster\n.maxclusterrank 8\n"
                ".pragma \"nounroll; { (\";\n.blocksareclusters\n.later(1, {2}) { " WAIT "}\n",
     "k(0) line 2: waits yes, always yes, triggers no, 1+0"},
    {"prototypes are no kernels",
     PTX_HEADER ".extern .entry k();\n.entry k() { " WAIT "}\n.extern .func f(.param .b32 x);\n"
                ".weak .func (.param .b32 o) f2(.reg .b32 x, .reg .b32 y) { ret; }\n"
                ".func .attribute(.unified(0xA, 0xB)) f3 { ret; }\n",
     "k(0) line 3: waits yes, always yes, triggers no, 1+0"},
    {"directives that are not known",
     PTX_HEADER ".later 5, \"x\";\n.visible .later2 { { nested } ( [ ] ) }\n.entry k() { " WAIT
                "}\n.alias f, k;\n.pragma \"x\";\n.section .debug_abbrev\n{\n.b8 1 // }\n}\n",
     "k(0) line 4: waits yes, always yes, triggers no, 1+0"},
    {"variables of all spaces",
     PTX_HEADER ".visible .global .align 4 .u32 a = 5, b[2][3] = {{1, 2, 3}, {4, 5, 6}};\n"
                ".const .f32 c[] = {0f3F800000, 0d3FF0000000000000};\n"
                ".extern .shared .align 16 .b8 d[];\n.global .texref t;\n.global .surfref s;\n"
                ".global .samplerref u;\n.tex .u32 v;\n.common .global .b8 w[4];\n"
                ".global .u64 x = generic(a)+4;\n.global .attribute(.managed) .s32 y;\n"
                ".global .b8 z[2] = {0xFF(a), mask};\n.weak .global .align 1 .b8 e = 1;\n"
                ".entry k() { " WAIT "}\n",
     "k(0) line 14: waits yes, always yes, triggers no, 1+0"},
};
PTX_TESTS(cases1, SHOW_FACTS)

static const struct {
    const char *text;
    int32_t target;
    char suffix;
    uint16_t version;
    uint32_t functions;

} of_the_version_and_the_target_are_kept[] = {
    {".version 8.7\n.target sm_90\n.address_size 64\n", 90, '\0', 87, 0},
    {".version 7.0 .target sm_80, debug\n.func f() { ret; }\n", 80, '\0', 70, 1},
    {".version 8.0\n.target sm_90a\n.extern .func f();\n", 90, 'a', 80, 0},
    {".version 9.0\n.target sm_103f, texmode_independent\n", 103, 'f', 90, 0},
    {"// c\n/* d */ .version\t8.7\n.target map_f64_to_f32, sm_121a\n"
     ".func f(); .func f() { ret; } .func g { ret; }\n.func f();\n.entry k() { ret; }\n",
     121, 'a', 87, 2},
};

TEST_ROWS(the_version_and_the_target_are_kept, of_the_version_and_the_target_are_kept)
{
    const pdl_inspect_image *image = pdl_inspection_image(inspect_text(row->text, NULL), 0);
    assert_int_equal(image->kind, PDL_INSPECT_PTX);
    assert_int_equal(image->target, row->target);
    assert_int_equal(image->target_suffix, row->suffix);
    assert_int_equal(image->ptx_version, row->version);
    assert_int_equal(image->function_count, row->functions);
    assert_int_equal(image->compressed, 0);
    assert_null(image->unread);
}

static const struct ptx_case cases2[] = {
    /* Texts are read however they are laid out. */
    {"an instruction on many lines", PTX_KERNEL("ld.global\n.u32\nr\n,\n[\nga\n+\n4\n]\n;\n" WAIT),
     "read-before-wait warning 3:1 a"},
    {"many on one line", PTX_KERNEL("add.u32 x, x, 1; " READ WAIT),
     "read-before-wait warning 3:18 a"},
    {"comments everywhere",
     PTX_KERNEL(
         "/* * ; ** / */ @/**/p/*\n*/ld.global.u32 // ;\nr, /* [gb] */ [ // x\nga]; // " WAIT WAIT),
     "read-before-wait warning 4:3 a"},
    {"instructions in comments", PTX_KERNEL("// " READ "/* " READ " */\n" WAIT), ""},
    {"lines of a preprocessor", PTX_KERNEL("# 5 \"x.cu\"\n" READ "#pragma }\n" WAIT),
     "read-before-wait warning 4:1 a"},
    {"lines of another system",
     ".version 8.7\r\n.target sm_90\r\n.entry k(.param .u64 a)\r\n{\r\n\tld.param.u64 x, "
     "[a];\r\n\tld.global.u32 r, [x];\r\n\tgriddepcontrol.wait;\r\n}\r\n",
     "read-before-wait warning 6:2 a"},
    {"empty statements", PTX_KERNEL(";;" READ ";" WAIT ";;"), "read-before-wait warning 3:3 a"},
    {"guards", PTX_KERNEL("@ ! p " READ WAIT), "read-before-wait warning 3:7 a"},
};
PTX_TESTS(cases2, SHOW_COLUMNS)

TEST(a_text_may_end_in_nul)
{
    static const char text[] = PTX_KERNEL(READ WAIT) "\0\0\0";
    assert_found("NUL", text, sizeof(text), NULL, SHOW_FINDINGS, "read-before-wait warning 3 a");
    static const char inside[] = PTX_HEADER "\0"
                                            ".entry k() { ret; }\n";
    const struct bytes bytes = {(unsigned char *)inside, sizeof(inside) - 1};
    assert_not_inspected(&bytes, PDL_ERROR_INVALID_IMAGE, "a character that is not part of PTX");
}

static const struct ptx_case cases3[] = {
    /* Operands of all forms are read. */
    {"vectors", PTX_KERNEL("ld.global.v4.f32 {r, _, %f3, %f4}, [ga+16];\n" WAIT), FOUND "3 a"},
    {"the sink", PTX_KERNEL("atom.global.add.u32 _, [ga], 1;\n" WAIT),
     "write-before-wait warning 3 a"},
    {"two results", PTX_KERNEL("elect.sync _|q, -1; setp.eq.and.u32 q|r, t, 0, !p;\n" READ WAIT),
     FOUND "4 a"},
    {"literals",
     PTX_KERNEL("mov.f32 f, 0f3f800000; mov.f64 d, 0d3ff0000000000000; add.f32 f, f, 1.5; "
                "mov.f64 d, -1.5E-10; mov.u32 x, 0xFFu; mov.u32 x, 0777; mov.u32 x, 0b101U; "
                "mov.s64 x, -0x8000000000000000;\n" READ WAIT),
     FOUND "4 a"},
    {"expressions",
     PTX_KERNEL(
         "mov.u32 x, (1 + 2) * 3 << 4 | ~5 & 6 ^ 7 ? 8 : 9; mov.u32 x, WARP_SZ - 1;\n" READ WAIT),
     FOUND "4 a"},
    {"offsets of all kinds",
     PTX_KERNEL("ld.global.u32 r, [ga+-4]; ld.global.u32 r, [ga-4]; "
                "ld.global.u32 r, [ga+0x10];\n" WAIT),
     FOUND "3 a x3"},
    {"parts of vectors", PTX_KERNEL("mov.u32 x, y.x; mov.b64 {x, y}, z;\n" READ WAIT), FOUND "4 a"},
    {"opcodes with colons and numbers",
     PTX_KERNEL("ld.global.L1::evict_last.L2::cache_hint.L2::128B.v2.u64 {x, y}, [ga], z;\n"
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::"
                "bytes.multicast::cluster.L2::cache_hint [s], [gb, {t, c}], [m], h, z;\n" WAIT),
     FOUND "3 a\n" FOUND "4 b"},
    {"instructions that are not known",
     PTX_KERNEL("later.global.thing::x.v9 {a1, b1}, [ga, {c1, d1}], 5, (x, y), !p;\n" READ WAIT),
     FOUND "3 a\n" FOUND "4 a"},
    /* Branches of all forms are followed. */
    {"bra.uni", PTX_KERNEL("bra.uni A;\n" READ "A:\n" WAIT), ""},
    {"backwards", PTX_KERNEL("bra B;\nA:\n" READ WAIT "ret;\nB:\nbra A;\n"), FOUND "5 a"},
    {"labels of compilers", PTX_KERNEL("bra $L__BB0_2;\n" READ "$L__BB0_2:\n" WAIT), ""},
    {"several labels in a place", PTX_KERNEL("bra C;\nA: B : C:ret;\n" READ WAIT),
     "no-wait note 2"},
    {"labels at the end", PTX_KERNEL(WAIT "bra A;\n" READ "A:"), ""},
    {"a table of branches",
     PTX_KERNEL("brx.idx.uni t, ts;\nts: .branchtargets A, B;\nA:\n" READ "B:\n" WAIT),
     FOUND "6 a"},
    {"a table that two branches share",
     PTX_KERNEL("ts: .branchtargets A, B;\n@p brx.idx t, ts;\nbrx.idx t, ts;\n" READ
                "A:\nB:\n" WAIT),
     ""},
    {"ret and exit end a path",
     PTX_KERNEL("@p bra A;\nret;\n" READ "A:\n@q bra B;\nexit;\n" READ "B:\n" WAIT),
     "no-wait note 3\nno-wait note 7"},
    {"trap ends one", PTX_KERNEL("@p bra A;\ntrap;\n" READ "A:\n" WAIT), ""},
    {"code without a name is not come to", PTX_KERNEL("bra A;\nB:\n" READ "bra B;\nA:\n" WAIT), ""},
    /* Scopes have names of their own. */
    {"a register that hides one",
     PTX_KERNEL("{\n.reg .b64 ga;\nmov.u64 ga, gb;\nld.global.u32 r, [ga];\n}\n" READ WAIT),
     FOUND "6 b\n" FOUND "8 a"},
    {"registers by the number",
     PTX_KERNEL(".reg .b64 %rd<3>; mov.u64 %rd1, ga;\n{ .reg .b64 %rd<2>; mov.u64 %rd1, gb;\n"
                "ld.global.u32 r, [%rd1];\n}\nld.global.u32 r, [%rd1];\n" WAIT),
     FOUND "5 b\n" FOUND "7 a"},
    {"one that is not hidden",
     PTX_KERNEL("mov.u64 %rd2, ga;\n{ .reg .b64 %rd<2>; mov.u64 %rd1, gb;\n"
                "ld.global.u32 r, [%rd2];\n}\n" WAIT),
     FOUND "5 a"},
    {"labels of the same name",
     PTX_KERNEL("{\nbra D;\n" READ "D:\n}\n{\nbra D;\nld.global.u32 r, [gb];\nD:\n}\n" WAIT), ""},
    {"a label of the scope around it", PTX_KERNEL("{\n{\nbra D;\n}\n" READ "}\nD:\n" WAIT), ""},
    {"a label that hides one",
     PTX_KERNEL("{\nbra D;\n" READ "D:\nbra E;\n}\nD:\n" READ "E:\n" WAIT), ""},
    {"variables in scopes",
     PTX_KERNEL("{ .shared .b32 x[4]; mov.u64 y, x; cvta.shared.u64 y, y; ld.u32 r, [y]; }\n" WAIT),
     ""},
    {"scopes in scopes, empty ones, and one behind another",
     PTX_KERNEL("{{}{{};}}\n" READ "{{" WAIT "}}\n" READ), FOUND "4 a"},
    {"a kernel's register is not a function's",
     PTX_HEADER ".func f(.param .u64 x) { ld.param.u64 ga, [x];\nld.u32 r, [ga];\nret; "
                "}\n" PTX_KERNEL_BEGIN
                ".param .b64 q; st.param.b64 [q], gb; call f, (q);\n" READ WAIT PTX_KERNEL_END,
     FOUND "3 b\n" FOUND "7 a"},
};
PTX_TESTS(cases3, SHOW_FINDINGS)

#define FILES ".file 1 \"a.cu\"\n.file 2 \"dir/b.cuh\", 1700000000, 500\n.file 7 \"c.h\"\n"
#define STRINGS                                                                                    \
    ".section .debug_str\n{\n$L__info_string0:\n.b8 95,90,49\n.b8 102,118,0\nL1: .b8 103\n"        \
    ".b8 0\n}\n"
#define LINES(body) PTX_HEADER FILES PTX_KERNEL_BEGIN body PTX_KERNEL_END STRINGS

static const struct ptx_case cases4[] = {
    /* Places in the source are known. */
    {"a place", LINES(".loc 1 12 5\n" READ WAIT), FOUND "7 a (a.cu:12:5)"},
    {"without a column", LINES(".loc 2 12\n" READ WAIT), FOUND "7 a (dir/b.cuh:12:0)"},
    {"a file whose number is out of order", LINES(".loc 7 3 1\n" READ WAIT), FOUND "7 a (c.h:3:1)"},
    {"a file that is not there", LINES(".loc 5 3 1\n" READ WAIT), FOUND "7 a (?:3:1)"},
    {"inlined", LINES(".loc 2 12 5, function_name $L__info_string0, inlined_at 1 30 9\n" READ WAIT),
     FOUND "7 a (dir/b.cuh:12:5 _Z1fv, a.cu:30:9)"},
    {"inlined twice",
     LINES(".loc 2 12 5, function_name L1, inlined_at 1 30 9\nadd.u32 x, x, 1;\n"
           ".loc 7 1 2, function_name $L__info_string0+0, inlined_at 2 12 5\n" READ WAIT),
     FOUND "9 a (c.h:1:2 _Z1fv, dir/b.cuh:12:5 g, a.cu:30:9)"},
    {"of a function whose name is not there",
     LINES(".loc 2 12 5, function_name L9, inlined_at 1 30 9\n" READ WAIT),
     FOUND "7 a (dir/b.cuh:12:5, a.cu:30:9)"},
    {"line 0 is the compiler's own", LINES(".loc 1 12 5\n.loc 1 0 0\n" READ WAIT),
     FOUND "8 a (a.cu:12:5)"},
    {"the same line in two lines of PTX is one",
     LINES(".loc 1 12 5\n" READ ".loc 1 13 5\nadd.u32 x, x, 1;\n.loc 1 12 9\n" READ WAIT),
     FOUND "7 a x2 (a.cu:12:5)"},
    {"a function's",
     PTX_HEADER FILES ".func f(.param .u64 x) {\n.loc 2 4 1\nld.param.u64 y, [x]; ld.u32 r, [y];"
                      " ret; }\n" PTX_KERNEL_BEGIN
                      ".loc 1 9 1\n.param .b64 q; st.param.b64 [q], ga; call f, "
                      "(q);\n" WAIT PTX_KERNEL_END,
     FOUND "7 a (dir/b.cuh:4:1, a.cu:9:1)"},
};
PTX_TESTS(cases4, SHOW_PLACES)

static const struct ptx_case cases5[] = {
    /* A kernel knows where it begins. */
    {"in its source", LINES(".loc 1 12 5\n" WAIT),
     "k(3) line 5: waits yes, always yes, triggers no, 1+0, a.cu:12:5"},
    {"where its first line was inlined to",
     LINES(".loc 2 12 5, function_name L1, inlined_at 1 30 9\n" WAIT),
     "k(3) line 5: waits yes, always yes, triggers no, 1+0, a.cu:30:9"},
};
PTX_TESTS(cases5, SHOW_FACTS)

/* Directives between the parameters and the body. */
TEST(bounds_of_launches_are_read)
{
#define NONE  .max_threads_per_block = -1
#define OTHER ".maxnreg 40\n.pragma \"nounroll\";\n.later(1, {2})\n"
    static const struct {
        const char *directives;
        pdl_kernel_info bounds;
    } cases[] = {
        {"", {NONE}},
        {OTHER, {NONE}},
        {".maxntid 256", {.max_threads_per_block = 256}},
        {".maxntid 256, 1, 1\n.minnctapersm 2\n.maxclusterrank 4",
         {.max_threads_per_block = 256,
          .min_blocks_per_multiprocessor = 2,
          .max_cluster_blocks = 4}},
        {".maxntid 0x20,8 , 2", {.max_threads_per_block = 512}},
        {".reqntid 128, 2", {.max_threads_per_block = 256, .required_block = {128, 2, 1}}},
        {".explicitcluster", {NONE, .cluster_must_be_set = 1}},
        {".explicitcluster\n" OTHER ".reqnctapercluster 4, 2, 1",
         {NONE, .cluster_must_be_set = 1, .required_cluster = {4, 2, 1}}},
        {".reqnctapercluster 2", {NONE, .required_cluster = {2, 1, 1}}},
        {".blocksareclusters .reqntid 128, 1, 1 .reqnctapercluster 2, 1, 1",
         {.max_threads_per_block = 128,
          .required_block = {128, 1, 1},
          .required_cluster = {2, 1, 1},
          .blocks_are_clusters = PDL_YES}},
        {".maxntid 4294967295, 2, 2\n.minnctapersm 99999999999",
         {.max_threads_per_block = INT32_MAX, .min_blocks_per_multiprocessor = INT32_MAX}},
        {".maxntid\n.maxclusterrank x", {NONE}}, /* without a number */
    };
#undef OTHER
#undef NONE
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[512];
        (void)snprintf(text, sizeof(text),
                       PTX_HEADER ".entry other() .maxntid 8 { ret; }\n.entry k()\n%s\n{ ret; }\n",
                       cases[i].directives);
        assert_bounds(find_kernel(inspect_text(text, NULL), "k")->info, &cases[i].bounds);
    }
}

/* A few thousand labels, tables and registers of one function find each other. */
TEST(large_functions_are_read)
{
    enum { COUNT = 5000 };
    char *text = malloc(COUNT * 100 + 1000);
    assert_non_null(text);
    char *at = text;
    at += sprintf(at, "%s", PTX_HEADER ".entry k(.param .u64 a)\n{\nld.param.u64 %rd0, [a];\n");
    for (int i = 0; i < COUNT; i++) {
        at += sprintf(at, "add.u64 %%rd%d, %%rd%d, 8; @%%p%d bra L%d; L%d:\n", i + 1, i, i,
                      COUNT - 1 - i, i);
    }
    (void)sprintf(at, "ld.global.u32 %%r1, [%%rd%d];\n" WAIT "}\n", COUNT);
    char expected[64];
    (void)snprintf(expected, sizeof(expected), "read-before-wait warning %d a", COUNT + 5);
    assert_found("large", text, strlen(text), NULL, SHOW_FINDINGS, expected);
    free(text);
}
