/* SPDX-License-Identifier: MIT */
/* pdl_overlap_query(): each condition broken alone, the numbers of a pair that can be counted by
 * hand, and what the caller gets wrong. */
#include "overlap_support.h"

#include <pdl/overlap.h>

/* Two kernels of the mock, of 64 registers and 128 threads with 40 KiB each: an SM holds 5
 * blocks. */
struct pair {
    pdl_kernel *primary;
    pdl_kernel *secondary;
    pdl_launch_desc primary_desc;
    pdl_launch_desc secondary_desc;
};

static struct pair pair;

enum { SHARED = 40960 };

static void set_kernel(unsigned kernel, CUfunction_attribute attribute, int value)
{
    mock.kernels[kernel].attributes[0][attribute] = value;
}

static pdl_launch_desc desc_of(unsigned blocks)
{
    pdl_launch_desc desc = plain_desc();
    desc.grid[0] = blocks;
    desc.block[0] = 128;
    desc.dynamic_shared_memory = SHARED;
    return desc;
}

static int set_up(void **state)
{
    if (mock_setup(state) != 0) {
        return 1;
    }
    for (unsigned kernel = 0; kernel < 2; kernel++) {
        set_kernel(kernel, CU_FUNC_ATTRIBUTE_NUM_REGS, 64);
        set_kernel(kernel, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100);
        mock.kernels[kernel].occupancy = 5;
    }
    pair.primary = test_kernel(FROM_CU_KERNEL, 0);
    pair.secondary = test_kernel(FROM_CU_KERNEL, 1);
    assert_ok(pdl_kernel_declare(pair.primary, PDL_YES, PDL_YES));
    assert_ok(pdl_kernel_declare(pair.secondary, PDL_YES, PDL_YES));
    pair.primary_desc = desc_of(3 * 132);
    pair.secondary_desc = desc_of(1000);
    pair.secondary_desc.overlap = PDL_OVERLAP_AUTO;
    return 0;
}

#define PAIR_TEST(name) TEST_WITH(name, set_up, mock_teardown)

static pdl_overlap_report query(void)
{
    pdl_overlap_report report = PDL_OVERLAP_REPORT_INIT;
    assert_ok(pdl_overlap_query(pair.primary, &pair.primary_desc, pair.secondary,
                                &pair.secondary_desc, -1, &report));
    assert_string_not_equal(report.message, "");
    assert_int_equal(mock.launch_count, 0);
    return report;
}

/* The one condition has that outcome, every other one is met, and the sentence says why. */
static void assert_only(const pdl_overlap_report *report, pdl_condition condition, uint32_t met,
                        uint32_t overlap, uint32_t early_launch)
{
    for (uint32_t i = 0; i < report->condition_count; i++) {
        const pdl_condition_report *one = &report->conditions[i];
        const uint32_t expected = one->condition == (uint32_t)condition ? met : (uint32_t)PDL_YES;
        if (one->met != expected) {
            fail_msg("%s is %u: %s", pdl_condition_name((pdl_condition)one->condition), one->met,
                     one->message);
        }
    }
    assert_int_equal(report->overlap, overlap);
    assert_int_equal(report->early_launch, early_launch);
    if (overlap != PDL_YES) {
        assert_non_null(strstr(report->message, condition_of(report, condition)->message));
    }
}

/* ---- conditions ----------------------------------------------------------------------------- */

PAIR_TEST(every_condition_of_a_good_pair_is_met)
{
    const pdl_overlap_report report = query();
    assert_int_equal(report.condition_count, 17);
    for (uint32_t i = 0; i < report.condition_count; i++) {
        assert_int_equal(report.conditions[i].condition, i + 1); /* in the order of the list */
        assert_string_not_equal(report.conditions[i].message, "");
    }
    assert_only(&report, PDL_CONDITION_DEVICE, PDL_YES, PDL_YES, PDL_YES);
}

static void compile_cluster(unsigned kernel)
{
    set_kernel(kernel, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2);
    set_kernel(kernel, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 1);
    set_kernel(kernel, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 1);
}

