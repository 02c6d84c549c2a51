/* SPDX-License-Identifier: MIT */
/* Two runs compared: which verdict a row gets, and what is printed. */
#include "bench_support.h"

const struct bench_suite bench_suites[] = {{NULL, NULL, NULL}};

/* A run of one point, with a pass for each median of its host; that has a tolerance of 0.1, and the rate,
 * which is a million over the host, one of 0.03. */
static struct bench_run run_of(const double *medians, size_t count)
{
    struct bench_run run = {0};
    struct bench_point *const point = add_point(add_table(&run, "t"), NULL, "raw", "1");
    for (size_t i = 0; i < count; i++) {
        add_steady_pass(point, medians[i]);
    }
    return run;
}

static struct bench_run run_of_one(double median)
{
    return run_of(&median, 1);
}

/* What compare_runs() prints of the two, which are freed. */
static char *compared_once(struct bench_run *old_run, struct bench_run *new_run, size_t *worse)
{
    char *const text = compared(old_run, new_run, worse);
    bench_run_free(old_run);
    bench_run_free(new_run);
    return text;
}

/* Without the rate. */
static char *compared_hosts(const double *old_medians, size_t old_count, const double *new_medians,
                            size_t new_count, size_t *worse)
{
    struct bench_run old_run = run_of(old_medians, old_count);
    struct bench_run new_run = run_of(new_medians, new_count);
    old_run.bench.items[0]->spec.metrics[1].name = NULL;
    new_run.bench.items[0]->spec.metrics[1].name = NULL;
    return compared_once(&old_run, &new_run, worse);
}

static void rows_within_the_tolerance_are_the_same(void **state)
{
    (void)state;
    const double before = 100;
    const double after[] = {100, 109, 91};
    for (size_t i = 0; i < COUNT_OF(after); i++) {
        size_t worse = 9;
        char *const text = compared_hosts(&before, 1, &after[i], 1, &worse);
        assert_string_equal(text, "\n## Compared with the old run\n\n1 same, 0 worse.\n");
        assert_int_equal(worse, 0);
        free(text);
    }
}

static void rows_beyond_it_are_worse_or_better(void **state)
{
    (void)state;
    const double before = 1000;
    const double slower = 1111;
    const double faster = 889;
    size_t worse = 9;
    char *text = compared_hosts(&before, 1, &slower, 1, &worse);
    assert_string_equal(
        text,
        "\n## Compared with the old run\n\n"
        "| Row                      | Verdict | Metric |      Old |      New | Change | Allowed |\n"
        "|--------------------------|---------|--------|---------:|---------:|-------:|--------:|\n"
        "| suite/t/way=raw/length=1 | worse   | host   | 1,000 ns | 1,111 ns | +11.1% |   10.0% |\n"
        "\n0 same, 1 worse.\n");
    assert_int_equal(worse, 1);
    free(text);
    text = compared_hosts(&before, 1, &faster, 1, &worse);
    assert_has(text, "| better ");
    assert_has(text, "-11.1%");
    assert_has(text, "\n0 same, 0 worse, 1 better.\n");
    assert_int_equal(worse, 0);
    free(text);
}

/* The rate falls where the host's time grows, and has a smaller tolerance. */
static void direction_and_tolerance_are_the_metrics_own(void **state)
{
    (void)state;
    struct bench_run old_run = run_of_one(100);
    struct bench_run new_run = run_of_one(95);
    size_t worse = 9;
    char *text = compared_once(&old_run, &new_run, &worse);
    assert_has(text, "| better  | rate   |");
    assert_has_not(text, "| host ");
    assert_has(text, "+5.3% |    3.0% |");
    free(text);
    old_run = run_of_one(95);
    new_run = run_of_one(100);
    text = compared_once(&old_run, &new_run, &worse);
    assert_has(text, "| worse   | rate   |");
    assert_has(text, "\n0 same, 1 worse.\n");
    assert_int_equal(worse, 1);
    free(text);
}

