/* SPDX-License-Identifier: MIT */
/* Statistics of samples. */
#include "bench/stats.h"
#include "bench_support.h"

const struct bench_suite bench_suites[] = {{NULL, NULL, NULL}};

static void quantiles_lie_between_neighbours(void **state)
{
    (void)state;
    const double samples[] = {40, 10, 30, 20, 50};
    const struct stats stats = stats_of(samples, COUNT_OF(samples));
    assert_int_equal(stats.count, 5);
    assert_close(stats.min, 10);
    assert_close(stats.p10, 14);
    assert_close(stats.median, 30);
    assert_close(stats.p90, 46);
    assert_close(stats.p99, 49.6);
    assert_close(stats.max, 50);
    assert_close(stats.mean, 30);
    assert_close(samples[0], 40); /* the samples stay in their order */
}

static void median_of_an_even_number_lies_in_the_middle(void **state)
{
    (void)state;
    const double samples[] = {4, 1, 3, 2};
    assert_close(stats_median(samples, 4), 2.5);
    assert_close(stats_median(samples, 1), 4);
}

static void samples_that_are_no_numbers_do_not_count(void **state)
{
    (void)state;
    const double samples[] = {NAN, 3, NAN, 1};
    const struct stats stats = stats_of(samples, COUNT_OF(samples));
    assert_int_equal(stats.count, 2);
    assert_close(stats.median, 2);
    assert_close(stats.mean, 2);
}

static void of_nothing_nothing_is_known(void **state)
{
    (void)state;
    const double samples[] = {NAN};
    const struct stats none = stats_of(samples, 1);
    const double figures[] = {none.min, none.p10, none.median, none.p99, none.max, none.mean};
    assert_int_equal(none.count, 0);
    for (size_t i = 0; i < COUNT_OF(figures); i++) {
        assert_true(isnan(figures[i]));
    }
    assert_true(isnan(stats_median(NULL, 0)));
}

/* Where both drift together, the ratio of each round knows nothing of the drift. */
static void ratio_is_taken_round_by_round(void **state)
{
    (void)state;
    double samples[50];
    double base[50];
    for (int i = 0; i < 50; i++) {
        base[i] = 100.0 + 20 * i;
        samples[i] = base[i] * 0.5;
    }
    const struct stats_ratio ratio = stats_ratio_of(samples, base, 50);
    assert_int_equal(ratio.count, 50);
    assert_close(ratio.median, 0.5);
    assert_close(ratio.low, 0.5);
    assert_close(ratio.high, 0.5);
}

/* The interval holds the median, is narrower with more samples, and is that of a known distribution: of
 * uniform ratios from 0 to 1, the median of n lies within 0.98/sqrt(n) in 95 of 100 cases. */
static void ratio_has_the_interval_of_its_median(void **state)
{
    (void)state;
    enum { MANY = 4000 };
    static double samples[MANY];
    static double base[MANY];
    for (unsigned i = 0; i < MANY; i++) {
        base[i] = 2;
        samples[i] = 2 * ((i * 2654435761u % MANY) + 0.5) / MANY;
    }
    const struct stats_ratio few = stats_ratio_of(samples, base, 100);
    const struct stats_ratio many = stats_ratio_of(samples, base, MANY);
    assert_true(few.low < few.median && few.median < few.high);
    assert_true(many.low < many.median && many.median < many.high);
    assert_true(fabs(many.median - 0.5) < 0.001);
    assert_true(fabs((many.high - many.low) / (2 * 0.98 / sqrt(MANY)) - 1) < 0.15);
    assert_true((few.high - few.low) > 3 * (many.high - many.low));
}

static void ratio_leaves_out_what_cannot_be_divided(void **state)
{
    (void)state;
    const double samples[] = {NAN, 1, 2, 3, 8};
    const double base[] = {1, NAN, 0, 1, 2};
    const struct stats_ratio ratio = stats_ratio_of(samples, base, 5);
    assert_int_equal(ratio.count, 2);
    assert_close(ratio.median, 3.5);
    assert_int_equal(stats_ratio_of(samples, base, 3).count, 0);
    assert_true(isnan(stats_ratio_of(samples, base, 3).median));
    assert_int_equal(stats_ratio_of(NULL, NULL, 0).count, 0);
}

static void ratio_is_the_same_each_time(void **state)
{
    (void)state;
    const double samples[] = {1, 2, 3, 5, 8, 13, 21};
    const double base[] = {1, 1, 2, 3, 5, 8, 13};
    const struct stats_ratio once = stats_ratio_of(samples, base, 7);
    const struct stats_ratio again = stats_ratio_of(samples, base, 7);
    assert_memory_equal(&once, &again, sizeof(once));
}

/* From 10 to 90 %: a wild sample beyond that says nothing. */
static void noise_is_half_of_what_most_samples_span(void **state)
{
    (void)state;
    double samples[] = {96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 95};
    struct stats stats = stats_of(samples, COUNT_OF(samples));
    assert_close(stats_noise(&stats), 0.04);
    samples[9] = 1e6;
    stats = stats_of(samples, COUNT_OF(samples));
    assert_close(stats_noise(&stats), 0.04);
}

static void noise_is_a_share_of_the_size_of_the_median(void **state)
{
    (void)state;
    const double steady[] = {7, 7, 7};
    const double below[] = {-96, -98, -100, -102, -104};
    const double around[] = {-1, 0, 1};
    const struct stats stats[] = {stats_of(steady, 3), stats_of(below, 5), stats_of(around, 3),
                                  stats_of(NULL, 0)};
    assert_close(stats_noise(&stats[0]), 0);
    assert_close(stats_noise(&stats[1]), 0.032);
    assert_true(isnan(stats_noise(&stats[2])));
    assert_true(isnan(stats_noise(&stats[3])));
}

/* Medians 10, 12 and 11; that of all samples is 11. */
static void spread_is_the_farthest_pass_from_the_middle(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_point *const point = add_point(add_table(&run, "t"), NULL, "a", "1");
    const double first[] = {10, 10, 10};
    const double second[] = {12, 12, 100};
    const double third[] = {11, 11, 0};
    add_pass(point, first, 3);
    assert_true(isnan(stats_spread(point, 0))); /* one pass says nothing of another */
    add_pass(point, second, 3);
    add_pass(point, third, 3);
    assert_close(stats_spread(point, 0), 1.0 / 11);
    bench_run_free(&run);
}

static void spread_leaves_out_passes_without_samples(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_point *const point = add_point(add_table(&run, "t"), NULL, "a", "1");
    const double nothing[] = {NAN, NAN};
    add_pass(point, nothing, 2);
    add_steady_pass(point, 5);
    assert_true(isnan(stats_spread(point, 0)));
    add_steady_pass(point, 5);
    assert_close(stats_spread(point, 0), 0);
    bench_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_lie_between_neighbours),
        cmocka_unit_test(median_of_an_even_number_lies_in_the_middle),
        cmocka_unit_test(samples_that_are_no_numbers_do_not_count),
        cmocka_unit_test(of_nothing_nothing_is_known),
        cmocka_unit_test(ratio_is_taken_round_by_round),
        cmocka_unit_test(ratio_has_the_interval_of_its_median),
        cmocka_unit_test(ratio_leaves_out_what_cannot_be_divided),
        cmocka_unit_test(ratio_is_the_same_each_time),
        cmocka_unit_test(noise_is_half_of_what_most_samples_span),
        cmocka_unit_test(noise_is_a_share_of_the_size_of_the_median),
        cmocka_unit_test(spread_is_the_farthest_pass_from_the_middle),
        cmocka_unit_test(spread_leaves_out_passes_without_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
