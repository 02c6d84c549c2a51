/* SPDX-License-Identifier: MIT */
/* The model on a device of round numbers: what waits for what, and how long. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/memory.h"
#include "sim/classes.h"

enum { SMS = 4 };

static const struct sim_device device = {
    .name = "test",
    .sms = SMS,
    .sm = {.threads = 1024,
           .threads_per_block = 1024,
           .warp_size = 32,
           .blocks = 8,
           .registers = 65536,
           .shared_memory = 100000,
           .shared_memory_per_block = 100000},
    .depth = {1000, 1000},
    .clock_mhz = 1000,
    .gap = {1000, 400},
    .dependent = {300, 200},
    .release = {50, 40},
    .block_start = 10,
    .block_end = 5,
    .refill = 20,
    .flush = 10,
    .flush_sms = 20,
};

static const struct sim_kernel usual = {
    .blocks = SMS,
    .threads = 1024,
    .prologue = 100,
    .before = 200,
    .after = 400,
    .waits = true,
};

static struct sim_kernel two_on_an_sm(void)
{
    struct sim_kernel kernel = usual;
    kernel.threads = 512;
    return kernel;
}

static struct sim_program program;
static struct sim_result result;

static uint32_t add_kernel(struct sim_kernel kernel)
{
    kernel.name = copy_text("kernel");
    APPEND(&program.kernels, kernel);
    return (uint32_t)program.kernels.count - 1;
}

/* After the launch before it. */
static void launch(uint32_t kernel, enum sim_path path, bool overlap)
{
    const uint32_t count = (uint32_t)program.launches.count;
    const struct sim_launch item = {.kernel = kernel,
                                    .path = path,
                                    .dependencies = (uint32_t)program.dependencies.count,
                                    .dependencies_count = count > 0};
    if (count > 0) {
        const struct sim_dependency dependency = {count - 1, overlap};
        APPEND(&program.dependencies, dependency);
    }
    APPEND(&program.launches, item);
}

static const struct sim_outcome *run(void)
{
    sim_result_free(&result);
    assert_true(sim_run(&program, &result, NULL, NULL));
    return result.outcomes;
}

static int start(void **state)
{
    (void)state;
    sim_program_init(&program, &device);
    result.outcomes = NULL;
    return 0;
}

static int finish(void **state)
{
    (void)state;
    sim_result_free(&result);
    sim_program_free(&program);
    return 0;
}

#define assert_ns(value, expected) assert_float_equal(value, expected, 0.01)

/* ---- a kernel and its successor -------------------------------------------------------------------- */

static void a_kernel_takes_its_phases_and_what_a_block_costs(void **state)
{
    (void)state;
    launch(add_kernel(usual), SIM_STREAM, false);
    const struct sim_outcome *const outcome = run();
    assert_ns(outcome->start, 0);
    assert_ns(outcome->waited, 10 + 100);
    assert_ns(outcome->triggered, 10 + 100 + 200);
    assert_ns(outcome->end, 10 + 100 + 200 + 400 + 5);
    assert_ns(outcome->completed, outcome->end);
}

static void completion_comes_after_the_flush_of_what_was_written(void **state)
{
    (void)state;
    struct sim_kernel kernel = usual;
    kernel.writes = true;
    launch(add_kernel(kernel), SIM_STREAM, false);
    kernel.blocks = SMS / 2; /* half of the SMs have written */
    launch(add_kernel(kernel), SIM_STREAM, false);
    const struct sim_outcome *const outcome = run();
    assert_ns(outcome[0].completed, outcome[0].end + 30);
    assert_ns(outcome[1].completed, outcome[1].end + 20);
}

static void each_block_reports_its_trigger_and_its_end(void **state)
{
    (void)state;
    const uint32_t kernel = add_kernel(two_on_an_sm());
    program.device.report = 10;
    launch(kernel, SIM_STREAM, true);
    launch(kernel, SIM_STREAM, true);
    const struct sim_outcome *const outcome = run();
    assert_ns(outcome[1].start, outcome[0].triggered + SMS * 10 + 300);
    assert_ns(outcome[0].completed, outcome[0].end + SMS * 10);
}

static void ends_are_reported_after_the_triggers_before_them(void **state)
{
    (void)state;
    struct sim_kernel kernel = usual;
    kernel.after = 0;
    program.device.report = 10;
    launch(add_kernel(kernel), SIM_STREAM, false);
    const struct sim_outcome *const outcome = run();
    assert_ns(outcome->completed, outcome->triggered + 2 * SMS * 10);
}

