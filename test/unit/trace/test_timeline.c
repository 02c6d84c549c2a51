/* SPDX-License-Identifier: MIT */
/* Timelines: what they take, and what they come to. Their forms are tested in timeline_forms.py. */
#include <unistd.h>

#include <pdl/timeline.h>

#include "support.h"

#define NONE PDL_TIMELINE_NONE

static pdl_timeline *make(void)
{
    pdl_timeline *timeline = NULL;
    assert_ok(pdl_timeline_create(&timeline));
    assert_non_null(timeline);
    return timeline;
}

static uint32_t add_launch(pdl_timeline *timeline, const char *kernel, const char *track)
{
    uint32_t launch = UINT32_MAX;
    assert_ok(pdl_timeline_add_launch(timeline, kernel, track, &launch));
    return launch;
}

static void add_block(pdl_timeline *timeline, uint32_t launch, uint32_t sm, int64_t start,
                      int64_t end)
{
    const pdl_timeline_block block = {.launch = launch,
                                      .sm = sm,
                                      .start_ns = start,
                                      .wait_ns = NONE,
                                      .waited_ns = NONE,
                                      .triggered_ns = NONE,
                                      .end_ns = end};
    assert_ok(pdl_timeline_add_block(timeline, &block));
}

static void add_waiting(pdl_timeline *timeline, uint32_t launch, int64_t start, int64_t wait,
                        int64_t waited, int64_t end)
{
    const pdl_timeline_block block = {.launch = launch,
                                      .start_ns = start,
                                      .wait_ns = wait,
                                      .waited_ns = waited,
                                      .triggered_ns = NONE,
                                      .end_ns = end};
    assert_ok(pdl_timeline_add_block(timeline, &block));
}

static pdl_timeline_summary sum_up(const pdl_timeline *timeline, const char *track)
{
    pdl_timeline_summary summary = PDL_TIMELINE_SUMMARY_INIT;
    assert_ok(pdl_timeline_summarize(timeline, track, &summary));
    return summary;
}

/* ---- what it comes to ------------------------------------------------------------------------- */

static void launches_are_numbered_from_0(void **state)
{
    (void)state;
    pdl_timeline *timeline = make();
    assert_int_equal(add_launch(timeline, "fc1", "a"), 0);
    assert_int_equal(add_launch(timeline, "fc1", "b"), 1);
    assert_int_equal(add_launch(timeline, "fc2", NULL), 2);
    pdl_timeline_destroy(timeline);
}

static void an_empty_timeline_comes_to_nothing(void **state)
{
    (void)state;
    pdl_timeline *timeline = make();
    const pdl_timeline_summary summary = sum_up(timeline, NULL);
    const pdl_timeline_summary expected = PDL_TIMELINE_SUMMARY_INIT;
    assert_memory_equal(&summary, &expected, sizeof(summary));
    pdl_timeline_destroy(timeline);
}

