/* SPDX-License-Identifier: MIT */
/* Attributes beyond the descriptor's fields: those that the caller brings, those of kernels, and what
 * the driver says of clusters. */
#include "launch/attributes.h"
#include "support.h"

static CUlaunchAttribute attribute_of(int number, uint64_t value)
{
    CUlaunchAttribute attribute;
    memset(&attribute, 0, sizeof(attribute));
    attribute.id = (CUlaunchAttributeID)number;
    memcpy(&attribute.value, &value, sizeof(value));
    return attribute;
}

/* Those are seen in their fields only: a cooperative launch would be said to overlap, a cluster not be checked. */
TEST(what_is_checked_or_decided_is_refused_as_an_extra_attribute)
{
    static const int fields_alone[] = {2, 4, 6, 7, 11, 13};
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    for (size_t i = 0; i < PDL_ATTRIBUTE_COUNT; i++) {
        const struct pdl_attribute *const row = &pdl_attributes[i];
        bool alone = false;
        for (size_t k = 0; k < COUNT_OF(fields_alone); k++) {
            alone = alone || row->number == fields_alone[k];
        }
        for (uint64_t value = 0; value < 2; value++) {
            const CUlaunchAttribute extra[] = {attribute_of(99, 1),
                                               attribute_of(row->number, value)};
            pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
            pdl_occupancy occupancy = PDL_OCCUPANCY_INIT;
            pdl_launch_desc desc =
                DESC(.extra_attributes = extra, .extra_attribute_count = COUNT_OF(extra));
            if (alone) {
                assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_DESC_FIELD,
                               "extra_attributes", "extra_attributes[1]", row->name, row->field);
                assert_refused(pdl_launch_explain(kernel, &desc, &report), PDL_ERROR_DESC_FIELD,
                               "extra_attributes", row->name);
                assert_refused(pdl_launch_occupancy(kernel, &desc, &occupancy),
                               PDL_ERROR_DESC_FIELD, "extra_attributes", row->name);
                continue;
            }
            assert_ok(pdl_launch(kernel, &desc, NULL));
            assert_memory_equal(mock_last_launch()->attributes, extra, sizeof(extra));
            assert_explained(kernel, &desc, mock_last_launch());
        }
    }
}

TEST(as_many_extra_attributes_as_there_is_room_for_fit_beside_all_others)
{
    CUlaunchAttribute extra[16];
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    pdl_launch_desc desc = plain_desc();
    for (size_t i = 0; i < COUNT_OF(extra); i++) {
        extra[i] = attribute_of(100 + (int)i, i);
    }
    for (size_t i = 0; i < field_case_count; i++) {
        set_field(&field_cases[i], &desc);
    }
    desc.cooperative = 0;
    desc.extra_attributes = extra;
    desc.extra_attribute_count = COUNT_OF(extra);
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_int_equal(mock_last_launch()->attribute_count, field_case_count - 1 + COUNT_OF(extra));
    assert_explained(kernel, &desc, mock_last_launch());
    desc.extra_attributes = NULL;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_DESC_FIELD, "extra_attributes", "16");
}

TEST(the_table_is_in_the_order_of_the_numbers_and_has_every_field_case)
{
    assert_int_equal(PDL_ATTRIBUTE_COUNT, field_case_count);
    for (size_t i = 0; i < PDL_ATTRIBUTE_COUNT; i++) {
        const struct pdl_attribute *row = &pdl_attributes[i];
        assert_int_equal(row->number, field_cases[i].id);
        assert_string_equal(row->field, field_cases[i].name);
        assert_true(i == 0 || row[-1].number < row->number);
        assert_true(row->probe_size == 2 || row->probe_size == 4 || row->probe_size == 8);
        assert_true(row->size <= sizeof(CUlaunchAttributeValue));
        assert_true(row->since >= 12000 && row->since % 10 == 0);
        assert_ptr_equal(pdl_attribute_find(row->number), row);
    }
    assert_null(pdl_attribute_find(3));
    assert_null(pdl_attribute_find(99));
}

TEST(the_documentation_has_every_row)
{
    FILE *from = fopen(PDL_TEST_ATTRIBUTES_PAGE, "r");
    char line[512];
    size_t found = 0;
    assert_non_null(from);
    while (fgets(line, sizeof(line), from) != NULL) {
        char expected[512];
        char capability[16] = "any";
        const struct pdl_attribute *row = &pdl_attributes[found];
        if (strncmp(line, "| `", 3) != 0) {
            continue;
        }
        assert_true(found < PDL_ATTRIBUTE_COUNT);
        if (row->capability != 0) {
            (void)snprintf(capability, sizeof(capability), "%d.%d", row->capability / 10,
                           row->capability % 10);
        }
        (void)snprintf(expected, sizeof(expected), "| `%s` | %d | `%s` | %d.%d | %s | %s |\n",
                       row->field, row->number, row->name, row->since / 1000,
                       row->since % 1000 / 10, capability, row->remark);
        assert_string_equal(line, expected);
        found++;
    }
    (void)fclose(from);
    assert_int_equal(found, PDL_ATTRIBUTE_COUNT);
}

