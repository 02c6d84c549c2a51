/* SPDX-License-Identifier: MIT */
/* The line of a finding, as compilers show it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/print.h"
#include "lint/lint.h"
#include "trace/text.h"

/* Columns of a line that are shown; of a longer one those around the caret. */
enum { COLUMNS = 100, TAB = 8, LONGEST_LINE = 4096 };

/* A line in columns of a terminal: a character each. What would steer that is a `?`, tabs are blanks. */
struct row {
    uint32_t cells[LONGEST_LINE * 2];
    size_t count;
    size_t caret; /* the column of the place, from 0 */
};

static void put_cells(struct row *row, uint32_t character, size_t times)
{
    const size_t room = sizeof(row->cells) / sizeof(row->cells[0]);
    for (size_t i = 0; i < times && row->count < room; i++) {
        row->cells[row->count++] = character;
    }
}

/* `column` counts bytes from 1, as compilers do. */
static void lay_out(struct row *row, const char *line, uint32_t column)
{
    const char *at = line;
    row->count = 0;
    row->caret = 0;
    while (*at != '\0') {
        struct pdl_text_shown shown = pdl_text_show(at);
        const char *begin = at;
        const uint32_t character = pdl_text_next(&at);
        row->caret = (size_t)(begin - line) < column ? row->count : row->caret;
        if (character == '\t') {
            put_cells(row, ' ', TAB - row->count % TAB);
        } else {
            put_cells(row, pdl_text_shown_next(&shown) == character ? character : '?', 1);
        }
    }
}

static void print_cells(const struct row *row, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        pdl_text_put(stdout, row->cells[i]);
    }
}

void lint_print_excerpt(const struct lint_report *report, const struct lint_entry *entry)
{
    const struct lint_place place = lint_place_of(entry);
    size_t length = 0;
    const char *line =
        report->sources != NULL && place.in_source
            ? lint_source_line(report->sources, entry->input, place.file, place.line, &length)
            : NULL;
    if (line == NULL || length == 0 || length > LONGEST_LINE || place.column > length) {
        return; /* the file is another one by now */
    }
    struct row *row = allocate(1, sizeof(*row));
    char *text = format_text("%.*s", (int)length, line);
    lay_out(row, text, place.column);
    size_t begin = 0;
    while (begin < row->count && row->cells[begin] == ' ') {
        begin++;
    }
    if (begin < row->count) {
        /* The indent goes, but for a little, and a long line is cut around the caret. */
        const size_t caret = row->caret > begin ? row->caret : begin;
        const bool late = caret - begin >= COLUMNS - 20;
        const size_t first = late ? caret - COLUMNS / 2 : begin;
        const size_t end = row->count - first > COLUMNS ? first + COLUMNS : row->count;
        printf("%5u |     %s", (unsigned)place.line, late ? "…" : "");
        print_cells(row, first, end);
        printf("%s\n", end < row->count ? "…" : "");
        if (place.column > 0) {
            printf("      |     %*s^\n", (int)(caret - first + late), "");
        }
    }
    free(text);
    free(row);
}
