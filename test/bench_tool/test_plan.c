/* SPDX-License-Identifier: MIT */
/* Which suites there are, and which of their points are wanted. */
#include "bench/plan.h"

#include "bench_support.h"

static void check(struct bench_point *point)
{
    (void)point;
}

static void measure(struct bench_point *point, double *values)
{
    (void)point;
    (void)values;
}

/* Points a to d, each compared with the one before. */
static void declare_one(struct bench *bench)
{
    const struct bench_spec spec = {
        .name = "letters",
        .axes = {"letter", "case"},
        .metrics = {{"host", "ns", false, 0}},
        .rounds = 1,
        .check = check,
        .measure = measure,
    };
    struct bench_table *const table = bench_table_add(bench, &spec);
    struct bench_point *before = NULL;
    for (char letter = 'a'; letter <= 'd'; letter++) {
        char text[2] = {letter, '\0'};
        const char *const values[] = {text, "small"};
        before = bench_point_add(table, before, NULL, values);
        text[0] = '\0'; /* the values are copied */
    }
}

static void declare_two(struct bench *bench)
{
    const struct bench_spec spec = {
        .name = "single",
        .metrics = {{"host", "ns", false, 0}},
        .rounds = 1,
        .check = check,
        .measure = measure,
    };
    (void)bench_point_add(bench_table_add(bench, &spec), NULL, &spec.rounds, NULL);
}

const struct bench_suite bench_suites[] = {
    {"one", "the first", declare_one},
    {"two", "the second", declare_two},
    {NULL, NULL, NULL},
};

/* As the command line has them. */
static bool declare(struct bench *bench, const char *const *names, size_t count)
{
    return plan_declare(bench, (char *const *)names, count);
}

static size_t select_by(struct bench *bench, const char *const *filters, size_t count)
{
    return plan_select(bench, (char *const *)filters, count);
}

static void all_suites_are_declared_without_a_name(void **state)
{
    (void)state;
    struct bench_run run = {0};
    assert_true(declare(&run.bench, NULL, 0));
    assert_int_equal(run.bench.count, 2);
    assert_string_equal(run.bench.items[0]->suite, "one");
    assert_string_equal(run.bench.items[1]->suite, "two");
    bench_run_free(&run);
}

static void suites_come_in_their_own_order_and_once(void **state)
{
    (void)state;
    struct bench_run run = {0};
    const char *const names[] = {"two", "one", "two"};
    assert_true(declare(&run.bench, names, 3));
    assert_int_equal(run.bench.count, 2);
    assert_string_equal(run.bench.items[0]->suite, "one");
    bench_run_free(&run);
    assert_true(declare(&run.bench, names, 1));
    assert_int_equal(run.bench.count, 1);
    assert_string_equal(run.bench.items[0]->suite, "two");
    bench_run_free(&run);
}

static void unknown_suite_is_refused_with_those_there_are(void **state)
{
    (void)state;
    struct bench_run run = {0};
    const char *const names[] = {"one", "three"};
    catch_errors();
    const bool declared = declare(&run.bench, names, 2);
    char *const errors = caught_errors();
    assert_false(declared);
    assert_string_equal(errors, "pdltool: error: unknown suite 'three'; the suites are one, two\n");
    assert_int_equal(run.bench.count, 0);
    free(errors);
}

static void ids_say_all_of_a_point(void **state)
{
    (void)state;
    struct bench_run run = {0};
    assert_true(declare(&run.bench, NULL, 0));
    const struct bench_point *const point = run.bench.items[0]->items[1];
    assert_string_equal(point->id, "one/letters/letter=b/case=small");
    assert_string_equal(point->values[0], "b");
    assert_string_equal(point->values[1], "small");
    assert_ptr_equal(point->against, run.bench.items[0]->items[0]);
    assert_ptr_equal(point->table, run.bench.items[0]);
    assert_true(point->selected);
    assert_string_equal(run.bench.items[1]->items[0]->id, "two/single");
    bench_run_free(&run);
}

static void rows_have_a_copy_of_their_configuration(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_table *const table = add_table(&run, "t");
    int config = 7;
    table->spec.config_size = sizeof(config);
    struct bench_point *const first = bench_row(table, NULL, &config, "%s/%u", "a, |", 12U);
    config = 8;
    struct bench_point *const second = bench_row(table, first, &config, "b/");
    assert_string_equal(first->id, "suite/t/way=a, |/length=12");
    assert_string_equal(second->id, "suite/t/way=b/length=");
    assert_int_equal(*(const int *)first->config, 7);
    assert_int_equal(*(const int *)second->config, 8);
    assert_ptr_equal(second->against, first);
    bench_run_free(&run);
}

