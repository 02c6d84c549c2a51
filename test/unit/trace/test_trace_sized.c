/* SPDX-License-Identifier: MIT */
/* The rule of structs that begin with their size, for those that libpdl-trace fills: see sized.h. */
#include <pdl/trace.h>

#include "sized.h"

static pdl_trace *trace;
static pdl_timeline *timeline;

static pdl_status fill_report(void *to)
{
    pdl_timeline *collected = NULL;
    assert_ok(pdl_timeline_create(&collected));
    const pdl_status status = pdl_trace_collect(trace, collected, to);
    pdl_timeline_destroy(collected);
    return status;
}

static pdl_status fill_summary(void *to)
{
    return pdl_timeline_summarize(timeline, NULL, to);
}

const struct sized_output sized_outputs[] = {
    {"pdl_trace_collect", fill_report, sizeof(pdl_trace_report), 4},
    {"pdl_timeline_summarize", fill_summary, sizeof(pdl_timeline_summary), 4},
};
const size_t sized_output_count = COUNT_OF(sized_outputs);

static int setup(void **state)
{
    uint32_t launch = 0;
    const pdl_timeline_block block = {.sm = 3,
                                      .start_ns = 5,
                                      .wait_ns = PDL_TIMELINE_NONE,
                                      .waited_ns = PDL_TIMELINE_NONE,
                                      .triggered_ns = PDL_TIMELINE_NONE,
                                      .end_ns = 9};
    (void)mock_setup(state);
    pdl_trace_driver_override(&mock.trace_table);
    assert_ok(pdl_trace_create(4, &trace));
    assert_ok(pdl_timeline_create(&timeline));
    assert_ok(pdl_timeline_add_launch(timeline, "k", "track", &launch));
    assert_ok(pdl_timeline_add_block(timeline, &block));
    return 0;
}

static int teardown(void **state)
{
    pdl_timeline_destroy(timeline);
    pdl_trace_destroy(trace);
    return mock_teardown(state);
}

SIZED_TESTS(setup, teardown)
