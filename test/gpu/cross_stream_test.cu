/* SPDX-License-Identifier: MIT */
/* Two streams with an event that the launch in the first one records: what overlaps when the
 * streams run, what overlaps once they are captured into a graph, and what the wait in the second
 * kernel covers. */
#include "graph_test.cuh"

static const unsigned value = 2718;
static const int repeats = 10;

enum event_kind { TRIGGER, TRIGGER_AT_BLOCK_START, LAUNCH };

struct fixture {
    cudaStream_t stream;
    cudaStream_t other;
    pair_record *pair;
    struct CUevent_st *event;
    cudaEvent_t join;
    pdl_kernel *first;
    pdl_kernel *second;
};

static fixture fix;

static int set_up(void **)
{
    assert_cuda(cudaStreamCreateWithFlags(&fix.stream, cudaStreamNonBlocking));
    assert_cuda(cudaStreamCreateWithFlags(&fix.other, cudaStreamNonBlocking));
    assert_cuda(cudaMalloc(&fix.pair, sizeof(*fix.pair)));
    assert_cuda(cudaEventCreateWithFlags(&fix.event, cudaEventDisableTiming));
    assert_cuda(cudaEventCreateWithFlags(&fix.join, cudaEventDisableTiming));
    assert_pdl(pdl_kernel_from_symbol(pair_produce, &fix.first));
    assert_pdl(pdl_kernel_from_symbol(pair_consume, &fix.second));
    return 0;
}

static int tear_down(void **)
{
    assert_cuda(cudaDeviceSynchronize());
    pdl_kernel_destroy(fix.second);
    pdl_kernel_destroy(fix.first);
    assert_cuda(cudaEventDestroy(fix.join));
    (void)cudaEventDestroy(fix.event);
    assert_cuda(cudaFree(fix.pair));
    assert_cuda(cudaStreamDestroy(fix.other));
    assert_cuda(cudaStreamDestroy(fix.stream));
    return 0;
}

/* The first kernel in one stream, the second one in the other after the event; the first stream
 * then waits for the second kernel. */
static void launch_both(event_kind kind, pdl_overlap overlap)
{
    pdl_launch_desc first = pdl_launch_desc_make(1, 1, 0, fix.stream);
    const pdl_launch_desc second = pdl_launch_desc_make(1, 1, 0, fix.other, overlap);
    if (kind == LAUNCH) {
        first.launch_event = fix.event;
    } else {
        first.trigger_event = fix.event;
        first.trigger_at_block_start = kind == TRIGGER_AT_BLOCK_START;
    }
    assert_pdl(pdl_launch(fix.first, &first, PDL_ARGS(fix.pair, value)));
    assert_cuda(cudaStreamWaitEvent(fix.other, fix.event, 0));
    assert_pdl(pdl_launch(fix.second, &second, PDL_ARGS(fix.pair)));
    assert_cuda(cudaEventRecord(fix.join, fix.other));
    assert_cuda(cudaStreamWaitEvent(fix.stream, fix.join, 0));
}

struct tally {
    int overlapped;
    int stale;
};

static tally count_runs(const std::vector<pair_record> &runs, const char *what)
{
    tally sum = {0, 0};
    for (const pair_record &run : runs) {
        assert_ran(run, value);
        sum.overlapped += overlapped(run);
        sum.stale += run.seen != value;
    }
    print_message("%s: %d of %zu overlapped, %d read a stale value\n", what, sum.overlapped,
                  runs.size(), sum.stale);
    return sum;
}

static tally run_eager(event_kind kind, pdl_overlap overlap, const char *what)
{
    const auto launch = [kind, overlap] { launch_both(kind, overlap); };
    (void)run_pairs(fix.stream, fix.pair, 1, launch); /* loads the kernels */
    return count_runs(run_pairs(fix.stream, fix.pair, repeats, launch), what);
}

static tally run_captured(event_kind kind, pdl_overlap overlap, const char *what)
{
    cudaGraph_t graph = nullptr;
    assert_cuda(cudaStreamBeginCapture(fix.stream, cudaStreamCaptureModeThreadLocal));
    launch_both(kind, overlap);
    assert_cuda(cudaStreamEndCapture(fix.stream, &graph));
    for (const graph_edge &edge : edges_of(graph)) {
        print_message("%s: edge of type %d from port %d\n", what, static_cast<int>(edge.data.type),
                      static_cast<int>(edge.data.from_port));
    }
    const tally sum = count_runs(replay_pairs(graph, fix.stream, fix.pair), what);
    assert_cuda(cudaGraphDestroy(graph));
    return sum;
}