/* ---- shared memory modes -------------------------------------------------------------------- */

enum { OVERSIZED = 150, MODE = 17 }; /* attributes of the device and of the kernel */

static void set_static_and_oversized(int static_bytes, int oversized)
{
    mock.devices[0].attributes[OVERSIZED] = oversized;
    mock.kernels[0].attributes[0][CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES] = static_bytes;
    mock_apply();
}

TEST(each_mode_has_its_own_limit)
{
    static const struct {
        int oversized;
        uint32_t mode, most;
    } rows[] = {
        {262144, PDL_SHARED_MEMORY_PORTABLE, 49152 - 512},
        {262144, PDL_SHARED_MEMORY_NON_PORTABLE, 232448 - 512},
        {262144, PDL_SHARED_MEMORY_ALLOW_OVERSIZED, 262144 - 512},
        {262144, PDL_SHARED_MEMORY_PREFER_OVERSIZED, 262144 - 512},
        {0, PDL_SHARED_MEMORY_ALLOW_OVERSIZED, 232448 - 512}, /* the device has none */
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char asked[16];
        char most[16];
        set_static_and_oversized(512, rows[i].oversized);
        pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
        pdl_launch_desc desc =
            DESC(.shared_memory_mode = rows[i].mode, .dynamic_shared_memory = rows[i].most);
        assert_ok(pdl_launch(kernel, &desc, NULL));
        assert_int_equal(mock_last_launch()->config.sharedMemBytes, rows[i].most);
        (void)snprintf(asked, sizeof(asked), "%u", ++desc.dynamic_shared_memory);
        (void)snprintf(most, sizeof(most), "%u", rows[i].most);
        assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_SHARED_MEMORY,
                       "dynamic_shared_memory", asked, most, "fc1");
    }
}

TEST(a_value_newer_than_its_attribute_is_refused_with_both_versions)
{
    for (int version = 13020; version <= 13050; version += 10) {
        for (int symbol = 0; symbol < 2; symbol++) {
            char number[16];
            (void)snprintf(number, sizeof(number), "13.%d", version % 100 / 10);
            mock_set_driver_version(symbol ? MOCK_VERSION : version);
            mock_runtime_ops.runtime_version = version;
            pdl_kernel *kernel = test_kernel(symbol ? FROM_SYMBOL : FROM_FUNCTION, 0);
            pdl_launch_desc scheduling =
                DESC(.cluster_scheduling = PDL_CLUSTER_SCHEDULING_LOAD_BALANCING);
            pdl_launch_desc mode = plain_desc();
            mode.shared_memory_mode = PDL_SHARED_MEMORY_NON_PORTABLE;
            assert_ok(pdl_launch(kernel, &scheduling, NULL));
            assert_ok(pdl_launch(kernel, &mode, NULL));
            scheduling.cluster_scheduling = PDL_CLUSTER_SCHEDULING_RUBIN_DSMEM_LOCALITY;
            mode.shared_memory_mode = PDL_SHARED_MEMORY_ALLOW_OVERSIZED;
            if (version < 13040) {
                assert_refused(pdl_launch(kernel, &scheduling, NULL), PDL_ERROR_NOT_SUPPORTED,
                               "cluster_scheduling", "with this value", "13.4", number);
                assert_refused(pdl_launch(kernel, &mode, NULL), PDL_ERROR_NOT_SUPPORTED,
                               "shared_memory_mode", "with this value", "13.4", number);
            } else {
                assert_ok(pdl_launch(kernel, &scheduling, NULL));
                assert_int_equal(mock_last_launch()->attributes[0].value.cooperative, 3);
                assert_ok(pdl_launch(kernel, &mode, NULL));
                assert_int_equal(mock_last_launch()->attributes[0].value.cooperative, 3);
            }
        }
    }
}

TEST(a_kernels_own_mode_is_its_limit)
{
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        mock.kernels[0].attributes[0][MODE] = 0;
        set_static_and_oversized(0, 262144);
        pdl_kernel *kernel = test_kernel((enum kernel_source)source, 0);
        pdl_launch_desc desc = DESC(.dynamic_shared_memory = 262144);
        assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_SHARED_MEMORY,
                       "dynamic_shared_memory", "49152", "262144");
        assert_ok(pdl_kernel_set_attribute(kernel, PDL_KERNEL_SHARED_MEMORY_MODE,
                                           PDL_SHARED_MEMORY_ALLOW_OVERSIZED));
        const pdl_kernel_info info = kernel_info(kernel, 0);
        assert_int_equal(info.max_dynamic_shared_memory, 262144);
        assert_ok(pdl_launch(kernel, &desc, NULL));
        assert_int_equal(mock_last_launch()->attribute_count, 0);
    }
}

