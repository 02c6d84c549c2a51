/* SPDX-License-Identifier: MIT */
/* Traces: the ring of launches, and what is made of the records. The kernels are played: play() does
 * what pdl/trace.cuh does on a device, and the GPU tests hold that against real kernels. */
#include <pdl/trace.h>

#include "support.h"

static int trace_setup(void **state)
{
    const int result = mock_setup(state);
    pdl_trace_driver_override(&mock.trace_table);
    return result;
}
#define TRACE_TEST(name) TEST_WITH(name, trace_setup, mock_teardown)

struct stamps {
    uint64_t start;
    uint64_t triggered;
    uint64_t wait;
    uint64_t waited;
    uint64_t end;
};

static void play(const pdl_trace_launch *launch, uint32_t block, uint32_t sm, struct stamps stamps)
{
    if (block >= launch->blocks) {
        return;
    }
    uint32_t slot = launch->first + block;
    slot = slot < launch->capacity ? slot : slot - launch->capacity;
    unsigned char *record = (unsigned char *)mock_memory(launch->records) + (size_t)slot * 48;
    memcpy(record, &stamps, sizeof(stamps));
    memcpy(record + 40, &sm, sizeof(sm));
    memcpy(record + 44, &launch->launch, sizeof(launch->launch));
}

/* All blocks of a launch, from `start` on for 1000 ns. */
static void play_all(const pdl_trace_launch *launch, uint32_t blocks, uint64_t start)
{
    for (uint32_t i = 0; i < blocks; i++) {
        play(launch, i, i, (struct stamps){.start = start + i, .end = start + 1000 + i});
    }
}

static const uint64_t epoch = 1790000000000000000u;

static void destroy_trace(void *trace)
{
    pdl_trace_destroy(trace);
}

static void destroy_timeline(void *timeline)
{
    pdl_timeline_destroy(timeline);
}

static pdl_trace *make(uint32_t capacity)
{
    pdl_trace *trace = NULL;
    assert_ok(pdl_trace_create(capacity, &trace));
    assert_non_null(trace);
    destroy_after(trace, destroy_trace);
    return trace;
}

static pdl_timeline *make_timeline(void)
{
    pdl_timeline *timeline = NULL;
    assert_ok(pdl_timeline_create(&timeline));
    destroy_after(timeline, destroy_timeline);
    return timeline;
}

static pdl_trace_launch reserve(pdl_trace *trace, const char *kernel, const char *track,
                                uint32_t blocks)
{
    pdl_trace_launch launch;
    assert_ok(pdl_trace_reserve(trace, kernel, track, blocks, &launch));
    return launch;
}

/* What a collection came to, and its timeline. */
static pdl_trace_report collect(pdl_trace *trace, pdl_timeline **out)
{
    pdl_trace_report report = PDL_TRACE_REPORT_INIT;
    pdl_timeline *timeline = make_timeline();
    pdl_timeline_summary summary = PDL_TIMELINE_SUMMARY_INIT;
    assert_ok(pdl_trace_collect(trace, timeline, &report));
    assert_ok(pdl_timeline_summarize(timeline, NULL, &summary));
    assert_int_equal(summary.blocks, report.blocks);
    assert_int_equal(summary.launches, report.launches);
    assert_int_equal(summary.lost, report.overwritten + report.unwritten + report.timer);
    if (out != NULL) {
        *out = timeline;
    }
    return report;
}

static pdl_timeline_summary sum_up(const pdl_timeline *timeline, const char *track)
{
    pdl_timeline_summary summary = PDL_TIMELINE_SUMMARY_INIT;
    assert_ok(pdl_timeline_summarize(timeline, track, &summary));
    return summary;
}

