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

static void check(const struct ptx_case *cases, size_t count)
{
    assert_all_found(cases, count, NULL, SHOW_FINDINGS);
}

#define CHECK(cases) check(cases, COUNT_OF(cases))

static void a_barrier_orders_in_the_phase_behind_the_wait(void **state)
{
    (void)state;
    static const struct ptx_case cases[] = {
        {"the first phase", PTX_KERNEL(ROLES WAIT SYNC "ret;\nA:\n" SYNC READ),
         "partial-wait note 10 a"},
        {"a phase before the wait", PTX_KERNEL(ROLES SYNC WAIT SYNC "ret;\nA:\n" SYNC READ SYNC),
         "barrier-before-wait note 5\npartial-wait warning 11 a"},
        {"and the next one", PTX_KERNEL(ROLES SYNC WAIT SYNC "ret;\nA:\n" SYNC SYNC READ),
         "barrier-before-wait note 5\npartial-wait note 12 a"},
        {"an arrival before the wait",
         PTX_KERNEL(ROLES "bar.arrive 1, 64;\n" WAIT SYNC "ret;\nA:\n" SYNC READ SYNC),
         "partial-wait warning 11 a"},
        {"an own arrival counts",
         PTX_KERNEL(ROLES SYNC WAIT SYNC "ret;\nA:\nbar.arrive 1, 64;\n" SYNC READ),
         "barrier-before-wait note 5\npartial-wait note 12 a"},
        {"another number",
         PTX_KERNEL(ROLES "bar.sync 2, 64;\n" WAIT SYNC "ret;\nA:\nbar.sync 2, 64;\n" READ),
         "barrier-before-wait note 5\npartial-wait warning 11 a"},
        {"a number in a register",
         PTX_KERNEL("mov.u32 b, 1;" ROLES WAIT "bar.sync b, 64;\nret;\nA:\n" SYNC READ),
         "partial-wait note 10 a"},
        {"phases before the branch",
         PTX_KERNEL("L:\n" SYNC "setp.eq.u32 l, n, 0;\n@l bra L;\n" ROLES WAIT SYNC
                    "ret;\nA:\n" SYNC READ),
         "partial-wait note 14 a"},
        {"a loop of them before the wait",
         PTX_KERNEL(ROLES "L:\n" SYNC "setp.eq.u32 l, n, 0;\n@l bra L;\n" WAIT SYNC
                          "ret;\nA:\n" SYNC READ),
         "barrier-before-wait note 6\npartial-wait warning 14 a"},
        {"only some come to the barrier",
         PTX_KERNEL(ROLES WAIT SYNC "ret;\nA:\n@n1 bra B;\n" SYNC "B:\n" READ),
         "partial-wait warning 12 a"},
        {"a barrier that may not be executed",
         PTX_KERNEL(ROLES WAIT SYNC "ret;\nA:\n@n1 bar.sync 1, 64;\n" READ),
         "partial-wait warning 10 a"},
    };
    CHECK(cases);
}

static void a_barrier_of_the_warp_orders_its_lanes(void **state)
{
    (void)state;
    static const struct ptx_case cases[] = {
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
    };
    CHECK(cases);
}

static void an_mbarrier_orders_if_those_who_waited_arrive(void **state)
{
    (void)state;
    static const struct ptx_case cases[] = {
        {"they do", PTX_KERNEL(SHARED ROLES WAIT ARRIVE("m") "ret;\n" AWAIT("A", "m", "0") READ),
         "partial-wait note 12 a"},
        {"at another offset",
         PTX_KERNEL(SHARED ROLES WAIT ARRIVE("m+8") "ret;\n" AWAIT("A", "m", "0") READ),
         "partial-wait warning 12 a"},
        {"in an array from there on",
         PTX_KERNEL(SHARED "mad.lo.u32 x, n, 8, m;\n" ROLES WAIT ARRIVE("x") "ret;\n" AWAIT(
             "A", "m+16", "0") READ),
         "partial-wait note 13 a"},
        {"in an array behind it",
         PTX_KERNEL(SHARED "mad.lo.u32 x, n, 8, m;\n" ROLES WAIT ARRIVE("x+32") "ret;\n" AWAIT(
             "A", "m+16", "0") READ),
         "partial-wait warning 13 a"},
        {"in the block of another rank",
         PTX_KERNEL(SHARED "mapa.shared::cluster.u32 x, m, 1;\n" ROLES WAIT ARRIVE(
             "x") "ret;\n" AWAIT("A", "m", "0") READ),
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
         PTX_KERNEL(SHARED "mov.u32 f, 0;\n" ROLES WAIT ARRIVE("m") "ret;\nA:\n" AWAIT(
             "B", "m", "f") READ "xor.b32 f, f, 1;\nsetp.ne.u32 l, n, 7;\n@l bra A;\n"),
         "partial-wait note 14 a"},
        {"one that begins with 1",
         PTX_KERNEL(SHARED "mov.u32 f, 1;\n" ROLES WAIT ARRIVE("m") "ret;\nA:\n" AWAIT(
             "B", "m", "f") READ "xor.b32 f, f, 1;\nsetp.ne.u32 l, n, 7;\n@l bra A;\n"),
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
         PTX_KERNEL(SHARED ROLES WAIT ARRIVE(
             "m") "ret;\nA:\n"
                  "mbarrier.test_wait.parity.shared.b64 q, [m], 0;\n" READ),
         "partial-wait warning 11 a"},
        {"it goes on whatever the answer",
         PTX_KERNEL(SHARED ROLES WAIT ARRIVE(
             "m") "ret;\nA:\n"
                  "mbarrier.test_wait.parity.shared.b64 q, [m], 0;\n@q bra B;\n" WRITE "B:\n" READ),
         "partial-wait warning 12 b\npartial-wait warning 14 a"},
        {"by another thread in between",
         PTX_KERNEL(SHARED ROLES WAIT ARRIVE(
             "m") "ret;\nA:\nsetp.eq.u32 p, t, 1;\n@p bra B;\n" AWAIT("C", "m", "0")
                        ARRIVE("m+8") "ret;\n" AWAIT("B", "m+8", "0") READ),
         "partial-wait note 20 a"},
    };
    CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_barrier_orders_in_the_phase_behind_the_wait),
        cmocka_unit_test(a_barrier_of_the_warp_orders_its_lanes),
        cmocka_unit_test(an_mbarrier_orders_if_those_who_waited_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
