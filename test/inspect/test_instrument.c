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

static void assert_text(const char *title, const pdl_instrumentation *result, const char *expected)
{
    size_t size;
    const char *text = pdl_instrumentation_text(result, &size);
    if (strcmp(text, expected) != 0 || size != strlen(expected)) {
        fail_msg("%s:\n%s\ninstead of\n%s", title, text, expected);
    }
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
        fail_msg("%s: %s", shape->title, kernel->message);
    }
    assert_text(shape->title, result, wanted);
    pdl_instrumentation *again = instrument(wanted, &options);
    assert_text(shape->title, again, wanted);
    assert_int_equal(pdl_instrumentation_kernel(again, 0)->action, PDL_INSTRUMENT_WAITS);
    pdl_instrumentation_destroy(again);
    pdl_instrumentation_destroy(result);
}

static void the_wait_dominates_what_needs_it_and_all_ends(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const struct shape *shape = &shapes[i];
        const char *hoisted = shape->hoisted != NULL ? shape->hoisted : shape->entry;
        check(shape, PDL_INSTRUMENT_ENTRY, PDL_INSTRUMENT_NO_TRIGGER, shape->entry);
        check(shape, PDL_INSTRUMENT_HOIST, PDL_INSTRUMENT_NO_TRIGGER, hoisted);
        if (shape->last != NULL) {
            check(shape, PDL_INSTRUMENT_ENTRY, PDL_INSTRUMENT_TRIGGER_LAST_READ, shape->last);
        }
    }
}

static void lines_are_those_of_the_result(void **state)
{
    (void)state;
    pdl_instrument_options options = PDL_INSTRUMENT_OPTIONS_INIT;
    options.trigger = PDL_INSTRUMENT_TRIGGER_WAIT;
    pdl_instrumentation *result = instrument(
        HEADER BEGIN "\tst.global.u32 [ga], t; ret;\n}\n.entry l() { ret; }\n", &options);
    const pdl_instrument_kernel *first = pdl_instrumentation_kernel(result, 0);
    const pdl_instrument_kernel *second = pdl_instrumentation_kernel(result, 1);
    assert_int_equal(pdl_instrumentation_kernel_count(result), 2);
    assert_null(pdl_instrumentation_kernel(result, 2));
    assert_string_equal(first->name, "k");
    assert_int_equal(first->line, 4);
    assert_int_equal(first->wait_line, 10);
    assert_int_equal(first->trigger_line, 11);
    assert_int_equal(second->wait_line, 15);
    assert_int_equal(second->trigger_line, 16);
    assert_text("lines", result,
                HEADER BEGIN "\t" W "\n\t" T
                             "\n\tst.global.u32 [ga], t; ret;\n}\n.entry l() { \n\t" W "\n\t" T
                             "\n\tret; }\n");
    pdl_instrumentation_destroy(result);
}

static void the_first_label_is_in_a_loop(void **state)
{
    (void)state;
    pdl_instrumentation *result = instrument(
        HEADER ".entry k() {\n\t.reg .u32 t;\nL:\n\tadd.u32 t, t, 1;\n\tbra L;\n}\n", NULL);
    assert_text("a loop", result,
                HEADER ".entry k() {\n\t.reg .u32 t;\n" W
                       "\nL:\n\tadd.u32 t, t, 1;\n\tbra L;\n}\n");
    pdl_instrumentation_destroy(result);
    result = instrument(HEADER ".file 1 \"a.cu\"\n.entry k() {\n\t.reg .u32 t;\n\t.loc 1 2 3\nL:\n"
                               "\tbra L;\n}\n",
                        NULL);
    assert_text("a location", result,
                HEADER ".file 1 \"a.cu\"\n.entry k() {\n\t.reg .u32 t;\n\t.loc 1 2 3\n" W
                       "\nL:\n\tbra L;\n}\n");
    pdl_instrumentation_destroy(result);
    result = instrument(HEADER ".entry k() {\n\t.reg .u3: t;\nL:\n\tbra L;\n}\n", NULL);
    assert_int_equal(pdl_instrumentation_kernel(result, 0)->reason, PDL_INSTRUMENT_REASON_NO_PLACE);
    pdl_instrumentation_destroy(result);
}