/* Blocks of up to two launches, and what they come to. */
static void blocks_come_to_their_summary(void **state)
{
    (void)state;
    const struct {
        const char *name;
        pdl_timeline_block blocks[8]; /* without an end: no more */
        pdl_timeline_summary sum;
        double sm_share;
    } cases[] = {
        {.name = "launches that overlap are told from their sum",
         .blocks = {{0, 0, 0, 0, 1000, NONE, NONE, NONE, 5000},
                    {0, 1, 1, 0, 2000, NONE, NONE, NONE, 6000},
                    {1, 0, 0, 0, 5500, NONE, NONE, NONE, 9000}},
         .sum = {.launches = 2,
                 .blocks = 3,
                 .span_ns = 8000,
                 .busy_ns = 8000,
                 .summed_ns = 8500,
                 .overlap_ns = 500},
         .sm_share = 11500.0 / 8000 / 2},
        {.name = "time between launches is a gap",
         .blocks = {{0, 0, 0, 0, 0, NONE, NONE, NONE, 100},
                    {1, 0, 0, 0, 130, NONE, NONE, NONE, 200}},
         .sum = {.launches = 2,
                 .blocks = 2,
                 .span_ns = 200,
                 .busy_ns = 170,
                 .summed_ns = 170,
                 .gap_ns = 30},
         .sm_share = 170.0 / 200},
        {.name = "time between blocks of a launch is no gap",
         .blocks = {{0, 0, 0, 0, 0, NONE, NONE, NONE, 100},
                    {0, 1, 0, 0, 130, NONE, NONE, NONE, 200}},
         .sum = {.launches = 1, .blocks = 2, .span_ns = 200, .busy_ns = 170, .summed_ns = 200},
         .sm_share = 170.0 / 200},
        {.name = "blocks of one launch do not overlap each other",
         .blocks = {{0, 0, 0, 0, 0, NONE, NONE, NONE, 100},
                    {0, 1, 1, 0, 0, NONE, NONE, NONE, 100},
                    {0, 2, 2, 0, 0, NONE, NONE, NONE, 100}},
         .sum = {.launches = 1, .blocks = 3, .span_ns = 100, .busy_ns = 100, .summed_ns = 100},
         .sm_share = 1},
        {.name = "time in waits is the mean of a launch's blocks, of which one does not wait",
         .blocks = {{0, 0, 0, 0, 0, 10, 30, NONE, 100},
                    {0, 1, 0, 0, 0, 10, 50, NONE, 100},
                    {1, 0, 0, 0, 0, 10, 100, NONE, 100},
                    {1, 1, 0, 0, 0, NONE, NONE, NONE, 100}},
         .sum = {.launches = 2,
                 .blocks = 4,
                 .span_ns = 100,
                 .busy_ns = 100,
                 .summed_ns = 200,
                 .overlap_ns = 100,
                 .blocked_ns = 75},
         .sm_share = 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        pdl_timeline *timeline = make();
        print_message("%s\n", cases[i].name);
        add_launch(timeline, "fc1", "s");
        add_launch(timeline, "fc2", "s");
        for (size_t j = 0; cases[i].blocks[j].end_ns > 0; j++) {
            assert_ok(pdl_timeline_add_block(timeline, &cases[i].blocks[j]));
        }
        pdl_timeline_summary expected = cases[i].sum;
        expected.size = (uint32_t)sizeof(expected);
        expected.overlap_share = (double)expected.overlap_ns / (double)expected.span_ns;
        expected.sm_share = cases[i].sm_share;
        const pdl_timeline_summary summary = sum_up(timeline, "s");
        assert_memory_equal(&summary, &expected, sizeof(summary));
        pdl_timeline_destroy(timeline);
    }
}

static void tracks_are_summed_up_alone_or_together(void **state)
{
    (void)state;
    pdl_timeline *timeline = make();
    add_block(timeline, add_launch(timeline, "fc1", "a"), 0, 0, 100);
    add_block(timeline, add_launch(timeline, "fc1", "b"), 1, 50, 200);
    assert_int_equal(sum_up(timeline, "a").span_ns, 100);
    assert_int_equal(sum_up(timeline, "b").span_ns, 150);
    assert_int_equal(sum_up(timeline, NULL).span_ns, 200);
    assert_int_equal(sum_up(timeline, NULL).overlap_ns, 50);
    assert_true(sum_up(timeline, "a").sm_share == 0.5); /* of the SMs that either used */
    pdl_timeline_destroy(timeline);
}

static void a_launch_without_blocks_does_not_count(void **state)
{
    (void)state;
    pdl_timeline *timeline = make();
    add_block(timeline, add_launch(timeline, "fc1", "a"), 0, 500, 600);
    add_launch(timeline, "fc2", "a");
    assert_int_equal(sum_up(timeline, "a").launches, 1);
    assert_int_equal(sum_up(timeline, "a").span_ns, 100);
    pdl_timeline_destroy(timeline);
}

static void lost_blocks_add_up_and_do_not_wrap(void **state)
{
    (void)state;
    pdl_timeline *timeline = make();
    pdl_timeline_add_lost(timeline, 3);
    pdl_timeline_add_lost(timeline, 4);
    assert_int_equal(sum_up(timeline, NULL).lost, 7);
    pdl_timeline_add_lost(timeline, UINT64_MAX);
    assert_true(sum_up(timeline, NULL).lost == UINT64_MAX);
    pdl_timeline_add_lost(NULL, 1);
    pdl_timeline_destroy(timeline);
}

/* Counted nanosecond by nanosecond. */
#define TIMES    60
#define LAUNCHES 4
#define SMS      3

static unsigned dice = 1;

static unsigned roll(unsigned sides)
{
    dice = dice * 1664525u + 1013904223u;
    return (dice >> 8) % sides;
}

static void any_times_come_to_what_counting_them_says(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 500; round++) {
        bool by_launch[LAUNCHES][TIMES] = {{false}};
        bool by_sm[SMS][TIMES] = {{false}};
        bool spanned[LAUNCHES][TIMES] = {{false}};
        bool sm_used[SMS] = {false};
        int64_t from[LAUNCHES];
        int64_t to[LAUNCHES];
        pdl_timeline *timeline = make();
        for (unsigned i = 0; i < LAUNCHES; i++) {
            from[i] = TIMES;
            to[i] = -1;
            add_launch(timeline, "k", "s");
        }
        const unsigned blocks = 1 + roll(9);
        for (unsigned i = 0; i < blocks; i++) {
            const unsigned launch = roll(LAUNCHES);
            const unsigned sm = roll(SMS);
            const int64_t start = roll(TIMES);
            const int64_t end = start + roll((unsigned)(TIMES - start) / 3 + 1);
            add_block(timeline, launch, sm * 7, start, end);
            sm_used[sm] = true;
            from[launch] = start < from[launch] ? start : from[launch];
            to[launch] = end > to[launch] ? end : to[launch];
            for (int64_t time = start; time < end; time++) {
                by_launch[launch][time] = by_sm[sm][time] = true;
            }
        }
        int64_t first = TIMES;
        int64_t last = 0;
        int64_t summed = 0;
        for (unsigned i = 0; i < LAUNCHES; i++) {
            for (int64_t time = from[i]; time < to[i]; time++) {
                spanned[i][time] = true;
            }
            first = from[i] < first ? from[i] : first;
            last = to[i] > last ? to[i] : last;
            summed += to[i] >= 0 ? to[i] - from[i] : 0;
        }
        int64_t busy = 0;
        int64_t shared = 0;
        int64_t gap = 0;
        int64_t on_sms = 0;
        for (int64_t time = first; time < last; time++) {
            unsigned running = 0;
            unsigned spanning = 0;
            for (unsigned i = 0; i < LAUNCHES; i++) {
                running += by_launch[i][time];
                spanning += spanned[i][time];
            }
            for (unsigned i = 0; i < SMS; i++) {
                on_sms += by_sm[i][time];
            }
            busy += running > 0;
            shared += running > 1;
            gap += spanning == 0;
        }
        const pdl_timeline_summary summary = sum_up(timeline, NULL);
        const int sms = sm_used[0] + sm_used[1] + sm_used[2];
        assert_int_equal(summary.span_ns, last - first);
        assert_int_equal(summary.summed_ns, summed);
        assert_int_equal(summary.busy_ns, busy);
        assert_int_equal(summary.overlap_ns, shared);
        assert_int_equal(summary.gap_ns, gap);
        if (last > first) {
            const double share = (double)on_sms / (double)(last - first) / sms;
            assert_true(summary.sm_share > share - 1e-9 && summary.sm_share < share + 1e-9);
        }
        pdl_timeline_destroy(timeline);
    }
}