static void blocks_begin_after_what_is_being_reported(void **state)
{
    (void)state;
    struct sim_kernel kernel = usual;
    kernel.threads = 32;
    kernel.after = 0;
    program.device.report = 200; /* the ends are, when all triggers are known */
    launch(add_kernel(kernel), SIM_STREAM, true);
    launch(add_kernel(kernel), SIM_STREAM, true);
    const struct sim_outcome *const outcome = run();
    assert_ns(outcome[1].start, outcome[0].triggered + 2 * SMS * 200);
}

static void a_graph_flushes_while_ends_are_reported(void **state)
{
    (void)state;
    struct sim_kernel kernel = usual;
    kernel.writes = true;
    program.device.report = 5;
    launch(add_kernel(kernel), SIM_STREAM, false);
    launch(add_kernel(kernel), SIM_GRAPH, false);
    kernel.writes = false;
    launch(add_kernel(kernel), SIM_GRAPH, false);
    const struct sim_outcome *const outcome = run();
    assert_ns(outcome[0].completed, outcome[0].end + SMS * 5 + 30);
    assert_ns(outcome[1].completed, outcome[1].end + 30);
    assert_ns(outcome[2].completed, outcome[2].end + SMS * 5);
}

static void a_full_dependency_waits_for_completion_and_the_path_s_gap(void **state)
{
    (void)state;
    const uint32_t kernel = add_kernel(usual);
    launch(kernel, SIM_STREAM, false);
    launch(kernel, SIM_STREAM, false);
    launch(kernel, SIM_GRAPH, false);
    const struct sim_outcome *const outcome = run();
    assert_ns(outcome[1].start, outcome[0].completed + 1000);
    assert_ns(outcome[2].start, outcome[1].completed + 400);
}

static void a_programmatic_one_waits_for_the_last_trigger(void **state)
{
    (void)state;
    const uint32_t kernel = add_kernel(two_on_an_sm());
    launch(kernel, SIM_STREAM, true);
    launch(kernel, SIM_STREAM, true);
    launch(kernel, SIM_GRAPH, true);
    const struct sim_outcome *const outcome = run();
    assert_ns(outcome[1].start, outcome[0].triggered + 300);
    assert_ns(outcome[2].start, outcome[1].triggered + 200);
}

static void its_wait_returns_after_the_primary_s_completion(void **state)
{
    (void)state;
    const uint32_t kernel = add_kernel(two_on_an_sm());
    struct sim_kernel early = two_on_an_sm();
    early.prologue = 0;
    launch(kernel, SIM_STREAM, true);
    launch(add_kernel(early), SIM_STREAM, true);
    const struct sim_outcome *const outcome = run();
    assert_true(outcome[1].arrived < outcome[0].completed);
    assert_ns(outcome[1].waited, outcome[0].completed + 50);
}

static void of_two_primaries_it_waits_for_the_later_one(void **state)
{
    (void)state;
    struct sim_kernel small = usual;
    small.threads = 128;
    const uint32_t kernel = add_kernel(small);
    small.after = 5000;
    launch(add_kernel(small), SIM_STREAM, false); /* the longer one */
    launch(kernel, SIM_STREAM, false);
    small.prologue = 0;
    launch(add_kernel(small), SIM_STREAM, true);
    const struct sim_dependency both[] = {{0, true}, {1, true}};
    program.launches.items[1].dependencies_count = 0;
    program.dependencies.count = 0;
    APPEND(&program.dependencies, both[0]);
    APPEND(&program.dependencies, both[1]);
    program.launches.items[2].dependencies = 0;
    program.launches.items[2].dependencies_count = 2;
    const struct sim_outcome *const outcome = run();
    assert_true(outcome[2].arrived < outcome[1].completed);
    assert_ns(outcome[2].waited, outcome[0].completed + 50);
}

static void of_two_primaries_it_completes_after_both_without_a_wait(void **state)
{
    (void)state;
    of_two_primaries_it_waits_for_the_later_one(state);
    program.kernels.items[2].waits = false;
    program.kernels.items[2].after = 0;
    const struct sim_outcome *const outcome = run();
    assert_true(outcome[2].end < outcome[0].end);
    assert_ns(outcome[2].completed, outcome[0].completed);
}

