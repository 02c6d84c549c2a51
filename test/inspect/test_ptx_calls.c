/* SPDX-License-Identifier: MIT */
/* Calls: what functions do is followed to where they are called. */
#include "ptx_support.h"

#define WAIT  "griddepcontrol.wait;\n"
#define READ  "ld.global.u32 r, [ga];\n"
#define WRITE "st.global.u32 [gb], t;\n"

/* Functions on the lines from 2, then the kernel. */
#define WITH(functions, body) PTX_HEADER functions PTX_KERNEL_BEGIN body PTX_KERNEL_END

static const struct ptx_case cases1[] = {
    /* A function that waits is a wait. */
    {"always", WITH(".func f() {\ngriddepcontrol.wait;\nret; }\n", "call f, ();\n" READ), ""},
    {"called without brackets",
     WITH(".func f() {\ngriddepcontrol.wait;\nret; }\n", "call.uni f;\n" READ), ""},
    {"an access in front of the call",
     WITH(".func f() {\ngriddepcontrol.wait;\nret; }\n", READ "call f;\n"),
     "read-before-wait warning 6 a"},
    {"through a function that calls it",
     WITH(".func f() { griddepcontrol.wait; ret; }\n.func g() { call f; ret; }\n",
          "call g;\n" READ),
     ""},
    {"called before it is defined",
     PTX_HEADER ".func f();\n" PTX_KERNEL_BEGIN "call f;\n" READ PTX_KERNEL_END
                ".func f() { griddepcontrol.wait; ret; }\n",
     ""},
    {"in a loop",
     WITH(".func f() { griddepcontrol.wait; ret; }\n",
          "A:\ncall f;\nsetp.eq.u32 p, t, r;\n@p bra A;\n"),
     ""},
    {"with a guard",
     WITH(".func f() { griddepcontrol.wait; ret; }\n", "setp.eq.u32 p, t, 0;\n@p call f;\n" READ),
     "partial-wait warning 6 a"},
    {"that triggers too",
     WITH(".func f() { griddepcontrol.wait; griddepcontrol.launch_dependents; ret; }\n",
          "call f;\n" READ),
     ""},
};
PTX_TESTS(cases1, SHOW_FINDINGS)

/* Bodies are gone over twice, the first time for calls alone. */
#define WAITS ".func f() { griddepcontrol.wait; ret; }\n"

static const struct ptx_case cases9[] = {
    /* A call is seen wherever it stands. */
    {"behind a label", WITH(WAITS, "A:call f;\n" READ), ""},
    {"behind a brace", WITH(WAITS, "{call f;}\n" READ), ""},
    {"behind a comment", WITH(WAITS, "/* { \n */call f; // }\n" READ), ""},
    {"behind a mark", WITH(WAITS, ";call.uni f;\n" READ), ""},
    {"behind numbers", WITH(WAITS, "add.u32 x, 1, 2;call f;\n" READ), ""},
    {"behind another", WITH(WAITS ".func mov.g() { ret; }\n", "call mov.g;call f;\n" READ), ""},
    {"with its targets", WITH(WAITS, "mov.u64 h, f; A: .calltargets f;\ncall h, (), A;\n" READ),
     ""},
    {"in a word: the name of a register",
     WITH(WAITS, "mov.u32 call_me, 1; add.u32 x.call, call_me, 2;\n" READ), "no-wait note 3"},
};
PTX_TESTS(cases9, SHOW_FINDINGS)
#undef WAITS

