/* SPDX-License-Identifier: MIT */
#include "common/description.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/print.h"

enum {
    DEPTH = 64,           /* of blocks in each other */
    LINES_MOST = 10000000 /* as often as they are run */
};

/* A block whose end is further down. */
struct open {
    size_t line;
    int64_t left; /* runs of a repeat; 0: another block */
};

struct reader {
    struct description *description;
    struct {
        struct description_line *items;
        size_t count, capacity;
    } lines;
    struct open open[DEPTH];
};

bool description_fail(struct description *description, const struct description_line *line,
                      const char *format, ...)
{
    if (!description->failed) { /* the first is told */
        va_list list;
        va_start(list, format);
        char *const wrong = format_text_of(format, list);
        va_end(list);
        print_line(stderr, "%s:%u: error: %s", description->file, line->number, wrong);
        free(wrong);
    }
    description->failed = true;
    return false;
}

bool description_fail_count(struct description *description, const struct description_line *line,
                            const char *text, struct kernel_limits limits)
{
    return description_fail(description, line, "'%.60s' is not a whole number from %lld to %lld",
                            text, (long long)limits.least, (long long)limits.most);
}

bool description_count(struct description *description, const struct description_line *line,
                       const char *text, struct kernel_limits limits, int64_t *count)
{
    return kernel_number(text, limits, count) ||
           description_fail_count(description, line, text, limits);
}

static void split_lines(struct reader *reader, char *text)
{
    unsigned number = 1;
    for (char *start; (start = strsep(&text, "\n")) != NULL; number++) {
        struct description_line line = {.number = number};
        char *rest = NULL;
        start[strcspn(start, "#\r")] = '\0';
        const size_t most = strlen(start) / 2 + 1;
        for (char *word = strtok_r(start, " \t", &rest); word != NULL;
             word = strtok_r(NULL, " \t", &rest)) {
            if (line.words == NULL) {
                line.words = allocate(most, sizeof(*line.words));
            }
            line.words[line.count++] = word;
        }
        if (line.count > 0) {
            APPEND(&reader->lines, line);
        }
    }
}

/* A repeat with its number of runs, or another block. */
static bool begin(struct reader *reader, size_t index, bool is_repeat)
{
    struct description *const description = reader->description;
    const struct description_line *const line = &reader->lines.items[index];
    const struct kernel_limits limits = {1, DESCRIPTION_LAUNCHES_MOST};
    struct open open = {.line = index};
    if (description->depth == DEPTH) {
        return description_fail(description, line, "more than %d of repeat%s%s in each other",
                                DEPTH, description->block != NULL ? " and " : "",
                                description->block != NULL ? description->block : "");
    }
    if (is_repeat && line->count != 2) {
        return description_fail(description, line, "repeat needs a number");
    }
    if (is_repeat ? !description_count(description, line, line->words[1], limits, &open.left)
                  : !description->take(description, line)) {
        return false;
    }
    reader->open[description->depth++] = open;
    return true;
}

/* At the end of a block: goes back to its beginning while runs are left. */
static void end(struct reader *reader, size_t *index)
{
    struct description *const description = reader->description;
    struct open *const open = &reader->open[description->depth - 1];
    if (open->left > 1) {
        open->left--;
        *index = open->line;
        return;
    }
    if (open->left == 0) {
        (void)description->take(description, &reader->lines.items[*index]);
    }
    description->depth--;
}

static void run_lines(struct reader *reader)
{
    struct description *const description = reader->description;
    size_t runs = 0;
    description->depth = 0;
    for (size_t i = 0; i < reader->lines.count && !description->failed; i++) {
        const struct description_line *const line = &reader->lines.items[i];
        const bool is_repeat = strcmp(line->words[0], "repeat") == 0;
        const char *const block = description->block;
        if (++runs > LINES_MOST) {
            (void)description_fail(description, line,
                                   "more than %d lines, each as often as it is repeated",
                                   LINES_MOST);
        } else if (is_repeat || (block != NULL && strcmp(line->words[0], block) == 0)) {
            (void)begin(reader, i, is_repeat);
        } else if (strcmp(line->words[0], "end") == 0 && description->depth > 0) {
            end(reader, &i);
        } else {
            (void)description->take(description, line);
        }
    }
    if (!description->failed && description->depth > 0) {
        const size_t open = reader->open[description->depth - 1].line;
        const struct description_line *const line = &reader->lines.items[open];
        (void)description_fail(description, line, "%s without an end", line->words[0]);
    }
}

bool description_read(struct description *description, const char *text, size_t size)
{
    struct reader reader = {.description = description};
    char *const copy = allocate(size + 1, 1);
    memcpy(copy, text, size);
    split_lines(&reader, copy);
    run_lines(&reader);
    for (size_t i = 0; i < reader.lines.count; i++) {
        free((void *)reader.lines.items[i].words);
    }
    free(reader.lines.items);
    free(copy);
    return !description->failed;
}
