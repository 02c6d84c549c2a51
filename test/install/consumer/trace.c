/* SPDX-License-Identifier: MIT */
/* Writes a timeline as text, which needs no driver, and asks for a trace, which does. Takes the name
 * of the status that the driver's loading must come to. C99 and C++11. */
#include <pdl/trace.h>
#include <stdio.h>
#include <string.h>

static int failed(const char *what)
{
    printf("%s: %s\n", what, pdl_last_error()->message);
    return 1;
}

static int write_timeline(void)
{
    pdl_timeline *timeline = NULL;
    pdl_timeline_block block;
    pdl_status status = pdl_timeline_create(&timeline);
    memset(&block, 0, sizeof(block));
    block.wait_ns = block.waited_ns = block.triggered_ns = PDL_TIMELINE_NONE;
    block.end_ns = 2000;
    if (status == PDL_SUCCESS) {
        status = pdl_timeline_add_launch(timeline, "fc1", NULL, &block.launch);
    }
    if (status == PDL_SUCCESS) {
        status = pdl_timeline_add_block(timeline, &block);
    }
    if (status == PDL_SUCCESS) {
        status = pdl_timeline_write(timeline, PDL_TIMELINE_TEXT, "-", 0);
    }
    pdl_timeline_destroy(timeline);
    return status == PDL_SUCCESS ? 0 : failed("no timeline");
}

int main(int argc, char **argv)
{
    pdl_trace *trace = NULL;
    const char *status = pdl_status_name(pdl_trace_create(1, &trace));
    const char *expected = argc == 2 ? argv[1] : "";
    pdl_trace_destroy(trace);
    if (strcmp(expected, "SUCCESS") == 0) {
        expected = "NO_CONTEXT"; /* the driver is good, and this program makes no context */
    }
    return strcmp(status, expected) != 0 ? failed(status) : write_timeline();
}
