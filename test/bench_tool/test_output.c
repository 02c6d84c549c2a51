/* SPDX-License-Identifier: MIT */
/* The forms that a run is written in: numbers, tables, and what is read again. */
#include <unistd.h>

#include "bench_support.h"

const struct bench_suite bench_suites[] = {{NULL, NULL, NULL}};

static void numbers_have_four_digits_or_more(void **state)
{
    (void)state;
    static const struct {
        double number;
        const char *text;
    } numbers[] = {
        {0, "0"},
        {-0.0, "0"},
        {7, "7"},
        {999, "999"},
        {1000, "1,000"},
        {1234567.4, "1,234,567"},
        {12.345678, "12.35"},
        {123.456, "123.5"},
        {1234.56, "1,235"},
        {0.12345, "0.1235"},
        {0.00123456, "0.001235"},
        {-12.3456, "-12.35"},
        {-1234567, "-1,234,567"},
        {999.94, "999.9"},
        {999.96, "1,000"},
        {1e-9, "1.000e-09"},
        {2.5e20, "2.500e+20"},
        {NAN, "-"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
    };
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        char *const text = output_number(numbers[i].number);
        assert_string_equal(text, numbers[i].text);
        free(text);
    }
}

static void figures_of_a_point(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_table *const table = add_table(&run, "t");
    struct bench_point *const base = add_point(table, NULL, "raw", "1");
    struct bench_point *const point = add_point(table, base, "pdl", "1");
    const double before[] = {10, 20, 30};
    const double samples[] = {5, 10, 15};
    add_pass(base, before, 3);
    add_pass(point, samples, 3);
    const struct output_figure figure = output_figure_of(point, 0);
    assert_close(figure.stats.median, 10);
    assert_close(figure.noise, 0.4); /* p10 is 6, p90 is 14 */
    assert_true(isnan(figure.spread));
    assert_int_equal(figure.ratio.count, 3);
    assert_close(figure.ratio.median, 0.5);
    assert_close(output_figure_of(point, 1).ratio.median, 2);
    assert_int_equal(output_figure_of(base, 0).ratio.count, 0);
    bench_run_free(&run);
}

/* A run that ended within a round. */
static void ratio_is_of_the_rounds_that_both_have(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_table *const table = add_table(&run, "t");
    struct bench_point *const base = add_point(table, NULL, "raw", "1");
    struct bench_point *const point = add_point(table, base, "pdl", "1");
    const double samples[] = {10, 20, 30};
    add_pass(base, samples, 2);
    add_pass(point, samples, 3);
    assert_int_equal(output_figure_of(point, 0).ratio.count, 2);
    base->samples[0].count = 3; /* there are three in the allocation */
    point->samples[0].count = 1;
    assert_int_equal(output_figure_of(point, 0).ratio.count, 1);
    base->samples[0].count = 2;
    bench_run_free(&run);
}

static void nothing_is_said_of_points_that_failed_or_were_waived(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_table *const table = add_table(&run, "t");
    struct bench_point *const base = add_point(table, NULL, "raw", "1");
    struct bench_point *const point = add_point(table, base, "pdl", "1");
    add_steady_pass(base, 2);
    add_steady_pass(base, 3);
    add_steady_pass(point, 2);
    bench_fail(base, "wrong");
    assert_true(isnan(output_figure_of(base, 0).stats.median));
    assert_true(isnan(output_figure_of(base, 0).spread));
    assert_int_equal(output_figure_of(base, 0).stats.count, 0);
    assert_int_equal(output_figure_of(point, 0).ratio.count, 0);
    assert_close(output_figure_of(point, 0).stats.median, 2);
    bench_waive(point, "not here");
    assert_true(isnan(output_figure_of(point, 0).stats.median));
    bench_run_free(&run);
}

