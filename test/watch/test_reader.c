/* SPDX-License-Identifier: MIT */
/* Files: what is none, what is damaged, and what is large. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "judge.h"

static struct recording recording;
static struct watch watch;

/* ---- what is refused -------------------------------------------------------------------------- */

/* What watch_read() says of the recording, which it does not take. */
static void assert_refused(const char *message)
{
    char said[512] = "";
    const char *const paths[] = {recording_path()};
    FILE *const file = tmpfile();
    const int kept = dup(STDERR_FILENO);
    assert_non_null(file);
    assert_true(recording_write(&recording, paths[0]));
    assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
    const bool taken = watch_read(&watch, paths, 1);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    (void)close(kept);
    rewind(file);
    assert_true(fread(said, 1, sizeof(said) - 1, file) > 0);
    (void)fclose(file);
    watch_free(&watch);
    recording_free(&recording);
    assert_false(taken);
    assert_non_null(strstr(said, message));
}

static void a_newer_version_is_refused(void **state)
{
    (void)state;
    recording_begin(&recording);
    recording_header(&recording)->version = 7;
    assert_refused(": recording of version 7; this pdltool reads up to 1\n");
}

static void another_byte_order_is_refused(void **state)
{
    (void)state;
    recording_begin(&recording);
    recording_header(&recording)->order = 0x04030201;
    recording_header(&recording)->version = 0x01000000;
    assert_refused("another byte order");
}

static void other_files_are_refused(void **state)
{
    (void)state;
    recording_begin(&recording);
    recording_header(&recording)->magic[0] = 'Q';
    assert_refused("not a recording");
    recording_begin(&recording);
    recording.size = 0;
    assert_refused("not a recording");
    recording_begin(&recording);
    recording.size = sizeof(struct pdl_watch_header) - 1;
    assert_refused("ends within its header");
}

/* ---- what is damaged -------------------------------------------------------------------------- */

/* Every kind of record, in an order in which nothing is known when it is needed. */
static void make_all_kinds(void)
{
    recording_begin(&recording);
    recording.chunk_size = 2 * PDL_WATCH_PAGE;
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned run = 0; run < 2; run++) {
            struct pdl_watch_execution *const execution = recording_execution(
                &recording, run + 1, 7, run_time(6 + run), run_time(6 + run) + LENGTH, 50);
            execution->node = 21 + run;
            execution->graph = 3;
        }
        make_launch(&recording, 3 * i, 1, PDL_WATCH_EVENT);
        make_launch(&recording, 3 * i + 1, 2, PDL_WATCH_ASKED | PDL_WATCH_OVERLAP);
        recording_transfer(&recording, PDL_WATCH_SET, 7, run_time(2), run_time(2) + 100, 60);
        for (int operation = PDL_WATCH_COPY; operation <= PDL_WATCH_MANY; operation++) {
            (void)recording_operation(&recording, (enum pdl_watch_operations)operation,
                                      0x100 + i * 0x100, launch_time(2), 50, 0x900);
        }
        recording_clone(&recording, 11, 21);
        recording_clone(&recording, 12, 22);
        recording_edge(&recording, 0x900, 11, 12, true);
        (void)recording_node(&recording, 0x900, 12, 2, 0);
        (void)recording_node(&recording, 0x900, 11, 1, 0);
        recording_graph(&recording, 0x900, 3, 2, 1);
        recording_text(&recording, PDL_WATCH_NOTE, "a note");
        recording_instrumented(&recording, PDL_WATCH_INSTRUMENTED_REFUSED, "first", "why");
    }
    recording_chunk(&recording, 0);
    make_kernels(&recording);
}

/* Reads, judges and frees what may be damaged; whether it was taken. */
static bool try(const struct recording *tried)
{
    static const char *const globs[] = {"f*"};
    static const struct watch_window window = {.kernels = globs, .kernel_count = 1};
    const char *const paths[] = {recording_path(), recording_path()};
    assert_true(recording_write(tried, paths[0]));
    const bool taken = watch_read(&watch, paths, 2);
    if (taken) {
        watch_join(&watch, &window);
        watch_look_at_code(&watch);
        watch_judge_pairs(&watch);
    }
    watch_free(&watch);
    return taken;
}

static void every_truncation_is_read_as_far_as_it_goes(void **state)
{
    (void)state;
    make_all_kinds();
    struct recording cut = recording;
    unsigned damaged = 0;
    for (cut.size = sizeof(struct pdl_watch_header); cut.size < recording.size; cut.size += 8) {
        const char *const paths[] = {recording_path()};
        assert_true(try(&cut));
        assert_true(watch_read(&watch, paths, 1));
        damaged += watch.processes.items[0].damaged;
        watch_free(&watch);
    }
    assert_true(damaged > 1000);
    assert_true(try(&recording));
    recording_free(&recording);
}