/* Names of kernels are forgotten now and then: what is known by number is not that of others. */
TEST(names_of_one_kernel_are_not_those_of_the_next)
{
    char *text;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);
    fputs(PTX_HEADER ".func f() { griddepcontrol.wait; ret; }\n", to);
    for (int i = 0; i < 3; i++) {
        fprintf(to, ".visible .entry k%d(.param .u64 a, .param .u64 b) { ld.param.u64 ga, [a]; ",
                i);
        for (int j = 0; j < 5000; j++) {
            fprintf(to, "ld.param.u64 x%d_%d, [b]; ", i, j);
        }
        fputs(READ "call f; ret; }\n", to);
    }
    assert_int_equal(fclose(to), 0);
    assert_found("many names", text, size, NULL, SHOW_FINDINGS,
                 "read-before-wait warning 3 a\n"
                 "read-before-wait warning 5 a\n"
                 "read-before-wait warning 7 a");
    free(text);
}

static const struct ptx_case cases2[] = {
    /* A function that waits sometimes is a branch. */
    {"by the thread",
     WITH(".func f() { mov.u32 t, %tid.x; setp.eq.u32 p, t, 0;\n@p bra A; griddepcontrol.wait;\n"
          "A: ret; }\n",
          "call f;\n" READ),
     "partial-wait warning 7 a"},
    {"by a parameter that is the grid's",
     WITH(".func f(.param .u32 x) { ld.param.u32 x1, [x]; setp.eq.u32 p, x1, 0;\n@p bra A;\n"
          "griddepcontrol.wait;\nA: ret; }\n",
          ".param .b32 q; st.param.b32 [q], n; call f, (q);\n" READ),
     "no-wait warning 7"},
    {"by a parameter that is the thread's",
     WITH(".func f(.param .u32 x) { ld.param.u32 x1, [x]; setp.eq.u32 p, x1, 0;\n@p bra A;\n"
          "griddepcontrol.wait;\nA: ret; }\n",
          ".param .b32 q; st.param.b32 [q], t; call f, (q);\n" READ),
     "partial-wait warning 8 a"},
    {"by a parameter that is the block's, in a register",
     WITH(".func f(.reg .u32 x) { setp.eq.u32 p, x, 0;\n@p bra A;\ngriddepcontrol.wait;\n"
          "A: ret; }\n",
          "call f, (c);\n" READ),
     "partial-wait warning 8 a"},
    {"for an access of its own, and then the kernel does",
     WITH(".func f(.param .u64 x) { ld.param.u64 y, [x]; mov.u32 t, %tid.x;\n"
          "setp.eq.u32 p, t, 0;\n@p bra A;\ngriddepcontrol.wait;\nA:\nld.u32 r, [y];\nret; }\n",
          ".param .b64 q; st.param.b64 [q], ga; call f, (q);\n" WAIT READ),
     "read-before-wait warning 7 a"},
    {"and then the kernel does",
     WITH(".func f() { mov.u32 t, %tid.x; setp.eq.u32 p, t, 0;\n@p ret;\ngriddepcontrol.wait;\n"
          "ret; }\n",
          "call f;\n" READ WAIT READ),
     "read-before-wait warning 8 a"},
    /* Accesses in functions are the kernels. */
    {"through a parameter",
     WITH(".func f(.param .u64 x) { ld.param.u64 x1, [x];\nld.u32 r, [x1];\nret; }\n",
          ".param .b64 q; st.param.b64 [q], gb; call f, (q);\n" WAIT),
     "read-before-wait warning 3 b"},
    {"through a register",
     WITH(".func f(.reg .u64 x) {\nst.global.u32 [x], 1;\nret; }\n", "call f, (ga);\n" WAIT),
     "write-before-wait warning 3 a"},
    {"through the second of two",
     WITH(".func f(.param .u64 x, .param .u64 y) { ld.param.u64 y1, [y];\nld.u32 r, [y1];\n"
          "ret; }\n",
          ".param .b64 q0, q1; st.param.b64 [q0], ga; st.param.b64 [q1], gb; call f, (q0, "
          "q1);\n" WAIT),
     "read-before-wait warning 3 b"},
    {"of two calls",
     WITH(".func f(.reg .u64 x) {\nld.global.u32 r, [x];\nret; }\n",
          "call f, (ga);\ncall f, (gb);\n" WAIT),
     "read-before-wait warning 3 a\nread-before-wait warning 3 b"},
    {"of shared memory, passed to a function that takes any",
     PTX_HEADER ".shared .b32 s[4];\n.func f(.reg .u64 x) {\nld.u32 r, [x];\nret; "
                "}\n" PTX_KERNEL_BEGIN
                "mov.u64 x, s; cvta.shared.u64 x, x; call f, (x);\n" WAIT PTX_KERNEL_END,
     ""},
    {"of both",
     PTX_HEADER ".shared .b32 s[4];\n.func f(.reg .u64 x) {\nld.u32 r, [x];\nret; "
                "}\n" PTX_KERNEL_BEGIN "mov.u64 x, s; cvta.shared.u64 x, x; call f, (x);\n"
                "call f, (ga);\n" WAIT PTX_KERNEL_END,
     "read-before-wait warning 4 a"},
    {"through what a function returns",
     WITH(".func (.param .u64 o) f(.param .u64 x) { ld.param.u64 x1, [x]; add.u64 x1, x1, 8; "
          "st.param.u64 [o], x1; ret; }\n",
          ".param .b64 q, v; st.param.b64 [q], gb; call (v), f, (q); ld.param.u64 x, [v];\n"
          "ld.u32 r, [x];\n" WAIT),
     "read-before-wait warning 5 b"},
    {"after the wait",
     WITH(".func f(.reg .u64 x) {\nld.global.u32 r, [x];\nret; }\n", WAIT "call f, (ga);\n"), ""},
    {"two functions deep",
     WITH(".func f(.reg .u64 x) {\nld.global.u32 r, [x];\nret; }\n"
          ".func g(.reg .u64 y) {\ncall f, (y);\nret; }\n",
          "call g, (gb);\n" WAIT),
     "read-before-wait warning 3 b"},
    {"a function that is not called",
     WITH(".func f(.reg .u64 x) {\nld.global.u32 r, [x];\nret; }\n", WAIT READ), ""},
    {"of threads that did not wait in the function itself",
     WITH(".func f(.reg .u64 x) { mov.u32 t, %tid.x; setp.eq.u32 p, t, 0;\n@p bra A;\n"
          "griddepcontrol.wait;\nA:\nld.global.u32 r, [x];\nret; }\n",
          "call f, (ga);\n"),
     "partial-wait warning 6 a"},
    /* Functions that do not return end the path. */
    {"declared so",
     WITH(".extern .func f() .noreturn;\n",
          "setp.eq.u32 p, t, 0;\n@!p bra A;\ncall f;\nA:\n" WAIT READ),
     "read-before-wait note 6"},
    {"that trap",
     WITH(".func f() { trap; }\n", "setp.eq.u32 p, t, 0;\n@!p bra A;\ncall f;\nA:\n" WAIT READ),
     ""},
    {"that go on for ever", WITH(".func f() { A: bra A; }\n", "call f;\n" READ WAIT), ""},
};
PTX_TESTS(cases2, SHOW_FINDINGS)

