/* SPDX-License-Identifier: MIT */
/* Overlap turned off and on at run time, and the log of decisions. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph_support.h"

static pdl_reason reason_of(pdl_kernel *kernel)
{
    pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    assert_ok(pdl_launch(kernel, &desc, NULL));
    const pdl_launch_report report = explained(kernel, &desc);
    assert_int_equal(mock_last_launch()->attribute_count, report.overlap);
    return (pdl_reason)report.overlap_reason;
}

TEST(what_the_environment_turned_off_stays_off)
{
    mock.table.overlap_disabled = true;
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    overlap_enable(true);
    assert_int_equal(reason_of(kernel), PDL_REASON_DISABLED);
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

TEST(what_may_not_wait_is_logged_with_what_to_do)
{
    char line[1200];
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    assert_ok(pdl_kernel_declare(kernel, PDL_UNKNOWN, PDL_UNKNOWN));
    (void)log_lines(line, sizeof(line));
    assert_int_equal(reason_of(kernel), PDL_REASON_WAITS_UNKNOWN);
    assert_int_equal(reason_of(kernel), PDL_REASON_WAITS_UNKNOWN);
    assert_int_equal(log_lines(line, sizeof(line)), 1);
    assert_non_null(strstr(line, "kernel fc1: does not overlap: "));
    assert_non_null(strstr(line, pdl_reason_string(PDL_REASON_WAITS_UNKNOWN)));
    assert_non_null(strstr(line, "pdl_kernel_from_function()"));
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
}

/* What a launch with PDL_OVERLAP_NONE becomes behind a trigger_event. */
GRAPH_TEST(a_captured_programmatic_event_is_logged)
{
    char line[1200];
    CUgraph graph = make_graph();
    CUgraph other = make_graph();
    CUstream stream = mock_stream(1, 0);
    pdl_launch_desc desc = DESC(.stream = stream);
    struct values values = values_of(0);
    for (int waits = PDL_UNKNOWN; waits <= PDL_YES; waits++) {
        for (unsigned char type = 0; type <= 1; type++) {
            pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
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
        }
    }
}

#ifndef _WIN32
#include <sys/wait.h>

/* In a child, whose log is not open yet. */
TEST(a_named_pipe_as_the_log_holds_up_no_launch)
{
    char pipe_path[80];
    int status = -1;
    (void)snprintf(pipe_path, sizeof(pipe_path), "%s.pipe", log_path);
    (void)unlink(pipe_path);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    const pid_t child = fork();
    if (child == 0) {
        (void)alarm(20);
        (void)setenv("PDL_LOG", pipe_path, 1);
        pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
        for (uint32_t i = 0; i < 2000; i++) { /* more than a pipe holds */
            (void)pdl_kernel_declare(kernel, i % 2 ? PDL_YES : PDL_NO, PDL_YES);
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
    const int failed = run_all_tests(NULL, NULL);
    (void)unlink(log_path);
    return failed;
}
