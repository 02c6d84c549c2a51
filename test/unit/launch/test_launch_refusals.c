/* SPDX-License-Identifier: MIT */
/* What pdl_launch() refuses before the driver is asked: the status, the field, the numbers, and
 * that nothing was launched. pdl_launch_explain() refuses the same. */
#include <math.h>

#include "support.h"

static pdl_kernel *kernel;

static int setup(void **state)
{
    (void)mock_setup(state);
    kernel = make_kernel(FROM_FUNCTION, 1); /* fc2 */
    return 0;
}

static int teardown(void **state)
{
    pdl_kernel_destroy(kernel);
    return mock_teardown(state);
}

#define REFUSAL_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

/* Asserts that both calls refuse the descriptor alike, and that the driver was not asked. */
#define assert_both_refuse(desc, status, field, ...)                                               \
    do {                                                                                           \
        pdl_launch_report report_ = PDL_LAUNCH_REPORT_INIT;                                        \
        assert_refused(pdl_launch(kernel, (desc), NULL), (status), (field), __VA_ARGS__);          \
        assert_refused(pdl_launch_explain(kernel, (desc), &report_), (status), (field),            \
                       __VA_ARGS__);                                                               \
        assert_int_equal(mock.calls[MOCK_cuLaunchKernelEx], 0);                                    \
    } while (0)

static void a_missing_kernel_or_descriptor_is_an_invalid_argument(void **state)
{
    (void)state;
    const pdl_launch_desc desc = plain_desc();
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    assert_refused(pdl_launch(NULL, &desc, NULL), PDL_ERROR_INVALID_ARGUMENT, "kernel", "NULL");
    assert_refused(pdl_launch(kernel, NULL, NULL), PDL_ERROR_INVALID_ARGUMENT, "desc", "NULL");
    assert_refused(pdl_launch(NULL, NULL, NULL), PDL_ERROR_INVALID_ARGUMENT, "kernel", "NULL");
    assert_refused(pdl_launch_explain(NULL, &desc, &report), PDL_ERROR_INVALID_ARGUMENT, "kernel",
                   "NULL");
    assert_refused(pdl_launch_explain(kernel, NULL, &report), PDL_ERROR_INVALID_ARGUMENT, "desc",
                   "NULL");
    assert_refused(pdl_launch_explain(kernel, &desc, NULL), PDL_ERROR_INVALID_ARGUMENT, "report",
                   "NULL");
    assert_int_equal(mock.calls[MOCK_cuLaunchKernelEx], 0);
}

static void an_unknown_flag_is_refused(void **state)
{
    (void)state;
    for (unsigned bit = 5; bit < 32; bit++) {
        pdl_launch_desc desc = plain_desc();
        desc.flags = 1u << bit | PDL_LAUNCH_SET_PRIORITY;
        assert_both_refuse(&desc, PDL_ERROR_DESC_FIELD, "flags", "");
    }
}

static void a_value_that_a_field_does_not_know_is_refused(void **state)
{
    (void)state;
#define VALUE(member, least)                                                                       \
    {                                                                                              \
#member, offsetof(pdl_launch_desc, member), (least)                                        \
    }
    static const struct {
        const char *field;
        size_t offset;
        uint32_t least;
    } fields[] = {
        VALUE(overlap, 4),
        VALUE(cluster_scheduling, 4),
        VALUE(cooperative, 2),
        VALUE(trigger_at_block_start, 2),
        VALUE(default_stream, 2),
        VALUE(mem_sync_domain, 2),
        VALUE(shared_memory_carveout, 101),
        VALUE(nvlink_centric_scheduling, 2),
        VALUE(portable_cluster_size, 3),
        VALUE(shared_memory_mode, 5),
        VALUE(extra_attribute_count, 17),
        VALUE(reserved_end, 1),
    };
#undef VALUE
    static char event;
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        const uint32_t values[] = {fields[i].least, 1000, 0x80000000u, UINT32_MAX};
        for (size_t j = 0; j < COUNT_OF(values); j++) {
            char number[32];
            pdl_launch_desc desc = plain_desc();
            if (fields[i].offset == offsetof(pdl_launch_desc, trigger_at_block_start)) {
                desc.trigger_event = (CUevent)(void *)&event; /* the others stand alone */
            }
            memcpy((char *)&desc + fields[i].offset, &values[j], sizeof(uint32_t));
            (void)snprintf(number, sizeof(number), "%u", values[j]);
            assert_both_refuse(&desc, PDL_ERROR_DESC_FIELD, fields[i].field, number);
        }
    }
}

