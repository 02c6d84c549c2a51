/* SPDX-License-Identifier: MIT */
/* Whether launches overlap in a stream, by the clock of the device, and with an event that the launch in the first of two
 * streams records: what overlaps when the streams run, and once they are captured into a graph, and what the wait in the
 * second kernel covers. */
#include "graph_test.cuh"

static const unsigned value = 2718;

/* ---- one stream ----------------------------------------------------------------------------- */

enum kernel_name { WAITS, DECLARED_NOT_TO_WAIT, CODE_FOR_80 };

static pdl_kernel *named_kernel(kernel_name name)
{
    pdl_kernel *const kernel =
        name == CODE_FOR_80 ? kernel_of(second_for_80()) : kernel_of(pair_consume);
    if (name == DECLARED_NOT_TO_WAIT) {
        assert_pdl(pdl_kernel_declare(kernel, PDL_NO, PDL_UNKNOWN));
    }
    return kernel;
}

static const struct {
    const char *name;
    kernel_name kernel;
    pdl_overlap overlap;
    bool overlaps;
} launches[] = {
    {"AUTO starts the second kernel before the first has ended", WAITS, PDL_OVERLAP_AUTO, true},
    {"REQUIRE does so", WAITS, PDL_OVERLAP_REQUIRE, true},
    {"NONE does not", WAITS, PDL_OVERLAP_NONE, false},
    {"AUTO does not where a kernel is declared not to wait", DECLARED_NOT_TO_WAIT, PDL_OVERLAP_AUTO,
     false},
    {"AUTO does not where the code is for 8.0", CODE_FOR_80, PDL_OVERLAP_AUTO, false},
};

TEST_ROWS(a_launch, launches)
{
    pdl_kernel *const kernel = named_kernel(row.kernel);
    const auto launch = [&] {
        launch_first(value);
        launch_second(row.overlap, kernel);
    };
    (void)run_pairs(1, launch); /* loads the kernels */
    for (const pair_record &run : run_pairs(10, launch)) {
        assert_ran(run, value);
        assert_if_concurrent(overlapped(run) == row.overlaps);
        assert_true(run.times.second_after_wait >= run.times.first_end);
        assert_true(row.kernel == CODE_FOR_80 || covered(run));
    }
}

TEST(what_is_told_of_code_for_9_0_and_for_8_0)
{
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    pdl_kernel *const old_code = kernel_of(second_for_80());
    const pdl_launch_desc desc = desc_with(PDL_OVERLAP_AUTO, stream);
    assert_pdl(pdl_kernel_get(consumer, -1, &info));
    assert_int_equal(info.ptx_version, 90);
    assert_int_equal(info.can_overlap, 1);
    assert_int_equal(info.overlap_reason, PDL_REASON_GRANTED);
    assert_pdl(pdl_kernel_get(old_code, -1, &info));
    assert_int_equal(info.ptx_version, 80);
    assert_true(info.binary_version >= 90);
    assert_int_equal(info.can_overlap, 0);
    assert_int_equal(info.overlap_reason, PDL_REASON_CODE);
    assert_pdl(pdl_launch_explain(old_code, &desc, &report));
    assert_int_equal(report.overlap_reason, PDL_REASON_CODE);
    assert_int_equal(report.attribute_count, 0);
    assert_refused(
        pdl_launch(old_code, desc_with(PDL_OVERLAP_REQUIRE, stream), PDL_ARGS(pair_memory)),
        PDL_ERROR_OVERLAP, "overlap");
}

/* ---- two streams ---------------------------------------------------------------------------- */

enum event_kind { TRIGGER, TRIGGER_AT_BLOCK_START, LAUNCH };

static struct CUevent_st *event, *join;

/* The first kernel in one stream, the second one in the other after the event; the first stream
 * then waits for the second kernel. */
