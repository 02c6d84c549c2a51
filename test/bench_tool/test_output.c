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
static void markdown_of_a_run(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_table *const table = add_table(&run, "t");
    struct bench_point *const base = add_point(table, NULL, "raw", "1");
    struct bench_point *const point = add_point(table, base, "pdl", "1");
    struct bench_point *const waived = add_point(table, base, "chain", "1");
    struct bench_point *const failed = add_point(table, base, "graph", "1");
    struct bench_point *const left_out = add_point(table, base, "x", "1");
    (void)add_point(table, base, "late", "1");
    table->spec.note = "How it is\nmeasured.";
    environment_add_text(&run.environment, "gpu", "H\0332J");
    environment_add_number(&run.environment, "clock_mhz_before", 1980);
    environment_add_number(&run.environment, "bytes", 150754820096.0);
    environment_add_number(&run.environment, "clock_mhz_after", 1965);
    environment_add_number(&run.environment, "power_w_after", 75.25);
    environment_add_text(&run.environment, "state_before", "alone");
    add_steady_pass(base, 1234);
    add_steady_pass(point, 24.68);
    add_steady_pass(left_out, 1);
    bench_waive(waived, "no | here");
    bench_fail(failed, "3, not 4");
    left_out->selected = false;
    run.ended_early = copy_text("interrupted");
    char *const text = text_of(output_markdown, &run);
    assert_string_equal(text,
                        "# pdltool bench\n"
                        "\n"
                        "- gpu: H\\x1b2J\n"
                        "- clock_mhz: 1,980 before, 1,965 after\n"
                        "- bytes: 150,754,820,096\n"
                        "- power_w_after: 75.25\n"
                        "- state_before: alone\n"
                        "\n"
                        "**Ended early**: interrupted. What had been measured until then follows.\n"
                        "\n"
                        "Figures are medians. Noise is half of the distance from the 10th to the "
                        "90th percentile, in percent\n"
                        "of the median. A ratio is the median of the ratios of the rounds, with "
                        "the interval that 95 % of its\n"
                        "resamplings fall into.\n"
                        "\n"
                        "## suite/t: a table\n"
                        "\n"
                        "How it is measured.\n"
                        "\n"
                        "| way   | length | Samples | host (ns) | Noise | Ratio to raw         |"
                        " rate (1/s) | Noise | Ratio to raw         |\n"
                        "|-------|--------|--------:|----------:|------:|----------------------|"
                        "-----------:|------:|----------------------|\n"
                        "| raw   | 1      |       3 |  1,234    |  0.0% |                      |"
                        "      810.4 |  0.0% |                      |\n"
                        "| pdl   | 1      |       3 |     24.68 |  0.0% | 0.020 [0.020, 0.020] |"
                        "   40,519   |  0.0% | 50.00 [50.00, 50.00] |\n"
                        "| chain | 1      | waived: no \\| here |\n"
                        "| graph | 1      | FAILED: 3, not 4 |\n"
                        "| late  | 1      | not measured |\n");
    free(text);
    bench_run_free(&run);
}

static void markdown_names_what_each_row_is_compared_with(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_table *const table = add_table(&run, "t");
    struct bench_point *const base = add_point(table, NULL, "raw", "1");
    struct bench_point *const other = add_point(table, base, "pdl", "2");
    struct bench_point *const third = add_point(table, other, "graph", "2");
    add_steady_pass(base, 1);
    add_steady_pass(other, 2);
    add_steady_pass(third, 3);
    char *const text = text_of(output_markdown, &run);
    assert_has(text, "| Ratio  ");
    assert_has(text, "2.000 [2.000, 2.000] to raw/1 |");
    assert_has(text, "1.500 [1.500, 1.500] to pdl   |");
    free(text);
    bench_run_free(&run);
}

/* As wide as 120 characters; what does not fit comes below, beside the axes again. */
static void markdown_too_wide_is_printed_in_parts(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_table *const table = add_table(&run, "t");
    struct bench_point *const base = add_point(table, NULL, "raw", "1");
    struct bench_point *const point = add_point(table, base, "pdl", "1");
    size_t parts = 0;
    add_steady_pass(base, 5);
    add_steady_pass(point, 5);
    for (int i = 2; i < BENCH_METRICS; i++) {
        table->spec.metrics[i] = (struct bench_metric){"more", "bytes", false, 0};
        for (int j = 0; j < 3; j++) {
            APPEND(&base->samples[i], 7.0);
            APPEND(&point->samples[i], 7.0);
        }
    }
    char *const text = text_of(output_markdown, &run);
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        assert_true(strcspn(line, "\n") <= 120);
        parts += strncmp(line, "| way ", 6) == 0;
    }
    assert_in_range(parts, 3, 4);
    free(text);
    bench_run_free(&run);
}