TEST(a_mode_that_others_have_set_is_seen_before_refusing)
{
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    pdl_launch_desc desc = plain_desc();
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_int_equal(mock.kernels[0].reads[0][MODE], 0); /* no launch that fits asks for it */
    mock.kernels[0].attributes[0][MODE] = PDL_SHARED_MEMORY_NON_PORTABLE;
    desc.dynamic_shared_memory = 232448;
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_int_equal(mock.kernels[0].reads[0][MODE], 1);
    drop_kernel(kernel);
    mock_set_driver_version(13030); /* which does not know it */
    kernel = test_kernel(FROM_FUNCTION, 0);
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_SHARED_MEMORY,
                   "dynamic_shared_memory", "49152");
}

TEST(the_drivers_calculator_is_not_asked_beyond_the_kernels_own_limit)
{
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    pdl_occupancy occupancy = PDL_OCCUPANCY_INIT;
    pdl_launch_desc desc = plain_desc();
    mock.kernels[0].occupancy = 0; /* what it says of so much */
    desc.cooperative = 1;
    desc.shared_memory_mode = PDL_SHARED_MEMORY_NON_PORTABLE;
    desc.dynamic_shared_memory = 49153;
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_refused(pdl_launch_occupancy(kernel, &desc, &occupancy), PDL_ERROR_NOT_SUPPORTED,
                   "shared_memory_mode", "49152", "PDL_KERNEL_SHARED_MEMORY_MODE");
    assert_int_equal(mock.calls[MOCK_cuOccupancyMaxActiveBlocksPerMultiprocessor], 0);
    desc.dynamic_shared_memory = 49152;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_COOPERATIVE_TOO_LARGE, "cooperative",
                   "0 on each of 132");
}

/* ---- attributes of kernels ------------------------------------------------------------------ */

TEST(any_attribute_of_a_kernel_reaches_the_driver)
{
    static const int32_t numbers[] = {PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY,
                                      PDL_KERNEL_SHARED_MEMORY_CARVEOUT,
                                      PDL_KERNEL_NON_PORTABLE_CLUSTER_SIZE,
                                      PDL_KERNEL_CLUSTER_SCHEDULING, PDL_KERNEL_SHARED_MEMORY_MODE};
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        pdl_kernel *kernel = test_kernel((enum kernel_source)source, 0);
        for (size_t i = 0; i < COUNT_OF(numbers); i++) {
            assert_ok(pdl_kernel_set_attribute(kernel, numbers[i], 1));
            assert_int_equal(mock.kernels[0].last_written, numbers[i]);
            assert_int_equal(mock.kernels[0].last_value, 1);
        }
    }
}

TEST(what_the_driver_refuses_is_said_with_the_number)
{
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    mock_fail(MOCK_cuFuncSetAttribute, 1, CUDA_ERROR_INVALID_VALUE);
    assert_refused(pdl_kernel_set_attribute(kernel, 14, 77), PDL_ERROR_NOT_SUPPORTED, "attribute",
                   "14", "77", "fc1");
    assert_invalid(pdl_kernel_set_attribute(NULL, 14, 1), "kernel", "");
}

/* ---- occupancy ------------------------------------------------------------------------------ */

TEST(blocks_and_clusters_at_a_time_are_counted)
{
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        pdl_kernel *kernel = test_kernel((enum kernel_source)source, 0);
        pdl_occupancy occupancy = PDL_OCCUPANCY_INIT;
        pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO); /* the driver is asked without it */
        mock.kernels[0].occupancy = 6;
        assert_ok(pdl_launch_occupancy(kernel, &desc, &occupancy));
        assert_int_equal(occupancy.device, 0);
        assert_int_equal(occupancy.blocks_per_sm, 6);
        assert_int_equal(occupancy.active_blocks, 6 * 132);
        assert_int_equal(occupancy.active_clusters, 0);
        assert_int_equal(occupancy.max_cluster_size, 8);
        desc.grid[0] = 128;
        desc.cluster[0] = 8;
        desc.cluster[1] = 1;
        assert_ok(pdl_launch_occupancy(kernel, &desc, &occupancy));
        assert_int_equal(occupancy.active_clusters, 16);
        assert_int_equal(occupancy.active_blocks, 128);
        desc.cluster[0] = 16;
        desc.portable_cluster_size = PDL_PORTABLE_CLUSTER_SIZE_NOT_REQUIRED;
        desc.shared_memory_mode = PDL_SHARED_MEMORY_NON_PORTABLE;
        assert_ok(pdl_launch_occupancy(kernel, &desc, &occupancy));
        assert_int_equal(occupancy.max_cluster_size, 16); /* the driver is told of it */
        assert_int_equal(occupancy.active_clusters, 8);
    }
}
