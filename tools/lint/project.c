/* SPDX-License-Identifier: MIT */
/* Project files: what holds for all kernels of a tree, a statement per line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "common/print.h"
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

static void free_suppression(const struct lint_suppression *suppression)
{
    for (int key = 0; key < LINT_KEYS; key++) {
        free(suppression->patterns[key]);
    }
    free_told(&suppression->told);
    free((void *)suppression->told.reason);
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
    for (size_t i = 0; i < statements->suppressions.count; i++) {
        free_suppression(&statements->suppressions.items[i]);
    }
    free(statements->suppressions.items);
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

/* A statement that goes from `at` to the end of the line: of a list or, for LINT_LISTS, `launches FILE`, whose path may
 * have blanks. */
static void state(const struct reading *reading, int list, const char *at, const char *end)
{
    const char *const begin = skip_blanks(reading->line, at);
    char *const value = format_text("%.*s", (int)(end - at), at);
    char *const origin = format_text("%s:%u", reading->of, (unsigned)reading->number);
    char *const text = format_text("%.*s", (int)(end - begin), begin);
    if (list < LINT_LISTS) {
        lint_state(&reading->statements->lists[list], value, origin, text);
        free(text);
    } else {
        lint_state_launches(reading->statements, value, origin, text);
    }
    free(origin);
    free(value);
}

/* ---- suppressions -----------------------------------------------------------------------------*/

/* How much of a word is repeated in a message. */
static int shown_length(const char *at, const char *end)
{
    return (int)(end - at < 60 ? end - at : 60);
}

static bool read_rule(const struct reading *reading, const char *at, const char *end, int32_t *rule)
{
    if (is_word(at, end, "*")) {
        *rule = 0;
        return true;
    }
    char *const id = format_text("%.*s", (int)(end - at), at);
    *rule = pdl_lint_rule_find(id);
    free(id);
    return *rule != 0 || wrong(reading, at, "'%.*s' is not a rule's id", shown_length(at, end), at);
}

static bool read_number(const struct reading *reading, const char *at, const char *end,
                        uint32_t *number)
{
    uint64_t value = 0;
    for (const char *digit = at; digit < end; digit++) {
        if (*digit < '0' || *digit > '9' || value > UINT32_MAX) {
            value = 0;
            break;
        }
        value = value * 10 + (uint64_t)(*digit - '0');
    }
    *number = value <= UINT32_MAX ? (uint32_t)value : 0;
    return *number != 0 ||
           wrong(reading, at, "'%.*s' is not a line number", shown_length(at, end), at);
}

/* KEY=PATTERN */
static bool read_condition(const struct reading *reading, const char *at, const char *end,
                           struct lint_suppression *suppression)
{
    static const char *const keys[LINT_KEYS] = {[LINT_KEY_KERNEL] = "kernel",
                                                [LINT_KEY_FILE] = "file",
                                                [LINT_KEY_FUNCTION] = "function",
                                                [LINT_KEY_PARAMETER] = "parameter"};
    const char *const equals = memchr(at, '=', (size_t)(end - at));
    if (equals == NULL) {
        return wrong(reading, at, "'%.*s' is not KEY=PATTERN, and there is no ':' before it",
                     shown_length(at, end), at);
    }
    if (equals + 1 == end) {
        return wrong(reading, at, "nothing after '%.*s'", shown_length(at, end), at);
    }
    if (is_word(at, equals, "line")) {
        return suppression->line != 0 ? wrong(reading, at, "line= is given twice")
                                      : read_number(reading, equals + 1, end, &suppression->line);
    }
    for (int key = 0; key < LINT_KEYS; key++) {
        if (!is_word(at, equals, keys[key])) {
            continue;
        }
        if (suppression->patterns[key] != NULL) {
            return wrong(reading, at, "%s= is given twice", keys[key]);
        }
        suppression->patterns[key] = format_text("%.*s", (int)(end - equals - 1), equals + 1);
        return true;
    }
    return wrong(reading, at, "'%.*s' is not a key: use kernel, file, function, parameter or line",
                 shown_length(at, equals), at);
}

/* `RULE [KEY=PATTERN]... : REASON`, to the end of a line. The colon is a word of its own, or the end of the last word
 * before it, or the beginning of the first word behind it. */
static bool read_suppression(const struct reading *reading, const char *at, const char *end,
                             struct lint_suppression *suppression)
{
    const char *const begin = at;
    const char *what_end = at;
    bool colon = false;
    while (!colon && at < end) {
        const char *word = word_end(at, end);
        if (*at == ':') {
            colon = true;
            at = skip_blanks(at + 1, end);
            break;
        }
        colon = word[-1] == ':';
        what_end = word - (colon ? 1 : 0);
        if (!(at == begin ? read_rule(reading, at, what_end, &suppression->rule)
                          : read_condition(reading, at, what_end, suppression))) {
            return false;
        }
        at = skip_blanks(word, end);
    }
    if (what_end == begin) {
        return wrong(reading, begin, "no rule before ':'");
    }
    if (!colon || at == end) {
        return wrong(reading, end, "no reason: a suppression ends in ': ' and the reason");
    }
    suppression->told = (pdl_lint_suppression){
        .size = (uint32_t)sizeof(suppression->told),
        .origin = format_text("%s:%u", reading->of, (unsigned)reading->number),
        .text = format_text("%.*s", (int)(what_end - begin), begin),
        .reason = format_text("%.*s", (int)(end - at), at),
    };
    return true;
}

/* ---- the whole --------------------------------------------------------------------------------*/

/* A line, trimmed, that is neither empty nor a comment. */
static bool read_line(const struct reading *reading, const char *at, const char *end)
{
    static const char *const lists[LINT_LISTS] = {[LINT_CONSTANT_PARAMS] = "constant-param",
                                                  [LINT_OVERLAPPED] = "overlapped",
                                                  [LINT_PLAIN] = "plain",
                                                  [LINT_THIRD_PARTY] = "third-party"};
    const char *const word = at;
    const char *const behind = word_end(at, end);
    const char *const value = skip_blanks(behind, end);
    const bool is_suppress = is_word(word, behind, "suppress");
    const bool is_launches = is_word(word, behind, "launches");
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
        state(reading, i, value, end);
        return true;
    }
    if (is_suppress || is_launches) {
        if (value == end) {
            return wrong(reading, behind, "nothing behind %s",
                         is_suppress ? "suppress" : "launches");
        }
        struct lint_suppression suppression = {0};
        if (is_launches) {
            state(reading, LINT_LISTS, value, end);
        } else if (read_suppression(reading, value, end, &suppression)) {
            APPEND(&reading->statements->suppressions, suppression);
        } else {
            free_suppression(&suppression);
            return false;
        }
        return true;
    }
    return wrong(reading, word,
                 "'%.*s' is unknown; known are overlapped, plain, constant-param, third-party, "
                 "launches and suppress",
                 shown_length(word, behind), word);
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
    struct reading reading = {
        .statements = statements, .of = of, .text = text, .line = text, .mistake = mistake};
    return size > LONGEST_FILE ? wrong(&reading, text, "longer than 16 MiB")
                               : read_text(&reading, text + size);
}
