/* SPDX-License-Identifier: MIT */
/* What pdl_launch() refuses before the driver is asked: the status, the field, the numbers, and
 * that nothing was launched. pdl_launch_explain() refuses the same. */
#include <math.h>

#include "support.h"

static pdl_kernel *kernel;

static int setup(void **state)
{
    (void)mock_setup(state);
    kernel = test_kernel(FROM_FUNCTION, 1); /* fc2 */
    return 0;
}

#define REFUSAL_TEST(name) TEST_WITH(name, setup, mock_teardown)

/* Asserts that both calls refuse the descriptor alike, and that the driver was not asked. */
#define assert_both_refuse(desc, status, field, ...)                                               \
    do {                                                                                           \
        pdl_launch_report report_ = PDL_LAUNCH_REPORT_INIT;                                        \
        assert_refused(pdl_launch(kernel, (desc), NULL), (status), (field), __VA_ARGS__);          \
        assert_refused(pdl_launch_explain(kernel, (desc), &report_), (status), (field),            \
                       __VA_ARGS__);                                                               \
        assert_int_equal(mock.calls[MOCK_cuLaunchKernelEx], 0);                                    \
    } while (0)

REFUSAL_TEST(a_missing_kernel_or_descriptor_is_an_invalid_argument)
{
    const pdl_launch_desc desc = plain_desc();
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    assert_invalid(pdl_launch(NULL, &desc, NULL), "kernel", "NULL");
    assert_invalid(pdl_launch(kernel, NULL, NULL), "desc", "NULL");
    assert_invalid(pdl_launch(NULL, NULL, NULL), "kernel", "NULL");
    assert_invalid(pdl_launch_explain(NULL, &desc, &report), "kernel", "NULL");
    assert_invalid(pdl_launch_explain(kernel, NULL, &report), "desc", "NULL");
    assert_invalid(pdl_launch_explain(kernel, &desc, NULL), "report", "NULL");
    assert_int_equal(mock.calls[MOCK_cuLaunchKernelEx], 0);
}

REFUSAL_TEST(an_unknown_flag_is_refused)
{
    for (unsigned bit = 5; bit < 32; bit++) {
        pdl_launch_desc desc = plain_desc();
        desc.flags = 1u << bit | PDL_LAUNCH_SET_PRIORITY;
        assert_both_refuse(&desc, PDL_ERROR_DESC_FIELD, "flags", "");
    }
}

REFUSAL_TEST(a_value_that_a_field_does_not_know_is_refused)
{
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

/* Descriptors, with the grid and the block of plain_desc() where these are all zero, and why they are refused, or
 * that they are launched. The descriptor is the test's name. */
struct row {
    CUdevice_attribute missing; /* which the device does not have; 0: none */
    int most_threads;           /* of the kernel; 0: as it is */
    const char *name;
    pdl_launch_desc desc;
    pdl_status status;
    const char *field;
    const char *words[5];
};

#define LIST(...) __VA_ARGS__
#define REFUSED(status_, field_, words_, ...)                                                      \
    REFUSED_WITH(.missing = 0, status_, field_, words_, __VA_ARGS__)
#define REFUSED_WITH(with_, status_, field_, words_, ...)                                          \
    {                                                                                              \
        with_, .name = #__VA_ARGS__, .desc = {__VA_ARGS__}, .status = PDL_ERROR_##status_,         \
               .field = #field_, .words = {                                                        \
                   LIST words_                                                                     \
               }                                                                                   \
    }
#define LAUNCHED(with_, ...)                                                                       \
    {                                                                                              \
        with_, .name = #__VA_ARGS__, .desc = { __VA_ARGS__ }                                       \
    }

static char window;