/* One condition of the good pair alone is not met, or not known: its outcome, both answers, what the first one says, and
 * the change. */
#define BROKEN(name, condition, outcome, overlap, early, says, ...)                                \
    PAIR_TEST(name)                                                                                \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
        const pdl_overlap_report report = query();                                                 \
        assert_only(&report, PDL_CONDITION_##condition, PDL_##outcome, PDL_##overlap,              \
                    PDL_##early);                                                                  \
        assert_non_null(strstr(report.message, says));                                             \
    }
BROKEN(a_device_below_9_0_does_not_overlap, DEVICE, NO, NO, NO, "8.0",
       mock.devices[0].attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 8;
       mock_apply())
BROKEN(the_environment_turns_it_off, ENVIRONMENT, NO, NO, NO, "",
       mock.table.overlap_disabled = true;
       mock_apply())
BROKEN(a_secondary_that_asks_for_no_overlap_gets_none, ATTRIBUTE, NO, NO, NO, "",
       pair.secondary_desc.overlap = PDL_OVERLAP_NONE)
BROKEN(an_overlap_that_is_required_in_vain_is_an_answer, SECONDARY_CODE, NO, NO, NO, "",
       pair.secondary_desc.overlap = PDL_OVERLAP_REQUIRE;
       set_kernel(1, CU_FUNC_ATTRIBUTE_PTX_VERSION, 80))
BROKEN(another_stream_does_not_overlap, STREAM, NO, NO, NO, "",
       pair.secondary_desc.stream = mock_stream(1, 0))
BROKEN(a_secondary_known_not_to_wait_does_not_overlap, WAITS, NO, NO, NO, "",
       assert_ok(pdl_kernel_declare(pair.secondary, PDL_NO, PDL_YES)))
BROKEN(a_secondary_not_known_to_wait_does_not_overlap, WAITS, UNKNOWN, NO, NO, "known to wait",
       assert_ok(pdl_kernel_declare(pair.secondary, PDL_UNKNOWN, PDL_UNKNOWN)))
BROKEN(a_cooperative_secondary_does_not_overlap, COOPERATIVE, NO, NO, NO, "",
       pair.secondary_desc.grid[0] = 132;
       pair.secondary_desc.cooperative = 1)
BROKEN(a_primary_for_8_0_hides_launch_latency_only, PRIMARY_CODE, NO, NO, YES, "",
       set_kernel(0, CU_FUNC_ATTRIBUTE_PTX_VERSION, 80))
BROKEN(a_primary_without_a_trigger_hides_launch_latency_only, TRIGGERS, NO, NO, YES, "",
       assert_ok(pdl_kernel_declare(pair.primary, PDL_YES, PDL_NO)))
BROKEN(a_primary_not_known_to_trigger_leaves_it_open, TRIGGERS, UNKNOWN, UNKNOWN, YES, "",
       assert_ok(pdl_kernel_declare(pair.primary, PDL_YES, PDL_UNKNOWN)))
BROKEN(clusters_compiled_into_the_primary_leave_it_open, CLUSTER, UNKNOWN, UNKNOWN, YES,
       "the primary's clusters of 2 blocks", compile_cluster(0))
BROKEN(clusters_compiled_into_the_secondary_leave_it_open, CLUSTER, UNKNOWN, UNKNOWN, YES,
       "the secondary's clusters of 2 blocks", compile_cluster(1))
BROKEN(a_driver_that_counts_otherwise_leaves_it_open, OCCUPANCY, UNKNOWN, UNKNOWN, YES, "",
       mock.kernels[1].occupancy = 4)

/* As its field would. */
PAIR_TEST(a_carve_out_in_extra_attributes_counts)
{
    CUlaunchAttribute extra;
    memset(&extra, 0, sizeof(extra));
    extra.id = ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
    for (uint32_t percent = 0; percent <= 100; percent += 25) {
        pair.secondary_desc.shared_memory_carveout = percent;
        pair.secondary_desc.flags = PDL_LAUNCH_SET_SHARED_MEMORY_CARVEOUT;
        const pdl_overlap_report field = query();
        pair.secondary_desc.shared_memory_carveout = 0;
        pair.secondary_desc.flags = 0;
        memcpy(&extra.value, &percent, sizeof(percent));
        pair.secondary_desc.extra_attributes = &extra;
        pair.secondary_desc.extra_attribute_count = 1;
        const pdl_overlap_report other = query();
        pair.secondary_desc.extra_attribute_count = 0;
        assert_memory_equal(&field, &other, sizeof(field));
    }
}

