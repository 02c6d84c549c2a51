/* SPDX-License-Identifier: MIT */
/* pdl_instrument(): where the wait and the trigger go, and that nothing else changes. */
#include <pdl/instrument.h>

#include "ptx_support.h"

#define HEADER ".version 8.7\n.target sm_90\n.address_size 64\n"
#define BEGIN                                                                                      \
    ".visible .entry k(.param .u64 a, .param .u32 n)\n{\n"                                         \
    "\tld.param.u64 ga, [a];\n\tcvta.to.global.u64 ga, ga;\n\tld.param.u32 n1, [n];\n"             \
    "\tmov.u32 t, %tid.x;\n"
#define END      "}\n"
#define PROLOGUE HEADER ".shared .u32 s[4];\n" BEGIN

static pdl_instrumentation *instrument(const char *text, const pdl_instrument_options *options)
{
    pdl_instrumentation *result = NULL;
    mark_inspect_error();
    const pdl_status status =
        leaves_inspect_error(pdl_instrument(text, strlen(text), "a.ptx", options, &result));
    if (status != PDL_SUCCESS) {
        fail_msg("%s", pdl_inspect_last_error()->message);
    }
    return result;
}

static void assert_text(const pdl_instrumentation *result, const char *expected)
{
    size_t size;
    const char *text = pdl_instrumentation_text(result, &size);
    assert_string_equal(text, expected);
    assert_int_equal(size, strlen(expected));
}

struct shape {
    const char *title;
    const char *body;    /* after BEGIN */
    const char *entry;   /* the same with the wait at the entry */
    const char *hoisted; /* NULL: as `entry` */
    const char *last;    /* the second one with the trigger after the last read; NULL: not tried */
};

#define W "griddepcontrol.wait;"
#define T "griddepcontrol.launch_dependents;"