/* 5 % and 12 % together are more than the tolerance. */
static void spreads_of_both_runs_are_allowed_for(void **state)
{
    (void)state;
    const double before[] = {95, 100, 100};
    const double after[] = {116, 116, 102.08};
    const double later[] = {118, 118, 103.84};
    size_t worse = 9;
    char *text = compared_hosts(before, 3, after, 3, &worse);
    assert_has(text, "\n1 same, 0 worse.\n");
    free(text);
    text = compared_hosts(before, 3, later, 3, &worse);
    assert_has(text, "+18.0% |   17.0% |");
    assert_int_equal(worse, 1);
    free(text);
    text = compared_hosts(before, 1, later, 1, &worse); /* of a single pass nothing is known */
    assert_has(text, "|   10.0% |");
    free(text);
}

/* A run of one point with that median of the host; of eleven samples two lie so far above it and two so far
 * below. All passes are alike. */
static struct bench_run noisy_run(double median, double noise, size_t passes)
{
    enum { MANY = 11 };
    struct bench_run run = {0};
    struct bench_point *const point = add_point(add_table(&run, "t"), NULL, "raw", "1");
    double samples[MANY];
    for (size_t i = 0; i < MANY; i++) {
        samples[i] = median;
    }
    samples[0] = samples[1] = median * (1 - noise);
    samples[2] = samples[3] = median * (1 + noise);
    for (size_t i = 0; i < passes; i++) {
        add_pass(point, samples, MANY);
    }
    run.bench.items[0]->spec.metrics[1].name = NULL;
    return run;
}

static void the_noise_of_both_runs_is_allowed_for(void **state)
{
    (void)state;
    struct bench_run old_run = noisy_run(100, 0.08, 1);
    struct bench_run new_run = noisy_run(118, 0.12, 1);
    size_t worse = 9;
    char *text = compared_once(&old_run, &new_run, &worse);
    assert_has(text, "\n1 same, 0 worse.\n");
    free(text);
    old_run = noisy_run(100, 0.08, 1);
    new_run = noisy_run(122, 0.12, 1);
    text = compared_once(&old_run, &new_run, &worse);
    assert_has(text, "+22.0% |   20.0% |");
    assert_int_equal(worse, 1);
    free(text);
}

static void quiet_samples_are_allowed_the_tolerance_and_no_more(void **state)
{
    (void)state;
    struct bench_run old_run = noisy_run(100, 0.02, 1);
    struct bench_run new_run = noisy_run(111, 0.03, 1);
    size_t worse = 9;
    char *const text = compared_once(&old_run, &new_run, &worse);
    assert_has(text, "+11.0% |   10.0% |");
    assert_int_equal(worse, 1);
    free(text);
}

/* Passes that agree do not make the samples quiet. */
static void noise_counts_where_the_passes_agree(void **state)
{
    (void)state;
    struct bench_run old_run = noisy_run(100, 0.08, 3);
    struct bench_run new_run = noisy_run(115, 0.08, 3);
    size_t worse = 9;
    char *const text = compared_once(&old_run, &new_run, &worse);
    assert_has(text, "\n1 same, 0 worse.\n");
    free(text);
}

/* 5 % by the passes of the one and 12 % by the samples of the other, whose passes agree; what is less in
 * each does not count. */
static void of_a_run_the_larger_of_noise_and_spread_counts(void **state)
{
    (void)state;
    const double spread[] = {95, 100, 100};
    struct bench_run old_run = run_of(spread, 3);
    struct bench_run new_run = noisy_run(118, 0.12, 3);
    size_t worse = 9;
    old_run.bench.items[0]->spec.metrics[1].name = NULL;
    char *const text = compared_once(&old_run, &new_run, &worse);
    assert_has(text, "+18.0% |   17.0% |");
    assert_int_equal(worse, 1);
    free(text);
}

static void a_row_is_what_its_worst_figure_is(void **state)
{
    (void)state;
    struct bench_run old_run = run_of_one(100);
    struct bench_run new_run = run_of_one(150);
    size_t worse = 9;
    new_run.bench.items[0]->spec.metrics[1].higher_is_better = false;
    char *const text = compared_once(&old_run, &new_run, &worse);
    assert_has(text, "| worse   | host ");
    assert_has(text, "| better  | rate ");
    assert_has(text, "\n0 same, 1 worse.\n");
    assert_int_equal(worse, 1);
    free(text);
}

