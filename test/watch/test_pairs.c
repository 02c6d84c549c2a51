/* SPDX-License-Identifier: MIT */
/* Why neighbours do not overlap, races, and what to do: each on a recording made for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../inspect/make_image.h"
#include "judge.h"

enum { ASKED = PDL_WATCH_ASKED | PDL_WATCH_OVERLAP };

static struct recording recording;
static struct watch watch;

/* ---- reasons, in a stream --------------------------------------------------------------------- */

static void begin(void)
{
    recording_begin(&recording);
    make_kernels(&recording);
}

static void assert_reason(enum watch_reason reason)
{
    judge_made(&watch, &recording);
    const struct watch_pair *const pair = pair_named(&watch, "first", "second");
    assert_string_equal(watch_reason_word(pair->reason), watch_reason_word(reason));
    assert_int_equal(pair->count, 1);
    assert_int_equal(pair->reasons[reason], 1);
    assert_int_equal(kernel_named(&watch, "second")->reasons[reason], 1);
    assert_int_equal(watch.runs.items[pair->example].reason, reason);
}

static void assert_reason_and_free(enum watch_reason reason)
{
    assert_reason(reason);
    watch_free(&watch);
}

enum { END_NS = 750 }; /* what CUPTI's end of a kernel is late by, in a stream */

static void what_begins_just_before_the_end_has_not_overlapped(void **state)
{
    (void)state;
    begin();
    make_launch(&recording, 0, 1, 0);
    (void)recording_launch(&recording, 2, 0x100, launch_time(1), 2, ASKED);
    (void)recording_execution(&recording, 2, 7, run_time(0) + LENGTH - END_NS,
                              run_time(0) + 2 * LENGTH, 2);
    judge_made(&watch, &recording);
    assert_int_equal(watch.sums.overlapped, 0);
    watch_free(&watch);
}

static void what_begins_before_the_end_overlapped(void **state)
{
    (void)state;
    begin();
    make_launch(&recording, 0, 1, 0);
    (void)recording_launch(&recording, 2, 0x100, launch_time(1), 2, ASKED);
    (void)recording_execution(&recording, 2, 7, run_time(0) + LENGTH - 4000,
                              run_time(0) + 2 * LENGTH, 2);
    assert_reason(WATCH_OVERLAPPED);
    const struct watch_pair *const pair = pair_named(&watch, "first", "second");
    assert_int_equal(pair->overlap_ns, 4000 - END_NS);
    assert_int_equal(pair->saving_ns, 0);
    assert_int_equal(watch.sums.overlapped, 1);
    assert_int_equal(watch.sums.saved_ns, 4000 - END_NS);
    assert_int_equal(watch.sums.busy_ns, 2 * LENGTH);
    assert_int_equal(watch.sums.kernel_ns, LENGTH + LENGTH + 4000);
    watch_free(&watch);
}

static void the_first_run_of_a_stream_has_nothing_in_front(void **state)
{
    (void)state;
    begin();
    make_launch(&recording, 0, 1, ASKED);
    judge_made(&watch, &recording);
    assert_int_equal(watch.pairs.count, 0);
    assert_int_equal(watch.runs.items[0].reason, WATCH_FIRST);
    watch_free(&watch);
}

