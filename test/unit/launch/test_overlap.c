/* SPDX-License-Identifier: MIT */
/* The gate in front of the PDL attribute. An attribute granted to a kernel that does not wait is a
 * data race that shows once in thousands of runs, so every combination of what the gate looks at is
 * tried. */
#include "support.h"

struct situation {
    uint32_t overlap;
    bool disabled;
    int major;
    int ptx_version;
    pdl_known waits;
    bool cooperative;
};

/* The rules once more, written down independently of the library. */
static pdl_reason oracle(const struct situation *s)
{
    if (s->overlap == PDL_OVERLAP_NONE) {
        return PDL_REASON_NOT_REQUESTED;
    }
    if (s->disabled) {
        return PDL_REASON_DISABLED;
    }
    if (s->major < 9) {
        return PDL_REASON_DEVICE;
    }
    if (s->cooperative) {
        return PDL_REASON_COOPERATIVE;
    }
    if (s->ptx_version < 90) {
        return PDL_REASON_CODE;
    }
    if (s->waits == PDL_NO) {
        return PDL_REASON_NO_WAIT;
    }
    return s->waits == PDL_YES ? PDL_REASON_GRANTED : PDL_REASON_WAITS_UNKNOWN;
}

static void check(const struct situation *s, enum kernel_source source)
{
    struct expected expected = {0};
    pdl_launch_desc desc = plain_desc();
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    const pdl_reason reason = oracle(s);
    const bool granted = reason == PDL_REASON_GRANTED;
    const unsigned launches = mock.launch_count;

    pdl_kernel *kernel = make_kernel(source, 0);
    assert_ok(pdl_kernel_declare(kernel, s->waits, PDL_UNKNOWN));
    desc.overlap = s->overlap;
    desc.cooperative = s->cooperative;
    if (s->cooperative) {
        expect_attribute(&expected, CU_LAUNCH_ATTRIBUTE_COOPERATIVE)->cooperative = 1;
    }
    if (granted) {
        expect_attribute(&expected, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            ->programmaticStreamSerializationAllowed = 1;
    }
    const pdl_status explained = pdl_launch_explain(kernel, &desc, &report);
    assert_int_equal(report.overlap_reason, reason);
    assert_int_equal(report.overlap, granted);
    assert_string_not_equal(report.message, "");
    const pdl_status launched = pdl_launch(kernel, &desc, NULL);
    assert_int_equal(launched, explained);
    if (s->overlap == PDL_OVERLAP_REQUIRE && !granted) {
        assert_refused(launched,
                       reason == PDL_REASON_COOPERATIVE ? PDL_ERROR_COOPERATIVE_OVERLAP
                                                        : PDL_ERROR_OVERLAP,
                       "overlap", pdl_reason_string(reason));
        assert_int_equal(mock.launch_count, launches);
    } else {
        assert_ok(launched);
        assert_int_equal(mock.launch_count, launches + 1);
        assert_attributes(mock_last_launch(), &expected);
    }
    pdl_kernel_destroy(kernel);
}

static void the_attribute_is_set_exactly_when_every_rule_allows_it(void **state)
{
    (void)state;
    static const int majors[] = {7, 8, 9, 10, 12};
    static const int ptx_versions[] = {50, 80, 89, 90, 100, 120};
    unsigned checked = 0;
    for (size_t m = 0; m < COUNT_OF(majors); m++) {
        for (size_t p = 0; p < COUNT_OF(ptx_versions); p++) {
            for (unsigned bits = 0; bits < 3 * 3 * 2 * 2; bits++) {
                const struct situation s = {
                    .overlap = bits % 3,
                    .waits = (pdl_known)(bits / 3 % 3),
                    .disabled = bits / 9 % 2,
                    .cooperative = bits / 18 % 2,
                    .major = majors[m],
                    .ptx_version = ptx_versions[p],
                };
                mock.devices[0].attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = s.major;
                mock.devices[0].attributes[CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH] = s.major >= 9;
                mock.kernels[0].attributes[0][CU_FUNC_ATTRIBUTE_PTX_VERSION] = s.ptx_version;
                mock.table.overlap_disabled = s.disabled;
                mock_apply();
                for (int source = 0; source < KERNEL_SOURCES; source++) {
                    check(&s, (enum kernel_source)source);
                    checked++;
                }
            }
        }
    }
    assert_int_equal(checked, 5 * 6 * 36 * KERNEL_SOURCES);
}

/* The case behind the rule: code for 8.0 that was compiled for a 9.0 device at run time. */
static void code_for_an_older_architecture_is_not_overlapped_though_its_binary_is_new(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    const struct expected none = {0};
    mock.kernels[0].attributes[0][CU_FUNC_ATTRIBUTE_PTX_VERSION] = 80;
    mock.kernels[0].attributes[0][CU_FUNC_ATTRIBUTE_BINARY_VERSION] = 90;
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    assert_ok(pdl_kernel_declare(kernel, PDL_YES, PDL_YES));
    desc.overlap = PDL_OVERLAP_AUTO;
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_attributes(mock_last_launch(), &none);
    desc.overlap = PDL_OVERLAP_REQUIRE;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_OVERLAP, "overlap", "fc1");
    pdl_kernel_destroy(kernel);
}