static const struct shape shapes[] = {
    {"straight", "\tld.global.u32 x, [ga];\n\tst.global.u32 [ga], x;\n\tret;\n",
     "\t" W "\n\tld.global.u32 x, [ga];\n\tst.global.u32 [ga], x;\n\tret;\n", NULL,
     "\t" W "\n\tld.global.u32 x, [ga];\n\t" T "\n\tst.global.u32 [ga], x;\n\tret;\n"},
    {"an early exit waits too",
     "\tsetp.ge.u32 p, t, n1;\n\t@p bra EXIT;\n\tld.global.u32 x, [ga];\n\tst.global.u32 [ga], "
     "x;\nEXIT:\n\tret;\n",
     "\tsetp.ge.u32 p, t, n1;\n\t" W
     "\n\t@p bra EXIT;\n\tld.global.u32 x, [ga];\n\tst.global.u32 [ga], x;\nEXIT:\n\tret;\n",
     NULL,
     "\tsetp.ge.u32 p, t, n1;\n\t" W "\n\t@p bra EXIT;\n\tld.global.u32 x, [ga];\n\t" T
     "\n\tst.global.u32 [ga], x;\nEXIT:\n\tret;\n"},
    {"a guarded ret", "\tsetp.ge.u32 p, t, n1;\n\t@p ret;\n\tst.global.u32 [ga], t;\n\tret;\n",
     "\tsetp.ge.u32 p, t, n1;\n\t" W "\n\t@p ret;\n\tst.global.u32 [ga], t;\n\tret;\n", NULL, NULL},
    {"a guarded access", "\tsetp.ge.u32 p, t, n1;\n\t@!p st.global.u32 [ga], t;\n\tret;\n",
     "\tsetp.ge.u32 p, t, n1;\n\t" W "\n\t@!p st.global.u32 [ga], t;\n\tret;\n", NULL, NULL},
    {"a guard on a line of its own",
     "\tsetp.ge.u32 p, t, n1;\n\t@p // here\n\t  st.global.u32 [ga], t;\n\tret;\n",
     "\tsetp.ge.u32 p, t, n1;\n\t" W "\n\t@p // here\n\t  st.global.u32 [ga], t;\n\tret;\n", NULL,
     NULL},
    {"behind a loop that computes",
     "LOOP:\n\tadd.u32 t, t, 1;\n\tsetp.lt.u32 p, t, n1;\n\t@p bra LOOP;\n\tst.global.u32 [ga], "
     "t;\n\tret;\n",
     "LOOP:\n\tadd.u32 t, t, 1;\n\tsetp.lt.u32 p, t, n1;\n\t@p bra LOOP;\n\t" W
     "\n\tst.global.u32 [ga], t;\n\tret;\n",
     NULL, NULL},
    {"in front of a loop that reads",
     "\tadd.u32 u, t, 1;\nLOOP:\n\tld.global.u32 x, [ga];\n\tsetp.lt.u32 p, x, n1;\n\t@p bra "
     "LOOP;\n\tst.global.u32 [ga], x;\n\tret;\n",
     "\tadd.u32 u, t, 1;\n\t" W
     "\nLOOP:\n\tld.global.u32 x, [ga];\n\tsetp.lt.u32 p, x, n1;\n\t@p bra "
     "LOOP;\n\tst.global.u32 [ga], x;\n\tret;\n",
     NULL,
     "\tadd.u32 u, t, 1;\n\t" W
     "\nLOOP:\n\tld.global.u32 x, [ga];\n\tsetp.lt.u32 p, x, n1;\n\t@p bra "
     "LOOP;\n\t" T "\n\tst.global.u32 [ga], x;\n\tret;\n"},
    {"shared memory and barriers stay before a hoisted wait",
     "\tst.shared.u32 [s], t;\n\tbar.sync 0;\n\tld.shared.u32 x, [s];\n\tst.global.u32 [ga], "
     "x;\n\tret;\n",
     "\t" W "\n\tst.shared.u32 [s], t;\n\tbar.sync 0;\n\tld.shared.u32 x, [s];\n\tst.global.u32 "
     "[ga], x;\n\tret;\n",
     "\tst.shared.u32 [s], t;\n\tbar.sync 0;\n\tld.shared.u32 x, [s];\n\t" W
     "\n\tst.global.u32 [ga], x;\n\tret;\n",
     NULL},
    {"two ways meet in front",
     "\tsetp.ge.u32 p, t, n1;\n\t@p bra B;\n\tst.global.u32 [ga], t;\n\tbra "
     "C;\nB:\n\tst.global.u32 "
     "[ga+4], t;\nC:\n\tret;\n",
     "\tsetp.ge.u32 p, t, n1;\n\t" W
     "\n\t@p bra B;\n\tst.global.u32 [ga], t;\n\tbra C;\nB:\n\tst.global.u32 [ga+4], "
     "t;\nC:\n\tret;\n",
     NULL, NULL},
    {"a table of branches",
     "\tts: .branchtargets B, C;\n\tand.b32 i, t, 1;\n\tbrx.idx i, ts;\nB:\n\tst.global.u32 [ga], "
     "t;\nC:\n\tret;\n",
     "\tts: .branchtargets B, C;\n\tand.b32 i, t, 1;\n\t" W
     "\n\tbrx.idx i, ts;\nB:\n\tst.global.u32 [ga], t;\nC:\n\tret;\n",
     NULL, NULL},
    {"several instructions on a line", "\tadd.u32 t, t, 1; st.global.u32 [ga], t; ret;\n",
     "\tadd.u32 t, t, 1; \n\t" W "\n\tst.global.u32 [ga], t; ret;\n", NULL, NULL},
    {"a label on the line", "\tadd.u32 t, t, 1;\n\tL: st.global.u32 [ga], t;\n\tret;\n",
     "\tadd.u32 t, t, 1;\n\tL: \n\t" W "\n\tst.global.u32 [ga], t;\n\tret;\n", NULL, NULL},
    {"an instruction on several lines", "\tst.global.u32\n\t\t[ga], /* a; b */\n\t\tt;\n\tret;\n",
     "\t" W "\n\tst.global.u32\n\t\t[ga], /* a; b */\n\t\tt;\n\tret;\n", NULL, NULL},
    {"a scope", "\t{\n\t\t.reg .u32 y;\n\t\tld.global.u32 y, [ga]; // read\n\t}\n\tret;\n",
     "\t{\n\t\t.reg .u32 y;\n\t\t" W "\n\t\tld.global.u32 y, [ga]; // read\n\t}\n\tret;\n", NULL,
     "\t{\n\t\t.reg .u32 y;\n\t\t" W "\n\t\tld.global.u32 y, [ga];\n\t\t" T
     " // read\n\t}\n\tret;\n"},
    {"a line of its own ends as the others do", "\tst.global.u32 [ga], t;\r\n\tret;\r\n",
     "\t" W "\n\tst.global.u32 [ga], t;\r\n\tret;\r\n", NULL, NULL},
    {"lines that end with a carriage return",
     "\tadd.u32 t, t, 1;\r\n\tst.global.u32 [ga], t;\r\n\tret;\r\n",
     "\tadd.u32 t, t, 1;\r\n\t" W "\r\n\tst.global.u32 [ga], t;\r\n\tret;\r\n", NULL, NULL},
    {"a register that is named in a comment alone",
     "\t// %envreg2\n\tst.global.u32 [ga], t;\n\tret;\n",
     "\t// %envreg2\n\t" W "\n\tst.global.u32 [ga], t;\n\tret;\n", NULL, NULL},
    {"nothing to wait for", "\tret;\n", "\t" W "\n\tret;\n", NULL, NULL},
    {"no ret at the end", "\tadd.u32 t, t, 1;\n", "\tadd.u32 t, t, 1;\n" W "\n", NULL, NULL},
    {"non-coherent loads",
     "\tld.global.nc.L1::no_allocate.v2.u32 {x, y}, [ga];\n\tldu.global.u32 z, [ga];\n\tret;\n",
     "\t" W "\n\tld.global.L1::no_allocate.v2.u32 {x, y}, [ga];\n\tld.global.u32 z, "
     "[ga];\n\tret;\n",
     NULL, NULL},
    {"a trigger", "\t" T "\n\tst.global.u32 [ga], t;\n\tret;\n",
     "\t" W "\n\t" T "\n\tst.global.u32 [ga], t;\n\tret;\n", NULL,
     "\t" W "\n\t" T "\n\tst.global.u32 [ga], t;\n\tret;\n"},
    {"an opcode that is not known", "\tnewest.op.b32 t, t;\n\tst.global.u32 [ga], t;\n\tret;\n",
     "\t" W "\n\tnewest.op.b32 t, t;\n\tst.global.u32 [ga], t;\n\tret;\n", NULL, NULL},
    {"tensor memory",
     "\ttcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], 32;\n\tret;\n",
     "\t" W "\n\ttcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], 32;\n\tret;\n", NULL,
     NULL},
    {"an end that is a trap",
     "\tsetp.ge.u32 p, t, n1;\n\t@p trap;\n\tst.global.u32 [ga], t;\n\tret;\n",
     "\tsetp.ge.u32 p, t, n1;\n\t@p trap;\n\t" W "\n\tst.global.u32 [ga], t;\n\tret;\n", NULL,
     NULL},
    {"reads on both ways, and a trigger where they meet",
     "\tsetp.ge.u32 p, t, n1;\n\t@p bra B;\n\tld.global.u32 x, [ga];\n\tbra "
     "C;\nB:\n\tld.global.u32 "
     "x, [ga+4];\nC:\n\tst.global.u32 [ga], x;\n\tret;\n",
     "\tsetp.ge.u32 p, t, n1;\n\t" W
     "\n\t@p bra B;\n\tld.global.u32 x, [ga];\n\tbra C;\nB:\n\tld.global.u32 x, "
     "[ga+4];\nC:\n\tst.global.u32 [ga], x;\n\tret;\n",
     NULL,
     "\tsetp.ge.u32 p, t, n1;\n\t" W
     "\n\t@p bra B;\n\tld.global.u32 x, [ga];\n\tbra C;\nB:\n\tld.global.u32 x, [ga+4];\nC:\n\t" T
     "\n\tst.global.u32 [ga], x;\n\tret;\n"},
    {"reads up to the end have no trigger",
     "LOOP:\n\tld.global.u32 x, [ga];\n\tsetp.lt.u32 p, x, n1;\n\t@p bra LOOP;\n\tret;\n",
     "\t" W "\nLOOP:\n\tld.global.u32 x, [ga];\n\tsetp.lt.u32 p, x, n1;\n\t@p bra LOOP;\n\tret;\n",
     NULL,
     "\t" W "\nLOOP:\n\tld.global.u32 x, [ga];\n\tsetp.lt.u32 p, x, n1;\n\t@p bra LOOP;\n\tret;\n"},
};

