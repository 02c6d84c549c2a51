/* SPDX-License-Identifier: MIT */
/* Suppressions: findings that somebody looked at and accepts, one a line of a text. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/inspection.h"

enum { ANY_RULE = 0 };

/* A pattern that was not given is NULL. */
struct suppression {
    int32_t rule; /* pdl_lint_rule, or ANY_RULE */
    uint32_t line;
    const char *kernel;
    const char *file;
    const char *function;
    const char *parameter;
};

struct pdl_lint_suppressions {
    struct pdl_arena arena;
    struct suppression *items;
    pdl_lint_suppression *shown; /* the same ones as their user sees them */
    uint32_t count;
    size_t capacity;
    size_t shown_capacity;
};

/* ---- reading ----------------------------------------------------------------------------------*/

/* A piece of the text. */
struct span {
    const char *at;
    size_t size;
};

/* How much of a word is repeated in an error. */
#define SHOWN(word) (int)((word).size < 60 ? (word).size : 60), (word).at

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct span trimmed(struct span text)
{
    while (text.size > 0 && is_blank(text.at[0])) {
        text.at++;
        text.size--;
    }
    while (text.size > 0 && is_blank(text.at[text.size - 1])) {
        text.size--;
    }
    return text;
}

/* Takes the first word off a trimmed text. */
static struct span take_word(struct span *rest)
{
    struct span word = {rest->at, 0};
    while (word.size < rest->size && !is_blank(word.at[word.size])) {
        word.size++;
    }
    *rest = trimmed((struct span){rest->at + word.size, rest->size - word.size});
    return word;
}

static bool is_word(struct span word, const char *text)
{
    return word.size == strlen(text) && memcmp(word.at, text, word.size) == 0;
}

/* A line of the text while it is read. */
struct line {
    struct pdl_lint_suppressions *list;
    const char *start;
    uint32_t number;
};

static uint32_t column_of(const struct line *line, const char *at)
{
    return (uint32_t)(at - line->start) + 1;
}

static pdl_status read_rule(const struct line *line, struct span word, int32_t *rule)
{
    char id[64]; /* longer than every id */
    *rule = ANY_RULE;
    if (is_word(word, "*")) {
        return PDL_SUCCESS;
    }
    if (word.size < sizeof(id)) {
        memcpy(id, word.at, word.size);
        id[word.size] = '\0';
        *rule = pdl_lint_rule_find(id);
    }
    if (*rule == ANY_RULE) {
        return pdl_inspect_fail(PDL_ERROR_INVALID_ARGUMENT, line->number, column_of(line, word.at),
                                "'%.*s' is not a rule's id", SHOWN(word));
    }
    return PDL_SUCCESS;
}

static pdl_status read_number(const struct line *line, struct span digits, uint32_t *number)
{
    uint64_t value = 0;
    for (size_t i = 0; i < digits.size; i++) {
        if (digits.at[i] < '0' || digits.at[i] > '9' || value > UINT32_MAX) {
            value = 0;
            break;
        }
        value = value * 10 + (uint64_t)(digits.at[i] - '0');
    }
    if (value == 0 || value > UINT32_MAX) {
        return pdl_inspect_fail(PDL_ERROR_INVALID_ARGUMENT, line->number,
                                column_of(line, digits.at), "'%.*s' is not a line number",
                                SHOWN(digits));
    }
    *number = (uint32_t)value;
    return PDL_SUCCESS;
}

/* KEY=PATTERN */
static pdl_status read_condition(const struct line *line, struct span word,
                                 struct suppression *suppression)
{
    const char *equals = memchr(word.at, '=', word.size);
    if (equals == NULL) {
        return pdl_inspect_fail(PDL_ERROR_INVALID_ARGUMENT, line->number, column_of(line, word.at),
                                "'%.*s' is not KEY=PATTERN, and there is no ':' before it",
                                SHOWN(word));
    }
    const struct span key = {word.at, (size_t)(equals - word.at)};
    const struct span value = {equals + 1, word.size - key.size - 1};
    const struct {
        const char *name;
        const char **pattern;
    } keys[] = {{"kernel", &suppression->kernel},
                {"file", &suppression->file},
                {"function", &suppression->function},
                {"parameter", &suppression->parameter}};
    if (value.size == 0) {
        return pdl_inspect_fail(PDL_ERROR_INVALID_ARGUMENT, line->number, column_of(line, word.at),
                                "nothing after '%.*s'", SHOWN(word));
    }
    if (is_word(key, "line")) {
        if (suppression->line != 0) {
            return pdl_inspect_fail(PDL_ERROR_INVALID_ARGUMENT, line->number,
                                    column_of(line, word.at), "line= is given twice");
        }
        return read_number(line, value, &suppression->line);
    }
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (!is_word(key, keys[i].name)) {
            continue;
        }
        if (*keys[i].pattern != NULL) {
            return pdl_inspect_fail(PDL_ERROR_INVALID_ARGUMENT, line->number,
                                    column_of(line, word.at), "%s= is given twice", keys[i].name);
        }
        *keys[i].pattern = pdl_arena_copy(&line->list->arena, value.at, value.size);
        return *keys[i].pattern != NULL
                   ? PDL_SUCCESS
                   : pdl_inspect_fail(PDL_ERROR_OUT_OF_MEMORY, line->number, 0, "out of memory");
    }
    return pdl_inspect_fail(PDL_ERROR_INVALID_ARGUMENT, line->number, column_of(line, word.at),
                            "'%.*s' is not a key: use kernel, file, function, parameter or line",
                            SHOWN(key));
}