static void nonzero_reserved_bytes_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        pdl_launch_desc desc = plain_desc();
        desc.reserved[i] = 1;
        assert_both_refuse(&desc, PDL_ERROR_DESC_FIELD, "reserved", "");
    }
}

static void an_access_policy_out_of_range_is_refused(void **state)
{
    (void)state;
    static char window;
    pdl_launch_desc good = plain_desc();
    good.access_policy.base = &window;
    good.access_policy.bytes = 1;
    good.access_policy.hit_ratio = 0.5f;
    const float ratios[] = {-0.001f, 1.001f, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < COUNT_OF(ratios); i++) {
        pdl_launch_desc desc = good;
        desc.access_policy.hit_ratio = ratios[i];
        assert_both_refuse(&desc, PDL_ERROR_DESC_FIELD, "access_policy", "hit_ratio");
    }
    const uint32_t hits[] = {3, UINT32_MAX};
    for (size_t i = 0; i < COUNT_OF(hits); i++) {
        pdl_launch_desc desc = good;
        desc.access_policy.hit_property = hits[i];
        assert_both_refuse(&desc, PDL_ERROR_DESC_FIELD, "access_policy", "hit_property");
    }
    const uint32_t misses[] = {PDL_ACCESS_PERSISTING, 3, UINT32_MAX};
    for (size_t i = 0; i < COUNT_OF(misses); i++) {
        pdl_launch_desc desc = good;
        desc.access_policy.miss_property = misses[i];
        assert_both_refuse(&desc, PDL_ERROR_DESC_FIELD, "access_policy", "miss_property");
    }
    pdl_launch_desc desc = good;
    desc.access_policy.base = NULL;
    assert_both_refuse(&desc, PDL_ERROR_DESC_FIELD, "access_policy", "base");
    desc = good;
    desc.access_policy.reserved = 1;
    assert_both_refuse(&desc, PDL_ERROR_DESC_FIELD, "access_policy", "reserved");
}

static void an_empty_grid_is_refused(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    desc.grid[0] = 0;
    desc.grid[1] = 4;
    assert_both_refuse(&desc, PDL_ERROR_INVALID_GRID, "grid", "grid.x", "0");
}

static void a_grid_over_the_devices_limit_is_refused(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    desc.grid[0] = 0x80000000u;
    assert_both_refuse(&desc, PDL_ERROR_INVALID_GRID, "grid", "grid.x", "2147483648", "2147483647");
    desc = plain_desc();
    desc.grid[1] = 65536;
    assert_both_refuse(&desc, PDL_ERROR_INVALID_GRID, "grid", "grid.y", "65536", "65535");
    desc = plain_desc();
    desc.grid[2] = 65537;
    assert_both_refuse(&desc, PDL_ERROR_INVALID_GRID, "grid", "grid.z", "65537", "65535");
}

static void a_grid_at_the_devices_limit_is_launched(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    desc.grid[0] = 0x7fffffff;
    desc.grid[1] = 65535;
    desc.grid[2] = 65535;
    assert_ok(pdl_launch(kernel, &desc, NULL));
}

static void an_empty_block_is_refused(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    desc.block[0] = 0;
    desc.block[1] = 4;
    assert_both_refuse(&desc, PDL_ERROR_INVALID_BLOCK, "block", "block.x", "0");
}

static void a_block_over_the_devices_limit_is_refused(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    desc.block[0] = 1025;
    assert_both_refuse(&desc, PDL_ERROR_INVALID_BLOCK, "block", "block.x", "1025", "1024");
    desc = plain_desc();
    desc.block[0] = 1;
    desc.block[1] = 1026;
    assert_both_refuse(&desc, PDL_ERROR_INVALID_BLOCK, "block", "block.y", "1026", "1024");
    desc = plain_desc();
    desc.block[0] = 1;
    desc.block[2] = 65;
    assert_both_refuse(&desc, PDL_ERROR_INVALID_BLOCK, "block", "block.z", "65", "64");
    desc = plain_desc();
    desc.block[2] = UINT32_MAX;
    assert_both_refuse(&desc, PDL_ERROR_INVALID_BLOCK, "block", "block.z", "4294967295", "64");
}

