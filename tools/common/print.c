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

static const char *command; /* NULL: none was chosen yet */

void print_as(const char *name)
{
    command = name;
}

__attribute__((format(printf, 3, 0))) static void
print_message(const char *kind, const char *after, const char *format, va_list arguments)
{
    char *const text = format_text_of(format, arguments);
    print_line(stderr, "pdltool%s%s: %s: %s%s", command != NULL ? " " : "",
               command != NULL ? command : "", kind, text, after);
    free(text);
}

void print_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_message("error", "", format, arguments);
    va_end(arguments);
}

void print_warning(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_message("warning", "", format, arguments);
    va_end(arguments);
}

void print_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_message("note", "", format, arguments);
    va_end(arguments);
}

void print_misuse(const char *format, ...)
{
    va_list arguments;
    char *const where = format_text("; see 'pdltool%s%s --help'", command != NULL ? " " : "",
                                    command != NULL ? command : "");
    va_start(arguments, format);
    print_message("error", where, format, arguments);
    va_end(arguments);
    free(where);
}

/* Columns on a terminal: UTF-8's continuation bytes take none. */
static size_t width_of(const char *text, size_t length)
{
    size_t width = 0;
    for (size_t i = 0; i < length; i++) {
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return width;
}

void print_wrapped(FILE *to, int begin, int indent, const char *text)
{
    enum { WIDTH = 80 };
    const bool wraps = isatty(fileno(to)); /* grep and sed get each sentence whole */
    char *const plain = plain_text(text);
    int column = begin;
    for (const char *word = plain; *word != '\0';) {
        const size_t length = strcspn(word, " ");
        const int width = (int)width_of(word, length);
        if (wraps && column > indent && column + width + (word > plain) > WIDTH) {
            (void)fprintf(to, "\n%*s", indent, "");
            column = indent;
        } else if (word > plain) {
            (void)putc(' ', to);
            column++;
        }
        (void)fwrite(word, 1, length, to);
        column += width;
        word += length + (word[length] == ' ');
    }
    (void)putc('\n', to);
    free(plain);
}

const char *unit_name(const char *unit)
{
    return unit == NULL ? "" : strcmp(unit, "us") == 0 ? "\u00b5s" : unit;
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

static void print_cell(FILE *to, const char *text, size_t width, bool right, bool last)
{
    const size_t own = width_of(text, strlen(text));
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
        widths[c] = width_of(table->headings[c], strlen(table->headings[c]));
    }
    for (size_t i = 0; i < table->count; i++) {
        const size_t width = width_of(table->items[i], strlen(table->items[i]));
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
