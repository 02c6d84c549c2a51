/* SPDX-License-Identifier: MIT */
/* Barriers and mbarriers between the threads that wait and those that do not: in which phase they meet,
 * and who arrives. */
#include "ptx_support.h"

#define WAIT  "griddepcontrol.wait;\n"
#define READ  "ld.global.u32 r, [ga];\n"
#define WRITE "st.global.u32 [gb], t;\n"
/* Threads other than the first go to A. */
#define ROLES           "setp.ne.u32 p, t, 0;\n@p bra A;\n"
#define SYNC            "bar.sync 1, 64;\n"
#define ARRIVE(address) "mbarrier.arrive.shared.b64 _, [" address "];\n"
#define AWAIT(label, address, parity)                                                              \
    label ":\nmbarrier.try_wait.parity.shared.b64 q, [" address "], " parity ";\n@!q bra " label   \
          ";\n"
#define SHARED ".shared .align 8 .b64 m[8];\n"

static const struct ptx_case cases1[] = {
    /* A barrier orders in the phase behind the wait. */
    {"the first phase", PTX_KERNEL(ROLES WAIT SYNC "ret;\nA:\n" SYNC READ),
     "partial-wait note 10 a"},
    {"a phase before the wait", PTX_KERNEL(ROLES SYNC WAIT SYNC "ret;\nA:\n" SYNC READ SYNC),
     "partial-wait warning 11 a"},
    {"and the next one", PTX_KERNEL(ROLES SYNC WAIT SYNC "ret;\nA:\n" SYNC SYNC READ),
     "partial-wait note 12 a"},
    {"an arrival before the wait",
     PTX_KERNEL(ROLES "bar.arrive 1, 64;\n" WAIT SYNC "ret;\nA:\n" SYNC READ SYNC),
     "partial-wait warning 11 a"},
    {"an own arrival counts",
     PTX_KERNEL(ROLES SYNC WAIT SYNC "ret;\nA:\nbar.arrive 1, 64;\n" SYNC READ),
     "partial-wait note 12 a"},
    {"another number",
     PTX_KERNEL(ROLES "bar.sync 2, 64;\n" WAIT SYNC "ret;\nA:\nbar.sync 2, 64;\n" READ),
     "partial-wait warning 11 a"},
    {"a number in a register",
     PTX_KERNEL("mov.u32 id, 1;" ROLES WAIT "bar.sync id, 64;\nret;\nA:\n" SYNC READ),
     "partial-wait note 10 a"},
    {"phases before the branch",
     PTX_KERNEL("L:\n" SYNC "setp.eq.u32 l, n, 0;\n@l bra L;\n" ROLES WAIT SYNC
                "ret;\nA:\n" SYNC READ),
     "partial-wait note 14 a"},
    {"a loop of them before the wait",
     PTX_KERNEL(ROLES "L:\n" SYNC "setp.eq.u32 l, n, 0;\n@l bra L;\n" WAIT SYNC
                      "ret;\nA:\n" SYNC READ),
     "partial-wait warning 14 a"},
    {"only some come to the barrier",
     PTX_KERNEL(ROLES WAIT SYNC "ret;\nA:\n@n1 bra B;\n" SYNC "B:\n" READ),
     "partial-wait warning 12 a"},
    {"a barrier that may not be executed",
     PTX_KERNEL(ROLES WAIT SYNC "ret;\nA:\n@n1 bar.sync 1, 64;\n" READ),
     "partial-wait warning 10 a"},
    /* A barrier of the warp orders its lanes. */
    {"an elected lane",
     PTX_KERNEL("elect.sync e|p, -1;\n@!p bra A;\n" WAIT "A:\nbar.warp.sync -1;\n" READ),
     "partial-wait note 8 a"},
    {"the lane's number",
     PTX_KERNEL("mov.u32 l, %laneid; setp.ne.u32 p, l, 0;\n@p bra A;\n" WAIT
                "A:\nbar.warp.sync 0xffffffff;\n" READ),
     "partial-wait note 8 a"},
    {"low bits of the thread's number",
     PTX_KERNEL("and.b32 l, t, 31; setp.ne.u32 p, l, 0;\n@p bra A;\n" WAIT
                "A:\nbar.warp.sync -1;\n" READ),
     "partial-wait note 8 a"},
    {"too many of them",
     PTX_KERNEL("and.b32 l, t, 63; setp.ne.u32 p, l, 0;\n@p bra A;\n" WAIT
                "A:\nbar.warp.sync -1;\n" READ),
     "partial-wait warning 8 a"},
    {"fewer lanes",
     PTX_KERNEL("mov.u32 l, %laneid; setp.ne.u32 p, l, 0;\n@p bra A;\n" WAIT
                "A:\nbar.warp.sync 0xff;\n" READ),
     "partial-wait warning 8 a"},
    {"lanes of a mask that is not known",
     PTX_KERNEL("mov.u32 l, %laneid; setp.ne.u32 p, l, 0;\n@p bra A;\n" WAIT
                "A:\nactivemask.b32 k1;\nbar.warp.sync k1;\n" READ),
     "partial-wait warning 9 a"},
    {"a vote is none",
     PTX_KERNEL("mov.u32 l, %laneid; setp.ne.u32 p, l, 0;\n@p bra A;\n" WAIT
                "A:\nvote.sync.any.pred v, p, -1;\n" READ),
     "partial-wait warning 8 a"},
    {"a block of one warp",
     PTX_HEADER ".visible .entry k(.param .u64 a)\n.maxntid 32, 1, 1\n{ ld.param.u64 ga, [a]; "
                "cvta.to.global.u64 ga, ga; mov.u32 t, %tid.x;\n" ROLES WAIT
                "A:\nbar.warp.sync -1;\n" READ "ret; }\n",
     "partial-wait note 10 a"},
    {"a block of two",
     PTX_HEADER ".visible .entry k(.param .u64 a)\n.maxntid 64, 1, 1\n{ ld.param.u64 ga, [a]; "
                "cvta.to.global.u64 ga, ga; mov.u32 t, %tid.x;\n" ROLES WAIT
                "A:\nbar.warp.sync -1;\n" READ "ret; }\n",
     "partial-wait warning 10 a"},
    /* An mbarrier orders if those who waited arrive. */
    {"they do", PTX_KERNEL(SHARED ROLES WAIT ARRIVE("m") "ret;\n" AWAIT("A", "m", "0") READ),
     "partial-wait note 12 a"},
    {"at another offset",
     PTX_KERNEL(SHARED ROLES WAIT ARRIVE("m+8") "ret;\n" AWAIT("A", "m", "0") READ),
     "partial-wait warning 12 a"},
    {"in an array from there on",
     PTX_KERNEL(SHARED "mad.lo.u32 x, n, 8, m;\n" ROLES WAIT ARRIVE("x") "ret;\n" AWAIT("A", "m+16",
                                                                                        "0") READ),
     "partial-wait note 13 a"},
    {"in an array behind it",
     PTX_KERNEL(SHARED "mad.lo.u32 x, n, 8, m;\n" ROLES WAIT ARRIVE("x+32") "ret;\n" AWAIT(
         "A", "m+16", "0") READ),
     "partial-wait warning 13 a"},
    {"in the block of another rank",
     PTX_KERNEL(SHARED "mapa.shared::cluster.u32 x, m, 1;\n" ROLES WAIT ARRIVE("x") "ret;\n" AWAIT(
         "A", "m", "0") READ),
     "partial-wait note 13 a"},
    {"they expect bytes",
     PTX_KERNEL(SHARED ROLES WAIT "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [m], 16;\n"
                                  "ret;\n" AWAIT("A", "m", "0") READ),
     "partial-wait note 12 a"},
    {"parity 1", PTX_KERNEL(SHARED ROLES WAIT ARRIVE("m") "ret;\n" AWAIT("A", "m", "1") READ),
     "partial-wait warning 12 a"},
    {"a parity that is not known",
     PTX_KERNEL(SHARED ROLES WAIT ARRIVE("m") "ret;\n" AWAIT("A", "m", "n") READ),
     "partial-wait note 12 a"},
    {"a write", PTX_KERNEL(SHARED ROLES WAIT ARRIVE("m") "ret;\n" AWAIT("A", "m", "1") WRITE),
     "partial-wait warning 12 b"},
    {"a register that begins with 0",
     PTX_KERNEL(SHARED "mov.u32 f, 0;\n" ROLES WAIT ARRIVE("m") "ret;\nA:\n" AWAIT("B", "m", "f")
                    READ "xor.b32 f, f, 1;\nsetp.ne.u32 l, n, 7;\n@l bra A;\n"),
     "partial-wait note 14 a"},
    {"one that begins with 1",
     PTX_KERNEL(SHARED "mov.u32 f, 1;\n" ROLES WAIT ARRIVE("m") "ret;\nA:\n" AWAIT("B", "m", "f")
                    READ "xor.b32 f, f, 1;\nsetp.ne.u32 l, n, 7;\n@l bra A;\n"),
     "partial-wait warning 14 a"},
    {"a number that is computed",
     PTX_KERNEL(SHARED "mov.u32 f, 6;\nlop3.b32 f, f, 5, 3, 0x96;\n" ROLES WAIT ARRIVE(
         "m") "ret;\n" AWAIT("A", "m", "f") READ),
     "partial-wait note 14 a"},
    {"a number that is computed to be odd",
     PTX_KERNEL(SHARED "mov.u32 f, 6;\nmul.hi.u32 f, f, 0x80000000;\n" ROLES WAIT ARRIVE(
         "m") "ret;\n" AWAIT("A", "m", "f") READ),
     "partial-wait warning 14 a"},
    {"a result that is computed from",
     PTX_KERNEL(SHARED ROLES WAIT ARRIVE(
         "m") "ret;\nA:\nmbarrier.try_wait.parity.shared.b64 q, [m], 0;\n"
              "selp.b32 x, 3, 7, !q;\nsetp.lt.u32 l, x, 5;\n@l bra A;\n" READ),
     "partial-wait note 14 a"},
    {"a result that is computed from, and left if it fails",
     PTX_KERNEL(SHARED ROLES WAIT ARRIVE(
         "m") "ret;\nA:\nmbarrier.try_wait.parity.shared.b64 q, [m], 0;\n"
              "selp.b32 x, 3, 7, !q;\nsetp.lt.u32 l, x, 5;\n@!l bra A;\n" READ),
     "partial-wait warning 14 a"},
    {"they arrive before they wait, too, and one arrival is enough",
     PTX_KERNEL(SHARED "mbarrier.init.shared.b64 [m], 1;\n" ROLES ARRIVE("m")
                    WAIT ARRIVE("m") "ret;\n" AWAIT("A", "m", "0") READ),
     "partial-wait warning 14 a"},
    {"the same, and it takes two",
     PTX_KERNEL(SHARED "mbarrier.init.shared.b64 [m], 2;\n" ROLES ARRIVE("m")
                    WAIT ARRIVE("m") "ret;\n" AWAIT("A", "m", "0") READ),
     "partial-wait note 14 a"},
    {"nobody looks at the answer",
     PTX_KERNEL(
         SHARED ROLES WAIT ARRIVE("m") "ret;\nA:\n"
                                       "mbarrier.test_wait.parity.shared.b64 q, [m], 0;\n" READ),
     "partial-wait warning 11 a"},
    {"it goes on whatever the answer",
     PTX_KERNEL(SHARED ROLES WAIT ARRIVE(
         "m") "ret;\nA:\n"
              "mbarrier.test_wait.parity.shared.b64 q, [m], 0;\n@q bra B;\n" WRITE "B:\n" READ),
     "partial-wait warning 12 b\npartial-wait warning 14 a"},
    {"by another thread in between",
     PTX_KERNEL(SHARED ROLES WAIT ARRIVE("m") "ret;\nA:\nsetp.eq.u32 p, t, 1;\n@p bra B;\n" AWAIT(
         "C", "m", "0") ARRIVE("m+8") "ret;\n" AWAIT("B", "m+8", "0") READ),
     "partial-wait note 20 a"},
};
PTX_TESTS(cases1, SHOW_FINDINGS)