/* What the text form says. Static. */
static const char *text_of(const pdl_timeline *timeline)
{
    static char text[16384];
    char path[] = "trace-test-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_ok(pdl_timeline_write(timeline, PDL_TIMELINE_TEXT, path, 200));
    FILE *in = fdopen(file, "r");
    assert_non_null(in);
    text[fread(text, 1, sizeof(text) - 1, in)] = '\0';
    assert_int_equal(fclose(in), 0);
    assert_int_equal(remove(path), 0);
    return text;
}

/* ---- what is collected ------------------------------------------------------------------------ */

TRACE_TEST(stamps_become_a_timeline_from_the_first_start_on)
{
    pdl_timeline *timeline;
    pdl_trace *trace = make(64);
    const pdl_trace_launch first = reserve(trace, "fc1", "s", 2);
    const pdl_trace_launch second = reserve(trace, "fc2", "s", 1);
    play(&first, 0, 7, (struct stamps){.start = epoch + 10, .end = epoch + 2000});
    play(&first, 1, 8,
         (struct stamps){.start = epoch, .triggered = epoch + 900, .end = epoch + 2100});
    play(&second, 0, 7,
         (struct stamps){.start = epoch + 1000,
                         .wait = epoch + 1500,
                         .waited = epoch + 2200,
                         .end = epoch + 4000});
    const pdl_trace_report report = collect(trace, &timeline);
    assert_int_equal(report.launches, 2);
    assert_int_equal(report.blocks, 3);
    assert_int_equal(report.overwritten + report.unwritten + report.timer, 0);
    const pdl_timeline_summary summary = sum_up(timeline, "s");
    assert_int_equal(summary.span_ns, 4000);
    assert_int_equal(summary.overlap_ns, 1100);
    assert_int_equal(summary.blocked_ns, 700);
    assert_non_null(strstr(text_of(timeline), "0.90")); /* the trigger, from the first start */
}

TRACE_TEST(a_kernel_is_told_its_place_in_the_buffer)
{
    pdl_trace *trace = make(10);
    const pdl_trace_launch first = reserve(trace, "a", NULL, 6);
    const pdl_trace_launch second = reserve(trace, "b", NULL, 3);
    assert_int_equal(first.first, 0);
    assert_int_equal(first.capacity, 10);
    assert_int_equal(first.blocks, 6);
    assert_int_equal(second.first, 6);
    assert_true(first.records == second.records && first.records % 16 == 0);
    assert_int_not_equal(first.launch, 0);
    assert_int_not_equal(first.launch, second.launch);
}

TRACE_TEST(reserving_asks_the_driver_nothing)
{
    pdl_trace *trace = make(10);
    const unsigned calls = mock_total_calls();
    for (unsigned i = 0; i < 100; i++) {
        (void)reserve(trace, "a", "s", 3);
    }
    assert_int_equal(mock_total_calls(), calls);
}

TRACE_TEST(two_runs_begin_at_one_point)
{
    pdl_timeline *timeline = make_timeline();
    pdl_trace *trace = make(10);
    pdl_trace_launch launch = reserve(trace, "a", "without", 4);
    play_all(&launch, 4, epoch);
    assert_ok(pdl_trace_collect(trace, timeline, NULL));
    pdl_trace_reset(trace);
    launch = reserve(trace, "a", "with", 4);
    play_all(&launch, 4, epoch + 5000000000u);
    assert_ok(pdl_trace_collect(trace, timeline, NULL));
    assert_int_equal(sum_up(timeline, NULL).span_ns, 1003);
    assert_int_equal(sum_up(timeline, NULL).blocks, 8);
}

TRACE_TEST(a_replay_writes_over_the_one_before)
{
    pdl_timeline *timeline;
    pdl_trace *trace = make(10);
    const pdl_trace_launch launch = reserve(trace, "a", "s", 4);
    play_all(&launch, 4, epoch);
    for (uint32_t i = 0; i < 4; i++) {
        play(&launch, i, i, (struct stamps){.start = epoch + 9000, .end = epoch + 9500});
    }
    assert_int_equal(collect(trace, &timeline).blocks, 4);
    assert_int_equal(sum_up(timeline, NULL).span_ns, 500);
}

