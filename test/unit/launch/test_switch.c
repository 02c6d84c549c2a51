/* SPDX-License-Identifier: MIT */
/* Overlap turned off and on at run time, for the process and for a kernel, and the log of decisions. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph_support.h"

static pdl_reason reason_of(pdl_kernel *kernel)
{
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    pdl_launch_desc desc = plain_desc();
    desc.overlap = PDL_OVERLAP_AUTO;
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_ok(pdl_launch_explain(kernel, &desc, &report));
    assert_int_equal(mock_last_launch()->attribute_count, report.overlap);
    return (pdl_reason)report.overlap_reason;
}

static void a_reason_is_not_taken_for_a_mode(void **state)
{
    (void)state;
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    for (int reason = PDL_REASON_GRANTED; reason <= PDL_REASON_RACE; reason++) {
        pdl_launch_desc desc = plain_desc();
        desc.overlap = (uint32_t)reason;
        assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_DESC_FIELD, "overlap", "overlap");
    }
    pdl_kernel_destroy(kernel);
}

static void the_process_turns_overlap_off_and_on(void **state)
{
    (void)state;
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        pdl_kernel *kernel = make_kernel((enum kernel_source)source, 0);
        pdl_device_info device = PDL_DEVICE_INFO_INIT;
        pdl_launch_desc desc = plain_desc();
        assert_int_equal(reason_of(kernel), PDL_REASON_GRANTED);
        pdl_overlap_enable(0);
        assert_int_equal(reason_of(kernel), PDL_REASON_DISABLED);
        desc.overlap = PDL_OVERLAP_REQUIRE;
        assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_OVERLAP, "overlap",
                       "pdl_overlap_enable");
        assert_ok(pdl_device_get(0, &device));
        assert_int_equal(device.overlap_reason, PDL_REASON_DISABLED);
        assert_int_equal(device.can_overlap, 0);
        pdl_overlap_enable(1);
        assert_int_equal(reason_of(kernel), PDL_REASON_GRANTED);
        assert_ok(pdl_device_get(0, &device));
        assert_int_equal(device.can_overlap, 1);
        pdl_kernel_destroy(kernel);
    }
}

static void what_the_environment_turned_off_stays_off(void **state)
{
    (void)state;
    mock.table.overlap_disabled = true;
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    pdl_overlap_enable(1);
    assert_int_equal(reason_of(kernel), PDL_REASON_DISABLED);
    assert_ok(pdl_kernel_enable_overlap(kernel, 1));
    assert_int_equal(reason_of(kernel), PDL_REASON_DISABLED);
    pdl_kernel_destroy(kernel);
}

static void one_kernel_is_turned_off_and_the_others_stay(void **state)
{
    (void)state;
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    pdl_kernel *other = make_kernel(FROM_FUNCTION, 1);
    assert_ok(pdl_kernel_enable_overlap(kernel, 0)); /* before anything is known of it */
    assert_int_equal(reason_of(kernel), PDL_REASON_KERNEL);
    assert_int_equal(reason_of(other), PDL_REASON_GRANTED);
    assert_ok(pdl_kernel_enable_overlap(kernel, 1));
    assert_int_equal(reason_of(kernel), PDL_REASON_GRANTED);
    assert_ok(pdl_kernel_enable_overlap(kernel, 0));
    assert_int_equal(reason_of(kernel), PDL_REASON_KERNEL);
    assert_ok(pdl_kernel_declare(kernel, PDL_NO, PDL_UNKNOWN));
    assert_int_equal(reason_of(kernel), PDL_REASON_KERNEL);
    assert_ok(pdl_kernel_enable_overlap(kernel, 1));
    assert_int_equal(reason_of(kernel), PDL_REASON_NO_WAIT);
    assert_refused(pdl_kernel_enable_overlap(NULL, 1), PDL_ERROR_INVALID_ARGUMENT, "kernel", "");
    pdl_kernel_destroy(kernel);
    pdl_kernel_destroy(other);
}

/* ---- the log, whose file main() names ------------------------------------------------------- */

static char log_path[64];
static long log_seen;

/* The lines since the last call: how many, and the last one. */
static int log_lines(char *last, size_t size)
{
    int count = 0;
    FILE *from = fopen(log_path, "r");
    last[0] = '\0';
    if (from == NULL) {
        return 0;
    }
    assert_int_equal(fseek(from, log_seen, SEEK_SET), 0);
    while (fgets(last, (int)size, from) != NULL) {
        count++;
    }
    log_seen = ftell(from);
    (void)fclose(from);
    return count;
}