static void check(const struct shape *shape, int32_t wait, int32_t trigger, const char *expected)
{
    char text[4096], wanted[4096];
    pdl_instrument_options options = PDL_INSTRUMENT_OPTIONS_INIT;
    options.wait = wait;
    options.trigger = trigger;
    (void)snprintf(text, sizeof(text), "%s%s%s", PROLOGUE, shape->body, END);
    (void)snprintf(wanted, sizeof(wanted), "%s%s%s", PROLOGUE, expected, END);
    pdl_instrumentation *result = instrument(text, &options);
    const pdl_instrument_kernel *kernel = pdl_instrumentation_kernel(result, 0);
    if (kernel->action != PDL_INSTRUMENT_DONE) {
        fail_msg("%s", kernel->message);
    }
    assert_text(result, wanted);
    pdl_instrumentation_destroy(result);
    result = instrument(wanted, &options);
    assert_text(result, wanted);
    assert_int_equal(pdl_instrumentation_kernel(result, 0)->action, PDL_INSTRUMENT_WAITS);
    pdl_instrumentation_destroy(result);
}

TEST_ROWS(the_wait_dominates_what_needs_it_and_all_ends, shapes)
{
    check(row, PDL_INSTRUMENT_ENTRY, PDL_INSTRUMENT_NO_TRIGGER, row->entry);
    check(row, PDL_INSTRUMENT_HOIST, PDL_INSTRUMENT_NO_TRIGGER,
          row->hoisted != NULL ? row->hoisted : row->entry);
    if (row->last != NULL) {
        check(row, PDL_INSTRUMENT_ENTRY, PDL_INSTRUMENT_TRIGGER_LAST_READ, row->last);
    }
}

