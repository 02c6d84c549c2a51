/* SPDX-License-Identifier: MIT */
/* Timelines: what they take, and what they come to. Their forms are tested in timeline_forms.py. */
#include <unistd.h>

#include <pdl/timeline.h>

#include "support.h"

#define NONE PDL_TIMELINE_NONE

static void destroy(void *timeline)
{
    pdl_timeline_destroy(timeline);
}

static pdl_timeline *make(void)
{
    pdl_timeline *timeline = NULL;
    assert_ok(pdl_timeline_create(&timeline));
    assert_non_null(timeline);
    destroy_after(timeline, destroy);
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

PLAIN_TEST(launches_are_numbered_from_0)
{
    pdl_timeline *timeline = make();
    assert_int_equal(add_launch(timeline, "fc1", "a"), 0);
    assert_int_equal(add_launch(timeline, "fc1", "b"), 1);
    assert_int_equal(add_launch(timeline, "fc2", NULL), 2);
}

PLAIN_TEST(an_empty_timeline_comes_to_nothing)
{
    pdl_timeline *timeline = make();
    const pdl_timeline_summary summary = sum_up(timeline, NULL);
    const pdl_timeline_summary expected = PDL_TIMELINE_SUMMARY_INIT;
    assert_memory_equal(&summary, &expected, sizeof(summary));
}

PLAIN_TEST(time_in_waits_is_the_mean_of_a_launchs_blocks_of_which_one_does_not_wait)
{
    pdl_timeline *timeline = make();
    const uint32_t first = add_launch(timeline, "fc1", "s");
    const uint32_t second = add_launch(timeline, "fc2", "s");
    add_waiting(timeline, first, 0, 10, 30, 100);
    add_waiting(timeline, first, 0, 10, 50, 100);
    add_waiting(timeline, second, 0, 10, 100, 100);
    add_waiting(timeline, second, 0, NONE, NONE, 100);
    const pdl_timeline_summary summary = sum_up(timeline, "s");
    assert_int_equal(summary.blocks, 4);
    assert_int_equal(summary.overlap_ns, 100);
    assert_true(summary.overlap_share == 1);
    assert_int_equal(summary.blocked_ns, 75);
}

PLAIN_TEST(tracks_are_summed_up_alone_or_together)
{
    pdl_timeline *timeline = make();
    add_block(timeline, add_launch(timeline, "fc1", "a"), 0, 0, 100);
    add_block(timeline, add_launch(timeline, "fc1", "b"), 1, 50, 200);
    assert_int_equal(sum_up(timeline, "a").span_ns, 100);
    assert_int_equal(sum_up(timeline, "b").span_ns, 150);
    assert_int_equal(sum_up(timeline, NULL).span_ns, 200);
    assert_int_equal(sum_up(timeline, NULL).overlap_ns, 50);
    assert_true(sum_up(timeline, "a").sm_share == 0.5); /* of the SMs that either used */
}

PLAIN_TEST(lost_blocks_add_up_and_do_not_wrap)
{
    pdl_timeline *timeline = make();
    pdl_timeline_add_lost(timeline, 3);
    pdl_timeline_add_lost(timeline, 4);
    assert_int_equal(sum_up(timeline, NULL).lost, 7);
    pdl_timeline_add_lost(timeline, UINT64_MAX);
    assert_true(sum_up(timeline, NULL).lost == UINT64_MAX);
    pdl_timeline_add_lost(NULL, 1);
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

PLAIN_TEST(any_times_come_to_what_counting_them_says)
{
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
        unsigned launches = 0;
        for (unsigned i = 0; i < LAUNCHES; i++) {
            launches += to[i] >= 0;
        }
        assert_int_equal(summary.launches, launches); /* those with blocks */
        assert_int_equal(summary.span_ns, last - first);
        assert_int_equal(summary.summed_ns, summed);
        assert_int_equal(summary.busy_ns, busy);
        assert_int_equal(summary.overlap_ns, shared);
        assert_int_equal(summary.gap_ns, gap);
        if (last > first) {
            const double share = (double)on_sms / (double)(last - first) / sms;
            assert_true(summary.sm_share > share - 1e-9 && summary.sm_share < share + 1e-9);
        }
        drop(timeline);
    }
}

/* ---- what it does not take -------------------------------------------------------------------- */

PLAIN_TEST(a_launch_needs_a_name_and_a_place_for_its_number)
{
    pdl_timeline *timeline = make();
    uint32_t launch = 77;
    assert_invalid(pdl_timeline_create(NULL), "timeline", "NULL");
    assert_invalid(pdl_timeline_add_launch(NULL, "k", "t", &launch), "timeline", "NULL");
    assert_invalid(pdl_timeline_add_launch(timeline, NULL, "t", &launch), "kernel", "name");
    assert_invalid(pdl_timeline_add_launch(timeline, "", "t", &launch), "kernel", "name");
    assert_invalid(pdl_timeline_add_launch(timeline, "k", "t", NULL), "launch", "NULL");
    assert_int_equal(launch, 77);
    pdl_timeline_destroy(NULL);
}

PLAIN_TEST(stamps_that_cannot_be_are_refused)
{
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
        assert_invalid(pdl_timeline_add_block(timeline, &cases[i].block), cases[i].field,
                       cases[i].word);
    }
    assert_int_equal(sum_up(timeline, NULL).blocks, 0);
}

PLAIN_TEST(the_widest_times_do_not_overflow)
{
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
}

PLAIN_TEST(a_summary_needs_a_track_and_a_place)
{
    pdl_timeline *timeline = make();
    pdl_timeline_summary summary = PDL_TIMELINE_SUMMARY_INIT;
    add_launch(timeline, "k", "here");
    assert_refused(pdl_timeline_summarize(timeline, "there", &summary), PDL_ERROR_NOT_FOUND,
                   "track", "there");
    assert_invalid(pdl_timeline_summarize(timeline, NULL, NULL), "summary", "NULL");
}

PLAIN_TEST(what_cannot_be_written_is_refused)
{
    pdl_timeline *timeline = make();
    assert_invalid(pdl_timeline_write(timeline, PDL_TIMELINE_TEXT, NULL, 0), "path", "path");
    assert_invalid(pdl_timeline_write(timeline, (pdl_timeline_format)4, "/dev/null", 0), "format",
                   "4");
    assert_invalid(pdl_timeline_write(timeline, (pdl_timeline_format)0, "/dev/null", 0), "format",
                   "0");
    assert_invalid(pdl_timeline_write(timeline, PDL_TIMELINE_TEXT, "/dev/null", 71), "columns",
                   "71");
    assert_invalid(pdl_timeline_write(timeline, PDL_TIMELINE_TEXT, "/dev/null", 401), "columns",
                   "401");
    assert_refused(pdl_timeline_write(timeline, PDL_TIMELINE_SVG, "/nowhere/at/all", 0),
                   PDL_ERROR_FILE, "path", "/nowhere/at/all");
    assert_invalid(pdl_timeline_add_note(timeline, NULL), "note", "note");
}

PLAIN_TEST(a_full_disk_is_told)
{
    pdl_timeline *timeline = make();
    if (access("/dev/full", W_OK) != 0) {
        print_message("there is no /dev/full\n");
    } else {
        assert_refused(pdl_timeline_write(timeline, PDL_TIMELINE_TRACE, "/dev/full", 0),
                       PDL_ERROR_FILE, "path", "/dev/full");
    }
}