static void without_a_wait_it_goes_on_and_completes_after_the_primary(void **state)
{
    (void)state;
    struct sim_kernel early = two_on_an_sm();
    early.waits = false;
    early.prologue = early.before = early.after = 0;
    launch(add_kernel(two_on_an_sm()), SIM_STREAM, true);
    launch(add_kernel(early), SIM_STREAM, true);
    const struct sim_outcome *const outcome = run();
    assert_true(outcome[1].end < outcome[0].end);
    assert_ns(outcome[1].completed, outcome[0].completed);
}

static void without_a_trigger_the_last_block_s_end_is_one(void **state)
{
    (void)state;
    struct sim_kernel silent = two_on_an_sm();
    silent.trigger = SIM_TRIGGER_NEVER;
    launch(add_kernel(silent), SIM_STREAM, true);
    launch(add_kernel(silent), SIM_STREAM, true);
    const struct sim_outcome *const outcome = run();
    assert_ns(outcome[0].triggered, outcome[0].end);
    assert_ns(outcome[1].start, outcome[0].end + 300);
}

static void a_trigger_at_the_start_comes_before_the_prologue(void **state)
{
    (void)state;
    struct sim_kernel eager = two_on_an_sm();
    eager.trigger = SIM_TRIGGER_START;
    launch(add_kernel(eager), SIM_STREAM, true);
    launch(add_kernel(eager), SIM_STREAM, true);
    const struct sim_outcome *const outcome = run();
    assert_ns(outcome[0].triggered, 10);
    assert_ns(outcome[1].start, 10 + 300);
}

static void the_arguments_hold_up_a_short_prologue_of_a_first_block_only(void **state)
{
    (void)state;
    struct sim_kernel kernel = usual;
    program.device.arguments = 150;
    kernel.arguments = true;
    kernel.blocks = 2 * SMS;
    launch(add_kernel(kernel), SIM_STREAM, false);
    const double first = 10 + 150 + 200 + 400 + 5;
    const double second = 20 + 10 + 100 + 200 + 400 + 5;
    assert_ns(run()->end, first + second);
}

/* ---- blocks on SMs ----------------------------------------------------------------------------------- */

static void blocks_without_room_come_in_waves(void **state)
{
    (void)state;
    struct sim_kernel kernel = usual;
    kernel.blocks = 3 * SMS;
    launch(add_kernel(kernel), SIM_STREAM, false);
    const struct sim_outcome *const outcome = run();
    assert_ns(outcome->end, 3 * 715 + 2 * 20);
    assert_int_equal(outcome->busiest, 1);
}

static void blocks_in_the_place_of_others_begin_as_their_ends_are_reported(void **state)
{
    (void)state;
    struct sim_kernel kernel = usual;
    kernel.blocks = 2 * SMS + 1;
    program.device.report = 10;
    launch(add_kernel(kernel), SIM_STREAM, false);
    const struct sim_outcome *const outcome = run();
    /* The second wave begins over 40 ns and ends so: its first end makes room before its last one comes. */
    const double second = 715 + SMS * 10 + 20 + 715;
    assert_ns(outcome->end, second + 715);
    assert_ns(outcome->completed, outcome->end);
}

static void each_resource_limits_how_many_fit(void **state)
{
    (void)state;
    struct sim_kernel kernel = {.blocks = 1, .threads = 32};
    enum pdl_resource scarce;
    assert_int_equal(sim_kernel_fits(&device, &kernel, &scarce), 8);
    assert_int_equal(scarce, PDL_RESOURCE_BLOCKS);
    kernel.threads = 129; /* five warps */
    assert_int_equal(sim_kernel_fits(&device, &kernel, &scarce), 1024 / 160);
    assert_int_equal(scarce, PDL_RESOURCE_WARPS);
    kernel.threads = 128;
    kernel.registers = 255;
    assert_int_equal(sim_kernel_fits(&device, &kernel, &scarce), 2);
    assert_int_equal(scarce, PDL_RESOURCE_REGISTERS);
    kernel.shared = 60000;
    assert_int_equal(sim_kernel_fits(&device, &kernel, &scarce), 1);
    assert_int_equal(scarce, PDL_RESOURCE_SHARED_MEMORY);
}