/* A loop that reads, a read on one way, a barrier, a loop that reads, and a write. */
#define PARTS(wait, second, third, last)                                                           \
    PROLOGUE wait "L:\n\tld.global.u32 x, [ga];\n\tsetp.lt.u32 p, x, n1;\n\t@p bra L;\n" second    \
                  "\tsetp.lt.u32 p, x, t;\n\t@p bra M;\n\tld.global.u32 x, [ga+4];\nM:\n" third    \
                  "\tbar.sync 0;\nN:\n\tld.global.u32 y, [ga+8];\n\tsetp.lt.u32 p, y, n1;\n\t@p "  \
                  "bra N;\n" last "\tst.global.u32 [ga], y;\n\tret;\n" END
#define POINT(number) .trigger = PDL_INSTRUMENT_TRIGGER_POINT + (number), .trigger_points = 4

/* Reads of w, which is constant, and writes of y. */
#define TWO_PARAMETERS(wait)                                                                       \
    HEADER ".entry k(.param .u64 w, .param .u64 y)\n{\n\tld.param.u64 gw, [w];\n\t"                \
           "ld.param.u64 gy, [y];\n\tcvta.to.global.u64 gw, gw;\n\tcvta.to.global.u64 gy, gy;\n"   \
           "\tld.global.nc.u32 x, [gw];\n\t" wait "st.global.u32 [gy], x;\n\tret;\n}\n"

#define TEXTURE(name)                                                                              \
    ".entry " name "(.param .u64 t) { ld.param.u64 o, [t]; tex.1d.v4.f32.s32 {a, b, c, d}, [o, "   \
    "{i}]; ret; }\n"

