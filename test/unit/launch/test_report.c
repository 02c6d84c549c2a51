/* SPDX-License-Identifier: MIT */
/* The report of pdl_launch_explain(). That it agrees with the launch is asserted wherever a launch
 * is (assert_explained). */
#include "support.h"

static void explaining_never_launches(void **state)
{
    (void)state;
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
        const pdl_launch_desc desc = plain_desc();
        pdl_kernel *kernel = make_kernel((enum kernel_source)source, 0);
        assert_ok(pdl_launch_explain(kernel, &desc, &report));
        assert_int_equal(mock.launch_count, 0);
        assert_int_equal(mock.calls[MOCK_cuLaunchKernelEx], 0);
        pdl_kernel_destroy(kernel);
    }
}

static void the_message_says_why_in_words(void **state)
{
    (void)state;
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    assert_ok(pdl_kernel_declare(kernel, PDL_NO, PDL_UNKNOWN));
    desc.overlap = PDL_OVERLAP_AUTO;
    assert_ok(pdl_launch_explain(kernel, &desc, &report));
    assert_non_null(strstr(report.message, pdl_reason_string(PDL_REASON_NO_WAIT)));
    pdl_kernel_destroy(kernel);
}

static void a_refused_launch_is_reported_as_far_as_it_got(void **state)
{
    (void)state;
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    assert_ok(pdl_kernel_declare(kernel, PDL_NO, PDL_UNKNOWN));
    report.device = 77;
    desc.overlap = PDL_OVERLAP_REQUIRE;
    assert_refused(pdl_launch_explain(kernel, &desc, &report), PDL_ERROR_OVERLAP, "overlap", "");
    assert_int_equal(report.device, 0);
    assert_int_equal(report.overlap, 0);
    assert_int_equal(report.overlap_reason, PDL_REASON_NO_WAIT);
    assert_string_not_equal(report.message, "");
    assert_int_equal(report.size, sizeof(report));
    pdl_kernel_destroy(kernel);
}

static void a_report_of_an_older_caller_is_filled_to_its_end(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    const size_t size = offsetof(pdl_launch_report, attribute_count);
    unsigned char *older = malloc(size); /* of that size: a byte too many is seen */
    pdl_launch_report seen;
    const uint32_t size_field = (uint32_t)size;
    assert_non_null(older);
    memset(older, 0xff, size);
    memcpy(older, &size_field, sizeof(size_field));
    desc.overlap = PDL_OVERLAP_AUTO;
    assert_ok(pdl_launch_explain(kernel, &desc, (pdl_launch_report *)(void *)older));
    memset(&seen, 0, sizeof(seen));
    memcpy(&seen, older, size);
    assert_int_equal(seen.size, size);
    assert_int_equal(seen.device, 0);
    assert_int_equal(seen.overlap, 1);
    assert_int_equal(seen.overlap_reason, PDL_REASON_GRANTED);
    free(older);
    pdl_kernel_destroy(kernel);
}

static void a_report_of_a_newer_caller_has_zeros_in_what_is_not_known(void **state)
{
    (void)state;
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    struct {
        pdl_launch_report report;
        unsigned char more[32];
    } newer;
    memset(&newer, 0xff, sizeof(newer));
    newer.report.size = (uint32_t)sizeof(newer);
    assert_ok(pdl_launch_explain(kernel, &desc, &newer.report));
    assert_int_equal(newer.report.size, sizeof(newer));
    for (size_t i = 0; i < sizeof(newer.more); i++) {
        assert_int_equal(newer.more[i], 0);
    }
    pdl_kernel_destroy(kernel);
}

static void a_report_whose_size_was_never_set_is_refused(void **state)
{
    (void)state;
    pdl_launch_report report = {0};
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    assert_refused(pdl_launch_explain(kernel, &desc, &report), PDL_ERROR_DESC_SIZE, "size",
                   "report", "0");
    pdl_kernel_destroy(kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MOCK_TEST(explaining_never_launches),
        MOCK_TEST(the_message_says_why_in_words),
        MOCK_TEST(a_refused_launch_is_reported_as_far_as_it_got),
        MOCK_TEST(a_report_of_an_older_caller_is_filled_to_its_end),
        MOCK_TEST(a_report_of_a_newer_caller_has_zeros_in_what_is_not_known),
        MOCK_TEST(a_report_whose_size_was_never_set_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