static void the_log_has_the_first_decision_and_every_change(void **state)
{
    (void)state;
    char line[1200];
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    (void)log_lines(line, sizeof(line));
    for (int i = 0; i < 3; i++) {
        (void)reason_of(kernel);
    }
    assert_int_equal(log_lines(line, sizeof(line)), 1);
    assert_non_null(strstr(line, "device 0, kernel fc1: overlaps\n"));
    assert_ok(pdl_kernel_enable_overlap(kernel, 0));
    (void)reason_of(kernel);
    (void)reason_of(kernel);
    assert_int_equal(log_lines(line, sizeof(line)), 1);
    assert_non_null(strstr(line, "kernel fc1: now does not overlap: "));
    assert_non_null(strstr(line, pdl_reason_string(PDL_REASON_KERNEL)));
    assert_ok(pdl_kernel_enable_overlap(kernel, 1));
    (void)reason_of(kernel);
    assert_int_equal(log_lines(line, sizeof(line)), 1);
    assert_non_null(strstr(line, "kernel fc1: now overlaps\n"));
    pdl_kernel_destroy(kernel);
}

static void what_may_not_wait_is_logged_with_what_to_do(void **state)
{
    (void)state;
    char line[1200];
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    assert_ok(pdl_kernel_declare(kernel, PDL_UNKNOWN, PDL_UNKNOWN));
    (void)log_lines(line, sizeof(line));
    assert_int_equal(reason_of(kernel), PDL_REASON_WAITS_UNKNOWN);
    assert_int_equal(reason_of(kernel), PDL_REASON_WAITS_UNKNOWN);
    assert_int_equal(log_lines(line, sizeof(line)), 1);
    assert_non_null(strstr(line, "kernel fc1: does not overlap: "));
    assert_non_null(strstr(line, pdl_reason_string(PDL_REASON_WAITS_UNKNOWN)));
    assert_non_null(strstr(line, "pdl_kernel_from_function_image()"));
    assert_non_null(strstr(line, "pdl_kernel_declare(kernel, PDL_YES, ...)"));
    assert_ok(pdl_kernel_declare(kernel, PDL_NO, PDL_UNKNOWN));
    assert_int_equal(reason_of(kernel), PDL_REASON_NO_WAIT);
    assert_int_equal(log_lines(line, sizeof(line)), 1);
    assert_non_null(strstr(line, "now does not overlap: "));
    assert_non_null(strstr(line, "the next wait"));
    assert_ok(pdl_kernel_declare(kernel, PDL_YES, PDL_UNKNOWN));
    assert_int_equal(reason_of(kernel), PDL_REASON_GRANTED);
    assert_int_equal(log_lines(line, sizeof(line)), 1);
    assert_non_null(strstr(line, "now overlaps\n"));
    pdl_kernel_destroy(kernel);
}

/* Which only `overlap` may ask for: else the log would deny what the launch does. */
static void the_attribute_in_extra_attributes_is_refused_and_not_logged(void **state)
{
    (void)state;
    char line[1200];
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    (void)log_lines(line, sizeof(line));
    for (uint32_t overlap = PDL_OVERLAP_NONE; overlap <= PDL_OVERLAP_CAPTURE; overlap++) {
        for (int value = 0; value < 2; value++) {
            pdl_launch_desc desc = plain_desc();
            attribute.value.programmaticStreamSerializationAllowed = value;
            desc.overlap = overlap;
            desc.extra_attributes = &attribute;
            desc.extra_attribute_count = 1;
            assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_DESC_FIELD,
                           "extra_attributes", "PROGRAMMATIC_STREAM_SERIALIZATION",
                           "field overlap");
        }
    }
    assert_int_equal(mock.launch_count, 0);
    assert_int_equal(log_lines(line, sizeof(line)), 0);
    pdl_kernel_destroy(kernel);
}

/* What a launch with PDL_OVERLAP_NONE becomes behind a trigger_event. */
static void a_captured_programmatic_event_is_logged(void **state)
{
    (void)state;
    char line[1200];
    CUgraph graph = make_graph();
    CUgraph other = make_graph();
    CUstream stream = mock_stream(1, 0);
    pdl_launch_desc desc = plain_desc();
    struct values values = values_of(0);
    desc.stream = stream;
    for (int waits = PDL_UNKNOWN; waits <= PDL_YES; waits++) {
        for (unsigned char type = 0; type <= 1; type++) {
            pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
            CUgraphNode nodes[2];
            for (size_t i = 0; i < 2; i++) {
                nodes[i] = mock_add_node(graph, CU_GRAPH_NODE_TYPE_KERNEL);
                nodes[i]->params.function = mock_function(0, 0);
            }
            mock_add_edge(nodes[0], nodes[1], type, type);
            mock_capture(stream, graph, CU_STREAM_CAPTURE_STATUS_ACTIVE);
            assert_ok(pdl_kernel_declare(kernel, (pdl_known)waits, PDL_UNKNOWN));
            (void)log_lines(line, sizeof(line));
            assert_ok(pdl_launch(kernel, &desc, VALUES(values)));
            assert_int_equal(log_lines(line, sizeof(line)), 1);
            assert_int_equal(strstr(line, "kernel fc1: overlaps although ") != NULL,
                             type == 1 && waits != PDL_YES);
            assert_ok(pdl_graph_add_launch(other, NULL, 0, kernel, &desc, VALUES(values), nodes));
            (void)log_lines(line, sizeof(line));
            assert_null(strstr(line, "although")); /* a node is in no stream */
            mock_capture(stream, NULL, CU_STREAM_CAPTURE_STATUS_NONE);
            assert_ok(pdl_launch(kernel, &desc, VALUES(values)));
            assert_int_equal(log_lines(line, sizeof(line)), 0);
            pdl_kernel_destroy(kernel);
        }
    }
    destroy_graph(graph);
    destroy_graph(other);
}

