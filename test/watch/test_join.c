/* SPDX-License-Identifier: MIT */
/* What is in front of what, and which runs count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "judge.h"

enum { ASKED = PDL_WATCH_ASKED | PDL_WATCH_OVERLAP };

static struct recording recording;
static struct watch watch;

static void begin(void)
{
    recording_begin(&recording);
    make_kernels(&recording);
}

/* A launch with its run, wherever they are wanted. */
static void launch(uint32_t function, uint64_t handle, uint32_t thread, uint32_t stream,
                   unsigned call, unsigned run)
{
    recording_launch(&recording, function, handle, launch_time(call), 100 + call, ASKED)->thread =
        thread;
    (void)recording_execution(&recording, function, stream, run_time(run), run_time(run) + LENGTH,
                              100 + call);
}

static uint32_t before(size_t run)
{
    return watch.runs.items[run].before;
}

static void records_may_come_in_any_order(void **state)
{
    (void)state;
    recording_begin(&recording);
    (void)recording_execution(&recording, 2, 7, run_time(1), run_time(1) + LENGTH, 2);
    (void)recording_launch(&recording, 2, 0x100, launch_time(1), 2, ASKED);
    (void)recording_execution(&recording, 1, 7, run_time(0), run_time(0) + LENGTH, 1);
    (void)recording_launch(&recording, 1, 0x100, launch_time(0), 1, 0);
    make_kernels(&recording);
    judge_made(&watch, &recording);
    assert_int_equal(before(0), WATCH_NONE);
    assert_int_equal(before(1), 0);
    assert_string_equal(watch.kernels.items[watch.runs.items[0].kernel].name, "first");
    assert_int_equal(watch.runs.items[1].launch, 1);
    assert_int_equal(watch.launches.items[1].run, 1);
    assert_int_equal(watch.launches.items[1].flags, ASKED);
    watch_free(&watch);
}

static void streams_do_not_mix(void **state)
{
    (void)state;
    begin();
    launch(1, 0x100, 1, 7, 0, 0);
    launch(1, 0x200, 1, 8, 1, 1);
    launch(2, 0x100, 1, 7, 2, 2);
    judge_made(&watch, &recording);
    assert_int_equal(before(1), WATCH_NONE);
    assert_int_equal(before(2), 0);
    assert_int_equal(watch.tracks.count, 2);
    assert_string_equal(watch.tracks.items[watch.runs.items[1].track].name, "stream 8");
    watch_free(&watch);
}

static void a_handle_may_be_used_again(void **state)
{
    (void)state;
    begin();
    launch(1, 0x100, 1, 7, 0, 0);
    launch(2, 0x100, 1, 9, 2, 1);
    launch(1, 0x100, 1, 9, 4, 2);
    /* Between the last two, by the time of the call. */
    (void)recording_operation(&recording, PDL_WATCH_HOST_FUNCTION, 0x100, launch_time(3), 0, 0);
    judge_made(&watch, &recording);
    assert_int_equal(watch.runs.items[1].reason, WATCH_FIRST);
    assert_int_equal(before(2), 1);
    assert_int_equal(watch.runs.items[2].reason, WATCH_HOST_BETWEEN);
    watch_free(&watch);
}

static void each_thread_has_its_own_default_stream(void **state)
{
    (void)state;
    begin();
    launch(1, 2, 1, 7, 0, 0);
    launch(1, 2, 2, 8, 1, 1);
    launch(2, 2, 1, 7, 3, 2);
    launch(2, 2, 2, 8, 4, 3);
    recording_operation(&recording, PDL_WATCH_HOST_FUNCTION, 2, launch_time(2), 0, 0)->thread = 2;
    judge_made(&watch, &recording);
    assert_int_equal(before(2), 0);
    assert_int_equal(before(3), 1);
    assert_int_not_equal(watch.runs.items[2].reason, WATCH_HOST_BETWEEN);
    assert_int_equal(watch.runs.items[3].reason, WATCH_HOST_BETWEEN);
    watch_free(&watch);
}

static void calls_of_two_threads_are_in_the_order_of_the_device(void **state)
{
    (void)state;
    begin();
    launch(1, 0x100, 1, 7, 0, 1);
    launch(2, 0x100, 2, 7, 1, 0);
    judge_made(&watch, &recording);
    assert_int_equal(before(0), WATCH_NONE);
    assert_int_equal(before(1), 0);
    watch_free(&watch);
}

static void a_lost_run_makes_what_is_behind_it_unknown(void **state)
{
    (void)state;
    begin();
    launch(1, 0x100, 1, 7, 0, 0);
    (void)recording_launch(&recording, 1, 0x100, launch_time(1), 55, 0);
    launch(2, 0x100, 1, 7, 2, 1);
    judge_made(&watch, &recording);
    assert_int_equal(before(1), WATCH_NONE);
    assert_int_equal(watch.runs.items[1].reason, WATCH_UNKNOWN);
    assert_int_equal(watch.notes.count, 1);
    watch_free(&watch);
}

