/* SPDX-License-Identifier: MIT */
#include "report/words.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/print.h"

void texts_take(struct texts *texts, char *text)
{
    APPEND(texts, text);
}

void texts_add(struct texts *texts, const char *text)
{
    texts_take(texts, copy_text(text));
}

size_t texts_place(struct texts *texts, const char *text)
{
    size_t place = 0;
    while (place < texts->count && strcmp(texts->items[place], text) != 0) {
        place++;
    }
    if (place == texts->count) {
        texts_add(texts, text);
    }
    return place;
}

static bool has_text(const struct texts *texts, const char *text)
{
    for (size_t i = 0; i < texts->count; i++) {
        if (strcmp(texts->items[i], text) == 0) {
            return true;
        }
    }
    return false;
}

const char *texts_unique(struct texts *texts, char *name)
{
    char *own = copy_text(name);
    for (unsigned number = 2; has_text(texts, own); number++) {
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
    memset(texts, 0, sizeof(*texts));
}

char *joined_text(const struct texts *texts, const char *between)
{
    char *all = copy_text("");
    for (size_t i = 0; i < texts->count; i++) {
        char *longer = format_text("%s%s%s", all, i > 0 ? between : "", texts->items[i]);
        free(all);
        all = longer;
    }
    return all;
}

char *value_text(double value)
{
    enum { DIGITS = 4 };
    const double size = fabs(value);
    if (!isfinite(value)) {
        return copy_text(isnan(value) ? "\u2013" : value > 0 ? "\u221e" : "\u2212\u221e");
    }
    if (size >= 1e15 || (size > 0 && size < 1e-4)) {
        return format_text("%.3g", value);
    }
    /* What rounds to 1,000 counts as that. */
    if (size >= 999.95) {
        char *whole = format_count((unsigned long long)(size + 0.5), "", "");
        char *text = format_text("%s%s", value < 0 ? "-" : "", whole);
        free(whole);
        return text;
    }
    if (value == floor(value)) {
        return format_text("%.0f", value);
    }
    const int before = size < 1 ? (int)floor(log10(size)) + 1 : (int)log10(size) + 1;
    return format_text("%.*f", DIGITS - before, value);
}

const char *unit_name(const char *unit)
{
    return unit == NULL ? "" : strcmp(unit, "us") == 0 ? "\u00b5s" : unit;
}

char *unit_text(double value, const char *unit)
{
    const char *const name = unit_name(unit);
    char *number = value_text(value);
    char *text = format_text("%s%s%s", number, *name != '\0' ? "\u00a0" : "", name);
    free(number);
    return text;
}

char *times_text(double ratio)
{
    return format_text(ratio < 10 ? "%.2f\u00d7" : "%.1f\u00d7", ratio);
}

static void add_part(char *name, size_t *used, const char *part)
{
    bool apart = *used > 0;
    for (const char *at = part; *at != '\0'; at++) {
        if (isalnum((unsigned char)*at)) {
            if (apart) {
                name[(*used)++] = '-';
                apart = false;
            }
            name[(*used)++] = (char)tolower((unsigned char)*at);
        } else {
            apart = *used > 0;
        }
    }
}

char *file_name(const char *first, const char *second, const char *third, const char *fourth)
{
    /* Names of files have a limit of 255 in most file systems. */
    enum { LONGEST = 120 };
    char *all = format_text("%s-%s-%s-%s", first, second, third, fourth);
    char *name = allocate(2 * strlen(all) + 2, 1);
    size_t used = 0;
    add_part(name, &used, all);
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