static void the_reason_is_in_the_launch_or_in_what_is_between(void **state)
{
    enum { OWN = 0x100, OTHER = 0x200 };
    static const struct {
        uint32_t flags;                    /* of the second launch */
        enum pdl_watch_operations between; /* 0: nothing */
        uint64_t recorded;                 /* the stream that its event was recorded in; 0: none */
        enum watch_reason reason;
    } cases[] = {
        {.reason = WATCH_NOT_ASKED},
        {.flags = PDL_WATCH_ASKED | PDL_WATCH_REMOVED, .reason = WATCH_TAKEN_OUT},
        {.flags = PDL_WATCH_NOT_PROVED, .reason = WATCH_NOT_PROVED},
        {.flags = ASKED | PDL_WATCH_COOPERATIVE, .reason = WATCH_COOPERATIVE},
        {ASKED, PDL_WATCH_SET, 0, WATCH_COPY_BETWEEN},
        {ASKED, PDL_WATCH_EVENT_WAIT, OTHER, WATCH_EVENT_BETWEEN},
        {ASKED, PDL_WATCH_EVENT_WAIT, OWN, WATCH_UNKNOWN},
        {ASKED, PDL_WATCH_HOST_FUNCTION, 0, WATCH_HOST_BETWEEN},
        {ASKED, PDL_WATCH_VALUE, 0, WATCH_OTHER_BETWEEN},
        {ASKED, PDL_WATCH_ALLOCATION, 0, WATCH_OTHER_BETWEEN},
        {ASKED, PDL_WATCH_GRAPH_LAUNCH, 0, WATCH_OTHER_BETWEEN},
        {ASKED, PDL_WATCH_EVENT_RECORD, 0, WATCH_UNKNOWN},
        {ASKED, PDL_WATCH_SYNCHRONIZE, 0, WATCH_UNKNOWN},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin();
        make_launch(&recording, 0, 1, 0);
        if (cases[i].recorded != 0) {
            (void)recording_operation(&recording, PDL_WATCH_EVENT_RECORD, cases[i].recorded,
                                      launch_time(0) + 100, 0, 0x5000);
        }
        if (cases[i].between != 0) {
            (void)recording_operation(&recording, cases[i].between, OWN, launch_time(1) - 500, 0,
                                      0x5000);
        }
        make_launch(&recording, 1, 2, cases[i].flags);
        assert_reason(cases[i].reason);
        assert_int_equal(watch.sums.removed, cases[i].reason == WATCH_TAKEN_OUT);
        assert_int_equal(watch.sums.not_proved, cases[i].reason == WATCH_NOT_PROVED);
        assert_true(cases[i].reason != WATCH_NOT_ASKED ||
                    pair_named(&watch, "first", "second")->saving_ns >= GAP);
        assert_true(cases[i].reason != WATCH_COOPERATIVE || watch.sums.saving_ns == 0);
        watch_free(&watch);
    }
}

static void times_that_are_off_do_not_make_a_plain_launch_overlap(void **state)
{
    (void)state;
    begin();
    make_launch(&recording, 0, 1, 0);
    (void)recording_launch(&recording, 2, 0x100, launch_time(1), 2, 0);
    (void)recording_execution(&recording, 2, 7, run_time(0) + LENGTH - 50, run_time(0) + 2 * LENGTH,
                              2);
    assert_reason_and_free(WATCH_NOT_ASKED);
}

/* A second launch that starts so long before the first one has ended. */
static void judge_second(uint32_t flags, int64_t before_ns)
{
    begin();
    make_launch(&recording, 0, 1, 0);
    (void)recording_launch(&recording, 2, 0x100, launch_time(1), 2, flags);
    (void)recording_execution(&recording, 2, 7,
                              (uint64_t)((int64_t)(run_time(0) + LENGTH) - before_ns),
                              run_time(0) + 2 * LENGTH, 2);
    judge_made(&watch, &recording);
}