/* An SM of an H200. */
static const struct pdl_sm h200 = {.threads = 2048,
                                   .threads_per_block = 1024,
                                   .warp_size = 32,
                                   .blocks = 32,
                                   .registers = 65536,
                                   .shared_memory = 233472,
                                   .shared_memory_per_block = 232448,
                                   .reserved_shared_memory = 1024};

static void an_sm_holds_as_many_blocks_as_the_library_s_model(void **state)
{
    static const unsigned registers[] = {0, 16, 32, 40, 64, 72, 96, 104, 136, 255};
    static const unsigned shared[] = {0, 20000, 100000};
    (void)state;
    unsigned held = 0;
    for (unsigned threads = 32; threads <= 1024; threads += 32) {
        for (size_t r = 0; r < sizeof(registers) / sizeof(*registers); r++) {
            for (size_t s = 0; s < sizeof(shared) / sizeof(*shared); s++) {
                const struct pdl_block block = {threads, registers[r], shared[s], -1};
                uint32_t each[PDL_RESOURCE_COUNT];
                const uint32_t expected = pdl_occupancy_alone(&h200, &block, each);
                struct sim_kernel kernel = usual;
                kernel.threads = threads;
                kernel.registers = registers[r];
                kernel.shared = shared[s];
                kernel.blocks = SMS * 40;
                if (expected > 0) {
                    program.device.sm = h200;
                    launch(add_kernel(kernel), SIM_STREAM, false);
                    assert_int_equal(run()->busiest, expected);
                    (void)finish(state);
                    (void)start(state);
                    held++;
                }
            }
        }
    }
    assert_int_equal(held, 732);
}

/* Two kernels on an SM, as the library has them where blocks came one after the other. */
static void an_sm_has_as_much_room_beside_a_kernel_as_in_the_library_s_model(void **state)
{
    static const unsigned registers[] = {16, 40, 72, 136, 255};
    enum { COUNT = sizeof(registers) / sizeof(*registers) };
    (void)state;
    unsigned pairs = 0;
    for (unsigned i = 0; i < 32 * COUNT; i++) {
        const struct sim_kernel first = {.threads = 32 * (i / COUNT + 1),
                                         .registers = registers[i % COUNT]};
        const struct pdl_block block = {first.threads, first.registers, 0, -1};
        struct sim_needs taken;
        sim_kernel_needs(&(struct sim_device){.sm = h200}, &first, &taken);
        for (unsigned j = 0; j < 32 * COUNT; j++) {
            const struct sim_kernel second = {.threads = 32 * (j / COUNT + 1),
                                              .registers = registers[j % COUNT]};
            const struct pdl_block other = {second.threads, second.registers, 0, -1};
            struct sim_needs needs;
            uint32_t each[PDL_RESOURCE_COUNT];
            sim_kernel_needs(&(struct sim_device){.sm = h200}, &second, &needs);
            for (uint32_t count = pdl_occupancy_alone(&h200, &block, each);
                 count > 0 && pdl_block_fits(&h200, &other); count /= 2) {
                struct sim_group group = {.count = count, .needs = &taken};
                struct sim_class class = {.groups = &group, .groups_count = 1};
                const struct pdl_beside beside = {&block, count, true};
                struct pdl_room room;
                for (int k = 0; k < PDL_RESOURCE_COUNT; k++) {
                    class.used[k] = taken.each[k] * count;
                }
                pdl_occupancy_beside(&h200, &beside, &other, h200.shared_memory, &room);
                assert_int_equal(sim_class_room(&class, &needs), room.all_may);
                pairs++;
            }
        }
    }
    assert_in_range(pairs, 10000, 100000);
}

static void a_secondary_without_room_waits_for_the_primary_s_blocks(void **state)
{
    (void)state;
    const uint32_t kernel = add_kernel(usual); /* 1024 threads: an SM is full */
    launch(kernel, SIM_STREAM, true);
    launch(kernel, SIM_STREAM, true);
    const struct sim_outcome *const outcome = run();
    assert_true(outcome[0].triggered + 300 < outcome[0].end);
    assert_ns(outcome[1].start, outcome[0].end + 20);
}

static void blocks_go_to_the_sms_with_most_room_first(void **state)
{
    (void)state;
    struct sim_kernel half = two_on_an_sm();
    half.blocks = SMS / 2;
    half.trigger = SIM_TRIGGER_START;
    const uint32_t kernel = add_kernel(half);
    half.blocks = SMS;
    const uint32_t rest = add_kernel(half);
    launch(kernel, SIM_STREAM, true);
    launch(kernel, SIM_STREAM, true);
    launch(rest, SIM_STREAM, true);
    const struct sim_outcome *const outcome = run();
    assert_ns(outcome[2].start, outcome[1].triggered + 300); /* one more on each: there is room */
    assert_int_equal(outcome[2].busiest, 1);
}