/* The whole of a small run, as a person sees it. */
static void text_of_a_run(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_table *const table = add_table(&run, "t");
    struct bench_point *const base = add_point(table, NULL, "raw", "1");
    struct bench_point *const point = add_point(table, base, "pdl", "1");
    struct bench_point *const third = add_point(table, base, "p\0332J", "2");
    struct bench_point *const waived = add_point(table, base, "chain", "1");
    struct bench_point *const failed = add_point(table, base, "graph", "1");
    struct bench_point *const left_out = add_point(table, base, "x", "1");
    struct bench_table *const empty = add_table(&run, "empty");
    (void)add_point(table, base, "late", "1");
    add_point(empty, NULL, "raw", "1")->selected = false;
    table->spec.note = "How it is measured.";
    environment_add_text(&run.environment, "gpu", "H\0332J");
    environment_add_number(&run.environment, "bytes", 150754820096.0);
    add_steady_pass(base, 1234);
    add_steady_pass(point, 24.68);
    add_pass(third, (const double[]){1, 10, 100}, 3);
    add_steady_pass(left_out, 1);
    bench_waive(waived, "no | here");
    bench_fail(failed, "3, not 4");
    left_out->selected = false;
    run.ended_early = copy_text("interrupted");
    char *const text = text_of(output_text, &run);
    assert_string_equal(
        text, "gpu: H\\x1b2J\n"
              "bytes: 150,754,820,096\n"
              "\n"
              "ended early: interrupted; what had been measured until then follows\n"
              "\n"
              "Figures are medians. Noise is half of the distance from the 10th to the 90th "
              "percentile, in percent of the median. A ratio is the median of the ratios of the "
              "rounds, with the interval that 95 % of its resamplings fall into.\n"
              "\n"
              "suite/t: a table\n"
              "How it is measured.\n"
              "\n"
              "way      length  samples  host (ns)  noise  ratio\n"
              "raw      1             3      1,234   0.0%  -\n"
              "pdl      1             3      24.68   0.0%  0.020 [0.020, 0.020] to raw\n"
              "p\\x1b2J  2             3         10   396%  0.008 [0.001, 0.081] to raw/1\n"
              "\n"
              "way      length  samples  rate (1/s)  noise  ratio\n"
              "raw      1             3       810.4   0.0%  -\n"
              "pdl      1             3      40,519   0.0%  50.00 [50.00, 50.00] to raw\n"
              "p\\x1b2J  2             3     100,000   396%  123.4 [12.3, 1234.0] to raw/1\n"
              "\n"
              "suite/t/way=chain/length=1: waived: no | here\n"
              "suite/t/way=graph/length=1: FAILED: 3, not 4\n"
              "suite/t/way=late/length=1: not measured\n");
    free(text);
    bench_run_free(&run);
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static void fill(struct bench_run *run)
{
    struct bench_table *const table = add_table(run, "t");
    struct bench_point *const base = add_point(table, NULL, "raw", "\xc3\xa9 \"1\"");
    struct bench_point *const point = add_point(table, base, "pdl", "1");
    const double samples[] = {1.23456789, NAN, 123456789, INFINITY, 1e300, 0.1 + 0.2};
    table->spec.note = "a note";
    add_pass(base, samples, 2);
    add_pass(base, samples, COUNT_OF(samples));
    add_pass(point, samples, COUNT_OF(samples));
    add_steady_pass(point, 7);
    point->checks = 4;
    bench_waive(add_point(table, base, "chain", "1"), "not here");
    struct bench_table *const other = add_table(run, "u");
    bench_fail(add_point(other, NULL, "x", "y"), "wrong");
    (void)add_point(other, NULL, "x", "z");
    environment_add_text(&run->environment, "gpu", "H200");
    environment_add_number(&run->environment, "bytes", 150754820096.0);
    environment_add_number(&run->environment, "nothing", NAN);
    run->ended_early = copy_text("interrupted");
}

static void json_has_only_what_is_selected(void **state)
{
    (void)state;
    struct bench_run run = {0};
    fill(&run);
    run.bench.items[0]->items[2]->selected = false;
    run.bench.items[1]->items[0]->selected = false;
    run.bench.items[1]->items[1]->selected = false;
    char *const text = text_of(output_json, &run);
    assert_has_not(text, "way=chain");
    assert_has_not(text, "\"u\"");
    assert_has(text, "way=pdl");
    free(text);
    bench_run_free(&run);
}

static void a_point_takes_one_line(void **state)
{
    (void)state;
    struct bench_run run = {0};
    size_t lines = 0;
    fill(&run);
    char *const text = text_of(output_json, &run);
    for (const char *at = strchr(text, '\n'); at != NULL; at = strchr(at + 1, '\n')) {
        lines += strncmp(at + 1, "{\"id\":", 6) == 0;
    }
    assert_int_equal(lines, 5);
    free(text);
    bench_run_free(&run);
}

static void a_run_that_was_freed_is_empty(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_run nothing = {0};
    fill(&run);
    bench_run_free(&run);
    assert_memory_equal(&run, &nothing, sizeof(run));
    bench_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_four_digits_or_more),
        cmocka_unit_test(figures_of_a_point),
        cmocka_unit_test(ratio_is_of_the_rounds_that_both_have),
        cmocka_unit_test(nothing_is_said_of_points_that_failed_or_were_waived),
        cmocka_unit_test(text_of_a_run),
        cmocka_unit_test(json_has_only_what_is_selected),
        cmocka_unit_test(a_point_takes_one_line),
        cmocka_unit_test(a_run_that_was_freed_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