static void constant_parameters_are_read_before_a_hoisted_wait(void **state)
{
    (void)state;
    static const char *const constants[] = {"w"};
    static const char text[] = HEADER
        ".entry k(.param .u64 w, .param .u64 y)\n{\n\tld.param.u64 gw, [w];\n\tld.param.u64 gy, "
        "[y];\n\tcvta.to.global.u64 gw, gw;\n\tcvta.to.global.u64 gy, gy;\n\tld.global.nc.u32 x, "
        "[gw];\n\tst.global.u32 [gy], x;\n\tret;\n}\n";
    static const char wanted[] = HEADER
        ".entry k(.param .u64 w, .param .u64 y)\n{\n\tld.param.u64 gw, [w];\n\tld.param.u64 gy, "
        "[y];\n\tcvta.to.global.u64 gw, gw;\n\tcvta.to.global.u64 gy, gy;\n\tld.global.nc.u32 x, "
        "[gw];\n\t" W "\n\tst.global.u32 [gy], x;\n\tret;\n}\n";
    pdl_instrument_options options = PDL_INSTRUMENT_OPTIONS_INIT;
    options.wait = PDL_INSTRUMENT_HOIST;
    options.constant_params = constants;
    options.constant_param_count = 1;
    pdl_instrumentation *result = instrument(text, &options);
    assert_text("constant", result, wanted);
    pdl_instrumentation_destroy(result);
}

static void marked_pointers_are_constant(void **state)
{
    (void)state;
    pdl_instrument_options options = PDL_INSTRUMENT_OPTIONS_INIT;
    options.wait = PDL_INSTRUMENT_HOIST;
    pdl_instrumentation *result = instrument(
        PROLOGUE "\t// pdl:constant ga\n\tld.global.nc.u32 x, [ga];\n\tret;\n" END, &options);
    assert_text("a marker", result,
                PROLOGUE "\t// pdl:constant ga\n\tld.global.nc.u32 x, [ga];\n\t" W
                         "\n\tret;\n" END);
    pdl_instrumentation_destroy(result);
}

static void functions_that_are_called_get_coherent_loads(void **state)
{
    (void)state;
    static const char text[] =
        HEADER ".func f(.param .u64 q)\n{\n\tld.param.u64 g, [q];\n\tld.global.nc.u32 x, "
               "[g];\n\tst.global.u32 [g], x;\n\tret;\n}\n"
               ".func alone(.param .u64 q)\n{\n\tld.param.u64 g, [q];\n\tld.global.nc.u32 x, "
               "[g];\n\tret;\n}\n"
               ".entry k(.param .u64 a)\n{\n\tld.param.u64 g, [a];\n\tcall f, (g);\n\tret;\n}\n";
    pdl_instrumentation *result = instrument(text, NULL);
    const char *made = pdl_instrumentation_text(result, NULL);
    assert_non_null(strstr(made, "[q];\n\tld.global.u32 x, [g];\n\tst"));
    assert_non_null(strstr(made, "ld.global.nc.u32 x, [g];\n\tret"));
    assert_non_null(strstr(made, "\t" W "\n\tcall f, (g);"));
    pdl_instrumentation_destroy(result);
}

/* A loop that reads, a read on one way, a barrier, a loop that reads, and a write. */
#define PARTS(wait, second, third, last)                                                           \
    PROLOGUE wait "L:\n\tld.global.u32 x, [ga];\n\tsetp.lt.u32 p, x, n1;\n\t@p bra L;\n" second    \
                  "\tsetp.lt.u32 p, x, t;\n\t@p bra M;\n\tld.global.u32 x, [ga+4];\nM:\n" third    \
                  "\tbar.sync 0;\nN:\n\tld.global.u32 y, [ga+8];\n\tsetp.lt.u32 p, y, n1;\n\t@p "  \
                  "bra N;\n" last "\tst.global.u32 [ga], y;\n\tret;\n" END

