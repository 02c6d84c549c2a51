/* SPDX-License-Identifier: MIT */
/* The data-flow of waits and triggers through a kernel: what is read and written before the wait, on
 * which paths, and by which threads. */
#include "ptx_support.h"

#define WAIT    "griddepcontrol.wait;\n"
#define TRIGGER "griddepcontrol.launch_dependents;\n"
#define READ    "ld.global.u32 r, [ga];\n"
#define WRITE   "st.global.u32 [gb], t;\n"
/* Decided by the thread, the block, the grid, and by memory. */
#define IF_THREAD "setp.eq.u32 p, t, 0;\n"
#define IF_BLOCK  "setp.eq.u32 p, c, 0;\n"
#define IF_GRID   "setp.eq.u32 p, n, 0;\n"

static const struct ptx_case cases1[] = {
    /* Accesses before the wait are found. */
    {"a read", PTX_KERNEL(READ WAIT), "read-before-wait warning 3 a"},
    {"a read after the wait", PTX_KERNEL(WAIT READ), ""},
    {"a write", PTX_KERNEL(WRITE WAIT), "write-before-wait warning 3 b"},
    {"a write after the wait", PTX_KERNEL(WAIT WRITE), ""},
    {"both on either side", PTX_KERNEL(READ WAIT READ WRITE), "read-before-wait warning 3 a"},
    {"an atomic", PTX_KERNEL("atom.global.add.u32 r, [ga], 1;\n" WAIT),
     "write-before-wait warning 3 a"},
    {"a reduction", PTX_KERNEL("red.global.add.u32 [gb+4], 1;\n" WAIT),
     "write-before-wait warning 3 b"},
    {"a generic read", PTX_KERNEL("ld.param.u64 x, [a]; ld.u32 r, [x];\n" WAIT),
     "read-before-wait warning 3 a"},
    {"a generic write", PTX_KERNEL("ld.param.u64 x, [b]; st.v2.u32 [x+8], {t, t};\n" WAIT),
     "write-before-wait warning 3 b"},
    {"an asynchronous copy", PTX_KERNEL("cp.async.cg.shared.global [s], [ga], 16;\n" WAIT),
     "read-before-wait warning 3 a"},
    {"a bulk copy in",
     PTX_KERNEL("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [ga], "
                "16, [m];\n" WAIT),
     "read-before-wait warning 3 a"},
    {"a bulk copy out",
     PTX_KERNEL("cp.async.bulk.global.shared::cta.bulk_group [gb], [s], 16;\n" WAIT),
     "write-before-wait warning 3 b"},
    {"a bulk reduction",
     PTX_KERNEL("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [gb], [s], "
                "16;\n" WAIT),
     "write-before-wait warning 3 b"},
    {"a tensor copy in",
     PTX_KERNEL("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                "[s], [ga, {t, c}], [m];\n" WAIT),
     "read-before-wait warning 3 a"},
    {"a tensor copy out",
     PTX_KERNEL("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [gb, {t}], "
                "[s];\n" WAIT),
     "write-before-wait warning 3 b"},
    {"a multimem read", PTX_KERNEL("multimem.ld_reduce.global.add.f32 r, [ga];\n" WAIT),
     "read-before-wait warning 3 a"},
    {"a multimem write", PTX_KERNEL("multimem.red.global.add.f32 [gb], r;\n" WAIT),
     "write-before-wait warning 3 b"},
    {"a texture", PTX_KERNEL("tex.1d.v4.f32.s32 {r, r, r, r}, [x, {t}];\n" WAIT),
     "read-before-wait warning 3"},
    {"a surface read", PTX_KERNEL("suld.b.1d.b32.trap {r}, [x, {t}];\n" WAIT),
     "read-before-wait warning 3"},
    {"a surface write", PTX_KERNEL("sust.b.1d.b32.trap [x, {t}], {r};\n" WAIT),
     "write-before-wait warning 3"},
    {"a matrix",
     PTX_KERNEL("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {r, r}, [ga], "
                "16;\n" WAIT),
     "read-before-wait warning 3 a"},
    /* What touches no global memory is no access. */
    {"parameters, shared, local and constant memory",
     PTX_KERNEL("ld.shared.u32 r, [s]; st.shared.u32 [s], r; ld.local.u32 r, [l]; "
                "st.local.u32 [l], r; ld.const.u32 r, [d]; ld.param.u32 r, [count];\n" WAIT),
     ""},
    {"shared atomics",
     PTX_KERNEL("atom.shared.add.u32 r, [s], 1; red.shared.add.u32 [s], 1; "
                "atom.shared::cluster.add.u32 r, [s], 1;\n" WAIT),
     ""},
    {"prefetches",
     PTX_KERNEL("prefetch.global.L2 [ga]; prefetchu.L1 [ga];\n"
                "cp.async.bulk.prefetch.L2.global [ga], 128;\n"
                "applypriority.global.L2::evict_normal [ga], 128;\n" WAIT),
     ""},
    {"copies between shared memories",
     PTX_KERNEL("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [s], "
                "[u], 16, [m];\n" WAIT),
     ""},
    {"barriers and fences",
     PTX_KERNEL("mbarrier.init.shared.b64 [m], 1; fence.proxy.async.global; membar.gl; "
                "cp.async.commit_group; cp.async.wait_all;\n" WAIT),
     ""},
    {"addresses that are only asked about",
     PTX_KERNEL("createpolicy.range.global.L2::evict_last.b64 x, [ga], 64, 128;\n"
                "txq.width.b32 r, [x]; suq.width.b32 r, [x];\n" WAIT),
     ""},
    {"matrices and tensor memory",
     PTX_KERNEL("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r}, [x];\n"
                "ldmatrix.sync.aligned.m8n8.x1.b16 {r}, [x];\n"
                "stmatrix.sync.aligned.m8n8.x1.shared.b16 [x], {r};\n"
                "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [x], 32;\n"
                "tcgen05.ld.sync.aligned.32x32b.x1.b32 {r}, [x];\n"
                "tcgen05.st.sync.aligned.32x32b.x1.b32 [x], {r};\n"
                "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [x];\n" WAIT),
     ""},
    {"stores to the cluster, and blocks that are taken over",
     PTX_KERNEL("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [x], r, [m];\n"
                "red.async.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [x], r, [m];\n"
                "st.bulk.weak.shared::cta [x], 64, 0; mbarrier.inval.b64 [x];\n"
                "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [x], "
                "[m];\n" WAIT),
     ""},
};
PTX_TESTS(cases1, SHOW_FINDINGS)

#define PREFETCH "prefetch.tensormap [x];\n"
#define COPY_IN                                                                                    \
    "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [x, {t}], "  \
    "[m];\n"
#define COPY_OUT     "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [x, {t}], [s];\n"
#define REDUCE       "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [x, {t}], [s];\n"
#define FETCH        "cp.async.bulk.prefetch.tensor.1d.L2.global.tile [x, {t}];\n"
#define ACQUIRE      "fence.proxy.tensormap::generic.acquire.gpu [x], 128;\n"
#define POINTED      "ld.param.u64 x, [a];\n"
#define PARAMETER    "mov.u64 x, a; cvta.param.u64 x, x;\n"
#define CONSTANT     ".const .b64 own[16];\n" PTX_KERNEL_BEGIN "mov.u64 x, own; cvta.const.u64 x, x;\n"
#define CALLED(what) ".func f(.param .u64 p) { ld.param.u64 x, [p];\n" what "ret; }\n"

static const struct ptx_case cases7[] = {
    /* A tensor map is read where it is fetched or acquired. */
    {"prefetched", PTX_KERNEL("prefetch.tensormap [ga];\n" WAIT), "read-before-wait warning 3 a"},
    {"by a generic address", PTX_KERNEL(POINTED PREFETCH WAIT), "read-before-wait warning 4 a"},
    {"of several in memory", PTX_KERNEL("mad.wide.u32 x, c, 128, ga; " PREFETCH WAIT),
     "read-before-wait warning 3 a"},
    {"in a variable",
     PTX_HEADER ".global .b64 own[16];\n" PTX_KERNEL_BEGIN
                "mov.u64 x, own; " PREFETCH WAIT PTX_KERNEL_END,
     "read-before-wait warning 4"},
    {"with a tile of its tensor", PTX_KERNEL(POINTED FETCH WAIT), "read-before-wait warning 4 a"},
    {"acquired", PTX_KERNEL(POINTED ACQUIRE WAIT), "read-before-wait warning 4 a"},
    {"used", PTX_KERNEL(POINTED COPY_IN COPY_OUT REDUCE WAIT),
     "read-before-wait warning 4 a\nwrite-before-wait warning 5 a\nwrite-before-wait warning 6 "
     "a"},
    {"changed",
     PTX_KERNEL("tensormap.replace.tile.rank.global.b1024.b32 [ga], 1;\n"
                "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync."
                "aligned [gb], [s], 128;\n" WAIT),
     "write-before-wait warning 3 a\nwrite-before-wait warning 4 b"},
    {"by some threads", PTX_KERNEL(IF_THREAD "@p bra A;\n" WAIT "A:\n" POINTED PREFETCH),
     "partial-wait warning 8 a"},
    {"behind the wait", PTX_KERNEL(WAIT POINTED PREFETCH FETCH ACQUIRE COPY_IN COPY_OUT), ""},
    {"changed in shared memory, and released",
     PTX_KERNEL("tensormap.replace.tile.rank.shared::cta.b1024.b32 [s], 1;\n"
                "fence.proxy.tensormap::generic.release.gpu;\n" WAIT),
     ""},
    {"a parameter", PTX_KERNEL(PARAMETER PREFETCH FETCH WAIT), ""},
    {"in a parameter",
     PTX_KERNEL("mov.u64 y, a; cvta.param.u64 z, y; add.u64 x, z, 64;\n" //
                PREFETCH FETCH WAIT),
     ""},
    {"a parameter, by its own space", PTX_KERNEL("prefetch.param.tensormap [a];\n" WAIT), ""},
    {"constant", PTX_HEADER CONSTANT PREFETCH FETCH WAIT PTX_KERNEL_END, ""},
    {"constant, by its own space",
     PTX_HEADER ".const .b64 own[16];\n" PTX_KERNEL_BEGIN
                "prefetch.const.tensormap [own];\n" WAIT PTX_KERNEL_END,
     ""},
    {"a parameter or a pointer",
     PTX_KERNEL(PARAMETER "ld.param.u64 y, [b]; selp.u64 x, x, y, q;\n" PREFETCH WAIT),
     "read-before-wait warning 5"},
    /* The tensor itself is in global memory. */
    {"used, a parameter", PTX_KERNEL(PARAMETER COPY_IN COPY_OUT WAIT),
     "read-before-wait warning 4 a\nwrite-before-wait warning 5 a"},
    {"used, constant", PTX_HEADER CONSTANT COPY_IN COPY_OUT WAIT PTX_KERNEL_END,
     "read-before-wait warning 5\nwrite-before-wait warning 6"},
    {"by a function",
     PTX_HEADER CALLED(PREFETCH) PTX_KERNEL_BEGIN POINTED "call f, (x);\n" WAIT PTX_KERNEL_END,
     "read-before-wait warning 3 a"},
    {"by a function, a parameter",
     PTX_HEADER CALLED(PREFETCH) PTX_KERNEL_BEGIN PARAMETER "call f, (x);\n" WAIT PTX_KERNEL_END,
     ""},
    {"used by a function, a parameter",
     PTX_HEADER CALLED(COPY_IN) PTX_KERNEL_BEGIN PARAMETER "call f, (x);\n" WAIT PTX_KERNEL_END,
     "read-before-wait warning 3 a"},
};
PTX_TESTS(cases7, SHOW_FINDINGS)

/* A later version of PTX may have any instruction: its name tells at most a space that is not global. */
#define NOT_UNDERSTOOD(name) "'" name "' is not understood and counts as an access: "
#define THROUGH_A            " global memory through parameter 'a' (1st) before the wait"

static const struct ptx_case cases8[] = {
    /* An instruction that is not understood accesses its addresses. */
    {"a new load", PTX_KERNEL("fetch.global.u32 r, [ga+4];\n" WAIT),
     "read-before-wait warning 3 a: " NOT_UNDERSTOOD("fetch.global.u32") "reads" THROUGH_A},
    {"of any space", PTX_KERNEL("ld.param.u64 x, [a]; fetch.v2.u32 {r, u}, [x];\n" WAIT),
     "read-before-wait warning 3 a: " NOT_UNDERSTOOD("fetch.v2.u32") "reads" THROUGH_A},
    {"a new store", PTX_KERNEL("push.relaxed.u32 [ga], r;\n" WAIT),
     "write-before-wait warning 3 a: " NOT_UNDERSTOOD("push.relaxed.u32") "writes" THROUGH_A},
    {"a new copy", PTX_KERNEL("cp.later.bulk.global.global [ga], [gb], 16;\n" WAIT),
     "read-before-wait warning 3 b: " NOT_UNDERSTOOD(
         "cp.later.bulk.global.global") "reads global memory through parameter 'b' (2nd) "
                                        "before the wait\n"
                                        "write-before-wait warning 3 a: " NOT_UNDERSTOOD(
                                            "cp.later.bulk.global.global") "writes" THROUGH_A},
    {"a known word with a new form", PTX_KERNEL("multimem.swap.b32 r, [ga], u;\n" WAIT),
     "read-before-wait warning 3 a: " NOT_UNDERSTOOD("multimem.swap.b32") "reads" THROUGH_A},
    {"of tensor maps", PTX_KERNEL("tensormap.fill.global.b1024 [ga], 0;\n" WAIT),
     "write-before-wait warning 3 a: " NOT_UNDERSTOOD(
         "tensormap.fill.global.b1024") "writes" THROUGH_A},
    {"of tensor memory", PTX_KERNEL("tcgen05.load.global.b32 [x], [ga];\n" WAIT),
     "read-before-wait warning 3 a: " NOT_UNDERSTOOD(
         "tcgen05.load.global.b32") "reads" THROUGH_A "\n"
                                    "write-before-wait warning 3: " NOT_UNDERSTOOD(
                                        "tcgen05.load.global.b32") "writes global memory "
                                                                   "before the wait"},
    {"what computes, of memory", PTX_KERNEL("add.global.u32 r, [ga], 1;\n" WAIT),
     "read-before-wait warning 3 a: " NOT_UNDERSTOOD("add.global.u32") "reads" THROUGH_A},
    {"by some threads", PTX_KERNEL(IF_THREAD "@p bra A;\n" WAIT "A:\nfetch.global.u32 r, [ga];\n"),
     "partial-wait warning 7 a: " NOT_UNDERSTOOD(
         "fetch.global.u32") "some threads read global memory through parameter 'a' (1st) "
                             "without the wait that others execute"},
    {"behind the wait", PTX_KERNEL(WAIT "fetch.global.u32 r, [ga];\n"), ""},
    {"of another space, or of no address",
     PTX_KERNEL(".shared .b32 own[4];\nfetch.shared.u32 r, [ga]; fetch.u32 r, [own]; fetch.u32 r, "
                "ga;\n" WAIT),
     ""},
};
PTX_TESTS(cases8, SHOW_MESSAGES)

static const struct ptx_case cases2[] = {
    /* Findings of one line and parameter are one. */
    {"two reads", PTX_KERNEL("ld.global.u32 r, [ga]; ld.global.u32 r, [ga+4];\n" WAIT),
     "read-before-wait warning 3 a x2"},
    {"of two parameters", PTX_KERNEL("ld.global.u32 r, [ga]; ld.global.u32 r, [gb];\n" WAIT),
     "read-before-wait warning 3 a\nread-before-wait warning 3 b"},
    {"on two lines", PTX_KERNEL(READ READ WAIT),
     "read-before-wait warning 3 a\nread-before-wait warning 4 a"},
    {"of two kinds", PTX_KERNEL("ld.global.u32 r, [ga]; st.global.u32 [ga], r;\n" WAIT),
     "read-before-wait warning 3 a\nwrite-before-wait warning 3 a"},
    /* An access that comes before a wait on some path is before it. */
    {"in one branch, the wait behind both", PTX_KERNEL(IF_THREAD "@p bra A;\n" READ "A:\n" WAIT),
     "read-before-wait warning 5 a"},
    {"with a guard", PTX_KERNEL(IF_THREAD "@p ld.global.u32 r, [ga];\n" WAIT),
     "read-before-wait warning 4 a"},
    {"in front of a branch around the wait", PTX_KERNEL(READ IF_THREAD "@p bra A;\n" WAIT "A:\n"),
     "read-before-wait warning 3 a\nexit-before-wait note 5"},
    {"in a loop in front of the wait", PTX_KERNEL("A:\n" READ IF_THREAD "@p bra A;\n" WAIT),
     "read-before-wait warning 4 a"},
    {"a wait in each branch",
     PTX_KERNEL(IF_THREAD "@p bra A;\n" WAIT "bra B;\nA:\n" WAIT "B:\n" READ), ""},
    {"a wait in each of three targets",
     PTX_KERNEL("ts: .branchtargets A, B, C;\nbrx.idx t, ts;\nA:\n" WAIT "bra D;\nB:\n" WAIT
                "bra D;\nC:\n" WAIT "D:\n" READ),
     ""},
    {"code that no thread comes to", PTX_KERNEL(WAIT "ret;\n" READ WRITE), ""},
    /* Threads that go around the wait are found. */
    {"by the thread", PTX_KERNEL(IF_THREAD "@p bra A;\n" WAIT "A:\n" READ),
     "partial-wait warning 7 a"},
    {"by the block", PTX_KERNEL(IF_BLOCK "@p bra A;\n" WAIT "A:\n" WRITE),
     "partial-wait warning 7 b"},
    {"by memory",
     PTX_KERNEL("ld.shared.u32 r, [s]; setp.eq.u32 p, r, 0;\n"
                "@p bra A;\n" WAIT "A:\n" READ),
     "partial-wait warning 7 a"},
    {"by the lane", PTX_KERNEL("elect.sync x|p, 0xffffffff;\n@!p bra A;\n" WAIT "A:\n" READ),
     "partial-wait warning 7 a"},
    {"with a guarded wait", PTX_KERNEL(IF_THREAD "@p griddepcontrol.wait;\n" READ),
     "partial-wait warning 5 a"},
    {"with a wait guarded the other way", PTX_KERNEL(IF_THREAD "@!p griddepcontrol.wait;\n" READ),
     "partial-wait warning 5 a"},
    {"by a number that the thread sets",
     PTX_KERNEL(IF_THREAD "mov.u32 x, 0;\n@p mov.u32 x, 1;\nsetp.eq.u32 q, x, 0;\n@q bra A;\n" WAIT
                          "A:\n" READ),
     "partial-wait warning 10 a"},
    {"with a table of branches",
     PTX_KERNEL("ts: .branchtargets A, B;\nbrx.idx t, ts;\nA:\n" WAIT "B:\n" READ),
     "partial-wait warning 8 a"},
    {"with a table that the block decides",
     PTX_KERNEL("ts: .branchtargets A, B;\nbrx.idx c, ts;\nA:\n" WAIT "B:\n" READ),
     "partial-wait warning 8 a"},
    {"in a role of its own that ends without it",
     PTX_KERNEL(IF_THREAD "@p bra A;\n" WAIT READ "ret;\nA:\n" READ), "partial-wait warning 9 a"},
    {"and the same predicate decides who reads",
     PTX_KERNEL(IF_THREAD "@p griddepcontrol.wait;\n@!p bra A;\n" READ "A:\n"),
     "exit-before-wait note 4"},
    {"and only those that did not wait", PTX_KERNEL(IF_THREAD "@p bra A;\n" WAIT READ "A:\n"),
     "exit-before-wait note 4"},
    /* A barrier behind the wait makes it a note. */
    {"bar.sync", PTX_KERNEL(IF_THREAD "@p bra A;\n" WAIT "A:\nbar.sync 0;\n" READ),
     "partial-wait note 8 a"},
    {"barrier.sync",
     PTX_KERNEL(IF_THREAD "@p bra A;\n" WAIT "A:\nbarrier.sync.aligned 1, 64;\n" READ),
     "partial-wait note 8 a"},
    {"barrier.cta.red",
     PTX_KERNEL(IF_THREAD "@p bra A;\n" WAIT "A:\nbarrier.cta.red.popc.u32 r, 0, p;\n" READ),
     "partial-wait note 8 a"},
    {"a barrier of the block orders no other blocks",
     PTX_KERNEL(IF_BLOCK "@p bra A;\n" WAIT "A:\nbar.sync 0;\n" READ), "partial-wait warning 8 a"},
    {"a barrier of the warp is not enough",
     PTX_KERNEL(IF_THREAD "@p bra A;\n" WAIT "A:\nbar.warp.sync -1;\n" READ),
     "partial-wait warning 8 a"},
    {"an arrival waits for nobody",
     PTX_KERNEL(IF_THREAD "@p bra A;\n" WAIT "A:\nbar.arrive 0, 64;\n" READ),
     "partial-wait warning 8 a"},
    {"the cluster's barrier",
     PTX_KERNEL("mov.u32 rank, %cluster_ctarank; setp.ne.u32 p, rank, 0;\n@p bra A;\n" WAIT
                "A:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n" READ),
     "partial-wait note 9 a"},
    {"the cluster's barrier, and a wait in one block of the grid",
     PTX_KERNEL(IF_BLOCK "@p bra A;\n" WAIT "A:\nbarrier.cluster.arrive;\n"
                         "barrier.cluster.wait;\n" READ),
     "partial-wait warning 9 a"},
    {"and only its wait",
     PTX_KERNEL(IF_BLOCK "@p bra A;\n" WAIT "A:\nbarrier.cluster.arrive;\n" READ),
     "partial-wait warning 8 a"},
    {"a read behind an mbarrier says nothing of other memory",
     PTX_KERNEL(IF_THREAD "@p bra A;\n" WAIT
                          "A:\nmbarrier.try_wait.parity.shared.b64 q, [m], 0;\n" READ),
     "partial-wait warning 8 a"},
    {"a write behind an mbarrier that nobody arrives on",
     PTX_KERNEL(IF_THREAD "@p bra A;\n" WAIT
                          "A:\nmbarrier.test_wait.shared.b64 q, [m], x;\n" WRITE),
     "partial-wait warning 8 b"},
    {"and then a barrier of the block",
     PTX_KERNEL(IF_THREAD "@p bra A;\n" WAIT
                          "A:\nmbarrier.test_wait.shared.b64 q, [m], x;\nbar.sync 0;\n" READ),
     "partial-wait note 9 a"},
    {"a barrier in front of the branch orders nothing",
     PTX_KERNEL("bar.sync 0;\n" IF_THREAD "@p bra A;\n" WAIT "A:\n" READ),
     "partial-wait warning 8 a"},
    {"an access between the branch and the barrier",
     PTX_KERNEL(IF_THREAD "@p bra A;\n" WAIT "A:\n" READ "bar.sync 0;\n" WRITE),
     "partial-wait warning 7 a\npartial-wait note 9 b"},
    /* Threads that leave before the wait are noted. */
    {"a guarded ret", PTX_KERNEL(IF_THREAD "@p ret;\n" WAIT READ), "exit-before-wait note 4"},
    {"a guarded exit", PTX_KERNEL(IF_THREAD "@!p exit;\n" WAIT READ), "exit-before-wait note 4"},
    {"a branch to the end", PTX_KERNEL(IF_BLOCK "@p bra A;\n" WAIT READ "A:\n"),
     "exit-before-wait note 4"},
    {"a trap is no way out", PTX_KERNEL(IF_THREAD "@p trap;\n" WAIT READ), ""},
    {"a branch to a trap", PTX_KERNEL(IF_THREAD "@!p bra A;\ntrap;\nA:\n" WAIT READ), ""},
    {"one that reads before it leaves",
     PTX_KERNEL(IF_THREAD "@!p bra A;\n" READ "ret;\nA:\n" WAIT READ), "partial-wait warning 5 a"},
    /* A way around the wait for the whole grid is one finding. */
    {"that reads", PTX_KERNEL(IF_GRID "@p bra A;\n" WAIT READ "ret;\nA:\n" READ WRITE),
     "no-wait warning 4"},
    {"that a number decides",
     PTX_KERNEL("ld.param.u32 x, [n]; setp.gt.u32 p, x, 4;\n"
                "@p bra A;\n" WAIT "A:\n" READ),
     "no-wait warning 4"},
    {"that only triggers", PTX_KERNEL(IF_GRID "@p bra A;\n" WAIT READ "ret;\nA:\n" TRIGGER),
     "no-wait warning 4\ntrigger-before-wait note 9"},
    {"that does nothing", PTX_KERNEL(IF_GRID "@p bra A;\n" WAIT READ "A:\n"), "no-wait note 4"},
    {"a guarded ret", PTX_KERNEL(IF_GRID "@p ret;\n" WAIT READ), "no-wait note 4"},
    {"by the size of the grid",
     PTX_KERNEL("mov.u32 x, %nctaid.x; setp.eq.u32 p, x, 1;\n"
                "@p bra A;\n" WAIT READ "ret;\nA:\n" READ),
     "no-wait warning 4"},
    {"and then a thread decides",
     PTX_KERNEL(IF_GRID "@p bra A;\n" WAIT READ "ret;\nA:\nsetp.eq.u32 q, t, 0;\n@q bra B;\n" READ
                        "B:\n" WRITE),
     "no-wait warning 4"},
};
PTX_TESTS(cases2, SHOW_FINDINGS)

/* `if (overlapped) { wait }`: the other half of it is in the launch. */
static const struct ptx_case cases3[] = {
    /* A kernel without a wait is found once. */
    {"that triggers", PTX_KERNEL(READ WRITE TRIGGER), "no-wait warning 5"},
    {"that does not", PTX_KERNEL(READ WRITE), "no-wait note 2"},
    {"that is empty", PTX_HEADER ".entry k()\n{\n}\n", "no-wait note 2"},
    {"the prefetch of a wait is none", PTX_KERNEL("griddepcontrol.launch_dependents;\n"),
     "no-wait warning 3"},
};
PTX_TESTS(cases3, SHOW_FINDINGS)

static const struct ptx_case cases4[] = {
    /* Triggers are looked at. */
    {"before the wait", PTX_KERNEL(TRIGGER WAIT READ), "trigger-before-wait note 3"},
    {"after it", PTX_KERNEL(WAIT TRIGGER READ), ""},
    {"never", PTX_KERNEL(WAIT READ), "no-trigger note 2"},
    {"twice", PTX_KERNEL(WAIT TRIGGER READ TRIGGER), ""},
    {"in a loop", PTX_KERNEL(WAIT "A:\n" TRIGGER IF_THREAD "@p bra A;\n"), ""},
    {"in each of two branches",
     PTX_KERNEL(WAIT IF_THREAD "@p bra A;\n" TRIGGER "bra B;\nA:\n" TRIGGER "B:\n"), ""},
    {"in one branch and behind it", PTX_KERNEL(WAIT IF_THREAD "@p bra A;\n" TRIGGER "A:\n" TRIGGER),
     ""},
    {"with a guard", PTX_KERNEL(WAIT IF_THREAD "@p griddepcontrol.launch_dependents;\n" READ), ""},
    {"before the wait on one path", PTX_KERNEL(IF_THREAD "@p bra A;\n" TRIGGER "A:\n" WAIT),
     "trigger-before-wait note 5"},
};
PTX_TESTS(cases4, SHOW_NO_TRIGGER)

static const struct ptx_case cases5[] = {
    /* A wait in the first turn of a loop is seen through. */
    {"with a flag that is a predicate",
     PTX_KERNEL("mov.pred first, -1;\nA:\n@!first bra B;\n" WAIT "mov.pred first, 0;\nB:\n" READ
                "setp.lt.u32 p, t, r;\n@p bra A;\n"),
     ""},
    {"with a flag that is a number",
     PTX_KERNEL("mov.u32 done, 0;\nA:\nsetp.ne.u32 p, done, 0;\n@p bra B;\n" WAIT
                "mov.u32 done, 1;\nB:\n" READ "setp.lt.u32 q, t, r;\n@q bra A;\n"),
     ""},
    {"with a count",
     PTX_KERNEL("mov.u32 done, 0;\nA:\nsetp.gt.u32 p, 1, done;\n@!p bra B;\n" WAIT
                "mov.u32 done, 7;\nB:\n" READ "setp.lt.u32 q, t, r;\n@q bra A;\n"),
     ""},
    {"with a guarded wait",
     PTX_KERNEL("mov.u32 done, 0;\nA:\nsetp.eq.u32 p, done, 0;\n@p griddepcontrol.wait;\n"
                "mov.u32 done, 1;\n" READ "setp.lt.u32 q, t, r;\n@q bra A;\n"),
     ""},
    {"with a flag that memory sets",
     PTX_KERNEL("ld.shared.u32 done, [s];\nA:\nsetp.ne.u32 p, done, 0;\n@p bra B;\n" WAIT
                "mov.u32 done, 1;\nB:\n" READ "setp.lt.u32 q, t, r;\n@q bra A;\n"),
     "partial-wait warning 10 a\nexit-before-wait note 12"},
};
PTX_TESTS(cases5, SHOW_FINDINGS)

static const struct ptx_case cases6[] = {
    /* Facts of kernels are counted. */
    {"waits and triggers", PTX_KERNEL(WAIT TRIGGER WAIT),
     "k(3) line 2: waits yes, always yes, triggers yes, 2+1"},
    {"neither", PTX_HEADER ".entry k() { ret; }",
     "k(0) line 2: waits no, always no, triggers no, 0+0\nno-wait note 2"},
    {"on some paths", PTX_KERNEL(IF_THREAD "@p ret;\n" WAIT TRIGGER),
     "k(3) line 2: waits yes, always no, triggers yes, 1+1\nexit-before-wait note 4"},
    {"a wait that no thread comes to", PTX_KERNEL("ret;\n" WAIT),
     "k(3) line 2: waits no, always no, triggers no, 1+0\nno-wait note 2"},
};
PTX_TESTS(cases6, SHOW_FACTS)