static const struct change {
    const char *title;
    const char *text;
    const char *wanted; /* NULL: the text stays as it is, or `has` is in it */
    const char *has[3];
    /* the options */
    int32_t wait, trigger;
    uint32_t flags;
    const char *constant, *kernels;
    /* of the last kernel */
    int32_t action; /* 0: PDL_INSTRUMENT_DONE */
    int32_t reason;
    const char *says;
    uint32_t wait_line, trigger_line, trigger_points;
} changes[] = {
    {"lines are those of the result",
     HEADER BEGIN "\tst.global.u32 [ga], t; ret;\n}\n.entry l() { ret; }\n",
     HEADER BEGIN "\t" W "\n\t" T "\n\tst.global.u32 [ga], t; ret;\n}\n.entry l() { \n\t" W "\n\t" T
                  "\n\tret; }\n",
     .trigger = PDL_INSTRUMENT_TRIGGER_WAIT, .wait_line = 15, .trigger_line = 16},
    {"the first label is in a loop",
     HEADER ".entry k() {\n\t.reg .u32 t;\nL:\n\tadd.u32 t, t, 1;\n\tbra L;\n}\n",
     .wanted = HEADER ".entry k() {\n\t.reg .u32 t;\n" W "\nL:\n\tadd.u32 t, t, 1;\n\tbra L;\n}\n"},
    {"the first label is in a loop, behind a location",
     HEADER ".file 1 \"a.cu\"\n.entry k() {\n\t.reg .u32 t;\n\t.loc 1 2 3\nL:\n\tbra L;\n}\n",
     .wanted = HEADER ".file 1 \"a.cu\"\n.entry k() {\n\t.reg .u32 t;\n\t.loc 1 2 3\n" W
                      "\nL:\n\tbra L;\n}\n"},
    {"the first label is not found", HEADER ".entry k() {\n\t.reg .u3: t;\nL:\n\tbra L;\n}\n",
     .action = PDL_INSTRUMENT_REFUSED, .reason = PDL_INSTRUMENT_REASON_NO_PLACE},
    {"a constant parameter is read before a hoisted wait", TWO_PARAMETERS(""),
     TWO_PARAMETERS(W "\n\t"), .wait = PDL_INSTRUMENT_HOIST, .constant = "w"},
    {"a marked pointer is constant",
     PROLOGUE "\t// pdl:constant ga\n\tld.global.nc.u32 x, [ga];\n\tret;\n" END,
     PROLOGUE "\t// pdl:constant ga\n\tld.global.nc.u32 x, [ga];\n\t" W "\n\tret;\n" END,
     .wait = PDL_INSTRUMENT_HOIST},
    {"functions that are called get coherent loads",
     HEADER ".func f(.param .u64 q)\n{\n\tld.param.u64 g, [q];\n\tld.global.nc.u32 x, "
            "[g];\n\tst.global.u32 [g], x;\n\tret;\n}\n"
            ".func alone(.param .u64 q)\n{\n\tld.param.u64 g, [q];\n\tld.global.nc.u32 x, "
            "[g];\n\tret;\n}\n"
            ".entry k(.param .u64 a)\n{\n\tld.param.u64 g, [a];\n\tcall f, (g);\n\tret;\n}\n",
     .has = {"[q];\n\tld.global.u32 x, [g];\n\tst", "ld.global.nc.u32 x, [g];\n\tret",
             "\t" W "\n\tcall f, (g);"}},
    {"functions have other names",
     HEADER ".visible .func f(.param .u64 q);\n.visible .func g(.param .u64 q)\n{\n"
            "\tld.param.u64 d, [q];\n\tld.global.nc.u32 x, [d];\n\tret;\n}\n.alias f, g;\n"
            ".entry k(.param .u64 a)\n{\n\tld.param.u64 d, [a];\n\tcall f, (d);\n\tret;\n}\n",
     .has = {"ld.global.u32 x, [d];"}},
    /* A thread that ends in a function has to wait before the call. */
    {"a function ends some threads",
     HEADER ".func f()\n{\n\t@p exit;\n\tret;\n}\n" BEGIN "\tcall f, ();\n\tret;\n}\n",
     .has = {"\t" W "\n\tcall f, ();"}, .wait = PDL_INSTRUMENT_HOIST},
    {"a function ends all threads",
     HEADER ".func f()\n{\n\texit;\n}\n" BEGIN "\tcall f, ();\n\tret;\n}\n",
     .has = {"\t" W "\n\tcall f, ();"}, .wait = PDL_INSTRUMENT_HOIST},
    /* The trigger goes to each part, and no further than the last. */
    {"point 0", PARTS("", "", "", ""), PARTS("\t" W "\n\t" T "\n", "", "", ""), POINT(0)},
    {"point 1", PARTS("", "", "", ""), PARTS("\t" W "\n", "\t" T "\n", "", ""), POINT(1)},
    {"point 2", PARTS("", "", "", ""), PARTS("\t" W "\n", "", "\t" T "\n", ""), POINT(2)},
    {"point 3", PARTS("", "", "", ""), PARTS("\t" W "\n", "", "", "\t" T "\n"), POINT(3)},
    {"point 4", PARTS("", "", "", ""), PARTS("\t" W "\n", "", "", "\t" T "\n"), POINT(4)},
#define REFUSED(reason_, says_)                                                                    \
    .action = PDL_INSTRUMENT_REFUSED, .reason = PDL_INSTRUMENT_REASON_##reason_, .says = (says_)
    {"an old target", ".version 8.0\n.target sm_80\n.entry k() { ret; }\n",
     REFUSED(TARGET, "sm_80")},
    {"an old version", ".version 7.0\n.target sm_90\n.entry k() { ret; }\n",
     REFUSED(TARGET, "PTX 7.0")},
    {"a wait that has a finding",
     HEADER BEGIN "\tsetp.eq.u32 p, n1, 0;\n\t@p bra E;\n\t" W
                  "\nE:\n\tst.global.u32 [ga], t;\n\tret;\n}\n",
     REFUSED(FINDING, "it waits already")},
    {"a barrier of the grid in a function with another name",
     HEADER ".visible .func f();\n.visible .func g() { mov.u32 r, %envreg2; ret; }\n.alias f, g;\n"
            ".entry k() { call f, (); ret; }\n",
     REFUSED(COOPERATIVE, "grid")},
    {"a barrier of the grid", HEADER ".entry k() { mov.u32 r, %envreg2; ret; }\n",
     REFUSED(COOPERATIVE, "grid")},
    {"a barrier of the grid that is called",
     HEADER ".extern .func (.param .b32 r) cudaCGSynchronizeGrid (.param .b64 h, .param .b32 f);\n"
            ".func f() { .param .b32 r; .param .b64 h; .param .b32 g; call (r), "
            "cudaCGSynchronizeGrid, (h, g); ret; }\n.entry k() { call f, (); ret; }\n",
     REFUSED(COOPERATIVE, "grid")},
    {"a launch",
     HEADER ".extern .func (.param .b32 r) cudaLaunchDeviceV2 (.param .b64 a, .param .b64 s);\n"
            ".entry k() { .param .b32 r; .param .b64 a; .param .b64 s; call (r), "
            "cudaLaunchDeviceV2, (a, s); ret; }\n",
     REFUSED(LAUNCHES, "launches")},
    {"a texture", HEADER TEXTURE("k"), REFUSED(FINDING, "nc-after-wait")},
    {"a refused kernel does not keep others", HEADER TEXTURE("l") BEGIN "\tret;\n}\n",
     HEADER TEXTURE("l") BEGIN "\t" W "\n\tret;\n}\n", .wait_line = 11},
    {"a target is raised", "// old\n.version 7.0\n.target sm_80, debug\n.entry k() {\n\tret;\n}\n",
     "// old\n.version 7.8\n.target sm_90, debug\n.entry k() {\n\t" W "\n\tret;\n}\n",
     .flags = PDL_INSTRUMENT_RAISE_TARGET},
    {"a target that cannot be raised", ".version 8.7\n.target sm_61\n.entry k() { ret; }\n",
     .flags = PDL_INSTRUMENT_RAISE_TARGET, REFUSED(TARGET, "sm_70")},
    /* shfl and vote without .sync end with PTX 6.3. */
    {"a version that cannot be raised", ".version 6.3\n.target sm_75\n.entry k() { ret; }\n",
     .flags = PDL_INSTRUMENT_RAISE_TARGET, REFUSED(TARGET, "6.4 or later")},
    {"another kernel is selected", HEADER ".entry k() {\n\tret;\n}\n", .kernels = "l*",
     .action = PDL_INSTRUMENT_EXCLUDED},
};

