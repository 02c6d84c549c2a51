/* SPDX-License-Identifier: MIT */
/* Measuring: what is called in which order, and what ends it early. */
#include "bench/run.h"

#include <signal.h>

#include "bench_support.h"

const struct bench_suite bench_suites[] = {{NULL, NULL, NULL}};

/* What was called: b and e for a table's begin and end; o, c, m and x and a point's number for its open, its
 * check, its sample and its close; and what happens at the how manieth sample, from 1, warming up included. */
static struct {
    char calls[512];
    int samples;
    int at;
    void (*event)(struct bench_point *point);
} record;

static void call(char what, const struct bench_point *point)
{
    const size_t used = strlen(record.calls);
    assert_true(used + 4 < sizeof(record.calls));
    (void)snprintf(record.calls + used, sizeof(record.calls) - used, "%c%s", what,
                   point != NULL ? point->values[1] : "");
}

static void begin(struct bench_table *table)
{
    call('b', NULL);
    table->state = &record;
}

static void end(struct bench_table *table)
{
    assert_ptr_equal(table->state, &record);
    call('e', NULL);
}

static void open_point(struct bench_point *point)
{
    assert_int_equal(*(int *)point->state, 0);
    *(int *)point->state = 1;
    call('o', point);
}

static void close_point(struct bench_point *point)
{
    assert_int_equal(*(int *)point->state, 1);
    call('x', point);
}

static void check(struct bench_point *point)
{
    assert_true(point->state == NULL || *(int *)point->state == 1);
    call('c', point);
}

/* The host's samples are 1, 2, 3, ... over all points; the rate is not measured. */
static void measure(struct bench_point *point, double *values)
{
    call('m', point);
    values[0] = ++record.samples;
    if (record.samples == record.at) {
        record.event(point);
    }
}

static struct bench_table *add_called_table(struct bench_run *run, const char *name, size_t points,
                                            int rounds)
{
    static const char *const numbers[] = {"0", "1", "2", "3"};
    struct bench_table *const table = add_table(run, name);
    table->spec.begin = begin;
    table->spec.check = check;
    table->spec.measure = measure;
    table->spec.end = end;
    table->spec.rounds = rounds;
    for (size_t i = 0; i < points; i++) {
        (void)add_point(table, NULL, name, numbers[i]);
    }
    return table;
}

static int set_up(void **state)
{
    (void)state;
    memset(&record, 0, sizeof(record));
    bench_interrupted = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    (void)signal(SIGHUP, SIG_DFL);
    return 0;
}

static const struct run_options one_pass = {.passes = 1};

static void every_round_begins_with_another_point(void **state)
{
    (void)state;
    struct bench_run run = {0};
    (void)add_called_table(&run, "t", 3, 4);
    assert_int_equal(run_bench(&run.bench, &one_pass), 0);
    assert_string_equal(record.calls, "bc0c1c2"
                                      "m0m1m2" /* warms up */
                                      "m0m1m2m1m2m0m2m0m1m0m1m2"
                                      "c0c1c2e");
    bench_run_free(&run);
}

static void open_and_waive(struct bench_point *point)
{
    open_point(point);
    if (point == point->table->items[1]) {
        bench_waive(point, "not here");
    }
}

/* Each with a state of its own, which begins as zeros in each pass. */
static void points_that_were_opened_are_closed(void **state)
{
    (void)state;
    struct bench_run run = {0};
    const struct run_options two = {.passes = 2};
    struct bench_table *const table = add_called_table(&run, "t", 2, 1);
    table->spec.state_size = sizeof(int);
    table->spec.open = open_and_waive;
    table->spec.close = close_point;
    assert_int_equal(run_bench(&run.bench, &two), 0);
    assert_string_equal(record.calls, "bo0o1c0m0m0c0x0x1e"
                                      "bo0c0m0m0c0x0e");
    bench_run_free(&run);
}

static void samples_are_kept_in_the_order_of_rounds(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_table *const table = add_called_table(&run, "t", 2, 2);
    const struct bench_point *const second = table->items[1];
    assert_int_equal(run_bench(&run.bench, &one_pass), 0);
    assert_int_equal(second->samples[0].count, 2);
    assert_close(second->samples[0].items[0], 4); /* 1 and 2 warmed up */
    assert_close(second->samples[0].items[1], 5);
    assert_int_equal(second->samples[1].count, 2);
    assert_true(isnan(second->samples[1].items[0]));
    assert_int_equal(second->samples[2].count, 0); /* there is no third metric */
    assert_int_equal(second->checks, 2);
    assert_null(table->state);
    bench_run_free(&run);
}