static void zero_is_compared_with_zero(void **state)
{
    (void)state;
    const double nothing = 0;
    const double something = 5;
    size_t worse = 9;
    char *text = compared_hosts(&nothing, 1, &nothing, 1, &worse);
    assert_has(text, "\n1 same, 0 worse.\n");
    free(text);
    text = compared_hosts(&nothing, 1, &something, 1, &worse);
    assert_has(text, "+inf");
    assert_int_equal(worse, 1);
    free(text);
    text = compared_hosts(&something, 1, &nothing, 1, &worse);
    assert_has(text, "| better  | host   | 5 ns | 0 ns | -100.0% ");
    free(text);
}

/* Points: 1 stays, 2 only in the old run, 3 only in the new one. */
static void rows_of_one_run_are_new_or_gone(void **state)
{
    (void)state;
    struct bench_run old_run = run_of_one(100);
    struct bench_run new_run = run_of_one(100);
    size_t worse = 9;
    add_steady_pass(add_point(old_run.bench.items[0], NULL, "raw", "2"), 1);
    add_steady_pass(add_point(new_run.bench.items[0], NULL, "raw", "3"), 1);
    char *const text = compared_once(&old_run, &new_run, &worse);
    assert_has(text, "| suite/t/way=raw/length=3 | new     |\n");
    assert_has(text, "| suite/t/way=raw/length=2 | gone    |\n");
    assert_has(text, "\n1 same, 0 worse, 1 new, 1 gone.\n");
    assert_int_equal(worse, 0);
    free(text);
}

static void a_table_that_is_gone_takes_one_line(void **state)
{
    (void)state;
    struct bench_run old_run = run_of_one(100);
    struct bench_run new_run = run_of_one(100);
    struct bench_table *const table = add_table(&old_run, "u");
    size_t worse = 9;
    add_steady_pass(add_point(table, NULL, "raw", "2"), 1);
    add_steady_pass(add_point(table, NULL, "raw", "3"), 1);
    char *const text = compared_once(&old_run, &new_run, &worse);
    assert_has(text, "| suite/u | gone: 2 rows |\n");
    assert_has_not(text, "suite/u/way");
    assert_has(text, "\n1 same, 0 worse, 2 gone.\n");
    free(text);
}

static void what_was_not_asked_for_is_not_gone(void **state)
{
    (void)state;
    struct bench_run old_run = run_of_one(100);
    struct bench_run new_run = run_of_one(100);
    size_t worse = 9;
    add_steady_pass(add_point(old_run.bench.items[0], NULL, "raw", "2"), 1);
    add_point(new_run.bench.items[0], NULL, "raw", "2")->selected = false;
    old_run.bench.suite = "another";
    add_steady_pass(add_point(add_table(&old_run, "t"), NULL, "raw", "1"), 1);
    char *const text = compared_once(&old_run, &new_run, &worse);
    assert_has_not(text, "gone");
    assert_has(text, "\n1 same, 0 worse; 2 rows of the old run not asked for.\n");
    free(text);
}

static void metrics_come_and_go(void **state)
{
    (void)state;
    struct bench_run old_run = run_of_one(100);
    struct bench_run new_run = run_of_one(100);
    size_t worse = 9;
    new_run.bench.items[0]->spec.metrics[1].unit = "1/ms";
    char *text = compared(&old_run, &new_run, &worse);
    assert_has(text, "| new     | rate   |            | 10,000 1/ms |");
    assert_has(text, "| gone    | rate   | 10,000 1/s |             |");
    assert_has(text, "\n0 same, 0 worse, 1 gone.\n");
    free(text);
    new_run.bench.items[0]->spec.metrics[1].unit = "1/s";
    for (size_t i = 0; i < 3; i++) {
        new_run.bench.items[0]->items[0]->samples[1].items[i] = NAN;
    }
    text = compared(&old_run, &new_run, &worse);
    assert_has(text, "| gone    | rate   | 10,000 1/s |");
    free(text);
    text = compared(&new_run, &new_run, &worse); /* never measured: nothing to say */
    assert_has(text, "\n1 same, 0 worse.\n");
    free(text);
    bench_run_free(&old_run);
    bench_run_free(&new_run);
}

