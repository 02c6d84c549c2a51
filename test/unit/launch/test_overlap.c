/* SPDX-License-Identifier: MIT */
/* The gate in front of the PDL attribute. An attribute granted to a kernel that does not wait is a
 * data race that shows once in thousands of runs, so every combination of what the gate looks at is
 * tried. */
#include "support.h"

/* What decides beside these: unit.agreement. */
TEST(devices_and_code_from_9_0_on_overlap)
{
    static const int majors[] = {7, 8, 9, 10, 12};
    static const int ptx_versions[] = {50, 80, 89, 90, 100, 120};
    pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    for (size_t i = 0; i < COUNT_OF(majors) * COUNT_OF(ptx_versions) * KERNEL_SOURCES; i++) {
        const int major = majors[i % COUNT_OF(majors)];
        const int ptx_version = ptx_versions[i / COUNT_OF(majors) % COUNT_OF(ptx_versions)];
        const size_t source = i / COUNT_OF(majors) / COUNT_OF(ptx_versions);
        const pdl_reason reason = major < 9          ? PDL_REASON_DEVICE
                                  : ptx_version < 90 ? PDL_REASON_CODE
                                                     : PDL_REASON_GRANTED;
        mock.devices[0].attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = major;
        mock.kernels[0].attributes[0][CU_FUNC_ATTRIBUTE_PTX_VERSION] = ptx_version;
        mock_apply();
        pdl_kernel *kernel = test_kernel((enum kernel_source)source, 0);
        const pdl_launch_report report = explained(kernel, &desc);
        assert_int_equal(report.overlap_reason, reason);
        assert_ok(pdl_launch(kernel, &desc, NULL));
        assert_int_equal(mock_last_launch()->attribute_count, reason == PDL_REASON_GRANTED);
    }
}

TEST(a_kernel_that_is_not_known_to_wait_is_not_overlapped)
{
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
        pdl_kernel *kernel = test_unknown_kernel((enum kernel_source)source, 0);
        assert_ok(pdl_launch(kernel, &desc, NULL));
        assert_int_equal(mock_last_launch()->attribute_count, 0);
        const pdl_launch_report report = explained(kernel, &desc);
        assert_int_equal(report.overlap_reason, PDL_REASON_WAITS_UNKNOWN);
        const pdl_kernel_info info = kernel_info(kernel, 0);
        assert_int_equal(info.waits, PDL_UNKNOWN);
        assert_non_null(strstr(info.unknown_why, "code"));
        assert_non_null(strstr(report.message, info.unknown_why));
        desc.overlap = PDL_OVERLAP_REQUIRE;
        assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_OVERLAP, "overlap", "unknown",
                       info.unknown_why);
    }
}

TEST(whether_it_triggers_does_not_matter)
{
    pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    for (int triggers = PDL_UNKNOWN; triggers <= PDL_YES; triggers++) {
        assert_ok(pdl_kernel_declare(kernel, PDL_YES, (pdl_known)triggers));
        assert_ok(pdl_launch(kernel, &desc, NULL));
        assert_int_equal(mock_last_launch()->attribute_count, 1);
    }
}