static void blocks_that_compute_share_an_sm_s_issue_slots(void **state)
{
    (void)state;
    struct sim_kernel kernel = two_on_an_sm();
    kernel.blocks = 2 * SMS;
    kernel.issue = 1;
    launch(add_kernel(kernel), SIM_STREAM, false);
    assert_ns(run()->end, 10 + 100 + 2 * (200 + 400) + 5);
}

static void what_counts_cycles_is_not_stretched_but_stretches_others(void **state)
{
    (void)state;
    struct sim_kernel kernel = two_on_an_sm();
    kernel.trigger = SIM_TRIGGER_START;
    kernel.issue = 1;
    launch(add_kernel(kernel), SIM_STREAM, false); /* computes from 110 to 710 */
    kernel.prologue = 200;                         /* begins at 320 */
    kernel.issue_prologue = 1;
    kernel.clocked_prologue = true;
    launch(add_kernel(kernel), SIM_STREAM, true);
    const struct sim_outcome *const outcome = run();
    assert_ns(outcome[1].arrived, 320 + 200);
    assert_ns(outcome[0].end, 710 + 100 + 5);
}

static void a_trigger_too_early_loses(void **state)
{
    (void)state;
    struct sim_kernel kernel = two_on_an_sm();
    kernel.blocks = 3 * SMS; /* a wave and a half */
    kernel.issue = kernel.issue_prologue = 0;
    kernel.prologue = 0;
    kernel.trigger = SIM_TRIGGER_START;
    struct sim_kernel big =
        kernel; /* takes the SMs that the primary's last blocks could have had */
    const uint32_t one = add_kernel(kernel);
    const uint32_t two = add_kernel(big);
    launch(one, SIM_STREAM, true);
    launch(two, SIM_STREAM, true);
    const struct sim_outcome *const early = run();
    assert_true(early[1].start < early[0].end);
    assert_true(early[1].waited > early[0].completed);
}

static void launches_that_have_begun_are_limited_by_the_path_s_depth(void **state)
{
    (void)state;
    struct sim_kernel kernel = usual;
    kernel.threads = 32;
    kernel.trigger = SIM_TRIGGER_START;
    const uint32_t index = add_kernel(kernel);
    program.device.depth[SIM_STREAM] = 2;
    for (int i = 0; i < 3; i++) {
        launch(index, SIM_STREAM, true);
    }
    const struct sim_outcome *const outcome = run();
    assert_true(outcome[1].start < outcome[0].completed);
    assert_ns(outcome[2].start, outcome[0].completed);
}

/* ---- blocks as they are told, and how much work it is --------------------------------------------------- */

struct told {
    unsigned blocks, on[SMS];
    bool in_order;
};

static void tell(void *context, const struct sim_block *block)
{
    struct told *const told = context;
    told->blocks++;
    told->on[block->sm]++;
    told->in_order = told->in_order && block->start <= block->wait &&
                     block->wait <= block->waited && block->waited <= block->triggered &&
                     block->triggered <= block->end;
}

static void each_block_is_told_once_with_stamps_in_order(void **state)
{
    (void)state;
    struct told told = {.in_order = true};
    struct sim_kernel kernel = usual;
    kernel.blocks = 3 * SMS;
    launch(add_kernel(kernel), SIM_STREAM, false);
    assert_true(sim_run(&program, &result, tell, &told));
    assert_int_equal(told.blocks, 3 * SMS);
    assert_true(told.in_order);
    for (int i = 0; i < SMS; i++) {
        assert_int_equal(told.on[i], 3);
    }
}

/* Of a line of launches of 10,000 blocks, each overlapping the one before. */
static uint64_t events(unsigned count)
{
    struct sim_kernel kernel = two_on_an_sm();
    kernel.blocks = 10000;
    const uint32_t index = add_kernel(kernel);
    program.launches.count = program.dependencies.count = 0;
    for (unsigned i = 0; i < count; i++) {
        launch(index, SIM_STREAM, true);
    }
    (void)run();
    return result.events;
}