static void what_added_overlap_gained_is_counted(void **state)
{
    enum { LATENCY_NS = 900 };
    static const struct {
        uint32_t flags;
        int before_ns;
        unsigned overlapped, close;
        uint64_t saved_ns;
    } cases[] = {
        {PDL_WATCH_ADDED | PDL_WATCH_OVERLAP, 4000, 1, 0, 4000 - END_NS + LATENCY_NS},
        {PDL_WATCH_ADDED | PDL_WATCH_OVERLAP, END_NS - 10, 0, 1, LATENCY_NS},
        {PDL_WATCH_ADDED | PDL_WATCH_OVERLAP, -400, 0, 0, LATENCY_NS - 400},
        {PDL_WATCH_ADDED | PDL_WATCH_OVERLAP, -1500, 0, 0, 0},
        {ASKED, 4000, 0, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        judge_second(cases[i].flags, cases[i].before_ns);
        assert_int_equal(watch.sums.added, (cases[i].flags & PDL_WATCH_ADDED) != 0);
        assert_int_equal(watch.sums.added_overlapped, cases[i].overlapped);
        assert_int_equal(watch.sums.added_close, cases[i].close);
        assert_int_equal(watch.sums.added_saved_ns, cases[i].saved_ns);
        watch_free(&watch);
    }
}

static void old_code_does_not_overlap(void **state)
{
    (void)state;
    recording_begin(&recording);
    recording_device(&recording, 1);
    recording_name(&recording, 1, "first");
    recording_name(&recording, 2, "second");
    (void)recording_function(&recording, 1, 1);
    recording_function(&recording, 2, 2)->ptx_version = 80;
    make_launch(&recording, 0, 1, 0);
    make_launch(&recording, 1, 2, ASKED);
    assert_reason(WATCH_OLD_CODE);
    assert_string_equal(pair_named(&watch, "first", "second")->detail, "compiled for 8.0");
    assert_int_equal(kernel_named(&watch, "second")->race, WATCH_RACE_OLD_CODE);
    watch_free(&watch);
}

static void an_old_device_does_not_overlap(void **state)
{
    const struct pdl_watch_device device = {.context = 1, .capability = 80, .sms = 108};
    (void)state;
    recording_begin(&recording);
    (void)recording_add(&recording, PDL_WATCH_DEVICE, &device, sizeof(device), "A100", 4);
    make_kernels(&recording); /* its device comes second */
    make_launch(&recording, 0, 1, 0);
    make_launch(&recording, 1, 2, ASKED);
    assert_reason_and_free(WATCH_OLD_DEVICE);
}

static void a_copy_that_is_known_by_its_run_alone_is_between_too(void **state)
{
    (void)state;
    begin();
    make_launch(&recording, 0, 1, 0);
    make_launch(&recording, 2, 2, ASKED);
    recording_transfer(&recording, PDL_WATCH_COPY, 7, run_time(1), run_time(1) + 100, 77);
    assert_reason_and_free(WATCH_COPY_BETWEEN);
}

static void a_programmatic_event_overlaps_no_other_stream(void **state)
{
    (void)state;
    begin();
    make_launch(&recording, 0, 1, PDL_WATCH_EVENT);
    (void)recording_operation(&recording, PDL_WATCH_EVENT_WAIT, 0x200, launch_time(1) - 500, 0,
                              0x5000);
    (void)recording_launch(&recording, 2, 0x200, launch_time(1), 2, 0);
    (void)recording_execution(&recording, 2, 8, run_time(1), run_time(1) + LENGTH, 2);
    assert_reason(WATCH_EVENT_EAGER);
    assert_int_equal(kernel_named(&watch, "second")->asked, 1);
    watch_free(&watch);
}

/* A run of one kernel behind one of another, of which these differ from what make_launch() makes. */
static void no_room_names_the_resource(void **state)
{
    static const struct {
        uint32_t dynamic_shared[2], shared_size[2];
        uint32_t blocks;    /* of the first; 0: as it is */
        const char *detail; /* NULL: there is room */
    } cases[] = {
        /* Beside a kernel that takes none there is room. */
        {.dynamic_shared = {0, 231000}},
        {.dynamic_shared = {120000, 120000},
         .detail = "an SM has room for 0 blocks of second beside 1 of first: shared memory"},
        /* Idle SMs have room. */
        {.dynamic_shared = {120000, 120000}, .blocks = 131},
        {.shared_size = {8192, 16384},
         .detail =
             "the SMs' shared memory is set to 8 KiB for first and to 16 KiB for second, which "
             "an SM does only when it is empty: prefer the same carve-out for both"},
        {.shared_size = {16384, 16384}},
        {.shared_size = {16384, 8192}},
        {.shared_size = {0, 16384}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin();
        for (unsigned n = 0; n < 2; n++) {
            (void)recording_launch(&recording, n + 1, 0x100, launch_time(n), n + 1,
                                   n == 1 ? ASKED : 0);
            struct pdl_watch_execution *const run =
                recording_execution(&recording, n + 1, 7, run_time(n), run_time(n) + LENGTH, n + 1);
            run->dynamic_shared = cases[i].dynamic_shared[n];
            run->shared_size = cases[i].shared_size[n];
            run->grid[0] = n == 0 && cases[i].blocks > 0 ? cases[i].blocks : run->grid[0];
        }
        assert_reason(cases[i].detail != NULL ? WATCH_NO_ROOM : WATCH_UNKNOWN);
        if (cases[i].detail != NULL) {
            assert_string_equal(pair_named(&watch, "first", "second")->detail, cases[i].detail);
        }
        watch_free(&watch);
    }
}

static void a_late_host_is_named(void **state)
{
    (void)state;
    begin();
    make_launch(&recording, 0, 1, 0);
    (void)recording_launch(&recording, 2, 0x100, run_time(0) + LENGTH + 5000, 2, ASKED);
    (void)recording_execution(&recording, 2, 7, run_time(0) + LENGTH + 9000,
                              run_time(0) + 2 * LENGTH, 2);
    assert_reason(WATCH_HOST_LATE);
    const struct watch_pair *const pair = pair_named(&watch, "first", "second");
    assert_string_equal(pair->detail, "the call came 5.0 µs after the run in front had ended");
    assert_int_equal(pair->saving_ns, 0);
    assert_int_equal(watch.sums.late, 1);
    assert_int_equal(watch.sums.late_interval_ns, run_time(0) + LENGTH + 5000 - launch_time(0));
    assert_int_equal(watch.sums.late_kernel_ns, LENGTH);
    watch_free(&watch);
}

/* A code of NULL is not known. */
static void begin_with_code(const char *first, const char *second)
{
    recording_begin(&recording);
    recording_device(&recording, 1);
    recording_name(&recording, 1, "first");
    recording_name(&recording, 2, "second");
    (void)recording_function(&recording, 1, 1);
    (void)recording_function(&recording, 2, 2);
    if (first != NULL) {
        make_ptx(&recording, "first", first);
    }
    make_ptx(&recording, "second", second);
}

static void chain_with_code(const char *first, const char *second)
{
    begin_with_code(first, second);
    make_launch(&recording, 0, 1, 0);
    make_launch(&recording, 1, 2, ASKED);
}

#define WAIT    "griddepcontrol.wait;\n"
#define TRIGGER "griddepcontrol.launch_dependents;\n"
#define LOAD    "ld.global.f32 %f1, [%rd2];\n"
#define STORE   "st.global.f32 [%rd2], %f1;\n"

static void what_was_instrumented_is_told_by_kernel(void **state)
{
    (void)state;
    chain_with_code(WAIT LOAD STORE, WAIT LOAD STORE);
    judge_made(&watch, &recording);
    assert_false(watch.instruments);
    assert_int_equal(watch.kernels.items[0].instrumented, 0);
    watch_free(&watch);
    chain_with_code(WAIT LOAD STORE, WAIT LOAD STORE);
    recording_instrumented(&recording, 0, "", "");
    judge_made(&watch, &recording);
    assert_true(watch.instruments);
    assert_int_equal(watch.sums.instrumented, 0);
    watch_free(&watch);
    chain_with_code(WAIT LOAD STORE, WAIT LOAD STORE);
    recording_instrumented(&recording, PDL_WATCH_INSTRUMENTED_DONE, "first", "");
    recording_instrumented(&recording, PDL_WATCH_INSTRUMENTED_DONE, "second", "");
    recording_instrumented(&recording, PDL_WATCH_INSTRUMENTED_REFUSED, "second", "it is so");
    recording_instrumented(&recording, PDL_WATCH_INSTRUMENTED_WAITS, "second", "");
    recording_instrumented(&recording, 77, "first", "");
    recording_instrumented(&recording, PDL_WATCH_INSTRUMENTED_DONE, "third", "");
    judge_made(&watch, &recording);
    assert_int_equal(watch.sums.instrumented, 1);
    assert_int_equal(watch.kernels.items[0].instrumented, PDL_WATCH_INSTRUMENTED_DONE);
    assert_null(watch.kernels.items[0].why_not_instrumented);
    assert_int_equal(watch.kernels.items[1].instrumented, PDL_WATCH_INSTRUMENTED_REFUSED);
    assert_string_equal(watch.kernels.items[1].why_not_instrumented, "it is so");
    watch_free(&watch);
}

static void a_kernel_without_a_trigger_triggers_at_its_end(void **state)
{
    (void)state;
    chain_with_code(WAIT LOAD STORE, WAIT LOAD STORE);
    assert_reason(WATCH_TRIGGERS_AT_END);
    assert_int_equal(watch.sums.no_trigger, 0); /* it was not added */
    watch_free(&watch);
    chain_with_code(WAIT LOAD STORE, WAIT LOAD STORE);
    make_launch(&recording, 2, 1, PDL_WATCH_ADDED | PDL_WATCH_OVERLAP);
    judge_made(&watch, &recording);
    assert_int_equal(watch.sums.no_trigger, 1);
    watch_free(&watch);
    chain_with_code(WAIT LOAD STORE, WAIT TRIGGER LOAD STORE);
    make_launch(&recording, 2, 1, PDL_WATCH_ADDED | PDL_WATCH_OVERLAP);
    judge_made(&watch, &recording);
    assert_int_equal(watch.sums.no_trigger, 0);
    watch_free(&watch);
}

static void a_kernel_of_several_waves_triggers_late(void **state)
{
    static const struct {
        uint32_t blocks;
        const char *first; /* NULL: its code is not known */
        enum watch_reason reason;
    } cases[] = {{132 * 7, WAIT TRIGGER LOAD STORE, WATCH_WAITS_FIRST},
                 {132 * 8 + 1, WAIT TRIGGER LOAD STORE, WATCH_WAVES},
                 {132 * 8 + 1, NULL, WATCH_WAITS_FIRST}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin_with_code(cases[i].first, WAIT LOAD STORE);
        (void)recording_launch(&recording, 1, 0x100, launch_time(0), 1, 0);
        recording_execution(&recording, 1, 7, run_time(0), run_time(0) + LENGTH, 1)->grid[0] =
            cases[i].blocks;
        make_launch(&recording, 1, 2, ASKED);
        assert_reason(cases[i].reason);
        if (cases[i].reason == WATCH_WAVES) {
            assert_string_equal(pair_named(&watch, "first", "second")->detail,
                                "first has 1057 blocks, and the device holds 1056: it triggers "
                                "once all have started");
        }
        watch_free(&watch);
    }
}

static void nothing_in_front_of_the_wait_hides_latency_alone(void **state)
{
    (void)state;
    chain_with_code(TRIGGER WAIT LOAD STORE, WAIT LOAD STORE);
    assert_reason(WATCH_WAITS_FIRST);
    assert_true(kernel_named(&watch, "second")->touches_before_wait_known);
    assert_false(kernel_named(&watch, "second")->work_before_wait);
    watch_free(&watch);
}

static void what_nothing_explains_is_unknown(void **state)
{
    (void)state;
    begin();
    make_launch(&recording, 0, 1, 0);
    make_launch(&recording, 1, 2, ASKED);
    assert_reason(WATCH_UNKNOWN);
    assert_true(kernel_named(&watch, "second")->work_before_wait);
    watch_free(&watch);
}

/* ---- reasons, in a graph ---------------------------------------------------------------------- */

/* A launch of graph 0x900 (3 of CUPTI's) whose nodes 11 and 12 were cloned to 21 and 22. */
static void make_graph(uint32_t flags, bool programmatic)
{
    begin();
    recording_graph(&recording, 0x900, 3, 2, 1);
    (void)recording_node(&recording, 0x900, 11, 1, 0);
    (void)recording_node(&recording, 0x900, 12, 2, flags);
    recording_edge(&recording, 0x900, 11, 12, programmatic);
    recording_clone(&recording, 11, 21);
    recording_clone(&recording, 12, 22);
    (void)recording_operation(&recording, PDL_WATCH_GRAPH_LAUNCH, 0x100, launch_time(0), 1, 0x900);
}

static void run_node(uint64_t node, uint32_t name, unsigned i)
{
    struct pdl_watch_execution *const run =
        recording_execution(&recording, name, 7, run_time(i), run_time(i) + LENGTH, 1);
    run->node = node;
    run->graph = 3;
}

static void a_full_edge_is_named_where_overlap_was_asked_for(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        make_graph(asked ? ASKED : 0, false);
        run_node(21, 1, 0);
        run_node(22, 2, 1);
        assert_reason(asked ? WATCH_FULL_EDGE : WATCH_NOT_ASKED);
        assert_int_equal(kernel_named(&watch, "second")->granted, 0);
        watch_free(&watch);
    }
}

static void one_full_edge_of_two_suffices(void **state)
{
    (void)state;
    make_graph(0, true);
    (void)recording_node(&recording, 0x900, 13, 1, 0);
    recording_edge(&recording, 0x900, 13, 12, false);
    recording_clone(&recording, 13, 23);
    run_node(21, 1, 0);
    run_node(23, 1, 1);
    run_node(22, 2, 2);
    assert_reason(WATCH_FULL_EDGE);
    /* The one that ended last is in front. */
    const struct watch_pair *const pair = pair_named(&watch, "first", "second");
    assert_int_equal(watch.runs.items[watch.runs.items[pair->example].before].node, 23);
    watch_free(&watch);
}

static void nodes_that_are_no_kernels_are_between(void **state)
{
    static const struct {
        uint32_t type;
        enum watch_reason reason;
    } cases[] = {{1, WATCH_COPY_BETWEEN},
                 {2, WATCH_COPY_BETWEEN},
                 {3, WATCH_HOST_BETWEEN},
                 {6, WATCH_EVENT_BETWEEN},
                 {10, WATCH_OTHER_BETWEEN}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin();
        recording_graph(&recording, 0x900, 3, 3, 2);
        (void)recording_node(&recording, 0x900, 11, 1, 0);
        recording_node(&recording, 0x900, 13, 0, 0)->type = cases[i].type;
        (void)recording_node(&recording, 0x900, 12, 2, ASKED);
        recording_edge(&recording, 0x900, 11, 13, false);
        recording_edge(&recording, 0x900, 13, 12, false);
        recording_clone(&recording, 11, 21);
        recording_clone(&recording, 12, 22);
        run_node(21, 1, 0);
        run_node(22, 2, 1);
        assert_reason_and_free(cases[i].reason);
    }
}

static void a_programmatic_edge_overlaps(void **state)
{
    (void)state;
    make_graph(0, true);
    run_node(21, 1, 0);
    struct pdl_watch_execution *const run =
        recording_execution(&recording, 2, 7, run_time(0) + 6000, run_time(0) + 2 * LENGTH, 1);
    run->node = 22;
    run->graph = 3;
    assert_reason(WATCH_OVERLAPPED);
    assert_int_equal(watch.sums.graph_runs, 2);
    assert_int_equal(watch.sums.asked, 1);
    assert_int_equal(watch.sums.granted, 1);
    assert_true(pair_named(&watch, "first", "second")->in_graph);
    watch_free(&watch);
}

/* ---- races ------------------------------------------------------------------------------------ */

static void assert_race(enum watch_race race, unsigned count)
{
    judge_made(&watch, &recording);
    assert_string_equal(watch_race_word(kernel_named(&watch, "second")->race),
                        watch_race_word(race));
    assert_int_equal(watch.sums.races, count);
}

/* Of a chain of two kernels, of which the second one is launched with overlap. */
static void the_code_says_whether_a_launch_races(void **state)
{
    static const struct {
        const char *first, *second;
        const char *again; /* another text that has the second one; NULL */
        const char *finding, *why_unknown;
        enum watch_race race;
        pdl_known shown_to_wait;
    } cases[] = {
        {WAIT LOAD STORE, LOAD STORE, .race = WATCH_RACE_NO_WAIT},
        {WAIT LOAD STORE, LOAD WAIT STORE, .race = WATCH_RACE_EARLY, .finding = "read-before-wait"},
        /* ptxas may move it above the wait. */
        {WAIT LOAD STORE, WAIT "ld.global.nc.f32 %f1, [%rd2];\n" STORE, .race = WATCH_RACE_EARLY,
         .finding = "nc-after-wait"},
        {LOAD STORE, WAIT LOAD STORE, .race = WATCH_RACE_NONE, .shown_to_wait = PDL_YES},
        {WAIT LOAD STORE, LOAD WAIT STORE, .again = WAIT LOAD STORE, .race = WATCH_RACE_UNKNOWN,
         .why_unknown = "differ"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        chain_with_code(cases[i].first, cases[i].second);
        if (cases[i].again != NULL) {
            make_ptx(&recording, "second", cases[i].again);
        }
        assert_race(cases[i].race, cases[i].race == WATCH_RACE_NO_WAIT);
        const struct watch_kernel *const second = kernel_named(&watch, "second");
        /* The head of the chain is launched plainly. */
        assert_int_equal(kernel_named(&watch, "first")->race, WATCH_RACE_NONE);
        assert_true(cases[i].finding == NULL || strstr(second->finding, cases[i].finding) != NULL);
        assert_true(cases[i].why_unknown == NULL ||
                    strstr(second->why_unknown, cases[i].why_unknown) != NULL);
        assert_true(cases[i].shown_to_wait == PDL_UNKNOWN ||
                    second->shown_to_wait == cases[i].shown_to_wait);
        watch_free(&watch);
    }
}

/* A chain whose second kernel has machine code alone. */
static void chain_with_machine_code(uint64_t first, uint64_t second)
{
    const struct made_cubin made = {
        .target = 90, .functions = {{.name = "second", .code = {first, second, OP_EXIT}}}};
    struct bytes cubin = make_cubin(&made);
    recording_begin(&recording);
    recording_device(&recording, 1);
    recording_name(&recording, 1, "first");
    recording_name(&recording, 2, "second");
    (void)recording_function(&recording, 1, 1);
    (void)recording_function(&recording, 2, 2);
    recording_image(&recording, PDL_WATCH_CUBIN, cubin.data, cubin.size);
    make_launch(&recording, 0, 1, 0);
    make_launch(&recording, 1, 2, ASKED);
    bytes_free(&cubin);
}

static void machine_code_is_judged_where_there_is_no_ptx(void **state)
{
    (void)state;
    chain_with_machine_code(OP_WAIT, OP_LOAD);
    assert_race(WATCH_RACE_NONE, 0);
    assert_int_equal(kernel_named(&watch, "second")->shown_to_wait, PDL_YES);
    watch_free(&watch);
    chain_with_machine_code(OP_LOAD, OP_WAIT);
    assert_race(WATCH_RACE_UNKNOWN, 0);
    assert_int_equal(kernel_named(&watch, "second")->shown_to_wait, PDL_NO);
    watch_free(&watch);
}

static void code_that_was_not_recorded_is_no_race(void **state)
{
    (void)state;
    recording_begin(&recording);
    recording_name(&recording, 1, "first");
    recording_name(&recording, 2, "second");
    (void)recording_function(&recording, 2, 2);
    make_launch(&recording, 0, 1, 0);
    make_launch(&recording, 1, 2, ASKED);
    assert_race(WATCH_RACE_UNKNOWN, 0);
    assert_non_null(kernel_named(&watch, "second")->why_unknown);
    watch_free(&watch);
}

static void code_of_another_version_than_ran_does_not_count(void **state)
{
    static const char old[] = ".version 8.0\n.target sm_100\n.address_size 64\n"
                              ".visible .entry second()\n{\nret;\n}\n";
    (void)state;
    chain_with_code(WAIT LOAD STORE, WAIT LOAD STORE);
    recording_image(&recording, PDL_WATCH_PTX, old, sizeof(old) - 1);
    assert_race(WATCH_RACE_NONE, 0);
    watch_free(&watch);
}

static void overlap_without_a_recorded_run_is_a_race_as_well(void **state)
{
    (void)state;
    chain_with_code(WAIT LOAD STORE, LOAD STORE);
    recording_free(&recording);
    recording_begin(&recording);
    recording_name(&recording, 1, "first");
    recording_name(&recording, 2, "second");
    (void)recording_function(&recording, 1, 1);
    (void)recording_function(&recording, 2, 2);
    make_ptx(&recording, "second", LOAD STORE);
    make_launch(&recording, 0, 1, 0);
    (void)recording_launch(&recording, 2, 0x100, launch_time(1), 2, ASKED);
    assert_race(WATCH_RACE_NO_WAIT, 1);
    watch_free(&watch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_begins_just_before_the_end_has_not_overlapped),
        cmocka_unit_test(what_begins_before_the_end_overlapped),
        cmocka_unit_test(the_first_run_of_a_stream_has_nothing_in_front),
        cmocka_unit_test(the_reason_is_in_the_launch_or_in_what_is_between),
        cmocka_unit_test(times_that_are_off_do_not_make_a_plain_launch_overlap),
        cmocka_unit_test(old_code_does_not_overlap),
        cmocka_unit_test(an_old_device_does_not_overlap),
        cmocka_unit_test(a_copy_that_is_known_by_its_run_alone_is_between_too),
        cmocka_unit_test(a_programmatic_event_overlaps_no_other_stream),
        cmocka_unit_test(no_room_names_the_resource),
        cmocka_unit_test(a_kernel_of_several_waves_triggers_late),
        cmocka_unit_test(a_late_host_is_named),
        cmocka_unit_test(what_added_overlap_gained_is_counted),
        cmocka_unit_test(what_was_instrumented_is_told_by_kernel),
        cmocka_unit_test(a_kernel_without_a_trigger_triggers_at_its_end),
        cmocka_unit_test(nothing_in_front_of_the_wait_hides_latency_alone),
        cmocka_unit_test(what_nothing_explains_is_unknown),
        cmocka_unit_test(a_full_edge_is_named_where_overlap_was_asked_for),
        cmocka_unit_test(one_full_edge_of_two_suffices),
        cmocka_unit_test(nodes_that_are_no_kernels_are_between),
        cmocka_unit_test(a_programmatic_edge_overlaps),
        cmocka_unit_test(the_code_says_whether_a_launch_races),
        cmocka_unit_test(machine_code_is_judged_where_there_is_no_ptx),
        cmocka_unit_test(code_that_was_not_recorded_is_no_race),
        cmocka_unit_test(code_of_another_version_than_ran_does_not_count),
        cmocka_unit_test(overlap_without_a_recorded_run_is_a_race_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