static struct row rows[] = {
    REFUSED(DESC_FIELD, reserved, (""), .reserved = {1}),
    REFUSED(DESC_FIELD, reserved, (""), .reserved = {0, 1}),
    REFUSED(DESC_FIELD, access_policy, ("hit_ratio"),
            .access_policy = {&window, 1, -0.001f, 0, 0, 0}),
    REFUSED(DESC_FIELD, access_policy, ("hit_ratio"),
            .access_policy = {&window, 1, 1.001f, 0, 0, 0}),
    REFUSED(DESC_FIELD, access_policy, ("hit_ratio"),
            .access_policy = {&window, 1, INFINITY, 0, 0, 0}),
    REFUSED(DESC_FIELD, access_policy, ("hit_ratio"),
            .access_policy = {&window, 1, -INFINITY, 0, 0, 0}),
    REFUSED(DESC_FIELD, access_policy, ("hit_ratio"), .access_policy = {&window, 1, NAN, 0, 0, 0}),
    REFUSED(DESC_FIELD, access_policy, ("hit_property"),
            .access_policy = {&window, 1, 0.5f, 3, 0, 0}),
    REFUSED(DESC_FIELD, access_policy, ("hit_property"),
            .access_policy = {&window, 1, 0.5f, UINT32_MAX, 0, 0}),
    REFUSED(DESC_FIELD, access_policy, ("miss_property"),
            .access_policy = {&window, 1, 0.5f, 0, PDL_ACCESS_PERSISTING, 0}),
    REFUSED(DESC_FIELD, access_policy, ("miss_property"),
            .access_policy = {&window, 1, 0.5f, 0, 3, 0}),
    REFUSED(DESC_FIELD, access_policy, ("miss_property"),
            .access_policy = {&window, 1, 0.5f, 0, UINT32_MAX, 0}),
    REFUSED(DESC_FIELD, access_policy, ("base"), .access_policy = {NULL, 1, 0.5f, 0, 0, 0}),
    REFUSED(DESC_FIELD, access_policy, ("reserved"), .access_policy = {&window, 1, 0.5f, 0, 0, 1}),
    REFUSED(INVALID_GRID, grid, ("grid.x", "0"), .grid = {0, 4}),
    REFUSED(INVALID_GRID, grid, ("grid.x", "2147483648", "2147483647"), .grid = {0x80000000u}),
    REFUSED(INVALID_GRID, grid, ("grid.y", "65536", "65535"), .grid = {132, 65536}),
    REFUSED(INVALID_GRID, grid, ("grid.z", "65537", "65535"), .grid = {132, 0, 65537}),
    LAUNCHED(.missing = 0, .grid = {0x7fffffff, 65535, 65535}),
    REFUSED(INVALID_BLOCK, block, ("block.x", "0"), .block = {0, 4}),
    REFUSED(INVALID_BLOCK, block, ("block.x", "1025", "1024"), .block = {1025}),
    REFUSED(INVALID_BLOCK, block, ("block.y", "1026", "1024"), .block = {1, 1026}),
    REFUSED(INVALID_BLOCK, block, ("block.z", "65", "64"), .block = {1, 0, 65}),
    REFUSED(INVALID_BLOCK, block, ("block.z", "4294967295", "64"), .block = {256, 0, UINT32_MAX}),
    REFUSED_WITH(.most_threads = 640, BLOCK_TOO_LARGE, block, ("641", "640", "fc2", "device 0"),
                 .block = {641}),
    REFUSED_WITH(.most_threads = 640, BLOCK_TOO_LARGE, block, ("4096", "640", "fc2", "device 0"),
                 .block = {64, 32, 2}),
    LAUNCHED(.most_threads = 640, .block = {64, 10}),
    REFUSED(SHARED_MEMORY, dynamic_shared_memory, ("49153", "49152", "fc2"),
            .dynamic_shared_memory = 49153),
    REFUSED(SHARED_MEMORY, dynamic_shared_memory, ("4294967295", "49152"),
            .dynamic_shared_memory = UINT32_MAX),
    LAUNCHED(.missing = 0, .dynamic_shared_memory = 49152),
    REFUSED_WITH(.missing = CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, NOT_SUPPORTED, cluster, (""),
                 .cluster = {2}),
    REFUSED(INVALID_CLUSTER, cluster, ("33", "4"), .grid = {33, 32, 32}, .cluster = {4}),
    REFUSED(INVALID_CLUSTER, cluster, ("33", "4"), .grid = {32, 33, 32}, .cluster = {2, 4}),
    REFUSED(INVALID_CLUSTER, cluster, ("33", "4"), .grid = {32, 32, 33}, .cluster = {2, 0, 4}),
    REFUSED(INVALID_CLUSTER, cluster, ("1", "2"), .cluster = {1, 2}),
    /* without its x, a cluster is not ignored */
    REFUSED(INVALID_CLUSTER, cluster, (""), .grid = {132, 4, 4}, .cluster = {0, 2}),
    REFUSED(INVALID_CLUSTER, cluster, (""), .grid = {132, 4, 4}, .cluster = {0, 0, 2}),
    REFUSED(INVALID_CLUSTER, preferred_cluster, (""), .preferred_cluster = {4}),
    REFUSED(INVALID_CLUSTER, preferred_cluster, ("3", "2"), .grid = {24, 24, 24}, .cluster = {2},
            .preferred_cluster = {3}),
    REFUSED(INVALID_CLUSTER, preferred_cluster, ("3", "2"), .grid = {24, 24, 24}, .cluster = {2, 2},
            .preferred_cluster = {2, 3}),
    REFUSED(INVALID_CLUSTER, preferred_cluster, ("3", "2"), .grid = {24, 24, 24},
            .cluster = {2, 0, 2}, .preferred_cluster = {2, 0, 3}),
    REFUSED(INVALID_CLUSTER, preferred_cluster, ("10", "4"), .grid = {10}, .cluster = {2},
            .preferred_cluster = {4}),
    /* two blocks fit on each of 132 SMs */
    REFUSED(COOPERATIVE_TOO_LARGE, cooperative, ("265", "264"), .cooperative = 1, .grid = {265}),
    REFUSED(COOPERATIVE_TOO_LARGE, cooperative, ("265", "264"), .cooperative = 1, .grid = {5, 53}),
    REFUSED(COOPERATIVE_TOO_LARGE, cooperative, ("4294967296", "264"), .cooperative = 1,
            .grid = {65536, 32768, 2}),
    LAUNCHED(.missing = 0, .cooperative = 1, .grid = {264}),
    REFUSED_WITH(.missing = CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, NOT_SUPPORTED, cooperative,
                 (""), .cooperative = 1),
    REFUSED(DESC_FIELD, trigger_at_block_start, ("trigger_event"), .trigger_at_block_start = 1),
};

