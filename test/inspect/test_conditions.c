/* SPDX-License-Identifier: MIT */
/* Conditions in front of waits and of what they protect: who is among those that waited, and what decides
 * whether a kernel waits at all. */
#include "ptx_support.h"

#define WAIT  "griddepcontrol.wait;\n"
#define READ  "ld.global.u32 r, [ga];\n"
#define WRITE "st.global.u32 [gb], t;\n"
/* The third parameter is a flag, whose name does not say that it is a number. */
#define KERNEL(body)                                                                               \
    PTX_HEADER                                                                                     \
    ".visible .entry k(.param .u64 a, .param .u64 b, .param .u32 on) { "                           \
    "ld.param.u64 ga, [a]; cvta.to.global.u64 ga, ga; "                                            \
    "ld.param.u64 gb, [b]; cvta.to.global.u64 gb, gb; "                                            \
    "ld.param.u32 n, [on]; mov.u32 t, %tid.x; mov.u32 c, %ctaid.x;\n" body PTX_KERNEL_END
#define IF_FLAG "setp.eq.u32 p, n, 0;\n"
/* Those of the first warp wait, on line 4. */
#define WARP_WAITS "setp.lt.u32 p, t, 32;\n@p griddepcontrol.wait;\n"

static const struct ptx_case cases1[] = {
    /* Who waited is known by ranges. */
    {"a thread of the warp", KERNEL(WARP_WAITS "setp.eq.u32 q, t, 7;\n@!q bra A;\n" READ "A:\n"),
     "exit-before-wait note 4"},
    {"a thread of another", KERNEL(WARP_WAITS "setp.eq.u32 q, t, 32;\n@!q bra A;\n" READ "A:\n"),
     "partial-wait warning 7 a"},
    {"by the number of the warp",
     KERNEL(WARP_WAITS "shr.u32 w, t, 5;\nsetp.ne.u32 q, w, 0;\n@q bra A;\n" READ "A:\n"),
     "exit-before-wait note 4"},
    {"by half of it",
     KERNEL("shr.u32 w, t, 5;\nsetp.eq.u32 p, w, 2;\n@p griddepcontrol.wait;\n"
            "setp.lt.u32 q, t, 96;\nsetp.ge.and.u32 q, t, 64, q;\n@!q bra A;\n" READ "A:\n"),
     "partial-wait warning 9 a"},
    {"a guarded read", KERNEL(WARP_WAITS "setp.lt.u32 q, t, 8;\n@q ld.global.u32 r, [ga];\n"),
     "exit-before-wait note 4"},
    {"a guarded read of the others",
     KERNEL(WARP_WAITS "setp.lt.u32 q, t, 8;\n@!q ld.global.u32 r, [ga];\n"),
     "partial-wait warning 6 a"},
    {"a table of roles",
     KERNEL("ts: .branchtargets A, B, C;\nshr.u32 w, t, 5;\nsetp.eq.u32 p, w, 1;\n"
            "@p griddepcontrol.wait;\nbrx.idx w, ts;\nA:\nret;\nB:\n" READ "C:\n"),
     "exit-before-wait note 6"},
    {"a sum and a difference",
     KERNEL(WARP_WAITS "add.s32 x, t, 10;\nsub.s32 x, x, 12;\nsetp.gt.s32 q, x, 20;\n"
                       "@q bra A;\n" READ "A:\n"),
     "exit-before-wait note 4"},
    {"an unsigned difference that is large below zero",
     KERNEL(WARP_WAITS "sub.s32 x, t, 40;\nsetp.lt.u32 q, x, 20;\n@!q bra A;\n" READ "A:\n"),
     "partial-wait warning 8 a"},
    {"the register has another value when the predicate is asked",
     KERNEL("mov.u32 x, t;\nsetp.lt.u32 p, x, 32;\nsub.s32 x, x, 9;\n"
            "@p griddepcontrol.wait;\nsetp.eq.u32 q, x, 25;\n@!q bra A;\n" READ "A:\n"),
     "partial-wait warning 9 a"},
    {"the register has another value since",
     KERNEL("mov.u32 x, t;\nsetp.lt.u32 p, x, 32;\n@p griddepcontrol.wait;\nadd.s32 x, x, 9;\n"
            "setp.eq.u32 q, x, 40;\n@!q bra A;\n" READ "A:\n"),
     "exit-before-wait note 5"},
    {"the register has another value since, and another one",
     KERNEL("mov.u32 x, t;\nsetp.lt.u32 p, x, 32;\n@p griddepcontrol.wait;\nadd.s32 x, x, 9;\n"
            "setp.eq.u32 q, x, 41;\n@!q bra A;\n" READ "A:\n"),
     "partial-wait warning 9 a"},
    /* Predicates are taken apart. */
    {"both results",
     KERNEL("setp.lt.u32 p|q, t, 32;\n@p griddepcontrol.wait;\n@q bra A;\n" READ "A:\n"),
     "exit-before-wait note 4"},
    {"the second result alone",
     KERNEL("setp.lt.u32 _|q, t, 32;\n@!q griddepcontrol.wait;\n@q bra A;\n" READ "A:\n"),
     "exit-before-wait note 4"},
    {"the second result, taken for the first",
     KERNEL("setp.lt.u32 _|q, t, 32;\n@!q griddepcontrol.wait;\nsetp.lt.u32 x, t, 32;\n"
            "@x bra A;\n" READ "A:\n"),
     "partial-wait warning 7 a"},
    {"with another that is turned round",
     KERNEL("setp.ge.u32 p, t, 32;\n@!p griddepcontrol.wait;\n"
            "setp.gt.and.u32 q, t, 7, !p;\n@!q bra A;\n" READ "A:\n"),
     "exit-before-wait note 4"},
    {"with another that is not",
     KERNEL("setp.ge.u32 p, t, 32;\n@!p griddepcontrol.wait;\n"
            "setp.gt.and.u32 q, t, 7, p;\n@!q bra A;\n" READ "A:\n"),
     "partial-wait warning 7 a"},
    {"a selected number",
     KERNEL(WARP_WAITS "selp.u32 x, 3, 5, p;\nsetp.ne.s32 q, x, 3;\n@q bra A;\n" READ "A:\n"),
     "exit-before-wait note 4"},
    {"one of two",
     KERNEL(WARP_WAITS "setp.eq.u32 q, c, 0;\nor.pred q, p, q;\n@!q bra A;\n" READ "A:\n"),
     "partial-wait warning 8 a"},
    /* The first turn is known by a copy. */
    {"of the block's number",
     KERNEL("mov.u32 i, c;\nA:\nsetp.ne.s32 p, i, c;\n@p bra B;\n" WAIT "B:\n" READ
            "add.s32 i, i, 7;\nsetp.lt.s32 q, i, n;\n@q bra A;\n"),
     ""},
    {"of another number",
     KERNEL("mov.u32 i, t;\nA:\nsetp.ne.s32 p, i, c;\n@p bra B;\n" WAIT "B:\n" READ
            "add.s32 i, i, 7;\nsetp.lt.s32 q, i, n;\n@q bra A;\n"),
     "partial-wait warning 9 a\nexit-before-wait note 12"},
    {"of a number that has another value by then",
     KERNEL("add.s32 j, c, 1;\nmov.u32 i, j;\nadd.s32 j, j, t;\nsetp.ne.s32 p, i, j;\n"
            "@p bra B;\n" WAIT "B:\n" READ),
     "partial-wait warning 10 a"},
    {"of a number that changed",
     KERNEL("mov.u32 j, c;\nmov.u32 i, j;\nadd.s32 j, j, t;\nA:\nsetp.ne.s32 p, i, j;\n"
            "@p bra B;\n" WAIT "B:\n" READ),
     "partial-wait warning 11 a"},
};
PTX_TESTS(cases1, SHOW_FINDINGS)