PAIR_TEST(the_default_streams_are_two)
{
    pair.primary_desc.default_stream = PDL_DEFAULT_STREAM_LEGACY;
    pair.secondary_desc.default_stream = PDL_DEFAULT_STREAM_PER_THREAD;
    pdl_overlap_report report = query();
    assert_only(&report, PDL_CONDITION_STREAM, PDL_NO, PDL_NO, PDL_NO);
    pair.primary_desc.default_stream = PDL_DEFAULT_STREAM_PER_THREAD;
    report = query();
    assert_only(&report, PDL_CONDITION_STREAM, PDL_YES, PDL_YES, PDL_YES);
    pair.primary_desc.stream = CU_STREAM_PER_THREAD; /* by its handle */
    report = query();
    assert_only(&report, PDL_CONDITION_STREAM, PDL_YES, PDL_YES, PDL_YES);
}

PAIR_TEST(an_event_between_streams_may_or_may_not)
{
    struct CUevent_st *event = NULL;
    event = mock_event_create(CU_EVENT_DISABLE_TIMING);
    pair.primary_desc.trigger_event = event;
    pair.secondary_desc.stream = mock_stream(1, 0);
    const pdl_overlap_report report = query();
    assert_only(&report, PDL_CONDITION_STREAM, PDL_UNKNOWN, PDL_UNKNOWN, PDL_UNKNOWN);
    (void)mock_event_destroy(event);
}

