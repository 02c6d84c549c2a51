/* SPDX-License-Identifier: MIT */
/* The rules of an overlap on inputs that no driver gives. */
#include "overlap/rules.h"

#include "overlap_support.h"

static struct pdl_overlap_input good_input(void)
{
    const struct pdl_overlap_side side = {
        .name = "k",
        .blocks = 132 * 8,
        .block = {.threads = 64, .registers = 32, .carveout = 100},
        .code = 90,
        .waits = PDL_YES,
        .triggers = PDL_YES,
        .driver_per_sm = -1,
        .block_known = true,
    };
    return (struct pdl_overlap_input){
        .sm = {90, 2048, 1024, 32, 32, 65536, 233472, 232448, 1024, 64},
        .sms = 132,
        .device = -1,
        .device_name = "a device",
        .primary = side,
        .secondary = side,
        .requested = true,
        .same_stream = PDL_YES,
    };
}

PLAIN_TEST(kernels_of_unknown_needs_leave_it_open)
{
    struct pdl_overlap_input input = good_input();
    pdl_overlap_report report = PDL_OVERLAP_REPORT_INIT;
    input.secondary.block_known = false;
    pdl_overlap_judge(&input, &report);
    assert_int_equal(report.overlap, PDL_UNKNOWN);
    assert_int_equal(report.early_launch, PDL_YES);
    assert_int_equal(report.size, sizeof(report));
    assert_int_equal(condition_of(&report, PDL_CONDITION_REGISTERS)->met, PDL_UNKNOWN);
    assert_non_null(strstr(report.message, "secondary"));
}

PLAIN_TEST(a_block_that_fits_no_sm_is_said_to_be_one)
{
    struct pdl_overlap_input input = good_input();
    pdl_overlap_report report = PDL_OVERLAP_REPORT_INIT;
    input.primary.block.shared_memory = 300000;
    pdl_overlap_judge(&input, &report);
    assert_int_equal(report.overlap, PDL_NO);
    assert_int_equal(report.early_launch, PDL_NO);
    assert_int_equal(condition_of(&report, PDL_CONDITION_SHARED_MEMORY)->met, PDL_NO);
    assert_int_equal(condition_of(&report, PDL_CONDITION_REGISTERS)->met, PDL_YES);
    assert_non_null(
        strstr(report.message, "the primary cannot be launched: a block of the primary takes "));
}

PLAIN_TEST(fewer_registers_than_the_compiler_can_do_with_are_not_told)
{
    struct pdl_overlap_input input = good_input();
    pdl_overlap_report report = PDL_OVERLAP_REPORT_INIT;
    input.primary.block = (struct pdl_block){.threads = 512, .registers = 16, .carveout = 100};
    input.secondary.block = (struct pdl_block){.threads = 1024, .registers = 16, .carveout = 100};
    input.primary.blocks = 132;
    pdl_overlap_judge(&input, &report);
    const pdl_resource_report *registers = resource_of(&report, PDL_CONDITION_REGISTERS);
    /* 4 blocks are 32 warps of a partition's 14336 registers: 448 a warp, so 256, 8 a thread. */
    assert_int_equal(registers->fit, 3);
    assert_int_equal(registers->secondary_at_most, PDL_OVERLAP_NO_VALUE);
    assert_int_equal(registers->primary_at_most, PDL_OVERLAP_NO_VALUE);
}

PLAIN_TEST(barriers_never_change_the_answer)
{
    struct pdl_overlap_input input = good_input();
    pdl_overlap_report report = PDL_OVERLAP_REPORT_INIT;
    pdl_overlap_judge(&input, &report);
    assert_int_equal(condition_of(&report, PDL_CONDITION_BARRIERS)->met, PDL_UNKNOWN);
    assert_int_equal(resource_of(&report, PDL_CONDITION_BARRIERS)->known, 0);
    assert_int_equal(report.overlap, PDL_YES); /* they run out rarely: it does not count */
    input.primary.blocks = 132 * 3;
    pdl_overlap_judge(&input, &report);
    assert_int_equal(condition_of(&report, PDL_CONDITION_BARRIERS)->met, PDL_YES);
}

static struct pdl_overlap_input pair_of(struct pdl_block primary, uint64_t blocks,
                                        struct pdl_block secondary)
{
    struct pdl_overlap_input input = good_input();
    input.primary.block = primary;
    input.primary.blocks = blocks;
    input.secondary.block = secondary;
    return input;
}