static const struct ptx_case cases3[] = {
    /* Code that is not there is said so. */
    {"before the wait", WITH(".extern .func f();\n", "call f;\n" WAIT READ),
     "k(3) line 3: waits yes, always yes, triggers unknown, 1+0\n"
     "read-before-wait note 4"},
    {"after it", WITH(".extern .func f();\n", WAIT "call f;\n" READ),
     "k(3) line 3: waits yes, always yes, triggers unknown, 1+0"},
    {"and no wait", WITH(".extern .func f();\n", "call f;\n" READ),
     "k(3) line 3: waits unknown, always unknown, triggers unknown, 0+0\n"
     "no-wait note 3"},
    {"through a pointer",
     WITH("", "pr: .callprototype _ (.param .u64 _);\nld.global.u64 x, [ga];\n" WAIT
              ".param .b64 q; st.param.b64 [q], gb; call x, (q), pr;\n"),
     "k(3) line 2: waits yes, always yes, triggers unknown, 1+0\n"
     "read-before-wait warning 4 a"},
    {"through a pointer before the wait",
     WITH("", "pr: .callprototype (.param .b32 _) _ (.param .u64 _);\n"
              "call (v), x, (q), pr;\n" WAIT),
     "k(3) line 2: waits yes, always yes, triggers unknown, 1+0\n"
     "read-before-wait note 4"},
    {"an access behind it, and a wait behind that",
     WITH(".extern .func f();\n", "call f;\n" READ WAIT),
     "k(3) line 3: waits yes, always yes, triggers unknown, 1+0\n"
     "read-before-wait note 4\nread-before-wait warning 5 a"},
    {"functions of the driver touch nothing of the program's",
     WITH(".extern .func (.param .b32 o) vprintf(.param .b64 x, .param .b64 y);\n"
          ".extern .func __assertfail(.param .b64 x);\n",
          "call (v), vprintf, (q, q);\ncall __assertfail, (q);\n" WAIT READ),
     "k(3) line 4: waits yes, always yes, triggers no, 1+0"},
    {"in a function", WITH(".extern .func f();\n.func g() {\ncall f;\nret; }\n", "call g;\n" WAIT),
     "k(3) line 6: waits yes, always yes, triggers unknown, 1+0\n"
     "read-before-wait note 4"},
};
PTX_TESTS(cases3, SHOW_FACTS)