static void passes_go_over_all_tables(void **state)
{
    (void)state;
    struct bench_run run = {0};
    const struct run_options options = {.passes = 2};
    const struct bench_table *const first = add_called_table(&run, "t", 1, 2);
    const struct bench_table *const second = add_called_table(&run, "u", 1, 1);
    assert_int_equal(run_bench(&run.bench, &options), 0);
    assert_string_equal(record.calls, "bc0m0m0m0c0e" /* t */
                                      "bc0m0m0c0e"   /* u */
                                      "bc0m0m0m0c0e"
                                      "bc0m0m0c0e");
    assert_int_equal(first->items[0]->passes, 2);
    assert_int_equal(first->items[0]->pass_ends[0], 2);
    assert_int_equal(first->items[0]->pass_ends[1], 4);
    assert_int_equal(second->items[0]->pass_ends[1], 2);
    assert_int_equal(first->items[0]->checks, 4);
    bench_run_free(&run);
}

static size_t rounds_with(const struct run_options *options, int rounds)
{
    struct bench_run run = {0};
    struct bench_table *const table = add_table(&run, "t");
    const struct bench_point *const point = add_point(table, NULL, "a", "0");
    table->spec.rounds = rounds;
    assert_int_equal(run_bench(&run.bench, options), 0);
    const size_t count = point->samples[0].count;
    bench_run_free(&run);
    return count;
}

static void rounds_are_those_of_the_table_unless_said(void **state)
{
    (void)state;
    const struct run_options quick = {.passes = 1, .quick = true};
    const struct run_options given = {.passes = 1, .rounds = 7};
    const struct run_options both = {.passes = 1, .rounds = 7, .quick = true};
    assert_int_equal(rounds_with(&one_pass, 100), 100);
    assert_int_equal(rounds_with(&quick, 100), 12);
    assert_int_equal(rounds_with(&quick, 8), 3);
    assert_int_equal(rounds_with(&given, 100), 7);
    assert_int_equal(rounds_with(&both, 100), 7);
}

static void begin_and_waive(struct bench_table *table)
{
    begin(table);
    bench_waive(table->items[1], "not here");
}

static void waived_points_are_left_out(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_table *const table = add_called_table(&run, "t", 3, 1);
    table->spec.begin = begin_and_waive;
    assert_int_equal(run_bench(&run.bench, &one_pass), 0);
    assert_string_equal(record.calls, "bc0c2m0m2m0m2c0c2e");
    assert_int_equal(table->items[1]->checks, 0);
    assert_int_equal(table->items[1]->samples[0].count, 0);
    assert_int_equal(table->items[1]->passes, 0);
    assert_int_equal(run_failures(&run.bench), 0);
    bench_run_free(&run);
}

static void check_and_fail(struct bench_point *point)
{
    check(point);
    if (point == point->table->items[1]) {
        bench_fail(point, "wrong");
    }
}

static void wrong_results_end_a_point_and_nothing_else(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_table *const table = add_called_table(&run, "t", 2, 1);
    (void)add_called_table(&run, "u", 1, 1);
    table->spec.check = check_and_fail;
    assert_int_equal(run_bench(&run.bench, &one_pass), 0);
    assert_string_equal(record.calls, "bc0c1m0m0c0e"
                                      "bc0m0m0c0e");
    assert_int_equal(table->items[1]->checks, 0); /* those that were right */
    assert_int_equal(table->items[0]->checks, 2);
    assert_int_equal(run_failures(&run.bench), 1);
    table->items[1]->selected = false;
    assert_int_equal(run_failures(&run.bench), 0);
    bench_run_free(&run);
}

static void lose(struct bench_point *point)
{
    bench_fail(point, "lost");
}

static void points_that_fail_while_measured_are_not_measured_any_more(void **state)
{
    (void)state;
    struct bench_run run = {0};
    (void)add_called_table(&run, "t", 2, 2);
    record.at = 3; /* the first one of the first round */
    record.event = lose;
    assert_int_equal(run_bench(&run.bench, &one_pass), 0);
    assert_string_equal(record.calls, "bc0c1m0m1m0m1m1c1e");
    assert_int_equal(run_failures(&run.bench), 1);
    bench_run_free(&run);
}