/* The letters that are selected, and 2 for the other suite. */
static void assert_selected(const char *const *filters, size_t count, const char *wanted)
{
    struct bench_run run = {0};
    char got[8] = "";
    assert_true(declare(&run.bench, NULL, 0));
    const size_t selected = select_by(&run.bench, filters, count);
    for (size_t i = 0; i < 4; i++) {
        if (run.bench.items[0]->items[i]->selected) {
            (void)strcat(got, run.bench.items[0]->items[i]->values[0]);
        }
    }
    (void)strcat(got, run.bench.items[1]->items[0]->selected ? "2" : "");
    assert_string_equal(got, wanted);
    assert_int_equal(selected, strlen(wanted));
    bench_run_free(&run);
}

static void filters_select_by_parts_of_ids(void **state)
{
    (void)state;
    const char *const single[] = {"single"};
    const char *const first[] = {"letter=a"};
    const char *const neither[] = {"letter=e"};
    const char *const pattern[] = {"one/*=[ab]/"};
    const char *const both[] = {"letter=a", "two"};
    assert_selected(NULL, 0, "abcd2");
    assert_selected(single, 1, "2");
    assert_selected(first, 1, "a");
    assert_selected(neither, 1, "");
    assert_selected(pattern, 1, "ab");
    assert_selected(both, 2, "a2");
}

static void what_a_point_is_compared_with_is_selected_too(void **state)
{
    (void)state;
    const char *const last[] = {"letter=c"};
    assert_selected(last, 1, "abc");
}

static void selecting_again_forgets_the_first_time(void **state)
{
    (void)state;
    struct bench_run run = {0};
    const char *const first[] = {"letter=a"};
    assert_true(declare(&run.bench, NULL, 0));
    assert_int_equal(select_by(&run.bench, first, 1), 1);
    assert_int_equal(select_by(&run.bench, NULL, 0), 5);
    bench_run_free(&run);
}

static void first_reason_stays(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_point *const point = add_point(add_table(&run, "t"), NULL, "a", "1");
    assert_true(bench_point_active(point));
    bench_waive(point, "no %s", "clusters");
    bench_waive(point, "another");
    assert_string_equal(point->waived, "no clusters");
    assert_false(bench_point_active(point));
    bench_fail(point, "%d blocks", 3);
    bench_fail(point, "another");
    assert_string_equal(point->failed, "3 blocks");
    bench_run_free(&run);
}

static void points_that_are_not_selected_are_not_active(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_point *const point = add_point(add_table(&run, "t"), NULL, "a", "1");
    point->selected = false;
    assert_false(bench_point_active(point));
    bench_run_free(&run);
}

static unsigned calls;

static void count_call(struct bench_point *point)
{
    assert_true(bench_point_active(point));
    bench_interrupted = ++calls == 2;
}

static void each_active_point_is_called_until_the_run_is_interrupted(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_table *const table = add_table(&run, "t");
    bench_waive(add_point(table, NULL, "a", "1"), "no clusters");
    add_point(table, NULL, "b", "1");
    bench_each_active(table, count_call);
    assert_int_equal(calls, 1);
    add_point(table, NULL, "c", "1");
    bench_each_active(table, count_call); /* the first call interrupts it */
    assert_int_equal(calls, 2);
    bench_interrupted = 0;
    bench_each_active(table, count_call);
    assert_int_equal(calls, 4);
    bench_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_suites_are_declared_without_a_name),
        cmocka_unit_test(suites_come_in_their_own_order_and_once),
        cmocka_unit_test(unknown_suite_is_refused_with_those_there_are),
        cmocka_unit_test(ids_say_all_of_a_point),
        cmocka_unit_test(rows_have_a_copy_of_their_configuration),
        cmocka_unit_test(filters_select_by_parts_of_ids),
        cmocka_unit_test(what_a_point_is_compared_with_is_selected_too),
        cmocka_unit_test(selecting_again_forgets_the_first_time),
        cmocka_unit_test(first_reason_stays),
        cmocka_unit_test(points_that_are_not_selected_are_not_active),
        cmocka_unit_test(each_active_point_is_called_until_the_run_is_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