static const struct ptx_case cases4[] = {
    /* Functions that call each other come to an end. */
    {"one that calls itself",
     WITH(".func f(.reg .u64 x) { setp.eq.u64 p, x, 0;\n@p ret;\nld.global.u32 r, [x];\n"
          "call f, (x);\nret; }\n",
          "call f, (ga);\n" WAIT READ),
     "read-before-wait warning 4 a x2"},
    {"two that call each other",
     WITH(".func g(.reg .u64 x);\n"
          ".func f(.reg .u64 x) { setp.eq.u64 p, x, 0;\n@p ret;\ncall g, (x);\nret; }\n"
          ".func g(.reg .u64 x) {\nst.global.u32 [x], 1;\ncall f, (x);\nret; }\n",
          "call f, (gb);\n" WAIT READ),
     "write-before-wait warning 8 b x2"},
    {"and one of them waits",
     WITH(".func g();\n"
          ".func f() {\ncall g;\nret; }\n"
          ".func g() { griddepcontrol.wait; setp.eq.u64 p, x, 0;\n@p ret;\ncall f;\nret; }\n",
          "call f;\n" READ),
     ""},
    {"that never come back", WITH(".func f() { call f; ret; }\n", "call f;\n" READ WAIT), ""},
};
PTX_TESTS(cases4, SHOW_FINDINGS)

static const struct ptx_case cases5[] = {
    /* Triggers in functions are the kernels. */
    {"before the wait",
     WITH(".func f() { griddepcontrol.launch_dependents; ret; }\n", "call f;\n" WAIT READ),
     "trigger-before-wait note 4"},
    {"after it",
     WITH(".func f() { griddepcontrol.launch_dependents; ret; }\n", WAIT READ "call f;\n"), ""},
    {"behind the function's own wait",
     WITH(".func f() { griddepcontrol.wait; griddepcontrol.launch_dependents; ret; }\n",
          "call f;\n"),
     ""},
    {"twice",
     WITH(".func f() { griddepcontrol.launch_dependents; ret; }\n", WAIT "call f;\ncall f;\n"), ""},
    {"never", WITH(".func f() { ret; }\n", WAIT "call f;\n"), "no-trigger note 3"},
    {"and no wait", WITH(".func f() { griddepcontrol.launch_dependents; ret; }\n", "call f;\n"),
     "no-wait warning 4"},
};
PTX_TESTS(cases5, SHOW_NO_TRIGGER)