/* ---- programmatic events -------------------------------------------------------------------- */

/* Whether they overlap when they run is the driver's affair; nothing stale may be read. */
static void a_trigger_event_between_running_streams_is_covered_by_the_wait(void **)
{
    assert_int_equal(run_eager(TRIGGER, PDL_OVERLAP_NONE, "trigger event, running").stale, 0);
    assert_int_equal(
        run_eager(TRIGGER, PDL_OVERLAP_AUTO, "trigger event, running, second with overlap").stale,
        0);
}

static void a_trigger_event_at_block_start_between_running_streams_is_covered_by_the_wait(void **)
{
    assert_int_equal(
        run_eager(TRIGGER_AT_BLOCK_START, PDL_OVERLAP_NONE, "trigger at block start, running")
            .stale,
        0);
    assert_int_equal(run_eager(TRIGGER_AT_BLOCK_START, PDL_OVERLAP_AUTO,
                               "trigger at block start, running, second with overlap")
                         .stale,
                     0);
}

static void a_captured_trigger_event_overlaps_and_is_covered_by_the_wait(void **)
{
    const tally sum = run_captured(TRIGGER, PDL_OVERLAP_NONE, "trigger event, captured");
    assert_int_equal(sum.stale, 0);
    assert_if_concurrent(sum.overlapped == 5);
}

static void a_captured_trigger_event_at_block_start_overlaps_and_is_covered_by_the_wait(void **)
{
    const tally sum =
        run_captured(TRIGGER_AT_BLOCK_START, PDL_OVERLAP_NONE, "trigger at block start, captured");
    assert_int_equal(sum.stale, 0);
    assert_if_concurrent(sum.overlapped == 5);
}

static void the_seconds_own_overlap_does_not_uncover_a_captured_trigger_event(void **)
{
    assert_int_equal(
        run_captured(TRIGGER, PDL_OVERLAP_AUTO, "trigger event, captured, second with overlap")
            .stale,
        0);
    assert_int_equal(run_captured(TRIGGER_AT_BLOCK_START, PDL_OVERLAP_AUTO,
                                  "trigger at block start, captured, second with overlap")
                         .stale,
                     0);
}

/* ---- launch-completion events --------------------------------------------------------------- */

static void a_launch_event_between_running_streams_overlaps_and_the_wait_does_not_cover_it(void **)
{
    const tally sum = run_eager(LAUNCH, PDL_OVERLAP_NONE, "launch event, running");
    assert_if_concurrent(sum.overlapped == repeats);
    assert_if_concurrent(sum.stale == repeats);
}

static void a_captured_launch_event_overlaps_and_the_wait_does_not_cover_it(void **)
{
    const tally sum = run_captured(LAUNCH, PDL_OVERLAP_NONE, "launch event, captured");
    assert_if_concurrent(sum.overlapped == 5);
    assert_if_concurrent(sum.stale == 5);
}

/* What an overlap of the second kernel adds to a launch event is not documented: it is shown, and
 * both must run. */
static void a_launch_event_with_an_overlapping_second_kernel_runs_both(void **)
{
    (void)run_eager(LAUNCH, PDL_OVERLAP_AUTO, "launch event, running, second with overlap");
    (void)run_captured(LAUNCH, PDL_OVERLAP_AUTO, "launch event, captured, second with overlap");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main()
{
    const struct CMUnitTest tests[] = {
        TEST(a_trigger_event_between_running_streams_is_covered_by_the_wait),
        TEST(a_trigger_event_at_block_start_between_running_streams_is_covered_by_the_wait),
        TEST(a_captured_trigger_event_overlaps_and_is_covered_by_the_wait),
        TEST(a_captured_trigger_event_at_block_start_overlaps_and_is_covered_by_the_wait),
        TEST(the_seconds_own_overlap_does_not_uncover_a_captured_trigger_event),
        TEST(a_launch_event_between_running_streams_overlaps_and_the_wait_does_not_cover_it),
        TEST(a_captured_launch_event_overlaps_and_the_wait_does_not_cover_it),
        TEST(a_launch_event_with_an_overlapping_second_kernel_runs_both),
    };
    const int unavailable = no_device();
    return unavailable != 0 ? unavailable : cmocka_run_group_tests(tests, NULL, NULL);
}