static void launch_both(event_kind kind, pdl_overlap overlap)
{
    pdl_launch_desc first = desc_with(PDL_OVERLAP_NONE, stream);
    if (kind == LAUNCH) {
        first.launch_event = event;
    } else {
        first.trigger_event = event;
        first.trigger_at_block_start = kind == TRIGGER_AT_BLOCK_START;
    }
    assert_pdl(pdl_launch(producer, &first, PDL_ARGS(pair_memory, value)));
    assert_cuda(cudaStreamWaitEvent(other_stream, event, 0));
    launch_second(overlap, consumer, other_stream);
    assert_cuda(cudaEventRecord(join, other_stream));
    assert_cuda(cudaStreamWaitEvent(stream, join, 0));
}

enum answer { NO, YES, EITHER }; /* of every run */

/* Whether kernels of running streams overlap is the driver's affair where an event triggers, and what an overlap of the
 * second kernel adds to a launch event is not documented. Nothing stale may be read behind a trigger. */
static const struct {
    const char *name;
    event_kind kind;
    pdl_overlap overlap; /* of the second kernel */
    bool captured;
    answer overlaps, stale;
} crossings[] = {
    {"a trigger event, running", TRIGGER, PDL_OVERLAP_NONE, false, EITHER, NO},
    {"a trigger event, running, second with overlap", TRIGGER, PDL_OVERLAP_AUTO, false, EITHER, NO},
    {"a trigger at block start, running", TRIGGER_AT_BLOCK_START, PDL_OVERLAP_NONE, false, EITHER,
     NO},
    {"a trigger at block start, running, second with overlap", TRIGGER_AT_BLOCK_START,
     PDL_OVERLAP_AUTO, false, EITHER, NO},
    {"a trigger event, captured", TRIGGER, PDL_OVERLAP_NONE, true, YES, NO},
    {"a trigger event, captured, second with overlap", TRIGGER, PDL_OVERLAP_AUTO, true, EITHER, NO},
    {"a trigger at block start, captured", TRIGGER_AT_BLOCK_START, PDL_OVERLAP_NONE, true, YES, NO},
    {"a trigger at block start, captured, second with overlap", TRIGGER_AT_BLOCK_START,
     PDL_OVERLAP_AUTO, true, EITHER, NO},
    {"a launch event, running", LAUNCH, PDL_OVERLAP_NONE, false, YES, YES},
    {"a launch event, captured", LAUNCH, PDL_OVERLAP_NONE, true, YES, YES},
    {"a launch event, running, second with overlap", LAUNCH, PDL_OVERLAP_AUTO, false, EITHER,
     EITHER},
    {"a launch event, captured, second with overlap", LAUNCH, PDL_OVERLAP_AUTO, true, EITHER,
     EITHER},
};

TEST_ROWS(an_event_between_streams, crossings)
{
    event = new_event();
    join = new_event();
    std::vector<pair_record> runs;
    const auto launch = [&] { launch_both(row.kind, row.overlap); };
    if (row.captured) {
        const cudaGraph_t graph = capture(launch);
        for (const graph_edge &edge : edges_of(graph)) {
            print_message("edge of type %d from port %d\n", static_cast<int>(edge.data.type),
                          static_cast<int>(edge.data.from_port));
        }
        runs = replay_pairs(graph);
    } else {
        (void)run_pairs(1, launch); /* loads the kernels */
        runs = run_pairs(10, launch);
    }
    size_t early = 0, stale = 0;
    for (const pair_record &run : runs) {
        assert_ran(run, value);
        early += overlapped(run);
        stale += run.seen != value;
    }
    print_message("%zu of %zu overlapped, %zu read a stale value\n", early, runs.size(), stale);
    assert_if_concurrent(row.overlaps == EITHER || early == runs.size());
    assert_true(row.stale != NO || stale == 0);
    assert_if_concurrent(row.stale != YES || stale == runs.size());
}

int main()
{
    return run_gpu_tests(set_up);
}