/* ---- what it does not take -------------------------------------------------------------------- */

static void a_launch_needs_a_name_and_a_place_for_its_number(void **state)
{
    (void)state;
    pdl_timeline *timeline = make();
    uint32_t launch = 77;
    assert_refused(pdl_timeline_create(NULL), PDL_ERROR_INVALID_ARGUMENT, "timeline", "NULL");
    assert_refused(pdl_timeline_add_launch(NULL, "k", "t", &launch), PDL_ERROR_INVALID_ARGUMENT,
                   "timeline", "NULL");
    assert_refused(pdl_timeline_add_launch(timeline, NULL, "t", &launch),
                   PDL_ERROR_INVALID_ARGUMENT, "kernel", "name");
    assert_refused(pdl_timeline_add_launch(timeline, "", "t", &launch), PDL_ERROR_INVALID_ARGUMENT,
                   "kernel", "name");
    assert_refused(pdl_timeline_add_launch(timeline, "k", "t", NULL), PDL_ERROR_INVALID_ARGUMENT,
                   "launch", "NULL");
    assert_int_equal(launch, 77);
    pdl_timeline_destroy(timeline);
    pdl_timeline_destroy(NULL);
}

static void stamps_that_cannot_be_are_refused(void **state)
{
    (void)state;
    const int64_t far = INT64_C(1) << 62;
    static const char *const far_text = "4611686018427387904";
    const struct {
        pdl_timeline_block block;
        const char *field, *word;
    } cases[] = {
        {{1, 0, 0, 0, 10, 20, 30, 40, 50}, "launch", "1"},
        {{0, 0, 65536, 0, 10, 20, 30, 40, 50}, "sm", "65536"},
        {{0, 0, 0, 5, 10, 20, 30, 40, 50}, "reserved", "5"},
        {{0, 0, 0, 0, 10, 20, 30, 40, 9}, "end_ns", "9"},
        {{0, 0, 0, 0, 10, 9, 30, 40, 50}, "wait_ns", "9"},
        {{0, 0, 0, 0, 10, 20, 19, 40, 50}, "waited_ns", "19"},
        {{0, 0, 0, 0, 10, 20, 51, 40, 50}, "waited_ns", "51"},
        {{0, 0, 0, 0, 10, 20, 30, 9, 50}, "triggered_ns", "9"},
        {{0, 0, 0, 0, 10, 20, 30, 51, 50}, "triggered_ns", "51"},
        {{0, 0, 0, 0, 10, NONE, 30, 40, 50}, "waited_ns", "one of"},
        {{0, 0, 0, 0, 10, 20, NONE, 40, 50}, "waited_ns", "one of"},
        {{0, 0, 0, 0, -far, 20, 30, 40, 50}, "start_ns", far_text},
        {{0, 0, 0, 0, 10, 20, 30, 40, far}, "end_ns", far_text},
    };
    pdl_timeline *timeline = make();
    add_launch(timeline, "k", "t");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_refused(pdl_timeline_add_block(timeline, &cases[i].block),
                       PDL_ERROR_INVALID_ARGUMENT, cases[i].field, cases[i].word);
    }
    assert_int_equal(sum_up(timeline, NULL).blocks, 0);
    pdl_timeline_destroy(timeline);
}