static const struct ptx_case cases6[] = {
    /* Barriers in functions order threads. */
    {"a barrier",
     WITH(".func f() { bar.sync 0; ret; }\n",
          "setp.eq.u32 p, t, 0;\n@p bra A;\n" WAIT "A:\ncall f;\n" READ),
     "partial-wait note 9 a"},
};
PTX_TESTS(cases6, SHOW_FINDINGS)

/* What the kernel does itself is not left to code that is not here. */
#define E ".extern .func f();\n"

static const struct ptx_case cases10[] = {
    /* Unknown code waits only where nothing else can. */
    {"a write behind it, and a wait behind that", WITH(E, "call f;\n" WRITE WAIT),
     "read-before-wait note 4\nwrite-before-wait warning 5 b"},
    {"a wait on one way behind it",
     WITH(E, "call f;\nsetp.eq.u32 p, t, 0;\n@p bra A;\n" WAIT "A:\n" READ),
     "read-before-wait note 4\npartial-wait warning 9 a"},
    {"a wait on the other way only",
     WITH(E, "setp.eq.u32 p, n, 0;\n@p bra A;\n" WAIT "bra B;\nA:\ncall f;\nB:\n" READ),
     "no-wait note 5\nread-before-wait note 9\nread-before-wait note 11 a"},
    {"a wait of some in front of it",
     WITH(E, "setp.eq.u32 p, t, 0;\n@p bra A;\n" WAIT "A:\ncall f;\n" READ),
     "read-before-wait note 8\npartial-wait warning 9 a"},
    {"in a function, and the wait in the kernel",
     WITH(E ".func g(.reg .u64 x) {\ncall f;\nld.global.u32 r, [x];\nret; }\n",
          "call g, (ga);\n" WAIT),
     "read-before-wait note 4\nread-before-wait warning 5 a"},
    {"in a function, and a wait on the other way only",
     WITH(E ".func g(.reg .u64 x) {\ncall f;\nld.global.u32 r, [x];\nret; }\n",
          "setp.eq.u32 p, n, 0;\n@p bra A;\n" WAIT "bra B;\nA:\ncall g, (ga);\nB:\n"),
     "read-before-wait note 4\nread-before-wait note 5 a\nno-wait note 9"},
    {"that triggers as well", WITH(E, "call f;\ngriddepcontrol.launch_dependents;\n"),
     "no-wait note 3"},
    {"of CUDA's that waits",
     WITH(".extern .func (.param .b32 o) cudaGridDependencySynchronize();\n",
          "call (v), cudaGridDependencySynchronize, ();\n" READ),
     ""},
    {"of CUDA's that triggers",
     WITH(".extern .func cudaTriggerProgrammaticLaunchCompletion();\n",
          "call cudaTriggerProgrammaticLaunchCompletion, ();\n" WAIT),
     "trigger-before-wait note 4"},
    {"of CUDA's that launches: it does not wait",
     WITH(".extern .func (.param .b32 o) __cudaCDP2LaunchDeviceV2(.param .b64 x);\n",
          "call (v), __cudaCDP2LaunchDeviceV2, (q);\n" READ WAIT),
     "read-before-wait note 4\nread-before-wait warning 5 a"},
};
PTX_TESTS(cases10, SHOW_FINDINGS)

TEST(unknown_code_waits_only_where_nothing_else_can)
{
    static const char *const all[] = {"*"};
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    options.overlapped = all;
    options.overlapped_count = 1;
    static const char text[] = WITH(E, "call f;\n" READ);
    assert_found("no other wait", text, strlen(text), &options, SHOW_FINDINGS, "no-wait warning 3");
}
#undef E

#define PROTOTYPE "pr: .callprototype _ (.param .b64 _);\n"
#define CALL      ".param .b64 q; st.param.b64 [q], ga;\n" PROTOTYPE "call x, (q), pr;\n"
/* On lines 2 to 4: one that reads, one that writes, one that touches nothing. */
#define THREE                                                                                      \
    ".func r1(.param .u64 x) { ld.param.u64 y, [x]; ld.u32 r, [y]; ret; }\n"                       \
    ".func w1(.param .u64 x) { ld.param.u64 y, [x]; st.u32 [y], 1; ret; }\n"                       \
    ".func e1(.param .u64 x) { ret; }\n"