static void the_trigger_goes_to_each_part(void **state)
{
    (void)state;
    static const char *const expected[] = {
        PARTS("\t" W "\n\t" T "\n", "", "", ""), PARTS("\t" W "\n", "\t" T "\n", "", ""),
        PARTS("\t" W "\n", "", "\t" T "\n", ""), PARTS("\t" W "\n", "", "", "\t" T "\n")};
    for (int32_t point = 0; point < 5; point++) {
        pdl_instrument_options options = PDL_INSTRUMENT_OPTIONS_INIT;
        options.trigger = PDL_INSTRUMENT_TRIGGER_POINT + point;
        pdl_instrumentation *result = instrument(PARTS("", "", "", ""), &options);
        assert_text("a point", result, expected[point < 3 ? point : 3]);
        assert_int_equal(pdl_instrumentation_kernel(result, 0)->trigger_points, 4);
        pdl_instrumentation_destroy(result);
    }
}

/* A thread that ends in a function has to wait before the call, and what it calls may have another name. */
static void functions_that_end_the_kernel_come_after_the_wait(void **state)
{
    (void)state;
    static const char *const ends[] = {"\t@p exit;\n\tret;\n", "\texit;\n"};
    pdl_instrument_options options = PDL_INSTRUMENT_OPTIONS_INIT;
    options.wait = PDL_INSTRUMENT_HOIST;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        char text[1024];
        (void)snprintf(text, sizeof(text), "%s.func f()\n{\n%s}\n%s\tcall f, ();\n\tret;\n}\n",
                       HEADER, ends[i], BEGIN);
        pdl_instrumentation *result = instrument(text, &options);
        assert_non_null(strstr(pdl_instrumentation_text(result, NULL), "\t" W "\n\tcall f, ();"));
        pdl_instrumentation_destroy(result);
    }
}

static void functions_have_other_names(void **state)
{
    (void)state;
    static const char text[] =
        HEADER ".visible .func f(.param .u64 q);\n.visible .func g(.param .u64 q)\n{\n"
               "\tld.param.u64 d, [q];\n\tld.global.nc.u32 x, [d];\n\tret;\n}\n.alias f, g;\n"
               ".entry k(.param .u64 a)\n{\n\tld.param.u64 d, [a];\n\tcall f, (d);\n\tret;\n}\n";
    pdl_instrumentation *result = instrument(text, NULL);
    assert_non_null(strstr(pdl_instrumentation_text(result, NULL), "ld.global.u32 x, [d];"));
    pdl_instrumentation_destroy(result);
}

/* Each is refused, and the text stays as it is. */
static void kernels_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int32_t reason;
        const char *says;
    } cases[] = {
        {".version 8.0\n.target sm_80\n.entry k() { ret; }\n", PDL_INSTRUMENT_REASON_TARGET,
         "sm_80"},
        {".version 7.0\n.target sm_90\n.entry k() { ret; }\n", PDL_INSTRUMENT_REASON_TARGET,
         "PTX 7.0"},
        {HEADER BEGIN "\tsetp.eq.u32 p, n1, 0;\n\t@p bra E;\n\t" W
                      "\nE:\n\tst.global.u32 [ga], t;\n\tret;\n}\n",
         PDL_INSTRUMENT_REASON_FINDING, "it waits already"},
        {HEADER
         ".visible .func f();\n.visible .func g() { mov.u32 r, %envreg2; ret; }\n.alias f, g;\n"
         ".entry k() { call f, (); ret; }\n",
         PDL_INSTRUMENT_REASON_COOPERATIVE, "grid"},
        {HEADER ".entry k() { mov.u32 r, %envreg2; ret; }\n", PDL_INSTRUMENT_REASON_COOPERATIVE,
         "grid"},
        {HEADER
         ".extern .func (.param .b32 r) cudaCGSynchronizeGrid (.param .b64 h, .param .b32 f);\n"
         ".func f() { .param .b32 r; .param .b64 h; .param .b32 g; call (r), "
         "cudaCGSynchronizeGrid, (h, g); ret; }\n.entry k() { call f, (); ret; }\n",
         PDL_INSTRUMENT_REASON_COOPERATIVE, "grid"},
        {HEADER ".extern .func (.param .b32 r) cudaLaunchDeviceV2 (.param .b64 a, .param .b64 s);\n"
                ".entry k() { .param .b32 r; .param .b64 a; .param .b64 s; call (r), "
                "cudaLaunchDeviceV2, (a, s); ret; }\n",
         PDL_INSTRUMENT_REASON_LAUNCHES, "launches"},
        {HEADER
         ".entry k(.param .u64 t) { ld.param.u64 o, [t]; tex.1d.v4.f32.s32 {a, b, c, d}, [o, "
         "{i}]; ret; }\n",
         PDL_INSTRUMENT_REASON_FINDING, "nc-after-wait"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdl_instrumentation *result = instrument(cases[i].text, NULL);
        const pdl_instrument_kernel *kernel = pdl_instrumentation_kernel(result, 0);
        assert_text("refused", result, cases[i].text);
        assert_int_equal(kernel->action, PDL_INSTRUMENT_REFUSED);
        assert_int_equal(kernel->reason, cases[i].reason);
        assert_int_equal(kernel->wait_line, 0);
        assert_non_null(strstr(kernel->message, cases[i].says));
        pdl_instrumentation_destroy(result);
    }
}

