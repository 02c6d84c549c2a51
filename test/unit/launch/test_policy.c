/* SPDX-License-Identifier: MIT */
/* Policies: which of the launches that ask for overlap have it, by the descriptor, the program and
 * the environment. */
#include <pdl/policy.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "graph_support.h"
#include "launch/policy.h"

static int teardown(void **state)
{
    return pdl_policy_set(NULL) != PDL_SUCCESS || mock_teardown(state) != 0;
}
#define POLICY_TEST(name) TEST_WITH(name, graph_setup, teardown)

#define SETTING(...)                                                                               \
    {                                                                                              \
        .size = sizeof(pdl_policy), __VA_ARGS__                                                    \
    }
static const pdl_policy none = SETTING(.capture_only = 0);
static const pdl_policy captured = SETTING(.capture_only = 1);
static const pdl_policy excluded = SETTING(.exclude = "fc1");

/* What a launch comes to, which is what is explained. */
static pdl_reason reason_of(pdl_kernel *kernel, const pdl_launch_desc *desc)
{
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    const unsigned before = mock.launch_count;
    const pdl_status launched = pdl_launch(kernel, desc, NULL);
    assert_int_equal(pdl_launch_explain(kernel, desc, &report), launched);
    const pdl_reason reason = (pdl_reason)report.overlap_reason;
    if (desc->overlap == PDL_OVERLAP_REQUIRE && reason != PDL_REASON_GRANTED) {
        assert_int_equal(launched, PDL_ERROR_OVERLAP);
        assert_non_null(strstr(pdl_last_error()->message, pdl_reason_string(reason)));
        assert_int_equal(mock.launch_count, before);
        return reason;
    }
    assert_ok(launched);
    assert_int_equal(mock.launch_count, before + 1);
    assert_int_equal(mock_last_launch()->attribute_count,
                     (reason == PDL_REASON_GRANTED) + desc->cooperative);
    assert_int_equal(report.overlap, reason == PDL_REASON_GRANTED);
    return reason;
}

/* ---- what holds of a launch ----------------------------------------------------------------- */

#ifndef _WIN32
#include <sys/wait.h>