static void no_byte_that_is_wrong_does_harm(void **state)
{
    static const unsigned char masks[] = {0xff, 0x80, 0x01};
    (void)state;
    make_all_kinds();
    const int kept = dup(STDERR_FILENO); /* what is refused is said there */
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_true(kept >= 0 && null >= 0 && dup2(null, STDERR_FILENO) >= 0);
    (void)close(null);
    for (size_t i = 0; i < recording.size; i++) {
        if (recording.bytes[i] == 0 && i % 16 != 0) {
            continue; /* most of it is room */
        }
        for (size_t mask = 0; mask < sizeof(masks); mask++) {
            recording.bytes[i] ^= masks[mask];
            (void)try(&recording);
            recording.bytes[i] ^= masks[mask];
        }
    }
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    (void)close(kept);
    recording_free(&recording);
}

static void a_record_that_was_not_finished_ends_its_chunk(void **state)
{
    (void)state;
    recording_begin(&recording);
    make_kernels(&recording);
    make_launch(&recording, 0, 1, 0);
    recording_launch(&recording, 2, 0x100, launch_time(1), 2, 0)->record.kind = 0;
    make_launch(&recording, 2, 1, 0);
    recording_chunk(&recording, 0);
    make_launch(&recording, 3, 1, 0);
    judge_made(&watch, &recording);
    assert_int_equal(watch.launches.count, 2);
    assert_false(watch.processes.items[0].damaged);
    watch_free(&watch);
}

static void newer_kinds_and_longer_records_are_read(void **state)
{
    struct {
        struct pdl_watch_launch launch;
        uint64_t more[2];
    } longer = {.launch = {.begin_ns = launch_time(0), .function = 1, .number = 1}};
    const struct pdl_watch_text newer = {.record = {.size = 0}};
    (void)state;
    recording_begin(&recording);
    make_kernels(&recording);
    (void)recording_add(&recording, (enum pdl_watch_kind)77, &newer, sizeof(newer), "what", 4);
    (void)RECORDING_ADD(&recording, PDL_WATCH_LAUNCH, &longer);
    judge_made(&watch, &recording);
    assert_int_equal(watch.launches.count, 1);
    assert_string_equal(watch.kernels.items[watch.launches.items[0].kernel].name, "first");
    assert_false(watch.processes.items[0].damaged);
    watch_free(&watch);
}

static void impossible_times_are_left_out(void **state)
{
    (void)state;
    recording_begin(&recording);
    make_kernels(&recording);
    make_launch(&recording, 0, 1, 0);
    (void)recording_execution(&recording, 1, 7, 0, 100, 0);
    (void)recording_execution(&recording, 1, 7, 5000, 4000, 0);
    (void)recording_execution(&recording, 1, 7, 5000, UINT64_MAX, 0);
    judge_made(&watch, &recording);
    assert_int_equal(watch.runs.count, 1);
    assert_int_equal(watch.notes.count, 1);
    assert_string_equal(watch.notes.items[0],
                        "3 executions with times that cannot be: they are left out");
    watch_free(&watch);
}

/* ---- what is large ---------------------------------------------------------------------------- */

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* PDL_TEST_LAUNCHES=1000000 measures the real thing. */
static void many_launches_take_time_by_their_number(void **state)
{
    const char *const wanted = getenv("PDL_TEST_LAUNCHES");
    const unsigned count = wanted != NULL ? (unsigned)strtoul(wanted, NULL, 10) : 100000;
    const char *const paths[] = {recording_path()};
    (void)state;
    recording_begin(&recording);
    make_kernels(&recording);
    recording_chunk(&recording, PDL_WATCH_CHUNK);
    for (unsigned i = 0; i < count; i++) {
        make_launch(&recording, i, 1 + i % 2, i % 3 == 0 ? 0x81 : 0);
    }
    assert_true(recording_write(&recording, paths[0]));
    recording_free(&recording);
    const double start = seconds();
    assert_true(watch_read(&watch, paths, 1));
    watch_join(&watch, &(struct watch_window){.kernels = NULL});
    watch_look_at_code(&watch);
    watch_judge_pairs(&watch);
    const double taken = seconds() - start;
    (void)printf("%u launches: %.2f s\n", count, taken);
    assert_int_equal(watch.sums.launches, count);
    assert_true(taken < 60);
    watch_free(&watch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_newer_version_is_refused),
        cmocka_unit_test(another_byte_order_is_refused),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(every_truncation_is_read_as_far_as_it_goes),
        cmocka_unit_test(no_byte_that_is_wrong_does_harm),
        cmocka_unit_test(a_record_that_was_not_finished_ends_its_chunk),
        cmocka_unit_test(newer_kinds_and_longer_records_are_read),
        cmocka_unit_test(impossible_times_are_left_out),
        cmocka_unit_test(many_launches_take_time_by_their_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