/* ---- what is lost ----------------------------------------------------------------------------- */

TRACE_TEST(the_newest_launches_take_the_place_of_the_oldest)
{
    pdl_timeline *timeline;
    pdl_trace *trace = make(10);
    for (uint32_t i = 0; i < 5; i++) { /* 20 blocks: 2.5 times as many as there is room for */
        const pdl_trace_launch launch = reserve(trace, i < 3 ? "old" : "new", "s", 4);
        play_all(&launch, 4, epoch + 2000 * i);
    }
    const pdl_trace_report report = collect(trace, &timeline);
    assert_int_equal(report.launches, 2);
    assert_int_equal(report.blocks, 8);
    assert_int_equal(report.overwritten, 12);
    assert_int_equal(report.unwritten, 0);
    const char *text = text_of(timeline);
    assert_non_null(strstr(text, "The stamps of 12 blocks were lost."));
    assert_non_null(strstr(text, "12 blocks more than the trace had room for"));
    assert_non_null(strstr(text, "new"));
    assert_null(strstr(text, "old "));
}

TRACE_TEST(a_launch_that_fills_the_buffer_is_kept)
{
    pdl_trace *trace = make(10);
    for (uint32_t i = 0; i < 3; i++) {
        const pdl_trace_launch launch = reserve(trace, "a", "s", 10);
        play_all(&launch, 10, epoch);
    }
    const pdl_trace_report report = collect(trace, NULL);
    assert_int_equal(report.blocks, 10);
    assert_int_equal(report.overwritten, 20);
}

TRACE_TEST(of_a_launch_that_is_too_large_the_first_blocks_are_kept)
{
    pdl_trace *trace = make(10);
    const pdl_trace_launch launch = reserve(trace, "a", "s", 25);
    assert_int_equal(launch.blocks, 10);
    play_all(&launch, 25, epoch);
    const pdl_trace_report report = collect(trace, NULL);
    assert_int_equal(report.blocks, 10);
    assert_int_equal(report.overwritten, 15);
}

TRACE_TEST(blocks_that_never_ran_are_counted)
{
    pdl_timeline *timeline;
    pdl_trace *trace = make(20);
    const pdl_trace_launch launch = reserve(trace, "a", "s", 6);
    (void)reserve(trace, "never launched", "s", 7);
    play_all(&launch, 4, epoch);
    const pdl_trace_report report = collect(trace, &timeline);
    assert_int_equal(report.launches, 1);
    assert_int_equal(report.blocks, 4);
    assert_int_equal(report.unwritten, 2 + 7);
    assert_non_null(strstr(text_of(timeline), "9 blocks left no stamps"));
}

TRACE_TEST(fresh_memory_is_not_taken_for_stamps)
{
    pdl_trace *trace = make(20);
    (void)reserve(trace, "a", "s", 20);
    const pdl_trace_report report = collect(trace, NULL);
    assert_int_equal(report.blocks, 0);
    assert_int_equal(report.unwritten, 20);
}

TRACE_TEST(what_was_there_before_a_reset_is_not_collected)
{
    pdl_trace *trace = make(10);
    pdl_trace_launch launch = reserve(trace, "a", "s", 4);
    play_all(&launch, 4, epoch);
    pdl_trace_reset(trace);
    (void)reserve(trace, "b", "s", 4);
    const pdl_trace_report report = collect(trace, NULL);
    assert_int_equal(report.blocks, 0);
    assert_int_equal(report.unwritten, 4);
    drop(trace);
    pdl_trace_reset(NULL);
}

/* ---- a timer that is set to another time ------------------------------------------------------- */