/* A kernel k(a, n) whose lines begin at 4: `decide` sets p for those that go around the wait. */
#define KERNEL_OF(bounds, decide, barrier)                                                         \
    PTX_HEADER ".visible .entry k(.param .u64 a, .param .u32 count, .param .u64 q)\n" bounds       \
               "\n{ ld.param.u64 ga, [a]; cvta.to.global.u64 ga, ga; ld.param.u32 n, [count]; "    \
               "mov.u32 t, %tid.x; mov.u32 ty, %tid.y; mov.u32 c, %ctaid.x;\n" decide              \
               "\n@p bra A;\n" WAIT "A:\n" barrier "\n" READ "ret; }\n"
#define ORDERS      "partial-wait note 10 a"
#define DOES_NOT    "partial-wait warning 10 a"
#define OF_GRID     "mad.lo.u32 i, c, 64, t; "
#define FIRST_WAITS "setp.ne.u32 p, t, 0;"
#define SYNC_ALL    "bar.sync 0;"

static const struct ptx_case cases2[] = {
    /* A barrier orders if every block has a thread that waits. */
    {"the first thread", KERNEL_OF("", FIRST_WAITS, SYNC_ALL), ORDERS},
    {"the first of the grid", KERNEL_OF("", OF_GRID "setp.ne.u32 p, i, 0;", SYNC_ALL), DOES_NOT},
    {"the first 32 of the grid", KERNEL_OF("", OF_GRID "setp.gt.u32 p, i, 31;", SYNC_ALL),
     DOES_NOT},
    {"those of the grid that have work", KERNEL_OF("", OF_GRID "setp.ge.u32 p, i, n;", SYNC_ALL),
     DOES_NOT},
    {"as many as the launch says", KERNEL_OF("", "setp.ge.u32 p, t, n;", SYNC_ALL), DOES_NOT},
    {"the one that the launch says", KERNEL_OF("", "setp.ne.u32 p, t, n;", SYNC_ALL), DOES_NOT},
    {"one that the data says",
     KERNEL_OF("", "ld.shared.u32 x, [s]; setp.ne.u32 p, t, x;", SYNC_ALL), DOES_NOT},
    {"the first of block 0", KERNEL_OF("", "or.b32 i, t, c; setp.ne.u32 p, i, 0;", SYNC_ALL),
     DOES_NOT},
    {"the first, if the launch says so",
     KERNEL_OF("", "setp.ne.u32 e, t, 0; setp.lt.or.s32 p, n, 100, e;", SYNC_ALL), DOES_NOT},
    {"thread 32", KERNEL_OF("", "setp.ne.u32 p, t, 32;", SYNC_ALL), DOES_NOT},
    {"thread 32 of 32", KERNEL_OF(".maxntid 32", "setp.ne.u32 p, t, 32;", SYNC_ALL), DOES_NOT},
    {"thread 1", KERNEL_OF("", "setp.ne.u32 p, t, 1;", SYNC_ALL), DOES_NOT},
    {"all but the first", KERNEL_OF("", "setp.eq.u32 p, t, 0;", SYNC_ALL), ORDERS},
    {"the second row", KERNEL_OF("", "setp.ne.u32 p, ty, 1;", SYNC_ALL), DOES_NOT},
    {"the first row", KERNEL_OF("", "setp.ne.u32 p, ty, 0;", SYNC_ALL), ORDERS},
    {"the first warp", KERNEL_OF("", "shr.u32 w, t, 5; setp.ne.u32 p, w, 0;", SYNC_ALL), ORDERS},
    {"the first warp, as a lane has it",
     KERNEL_OF("", "shr.u32 w, t, 5; shfl.sync.idx.b32 w0|o, w, 0, 31, -1; setp.ne.u32 p, w0, 0;",
               SYNC_ALL),
     ORDERS},
    {"warp 4", KERNEL_OF("", "shr.u32 w, t, 5; setp.ne.u32 p, w, 4;", SYNC_ALL), DOES_NOT},
    {"warp 4 of 4",
     KERNEL_OF(".maxntid 128, 1, 1", "shr.u32 w, t, 5; setp.ne.u32 p, w, 4;", SYNC_ALL), DOES_NOT},
    {"the first lanes", KERNEL_OF("", "mov.u32 l, %laneid; setp.ne.u32 p, l, 0;", SYNC_ALL),
     ORDERS},
    {"the last lanes", KERNEL_OF("", "mov.u32 l, %laneid; setp.ne.u32 p, l, 31;", SYNC_ALL),
     DOES_NOT},
    {"the elected of each warp", KERNEL_OF("", "elect.sync x|e, -1; not.pred p, e;", SYNC_ALL),
     ORDERS},
    {"the elected of the first warp",
     KERNEL_OF("",
               "elect.sync x|e, -1; shr.u32 w, t, 5; setp.ne.u32 o, w, 0; not.pred e, e; or.pred "
               "p, o, e;",
               SYNC_ALL),
     ORDERS},
    {"the elected of the first warp, in two registers",
     KERNEL_OF("",
               "elect.sync x|e, -1; shr.u32 w, t, 5; setp.ne.u32 o, w, 0; not.pred f, e; or.pred "
               "p, o, f;",
               SYNC_ALL),
     ORDERS},
    {"the elected of warp 1",
     KERNEL_OF("",
               "elect.sync x|e, -1; shr.u32 w, t, 5; setp.ne.u32 o, w, 1; not.pred f, e; or.pred "
               "p, o, f;",
               SYNC_ALL),
     DOES_NOT},
    {"lanes that not every warp has, of a warp",
     KERNEL_OF("", "and.b32 l, t, 31; setp.ne.u32 p, l, 5;", "bar.warp.sync -1;"), DOES_NOT},
    {"a predicate that is set on two ways",
     KERNEL_OF("",
               "setp.eq.u32 e, t, 0; mov.pred f, 0; setp.ge.u32 o, t, 32; @o bra B; mov.pred f, e; "
               "B: not.pred p, f;",
               SYNC_ALL),
     ORDERS},
    {"one that is set anew behind that",
     KERNEL_OF("",
               "setp.eq.u32 e, t, 0; mov.pred f, 0; setp.ge.u32 o, t, 32; @o bra B; mov.pred f, e; "
               "setp.eq.u32 f, t, n; B: not.pred p, f;",
               SYNC_ALL),
     DOES_NOT},
    {"the block of each cluster that every one has",
     KERNEL_OF("", "mov.u32 l, %cluster_ctarank; setp.ne.u32 p, l, 0;",
               "barrier.cluster.arrive; barrier.cluster.wait;"),
     ORDERS},
    {"another block of the cluster",
     KERNEL_OF("", "mov.u32 l, %cluster_ctarank; setp.ne.u32 p, l, 3;",
               "barrier.cluster.arrive; barrier.cluster.wait;"),
     DOES_NOT},
};
PTX_TESTS(cases2, SHOW_FINDINGS)

