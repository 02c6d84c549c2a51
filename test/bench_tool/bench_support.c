/* SPDX-License-Identifier: MIT */
#include "bench_support.h"

#include <unistd.h>

static void check_nothing(struct bench_point *point)
{
    (void)point;
}

static void measure_nothing(struct bench_point *point, double *values)
{
    (void)point;
    (void)values;
}

struct bench_table *add_table(struct bench_run *run, const char *name)
{
    const struct bench_spec spec = {
        .name = name,
        .title = "a table",
        .axes = {"way", "length"},
        .metrics = {{"host", "ns", false, 0.1}, {"rate", "1/s", true, 0}},
        .rounds = 1,
        .check = check_nothing,
        .measure = measure_nothing,
    };
    if (run->bench.suite == NULL) {
        run->bench.suite = "suite";
    }
    return bench_table_add(&run->bench, &spec);
}

struct bench_point *add_point(struct bench_table *table, struct bench_point *against,
                              const char *way, const char *length)
{
    const char *const values[BENCH_AXES] = {way, length};
    return bench_point_add(table, against, NULL, values);
}

void add_pass(struct bench_point *point, const double *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        APPEND(&point->samples[0], samples[i]);
        APPEND(&point->samples[1], 1e6 / samples[i]);
    }
    point->pass_ends[point->passes++] = point->samples[0].count;
}

void add_steady_pass(struct bench_point *point, double value)
{
    const double samples[] = {value, value, value};
    add_pass(point, samples, COUNT_OF(samples));
}

char *text_of(void (*write)(const struct bench_run *run, FILE *to), const struct bench_run *run)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const to = open_memstream(&text, &size);
    assert_non_null(to);
    write(run, to);
    assert_int_equal(fclose(to), 0);
    return text;
}

static int errors_before;
static FILE *errors;

void catch_errors(void)
{
    (void)fflush(stderr);
    errors_before = dup(STDERR_FILENO);
    errors = tmpfile();
    assert_non_null(errors);
    assert_true(dup2(fileno(errors), STDERR_FILENO) >= 0);
}

char *caught_errors(void)
{
    (void)fflush(stderr);
    assert_true(dup2(errors_before, STDERR_FILENO) >= 0);
    (void)close(errors_before);
    (void)fseek(errors, 0, SEEK_END);
    const long size = ftell(errors);
    rewind(errors);
    char *const text = allocate((size_t)size + 1, 1);
    assert_int_equal(fread(text, 1, (size_t)size, errors), (size_t)size);
    (void)fclose(errors);
    return text;
}

void assert_has_(const char *text, const char *part, bool wanted, const char *file, int line)
{
    if ((strstr(text, part) != NULL) != wanted) {
        print_error("%s \"%s\" in:\n%s\n", wanted ? "no" : "there is", part, text);
        _fail(file, line);
    }
}

void assert_double_(double a, double b, const char *file, int line)
{
    if (!(fabs(a - b) <= 1e-9 * fmax(1, fmax(fabs(a), fabs(b))))) {
        print_error("%.12g is not %.12g\n", a, b);
        _fail(file, line);
    }
}