TRACE_TEST(a_block_that_ends_before_it_starts_is_left_out)
{
    pdl_timeline *timeline;
    pdl_trace *trace = make(10);
    const pdl_trace_launch launch = reserve(trace, "a", "s", 4);
    play_all(&launch, 4, epoch);
    play(&launch, 1, 1, (struct stamps){.start = epoch, .end = 5000});
    play(&launch, 2, 1,
         (struct stamps){.start = epoch, .wait = epoch + 9, .waited = 9, .end = epoch + 900});
    play(&launch, 3, 1, (struct stamps){.start = epoch, .triggered = 9, .end = epoch + 900});
    const pdl_trace_report report = collect(trace, &timeline);
    assert_int_equal(report.blocks, 1);
    assert_int_equal(report.timer, 3);
    assert_int_equal(sum_up(timeline, "s").span_ns, 1000);
    assert_non_null(strstr(text_of(timeline), "timer was set to an earlier time"));
}

/* ---- errors ----------------------------------------------------------------------------------- */

TRACE_TEST(missing_arguments_are_refused)
{
    pdl_trace_launch launch = {0};
    pdl_timeline *timeline = make_timeline();
    pdl_trace *trace = make(10);
    assert_invalid(pdl_trace_create(10, NULL), "trace", "NULL");
    assert_invalid(pdl_trace_create(0, &trace), "capacity", "0");
    assert_invalid(pdl_trace_create(0x80000000u, &trace), "capacity", "2147483648");
    assert_invalid(pdl_trace_reserve(NULL, "a", "s", 1, &launch), "trace", "NULL");
    assert_invalid(pdl_trace_reserve(trace, NULL, "s", 1, &launch), "kernel", "name");
    assert_invalid(pdl_trace_reserve(trace, "a", "s", 0, &launch), "blocks", "0");
    assert_invalid(pdl_trace_reserve(trace, "a", "s", 1, NULL), "launch", "NULL");
    assert_invalid(pdl_trace_collect(NULL, timeline, NULL), "trace", "NULL");
    assert_invalid(pdl_trace_collect(trace, NULL, NULL), "timeline", "NULL");
    pdl_trace_destroy(NULL);
}

TRACE_TEST(without_a_context_there_is_no_trace)
{
    pdl_trace *trace = NULL;
    mock_set_current(-1);
    assert_refused(pdl_trace_create(10, &trace), PDL_ERROR_NO_CONTEXT, NULL, "context");
    assert_null(trace);
}

TRACE_TEST(a_failed_creation_leaves_nothing)
{
    static const enum mock_entry entries[] = {MOCK_cuMemAlloc, MOCK_cuMemsetD8, MOCK_cuMemcpyDtoH};
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        pdl_trace *trace = NULL;
        mock_fail(entries[i], 1, CUDA_ERROR_OUT_OF_MEMORY);
        assert_refused(pdl_trace_create(10, &trace), PDL_ERROR_OUT_OF_MEMORY, NULL, "cuMem");
        assert_null(trace);
        assert_int_equal(mock.live_allocations, 0);
    }
}

TRACE_TEST(a_kernel_that_faulted_is_told_when_collecting)
{
    pdl_timeline *timeline = make_timeline();
    pdl_trace *trace = make(10);
    (void)reserve(trace, "a", "s", 4);
    mock_fail(MOCK_cuMemcpyDtoH, 1, CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_refused(pdl_trace_collect(trace, timeline, NULL), PDL_ERROR_DEVICE_FAULT, NULL,
                   "cuMemcpyDtoH", "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_int_equal(sum_up(timeline, NULL).lost, 0);
}

TRACE_TEST(a_trace_is_collected_from_any_context)
{
    pdl_trace *trace = make(10);
    const pdl_trace_launch launch = reserve(trace, "a", "s", 4);
    play_all(&launch, 4, epoch);
    mock_set_current(-1);
    assert_int_equal(collect(trace, NULL).blocks, 4);
    drop(trace);
    assert_int_equal(mock.live_allocations, 0);
}