static void a_kernel_that_is_not_known_to_wait_is_not_overlapped(void **state)
{
    (void)state;
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        pdl_launch_desc desc = plain_desc();
        pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
        pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
        pdl_kernel *kernel = make_unknown_kernel((enum kernel_source)source, 0);
        desc.overlap = PDL_OVERLAP_AUTO;
        assert_ok(pdl_launch(kernel, &desc, NULL));
        assert_int_equal(mock_last_launch()->attribute_count, 0);
        assert_ok(pdl_launch_explain(kernel, &desc, &report));
        assert_int_equal(report.overlap_reason, PDL_REASON_WAITS_UNKNOWN);
        assert_ok(pdl_kernel_get(kernel, 0, &info));
        assert_int_equal(info.waits, PDL_UNKNOWN);
        assert_non_null(strstr(info.unknown_why, "code"));
        assert_non_null(strstr(report.message, info.unknown_why));
        desc.overlap = PDL_OVERLAP_REQUIRE;
        assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_OVERLAP, "overlap", "unknown",
                       info.unknown_why);
        pdl_kernel_destroy(kernel);
    }
}

static void whether_it_triggers_does_not_matter(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    desc.overlap = PDL_OVERLAP_AUTO;
    for (int triggers = PDL_UNKNOWN; triggers <= PDL_YES; triggers++) {
        assert_ok(pdl_kernel_declare(kernel, PDL_YES, (pdl_known)triggers));
        assert_ok(pdl_launch(kernel, &desc, NULL));
        assert_int_equal(mock_last_launch()->attribute_count, 1);
    }
    pdl_kernel_destroy(kernel);
}

static void a_declaration_can_be_taken_back(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    desc.overlap = PDL_OVERLAP_AUTO;
    assert_ok(pdl_kernel_declare(kernel, PDL_NO, PDL_UNKNOWN));
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_int_equal(mock_last_launch()->attribute_count, 0);
    assert_ok(pdl_kernel_declare(kernel, PDL_YES, PDL_UNKNOWN));
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_int_equal(mock_last_launch()->attribute_count, 1);
    pdl_kernel_destroy(kernel);
}

/* pdl_kernel_info and pdl_device_info tell what AUTO would be granted. */
static void the_infos_tell_the_same_reason(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 3 * 2 * 2 * 2; bits++) {
        const struct situation s = {
            .overlap = PDL_OVERLAP_AUTO,
            .waits = (pdl_known)(bits % 3),
            .disabled = bits / 3 % 2,
            .major = bits / 6 % 2 ? 9 : 8,
            .ptx_version = bits / 12 % 2 ? 90 : 80,
        };
        pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
        pdl_device_info device = PDL_DEVICE_INFO_INIT;
        mock.devices[0].attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = s.major;
        mock.kernels[0].attributes[0][CU_FUNC_ATTRIBUTE_PTX_VERSION] = s.ptx_version;
        mock.table.overlap_disabled = s.disabled;
        mock_apply();
        pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
        assert_ok(pdl_kernel_declare(kernel, s.waits, PDL_YES));
        assert_ok(pdl_kernel_get(kernel, 0, &info));
        assert_int_equal(info.overlap_reason, oracle(&s));
        assert_int_equal(info.can_overlap, oracle(&s) == PDL_REASON_GRANTED);
        assert_int_equal(info.waits, s.waits);
        assert_int_equal(info.triggers, PDL_YES);
        assert_ok(pdl_device_get(0, &device));
        const pdl_reason of_device = s.disabled    ? PDL_REASON_DISABLED
                                     : s.major < 9 ? PDL_REASON_DEVICE
                                                   : PDL_REASON_GRANTED;
        assert_int_equal(device.overlap_reason, of_device);
        assert_int_equal(device.can_overlap, of_device == PDL_REASON_GRANTED);
        pdl_kernel_destroy(kernel);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MOCK_TEST(the_attribute_is_set_exactly_when_every_rule_allows_it),
        MOCK_TEST(code_for_an_older_architecture_is_not_overlapped_though_its_binary_is_new),
        MOCK_TEST(a_kernel_that_is_not_known_to_wait_is_not_overlapped),
        MOCK_TEST(whether_it_triggers_does_not_matter),
        MOCK_TEST(a_declaration_can_be_taken_back),
        MOCK_TEST(the_infos_tell_the_same_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
