/* SPDX-License-Identifier: MIT */
#include "common/print.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/memory.h"
#include "trace/text.h"

void print_plain(FILE *to, const char *text)
{
    pdl_text_put_shown(to, text, PRINT_MOST);
}

char *plain_text(const char *text)
{
    char *made = NULL;
    size_t size = 0;
    FILE *const to = memory_open(&made, &size);
    print_plain(to, text);
    memory_close(to);
    return made;
}

void print_line(FILE *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *const text = format_text_of(format, arguments);
    va_end(arguments);
    print_plain(to, text);
    (void)putc('\n', to);
    free(text);
}

char *format_count(unsigned long long count, const char *one, const char *many)
{
    char digits[32];
    char grouped[48];
    const int length = snprintf(digits, sizeof(digits), "%llu", count);
    size_t used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            grouped[used++] = ',';
        }
        grouped[used++] = digits[i];
    }
    grouped[used] = '\0';
    return format_text("%s%s%s", grouped, *one != '\0' ? " " : "", count == 1 ? one : many);
}

bool wants_colours(FILE *to)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return isatty(fileno(to)) && (no_color == NULL || *no_color == '\0') && term != NULL &&
           strcmp(term, "dumb") != 0;
}

void table_add(struct table *table, char *cell)
{
    char *const plain = cell != NULL ? plain_text(cell) : NULL;
    free(cell);
    APPEND(table, plain);
}

/* Columns on a terminal: UTF-8's continuation bytes take none. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++) {
        width += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return width;
}

static void print_cell(FILE *to, const char *text, size_t width, bool right, bool last)
{
    const size_t own = width_of(text);
    const size_t blanks = own < width ? width - own : 0;
    if (right) {
        (void)fprintf(to, "%*s", (int)blanks, "");
    }
    (void)fputs(text, to);
    if (last) {
        (void)putc('\n', to);
    } else {
        (void)fprintf(to, "%*s", (int)(right ? 2 : blanks + 2), "");
    }
}

void table_print(const struct table *table, FILE *to)
{
    const size_t columns = strlen(table->right);
    if (columns == 0) {
        return;
    }
    size_t *widths = allocate(columns, sizeof(*widths));
    for (size_t c = 0; c < columns; c++) {
        widths[c] = width_of(table->headings[c]);
    }
    for (size_t i = 0; i < table->count; i++) {
        const size_t width = width_of(table->items[i]);
        if (widths[i % columns] < width) {
            widths[i % columns] = width;
        }
    }
    for (size_t c = 0; c < columns; c++) {
        print_cell(to, table->headings[c], widths[c], table->right[c] == 'r', c + 1 == columns);
    }
    for (size_t i = 0; i < table->count; i++) {
        const size_t c = i % columns;
        print_cell(to, table->items[i], widths[c], table->right[c] == 'r', c + 1 == columns);
    }
    free(widths);
}

void table_free(struct table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        free(table->items[i]);
    }
    free(table->items);
    table->items = NULL;
    table->count = table->capacity = 0;
}