static const struct ptx_case cases7[] = {
    /* Pointers lead to the functions that they may mean. */
    {"its address", WITH(THREE, "mov.u64 x, r1;\n" CALL WAIT), "read-before-wait warning 2 a"},
    {"one of two addresses",
     WITH(THREE, "setp.eq.u32 p, n, 0;\nmov.u64 x1, e1; mov.u64 x2, w1;\n"
                 "selp.b64 x, x1, x2, p;\n" CALL WAIT),
     "write-before-wait warning 3 a"},
    {"by the path",
     WITH(THREE, "setp.eq.u32 p, n, 0;\nmov.u64 x, r1;\n@p bra A;\nmov.u64 x, w1;\nA:\n" CALL WAIT),
     "read-before-wait warning 2 a\nwrite-before-wait warning 3 a"},
    {"a slot of a table",
     WITH(THREE ".global .align 8 .u64 tab[3] = {r1, w1, e1};\n",
          "mov.u64 x1, tab; ld.global.u64 x, [x1+8];\n" CALL WAIT),
     "write-before-wait warning 3 a"},
    {"a slot of a table in constant memory, by its name",
     WITH(THREE ".const .align 8 .u64 tab[3] = {r1, w1, e1};\n",
          "ld.const.u64 x, [tab+16];\n" CALL WAIT),
     ""},
    {"any slot of a table",
     WITH(THREE ".global .align 8 .u64 tab[2] = {r1, e1};\n",
          "mov.u64 y, w1;\nmul.wide.u32 x2, n, 8; mov.u64 x3, tab; add.u64 x1, x3, x2;\n"
          "ld.global.u64 x, [x1];\n" CALL WAIT),
     "read-before-wait warning 2 a"},
    {"a table of bytes, with generic addresses and masks",
     WITH(THREE ".global .align 8 .b8 tab[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0xFF(w1), 0xFF00(w1), "
                "0xFF0000(w1), 0, 0, 0, 0, 0};\n.global .u64 other = generic(r1);\n",
          "ld.global.u64 x, [tab+8];\n" CALL WAIT),
     "write-before-wait warning 3 a"},
    {"the second of a vector",
     WITH(THREE ".global .align 8 .u64 tab[4] = {e1, e1, e1, r1};\n",
          "ld.global.v2.u64 {x1, x}, [tab+16];\n" CALL WAIT),
     "read-before-wait warning 2 a"},
    {"a parameter: all of the prototype whose address is taken",
     WITH(THREE ".func r2(.param .u32 x) { ld.global.u32 r, [0]; ret; }\n",
          "mov.u64 y, w1; mov.u64 y, e1; mov.u64 y, r2; ld.param.u64 x, [b];\n" CALL WAIT),
     "write-before-wait warning 3 a\nread-before-wait note 10"},
    {"a parameter, and none is taken", WITH(THREE, "ld.param.u64 x, [b];\n" CALL READ WAIT),
     "read-before-wait note 9\nread-before-wait warning 10 a"},
    {"the functions that the call names",
     WITH(THREE, "ts: .calltargets w1, e1;\nld.param.u64 x, [b];\n.param .b64 q; "
                 "st.param.b64 [q], ga;\ncall x, (q), ts;\n" WAIT),
     "write-before-wait warning 3 a"},
    {"a wait through a pointer",
     WITH(".func w() { griddepcontrol.wait; ret; }\n",
          "mov.u64 x, w;\npr: .callprototype _ ();\ncall x, (), pr;\n" READ),
     ""},
    {"a wait of one of two, by the grid",
     WITH(".func w() { griddepcontrol.wait; ret; }\n.func e() { ret; }\n"
          ".global .u64 tab[2] = {w, e};\n",
          "mul.wide.u32 x2, n, 8; mov.u64 x3, tab; add.u64 x1, x3, x2;\nld.global.u64 x, [x1];\n"
          "pr: .callprototype _ ();\ncall x, (), pr;\n" READ),
     "partial-wait warning 10 a"},
    {"of which one is not here",
     WITH(".extern .func e();\n.func h() { ret; }\n.global .u64 tab[2] = {h, e};\n",
          "mov.u64 x3, tab; add.u64 x1, x3, ga; ld.global.u64 x, [x1];\n"
          "pr: .callprototype _ ();\ncall x, (), pr;\n" READ WAIT),
     "read-before-wait note 8\nread-before-wait warning 9 a"},
    {"a function that is given what it calls",
     WITH(THREE ".func g(.param .u64 fn, .param .u64 p) { ld.param.u64 x, [fn]; ld.param.u64 "
                "ga, [p]; " CALL "ret; }\n",
          "mov.u64 y, r1; mov.u64 y, w1;\n.param .b64 a0, a1; st.param.b64 [a0], y0; "
          "mov.u64 y0, r1; st.param.b64 [a1], ga; call g, (a0, a1);\n" WAIT),
     "read-before-wait warning 2 a"},
};
PTX_TESTS(cases7, SHOW_FINDINGS)