static void launches_that_failed_are_not_there(void **state)
{
    (void)state;
    begin();
    launch(1, 0x100, 1, 7, 0, 0);
    recording_launch(&recording, 1, 0x100, launch_time(1), 55, 0)->result = 1;
    launch(2, 0x100, 1, 7, 2, 1);
    judge_made(&watch, &recording);
    assert_int_equal(before(1), 0);
    watch_free(&watch);
}

static void without_device_times_calls_are_the_rows(void **state)
{
    (void)state;
    begin();
    (void)recording_launch(&recording, 1, 0x100, launch_time(0), 0, 0);
    (void)recording_launch(&recording, 2, 0x100, launch_time(1), 0, 0);
    (void)recording_launch(&recording, 2, 0x100, launch_time(2), 0, PDL_WATCH_CAPTURED);
    judge_made(&watch, &recording);
    assert_false(watch.has_times);
    assert_int_equal(watch.runs.count, 2);
    assert_int_equal(watch.sums.launches, 2);
    assert_int_equal(watch.sums.kernel_ns, 0);
    assert_int_equal(pair_named(&watch, "first", "second")->reason, WATCH_NOT_ASKED);
    watch_free(&watch);
}

/* Copies of copies: 11 → 31 → 21, and a circle. */
/* Nothing tells whether the graph ran that a launch went into: its overlap counts. */
static void without_device_times_captured_launches_are_not_taken_to_be_safe(void **state)
{
    (void)state;
    for (int times = 0; times < 2; times++) {
        begin();
        recording_name(&recording, 3, "without_code");
        (void)recording_function(&recording, 3, 3);
        (void)recording_launch(&recording, 3, 0x100, launch_time(0), 0,
                               PDL_WATCH_CAPTURED | PDL_WATCH_OVERLAP | PDL_WATCH_ASKED);
        if (times > 0) {
            launch(1, 0x100, 1, 7, 1, 1);
        }
        judge_made(&watch, &recording);
        const struct watch_kernel *const kernel =
            &watch.kernels.items[watch.launches.items[0].kernel];
        assert_int_equal(kernel->race, times > 0 ? WATCH_RACE_NONE : WATCH_RACE_UNKNOWN);
        assert_true(kernel->no_code);
        watch_free(&watch);
    }
}

static void nodes_are_found_through_copies_of_copies(void **state)
{
    (void)state;
    begin();
    recording_graph(&recording, 0x900, 3, 2, 1);
    (void)recording_node(&recording, 0x900, 11, 1, 0);
    (void)recording_node(&recording, 0x900, 12, 2, 0);
    recording_edge(&recording, 0x900, 11, 12, true);
    recording_clone(&recording, 11, 31);
    recording_clone(&recording, 31, 21);
    recording_clone(&recording, 12, 22);
    recording_clone(&recording, 41, 42);
    recording_clone(&recording, 42, 41);
    (void)recording_operation(&recording, PDL_WATCH_GRAPH_LAUNCH, 0x100, launch_time(1), 1, 0x900);
    launch(1, 0x100, 1, 7, 0, 0);
    static const uint64_t nodes[] = {21, 22, 42};
    for (unsigned i = 0; i < 3; i++) {
        struct pdl_watch_execution *const run = recording_execution(
            &recording, 1 + i % 2, 12, run_time(i + 1), run_time(i + 1) + LENGTH, 1);
        run->node = nodes[i];
        run->graph = 3;
    }
    judge_made(&watch, &recording);
    assert_int_equal(before(1), 0); /* the graph is behind the stream */
    assert_int_equal(watch.runs.items[1].reason, WATCH_NOT_ASKED);
    assert_int_equal(before(2), 1);
    assert_int_equal(watch.runs.items[2].flags & PDL_WATCH_OVERLAP, PDL_WATCH_OVERLAP);
    assert_int_equal(watch.runs.items[3].reason, WATCH_UNKNOWN);
    assert_string_equal(watch.tracks.items[watch.runs.items[1].track].name, "graph 3");
    watch_free(&watch);
}

static void kernels_are_chosen_by_their_names(void **state)
{
    static const char *const globs[] = {"fir*"};
    (void)state;
    begin();
    for (unsigned i = 0; i < 10; i++) {
        make_launch(&recording, i, 1 + i % 2, 0);
    }
    judge(&watch, &recording, &(struct watch_window){.kernels = globs, .kernel_count = 1});
    recording_free(&recording);
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(watch.runs.items[i].in_window, i % 2 == 0);
    }
    assert_int_equal(watch.sums.launches, 5);
    watch_free(&watch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_may_come_in_any_order),
        cmocka_unit_test(streams_do_not_mix),
        cmocka_unit_test(a_handle_may_be_used_again),
        cmocka_unit_test(each_thread_has_its_own_default_stream),
        cmocka_unit_test(calls_of_two_threads_are_in_the_order_of_the_device),
        cmocka_unit_test(a_lost_run_makes_what_is_behind_it_unknown),
        cmocka_unit_test(launches_that_failed_are_not_there),
        cmocka_unit_test(without_device_times_calls_are_the_rows),
        cmocka_unit_test(without_device_times_captured_launches_are_not_taken_to_be_safe),
        cmocka_unit_test(nodes_are_found_through_copies_of_copies),
        cmocka_unit_test(kernels_are_chosen_by_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