static void the_widest_times_do_not_overflow(void **state)
{
    (void)state;
    const int64_t far = (INT64_C(1) << 62) - 1;
    pdl_timeline *timeline = make();
    for (unsigned i = 0; i < 3; i++) {
        const uint32_t launch = add_launch(timeline, "k", "t");
        add_waiting(timeline, launch, -far, -far, far, far);
        add_waiting(timeline, launch, -far, -far, far, far);
    }
    assert_true(sum_up(timeline, NULL).span_ns == 2 * far);
    assert_true(sum_up(timeline, NULL).summed_ns == INT64_MAX);
    for (pdl_timeline_format f = PDL_TIMELINE_TEXT; f <= PDL_TIMELINE_TRACE; f++) {
        assert_ok(pdl_timeline_write(timeline, f, "/dev/null", 0));
    }
    pdl_timeline_destroy(timeline);
}

static void a_summary_needs_a_track_and_a_size(void **state)
{
    (void)state;
    pdl_timeline *timeline = make();
    pdl_timeline_summary summary = PDL_TIMELINE_SUMMARY_INIT;
    add_launch(timeline, "k", "here");
    assert_refused(pdl_timeline_summarize(timeline, "there", &summary), PDL_ERROR_NOT_FOUND,
                   "track", "there");
    assert_refused(pdl_timeline_summarize(timeline, NULL, NULL), PDL_ERROR_INVALID_ARGUMENT,
                   "summary", "NULL");
    summary.size = 0;
    assert_refused(pdl_timeline_summarize(timeline, NULL, &summary), PDL_ERROR_DESC_SIZE, "size",
                   "0");
    pdl_timeline_destroy(timeline);
}