static void rows_that_fail_only_now_count_as_worse(void **state)
{
    (void)state;
    struct bench_run old_run = run_of_one(100);
    struct bench_run new_run = run_of_one(100);
    size_t worse = 9;
    bench_fail(new_run.bench.items[0]->items[0], "3, not 4");
    char *text = compared(&old_run, &new_run, &worse);
    assert_has(text, "| suite/t/way=raw/length=1 | failed: 3, not 4 |\n");
    assert_has(text, "\n0 same, 0 worse, 1 failed.\n");
    assert_int_equal(worse, 1);
    free(text);
    bench_fail(old_run.bench.items[0]->items[0], "before");
    text = compared(&old_run, &new_run, &worse);
    assert_has(text, "\n0 same, 0 worse, 1 failed.\n");
    assert_int_equal(worse, 0);
    free(text);
    text = compared(&old_run, &old_run, &worse);
    assert_int_equal(worse, 0);
    free(text);
    bench_run_free(&old_run);
    bench_run_free(&new_run);
}

static void rows_that_are_waived_only_now_are_shown(void **state)
{
    (void)state;
    struct bench_run old_run = run_of_one(100);
    struct bench_run new_run = run_of_one(100);
    size_t worse = 9;
    bench_waive(new_run.bench.items[0]->items[0], "not here");
    char *text = compared(&old_run, &new_run, &worse);
    assert_has(text, "| suite/t/way=raw/length=1 | waived: not here |\n");
    assert_has(text, "\n0 same, 0 worse, 1 waived.\n");
    assert_int_equal(worse, 0);
    free(text);
    text = compared(&new_run, &new_run, &worse);
    assert_string_equal(text, "\n## Compared with the old run\n\n0 same, 0 worse, 1 waived.\n");
    free(text);
    text = compared(&new_run, &old_run, &worse);
    assert_has(text, "| new: it was waived in the old run |\n");
    free(text);
    bench_run_free(&old_run);
    bench_run_free(&new_run);
}

static void rows_that_failed_before_are_new(void **state)
{
    (void)state;
    struct bench_run old_run = run_of_one(100);
    struct bench_run new_run = run_of_one(200);
    size_t worse = 9;
    bench_fail(old_run.bench.items[0]->items[0], "wrong");
    char *const text = compared_once(&old_run, &new_run, &worse);
    assert_has(text, "| new: it failed in the old run |\n");
    assert_int_equal(worse, 0);
    free(text);
}

static void runs_that_ended_early_say_so(void **state)
{
    (void)state;
    struct bench_run old_run = run_of_one(100);
    struct bench_run new_run = run_of_one(100);
    size_t worse = 9;
    old_run.ended_early = copy_text("device lost");
    new_run.ended_early = copy_text("interrupted");
    (void)add_point(new_run.bench.items[0], NULL, "raw", "2");
    (void)add_point(old_run.bench.items[0], NULL, "raw", "3");
    add_steady_pass(add_point(new_run.bench.items[0], NULL, "raw", "3"), 1);
    char *const text = compared_once(&old_run, &new_run, &worse);
    assert_has(text, "| suite/t/way=raw/length=3 | new: the old run ended before it |\n");
    assert_has(text, "\n1 same, 0 worse, 1 new, 1 not measured.\n"
                     "\nThe old run ended early: device lost.\n"
                     "\nThe new run ended early: interrupted.\n");
    free(text);
}

static void what_was_not_measured_cannot_be_compared(void **state)
{
    (void)state;
    struct bench_run old_run = run_of_one(100);
    struct bench_run new_run = run_of_one(100);
    struct bench_run other = {0};
    add_steady_pass(add_point(add_table(&other, "u"), NULL, "raw", "1"), 100);
    assert_false(compare_is_blind(&old_run, &new_run));
    assert_true(compare_is_blind(&other, &new_run)); /* all is new */
    (void)add_point(old_run.bench.items[0], NULL, "raw", "2");
    assert_false(compare_is_blind(&old_run, &new_run));
    assert_true(compare_is_blind(&new_run, &old_run)); /* one was not measured */
    bench_waive(old_run.bench.items[0]->items[1], "not here");
    assert_false(compare_is_blind(&new_run, &old_run));
    bench_waive(new_run.bench.items[0]->items[0], "not here");
    assert_true(compare_is_blind(&old_run, &new_run));
    bench_run_free(&old_run);
    bench_run_free(&new_run);
    bench_run_free(&other);
}