/* Adds the suppression; the arrays grow together. */
static pdl_status add(const struct line *line, const struct suppression *suppression,
                      struct span text, struct span reason, const char *name)
{
    struct pdl_lint_suppressions *list = line->list;
    pdl_lint_suppression shown = {
        .size = (uint32_t)sizeof(shown),
        .origin = pdl_arena_format(&list->arena, "%s:%u", name, (unsigned)line->number),
        .text = pdl_arena_copy(&list->arena, text.at, text.size),
        .reason = pdl_arena_copy(&list->arena, reason.at, reason.size),
    };
    if (shown.origin == NULL || shown.text == NULL || shown.reason == NULL ||
        !PDL_ARRAY_ROOM(list->items, list->count, list->capacity) ||
        !PDL_ARRAY_ROOM(list->shown, list->count, list->shown_capacity)) {
        return pdl_inspect_fail(PDL_ERROR_OUT_OF_MEMORY, line->number, 0, "out of memory");
    }
    list->items[list->count] = *suppression;
    list->shown[list->count] = shown;
    list->count++;
    return PDL_SUCCESS;
}

/* A line, trimmed, that is neither empty nor a comment. */
static pdl_status read_line(const struct line *line, struct span text, const char *name)
{
    struct suppression suppression = {.rule = ANY_RULE};
    struct span rest = text;
    struct span what = {text.at, 0};
    bool colon = false;
    bool first = true;
    /* The colon is a word of its own, or the end of the last word before it, or the beginning of
     * the first word behind it. */
    while (!colon && rest.size > 0) {
        const struct span before = rest;
        struct span word = take_word(&rest);
        if (word.at[0] == ':') {
            colon = true;
            rest = trimmed((struct span){before.at + 1, before.size - 1});
            break;
        }
        colon = word.at[word.size - 1] == ':';
        word.size -= colon ? 1 : 0;
        const pdl_status status = first ? read_rule(line, word, &suppression.rule)
                                        : read_condition(line, word, &suppression);
        if (status != PDL_SUCCESS) {
            return status;
        }
        what.size = (size_t)(word.at + word.size - text.at);
        first = false;
    }
    if (first) {
        return pdl_inspect_fail(PDL_ERROR_INVALID_ARGUMENT, line->number, column_of(line, text.at),
                                "no rule before ':'");
    }
    if (!colon || rest.size == 0) {
        return pdl_inspect_fail(PDL_ERROR_INVALID_ARGUMENT, line->number,
                                column_of(line, text.at + text.size),
                                "no reason: a suppression ends in ': ' and the reason");
    }
    return add(line, &suppression, what, rest, name);
}

/* What no line of text holds: it would be shown on terminals later. */
static const char *find_control(const char *at, size_t size)
{
    for (const char *const end = at + size; at < end; at++) {
        const unsigned char c = (unsigned char)*at;
        if ((c < 0x20 && c != '\t') || c == 0x7f) {
            return at;
        }
    }
    return NULL;
}

static pdl_status read_text(struct pdl_lint_suppressions *list, const char *text, size_t size,
                            const char *name)
{
    const char *const end = text + size;
    struct line line = {.list = list, .start = text};
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        line.start += 3; /* a byte order mark */
    }
    while (line.start < end) {
        const char *newline = memchr(line.start, '\n', (size_t)(end - line.start));
        struct span all = {line.start, (size_t)((newline != NULL ? newline : end) - line.start)};
        if (line.number == UINT32_MAX || all.size > INT32_MAX) {
            return pdl_inspect_fail(PDL_ERROR_INVALID_ARGUMENT, line.number, 0,
                                    "more than a list of suppressions can be");
        }
        line.number++;
        if (all.size > 0 && all.at[all.size - 1] == '\r') {
            all.size--;
        }
        const char *control = find_control(all.at, all.size);
        if (control != NULL) {
            return pdl_inspect_fail(PDL_ERROR_INVALID_ARGUMENT, line.number,
                                    column_of(&line, control), "a control character (0x%02x)",
                                    (unsigned)(unsigned char)*control);
        }
        all = trimmed(all);
        if (all.size > 0 && all.at[0] != '#') {
            const pdl_status status = read_line(&line, all, name);
            if (status != PDL_SUCCESS) {
                return status;
            }
        }
        line.start = newline != NULL ? newline + 1 : end;
    }
    return PDL_SUCCESS;
}