#define LEAVES(condition, barrier)                                                                 \
    PTX_KERNEL(condition "\n@e ret;\nsetp.ne.u32 p, t, 0;\n@p bra A;\n" WAIT "A:\n" barrier        \
                         "\n" READ)

static const struct ptx_case cases4[] = {
    /* Who waits must not have left. */
    {"by what it is", LEAVES("setp.ge.u32 e, t, n;", SYNC_ALL),
     "exit-before-wait note 4\npartial-wait warning 10 a"},
    {"by what it is not", LEAVES("setp.gt.u32 e, t, 63;", SYNC_ALL),
     "exit-before-wait note 4\npartial-wait note 10 a"},
    {"with its block", LEAVES("setp.ge.u32 e, c, n;", SYNC_ALL),
     "exit-before-wait note 4\npartial-wait note 10 a"},
    {"between the branch and the wait",
     PTX_KERNEL("setp.ne.u32 p, t, 0;\nsetp.ne.u32 e, n, 7;\n@p bra A;\n@e ret;\n" WAIT
                "A:\n" SYNC_ALL "\n" READ),
     "no-wait note 6\npartial-wait warning 10 a"},
    {"but goes around the wait",
     PTX_KERNEL("setp.ne.u32 p, t, 0;\nsetp.le.s32 e, n, 100;\n@p bra A;\n@e bra A;\n" WAIT
                "A:\n" SYNC_ALL "\n" READ),
     "no-wait note 6\npartial-wait warning 10 a"},
    {"behind what each block decides by itself",
     PTX_KERNEL("setp.ne.u32 p, t, 0;\nsetp.le.s32 e, n, 100;\n@e bra B;\n@p bra A;\n" WAIT
                "A:\n" SYNC_ALL "\n" READ "ret;\nB:\n" WAIT READ),
     "partial-wait note 10 a"},
    {"in a function that some blocks call",
     PTX_HEADER ".func f()\n{ mov.u32 t, %tid.x; setp.ne.u32 p, t, 0;\n@p bra A;\n" WAIT
                "A:\nret; }\n.visible .entry k(.param .u64 a) { ld.param.u64 ga, [a]; "
                "mov.u32 t, %tid.x;\nsetp.lt.u32 p, t, 32;\n@p bra B;\ncall f;\nB:\n" SYNC_ALL
                "\nld.u32 r, [ga]; ret; }\n",
     "read-before-wait warning 14 a"},
    {"in a function that all call",
     PTX_HEADER
     ".func f()\n{ mov.u32 t, %tid.x; setp.ne.u32 p, t, 0;\n@p bra A;\n" WAIT
     "A:\nret; }\n.visible .entry k(.param .u64 a) { ld.param.u64 ga, [a];\ncall f;\n" SYNC_ALL
     "\nld.u32 r, [ga]; ret; }\n",
     "partial-wait note 11 a"},
};
PTX_TESTS(cases4, SHOW_FINDINGS)