PAIR_TEST(clusters_leave_it_open)
{
    pair.secondary_desc.cluster[0] = 2;
    pdl_overlap_report report = query();
    assert_only(&report, PDL_CONDITION_CLUSTER, PDL_UNKNOWN, PDL_UNKNOWN, PDL_YES);
    pair.secondary_desc.cluster[0] = 1;
    report = query();
    assert_only(&report, PDL_CONDITION_CLUSTER, PDL_YES, PDL_YES, PDL_YES);
    for (int axis = 1; axis < 3; axis++) {
        pair.secondary_desc.grid[axis] = pair.secondary_desc.cluster[axis] = 2;
        report = query();
        assert_only(&report, PDL_CONDITION_CLUSTER, PDL_UNKNOWN, PDL_UNKNOWN, PDL_YES);
        pair.secondary_desc.grid[axis] = pair.secondary_desc.cluster[axis] = 1;
    }
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* Both grids and the room for them; 5 blocks of the primary go on each of 132 SMs. Counts are those of waves, blocks in the
 * last, the most on an SM, the SMs with so many, the fewest, and what fits beside both. */
static const struct number_row {
    const char *name;
    uint32_t blocks[2];
    uint32_t counts[7];
    uint32_t total;
} number_rows[] = {
    {"the room beside the primary is counted", {396, 1000}, {1, 396, 3, 132, 3, 2, 2}, 264},
    {"more than the grid never fits", {396, 7}, {1, 396, 3, 132, 3, 2, 2}, 7},
    {"the last wave of several counts", {1460, 1000}, {3, 140, 2, 8, 1, 3, 4}, 8 * 3 + 124 * 4},
};

TEST_ROWS(numbers_of_a_pair, number_rows, set_up, mock_teardown)
{
    pair.primary_desc.grid[0] = row->blocks[0];
    pair.secondary_desc.grid[0] = row->blocks[1];
    const pdl_overlap_report report = query();
    const uint32_t got[] = {report.primary_waves,    (uint32_t)report.last_wave,
                            report.most_on_sm,       report.sms_with_most,
                            report.fewest_on_sm,     report.fit_beside_most,
                            report.fit_beside_fewest};
    assert_memory_equal(got, row->counts, sizeof(got));
    assert_int_equal(report.fit_total, row->total);
    assert_int_equal(report.device, 0);
    assert_int_equal(report.sms, 132);
    assert_int_equal(report.primary_blocks, row->blocks[0]);
    assert_int_equal(report.secondary_blocks, row->blocks[1]);
    assert_int_equal(report.primary_per_sm, 5);
    assert_int_equal(report.secondary_per_sm, 5);
    assert_int_equal(report.idle_sms, 0);
    assert_int_equal(report.first_out, PDL_CONDITION_SHARED_MEMORY);
}

PAIR_TEST(a_wave_that_is_full_is_not_an_empty_one)
{
    pair.primary_desc.grid[0] = 660;
    const pdl_overlap_report report = query();
    assert_int_equal(report.primary_waves, 1);
    assert_int_equal(report.last_wave, 660);
    assert_int_equal(report.most_on_sm, 5);
    assert_int_equal(report.overlap, PDL_NO);
    assert_int_equal(report.early_launch, PDL_YES);
    assert_int_equal(condition_of(&report, PDL_CONDITION_SHARED_MEMORY)->met, PDL_NO);
    assert_int_equal(condition_of(&report, PDL_CONDITION_CARVEOUT)->met, PDL_YES);
}

PAIR_TEST(static_shared_memory_counts)
{
    set_kernel(0, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 30000);
    mock.kernels[0].occupancy = 3;
    const pdl_overlap_report report = query();
    assert_int_equal(report.primary_per_sm, 3);
    assert_int_equal(resource_of(&report, PDL_CONDITION_SHARED_MEMORY)->primary_block,
                     (SHARED + 30000 + 1024 + 127) / 128 * 128);
}

PAIR_TEST(a_later_wave_that_is_not_full_may_leave_room)
{
    /* Beside one block of the secondary's 200 KiB there is no room for a block of 40 KiB. */
    pair.primary_desc.grid[0] = 2 * 660 + 132;
    pair.secondary_desc.dynamic_shared_memory = 204800;
    set_kernel(1, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 204800);
    mock.kernels[1].occupancy = 1;
    pdl_overlap_report report = query();
    assert_int_equal(report.most_on_sm, 1);
    assert_int_equal(report.fit_beside_most, 0);
    assert_int_equal(report.overlap, PDL_UNKNOWN);
    assert_int_equal(condition_of(&report, PDL_CONDITION_SHARED_MEMORY)->met, PDL_UNKNOWN);
    pair.primary_desc.grid[0] = 132; /* the only wave: evenly */
    report = query();
    assert_int_equal(report.overlap, PDL_NO);
    assert_int_equal(condition_of(&report, PDL_CONDITION_SHARED_MEMORY)->met, PDL_NO);
}

PAIR_TEST(idle_sms_are_room_enough)
{
    /* One block of all the shared memory on 100 SMs: only the other 32 have room. */
    pair.primary_desc.grid[0] = 100;
    pair.primary_desc.dynamic_shared_memory = 232448;
    set_kernel(0, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448);
    mock.kernels[0].occupancy = 1;
    const pdl_overlap_report report = query();
    assert_int_equal(report.idle_sms, 32);
    assert_int_equal(report.fit_beside_most, 0);
    assert_int_equal(report.fit_beside_fewest, 5);
    assert_int_equal(report.fit_total, 160);
    assert_int_equal(report.overlap, PDL_YES);
}

PAIR_TEST(each_resource_says_what_is_taken_and_left)
{
    const pdl_overlap_report report = query();
    const struct {
        pdl_condition condition;
        uint32_t capacity, block, left, fit;
    } expected[] = {
        {PDL_CONDITION_THREADS, 2048, 128, 2048 - 384, 13},
        {PDL_CONDITION_REGISTERS, 65536, 8192, 65536 - 24576, 5},
        {PDL_CONDITION_SHARED_MEMORY, 233472, SHARED + 1024, 233472 - 3 * 41984, 2},
        {PDL_CONDITION_BLOCKS, 32, 1, 29, 29},
    };
    assert_int_equal(report.resource_count, 5);
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        const pdl_resource_report *resource = resource_of(&report, expected[i].condition);
        assert_int_equal(resource->known, 1);
        assert_int_equal(resource->capacity, expected[i].capacity);
        assert_int_equal(resource->primary_block, expected[i].block);
        assert_int_equal(resource->secondary_block, expected[i].block);
        assert_int_equal(resource->left, expected[i].left);
        assert_int_equal(resource->fit, expected[i].fit);
    }
    assert_int_equal(resource_of(&report, PDL_CONDITION_BARRIERS)->known, 0);
}