PLAIN_TEST(room_that_depends_on_where_warps_lie_leaves_it_open)
{
    /* An SM holds 1 block of 6 warps, which leaves room for a warp in two partitions. In a first
     * wave the secondary's warps come to these; in a second who knows. */
    const struct pdl_block primary = {.threads = 192, .registers = 226, .carveout = 100};
    const struct pdl_block secondary = {.threads = 64, .registers = 178, .carveout = 100};
    struct pdl_overlap_input input = pair_of(primary, 132, secondary);
    pdl_overlap_report report = PDL_OVERLAP_REPORT_INIT;
    pdl_overlap_judge(&input, &report);
    assert_int_equal(report.overlap, PDL_YES);
    assert_int_equal(report.fit_beside_most, 1);
    input.primary.blocks = 264;
    pdl_overlap_judge(&input, &report);
    assert_int_equal(report.primary_waves, 2);
    assert_int_equal(report.overlap, PDL_UNKNOWN);
    assert_int_equal(condition_of(&report, PDL_CONDITION_REGISTERS)->met, PDL_UNKNOWN);
    assert_int_equal(report.fit_beside_most, 0);
    assert_int_equal(report.may_fit_beside_most, 1);
    assert_int_equal(resource_of(&report, PDL_CONDITION_REGISTERS)->fit, 0);
    assert_int_equal(resource_of(&report, PDL_CONDITION_REGISTERS)->may_fit, 1);
    assert_non_null(strstr(report.message, "0 to 1 fit, depending on how the warps lie"));
}

PLAIN_TEST(registers_that_suffice_only_in_sum_do_not)
{
    struct pdl_overlap_input input =
        pair_of((struct pdl_block){.threads = 96, .registers = 226, .carveout = -1}, 264,
                (struct pdl_block){.threads = 512, .registers = 18, .carveout = -1});
    pdl_overlap_report report = PDL_OVERLAP_REPORT_INIT;
    pdl_overlap_judge(&input, &report);
    assert_int_equal(report.most_on_sm, 2);
    assert_int_equal(report.overlap, PDL_NO);
    assert_int_equal(condition_of(&report, PDL_CONDITION_REGISTERS)->met, PDL_NO);
}

PLAIN_TEST(without_room_only_the_tail_is_said_to_be_hidden)
{
    const struct pdl_block half = {.threads = 512, .registers = 64, .carveout = 100};
    struct pdl_overlap_input input = pair_of(half, 264, half);
    pdl_overlap_report report = PDL_OVERLAP_REPORT_INIT;
    pdl_overlap_judge(&input, &report);
    assert_int_equal(report.overlap, PDL_NO);
    assert_non_null(strstr(report.message, "no block of the secondary fits beside the last wave of "
                                           "the primary; overlap hides only its tail"));
    input.primary.triggers = PDL_NO; /* nothing starts as they end: all have to */
    pdl_overlap_judge(&input, &report);
    assert_non_null(strstr(report.message, "starts before the primary has ended, although it "
                                           "is launched early"));
}

/* What the driver may set the shared memory to is not counted as room for certain. */
PLAIN_TEST(the_room_is_that_of_the_smallest_size_that_the_driver_may_choose)
{
    /* 2 blocks with 1 KiB of what is reserved go into 8 KiB, and so do 7 beside one of them. */
    struct pdl_overlap_input input =
        pair_of((struct pdl_block){.threads = 512, .registers = 64, .carveout = -1}, 132,
                (struct pdl_block){.threads = 128, .registers = 32, .carveout = -1});
    pdl_overlap_report report = PDL_OVERLAP_REPORT_INIT;
    pdl_overlap_judge(&input, &report);
    assert_int_equal(report.overlap, PDL_YES);
    assert_int_equal(report.fit_beside_most, 7);
    assert_int_equal(report.may_fit_beside_most, 8);
    assert_non_null(strstr(report.message, "7 to 8 on each of the 132 SMs"));
    input.primary.block.carveout = 100;
    pdl_overlap_judge(&input, &report);
    assert_int_equal(report.fit_beside_most, 8);
    input.secondary.block.carveout = 0; /* another size: it may have to wait */
    pdl_overlap_judge(&input, &report);
    assert_int_equal(report.fit_beside_most, 0);
    assert_int_equal(report.may_fit_beside_most, 8);
}