static void nodes_of_graphs_are_logged_as_launches_are(void **state)
{
    (void)state;
    char line[1200];
    CUgraph graph = make_graph();
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    (void)log_lines(line, sizeof(line));
    (void)add_kernel_node(graph, kernel, NULL, 0);
    assert_int_equal(log_lines(line, sizeof(line)), 1);
    assert_non_null(strstr(line, "device 0, kernel fc1: overlaps\n"));
    const pdl_edge edge = {.node = mock_add_node(graph, CU_GRAPH_NODE_TYPE_KERNEL),
                           .kind = PDL_EDGE_PROGRAMMATIC};
    mock_add_edge(mock_node_at(graph, 0), edge.node, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, 1);
    edge.node->params.function = mock_function(1, 0);
    (void)add_kernel_node(graph, kernel, &edge, 1);
    assert_int_equal(log_lines(line, sizeof(line)), 1);
    assert_non_null(strstr(line, "now does not overlap: "));
    assert_non_null(strstr(line, pdl_reason_string(PDL_REASON_PREDECESSOR)));
    destroy_graph(graph);
    pdl_kernel_destroy(kernel);
}

static void explaining_and_refusals_are_not_logged(void **state)
{
    (void)state;
    char line[1200];
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    (void)log_lines(line, sizeof(line));
    assert_ok(pdl_launch_explain(kernel, &desc, &report));
    desc.grid[0] = 0;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_INVALID_GRID, "grid", "");
    assert_int_equal(log_lines(line, sizeof(line)), 0);
    pdl_kernel_destroy(kernel);
}

#ifndef _WIN32
#include <sys/wait.h>

/* In a child, whose log is not open yet. */
static void a_named_pipe_as_the_log_holds_up_no_launch(void **state)
{
    (void)state;
    char pipe_path[80];
    int status = -1;
    (void)snprintf(pipe_path, sizeof(pipe_path), "%s.pipe", log_path);
    (void)unlink(pipe_path);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    const pid_t child = fork();
    if (child == 0) {
        (void)alarm(20);
        (void)setenv("PDL_LOG", pipe_path, 1);
        pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
        for (uint32_t i = 0; i < 2000; i++) { /* more than a pipe holds */
            (void)pdl_kernel_enable_overlap(kernel, i % 2);
            (void)reason_of(kernel);
        }
        const int reader = open(pipe_path, O_RDONLY | O_NONBLOCK);
        char line[32] = "";
        _exit(reader >= 0 && read(reader, line, sizeof(line) - 1) > 0 &&
                      strncmp(line, "libpdl[", 7) == 0
                  ? 0
                  : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    (void)unlink(pipe_path);
    assert_int_equal(status, 0);
}
#endif

int main(void)
{
    (void)snprintf(log_path, sizeof(log_path), "switch_%ld.log", (long)getpid());
    (void)setenv("PDL_LOG", log_path, 1);
    const struct CMUnitTest tests[] = {
#ifndef _WIN32
        MOCK_TEST(a_named_pipe_as_the_log_holds_up_no_launch), /* before the log is open */
#endif
        MOCK_TEST(a_reason_is_not_taken_for_a_mode),
        MOCK_TEST(the_process_turns_overlap_off_and_on),
        MOCK_TEST(what_the_environment_turned_off_stays_off),
        MOCK_TEST(one_kernel_is_turned_off_and_the_others_stay),
        MOCK_TEST(the_log_has_the_first_decision_and_every_change),
        MOCK_TEST(what_may_not_wait_is_logged_with_what_to_do),
        MOCK_TEST(the_attribute_in_extra_attributes_is_refused_and_not_logged),
        GRAPH_TEST(a_captured_programmatic_event_is_logged),
        GRAPH_TEST(nodes_of_graphs_are_logged_as_launches_are),
        MOCK_TEST(explaining_and_refusals_are_not_logged),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(log_path);
    return failed;
}