PAIR_TEST(what_would_have_to_shrink_is_told)
{
    const pdl_overlap_report report = query();
    const struct {
        pdl_condition condition;
        int32_t secondary, primary;
    } expected[] = {
        /* 52 warps for 14 blocks: 3 a block. 56 warps of the 64 for 14: 8 are left, 2 a block. */
        {PDL_CONDITION_THREADS, 96, 64},
        /* 6 blocks are 6 warps of a partition's 10240 registers: 1536 a warp, 48 a thread. Of the
         * primary: 4096 for 3 warps, 1280 a warp, 40 a thread. */
        {PDL_CONDITION_REGISTERS, 48, 40},
        /* 107520 bytes for 3: 35840 with what is reserved. 233472 less 3 * 41984, for 3: the
         * same. */
        {PDL_CONDITION_SHARED_MEMORY, 34816, 34816},
        {PDL_CONDITION_BLOCKS, PDL_OVERLAP_NO_VALUE, PDL_OVERLAP_NO_VALUE},
    };
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        const pdl_resource_report *resource = resource_of(&report, expected[i].condition);
        assert_int_equal(resource->secondary_at_most, expected[i].secondary);
        assert_int_equal(resource->primary_at_most, expected[i].primary);
    }
}

PAIR_TEST(what_is_told_to_shrink_to_makes_room)
{
    pdl_overlap_report report = query();
    const uint32_t before = report.fit_beside_most;
    pair.secondary_desc.dynamic_shared_memory =
        (uint32_t)resource_of(&report, PDL_CONDITION_SHARED_MEMORY)->secondary_at_most;
    mock.kernels[1].occupancy = 6;
    report = query();
    assert_int_equal(report.fit_beside_most, before + 1);
    pair.secondary_desc.dynamic_shared_memory++;
    mock.kernels[1].occupancy = 6;
    assert_int_equal(query().fit_beside_most, before);
}

/* ---- carve-out ------------------------------------------------------------------------------ */

PAIR_TEST(without_a_preference_the_size_may_be_too_small)
{
    /* The primary takes 8 KiB with what is reserved, and 8 blocks of 256 threads fit: 64 KiB hold
     * them. */
    set_kernel(0, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1);
    set_kernel(1, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1);
    pair.primary_desc.block[0] = 256;
    pair.primary_desc.dynamic_shared_memory = 7168;
    pair.secondary_desc.dynamic_shared_memory = 30720;
    mock.kernels[0].occupancy = 4; /* by registers */
    mock.kernels[1].occupancy = 7;
    pdl_overlap_report report = query(); /* 3 * 8 + 31 KiB: more than 32, at most 228 */
    assert_only(&report, PDL_CONDITION_CARVEOUT, PDL_UNKNOWN, PDL_UNKNOWN, PDL_YES);
    pair.secondary_desc.dynamic_shared_memory = 7168;
    mock.kernels[1].occupancy = 8;
    report = query(); /* 4 * 8 KiB */
    assert_only(&report, PDL_CONDITION_CARVEOUT, PDL_YES, PDL_YES, PDL_YES);
}

PAIR_TEST(different_preferences_leave_it_open)
{
    /* 41 and 3 * 1 KiB fit the 132 KiB of the one and the 228 KiB of the other. */
    set_kernel(0, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50);
    pair.primary_desc.dynamic_shared_memory = 0;
    mock.kernels[0].occupancy = 8;
    pdl_overlap_report report = query();
    assert_only(&report, PDL_CONDITION_CARVEOUT, PDL_UNKNOWN, PDL_UNKNOWN, PDL_YES);
    set_kernel(0, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 99); /* the same size */
    report = query();
    assert_only(&report, PDL_CONDITION_CARVEOUT, PDL_YES, PDL_YES, PDL_YES);
    set_kernel(0, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1);
    report = query();
    assert_only(&report, PDL_CONDITION_CARVEOUT, PDL_UNKNOWN, PDL_UNKNOWN, PDL_YES);
}