static void more_threads_than_the_kernel_allows_are_refused(void **state)
{
    (void)state;
    mock.kernels[1].attributes[0][CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 640;
    pdl_launch_desc desc = plain_desc();
    desc.block[0] = 641;
    assert_both_refuse(&desc, PDL_ERROR_BLOCK_TOO_LARGE, "block", "641", "640", "fc2", "device 0");
    desc.block[0] = 64;
    desc.block[1] = 32;
    desc.block[2] = 2;
    assert_both_refuse(&desc, PDL_ERROR_BLOCK_TOO_LARGE, "block", "4096", "640", "fc2", "device 0");
    desc.block[0] = 64;
    desc.block[1] = 10;
    desc.block[2] = 0;
    assert_ok(pdl_launch(kernel, &desc, NULL));
}

static void more_shared_memory_than_the_kernel_may_have_is_refused(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    desc.dynamic_shared_memory = 49153;
    assert_both_refuse(&desc, PDL_ERROR_SHARED_MEMORY, "dynamic_shared_memory", "49153", "49152",
                       "fc2");
    desc.dynamic_shared_memory = UINT32_MAX;
    assert_both_refuse(&desc, PDL_ERROR_SHARED_MEMORY, "dynamic_shared_memory", "4294967295",
                       "49152");
    desc.dynamic_shared_memory = 49152;
    assert_ok(pdl_launch(kernel, &desc, NULL));
}

static void a_cluster_on_a_device_without_clusters_is_not_supported(void **state)
{
    (void)state;
    mock.devices[0].attributes[CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH] = 0;
    mock_apply();
    pdl_launch_desc desc = plain_desc();
    desc.cluster[0] = 2;
    assert_both_refuse(&desc, PDL_ERROR_NOT_SUPPORTED, "cluster", "");
}

static void a_cluster_that_does_not_divide_the_grid_is_refused(void **state)
{
    (void)state;
    for (int axis = 0; axis < 3; axis++) {
        pdl_launch_desc desc = plain_desc();
        desc.grid[0] = desc.grid[1] = desc.grid[2] = 32;
        desc.cluster[0] = 2;
        desc.grid[axis] = 33;
        desc.cluster[axis] = 4;
        assert_both_refuse(&desc, PDL_ERROR_INVALID_CLUSTER, "cluster", "33", "4");
    }
    pdl_launch_desc desc = plain_desc(); /* grid.y is 1 by default */
    desc.cluster[0] = 1;
    desc.cluster[1] = 2;
    assert_both_refuse(&desc, PDL_ERROR_INVALID_CLUSTER, "cluster", "1", "2");
}

static void a_cluster_without_its_x_is_refused_and_not_ignored(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    desc.grid[1] = desc.grid[2] = 4;
    for (int axis = 1; axis < 3; axis++) {
        desc.cluster[0] = desc.cluster[1] = desc.cluster[2] = 0;
        desc.cluster[axis] = 2;
        assert_both_refuse(&desc, PDL_ERROR_INVALID_CLUSTER, "cluster", "");
    }
}

static void a_preferred_cluster_without_a_cluster_is_refused(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    desc.preferred_cluster[0] = 4;
    assert_both_refuse(&desc, PDL_ERROR_INVALID_CLUSTER, "preferred_cluster", "");
}

static void a_preferred_cluster_that_is_no_multiple_is_refused(void **state)
{
    (void)state;
    for (int axis = 0; axis < 3; axis++) {
        pdl_launch_desc desc = plain_desc();
        desc.grid[0] = desc.grid[1] = desc.grid[2] = 24;
        desc.cluster[0] = desc.preferred_cluster[0] = 2;
        desc.cluster[axis] = 2;
        desc.preferred_cluster[axis] = 3;
        assert_both_refuse(&desc, PDL_ERROR_INVALID_CLUSTER, "preferred_cluster", "3", "2");
    }
}

static void a_preferred_cluster_that_does_not_divide_the_grid_is_refused(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    desc.grid[0] = 10;
    desc.cluster[0] = 2;
    desc.preferred_cluster[0] = 4;
    assert_both_refuse(&desc, PDL_ERROR_INVALID_CLUSTER, "preferred_cluster", "10", "4");
}

static void a_cooperative_grid_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    desc.cooperative = 1;
    desc.grid[0] = 265; /* two blocks on each of 132 SMs */
    assert_both_refuse(&desc, PDL_ERROR_COOPERATIVE_TOO_LARGE, "cooperative", "265", "264");
    desc.grid[0] = 5;
    desc.grid[1] = 53;
    assert_both_refuse(&desc, PDL_ERROR_COOPERATIVE_TOO_LARGE, "cooperative", "265", "264");
    desc.grid[0] = 65536; /* 2^32 blocks */
    desc.grid[1] = 32768;
    desc.grid[2] = 2;
    assert_both_refuse(&desc, PDL_ERROR_COOPERATIVE_TOO_LARGE, "cooperative", "4294967296", "264");
    desc.grid[0] = 264;
    desc.grid[1] = desc.grid[2] = 0;
    assert_ok(pdl_launch(kernel, &desc, NULL));
}