static void one_refused_kernel_does_not_keep_others(void **state)
{
    (void)state;
    static const char other[] =
        ".entry l(.param .u64 t) { ld.param.u64 o, [t]; tex.1d.v4.f32.s32 {a, b, c, d}, [o, "
        "{i}]; ret; }\n";
    char text[1024], wanted[1024];
    (void)snprintf(text, sizeof(text), "%s%s%s", HEADER, other, BEGIN "\tret;\n}\n");
    (void)snprintf(wanted, sizeof(wanted), "%s%s%s", HEADER, other, BEGIN "\t" W "\n\tret;\n}\n");
    pdl_instrumentation *result = instrument(text, NULL);
    assert_text("one of two", result, wanted);
    assert_int_equal(pdl_instrumentation_kernel(result, 0)->action, PDL_INSTRUMENT_REFUSED);
    assert_int_equal(pdl_instrumentation_kernel(result, 1)->action, PDL_INSTRUMENT_DONE);
    assert_int_equal(pdl_instrumentation_kernel(result, 1)->wait_line, 11);
    pdl_instrumentation_destroy(result);
}

static void targets_are_raised(void **state)
{
    (void)state;
    pdl_instrument_options options = PDL_INSTRUMENT_OPTIONS_INIT;
    options.flags = PDL_INSTRUMENT_RAISE_TARGET;
    pdl_instrumentation *result = instrument(
        "// old\n.version 7.0\n.target sm_80, debug\n.entry k() {\n\tret;\n}\n", &options);
    assert_text("raised", result,
                "// old\n.version 7.8\n.target sm_90, debug\n.entry k() {\n\t" W "\n\tret;\n}\n");
    pdl_instrumentation_destroy(result);
    result = instrument(".version 8.7\n.target sm_61\n.entry k() { ret; }\n", &options);
    assert_int_equal(pdl_instrumentation_kernel(result, 0)->reason, PDL_INSTRUMENT_REASON_TARGET);
    pdl_instrumentation_destroy(result);
    /* shfl and vote without .sync end with PTX 6.3. */
    result = instrument(".version 6.3\n.target sm_75\n.entry k() { ret; }\n", &options);
    assert_non_null(strstr(pdl_instrumentation_kernel(result, 0)->message, "6.4 or later"));
    pdl_instrumentation_destroy(result);
}

static void kernels_are_selected(void **state)
{
    (void)state;
    static const char *const patterns[] = {"l*"};
    pdl_instrument_options options = PDL_INSTRUMENT_OPTIONS_INIT;
    options.kernels = patterns;
    options.kernel_count = 1;
    static const char text[] = HEADER ".entry k() {\n\tret;\n}\n";
    pdl_instrumentation *result = instrument(text, &options);
    assert_text("none selected", result, text);
    assert_int_equal(pdl_instrumentation_kernel(result, 0)->action, PDL_INSTRUMENT_EXCLUDED);
    pdl_instrumentation_destroy(result);
}

