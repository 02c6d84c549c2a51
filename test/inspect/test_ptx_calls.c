/* SPDX-License-Identifier: MIT */
/* Calls: what functions do is followed to where they are called. */
#include "ptx_support.h"

#define WAIT  "griddepcontrol.wait;\n"
#define READ  "ld.global.u32 r, [ga];\n"
#define WRITE "st.global.u32 [gb], t;\n"

/* Functions on the lines from 2, then the kernel. */
#define WITH(functions, body) PTX_HEADER functions PTX_KERNEL_BEGIN body PTX_KERNEL_END

static void check(const struct ptx_case *cases, size_t count)
{
    assert_all_found(cases, count, NULL, SHOW_FINDINGS);
}

#define CHECK(cases) check(cases, COUNT_OF(cases))

static void a_function_that_waits_is_a_wait(void **state)
{
    (void)state;
    static const struct ptx_case cases[] = {
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
         "wait-in-loop note 5"},
        {"with a guard",
         WITH(".func f() { griddepcontrol.wait; ret; }\n",
              "setp.eq.u32 p, t, 0;\n@p call f;\n" READ),
         "partial-wait warning 6 a"},
        {"that triggers too",
         WITH(".func f() { griddepcontrol.wait; griddepcontrol.launch_dependents; ret; }\n",
              "call f;\n" READ),
         ""},
    };
    CHECK(cases);
}

static void a_function_that_waits_sometimes_is_a_branch(void **state)
{
    (void)state;
    static const struct ptx_case cases[] = {
        {"by the thread",
         WITH(
             ".func f() { mov.u32 t, %tid.x; setp.eq.u32 p, t, 0;\n@p bra A; griddepcontrol.wait;\n"
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
    };
    CHECK(cases);
}

static void accesses_in_functions_are_the_kernels(void **state)
{
    (void)state;
    static const struct ptx_case cases[] = {
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
         WITH(".func f(.reg .u64 x) {\nld.global.u32 r, [x];\nret; }\n", WAIT "call f, (ga);\n"),
         ""},
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
    };
    CHECK(cases);
}

static void functions_that_do_not_return_end_the_path(void **state)
{
    (void)state;
    static const struct ptx_case cases[] = {
        {"declared so",
         WITH(".extern .func f() .noreturn;\n",
              "setp.eq.u32 p, t, 0;\n@!p bra A;\ncall f;\nA:\n" WAIT READ),
         "read-before-wait note 6"},
        {"that trap",
         WITH(".func f() { trap; }\n", "setp.eq.u32 p, t, 0;\n@!p bra A;\ncall f;\nA:\n" WAIT READ),
         ""},
        {"that go on for ever", WITH(".func f() { A: bra A; }\n", "call f;\n" READ WAIT), ""},
    };
    CHECK(cases);
}

static void code_that_is_not_there_is_said_so(void **state)
{
    (void)state;
    static const struct ptx_case cases[] = {
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
        {"in a function",
         WITH(".extern .func f();\n.func g() {\ncall f;\nret; }\n", "call g;\n" WAIT),
         "k(3) line 6: waits yes, always yes, triggers unknown, 1+0\n"
         "read-before-wait note 4"},
    };
    assert_all_found(cases, COUNT_OF(cases), NULL, SHOW_FACTS);
}

static void functions_that_call_each_other_come_to_an_end(void **state)
{
    (void)state;
    static const struct ptx_case cases[] = {
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
    CHECK(cases);
}

static void triggers_in_functions_are_the_kernels(void **state)
{
    (void)state;
    static const struct ptx_case cases[] = {
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
         WITH(".func f() { griddepcontrol.launch_dependents; ret; }\n", WAIT "call f;\ncall f;\n"),
         "repeated-trigger note 6"},
        {"never", WITH(".func f() { ret; }\n", WAIT "call f;\n"), "no-trigger note 3"},
        {"and no wait", WITH(".func f() { griddepcontrol.launch_dependents; ret; }\n", "call f;\n"),
         "no-wait warning 4"},
    };
    assert_all_found(cases, COUNT_OF(cases), NULL, SHOW_NO_TRIGGER);
}

static void barriers_in_functions_order_threads(void **state)
{
    (void)state;
    static const struct ptx_case cases[] = {
        {"a barrier",
         WITH(".func f() { bar.sync 0; ret; }\n",
              "setp.eq.u32 p, t, 0;\n@p bra A;\n" WAIT "A:\ncall f;\n" READ),
         "partial-wait note 9 a"},
    };
    CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_that_waits_is_a_wait),
        cmocka_unit_test(a_function_that_waits_sometimes_is_a_branch),
        cmocka_unit_test(accesses_in_functions_are_the_kernels),
        cmocka_unit_test(functions_that_do_not_return_end_the_path),
        cmocka_unit_test(code_that_is_not_there_is_said_so),
        cmocka_unit_test(functions_that_call_each_other_come_to_an_end),
        cmocka_unit_test(triggers_in_functions_are_the_kernels),
        cmocka_unit_test(barriers_in_functions_order_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