static const struct ptx_case cases3[] = {
    /* A wait that the launch decides is a note. */
    {"a guarded wait", KERNEL(IF_FLAG "@!p griddepcontrol.wait;\n" READ), "no-wait note 4"},
    {"a branch around it", KERNEL(IF_FLAG "@p bra A;\n" WAIT "A:\n" READ), "no-wait note 4"},
    {"by one bit of several",
     KERNEL("and.b32 x, n, 4; setp.ne.u32 p, x, 0; @!p bra A;\n" WAIT "A:\n" READ),
     "no-wait note 3"},
    {"two copies of what comes behind",
     KERNEL(IF_FLAG "@p bra A;\n" WAIT READ "bra B;\nA:\n" READ "B:\n"), "no-wait note 4"},
};
PTX_TESTS(cases3, SHOW_FINDINGS)

TEST(a_wait_that_the_launch_decides_is_a_note)
{
    static const char *const patterns[] = {"k"};
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    options.overlapped = patterns;
    options.overlapped_count = COUNT_OF(patterns);
    for (size_t i = 0; i < COUNT_OF(cases3); i++) {
        assert_found(cases3[i].title, cases3[i].text, strlen(cases3[i].text), &options,
                     SHOW_FINDINGS, i == 2 ? "no-wait warning 3" : "no-wait warning 4");
    }
}

static const struct ptx_case cases2[] = {
    /* A wait that something else decides is a warning. */
    {"where the flag is not set", KERNEL(IF_FLAG "@p griddepcontrol.wait;\n" READ),
     "no-wait warning 4"},
    {"by the size of the grid",
     KERNEL("mov.u32 x, %nctaid.x; setp.eq.u32 p, x, 1;\n"
            "@p bra A;\n" WAIT "A:\n" READ),
     "no-wait warning 4"},
    {"by a number that is used for more",
     KERNEL(IF_FLAG "@p bra A;\n" WAIT "A:\nadd.u64 ga, ga, n;\n" READ), "no-wait warning 4"},
    {"by a number, to tell by its name", PTX_KERNEL(IF_FLAG "@p bra A;\n" WAIT "A:\n" READ),
     "no-wait warning 4"},
    {"by a count", KERNEL("setp.gt.s32 p, n, 1;\n@!p bra A;\n" WAIT "A:\n" READ),
     "no-wait warning 4"},
    {"with other memory on one side",
     KERNEL(IF_FLAG "@p bra A;\n" WAIT READ "bra B;\nA:\n" WRITE "B:\n"), "no-wait warning 4"},
    {"by what is loaded",
     KERNEL("ld.global.u32 n, [gb];\nsetp.eq.u32 p, n, 0;\n@p bra A;\n" WAIT "A:\n" READ),
     "read-before-wait warning 3 b\npartial-wait warning 8 a"},
};
PTX_TESTS(cases2, SHOW_FINDINGS)
