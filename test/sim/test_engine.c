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

/* ---- what comes when ------------------------------------------------------------------------------- */

enum value { ZERO, START, ARRIVED, WAITED, TRIGGERED, END, COMPLETED };
enum relation { EQUALS, BEFORE, AFTER };

/* A value of a launch beside one of another and so many ns. */
struct check {
    enum value value;
    int launch;
    enum relation relation;
    enum value other;
    int of;
    double plus;
    bool is_there;
};
#define CHECK(...)                                                                                 \
    {                                                                                              \
        __VA_ARGS__, .is_there = true                                                              \
    }

struct row {
    const char *what;
    struct sim_kernel kernels[2];
    struct {
        enum { NO_LAUNCH, STREAM, STREAM_PDL, GRAPH, GRAPH_PDL } how;
        uint32_t kernel;
    } launches[3];
    double report, arguments; /* of the device, unless 0 */
    unsigned depth;
    unsigned busiest; /* of the last launch, unless 0 */
    struct check checks[5];
};

#define PHASES .prologue = 100, .before = 200, .after = 400, .waits = true
#define FULL   .blocks = SMS, .threads = 1024 /* an SM holds one block */
#define HALF   .blocks = SMS, .threads = 512  /* and two */
#define EAGER  .trigger = SIM_TRIGGER_START