TEST_ROWS(kernels_are_changed_or_refused, changes)
{
    pdl_instrument_options options = PDL_INSTRUMENT_OPTIONS_INIT;
    options.wait = row->wait;
    options.trigger = row->trigger;
    options.flags = row->flags;
    options.constant_params = &row->constant;
    options.constant_param_count = row->constant != NULL;
    options.kernels = &row->kernels;
    options.kernel_count = row->kernels != NULL;
    pdl_instrumentation *result = instrument(row->text, &options);
    const size_t count = pdl_instrumentation_kernel_count(result);
    const pdl_instrument_kernel *kernel = pdl_instrumentation_kernel(result, count - 1);
    assert_null(pdl_instrumentation_kernel(result, count));
    assert_int_equal(kernel->action, row->action != 0 ? row->action : PDL_INSTRUMENT_DONE);
    assert_int_equal(kernel->reason, row->reason);
    assert_true(row->says == NULL || strstr(kernel->message, row->says) != NULL);
    if (row->wanted != NULL || row->has[0] == NULL) {
        assert_text(result, row->wanted != NULL ? row->wanted : row->text);
    }
    for (size_t i = 0; i < COUNT_OF(row->has) && row->has[i] != NULL; i++) {
        assert_non_null(strstr(pdl_instrumentation_text(result, NULL), row->has[i]));
    }
    if (row->wait_line != 0 || row->action == PDL_INSTRUMENT_REFUSED) {
        assert_int_equal(kernel->wait_line, row->wait_line);
        assert_int_equal(kernel->trigger_line, row->trigger_line);
    }
    assert_int_equal(kernel->trigger_points, row->trigger_points);
    pdl_instrumentation_destroy(result);
}

