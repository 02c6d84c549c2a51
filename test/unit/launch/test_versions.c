/* SPDX-License-Identifier: MIT */
/* Fields that are newer than the driver, or than the runtime that launches a symbol. */
#include "support.h"

/* Versions on both sides of where each field came, which the oldest driver may be. */
static int version_at(size_t index)
{
    const int version = field_cases[index / 2].since - (index % 2 == 0 ? 10 : 0);
    return version < 12000 ? 12000 : version;
}

static pdl_launch_desc desc_with(const struct field_case *field)
{
    pdl_launch_desc desc = plain_desc();
    if (field->id == ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION) {
        desc.cluster[0] = 2;
    }
    set_field(field, &desc);
    return desc;
}

/* `version` is what the launch has to go by. */
static void check(pdl_kernel *kernel, int version)
{
    for (size_t i = 0; i < field_case_count; i++) {
        const struct field_case *field = &field_cases[i];
        const pdl_launch_desc desc = desc_with(field);
        const unsigned launches = mock.launch_count;
        pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
        if (version >= field->since) {
            assert_ok(pdl_launch(kernel, &desc, NULL));
            assert_explained(kernel, &desc, mock_last_launch());
            continue;
        }
        assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_NOT_SUPPORTED, field->name,
                       field->name);
        assert_true(names_version(pdl_last_error()->message, field->since));
        assert_true(names_version(pdl_last_error()->message, version));
        assert_refused(pdl_launch_explain(kernel, &desc, &report), PDL_ERROR_NOT_SUPPORTED,
                       field->name, "");
        assert_int_equal(mock.launch_count, launches);
    }
}

TEST(a_field_newer_than_the_driver_is_refused_with_both_versions)
{
    for (size_t i = 0; i < 2 * field_case_count; i++) {
        const int version = version_at(i);
        mock_set_driver_version(version);
        for (int source = 0; source < KERNEL_SOURCES; source++) {
            mock_runtime_ops.runtime_version = MOCK_VERSION;
            pdl_kernel *kernel = test_kernel((enum kernel_source)source, 0);
            check(kernel, version);
        }
    }
}

TEST(a_field_newer_than_the_runtime_is_refused_for_its_symbols)
{
    for (size_t i = 0; i < 2 * field_case_count; i++) {
        mock_runtime_ops.runtime_version = version_at(i);
        pdl_kernel *kernel = test_kernel(FROM_SYMBOL, 0);
        check(kernel, version_at(i));
        drop_kernel(kernel);
        kernel = test_kernel(FROM_FUNCTION, 0); /* which no runtime launches */
        check(kernel, MOCK_VERSION);
    }
}

TEST(a_zero_with_its_flag_is_gated_too)
{
    pdl_kernel *kernel;
    pdl_launch_desc desc = plain_desc();
    mock_set_driver_version(12040);
    kernel = test_kernel(FROM_FUNCTION, 0);
    desc.flags = PDL_LAUNCH_SET_SHARED_MEMORY_CARVEOUT;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_NOT_SUPPORTED,
                   "shared_memory_carveout", "");
    desc.flags = PDL_LAUNCH_SET_NVLINK_CENTRIC_SCHEDULING;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_NOT_SUPPORTED,
                   "nvlink_centric_scheduling", "");
    desc.flags = PDL_LAUNCH_SET_PRIORITY | PDL_LAUNCH_SET_MEM_SYNC_DOMAIN |
                 PDL_LAUNCH_SET_MEM_SYNC_DOMAIN_MAP;
    assert_ok(pdl_launch(kernel, &desc, NULL));
}