static void trailing_zeros_stay(void **state)
{
    (void)state;
    static const char text[] = HEADER ".entry k() {\n\t" W "\n\tret;\n}\n\0";
    pdl_instrumentation *result = NULL;
    size_t size;
    assert_int_equal(pdl_instrument(text, sizeof(text), "a.ptx", NULL, &result), PDL_SUCCESS);
    const char *made = pdl_instrumentation_text(result, &size);
    assert_int_equal(size, sizeof(text));
    assert_memory_equal(made, text, sizeof(text));
    pdl_instrumentation_destroy(result);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    static const char *const nothing[] = {NULL};
    pdl_instrumentation *result = NULL;
    pdl_instrument_options options = PDL_INSTRUMENT_OPTIONS_INIT;
    static const char text[] = HEADER;
    const size_t size = sizeof(text) - 1;
    assert_int_equal(pdl_instrument(NULL, 0, "a", NULL, &result), PDL_ERROR_INVALID_ARGUMENT);
    assert_int_equal(pdl_instrument(text, size, NULL, NULL, &result), PDL_ERROR_INVALID_ARGUMENT);
    assert_int_equal(pdl_instrument(text, size, "a", NULL, NULL), PDL_ERROR_INVALID_ARGUMENT);
    assert_int_equal(pdl_instrument("ELF", 3, "a", NULL, &result), PDL_ERROR_INVALID_IMAGE);
    assert_int_equal(pdl_instrument("", 0, "a", NULL, &result), PDL_ERROR_INVALID_IMAGE);
    options.size = 4;
    assert_int_equal(pdl_instrument(text, size, "a", &options, &result), PDL_ERROR_DESC_SIZE);
    options.size = sizeof(options);
    options.flags = 8;
    assert_int_equal(pdl_instrument(text, size, "a", &options, &result),
                     PDL_ERROR_INVALID_ARGUMENT);
    options.flags = 0;
    options.wait = 2;
    assert_int_equal(pdl_instrument(text, size, "a", &options, &result),
                     PDL_ERROR_INVALID_ARGUMENT);
    options.wait = 0;
    options.trigger = 3;
    assert_int_equal(pdl_instrument(text, size, "a", &options, &result),
                     PDL_ERROR_INVALID_ARGUMENT);
    options.trigger = PDL_INSTRUMENT_TRIGGER_POINT + PDL_INSTRUMENT_POINT_MAX + 1;
    assert_int_equal(pdl_instrument(text, size, "a", &options, &result),
                     PDL_ERROR_INVALID_ARGUMENT);
    options.trigger = 0;
    options.kernels = nothing;
    options.kernel_count = 1;
    assert_int_equal(pdl_instrument(text, size, "a", &options, &result),
                     PDL_ERROR_INVALID_ARGUMENT);
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
    assert_text("no kernel", result, text);
    pdl_instrumentation_destroy(result);
    pdl_instrumentation_destroy(NULL);
    assert_null(pdl_instrumentation_text(NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wait_dominates_what_needs_it_and_all_ends),
        cmocka_unit_test(lines_are_those_of_the_result),
        cmocka_unit_test(the_first_label_is_in_a_loop),
        cmocka_unit_test(constant_parameters_are_read_before_a_hoisted_wait),
        cmocka_unit_test(marked_pointers_are_constant),
        cmocka_unit_test(functions_that_are_called_get_coherent_loads),
        cmocka_unit_test(the_trigger_goes_to_each_part),
        cmocka_unit_test(functions_that_end_the_kernel_come_after_the_wait),
        cmocka_unit_test(functions_have_other_names),
        cmocka_unit_test(kernels_are_refused_by_name),
        cmocka_unit_test(one_refused_kernel_does_not_keep_others),
        cmocka_unit_test(targets_are_raised),
        cmocka_unit_test(kernels_are_selected),
        cmocka_unit_test(trailing_zeros_stay),
        cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