/* In a child, where nobody has looked at the environment yet. */
static int in_environment(const char *overlap, const char *exclude, bool cleared,
                          const pdl_policy *program)
{
    const pid_t child = fork();
    if (child == 0) {
        int status = 1;
        pdl_kernel *kernel = NULL;
        pdl_error mark = PDL_ERROR_INIT;
        mark.status = PDL_ERROR_CYCLE;
        (void)alarm(20);
        (void)pdl_error_record(&mark);
        if (freopen("/dev/null", "w", stderr) != NULL && setenv("PDL_OVERLAP", overlap, 1) == 0 &&
            (exclude == NULL || setenv("PDL_OVERLAP_EXCLUDE", exclude, 1) == 0) &&
            pdl_kernel_from_function(mock_function(0, 0), NULL, &kernel) == PDL_SUCCESS &&
            pdl_kernel_declare(kernel, PDL_YES, PDL_UNKNOWN) == PDL_SUCCESS &&
            (!cleared || pdl_policy_set(NULL) == PDL_SUCCESS) &&
            (program == NULL || pdl_policy_set(program) == PDL_SUCCESS)) {
            pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
            const pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
            (void)pdl_launch_explain(kernel, &desc, &report);
            /* The calls succeed, so that the last error stays. */
            status = pdl_last_error()->status == mark.status ? (int)report.overlap_reason : 255;
        }
        _exit(status);
    }
    int status = -1;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* First of all tests: see in_environment(). */
TEST_WITH(the_environment_stands_above_the_program, graph_setup, mock_teardown)
{
    for (int cleared = 0; cleared < 2; cleared++) { /* by pdl_policy_set(NULL), which it is not */
        const bool clear = cleared != 0;
        assert_int_equal(in_environment("", NULL, clear, NULL), PDL_REASON_GRANTED);
        assert_int_equal(in_environment("capture", NULL, clear, NULL), PDL_REASON_NOT_CAPTURING);
        assert_int_equal(in_environment(" Capture ", NULL, clear, NULL), PDL_REASON_NOT_CAPTURING);
        assert_int_equal(in_environment("", "", clear, NULL), PDL_REASON_GRANTED);
        assert_int_equal(in_environment("", "x:fc?", clear, NULL), PDL_REASON_EXCLUDED);
        assert_int_equal(in_environment("", "fc", clear, NULL), PDL_REASON_GRANTED);
        assert_int_equal(in_environment("", "fc1", clear, NULL), PDL_REASON_EXCLUDED);
        assert_int_equal(in_environment("", "fc2", clear, &excluded), PDL_REASON_EXCLUDED);
        assert_int_equal(in_environment("capture", NULL, clear, &excluded), PDL_REASON_EXCLUDED);
    }
}
#endif

POLICY_TEST(patterns_match_the_whole_name_and_the_functions_own)
{
    static const struct {
        const char *exclude;
        bool matches;
    } cases[] = {
        {"fc9", true},         {"fc?", true}, {"*fc9*", true}, {"_ZN2nn3fc9IfEEvPKT_", true},
        {"_Z*PKT_", true},     {"nn", false}, {"fc", false},   {"c9", false},
        {"*fc9", true},        {"", false},   {"::", false},   {"x:[e-g]c9:y", true},
        {"x:[e-g]c9y", false},
    };
    const pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    mock.kernels[0].name = "_ZN2nn3fc9IfEEvPKT_";
    pdl_kernel *kernel = test_kernel(FROM_CU_KERNEL, 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_ok(pdl_policy_set(&(pdl_policy)SETTING(.exclude = cases[i].exclude)));
        assert_int_equal(reason_of(kernel, &desc),
                         cases[i].matches ? PDL_REASON_EXCLUDED : PDL_REASON_GRANTED);
    }
    drop_kernel(kernel);
    mock_set_driver_version(12020); /* which tells no names */
    mock_apply();
    kernel = test_kernel(FROM_CU_KERNEL, 0);
    assert_ok(pdl_policy_set(&(pdl_policy)SETTING(.exclude = "fc9")));
    assert_int_equal(reason_of(kernel, &desc), PDL_REASON_GRANTED);
    assert_ok(pdl_policy_set(&(pdl_policy)SETTING(.exclude = "*")));
    assert_int_equal(reason_of(kernel, &desc), PDL_REASON_EXCLUDED);
}

/* The mock complains of whoever asks it about the legacy stream. */
POLICY_TEST(default_streams_and_failures_of_the_driver)
{
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    desc.stream = CU_STREAM_PER_THREAD;
    assert_int_equal(reason_of(kernel, &desc), PDL_REASON_GRANTED);
    assert_ok(pdl_policy_set(&(pdl_policy)SETTING(.capture_only = 1)));
    desc.stream = NULL;
    assert_int_equal(reason_of(kernel, &desc), PDL_REASON_NOT_CAPTURING);
    desc.stream = CU_STREAM_LEGACY;
    assert_int_equal(reason_of(kernel, &desc), PDL_REASON_NOT_CAPTURING);
    assert_int_equal(mock.calls[MOCK_cuStreamIsCapturing], 0); /* where it does not matter */
    mock_capture(CU_STREAM_PER_THREAD, NULL, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    desc.stream = CU_STREAM_PER_THREAD;
    assert_int_equal(reason_of(kernel, &desc), PDL_REASON_GRANTED);
    desc.stream = NULL;
    desc.default_stream = PDL_DEFAULT_STREAM_PER_THREAD;
    assert_int_equal(reason_of(kernel, &desc), PDL_REASON_GRANTED);
    mock_capture(CU_STREAM_PER_THREAD, NULL, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    assert_int_equal(reason_of(kernel, &desc), PDL_REASON_NOT_CAPTURING);
    mock_capture(CU_STREAM_PER_THREAD, NULL, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    mock_fail(MOCK_cuStreamIsCapturing, 0, CUDA_ERROR_UNKNOWN);
    assert_int_equal(reason_of(kernel, &desc), PDL_REASON_NOT_CAPTURING);
    mock_fail_none();
}

/* ---- values and names ----------------------------------------------------------------------- */

POLICY_TEST(values_of_the_policy_are_checked)
{
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    const pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    assert_ok(pdl_policy_set(&excluded));
    assert_refused(pdl_policy_set(&(pdl_policy)SETTING(.capture_only = 2)), PDL_ERROR_DESC_FIELD,
                   "policy", "capture_only is 2");
    assert_refused(pdl_policy_set(&(pdl_policy)SETTING(.off = 2)), PDL_ERROR_DESC_FIELD, "policy",
                   "off is 2");
    assert_int_equal(reason_of(kernel, &desc), PDL_REASON_EXCLUDED); /* as it was */
}

POLICY_TEST(plain_names)
{
    static const struct {
        const char *name, *plain;
    } cases[] = {
        {"fc2", "fc2"},
        {"", ""},
        {"_Z3fc2PKf", "fc2"},
        {"_ZL3fc2PKf", "fc2"},
        {"_Z3fc2IfLi4EEvPKT_", "fc2"},
        {"_ZN2nn3fc2EPKf", "fc2"},
        {"_ZN2nn3fc2IfEEvPKT_", "fc2"},
        {"_ZN2nnL3fc2EPKf", "fc2"},
        {"_ZN12_GLOBAL__N_13fc2EPKf", "fc2"},
        {"_ZN3a_b1c12long_name_12IJfEEEvv", "long_name_12"},
        /* of another form: as they are */
        {"_Z", "_Z"},
        {"_Z9fc2", "_Z9fc2"},
        {"_ZN2nn3fc2", "_ZN2nn3fc2"},
        {"_ZN2nnIfE3fc2EPKf", "nn"},
        {"_ZNSt3fc2EPKf", "_ZNSt3fc2EPKf"},
        {"_ZN4a", "_ZN4a"},
        {"_ZNK", "_ZNK"},
        {"_Z99999999999999999999a", "_Z99999999999999999999a"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char room[PDL_PLAIN_NAME];
        assert_string_equal(pdl_name_plain(cases[i].name, room), cases[i].plain);
    }
}

/* ---- threads and the environment ------------------------------------------------------------ */

#define THREADS 8
static atomic_bool stop;

static void *launch_often(void *kernel)
{
    const pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    uintptr_t wrong = 0;
    while (!atomic_load(&stop)) {
        pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
        wrong += pdl_launch(kernel, &desc, NULL) != PDL_SUCCESS;
        wrong += pdl_launch_explain(kernel, &desc, &report) != PDL_SUCCESS;
        wrong += report.overlap_reason != PDL_REASON_GRANTED &&
                 report.overlap_reason != PDL_REASON_EXCLUDED &&
                 report.overlap_reason != PDL_REASON_NOT_CAPTURING;
    }
    return (void *)wrong;
}

POLICY_TEST(policies_change_while_others_launch)
{
    pthread_t threads[THREADS];
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    const pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    static const pdl_reason reasons[] = {PDL_REASON_GRANTED, PDL_REASON_EXCLUDED,
                                         PDL_REASON_NOT_CAPTURING};
    static const pdl_policy *const used[] = {&none, &excluded, &captured};
    atomic_store(&stop, false);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, launch_often, kernel), 0);
    }
    for (unsigned i = 0; i < 60; i++) {
        assert_ok(pdl_policy_set(used[i % 3]));
        const pdl_launch_report report = explained(kernel, &desc); /* from now on */
        assert_int_equal(report.overlap_reason, reasons[i % 3]);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++) {
        void *wrong = NULL;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
}
