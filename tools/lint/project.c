/* SPDX-License-Identifier: MIT */
/* Project files: what holds for all kernels of a tree, a statement per line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "common/print.h"
#include "lint/options.h"
#include "lint/statements.h"

/* No project file is longer. */
#define LONGEST_FILE ((size_t)16 << 20)

/* ---- statements -------------------------------------------------------------------------------*/

void lint_state(struct lint_statement_list *list, const char *pattern, const char *origin,
                const char *text)
{
    const struct lint_statement statement = {.pattern = copy_text(pattern),
                                             .told = {.size = (uint32_t)sizeof(statement.told),
                                                      .origin = copy_text(origin),
                                                      .text = copy_text(text),
                                                      .reason = ""}};
    APPEND(list, statement);
}

void lint_state_launches(struct lint_statements *statements, const char *path, const char *origin,
                         const char *text)
{
    const bool whole = path[0] == '/' || statements->folder == NULL;
    const struct lint_launch_file file = {
        .path = whole ? copy_text(path) : format_text("%s/%s", statements->folder, path),
        .told = {.size = (uint32_t)sizeof(file.told),
                 .origin = copy_text(origin),
                 .text = text,
                 .reason = ""}};
    APPEND(&statements->launches, file);
}

static void free_told(const pdl_lint_suppression *told)
{
    free((void *)told->origin);
    free((void *)told->text);
}

static void free_list(const struct lint_statement_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].pattern);
        free_told(&list->items[i].told);
    }
    free(list->items);
}

void lint_statements_free(struct lint_statements *statements)
{
    for (int list = 0; list < LINT_LISTS; list++) {
        free_list(&statements->lists[list]);
    }
    for (size_t i = 0; i < statements->launches.count; i++) {
        free(statements->launches.items[i].path);
        free(statements->launches.items[i].names.items);
        free_told(&statements->launches.items[i].told);
    }
    free(statements->launches.items);
    pdl_names_free(&statements->launched);
    free(statements->how.items);
    free(statements->suppressions);
    free(statements->path);
    free(statements->folder);
}

char *lint_read_text(const char *path, size_t *size)
{
    char *const text = file_read(path, size);
    if (text == NULL) {
        print_line(stderr, "%s: error: %s", path, strerror(errno));
    }
    return text;
}

bool lint_tell_mistake(const char *path, const struct lint_mistake *mistake)
{
    print_line(stderr, "%s:%u:%u: error: %s", path, (unsigned)mistake->line,
               (unsigned)mistake->column, mistake->message);
    return false;
}

/* ---- lines ------------------------------------------------------------------------------------*/

/* A text while it is read. */
struct reading {
    struct lint_statements *statements;
    const char *of; /* the file */
    const char *text;
    const char *line; /* where the line begins */
    uint32_t number;
    char *
        suppressions; /* as long as the text: blanks, and what is to be suppressed, each in its place */
    bool *suppresses;
    struct lint_mistake *mistake;
};

__attribute__((format(printf, 3, 4))) static bool wrong(const struct reading *reading,
                                                        const char *at, const char *format, ...)
{
    va_list arguments;
    reading->mistake->line = reading->number;
    reading->mistake->column = (uint32_t)(at - reading->line) + 1;
    va_start(arguments, format);
    (void)vsnprintf(reading->mistake->message, sizeof(reading->mistake->message), format,
                    arguments);
    va_end(arguments);
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Where the rest of a line begins whose first word ends at `at`. */
static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && is_blank(*at)) {
        at++;
    }
    return at;
}

static const char *word_end(const char *at, const char *end)
{
    while (at < end && !is_blank(*at)) {
        at++;
    }
    return at;
}

static bool is_word(const char *at, const char *end, const char *word)
{
    return (size_t)(end - at) == strlen(word) && memcmp(at, word, strlen(word)) == 0;
}

/* A statement that goes from `at` to the end of the line: of a list, or `launches FILE`, whose path may have blanks. */
static void state(const struct reading *reading, struct lint_statement_list *list, const char *at,
                  const char *end)
{
    const char *const begin = skip_blanks(reading->line, at);
    char *const value = format_text("%.*s", (int)(end - at), at);
    char *const origin = format_text("%s:%u", reading->of, (unsigned)reading->number);
    char *const text = format_text("%.*s", (int)(end - begin), begin);
    if (list != NULL) {
        lint_state(list, value, origin, text);
        free(text);
    } else {
        lint_state_launches(reading->statements, value, origin, text);
    }
    free(origin);
    free(value);
}

