/* SPDX-License-Identifier: MIT */
#include "report/words.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/print.h"

void texts_take(struct texts *texts, char *text)
{
    if (name_index(&texts->names, text) == texts->places.count) {
        APPEND(&texts->places, texts->count);
    }
    APPEND(texts, text);
}

void texts_add(struct texts *texts, const char *text)
{
    texts_take(texts, copy_text(text));
}

static size_t find_text(const struct texts *texts, const char *text)
{
    uint32_t index = 0;
    return pdl_names_find(&texts->names, text, &index) ? texts->places.items[index] : texts->count;
}

size_t texts_place(struct texts *texts, const char *text)
{
    const size_t place = find_text(texts, text);
    if (place == texts->count) {
        texts_add(texts, text);
    }
    return place;
}

const char *texts_unique(struct texts *texts, char *name)
{
    char *own = copy_text(name);
    for (unsigned number = 2; find_text(texts, own) < texts->count; number++) {
        free(own);
        own = format_text("%s-%u", name, number);
    }
    free(name);
    texts_take(texts, own);
    return own;
}

void texts_free(struct texts *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        free(texts->items[i]);
    }
    free(texts->items);
    pdl_names_free(&texts->names);
    free(texts->places.items);
    memset(texts, 0, sizeof(*texts));
}

char *joined_text(const struct texts *texts, const char *between)
{
    char *all = NULL;
    size_t size = 0;
    FILE *const to = memory_open(&all, &size);
    for (size_t i = 0; i < texts->count; i++) {
        (void)fprintf(to, "%s%s", i > 0 ? between : "", texts->items[i]);
    }
    memory_close(to);
    return all;
}

__attribute__((format(printf, 1, 2))) static struct word word(const char *format, ...)
{
    struct word made;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(made.text, sizeof(made.text), format, arguments);
    va_end(arguments);
    return made;
}

struct word value_text(double value)
{
    enum { DIGITS = 4 };
    const double size = fabs(value);
    if (!isfinite(value)) {
        return word("%s", isnan(value) ? "\u2013" : value > 0 ? "\u221e" : "\u2212\u221e");
    }
    if (size >= 1e15 || (size > 0 && size < 1e-4)) {
        return word("%.3g", value);
    }
    /* What rounds to 1,000 counts as that. */
    if (size >= 999.95) {
        char *whole = format_count((unsigned long long)(size + 0.5), "", "");
        const struct word made = word("%s%s", value < 0 ? "-" : "", whole);
        free(whole);
        return made;
    }
    if (value == floor(value)) {
        return word("%.0f", value);
    }
    const int before = size < 1 ? (int)floor(log10(size)) + 1 : (int)log10(size) + 1;
    return word("%.*f", DIGITS - before, value);
}

struct word unit_text(double value, const char *unit)
{
    const char *const name = unit_name(unit);
    return word("%s%s%s", value_text(value).text, *name != '\0' ? "\u00a0" : "", name);
}

struct word times_text(double ratio)
{
    return word(ratio < 10 ? "%.2f\u00d7" : "%.1f\u00d7", ratio);
}

char *file_name(const char *first, const char *second, const char *third, const char *fourth)
{
    /* Names of files have a limit of 255 in most file systems. */
    enum { LONGEST = 120 };
    char *all = format_text("%s-%s-%s-%s", first, second, third, fourth);
    char *name = allocate(LONGEST + 2, 1);
    size_t used = 0;
    bool apart = false;
    for (const char *at = all; *at != '\0' && used < LONGEST; at++) {
        if (!isalnum((unsigned char)*at)) {
            apart = used > 0;
            continue;
        }
        if (apart) {
            name[used++] = '-';
        }
        name[used++] = (char)tolower((unsigned char)*at);
        apart = false;
    }
    free(all);
    if (used == 0) {
        name[used++] = 'x';
    }
    name[used < LONGEST ? used : LONGEST] = '\0';
    return name;
}

double number_of(const char *text)
{
    char *end = NULL;
    if (*text == '\0' || isspace((unsigned char)*text) || isalpha((unsigned char)*text)) {
        return NAN;
    }
    const double number = strtod(text, &end);
    return *end == '\0' && isfinite(number) ? number : NAN;
}