static const struct row rows[] = {
    {.what = "a kernel takes its phases, and what a block costs",
     .kernels = {{FULL, PHASES}},
     .launches = {{STREAM, 0}},
     .checks = {CHECK(START, 0, EQUALS, ZERO), CHECK(WAITED, 0, EQUALS, ZERO, 0, 10 + 100),
                CHECK(TRIGGERED, 0, EQUALS, ZERO, 0, 10 + 100 + 200),
                CHECK(END, 0, EQUALS, ZERO, 0, 10 + 100 + 200 + 400 + 5),
                CHECK(COMPLETED, 0, EQUALS, END)}},
    {.what = "completion comes after the flush of what was written: by half of the SMs, half",
     .kernels = {{FULL, PHASES, .writes = true},
                 {.blocks = SMS / 2, .threads = 1024, PHASES, .writes = true}},
     .launches = {{STREAM, 0}, {STREAM, 1}},
     .checks = {CHECK(COMPLETED, 0, EQUALS, END, 0, 30), CHECK(COMPLETED, 1, EQUALS, END, 1, 20)}},
    {.what = "each block reports its trigger and its end",
     .kernels = {{HALF, PHASES}},
     .launches = {{STREAM_PDL, 0}, {STREAM_PDL, 0}},
     .report = 10,
     .checks = {CHECK(START, 1, EQUALS, TRIGGERED, 0, SMS * 10 + 300),
                CHECK(COMPLETED, 0, EQUALS, END, 0, SMS * 10)}},
    {.what = "ends are reported after the triggers before them",
     .kernels = {{FULL, .prologue = 100, .before = 200, .waits = true}},
     .launches = {{STREAM, 0}},
     .report = 10,
     .checks = {CHECK(COMPLETED, 0, EQUALS, TRIGGERED, 0, 2 * SMS * 10)}},
    {.what = "blocks begin after what is being reported: the ends, when all triggers are known",
     .kernels = {{.blocks = SMS, .threads = 32, .prologue = 100, .before = 200, .waits = true}},
     .launches = {{STREAM_PDL, 0}, {STREAM_PDL, 0}},
     .report = 200,
     .checks = {CHECK(START, 1, EQUALS, TRIGGERED, 0, 2 * SMS * 200)}},
    {.what = "a graph flushes while ends are reported",
     .kernels = {{FULL, PHASES, .writes = true}, {FULL, PHASES}},
     .launches = {{STREAM, 0}, {GRAPH, 0}, {GRAPH, 1}},
     .report = 5,
     .checks = {CHECK(COMPLETED, 0, EQUALS, END, 0, SMS * 5 + 30),
                CHECK(COMPLETED, 1, EQUALS, END, 1, 30),
                CHECK(COMPLETED, 2, EQUALS, END, 2, SMS * 5)}},
    {.what = "a full dependency waits for completion and the path's gap",
     .kernels = {{FULL, PHASES}},
     .launches = {{STREAM, 0}, {STREAM, 0}, {GRAPH, 0}},
     .checks = {CHECK(START, 1, EQUALS, COMPLETED, 0, 1000),
                CHECK(START, 2, EQUALS, COMPLETED, 1, 400)}},
    {.what = "a programmatic one waits for the last trigger",
     .kernels = {{HALF, PHASES}},
     .launches = {{STREAM_PDL, 0}, {STREAM_PDL, 0}, {GRAPH_PDL, 0}},
     .checks = {CHECK(START, 1, EQUALS, TRIGGERED, 0, 300),
                CHECK(START, 2, EQUALS, TRIGGERED, 1, 200)}},
    {.what = "its wait returns after the primary's completion",
     .kernels = {{HALF, PHASES}, {HALF, .before = 200, .after = 400, .waits = true}},
     .launches = {{STREAM_PDL, 0}, {STREAM_PDL, 1}},
     .checks = {CHECK(ARRIVED, 1, BEFORE, COMPLETED, 0),
                CHECK(WAITED, 1, EQUALS, COMPLETED, 0, 50)}},
    {.what = "without a wait it goes on, and completes after the primary",
     .kernels = {{HALF, PHASES}, {HALF}},
     .launches = {{STREAM_PDL, 0}, {STREAM_PDL, 1}},
     .checks = {CHECK(END, 1, BEFORE, END, 0), CHECK(COMPLETED, 1, EQUALS, COMPLETED, 0)}},
    {.what = "without a trigger the last block's end is one",
     .kernels = {{HALF, PHASES, .trigger = SIM_TRIGGER_NEVER}},
     .launches = {{STREAM_PDL, 0}, {STREAM_PDL, 0}},
     .checks = {CHECK(TRIGGERED, 0, EQUALS, END, 0), CHECK(START, 1, EQUALS, END, 0, 300)}},
    {.what = "a trigger at the start comes before the prologue",
     .kernels = {{HALF, PHASES, EAGER}},
     .launches = {{STREAM_PDL, 0}, {STREAM_PDL, 0}},
     .checks = {CHECK(TRIGGERED, 0, EQUALS, ZERO, 0, 10), CHECK(START, 1, EQUALS, ZERO, 0, 310)}},
    {.what = "the arguments hold up a short prologue of a first block only",
     .kernels = {{.blocks = 2 * SMS, .threads = 1024, PHASES, .arguments = true}},
     .launches = {{STREAM, 0}},
     .arguments = 150,
     .checks = {CHECK(END, 0, EQUALS, ZERO, 0,
                      10 + 150 + 200 + 400 + 5 + 20 + 10 + 100 + 200 + 400 + 5)}},
    {.what = "blocks without room come in waves",
     .kernels = {{.blocks = 3 * SMS, .threads = 1024, PHASES}},
     .launches = {{STREAM, 0}},
     .checks = {CHECK(END, 0, EQUALS, ZERO, 0, 3 * 715 + 2 * 20)},
     .busiest = 1},
    {.what = "blocks in the place of others begin as their ends are reported: the second wave "
             "begins over "
             "40 ns and ends so, and its first end makes room before its last one comes",
     .kernels = {{.blocks = 2 * SMS + 1, .threads = 1024, PHASES}},
     .launches = {{STREAM, 0}},
     .report = 10,
     .checks = {CHECK(END, 0, EQUALS, ZERO, 0, 715 + SMS * 10 + 20 + 715 + 715),
                CHECK(COMPLETED, 0, EQUALS, END, 0)}},
    {.what = "a secondary without room waits for the primary's blocks",
     .kernels = {{FULL, PHASES}},
     .launches = {{STREAM_PDL, 0}, {STREAM_PDL, 0}},
     .checks = {CHECK(TRIGGERED, 0, BEFORE, END, 0, -300), CHECK(START, 1, EQUALS, END, 0, 20)}},
    {.what = "blocks go to the SMs with most room first: there is room for one more on each",
     .kernels = {{.blocks = SMS / 2, .threads = 512, PHASES, EAGER}, {HALF, PHASES, EAGER}},
     .launches = {{STREAM_PDL, 0}, {STREAM_PDL, 0}, {STREAM_PDL, 1}},
     .checks = {CHECK(START, 2, EQUALS, TRIGGERED, 1, 300)},
     .busiest = 1},
    {.what = "blocks that compute share an SM's issue slots",
     .kernels = {{.blocks = 2 * SMS, .threads = 512, PHASES, .issue = 1}},
     .launches = {{STREAM, 0}},
     .checks = {CHECK(END, 0, EQUALS, ZERO, 0, 10 + 100 + 2 * (200 + 400) + 5)}},
    {.what = "what counts cycles is not stretched, but stretches others: the first one computes "
             "from 110 "
             "to 710, and the second begins at 320",
     .kernels = {{HALF, PHASES, EAGER, .issue = 1},
                 {HALF, EAGER, .prologue = 200, .before = 200, .after = 400, .waits = true,
                  .issue = 1, .issue_prologue = 1, .clocked_prologue = true}},
     .launches = {{STREAM, 0}, {STREAM_PDL, 1}},
     .checks = {CHECK(ARRIVED, 1, EQUALS, ZERO, 0, 320 + 200),
                CHECK(END, 0, EQUALS, ZERO, 0, 710 + 100 + 5)}},
    {.what = "a trigger too early loses: a second kernel takes the SMs that the last half of a "
             "wave could have had",
     .kernels =
         {{.blocks = 3 * SMS, .threads = 512, EAGER, .before = 200, .after = 400, .waits = true}},
     .launches = {{STREAM_PDL, 0}, {STREAM_PDL, 0}},
     .checks = {CHECK(START, 1, BEFORE, END, 0), CHECK(WAITED, 1, AFTER, COMPLETED, 0)}},
    {.what = "launches that have begun are limited by the path's depth",
     .kernels = {{.blocks = SMS, .threads = 32, PHASES, EAGER}},
     .launches = {{STREAM_PDL, 0}, {STREAM_PDL, 0}, {STREAM_PDL, 0}},
     .depth = 2,
     .checks = {CHECK(START, 1, BEFORE, COMPLETED, 0), CHECK(START, 2, EQUALS, COMPLETED, 0)}},
};