static void other_conditions_are_named(void **state)
{
    (void)state;
    struct bench_run old_run = run_of_one(100);
    struct bench_run new_run = run_of_one(100);
    struct bench_environment *const before = &old_run.environment;
    struct bench_environment *const after = &new_run.environment;
    size_t worse = 9;
    environment_add_text(before, "date", "today");
    environment_add_text(before, "gpu", "H100");
    environment_add_number(before, "multiprocessors", 114);
    environment_add_text(before, "driver", "580");
    environment_add_number(before, "power_w_before", 70);
    environment_add_text(before, "clocks_held_back_by_after", "nothing");
    environment_add_text(after, "clocks_held_back_by_after", "power cap");
    environment_add_number(after, "power_w_before", 90);
    environment_add_text(after, "gpu", "H200");
    environment_add_number(after, "multiprocessors", 132);
    environment_add_text(after, "driver", "580");
    environment_add_text(after, "git", "abc");
    environment_add_text(after, "date", "tomorrow");
    char *text = compared(&old_run, &new_run, &worse);
    assert_has(text, "\nThe runs were made under other conditions: gpu was H100, now H200; "
                     "multiprocessors was 114, now 132; "
                     "clocks_held_back_by_after was nothing, now power cap; "
                     "git was not known, now abc.\n");
    free(text);
    text = compared(&new_run, &new_run, &worse);
    assert_has_not(text, "conditions");
    free(text);
    bench_run_free(&old_run);
    bench_run_free(&new_run);
}

/* Rows that were turned round are found as well. */
static void the_order_of_rows_does_not_matter(void **state)
{
    (void)state;
    static const char *const lengths[] = {"0", "1", "2", "3", "4", "5"};
    struct bench_run old_run = {0};
    struct bench_run new_run = {0};
    struct bench_table *const before = add_table(&old_run, "t");
    struct bench_table *const after = add_table(&new_run, "t");
    size_t worse = 9;
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        const size_t j = (i * 5 + 3) % COUNT_OF(lengths);
        add_steady_pass(add_point(before, NULL, "raw", lengths[i]), (double)(i + 1));
        add_steady_pass(add_point(after, NULL, "raw", lengths[j]), (double)(j + 1));
    }
    char *const text = compared_once(&old_run, &new_run, &worse);
    assert_has(text, "\n6 same, 0 worse.\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_within_the_tolerance_are_the_same),
        cmocka_unit_test(rows_beyond_it_are_worse_or_better),
        cmocka_unit_test(direction_and_tolerance_are_the_metrics_own),
        cmocka_unit_test(spreads_of_both_runs_are_allowed_for),
        cmocka_unit_test(the_noise_of_both_runs_is_allowed_for),
        cmocka_unit_test(quiet_samples_are_allowed_the_tolerance_and_no_more),
        cmocka_unit_test(noise_counts_where_the_passes_agree),
        cmocka_unit_test(of_a_run_the_larger_of_noise_and_spread_counts),
        cmocka_unit_test(a_row_is_what_its_worst_figure_is),
        cmocka_unit_test(zero_is_compared_with_zero),
        cmocka_unit_test(rows_of_one_run_are_new_or_gone),
        cmocka_unit_test(a_table_that_is_gone_takes_one_line),
        cmocka_unit_test(what_was_not_asked_for_is_not_gone),
        cmocka_unit_test(metrics_come_and_go),
        cmocka_unit_test(rows_that_fail_only_now_count_as_worse),
        cmocka_unit_test(rows_that_are_waived_only_now_are_shown),
        cmocka_unit_test(rows_that_failed_before_are_new),
        cmocka_unit_test(what_was_not_measured_cannot_be_compared),
        cmocka_unit_test(runs_that_ended_early_say_so),
        cmocka_unit_test(other_conditions_are_named),
        cmocka_unit_test(the_order_of_rows_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