static void events_grow_with_the_launches_and_not_with_the_blocks(void **state)
{
    (void)state;
    const double some = (double)events(100);
    const double more = (double)events(200);
    const double most = (double)events(400);
    assert_float_equal((most - more) / (more - some), 2, 0.02);
    assert_true(most < 400.0 * 10000 / SMS * 4); /* a few for each wave */
}

static void the_same_program_runs_the_same_way_again(void **state)
{
    (void)state;
    struct sim_kernel kernel = two_on_an_sm();
    kernel.blocks = 5;
    kernel.issue = 1;
    kernel.trigger = SIM_TRIGGER_START;
    const uint32_t index = add_kernel(kernel);
    for (int i = 0; i < 20; i++) {
        launch(index, SIM_STREAM, true);
    }
    const double first = run()[19].end;
    assert_true(run()[19].end == first);
}

/* ---- runs without an end ---------------------------------------------------------------------------- */

static void refuses(const char *words)
{
    sim_result_free(&result);
    assert_false(sim_run(&program, &result, NULL, NULL));
    assert_non_null(strstr(result.wrong, words));
}

static void a_time_at_which_the_clock_cannot_tell_a_step_ends_the_run(void **state)
{
    (void)state;
    struct sim_kernel kernel = usual;
    const double times[] = {1e13, 1e18, 1e300};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        program.launches.count = program.dependencies.count = 0;
        kernel.before = times[i];
        launch(add_kernel(kernel), SIM_STREAM, false);
        launch(add_kernel(usual), SIM_STREAM, false);
        refuses("1000 s");
    }
}

static void a_launch_that_comes_too_late_ends_the_run(void **state)
{
    (void)state;
    launch(add_kernel(usual), SIM_STREAM, false);
    program.launches.items[0].enqueued = 1e18;
    refuses("1000 s");
}

static void a_block_that_no_sm_has_room_for_ends_the_run(void **state)
{
    (void)state;
    struct sim_kernel kernel = usual;
    kernel.shared = 1000000;
    launch(add_kernel(kernel), SIM_STREAM, false);
    refuses("never ends");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)
    const struct CMUnitTest tests[] = {
        TEST(a_kernel_takes_its_phases_and_what_a_block_costs),
        TEST(completion_comes_after_the_flush_of_what_was_written),
        TEST(each_block_reports_its_trigger_and_its_end),
        TEST(ends_are_reported_after_the_triggers_before_them),
        TEST(blocks_begin_after_what_is_being_reported),
        TEST(a_graph_flushes_while_ends_are_reported),
        TEST(a_full_dependency_waits_for_completion_and_the_path_s_gap),
        TEST(a_programmatic_one_waits_for_the_last_trigger),
        TEST(its_wait_returns_after_the_primary_s_completion),
        TEST(of_two_primaries_it_waits_for_the_later_one),
        TEST(of_two_primaries_it_completes_after_both_without_a_wait),
        TEST(without_a_wait_it_goes_on_and_completes_after_the_primary),
        TEST(without_a_trigger_the_last_block_s_end_is_one),
        TEST(a_trigger_at_the_start_comes_before_the_prologue),
        TEST(the_arguments_hold_up_a_short_prologue_of_a_first_block_only),
        TEST(blocks_without_room_come_in_waves),
        TEST(blocks_in_the_place_of_others_begin_as_their_ends_are_reported),
        TEST(each_resource_limits_how_many_fit),
        TEST(an_sm_holds_as_many_blocks_as_the_library_s_model),
        TEST(an_sm_has_as_much_room_beside_a_kernel_as_in_the_library_s_model),
        TEST(a_secondary_without_room_waits_for_the_primary_s_blocks),
        TEST(blocks_go_to_the_sms_with_most_room_first),
        TEST(blocks_that_compute_share_an_sm_s_issue_slots),
        TEST(what_counts_cycles_is_not_stretched_but_stretches_others),
        TEST(a_trigger_too_early_loses),
        TEST(launches_that_have_begun_are_limited_by_the_path_s_depth),
        TEST(each_block_is_told_once_with_stamps_in_order),
        TEST(events_grow_with_the_launches_and_not_with_the_blocks),
        TEST(the_same_program_runs_the_same_way_again),
        TEST(a_time_at_which_the_clock_cannot_tell_a_step_ends_the_run),
        TEST(a_launch_that_comes_too_late_ends_the_run),
        TEST(a_block_that_no_sm_has_room_for_ends_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