static void the_cooperative_limit_is_that_of_this_block_and_shared_memory(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    desc.cooperative = 1;
    desc.block[0] = 16;
    desc.block[1] = 6;
    desc.block[2] = 2;
    desc.dynamic_shared_memory = 12345;
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_int_equal(mock.kernels[1].occupancy_block, 192);
    assert_int_equal(mock.kernels[1].occupancy_shared, 12345);
    /* An answer for one shape is not kept for another. */
    mock.kernels[1].occupancy = 1;
    desc.grid[0] = 133;
    desc.block[0] = 32;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_COOPERATIVE_TOO_LARGE, "cooperative",
                   "133", "132");
    mock.kernels[1].occupancy = 2;
    desc.dynamic_shared_memory = 0; /* the same block with other shared memory */
    assert_ok(pdl_launch(kernel, &desc, NULL));
    mock.kernels[1].occupancy = 1;
    desc.dynamic_shared_memory = 1;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_COOPERATIVE_TOO_LARGE, "cooperative",
                   "133", "132");
    assert_int_equal(mock.launch_count, 2);
    /* However many blocks an SM of some later device may hold. */
    mock.kernels[1].occupancy = 300;
    desc.dynamic_shared_memory = 2;
    desc.block[0] = 33;
    desc.block[1] = desc.block[2] = 0;
    desc.grid[0] = 300 * 132;
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_ok(pdl_launch(kernel, &desc, NULL));
    desc.grid[0]++;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_COOPERATIVE_TOO_LARGE, "cooperative",
                   "39601", "39600");
}

/* As cudaFuncSetAttribute() changes it for a carve-out, of which libpdl is not told. */
static void the_cooperative_limit_is_asked_for_again_before_a_refusal(void **state)
{
    (void)state;
    const uint32_t limits[] = {1, 2, 1, 3, 300, 1, 0, 2};
    pdl_launch_desc desc = plain_desc();
    desc.cooperative = 1;
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        pdl_kernel *used = make_kernel((enum kernel_source)source, 0);
        for (size_t i = 0; i < COUNT_OF(limits); i++) {
            pdl_occupancy occupancy = PDL_OCCUPANCY_INIT;
            const unsigned *const asked =
                &mock.calls[MOCK_cuOccupancyMaxActiveBlocksPerMultiprocessor];
            mock.kernels[0].occupancy = (int)limits[i];
            desc.grid[0] = limits[i] * 132 + 1;
            if (i == 0 || limits[i] > limits[i - 1]) { /* else the driver refuses */
                assert_refused(pdl_launch(used, &desc, NULL), PDL_ERROR_COOPERATIVE_TOO_LARGE,
                               "cooperative", "132 SMs");
            }
            desc.grid[0] = limits[i] * 132;
            if (limits[i] > 0) {
                assert_ok(pdl_launch(used, &desc, NULL));
                const unsigned before = *asked;
                assert_ok(pdl_launch(used, &desc, NULL));
                assert_int_equal(*asked, before + (limits[i] > 255)); /* too many to be kept */
            }
            desc.grid[0] = 1;
            desc.cooperative = 0;
            assert_ok(pdl_launch_occupancy(used, &desc, &occupancy));
            assert_int_equal(occupancy.blocks_per_sm, limits[i]);
            desc.cooperative = 1;
        }
        pdl_kernel_destroy(used);
    }
}

static void a_cooperative_launch_on_a_device_without_it_is_not_supported(void **state)
{
    (void)state;
    mock.devices[0].attributes[CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH] = 0;
    mock_apply();
    pdl_launch_desc desc = plain_desc();
    desc.cooperative = 1;
    assert_both_refuse(&desc, PDL_ERROR_NOT_SUPPORTED, "cooperative", "");
}

static void a_trigger_at_block_start_needs_its_event(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    desc.trigger_at_block_start = 1;
    assert_both_refuse(&desc, PDL_ERROR_DESC_FIELD, "trigger_at_block_start", "trigger_event");
}