/* Objects of two classes: the table of A has r1 and e1, the one of B w1 and e1. */
#define CLASSES                                                                                    \
    THREE ".global .align 8 .u64 _ZTV1A[4] = {0, 0, r1, e1};\n"                                    \
          ".global .align 8 .u64 _ZTV1B[4] = {0, 0, w1, e1};\n"
#define VIRTUAL(slot)                                                                              \
    "ld.global.u64 o, [ga];\nld.u64 v, [o];\nld.u64 x, [v+" slot "];\n.param .b64 q; "             \
    "st.param.b64 [q], o;\n" PROTOTYPE "call x, (q), pr;\n"

static const struct ptx_case cases8[] = {
    /* Virtual functions are those of the slot. */
    {"the first slot", WITH(CLASSES, VIRTUAL("0") WAIT),
     "read-before-wait warning 2 a\nwrite-before-wait warning 3 a\n"
     "read-before-wait warning 8 a\nread-before-wait warning 9 a"},
    {"the second", WITH(CLASSES, VIRTUAL("8") WAIT),
     "read-before-wait warning 8 a\nread-before-wait warning 9 a"},
    {"of a second base",
     WITH(THREE ".global .align 8 .u64 _ZTV1C[8] = {0, 0, e1, e1, -8, 0, e1, r1};\n",
          VIRTUAL("8") WAIT),
     "read-before-wait warning 2 a\nread-before-wait warning 7 a\n"
     "read-before-wait warning 8 a"},
    {"a slot that no class has", WITH(CLASSES, VIRTUAL("64") WAIT),
     "read-before-wait warning 2 a\nwrite-before-wait warning 3 a\n"
     "read-before-wait warning 8 a\nread-before-wait warning 9 a\n"
     "read-before-wait warning 10 a\nread-before-wait note 13"},
};
PTX_TESTS(cases8, SHOW_FINDINGS)

/* Waits if its parameter is not 0. */
#define WAIT_IF                                                                                    \
    ".func w(.param .b32 on) { ld.param.s8 h, [on]; setp.eq.s16 p, h, 0;\n@p bra A;\n"             \
    "griddepcontrol.wait;\nA: ret; }\n"
#define PASS(value) "{ .param .b32 q; st.param.b32 [q], " value "; call w, (q); }\n"