/* Both calls refuse the descriptor alike, the driver is not asked, and the kernel stays launchable. */
TEST_ROWS(each_descriptor, rows, setup, mock_teardown)
{
    const pdl_launch_desc plain = plain_desc();
    const uint32_t none[3] = {0};
    pdl_launch_desc desc = row->desc;
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    desc.size = plain.size;
    if (memcmp(desc.grid, none, sizeof(none)) == 0) {
        memcpy(desc.grid, plain.grid, sizeof(none));
    }
    if (memcmp(desc.block, none, sizeof(none)) == 0) {
        memcpy(desc.block, plain.block, sizeof(none));
    }
    if (row->missing != 0) {
        mock.devices[0].attributes[row->missing] = 0;
        mock_apply();
    }
    if (row->most_threads != 0) {
        mock.kernels[1].attributes[0][CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = row->most_threads;
    }
    if (row->status == PDL_SUCCESS) {
        assert_ok(pdl_launch_explain(kernel, &desc, &report));
        assert_ok(pdl_launch(kernel, &desc, NULL));
        return;
    }
    assert_refused_(pdl_launch(kernel, &desc, NULL), "pdl_launch", row->status, row->field,
                    row->words, __FILE__, __LINE__);
    assert_refused_(pdl_launch_explain(kernel, &desc, &report), "pdl_launch_explain", row->status,
                    row->field, row->words, __FILE__, __LINE__);
    assert_int_equal(mock.calls[MOCK_cuLaunchKernelEx], 0);
    assert_ok(pdl_launch(kernel, &plain, NULL));
    assert_int_equal(mock.launch_count, 1);
}

REFUSAL_TEST(the_cooperative_limit_is_that_of_this_block_and_shared_memory)
{
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
REFUSAL_TEST(the_cooperative_limit_is_asked_for_again_before_a_refusal)
{
    const uint32_t limits[] = {1, 2, 1, 3, 300, 1, 0, 2};
    pdl_launch_desc desc = plain_desc();
    desc.cooperative = 1;
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        pdl_kernel *used = test_kernel((enum kernel_source)source, 0);
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
    }
}

/* The first check that fails is the one that is told. */
REFUSAL_TEST(checks_are_made_in_their_order)
{
    static char event;
    pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_REQUIRE);
    drop_kernel(kernel);
    mock.kernels[1].attributes[0][CU_FUNC_ATTRIBUTE_PTX_VERSION] = 80;
    mock_set_driver_version(12020);
    kernel = test_kernel(FROM_FUNCTION, 1);
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

REFUSAL_TEST(a_kernel_without_a_name_is_refused_with_the_numbers_all_the_same)
{
    pdl_launch_desc desc = plain_desc();
    desc.block[1] = 8;
    mock_set_driver_version(12020); /* has no cuFuncGetName */
    assert_both_refuse(&desc, PDL_ERROR_BLOCK_TOO_LARGE, "block", "2048", "1024");
    mock_set_driver_version(MOCK_VERSION);
    mock_fail(MOCK_cuFuncGetName, 0, CUDA_ERROR_INVALID_HANDLE);
    assert_both_refuse(&desc, PDL_ERROR_BLOCK_TOO_LARGE, "block", "2048", "1024");
}