/* The first check that fails is the one that is told. */
static void checks_are_made_in_their_order(void **state)
{
    (void)state;
    static char event;
    pdl_launch_desc desc = plain_desc();
    pdl_kernel_destroy(kernel);
    mock.kernels[1].attributes[0][CU_FUNC_ATTRIBUTE_PTX_VERSION] = 80;
    mock_set_driver_version(12020);
    kernel = make_kernel(FROM_FUNCTION, 1);
    desc.overlap = PDL_OVERLAP_REQUIRE;
    assert_both_refuse(&desc, PDL_ERROR_OVERLAP, "overlap", "");
    desc.launch_event = (CUevent)(void *)&event;
    assert_both_refuse(&desc, PDL_ERROR_NOT_SUPPORTED, "launch_event", "");
    desc.trigger_at_block_start = 1;
    assert_both_refuse(&desc, PDL_ERROR_DESC_FIELD, "trigger_at_block_start", "");
    desc.cooperative = 1;
    desc.grid[0] = 266;
    assert_both_refuse(&desc, PDL_ERROR_COOPERATIVE_TOO_LARGE, "cooperative", "");
    desc.cluster[0] = 4;
    assert_both_refuse(&desc, PDL_ERROR_INVALID_CLUSTER, "cluster", "");
    desc.dynamic_shared_memory = 50000;
    assert_both_refuse(&desc, PDL_ERROR_SHARED_MEMORY, "dynamic_shared_memory", "");
    desc.block[1] = 5;
    assert_both_refuse(&desc, PDL_ERROR_BLOCK_TOO_LARGE, "block", "");
    desc.block[2] = 65;
    assert_both_refuse(&desc, PDL_ERROR_INVALID_BLOCK, "block", "");
    desc.grid[0] = 0;
    assert_both_refuse(&desc, PDL_ERROR_INVALID_GRID, "grid", "");
    desc.cooperative = 2;
    assert_both_refuse(&desc, PDL_ERROR_DESC_FIELD, "cooperative", "");
    desc.size = 1;
    assert_both_refuse(&desc, PDL_ERROR_DESC_SIZE, "size", "");
}

static void a_failed_check_leaves_the_kernel_launchable(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    desc.grid[0] = 0;
    assert_both_refuse(&desc, PDL_ERROR_INVALID_GRID, "grid", "");
    desc.grid[0] = 1;
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_int_equal(mock.launch_count, 1);
}

static void a_kernel_without_a_name_is_refused_with_the_numbers_all_the_same(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    desc.block[1] = 8;
    mock_set_driver_version(12020); /* has no cuFuncGetName */
    assert_both_refuse(&desc, PDL_ERROR_BLOCK_TOO_LARGE, "block", "2048", "1024");
    mock_set_driver_version(MOCK_VERSION);
    mock_fail(MOCK_cuFuncGetName, 0, CUDA_ERROR_INVALID_HANDLE);
    assert_both_refuse(&desc, PDL_ERROR_BLOCK_TOO_LARGE, "block", "2048", "1024");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REFUSAL_TEST(a_missing_kernel_or_descriptor_is_an_invalid_argument),
        REFUSAL_TEST(an_unknown_flag_is_refused),
        REFUSAL_TEST(a_value_that_a_field_does_not_know_is_refused),
        REFUSAL_TEST(nonzero_reserved_bytes_are_refused),
        REFUSAL_TEST(an_access_policy_out_of_range_is_refused),
        REFUSAL_TEST(an_empty_grid_is_refused),
        REFUSAL_TEST(a_grid_over_the_devices_limit_is_refused),
        REFUSAL_TEST(a_grid_at_the_devices_limit_is_launched),
        REFUSAL_TEST(an_empty_block_is_refused),
        REFUSAL_TEST(a_block_over_the_devices_limit_is_refused),
        REFUSAL_TEST(more_threads_than_the_kernel_allows_are_refused),
        REFUSAL_TEST(more_shared_memory_than_the_kernel_may_have_is_refused),
        REFUSAL_TEST(a_cluster_on_a_device_without_clusters_is_not_supported),
        REFUSAL_TEST(a_cluster_that_does_not_divide_the_grid_is_refused),
        REFUSAL_TEST(a_cluster_without_its_x_is_refused_and_not_ignored),
        REFUSAL_TEST(a_preferred_cluster_without_a_cluster_is_refused),
        REFUSAL_TEST(a_preferred_cluster_that_is_no_multiple_is_refused),
        REFUSAL_TEST(a_preferred_cluster_that_does_not_divide_the_grid_is_refused),
        REFUSAL_TEST(a_cooperative_grid_that_does_not_fit_is_refused),
        REFUSAL_TEST(the_cooperative_limit_is_that_of_this_block_and_shared_memory),
        REFUSAL_TEST(the_cooperative_limit_is_asked_for_again_before_a_refusal),
        REFUSAL_TEST(a_cooperative_launch_on_a_device_without_it_is_not_supported),
        REFUSAL_TEST(a_trigger_at_block_start_needs_its_event),
        REFUSAL_TEST(checks_are_made_in_their_order),
        REFUSAL_TEST(a_failed_check_leaves_the_kernel_launchable),
        REFUSAL_TEST(a_kernel_without_a_name_is_refused_with_the_numbers_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