pdl_status pdl_lint_suppressions_read(const char *text, size_t size, const char *name,
                                      pdl_lint_suppressions **suppressions)
{
    if ((text == NULL && size > 0) || suppressions == NULL) {
        return pdl_inspect_fail(PDL_ERROR_INVALID_ARGUMENT, 0, 0, "%s is NULL",
                                suppressions == NULL ? "suppressions" : "text");
    }
    struct pdl_lint_suppressions *list = calloc(1, sizeof(*list));
    if (list == NULL) {
        return pdl_inspect_fail(PDL_ERROR_OUT_OF_MEMORY, 0, 0, "out of memory");
    }
    const pdl_status status =
        size > 0 ? read_text(list, text, size, name != NULL ? name : "suppressions") : PDL_SUCCESS;
    if (status != PDL_SUCCESS) {
        pdl_lint_suppressions_destroy(list);
        return status;
    }
    *suppressions = list;
    return PDL_SUCCESS;
}

void pdl_lint_suppressions_destroy(pdl_lint_suppressions *suppressions)
{
    if (suppressions != NULL) {
        pdl_arena_free(&suppressions->arena);
        free(suppressions->items);
        free(suppressions->shown);
        free(suppressions);
    }
}

size_t pdl_lint_suppressions_count(const pdl_lint_suppressions *suppressions)
{
    return suppressions != NULL ? suppressions->count : 0;
}

const pdl_lint_suppression *pdl_lint_suppressions_get(const pdl_lint_suppressions *suppressions,
                                                      size_t index)
{
    return suppressions != NULL && index < suppressions->count ? &suppressions->shown[index] : NULL;
}

/* ---- matching ---------------------------------------------------------------------------------*/

static bool matches(const char *pattern, const char *text)
{
    return pattern == NULL || (text != NULL && fnmatch(pattern, text, 0) == 0);
}

/* Compilers write paths as absolute ones more often than not: a pattern matches the path or what
 * follows any slash in it. */
static bool matches_path(const char *pattern, const char *path)
{
    if (pattern == NULL || path == NULL) {
        return pattern == NULL;
    }
    while (fnmatch(pattern, path, 0) != 0) {
        const char *slash = pattern[0] == '/' ? NULL : strchr(path, '/');
        if (slash == NULL) {
            return false;
        }
        path = slash + 1;
    }
    return true;
}

/* One of the places has to match everything that is said of it: where the code stands, or where it
 * was inlined to. */
static bool matches_place(const struct suppression *suppression, const pdl_lint_finding *finding)
{
    if (suppression->file == NULL && suppression->function == NULL && suppression->line == 0) {
        return true;
    }
    for (uint32_t i = 0; i < finding->place_count; i++) {
        const pdl_inspect_place *place = finding->places[i];
        if ((suppression->line == 0 || suppression->line == place->line) &&
            matches_path(suppression->file, place->file) &&
            matches(suppression->function, place->inlined)) {
            return true;
        }
    }
    return false;
}

static bool matches_parameter(const char *pattern, const pdl_lint_finding *finding)
{
    char number[16];
    if (pattern == NULL || finding->parameter < 0) {
        return pattern == NULL;
    }
    (void)snprintf(number, sizeof(number), "%d", (int)finding->parameter + 1);
    return matches(pattern, number) || matches(pattern, finding->parameter_name);
}

void pdl_lint_suppress(pdl_lint_suppressions *suppressions, pdl_inspection *inspection)
{
    if (suppressions == NULL || inspection == NULL) {
        return;
    }
    for (uint32_t f = 0; f < inspection->finding_count; f++) {
        pdl_lint_finding *finding = &inspection->findings[f];
        const char *kernel = finding->kernel < inspection->kernel_count
                                 ? inspection->kernels[finding->kernel]->info->name
                                 : NULL;
        /* The first that matches is the one that is used: a later one is not needed for this. */
        for (uint32_t s = 0; s < suppressions->count && finding->suppressed == NULL; s++) {
            const struct suppression *suppression = &suppressions->items[s];
            if ((suppression->rule == ANY_RULE || suppression->rule == finding->rule) &&
                matches(suppression->kernel, kernel) && matches_place(suppression, finding) &&
                matches_parameter(suppression->parameter, finding)) {
                finding->suppressed = suppressions->shown[s].reason;
                suppressions->shown[s].used++;
            }
        }
    }
}

void pdl_lint_suppress_finding(pdl_inspection *inspection, const pdl_lint_finding *finding,
                               const char *reason)
{
    if (inspection == NULL || finding == NULL || finding < inspection->findings ||
        finding >= inspection->findings + inspection->finding_count || reason == NULL ||
        finding->suppressed != NULL) {
        return;
    }
    inspection->findings[finding - inspection->findings].suppressed = reason;
}