static void an_older_summary_is_filled_as_far_as_it_goes(void **state)
{
    (void)state;
    pdl_timeline *timeline = make();
    pdl_timeline_summary summary;
    memset(&summary, 0x5a, sizeof(summary));
    summary.size = (uint32_t)offsetof(pdl_timeline_summary, busy_ns);
    add_block(timeline, add_launch(timeline, "k", "t"), 0, 0, 100);
    assert_ok(pdl_timeline_summarize(timeline, NULL, &summary));
    assert_int_equal(summary.span_ns, 100);
    assert_int_equal(summary.busy_ns, 0x5a5a5a5a5a5a5a5a);
    pdl_timeline_destroy(timeline);
}

static void what_cannot_be_written_is_refused(void **state)
{
    (void)state;
    pdl_timeline *timeline = make();
    assert_refused(pdl_timeline_write(timeline, PDL_TIMELINE_TEXT, NULL, 0),
                   PDL_ERROR_INVALID_ARGUMENT, "path", "path");
    assert_refused(pdl_timeline_write(timeline, (pdl_timeline_format)4, "/dev/null", 0),
                   PDL_ERROR_INVALID_ARGUMENT, "format", "4");
    assert_refused(pdl_timeline_write(timeline, (pdl_timeline_format)0, "/dev/null", 0),
                   PDL_ERROR_INVALID_ARGUMENT, "format", "0");
    assert_refused(pdl_timeline_write(timeline, PDL_TIMELINE_TEXT, "/dev/null", 71),
                   PDL_ERROR_INVALID_ARGUMENT, "columns", "71");
    assert_refused(pdl_timeline_write(timeline, PDL_TIMELINE_TEXT, "/dev/null", 401),
                   PDL_ERROR_INVALID_ARGUMENT, "columns", "401");
    assert_refused(pdl_timeline_write(timeline, PDL_TIMELINE_SVG, "/nowhere/at/all", 0),
                   PDL_ERROR_FILE, "path", "/nowhere/at/all");
    assert_refused(pdl_timeline_add_note(timeline, NULL), PDL_ERROR_INVALID_ARGUMENT, "note",
                   "note");
    pdl_timeline_destroy(timeline);
}

static void a_full_disk_is_told(void **state)
{
    (void)state;
    pdl_timeline *timeline = make();
    if (access("/dev/full", W_OK) != 0) {
        print_message("there is no /dev/full\n");
    } else {
        assert_refused(pdl_timeline_write(timeline, PDL_TIMELINE_TRACE, "/dev/full", 0),
                       PDL_ERROR_FILE, "path", "/dev/full");
    }
    pdl_timeline_destroy(timeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_are_numbered_from_0),
        cmocka_unit_test(an_empty_timeline_comes_to_nothing),
        cmocka_unit_test(blocks_come_to_their_summary),
        cmocka_unit_test(tracks_are_summed_up_alone_or_together),
        cmocka_unit_test(a_launch_without_blocks_does_not_count),
        cmocka_unit_test(lost_blocks_add_up_and_do_not_wrap),
        cmocka_unit_test(any_times_come_to_what_counting_them_says),
        cmocka_unit_test(a_launch_needs_a_name_and_a_place_for_its_number),
        cmocka_unit_test(stamps_that_cannot_be_are_refused),
        cmocka_unit_test(the_widest_times_do_not_overflow),
        cmocka_unit_test(a_summary_needs_a_track_and_a_size),
        cmocka_unit_test(an_older_summary_is_filled_as_far_as_it_goes),
        cmocka_unit_test(what_cannot_be_written_is_refused),
        cmocka_unit_test(a_full_disk_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
