/* SPDX-License-Identifier: MIT */
/* Timelines with many of a thing: four times as many take about four times as long. */
#include <stdio.h>
#include <time.h>

#include <pdl/timeline.h>

#include "support.h"

#define NONE PDL_TIMELINE_NONE

/* What there is many of. */
enum many { TRACKS, KERNELS, SMS, LANES, BLOCKS };

static pdl_timeline *make(enum many many, unsigned count)
{
    pdl_timeline *timeline = NULL;
    uint32_t launch = 0;
    assert_ok(pdl_timeline_create(&timeline));
    for (unsigned i = 0; i < count; i++) {
        char kernel[32];
        char track[32];
        (void)snprintf(kernel, sizeof(kernel), "kernel%u", many == KERNELS ? i : 0);
        (void)snprintf(track, sizeof(track), "track%u", many == TRACKS ? i : 0);
        if (many != BLOCKS || i == 0) {
            assert_ok(pdl_timeline_add_launch(timeline, kernel, track, &launch));
        }
        const int64_t start = (int64_t)i * 10;
        const pdl_timeline_block block = {
            .launch = launch,
            .sm = many == SMS ? count - i : i % 8,
            .start_ns = start,
            .wait_ns = NONE,
            .waited_ns = NONE,
            .triggered_ns = NONE,
            .end_ns = start + (many == LANES ? (int64_t)count * 10 : 20),
        };
        assert_ok(pdl_timeline_add_block(timeline, &block));
    }
    return timeline;
}

static double seconds_of(enum many many, unsigned count)
{
    const clock_t begin = clock(); /* of this process: others on the machine do not count */
    pdl_timeline *timeline = make(many, count);
    for (int format = PDL_TIMELINE_TEXT; format <= PDL_TIMELINE_TRACE; format++) {
        assert_ok(pdl_timeline_write(timeline, (pdl_timeline_format)format, "/dev/null", 0));
    }
    for (unsigned i = 0; many == TRACKS && i < count; i++) {
        char track[32];
        pdl_timeline_summary summary = PDL_TIMELINE_SUMMARY_INIT;
        (void)snprintf(track, sizeof(track), "track%u", i);
        assert_ok(pdl_timeline_summarize(timeline, track, &summary));
    }
    pdl_timeline_destroy(timeline);
    return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

static void grows_as_the_size(enum many many, unsigned count)
{
    double once = 0;
    double four_times = 0;
    for (int attempt = 0; attempt < 3; attempt++) {
        once = seconds_of(many, count);
        four_times = seconds_of(many, 4 * count);
        if (four_times < 8 * once + 0.1) {
            return;
        }
    }
    fail_msg("%u take %.3f s, and %u take %.3f s", count, once, 4 * count, four_times);
}

PLAIN_TEST(time_grows_as_the_number_of_tracks)
{
    grows_as_the_size(TRACKS, 1000);
}

PLAIN_TEST(time_grows_as_the_number_of_kernels)
{
    grows_as_the_size(KERNELS, 8000);
}

PLAIN_TEST(time_grows_as_the_number_of_sms)
{
    grows_as_the_size(SMS, 8000);
}

PLAIN_TEST(time_grows_as_the_number_of_launches_at_once)
{
    grows_as_the_size(LANES, 20000);
}

PLAIN_TEST(time_grows_as_the_number_of_blocks)
{
    grows_as_the_size(BLOCKS, 10000);
}
