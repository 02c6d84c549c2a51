/* SPDX-License-Identifier: MIT */
/* What there is to measure, as the suites declare it, and which of it is wanted. */
#include "bench/plan.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/print.h"

struct bench_table *bench_table_add(struct bench *bench, const struct bench_spec *spec)
{
    struct bench_table *table = allocate(1, sizeof(*table));
    assert(spec->check != NULL && spec->measure != NULL && spec->rounds > 0);
    table->suite = bench->suite;
    table->spec = *spec;
    APPEND(bench, table);
    return table;
}

static char *make_id(const struct bench_table *table, const char *const *values)
{
    char *id = format_text("%s/%s", table->suite, table->spec.name);
    for (int i = 0; i < BENCH_AXES && table->spec.axes[i] != NULL; i++) {
        char *longer = format_text("%s/%s=%s", id, table->spec.axes[i], values[i]);
        free(id);
        id = longer;
    }
    return id;
}

struct bench_point *bench_point_add(struct bench_table *table, struct bench_point *against,
                                    const void *config, const char *const *values)
{
    struct bench_point *point = allocate(1, sizeof(*point));
    point->table = table;
    point->against = against;
    point->config = config;
    point->selected = true;
    point->id = make_id(table, values);
    for (int i = 0; i < BENCH_AXES && table->spec.axes[i] != NULL; i++) {
        point->values[i] = copy_text(values[i]);
    }
    APPEND(table, point);
    return point;
}

struct bench_point *bench_row(struct bench_table *table, struct bench_point *against,
                              const void *config, const char *format, ...)
{
    char text[256];
    const char *values[BENCH_AXES] = {NULL};
    char *rest = text;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    for (int i = 0; i < BENCH_AXES && table->spec.axes[i] != NULL; i++) {
        values[i] = strsep(&rest, "/");
        assert(values[i] != NULL);
    }
    void *const copy = allocate(1, table->spec.config_size);
    memcpy(copy, config, table->spec.config_size);
    return bench_point_add(table, against, copy, values);
}

__attribute__((format(printf, 1, 0))) static char *format_arguments(const char *format,
                                                                    va_list arguments)
{
    char text[512];
    (void)vsnprintf(text, sizeof(text), format, arguments);
    return copy_text(text);
}

/* What was said first stays. */
void bench_waive(struct bench_point *point, const char *format, ...)
{
    if (point->waived == NULL) {
        va_list arguments;
        va_start(arguments, format);
        point->waived = format_arguments(format, arguments);
        va_end(arguments);
    }
}

void bench_fail(struct bench_point *point, const char *format, ...)
{
    if (point->failed == NULL) {
        va_list arguments;
        va_start(arguments, format);
        point->failed = format_arguments(format, arguments);
        va_end(arguments);
    }
}

bool bench_point_active(const struct bench_point *point)
{
    return point->selected && point->waived == NULL && point->failed == NULL;
}

void bench_each_active(struct bench_table *table, void (*call)(struct bench_point *point))
{
    for (size_t i = 0; i < table->count && !bench_interrupted; i++) {
        if (bench_point_active(table->items[i])) {
            call(table->items[i]);
        }
    }
}

static const struct bench_suite *find_suite(const char *name)
{
    for (const struct bench_suite *suite = bench_suites; suite->declare != NULL; suite++) {
        if (strcmp(suite->name, name) == 0) {
            return suite;
        }
    }
    return NULL;
}

static void print_unknown_suite(const char *name)
{
    char *list = NULL;
    size_t size = 0;
    FILE *const to = memory_open(&list, &size);
    for (const struct bench_suite *suite = bench_suites; suite->declare != NULL; suite++) {
        (void)fprintf(to, "%s%s", suite == bench_suites ? "" : ", ", suite->name);
    }
    memory_close(to);
    print_error("unknown suite '%s'; the suites are %s", name, list);
    free(list);
}

static void declare(struct bench *bench, const struct bench_suite *suite)
{
    bench->suite = suite->name;
    suite->declare(bench);
}

bool plan_declare(struct bench *bench, char *const *names, size_t count)
{
    if (bench_suites[0].declare == NULL) {
        print_error("measuring needs a pdltool that was built with nvcc");
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (find_suite(names[i]) == NULL) {
            print_unknown_suite(names[i]);
            return false;
        }
    }
    for (const struct bench_suite *suite = bench_suites; suite->declare != NULL; suite++) {
        bool wanted = count == 0;
        for (size_t i = 0; i < count; i++) {
            wanted = wanted || strcmp(names[i], suite->name) == 0;
        }
        if (wanted) {
            declare(bench, suite);
        }
    }
    return true;
}

static bool matches(const struct bench_point *point, char *const *filters, size_t count)
{
    bool found = count == 0;
    for (size_t i = 0; i < count && !found; i++) {
        char *anywhere = format_text("*%s*", filters[i]);
        found = fnmatch(anywhere, point->id, 0) == 0;
        free(anywhere);
    }
    return found;
}

size_t plan_select(struct bench *bench, char *const *filters, size_t count)
{
    size_t selected = 0;
    for (size_t i = 0; i < bench->count; i++) {
        struct bench_table *const table = bench->items[i];
        for (size_t j = 0; j < table->count; j++) {
            table->items[j]->selected = matches(table->items[j], filters, count);
        }
        /* A ratio needs what it is against, which stands in front of it. */
        for (size_t j = table->count; j-- > 0;) {
            if (table->items[j]->selected && table->items[j]->against != NULL) {
                table->items[j]->against->selected = true;
            }
        }
        for (size_t j = 0; j < table->count; j++) {
            selected += table->items[j]->selected;
        }
    }
    return selected;
}