static double value_of(const struct sim_outcome *outcome, enum value value)
{
    const double values[] = {0,
                             outcome->start,
                             outcome->arrived,
                             outcome->waited,
                             outcome->triggered,
                             outcome->end,
                             outcome->completed};
    return values[value];
}

static void assert_check(const struct row *row, const struct check *check,
                         const struct sim_outcome *outcomes)
{
    const double value = value_of(&outcomes[check->launch], check->value);
    const double other = value_of(&outcomes[check->of], check->other) + check->plus;
    const bool holds = check->relation == EQUALS   ? fabs(value - other) < 0.01
                       : check->relation == BEFORE ? value < other
                                                   : value > other;
    if (!holds) {
        fail_msg("%s: check %d: %g and %g", row->what, (int)(check - row->checks), value, other);
    }
}

static void each_row_comes_as_it_should(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *const row = &rows[i];
        const uint32_t kernels[] = {add_kernel(row->kernels[0]), add_kernel(row->kernels[1])};
        size_t count = 0;
        program.device.report = row->report;
        program.device.arguments = row->arguments;
        program.device.depth[SIM_STREAM] = row->depth > 0 ? row->depth : device.depth[SIM_STREAM];
        for (; count < 3 && row->launches[count].how != NO_LAUNCH; count++) {
            const int how = (int)row->launches[count].how;
            launch(kernels[row->launches[count].kernel], how >= GRAPH ? SIM_GRAPH : SIM_STREAM,
                   how == STREAM_PDL || how == GRAPH_PDL);
        }
        const struct sim_outcome *const outcomes = run();
        for (size_t j = 0; j < 5 && row->checks[j].is_there; j++) {
            assert_check(row, &row->checks[j], outcomes);
        }
        if (row->busiest > 0) {
            assert_int_equal(outcomes[count - 1].busiest, row->busiest);
        }
        (void)finish(state);
        (void)start(state);
    }
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

/* ---- blocks on SMs ----------------------------------------------------------------------------------- */

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
        TEST(each_row_comes_as_it_should),
        TEST(of_two_primaries_it_waits_for_the_later_one),
        TEST(of_two_primaries_it_completes_after_both_without_a_wait),
        TEST(each_resource_limits_how_many_fit),
        TEST(an_sm_holds_as_many_blocks_as_the_library_s_model),
        TEST(an_sm_has_as_much_room_beside_a_kernel_as_in_the_library_s_model),
        TEST(each_block_is_told_once_with_stamps_in_order),
        TEST(events_grow_with_the_launches_and_not_with_the_blocks),
        TEST(the_same_program_runs_the_same_way_again),
        TEST(a_time_at_which_the_clock_cannot_tell_a_step_ends_the_run),
        TEST(a_launch_that_comes_too_late_ends_the_run),
        TEST(a_block_that_no_sm_has_room_for_ends_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
