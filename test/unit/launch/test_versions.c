/* SPDX-License-Identifier: MIT */
/* Fields that are newer than the driver, or than the runtime that launches a symbol. */
#include "support.h"

static const struct {
    const char *field;
    CUlaunchAttributeID id;
    int since;
} newer_fields[] = {
    {"launch_event", CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, 12030},
    {"device_node", ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, 12040},
    {"shared_memory_carveout", ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 12050},
    {"preferred_cluster", ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, 12080},
    {"nvlink_centric_scheduling", ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING, 13000},
    {"portable_cluster_size", ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE, 13020},
    {"shared_memory_mode", ATTRIBUTE_SHARED_MEMORY_MODE, 13020},
};

static const int versions[] = {12000, 12010, 12020, 12030, 12040, 12050, 12060,
                               12080, 12090, 13000, 13010, 13020, 14000};

static int since(CUlaunchAttributeID id)
{
    for (size_t i = 0; i < COUNT_OF(newer_fields); i++) {
        if (newer_fields[i].id == id) {
            return newer_fields[i].since;
        }
    }
    return 12000;
}

static pdl_launch_desc desc_with(const struct field_case *field)
{
    pdl_launch_desc desc = plain_desc();
    if (field->id == ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION) {
        desc.cluster[0] = 2;
    }
    field->set(&desc);
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
        if (version >= since(field->id)) {
            assert_ok(pdl_launch(kernel, &desc, NULL));
            assert_explained(kernel, &desc, mock_last_launch());
            continue;
        }
        assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_NOT_SUPPORTED, field->name,
                       field->name);
        assert_true(names_version(pdl_last_error()->message, since(field->id)));
        assert_true(names_version(pdl_last_error()->message, version));
        assert_refused(pdl_launch_explain(kernel, &desc, &report), PDL_ERROR_NOT_SUPPORTED,
                       field->name, "");
        assert_int_equal(mock.launch_count, launches);
    }
}

static void a_field_newer_than_the_driver_is_refused_with_both_versions(void **state)
{
    (void)state;
    for (size_t v = 0; v < COUNT_OF(versions); v++) {
        mock_set_driver_version(versions[v]);
        for (int source = 0; source < KERNEL_SOURCES; source++) {
            mock_runtime_ops.runtime_version = 14000;
            pdl_kernel *kernel = make_kernel((enum kernel_source)source, 0);
            check(kernel, versions[v]);
            pdl_kernel_destroy(kernel);
        }
    }
}

static void a_field_newer_than_the_runtime_is_refused_for_its_symbols(void **state)
{
    (void)state;
    for (size_t v = 0; v < COUNT_OF(versions); v++) {
        mock_runtime_ops.runtime_version = versions[v];
        pdl_kernel *kernel = make_kernel(FROM_SYMBOL, 0);
        check(kernel, versions[v] < 13020 ? versions[v] : 13020);
        pdl_kernel_destroy(kernel);
        kernel = make_kernel(FROM_FUNCTION, 0); /* which no runtime launches */
        check(kernel, 13020);
        pdl_kernel_destroy(kernel);
    }
}

static void a_zero_with_its_flag_is_gated_too(void **state)
{
    (void)state;
    pdl_kernel *kernel;
    pdl_launch_desc desc = plain_desc();
    mock_set_driver_version(12040);
    kernel = make_kernel(FROM_FUNCTION, 0);
    desc.flags = PDL_LAUNCH_SET_SHARED_MEMORY_CARVEOUT;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_NOT_SUPPORTED,
                   "shared_memory_carveout", "");
    desc.flags = PDL_LAUNCH_SET_NVLINK_CENTRIC_SCHEDULING;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_NOT_SUPPORTED,
                   "nvlink_centric_scheduling", "");
    desc.flags = PDL_LAUNCH_SET_PRIORITY | PDL_LAUNCH_SET_MEM_SYNC_DOMAIN |
                 PDL_LAUNCH_SET_MEM_SYNC_DOMAIN_MAP;
    assert_ok(pdl_launch(kernel, &desc, NULL));
    pdl_kernel_destroy(kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MOCK_TEST(a_field_newer_than_the_driver_is_refused_with_both_versions),
        MOCK_TEST(a_field_newer_than_the_runtime_is_refused_for_its_symbols),
        MOCK_TEST(a_zero_with_its_flag_is_gated_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