static bool read_fail_on(const struct reading *reading, const char *at, const char *end)
{
    static const struct {
        const char *name;
        int level;
    } levels[] = {{"note", PDL_LINT_NOTE},
                  {"warning", PDL_LINT_WARNING},
                  {"error", PDL_LINT_ERROR},
                  {"never", LINT_FAIL_NEVER}};
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        if (is_word(at, end, levels[i].name)) {
            reading->statements->fail_on = levels[i].level;
            return true;
        }
    }
    return wrong(reading, at, "fail-on is note, warning, error or never");
}

/* A line, trimmed, that is neither empty nor a comment. */
static bool read_line(const struct reading *reading, const char *at, const char *end)
{
    struct lint_statements *const statements = reading->statements;
    static const char *const lists[LINT_LISTS] = {[LINT_CONSTANT_PARAMS] = "constant-param",
                                                  [LINT_OVERLAPPED] = "overlapped",
                                                  [LINT_PLAIN] = "plain",
                                                  [LINT_THIRD_PARTY] = "third-party"};
    const char *const word = at;
    const char *const behind = word_end(at, end);
    const char *const value = skip_blanks(behind, end);
    const bool is_suppress = is_word(word, behind, "suppress");
    const bool is_launches = is_word(word, behind, "launches");
    if (is_word(word, behind, "require-checked")) {
        statements->require_checked = true;
        return value == end || wrong(reading, value, "require-checked takes no value");
    }
    for (int i = 0; i < LINT_LISTS; i++) {
        if (!is_word(word, behind, lists[i])) {
            continue;
        }
        const char *const last = word_end(value, end);
        if (value == end) {
            return wrong(reading, behind, "no pattern behind %s", lists[i]);
        }
        if (last != end) {
            return wrong(reading, skip_blanks(last, end), "more than one pattern in the line");
        }
        state(reading, &statements->lists[i], value, end);
        return true;
    }
    if (is_suppress || is_launches) {
        if (value == end) {
            return wrong(reading, behind, "nothing behind %s",
                         is_suppress ? "suppress" : "launches");
        }
        if (is_launches) {
            state(reading, NULL, value, end);
        } else {
            memcpy(reading->suppressions + (value - reading->text), value, (size_t)(end - value));
            *reading->suppresses = true;
        }
        return true;
    }
    if (is_word(word, behind, "fail-on")) {
        return read_fail_on(reading, value, end);
    }
    const int shown = (int)(behind - word < 60 ? behind - word : 60);
    return wrong(reading, word,
                 "'%.*s' is unknown; known are overlapped, plain, constant-param, third-party, "
                 "launches, suppress, require-checked and fail-on",
                 shown, word);
}

/* What no line of text holds: it would be shown on terminals later. */
static const char *find_control(const char *at, const char *end)
{
    while (at < end && ((unsigned char)*at >= 0x20 || *at == '\t') && *at != 0x7f) {
        at++;
    }
    return at;
}

static bool read_text(struct reading *reading, const char *end)
{
    const char *at = reading->text;
    if (end - at >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) {
        at += 3; /* a byte order mark */
    }
    while (at < end) {
        const char *const newline = memchr(at, '\n', (size_t)(end - at));
        const char *last = newline != NULL ? newline : end;
        reading->line = at;
        reading->number++;
        last -= last > at && last[-1] == '\r' ? 1 : 0;
        const char *const control = find_control(at, last);
        if (control < last) {
            return wrong(reading, control, "a control character (0x%02x)",
                         (unsigned)(unsigned char)*control);
        }
        while (last > at && is_blank(last[-1])) {
            last--;
        }
        at = skip_blanks(at, last);
        if (at < last && *at != '#' && !read_line(reading, at, last)) {
            return false;
        }
        at = newline != NULL ? newline + 1 : end;
    }
    return true;
}

bool lint_project_parse(struct lint_statements *statements, const char *text, size_t size,
                        const char *of, struct lint_mistake *mistake)
{
    bool suppresses = false;
    struct reading reading = {.statements = statements,
                              .of = of,
                              .text = text,
                              .line = text,
                              .suppressions = allocate(size + 1, 1),
                              .suppresses = &suppresses,
                              .mistake = mistake};
    if (size > LONGEST_FILE) {
        free(reading.suppressions);
        return wrong(&reading, text, "longer than 16 MiB");
    }
    for (size_t i = 0; i < size; i++) {
        reading.suppressions[i] = text[i] == '\n' ? '\n' : ' ';
    }
    const bool right = read_text(&reading, text + size);
    if (right && suppresses) {
        free(statements->suppressions);
        statements->suppressions = reading.suppressions;
        statements->suppressions_size = size;
    } else {
        free(reading.suppressions);
    }
    return right;
}