TEST(trailing_zeros_stay)
{
    static const char text[] = HEADER ".entry k() {\n\t" W "\n\tret;\n}\n\0";
    pdl_instrumentation *result = NULL;
    size_t size;
    assert_int_equal(pdl_instrument(text, sizeof(text), "a.ptx", NULL, &result), PDL_SUCCESS);
    const char *made = pdl_instrumentation_text(result, &size);
    assert_int_equal(size, sizeof(text));
    assert_memory_equal(made, text, sizeof(text));
    pdl_instrumentation_destroy(result);
}

static const char *const nothing[] = {NULL};
#define WITH(...)                                                                                  \
    {                                                                                              \
        .size = sizeof(pdl_instrument_options), __VA_ARGS__                                        \
    }

static const struct {
    const char *title;
    pdl_instrument_options options;
    pdl_status status;
} refused[] = {
    {"a size", {.size = 4}, PDL_ERROR_DESC_SIZE},
    {"flags", WITH(.flags = 8), PDL_ERROR_INVALID_ARGUMENT},
    {"no wait", WITH(.wait = 2), PDL_ERROR_INVALID_ARGUMENT},
    {"no trigger", WITH(.trigger = 3), PDL_ERROR_INVALID_ARGUMENT},
    {"no point", WITH(.trigger = PDL_INSTRUMENT_TRIGGER_POINT + PDL_INSTRUMENT_POINT_MAX + 1),
     PDL_ERROR_INVALID_ARGUMENT},
    {"no name", WITH(.kernels = nothing, .kernel_count = 1), PDL_ERROR_INVALID_ARGUMENT},
};

TEST_ROWS(options_are_checked, refused)
{
    pdl_instrumentation *result = NULL;
    assert_int_equal(pdl_instrument(HEADER, strlen(HEADER), "a", &row->options, &result),
                     row->status);
    assert_null(result);
}

TEST(arguments_are_checked)
{
    pdl_instrumentation *result = NULL;
    static const char text[] = HEADER;
    const size_t size = sizeof(text) - 1;
    assert_int_equal(pdl_instrument(NULL, 0, "a", NULL, &result), PDL_ERROR_INVALID_ARGUMENT);
    assert_int_equal(pdl_instrument(text, size, NULL, NULL, &result), PDL_ERROR_INVALID_ARGUMENT);
    assert_int_equal(pdl_instrument(text, size, "a", NULL, NULL), PDL_ERROR_INVALID_ARGUMENT);
    assert_int_equal(pdl_instrument("ELF", 3, "a", NULL, &result), PDL_ERROR_INVALID_IMAGE);
    assert_int_equal(pdl_instrument("", 0, "a", NULL, &result), PDL_ERROR_INVALID_IMAGE);
    assert_null(result);
    struct {
        pdl_instrument_options known;
        uint64_t more;
    } newer = {PDL_INSTRUMENT_OPTIONS_INIT, 1};
    newer.known.size = sizeof(newer);
    assert_int_equal(pdl_instrument(text, size, "a", &newer.known, &result),
                     PDL_ERROR_DESC_TOO_NEW);
    newer.more = 0;
    assert_int_equal(pdl_instrument(text, size, "a", &newer.known, &result), PDL_SUCCESS);
    assert_text(result, text);
    pdl_instrumentation_destroy(result);
    pdl_instrumentation_destroy(NULL);
    assert_null(pdl_instrumentation_text(NULL, NULL));
}
