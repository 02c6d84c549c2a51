/* SPDX-License-Identifier: MIT */
/* Statuses and the thread's last error. */
#include <pthread.h>

#include <pdl/detail/rtc_status.h>

#include "from_image.h"
#include "support.h"

static const struct {
    pdl_status status;
    int value;
    const char *name;
} statuses[] = {
#define STATUS(name_, value_, message_) {name_, value_, #name_},
    PDL_STATUS_LIST(STATUS) PDL_RTC_STATUS_LIST(STATUS)
#undef STATUS
};

PLAIN_TEST(every_status_has_its_own_value)
{
    bool seen[COUNT_OF(statuses)] = {false}; /* a number that is left out was never given */
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        assert_int_equal(statuses[i].status, statuses[i].value);
        assert_in_range(-statuses[i].value, 0, COUNT_OF(statuses) - 1);
        assert_false(seen[-statuses[i].value]);
        seen[-statuses[i].value] = true;
    }
}

PLAIN_TEST(every_status_is_named_without_its_prefix)
{
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        const char *with_prefix = statuses[i].name;
        const char *prefix = strncmp(with_prefix, "PDL_ERROR_", 10) == 0 ? "PDL_ERROR_" : "PDL_";
        assert_string_equal(pdl_status_name(statuses[i].status), with_prefix + strlen(prefix));
    }
    assert_string_equal(pdl_status_name(PDL_ERROR_INVALID_GRID), "INVALID_GRID");
    assert_string_equal(pdl_status_name(PDL_SUCCESS), "SUCCESS");
}

PLAIN_TEST(a_number_that_is_no_status_is_unknown)
{
    const int numbers[] = {1, 700, -(int)COUNT_OF(statuses), INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        assert_string_equal(pdl_status_name((pdl_status)numbers[i]), "UNKNOWN");
    }
}

PLAIN_TEST(every_overlap_reason_has_its_own_clause)
{
    for (int i = PDL_REASON_GRANTED; i <= PDL_REASON_RACE; i++) {
        const char *clause = pdl_reason_string((pdl_reason)i);
        assert_non_null(clause);
        assert_string_not_equal(clause, "");
        for (int j = 0; j < i && i != 23 && i != 27; j++) { /* which are not used */
            assert_string_not_equal(clause, pdl_reason_string((pdl_reason)j));
        }
    }
    assert_non_null(pdl_reason_string((pdl_reason)1000));
    assert_string_equal(pdl_reason_string((pdl_reason)27), pdl_reason_string((pdl_reason)1000));
}

static void *fresh_thread(void *argument)
{
    pdl_error *seen = argument;
    *seen = *pdl_last_error();
    return NULL;
}

PLAIN_TEST(before_any_failure_the_last_error_is_success)
{
    pdl_error seen;
    pthread_t thread;
    memset(&seen, 0xff, sizeof(seen));
    assert_int_equal(pthread_create(&thread, NULL, fresh_thread, &seen), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(seen.status, PDL_SUCCESS);
    assert_int_equal(seen.cuda_result, 0);
    assert_null(seen.call);
    assert_null(seen.field);
}

TEST(a_new_error_leaves_nothing_of_the_old_one)
{
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    const pdl_launch_desc desc = plain_desc();
    mock_fail(MOCK_cuLaunchKernelEx, 1, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_LAUNCH_RESOURCES, NULL, "");
    assert_int_equal(pdl_last_error()->cuda_result, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    assert_string_equal(pdl_last_error()->call, "cuLaunchKernelEx");
    assert_invalid(pdl_launch(kernel, NULL, NULL), "desc", "");
    assert_int_equal(pdl_last_error()->cuda_result, 0);
    assert_null(pdl_last_error()->call);
}

TEST(a_sentence_that_is_too_long_is_cut_and_still_ends)
{
    char *name = malloc(5000);
    pdl_kernel *kernel = NULL;
    static const char ptx[] = ".version 8.0";
    assert_non_null(name);
    memset(name, 'n', 4999);
    name[4999] = '\0';
    assert_refused(kernel_from_image(ptx, sizeof(ptx), name, &kernel), PDL_ERROR_NOT_FOUND, NULL,
                   "nnn");
    assert_true(strlen(pdl_last_error()->message) < sizeof(pdl_last_error()->message));
    free(name);
}

PLAIN_TEST(an_error_that_is_recorded_is_the_threads_last)
{
    pdl_error error = {.size = sizeof(error),
                       .status = PDL_ERROR_COMPILE,
                       .cuda_result = 6,
                       .call = "call",
                       .field = "field"};
    memset(error.message, 'm', sizeof(error.message) - 1);
    assert_int_equal(pdl_error_record(&error), PDL_ERROR_COMPILE);
    assert_memory_equal(pdl_last_error(), &error, sizeof(error));
    assert_ptr_not_equal(pdl_last_error(), &error); /* a copy */
    assert_int_equal(pdl_error_record(pdl_last_error()), PDL_ERROR_COMPILE);
    assert_memory_equal(pdl_last_error(), &error, sizeof(error));
}

PLAIN_TEST(what_is_no_error_is_not_recorded_as_one)
{
    const pdl_error error = PDL_ERROR_INIT;
    assert_invalid(pdl_error_record(NULL), "error", "NULL");
    assert_invalid(pdl_error_record(&error), "error", "PDL_SUCCESS");
}