/* Wider than everything, but still one metric a part. */
static void markdown_has_at_least_one_metric_a_part(void **state)
{
    (void)state;
    struct bench_run run = {0};
    char value[151] = "";
    struct bench_table *const table = add_table(&run, "t");
    memset(value, 'x', sizeof(value) - 1);
    add_steady_pass(add_point(table, NULL, value, "1"), 5);
    char *const text = text_of(output_markdown, &run);
    assert_has(text, "| Samples | host (ns) | Noise |\n");
    assert_has(text, "| Samples | rate (1/s) | Noise |\n");
    free(text);
    bench_run_free(&run);
}

static void markdown_has_noise_of_any_size(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_table *const table = add_table(&run, "t");
    const double little[] = {99, 100, 101};
    const double much[] = {1, 10, 100};
    const double around_nothing[] = {-1, 0, 1};
    add_pass(add_point(table, NULL, "a", "1"), little, 3);
    add_pass(add_point(table, NULL, "b", "1"), much, 3);
    add_pass(add_point(table, NULL, "c", "1"), around_nothing, 3);
    char *const text = text_of(output_markdown, &run);
    assert_has(text, "|       100 |  0.8% |");
    assert_has(text, "|        10 |  396% |");
    assert_has(text, "|         0 |       |");
    free(text);
    bench_run_free(&run);
}

static void markdown_without_comparisons_has_no_ratios(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_table *const empty = add_table(&run, "empty");
    add_steady_pass(add_point(add_table(&run, "t"), NULL, "ra\033[2Jw", "1"), 5);
    (void)add_point(empty, NULL, "raw", "1");
    empty->items[0]->selected = false;
    char *const text = text_of(output_markdown, &run);
    assert_has(text, "| host (ns) | Noise | rate (1/s) | Noise |\n");
    assert_has_not(text, "empty");
    assert_has(text, "| ra\\x1b[2Jw | 1      |"); /* what would steer a terminal does not */
    free(text);
    bench_run_free(&run);
}

static void csv_of_a_run(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_table *const table = add_table(&run, "t");
    struct bench_point *const base = add_point(table, NULL, "a, \"b\"", "1");
    struct bench_point *const point = add_point(table, base, "pdl", "1");
    struct bench_table *const other = add_table(&run, "u");
    other->spec.axes[0] = "mode";
    other->spec.metrics[1].name = NULL;
    bench_fail(add_point(other, NULL, "x", "y"), "first\nsecond");
    add_steady_pass(base, 4);
    add_steady_pass(point, 2);
    add_steady_pass(point, 3);
    struct bench_table *const left_out = add_table(&run, "v");
    left_out->spec.axes[0] = "not asked for";
    add_point(left_out, NULL, "x", "y")->selected = false;
    char *const text = text_of(output_csv, &run);
    assert_string_equal(
        text,
        "suite,table,way,length,mode,metric,unit,samples,min,median,p90,p99,max,mean,noise,spread,"
        "ratio,ratio_low,ratio_high,against,waived,failed,id\n"
        "suite,t,\"a, \"\"b\"\"\",1,,host,ns,3,4,4,4,4,4,4,0,,,,,,,,\"suite/t/way=a, "
        "\"\"b\"\"/length=1\"\n"
        "suite,t,\"a, \"\"b\"\"\",1,,rate,1/s,3,250000,250000,250000,250000,250000,250000,0,,,,,,,,"
        "\"suite/t/way=a, \"\"b\"\"/length=1\"\n"
        "suite,t,pdl,1,,host,ns,6,2,2.5,3,3,3,2.5,0.2,0.2,0.5,0.5,0.5,"
        "\"suite/t/way=a, \"\"b\"\"/length=1\",,,suite/t/way=pdl/length=1\n"
        "suite,t,pdl,1,,rate,1/"
        "s,6,333333.333,416666.667,500000,500000,500000,416666.667,0.2,0.2,2,2,2,"
        "\"suite/t/way=a, \"\"b\"\"/length=1\",,,suite/t/way=pdl/length=1\n"
        "suite,u,,y,x,host,ns,0,,,,,,,,,,,,,,\"first\nsecond\",suite/u/mode=x/length=y\n");
    free(text);
    bench_run_free(&run);
}