static const struct ptx_case cases3[] = {
    /* Barriers that others can complete order nothing. */
    {"all threads", KERNEL_OF(".maxntid 128", FIRST_WAITS, "bar.sync 1, 128;"), ORDERS},
    {"more than there are", KERNEL_OF(".maxntid 64, 2, 1", FIRST_WAITS, "bar.sync 1, 160;"),
     ORDERS},
    {"fewer than there may be", KERNEL_OF(".maxntid 128", FIRST_WAITS, "bar.sync 1, 96;"),
     DOES_NOT},
    {"fewer than there are", KERNEL_OF(".reqntid 64, 2, 1", FIRST_WAITS, "bar.sync 1, 96;"),
     DOES_NOT},
    {"fewer, in a reduction",
     KERNEL_OF(".maxntid 128", FIRST_WAITS, "barrier.cta.red.or.pred e, 1, 96, p;"), DOES_NOT},
    {"all, in a reduction",
     KERNEL_OF(".maxntid 128", FIRST_WAITS, "barrier.cta.red.or.pred e, 1, !p;"), ORDERS},
    {"one that is not understood", KERNEL_OF("", FIRST_WAITS, "barrier.cta.drop 0;"), DOES_NOT},
    {"as many as the launch says", KERNEL_OF("", FIRST_WAITS, "bar.sync 1, n;"), DOES_NOT},
    {"a number that the launch says", KERNEL_OF("", FIRST_WAITS, "bar.sync n;"), DOES_NOT},
    {"a number that the thread computes",
     KERNEL_OF("", "and.b32 o, t, 7; " FIRST_WAITS, "bar.sync o;"), DOES_NOT},
    {"a number that is not known, and then all", /* the first may be that of all */
     KERNEL_OF("", FIRST_WAITS, "bar.sync n; bar.sync 0;"), ORDERS},
    {"those that wait arrive at one that is not known",
     PTX_KERNEL(ROLES WAIT "bar.sync n, 64;\nret;\nA:\n" SYNC READ), "partial-wait warning 10 a"},
    {"a phase of one that is not known does not count",
     PTX_KERNEL(ROLES SYNC WAIT SYNC "ret;\nA:\nbar.sync n, 64;\n" SYNC READ),
     "partial-wait warning 12 a"},
    {"the cluster",
     KERNEL_OF("", FIRST_WAITS, "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;"),
     ORDERS},
    {"the cluster, relaxed",
     KERNEL_OF("", FIRST_WAITS, "barrier.cluster.arrive.relaxed; barrier.cluster.wait;"), DOES_NOT},
    {"an mbarrier, relaxed",
     PTX_KERNEL(SHARED ROLES WAIT
                "mbarrier.arrive.relaxed.cta.shared.b64 _, [m];\nret;\n" AWAIT("A", "m", "0") READ),
     "partial-wait warning 12 a"},
    {"one that is awaited relaxed",
     PTX_KERNEL(SHARED ROLES WAIT ARRIVE(
         "m") "ret;\nA:\nmbarrier.try_wait.parity.relaxed.cta.shared.b64 q, [m], 0;\n@!q bra "
              "A;\n" READ),
     "partial-wait warning 12 a"},
    {"one arrival relaxed, one not",
     PTX_KERNEL(SHARED ROLES WAIT "mbarrier.arrive.relaxed.cta.shared.b64 _, [m];\n" ARRIVE(
         "m") "ret;\n" AWAIT("A", "m", "0") READ),
     "partial-wait note 13 a"},
};
PTX_TESTS(cases3, SHOW_FINDINGS)