static const struct ptx_case cases11[] = {
    /* Constants that are passed decide. */
    {"to wait", WITH(WAIT_IF, PASS("1") READ), ""},
    {"not to wait", WITH(WAIT_IF, PASS("0") READ WAIT), "read-before-wait warning 8 a"},
    {"not to wait, by a predicate that is negated",
     WITH(".func w(.param .b32 on) { ld.param.u32 v, [on]; setp.ne.s32 p, v, 0; "
          "setp.eq.s32 _|q, v, 5;\nmov.pred s, 1; and.pred p, s, !p;\n@p bra A;\n"
          "griddepcontrol.wait;\nA: ret; }\n",
          PASS("0") READ PASS("1")),
     "read-before-wait warning 9 a"},
    {"a byte that is 0", WITH(WAIT_IF, PASS("256") READ WAIT), "read-before-wait warning 8 a"},
    {"never to wait", WITH(WAIT_IF, PASS("0") READ), "no-wait note 6"},
    {"first not, and then to wait", WITH(WAIT_IF, PASS("0") PASS("1") READ), ""},
    {"a register that holds one",
     WITH(WAIT_IF, "mov.u32 v3, 3; add.s32 v, v3, -2;\n" PASS("v") READ), ""},
    {"a register that holds one of two that wait",
     WITH(WAIT_IF, "setp.eq.u32 p, n, 0; selp.u32 v, 1, 1, p;\n" PASS("v") READ), ""},
    {"a register that holds another on some way",
     WITH(WAIT_IF, "mov.u32 v, 1;\nsetp.eq.u32 p, t, 0;\n@p mov.u32 v, 0;\n" PASS("v") READ),
     "partial-wait warning 11 a"},
    {"through a function",
     WITH(WAIT_IF ".func g(.param .b32 on) { .param .b32 q; ld.param.u32 v, [on]; "
                  "st.param.b32 [q], v; call w, (q); ret; }\n",
          "{ .param .b32 q; st.param.b32 [q], 1; call g, (q); }\n" READ),
     ""},
    {"in a register, and a number in the call",
     WITH(".func w(.reg .u32 on) { setp.ne.u32 p, on, 2;\n@p ret;\ngriddepcontrol.wait;\nret; "
          "}\n",
          "call w, (2);\n" READ),
     ""},
    {"in a struct",
     WITH(".func w(.param .align 4 .b8 s[8]) { mov.b64 z, s; ld.param.u32 v, [s+4]; "
          "setp.ne.u32 p, "
          "v, 7;\n@p ret;\ngriddepcontrol.wait;\nret; }\n",
          "{ .param .align 4 .b8 q[8]; st.param.v2.b32 [q], {t, 7}; call w, (q); }\n" READ),
     ""},
    {"by a table of branches",
     WITH(".func w(.param .b32 m) { ld.param.u32 v, [m];\nts: .branchtargets A, B, A;\n"
          "brx.idx v, ts;\nA: ret;\nB: griddepcontrol.wait;\nret; }\n",
          PASS("1") READ PASS("2")),
     ""},
    {"whether it reads",
     WITH(".func w(.param .u64 a, .param .b32 on) { ld.param.u64 y, [a]; ld.param.u32 v, [on]; "
          "setp.eq.u32 p, v, 0;\n@p ret;\nld.global.u32 r, [y];\nret; }\n",
          "{ .param .b64 q; .param .b32 s; st.param.b64 [q], ga; st.param.b32 [s], 0; "
          "call w, (q, s); }\n" WAIT),
     ""},
    {"that is stored twice",
     WITH(WAIT_IF,
          ".param .b32 q;\nst.param.b32 [q], 1;\nst.param.b32 [q], 0;\ncall w, (q);\n" READ),
     "read-before-wait warning 11 a"},
    {"to a function that calls itself",
     WITH(".func w(.param .b32 on) { ld.param.u32 v, [on]; setp.eq.u32 p, v, 0;\n@p bra A;\n"
          "griddepcontrol.wait;\nret;\nA: { .param .b32 q; st.param.b32 [q], 1; call w, (q); }\n"
          "ret; }\n",
          PASS("0") READ),
     ""},
};
PTX_TESTS(cases11, SHOW_FINDINGS)