/* ---- JSON ------------------------------------------------------------------------------------- */

/* Writes the text into a file and reads that as a run. */
static bool read_text(const char *text, struct bench_run *run)
{
    char path[] = "/tmp/bench-output-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    (void)close(file);
    const bool good = input_json(path, run);
    (void)unlink(path);
    return good;
}

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

static void json_is_read_as_it_was_written(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_run again;
    fill(&run);
    char *const text = text_of(output_json, &run);
    assert_true(read_text(text, &again));
    char *const second = text_of(output_json, &again);
    assert_string_equal(second, text);

    const struct bench_table *const table = again.bench.items[0];
    const struct bench_point *const base = table->items[0];
    const struct bench_point *const point = table->items[1];
    assert_int_equal(again.bench.count, 2);
    assert_int_equal(table->count, 3);
    assert_string_equal(table->suite, "suite");
    assert_string_equal(table->spec.name, "t");
    assert_string_equal(table->spec.title, "a table");
    assert_string_equal(table->spec.note, "a note");
    assert_string_equal(table->spec.axes[1], "length");
    assert_null(table->spec.axes[2]);
    assert_string_equal(table->spec.metrics[1].unit, "1/s");
    assert_true(table->spec.metrics[1].higher_is_better);
    assert_false(table->spec.metrics[0].higher_is_better);
    assert_close(table->spec.metrics[0].tolerance, 0.1);
    assert_close(table->spec.metrics[1].tolerance, 0.03); /* where the suite says nothing */
    assert_null(table->spec.metrics[2].name);
    assert_string_equal(base->id, run.bench.items[0]->items[0]->id);
    assert_string_equal(base->values[1], "\xc3\xa9 \"1\"");
    assert_ptr_equal(point->against, base);
    assert_null(base->against);
    assert_ptr_equal(point->table, table);
    assert_true(point->selected);
    assert_int_equal(point->checks, 4);
    assert_int_equal(base->passes, 2);
    assert_int_equal(base->pass_ends[0], 2);
    assert_int_equal(base->pass_ends[1], 8);
    assert_int_equal(base->samples[1].count, 8);
    assert_close(base->samples[0].items[0], 1.23457);
    assert_true(isnan(base->samples[0].items[1]));
    assert_close(base->samples[0].items[4], 123456789);
    assert_true(isnan(base->samples[0].items[5]));
    assert_close(base->samples[0].items[6] / 1e300, 1);
    assert_close(base->samples[0].items[7], 0.3);
    assert_string_equal(table->items[2]->waived, "not here");
    assert_string_equal(again.bench.items[1]->items[0]->failed, "wrong");
    assert_string_equal(again.ended_early, "interrupted");
    assert_string_equal(environment_find(&again.environment, "gpu")->text, "H200");
    assert_true(environment_find(&again.environment, "bytes")->number == 150754820096.0);
    assert_true(isnan(environment_find(&again.environment, "nothing")->number));
    free(second);
    free(text);
    bench_run_free(&again);
    bench_run_free(&run);
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

static void an_empty_run_is_read_too(void **state)
{
    (void)state;
    struct bench_run run = {0};
    struct bench_run again;
    char *const text = text_of(output_json, &run);
    assert_true(read_text(text, &again));
    assert_int_equal(again.bench.count, 0);
    assert_null(again.ended_early);
    bench_run_free(&again);
    free(text);
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

static char *with(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    assert_non_null(at);
    return format_text("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

/* One thing wrong at a time; each is refused with one line that says where. */
static void json_that_is_none_of_ours_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *said;
    } changes[] = {
        {"{\"schema\": 1", "{\"schema\": 1,\"schema\": 1", "duplicate object key"},
        {"\"schema\": 1", "\"schema\": 2", "it has the schema 2, this program knows 1"},
        {"\"schema\": 1", "\"schema\": \"1\"", "it was not written by pdltool bench"},
        {"\"pdltool bench\"", "\"nvbench\"", "it was not written by pdltool bench"},
        {"\"pdltool bench\"", "null", "it was not written by pdltool bench"},
        {"\"environment\": {", "\"environment\": 1, \"e\": {", "\"environment\" is no object"},
        {"\"gpu\": \"H200\"", "\"gpu\": []", "\"environment\" has more than texts and numbers"},
        {"\"ended_early\": \"interrupted\"", "\"ended_early\": 3", "\"ended_early\" is no text"},
        {"\"tables\": [", "\"tables\": {}, \"t\": [", "\"tables\" is no list"},
        {"\"tables\": [", "\"tables\": [null,", "table 0: \"suite\" is no name"},
        {"\"suite\": \"suite\"", "\"suite\": \"\"", "table 0: \"suite\" is no name"},
        {"\"name\": \"t\"", "\"name\": \"t\\u001b\"", "table 0: \"name\" is no name"},
        {"\"name\": \"t\"", "\"name\": \"v\"", "point 0: its id is not that of its axes, suite/v"},
        {"\"title\": \"a table\"", "\"title\": null", "table 0: \"title\" is no text"},
        {"\"note\": \"a note\"", "\"note\": 1", "table 0: \"note\" is no text"},
        {"[\"way\",\"length\"]", "[\"way\",\"way\"]", "table 0: two axes have the same name"},
        {"[\"way\",\"length\"]", "[\"way\",7]", "table 0: axis 1 is not a name"},
        {"[\"way\",\"length\"]", "[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\"]",
         "table 0: \"axes\" has 7 items, at most 6 are known here"},
        {"[\"way\",\"length\"]", "[\"way\",\"width\"]", "point 0: \"width\" is no name"},
        {"\"metrics\": [", "\"metrics\": [1,", "table 0: \"name\" is no name"},
        {"{\"name\":\"rate\"", "{\"name\":\"host\"", "table 0: two metrics have the same name"},
        {"{\"name\":\"rate\"", "{\"name\":\"rote\"", "point 0: \"rote\" is no object"},
        {"\"unit\":\"ns\"", "\"unit\":5", "table 0: \"unit\" is no name"},
        {"\"tolerance\":0.1", "\"tolerance\":-1", "metric host has no direction or no tolerance"},
        {"\"higher_is_better\":false", "\"higher_is_better\":0", "metric host has no direction"},
        {"\"points\": [", "\"points\": 0, \"p\": [", "table 0: \"points\" is no list"},
        {"\"points\": [", "\"points\": [[],", "table 0, point 0: \"id\" is no name"},
        {"\"id\":\"suite/t/way=pdl/length=1\"", "\"id\":\"suite/t/way=pdl/length=2\"",
         "point 1: its id is not that of its axes, suite/t/way=pdl/length=1"},
        {"{\"id\":\"suite/t/way=chain/length=1\",\"axes\":{\"way\":\"chain\"",
         "{\"id\":\"suite/t/way=pdl/length=1\",\"axes\":{\"way\":\"pdl\"",
         "point 2: there is a point of its id before it"},
        {"\"axes\":{\"way\":\"pdl\"", "\"axes\":{\"way\":1", "point 1: \"way\" is no name"},
        {"\"against\":\"suite/t/way=raw", "\"against\":\"suite/t/way=chain",
         "point 1: \"against\" is not an earlier point"},
        {"{\"way\":\"x\",\"length\":\"z\"},\"against\":null",
         "{\"way\":\"x\",\"length\":\"z\"},\"against\":\"suite/t/way=raw/length=\xc3\xa9 "
         "\\\"1\\\"\"",
         "table 1, point 1: \"against\" is not an earlier point of its table"},
        {"\"against\":null", "\"against\":[]", "point 0: \"against\" is no text"},
        {"\"waived\":null", "\"waived\":false", "point 0: \"waived\" is no text"},
        {"\"failed\":null", "\"failed\":{}", "point 0: \"failed\" is no text"},
        {"\"checks\":4", "\"checks\":-4", "point 1: \"checks\" is not a number of checks"},
        {"\"checks\":4", "\"checks\":4294967296", "point 1: \"checks\" is not a number of checks"},
        {"\"passes\":[2,8]", "\"passes\":[8,2]", "\"passes\" does not rise"},
        {"\"passes\":[2,8]", "\"passes\":[2,9]", "\"passes\" does not rise"},
        {"\"passes\":[2,8]", "\"passes\":[-2,8]", "\"passes\" does not rise"},
        {"\"passes\":[2,8]", "\"passes\":[2,2]", "\"passes\" does not rise"},
        {"\"passes\":[2,8]",
         "\"passes\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
         "\"passes\" has 33 items, at most 32 are known here"},
        {"\"passes\":[2,8]", "\"passes\":2", "\"passes\" is no list"},
        {"\"metrics\":{\"host\"", "\"metrics\":{\"hast\"", "point 0: \"host\" is no object"},
        {"\"metrics\":{", "\"metrics\":1,\"m\":{", "point 0: \"metrics\" is no object"},
        {"\"samples\":[1.23457,null", "\"samples\":[1.23457,\"x\"", "sample 1 is neither"},
        {"\"samples\":[", "\"samples\":[1,", "its metrics have different numbers of samples"},
        {"\"samples\":[", "\"samples\":null,\"s\":[", "point 0: \"samples\" is no list"},
        {"\"samples\":[", "\"samples\":[1e999,", "real number overflow"},
        {"\n]}\n]}\n", "\n]}\n]\n", "'}' expected near end of file"},
        {"\n]}\n]}\n", "\n]}\n]}\n{}", "end of file expected"},
    };
    struct bench_run run = {0};
    struct bench_run nothing = {0};
    struct bench_run again;
    fill(&run);
    char *const text = text_of(output_json, &run);
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        char *const changed = with(text, changes[i].from, changes[i].to);
        catch_errors();
        const bool good = read_text(changed, &again);
        char *const errors = caught_errors();
        assert_false(good);
        assert_has(errors, changes[i].said);
        assert_has(errors, "/tmp/bench-output-");
        assert_ptr_equal(strchr(errors, '\n'), errors + strlen(errors) - 1);
        assert_memory_equal(&again, &nothing, sizeof(again));
        free(errors);
        free(changed);
    }
    free(text);
    bench_run_free(&run);
}

/* Wherever the file ends, and whichever byte is another one: an error or a run, nothing else. */
static void json_that_was_damaged_does_no_harm(void **state)
{
    (void)state;
    static const char others[] = "0]}\",x-";
    struct bench_run run = {0};
    struct bench_run again;
    size_t refused = 0;
    fill(&run);
    char *const text = text_of(output_json, &run);
    const size_t length = strlen(text);
    catch_errors();
    for (size_t i = 0; i < length; i++) {
        const char kept = text[i];
        text[i] = i % 2 == 0 ? '\0' : others[i / 2 % (sizeof(others) - 1)];
        const bool good = read_text(text, &again);
        refused += !good;
        if (good) {
            bench_run_free(&again);
        }
        text[i] = kept;
    }
    free(caught_errors());
    assert_true(refused > length / 2);
    free(text);
    bench_run_free(&run);
}

static void json_that_is_not_there_is_refused(void **state)
{
    (void)state;
    struct bench_run run;
    catch_errors();
    const bool good = input_json("/no/such/file.json", &run);
    char *const errors = caught_errors();
    assert_false(good);
    assert_string_equal(errors, "/no/such/file.json: error: No such file or directory\n");
    free(errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_four_digits_or_more),
        cmocka_unit_test(figures_of_a_point),
        cmocka_unit_test(ratio_is_of_the_rounds_that_both_have),
        cmocka_unit_test(nothing_is_said_of_points_that_failed_or_were_waived),
        cmocka_unit_test(markdown_of_a_run),
        cmocka_unit_test(markdown_names_what_each_row_is_compared_with),
        cmocka_unit_test(markdown_too_wide_is_printed_in_parts),
        cmocka_unit_test(markdown_has_at_least_one_metric_a_part),
        cmocka_unit_test(markdown_has_noise_of_any_size),
        cmocka_unit_test(markdown_without_comparisons_has_no_ratios),
        cmocka_unit_test(csv_of_a_run),
        cmocka_unit_test(json_is_read_as_it_was_written),
        cmocka_unit_test(json_has_only_what_is_selected),
        cmocka_unit_test(a_point_takes_one_line),
        cmocka_unit_test(an_empty_run_is_read_too),
        cmocka_unit_test(a_run_that_was_freed_is_empty),
        cmocka_unit_test(json_that_is_none_of_ours_is_refused),
        cmocka_unit_test(json_that_was_damaged_does_no_harm),
        cmocka_unit_test(json_that_is_not_there_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