PAIR_TEST(an_idle_sm_is_set_as_the_secondary_wants_it)
{
    set_kernel(0, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 0); /* 8 KiB */
    pair.primary_desc.dynamic_shared_memory = 0;
    pair.primary_desc.grid[0] = 100;
    mock.kernels[0].occupancy = 8;
    const pdl_overlap_report report = query();
    assert_int_equal(report.fit_beside_most, 0);
    assert_int_equal(report.fit_beside_fewest, 5);
    assert_only(&report, PDL_CONDITION_CARVEOUT, PDL_YES, PDL_YES, PDL_YES);
}

PAIR_TEST(the_descriptors_preference_stands_above_the_kernels)
{
    pair.primary_desc.shared_memory_carveout = 50; /* 132 KiB: the primary's 123 and no more */
    const pdl_overlap_report report = query();
    assert_int_equal(report.primary_per_sm, 3);
    assert_int_equal(resource_of(&report, PDL_CONDITION_SHARED_MEMORY)->capacity, 132 << 10);
    assert_int_equal(report.fit_beside_most, 0);
    assert_int_equal(report.overlap, PDL_NO);
}

PAIR_TEST(a_descriptor_with_a_preference_is_not_checked_with_the_driver)
{
    pair.primary_desc.shared_memory_carveout = 100;
    mock.kernels[0].occupancy = 1;
    const pdl_overlap_report report = query();
    assert_only(&report, PDL_CONDITION_CARVEOUT, PDL_YES, PDL_YES, PDL_YES);
}

/* ---- callers -------------------------------------------------------------------------------- */

PAIR_TEST(a_missing_argument_is_named)
{
    pdl_overlap_report report = PDL_OVERLAP_REPORT_INIT;
    assert_refused(pdl_overlap_query(NULL, &pair.primary_desc, pair.secondary, &pair.secondary_desc,
                                     -1, &report),
                   PDL_ERROR_INVALID_ARGUMENT, "primary", "");
    assert_refused(
        pdl_overlap_query(pair.primary, NULL, pair.secondary, &pair.secondary_desc, -1, &report),
        PDL_ERROR_INVALID_ARGUMENT, "primary_desc", "");
    assert_refused(pdl_overlap_query(pair.primary, &pair.primary_desc, NULL, &pair.secondary_desc,
                                     -1, &report),
                   PDL_ERROR_INVALID_ARGUMENT, "secondary", "");
    assert_refused(
        pdl_overlap_query(pair.primary, &pair.primary_desc, pair.secondary, NULL, -1, &report),
        PDL_ERROR_INVALID_ARGUMENT, "secondary_desc", "");
    assert_refused(pdl_overlap_query(pair.primary, &pair.primary_desc, pair.secondary,
                                     &pair.secondary_desc, -1, NULL),
                   PDL_ERROR_INVALID_ARGUMENT, "report", "");
}

PAIR_TEST(a_device_that_is_not_there_is_refused)
{
    pdl_overlap_report report = PDL_OVERLAP_REPORT_INIT;
    assert_refused(pdl_overlap_query(pair.primary, &pair.primary_desc, pair.secondary,
                                     &pair.secondary_desc, 7, &report),
                   PDL_ERROR_INVALID_DEVICE, "device", "7");
}