static void what_is_not_selected_is_not_touched(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_table *const table = add_called_table(&run, "t", 2, 1);
    table->items[0]->selected = false;
    add_called_table(&run, "u", 1, 1)->items[0]->selected = false;
    assert_int_equal(run_bench(&run.bench, &one_pass), 0);
    assert_string_equal(record.calls, "bc1m1m1c1e");
    bench_run_free(&run);
}

static void interrupt(struct bench_point *point)
{
    (void)point;
    (void)raise(SIGTERM);
}

static void interrupted_round_is_dropped_and_tables_are_ended(void **state)
{
    (void)state;
    struct bench_run run = {0};
    const struct run_options options = {.passes = 3};
    struct bench_table *const table = add_called_table(&run, "t", 2, 4);
    (void)add_called_table(&run, "u", 1, 1);
    record.at = 7; /* the first one of the third round */
    record.event = interrupt;
    assert_int_equal(run_bench(&run.bench, &options), SIGTERM);
    assert_string_equal(record.calls, "bc0c1m0m1m0m1m1m0m0e");
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(table->items[i]->samples[0].count, 2);
        assert_int_equal(table->items[i]->samples[1].count, 2);
        assert_int_equal(table->items[i]->passes, 1);
        assert_int_equal(table->items[i]->pass_ends[0], 2);
    }
    bench_run_free(&run);
}

static void interrupted_in_a_later_pass_it_keeps_the_earlier_ones(void **state)
{
    (void)state;
    struct bench_run run = {0};
    const struct run_options options = {.passes = 3};
    struct bench_table *const table = add_called_table(&run, "t", 1, 2);
    record.at = 4; /* warms up for the second pass */
    record.event = interrupt;
    assert_int_equal(run_bench(&run.bench, &options), SIGTERM);
    assert_int_equal(table->items[0]->samples[0].count, 2);
    assert_int_equal(table->items[0]->passes, 1);
    bench_run_free(&run);
}

static void signals_that_the_caller_ignores_stay_ignored(void **state)
{
    (void)state;
    struct bench_run run = {0};
    (void)signal(SIGTERM, SIG_IGN);
    struct bench_table *const table = add_called_table(&run, "t", 1, 4);
    record.at = 2;
    record.event = interrupt;
    assert_int_equal(run_bench(&run.bench, &one_pass), 0);
    assert_int_equal(table->items[0]->samples[0].count, 4);
    bench_run_free(&run);
}

static void progress_is_told_where_it_is_wanted(void **state)
{
    (void)state;
    struct bench_run run = {0};
    const struct run_options loud = {.passes = 2, .progress = true};
    (void)add_called_table(&run, "t", 1, 4);
    catch_errors();
    (void)run_bench(&run.bench, &loud);
    char *errors = caught_errors();
    assert_has(errors, "\r\033[Kpass 1 of 2, suite/t, round 1 of 4");
    assert_string_equal(errors + strlen(errors) - 4, "\r\033[K"); /* and taken away at the end */
    free(errors);
    catch_errors();
    (void)run_bench(&run.bench, &one_pass);
    errors = caught_errors();
    assert_string_equal(errors, "");
    free(errors);
    bench_run_free(&run);
}

#define RUN_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN_TEST(every_round_begins_with_another_point),
        RUN_TEST(points_that_were_opened_are_closed),
        RUN_TEST(samples_are_kept_in_the_order_of_rounds),
        RUN_TEST(passes_go_over_all_tables),
        RUN_TEST(rounds_are_those_of_the_table_unless_said),
        RUN_TEST(waived_points_are_left_out),
        RUN_TEST(wrong_results_end_a_point_and_nothing_else),
        RUN_TEST(points_that_fail_while_measured_are_not_measured_any_more),
        RUN_TEST(what_is_not_selected_is_not_touched),
        RUN_TEST(interrupted_round_is_dropped_and_tables_are_ended),
        RUN_TEST(interrupted_in_a_later_pass_it_keeps_the_earlier_ones),
        RUN_TEST(signals_that_the_caller_ignores_stay_ignored),
        RUN_TEST(progress_is_told_where_it_is_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
