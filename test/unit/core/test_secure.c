/* SPDX-License-Identifier: MIT */
/* A program with more rights than its user reads PDL_OVERLAP from the environment, and nothing else. The test runs a copy of
 * itself that has another user's rights, which only root can make. */
#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/environment.h"
#include "support.h"

enum { NOBODY = 65534, NOT_POSSIBLE = 77 };

static char log_path[64]; /* of PDL_LOG */

/* ---- the copy ---------------------------------------------------------------------------------- */

static void it_reads_one_variable(void **state)
{
    (void)state;
    for (size_t i = 0; i < PDL_VARIABLE_COUNT; i++) {
        const struct pdl_variable *const row = &pdl_variables[i];
        const bool is_open = row == PDL_VARIABLE(PDL_OVERLAP);
        assert_non_null(getenv(row->name));
        if ((pdl_variable_raw(row) != NULL) != is_open ||
            pdl_variable_look(row).is_set != is_open) {
            fail_msg("%s is %s", row->name, is_open ? "not read" : "read");
        }
    }
    assert_int_equal(pdl_variable_look(PDL_VARIABLE(PDL_OVERLAP)).value[0], 2); /* capture */
}

/* Only captured launches overlap, no kernel is excluded, and nothing is written. */
static void its_launches_follow_that_one(void **state)
{
    (void)state;
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    pdl_launch_desc desc = DESC(.overlap = PDL_OVERLAP_AUTO, .stream = mock_stream(1, 0));
    CUgraph graph = NULL;
    pdl_kernel *kernel = test_kernel(FROM_CU_KERNEL, 0);
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_ok(pdl_launch_explain(kernel, &desc, &report));
    assert_int_equal(report.overlap_reason, PDL_REASON_NOT_CAPTURING);
    assert_int_equal(mock.table.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    mock_capture(desc.stream, graph, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_ok(pdl_launch_explain(kernel, &desc, &report));
    assert_int_equal(report.overlap_reason, PDL_REASON_GRANTED);
    mock_capture(desc.stream, NULL, CU_STREAM_CAPTURE_STATUS_NONE);
    assert_int_equal(mock.table.cuGraphDestroy(graph), CUDA_SUCCESS);
    drop_kernel(kernel);
    (void)snprintf(log_path, sizeof(log_path), "%s", getenv("PDL_LOG"));
    assert_int_equal(access(log_path, F_OK), -1);
}

/* The sanitizer's search for leaks may not look into a process with more rights, and there reads no environment. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

static int run_copy(void)
{
    const struct CMUnitTest tests[] = {
        MOCK_TEST(it_reads_one_variable),
        MOCK_TEST(its_launches_follow_that_one),
    };
    if (getauxval(AT_SECURE) == 0) {
        return NOT_POSSIBLE;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* ---- the program ------------------------------------------------------------------------------- */

static bool make_copy(const char *path)
{
    static char bytes[1 << 16];
    ssize_t count = -1;
    const int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    bool good = from >= 0 && to >= 0;
    while (good && (count = read(from, bytes, sizeof(bytes))) > 0) {
        good = write(to, bytes, (size_t)count) == count;
    }
    good = good && count == 0 && fchown(to, NOBODY, (gid_t)-1) == 0 && fchmod(to, 04755) == 0;
    (void)close(from);
    (void)close(to);
    return good;
}

PLAIN_TEST(a_program_with_more_rights_reads_one_variable)
{
    char path[64];
    int status = 0;
    if (geteuid() != 0) {
        skip();
    }
    (void)snprintf(path, sizeof(path), "secure_%ld", (long)getpid());
    (void)snprintf(log_path, sizeof(log_path), "/tmp/secure_%ld.log", (long)getpid());
    (void)unlink(path);
    const bool made = make_copy(path);
    const pid_t child = made ? fork() : -1;
    if (child == 0) {
        for (size_t i = 0; i < PDL_VARIABLE_COUNT; i++) {
            (void)setenv(pdl_variables[i].name, "1", 1);
        }
        (void)setenv("PDL_OVERLAP", "capture", 1);
        (void)setenv("PDL_OVERLAP_EXCLUDE", "*", 1);
        (void)setenv("PDL_LOG", log_path, 1);
        (void)execl(path, path, "copy", (char *)NULL);
        _exit(NOT_POSSIBLE);
    }
    const bool ran = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
    (void)unlink(path);
    (void)unlink(log_path);
    assert_true(made && ran);
    if (WEXITSTATUS(status) == NOT_POSSIBLE) { /* such as on a file system without set-user-ID */
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv)
{
    (void)argv;
    return argc > 1 ? run_copy() : run_all_tests(NULL, NULL);
}