PAIR_TEST(a_launch_that_would_be_refused_is_refused_and_the_report_untouched)
{
    pdl_overlap_report report = PDL_OVERLAP_REPORT_INIT;
    report.sms = 77;
    pair.secondary_desc.grid[0] = 0;
    assert_refused(pdl_overlap_query(pair.primary, &pair.primary_desc, pair.secondary,
                                     &pair.secondary_desc, -1, &report),
                   PDL_ERROR_INVALID_GRID, "grid", "");
    pair.secondary_desc.grid[0] = 1;
    pair.primary_desc.block[0] = 2000;
    assert_refused(pdl_overlap_query(pair.primary, &pair.primary_desc, pair.secondary,
                                     &pair.secondary_desc, -1, &report),
                   PDL_ERROR_INVALID_BLOCK, "block", "2000");
    assert_int_equal(report.sms, 77);
}

PAIR_TEST(functions_and_symbols_are_asked_as_well)
{
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        pdl_overlap_report report = PDL_OVERLAP_REPORT_INIT;
        pdl_kernel *primary = test_kernel((enum kernel_source)source, 0);
        pdl_kernel *secondary = test_kernel((enum kernel_source)source, 1);
        assert_ok(pdl_kernel_declare(primary, PDL_YES, PDL_YES));
        assert_ok(pdl_overlap_query(primary, &pair.primary_desc, secondary, &pair.secondary_desc, 0,
                                    &report));
        assert_int_equal(report.fit_beside_most, 2);
        assert_int_equal(report.overlap, PDL_YES);
    }
}

PAIR_TEST(the_sms_are_those_of_the_streams_contexts)
{
    const CUstream green = mock_green_stream(0);
    const CUstream plain = mock_stream(0, 0);
    mock.devices[0].green_sms = 24;
    const struct {
        CUstream primary, secondary;
        uint32_t sms;
    } rows[] = {{green, green, 24}, {plain, plain, 132}, {green, plain, 24}, {plain, green, 24}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        pair.primary_desc.stream = rows[i].primary;
        pair.secondary_desc.stream = rows[i].secondary;
        const pdl_overlap_report report = query();
        assert_int_equal(report.sms, rows[i].sms);
        assert_int_equal(report.primary_waves, rows[i].sms == 24 ? 4 : 1);
    }
    pair.primary_desc.stream = NULL;
    pair.secondary_desc.stream = NULL;
    mock_make_current(mock_green_context(0));
    assert_int_equal(query().sms, 24);
    mock_set_current(-1); /* the kernels need none */
    pdl_overlap_report report = PDL_OVERLAP_REPORT_INIT;
    assert_ok(pdl_overlap_query(pair.primary, &pair.primary_desc, pair.secondary,
                                &pair.secondary_desc, 0, &report));
    assert_int_equal(report.sms, 132);
    mock_set_current(0);
}

/* 256 KiB on request, and an SM that has that and what is reserved. */
PAIR_TEST(an_oversized_block_has_the_oversized_memory)
{
    mock.devices[0].attributes[150] = 262144;
    mock_apply();
    pair.primary_desc.grid[0] = 132;
    pair.primary_desc.dynamic_shared_memory = 240 << 10;
    pair.primary_desc.shared_memory_mode = PDL_SHARED_MEMORY_ALLOW_OVERSIZED;
    pair.secondary_desc.dynamic_shared_memory = 14 << 10;
    pdl_overlap_report report = query();
    assert_int_equal(report.primary_per_sm, 1);
    assert_int_equal(report.fit_beside_most, 1);
    assert_int_equal(report.resources[2].capacity, (256 << 10) + 1024);
    pair.secondary_desc.dynamic_shared_memory = 16 << 10;
    report = query();
    assert_int_equal(report.fit_beside_most, 0);
    pair.primary_desc.dynamic_shared_memory = SHARED; /* it need not be oversized */
    assert_int_equal(query().resources[2].capacity, 233472);
}

PAIR_TEST(every_condition_has_a_name_of_its_own)
{
    for (int i = 1; i <= PDL_CONDITION_OCCUPANCY; i++) {
        assert_string_not_equal(pdl_condition_name((pdl_condition)i), "unknown");
        for (int k = 1; k < i; k++) {
            assert_string_not_equal(pdl_condition_name((pdl_condition)i),
                                    pdl_condition_name((pdl_condition)k));
        }
    }
    assert_string_equal(pdl_condition_name((pdl_condition)0), "unknown");
}
