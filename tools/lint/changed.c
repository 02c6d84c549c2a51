/* SPDX-License-Identifier: MIT */
#include "lint/changed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/unescape.h"

/* ---- reading ----------------------------------------------------------------------------------*/

/* A diff while it is read. */
struct reading {
    struct lint_changes *changes;
    struct lint_mistake *mistake;
    uint32_t number; /* of the line */
    bool is_diff, has_text;
    bool in_file;                /* its changes are of interest: it is not deleted */
    uint64_t old_left, new_left; /* lines of the hunk that are still to come */
    uint64_t at;                 /* the next line of the new file */
};

static bool wrong(const struct reading *reading, const char *message)
{
    reading->mistake->line = reading->number;
    reading->mistake->column = 1;
    (void)snprintf(reading->mistake->message, sizeof(reading->mistake->message), "%s", message);
    return false;
}

static bool begins(const char *at, const char *end, const char *word)
{
    const size_t length = strlen(word);
    return (size_t)(end - at) >= length && memcmp(at, word, length) == 0;
}

/* The path behind `+++ `: as it is up to a tab, or in quotation marks. NULL if there is none. */
static char *path_of(const char *at, const char *end)
{
    static const char prefixes[] = "abciow"; /* of git, in all its settings */
    char *const path = allocate((size_t)(end - at) + 1, 1);
    size_t length = 0;
    if (at < end && *at == '"') {
        const char *const begin = ++at;
        while (at < end && *at != '"') {
            at += *at == '\\' && end - at > 1 ? 2 : 1;
        }
        length = pdl_unescape(path, begin, (size_t)(at - begin));
    } else {
        const char *const tab = memchr(at, '\t', (size_t)(end - at));
        length = (size_t)((tab != NULL ? tab : end) - at);
        memcpy(path, at, length);
    }
    path[length] = '\0';
    if (path[0] != '\0' && path[1] == '/' && strchr(prefixes, path[0]) != NULL) {
        memmove(path, path + 2, length - 1);
    }
    if (path[0] == '\0' || strcmp(path, "/dev/null") == 0) {
        free(path);
        return NULL;
    }
    return path;
}

static void begin_file(struct reading *reading, const char *at, const char *end)
{
    char *const path = path_of(at, end);
    reading->in_file = path != NULL;
    if (path != NULL) {
        const struct lint_changed_file file = {.path = path};
        APPEND(reading->changes, file);
    }
}

/* Reads "FIRST" or "FIRST,COUNT". */
static bool read_range(const char **at, const char *end, uint64_t *first, uint64_t *count)
{
    uint64_t numbers[2] = {0, 1};
    for (int i = 0; i < 2; i++) {
        const char *const begin = *at;
        numbers[i] = 0;
        while (*at < end && **at >= '0' && **at <= '9' && numbers[i] <= UINT32_MAX) {
            numbers[i] = numbers[i] * 10 + (uint64_t)(*(*at)++ - '0');
        }
        if (*at == begin || numbers[i] > UINT32_MAX) {
            return false;
        }
        if (i == 0 && (*at == end || **at != ',')) {
            numbers[1] = 1;
            break;
        }
        *at += i == 0;
    }
    *first = numbers[0];
    *count = numbers[1];
    return true;
}

/* "@@ -1,2 +3,4 @@" */
static bool begin_hunk(struct reading *reading, const char *at, const char *end)
{
    uint64_t first = 0;
    bool right = begins(at, end, "@@ -");
    at += 4;
    right = right && read_range(&at, end, &first, &reading->old_left) && begins(at, end, " +");
    at += 2;
    right = right && read_range(&at, end, &first, &reading->new_left) && begins(at, end, " @@");
    /* Where nothing is left, the number is that of the line in front. */
    reading->at = first + (reading->new_left == 0 ? 1 : 0);
    return right || wrong(reading, "a hunk begins with '@@ -LINE,COUNT +LINE,COUNT @@'");
}

static struct lint_changed_file *last_file(const struct reading *reading)
{
    return reading->in_file ? &reading->changes->items[reading->changes->count - 1] : NULL;
}

static void add_line(const struct reading *reading)
{
    struct lint_changed_file *const file = last_file(reading);
    const uint32_t line = reading->at <= UINT32_MAX ? (uint32_t)reading->at : UINT32_MAX;
    if (file == NULL) {
        return;
    }
    if (file->added_count > 0 && file->added[file->added_count - 1].last + 1 == line) {
        file->added[file->added_count - 1].last = line;
        return;
    }
    file->added =
        room_for_one(file->added, file->added_count, &file->added_capacity, sizeof(*file->added));
    file->added[file->added_count++] = (struct lint_lines){line, line};
}

/* Whether a line that is taken out may have kept kernels in order. */
static bool tells_of_waits(const char *at, const char *end)
{
    static const char *const words[] = {"wait", "WAIT", "Wait", "griddep", "GridDependency"};
    for (; at < end; at++) {
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
            if (begins(at, end, words[i])) {
                return true;
            }
        }
    }
    return false;
}

static void take_out_line(const struct reading *reading, const char *at, const char *end)
{
    struct lint_changed_file *const file = last_file(reading);
    if (file != NULL && tells_of_waits(at, end)) {
        file->waits =
            room_for_one(file->waits, file->wait_count, &file->wait_capacity, sizeof(*file->waits));
        file->waits[file->wait_count++] =
            reading->at <= UINT32_MAX ? (uint32_t)reading->at - (reading->at > 0) : UINT32_MAX;
    }
}

static bool read_hunk_line(struct reading *reading, const char *at, const char *end)
{
    static const char blank[] = " "; /* some editors take the one of an empty line away */
    const char kind = *(at < end ? at : blank);
    if (kind == '+' && reading->new_left > 0) {
        add_line(reading);
        reading->new_left--;
        reading->at++;
    } else if (kind == '-' && reading->old_left > 0) {
        take_out_line(reading, at, end);
        reading->old_left--;
    } else if ((kind == ' ' || kind == '\r') && reading->old_left > 0 && reading->new_left > 0) {
        reading->old_left--;
        reading->new_left--;
        reading->at++;
    } else if (kind != '\\') { /* "\ No newline at end of file" */
        return wrong(reading, "the hunk has fewer lines than it says");
    }
    return true;
}

static bool read_line(struct reading *reading, const char *at, const char *end)
{
    if (reading->old_left > 0 || reading->new_left > 0) {
        return read_hunk_line(reading, at, end);
    }
    if (begins(at, end, "@@@")) {
        return wrong(reading, "a combined diff: compare with one parent only");
    }
    reading->is_diff |= begins(at, end, "diff ") || begins(at, end, "+++ ");
    reading->has_text |= at < end && *at != '\r';
    if (begins(at, end, "diff ")) {
        reading->in_file = false;
    } else if (begins(at, end, "+++ ")) {
        begin_file(reading, at + 4, end > at && end[-1] == '\r' ? end - 1 : end);
    } else if (begins(at, end, "@@ ")) {
        return begin_hunk(reading, at, end);
    }
    return true;
}

static const char *last_part(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static int by_last_part(const void *a, const void *b)
{
    const char *const x = ((const struct lint_changed_file *)a)->path;
    const char *const y = ((const struct lint_changed_file *)b)->path;
    const int order = strcmp(last_part(x), last_part(y));
    return order != 0 ? order : strcmp(x, y);
}

static int by_first(const void *a, const void *b)
{
    const uint32_t x = ((const struct lint_lines *)a)->first;
    const uint32_t y = ((const struct lint_lines *)b)->first;
    return (x > y) - (x < y);
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a;
    const uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Hunks come in order, or they do not. */
static void sort_lines(struct lint_changed_file *file)
{
    if (file->added_count > 0) {
        size_t kept = 0;
        qsort(file->added, file->added_count, sizeof(*file->added), by_first);
        for (size_t i = 1; i < file->added_count; i++) {
            if (file->added[i].first <= file->added[kept].last) {
                file->added[kept].last = file->added[i].last > file->added[kept].last
                                             ? file->added[i].last
                                             : file->added[kept].last;
            } else {
                file->added[++kept] = file->added[i];
            }
        }
        file->added_count = kept + 1;
    }
    if (file->wait_count > 0) {
        qsort(file->waits, file->wait_count, sizeof(*file->waits), by_number);
    }
}

bool lint_changes_parse(struct lint_changes *changes, const char *text, size_t size,
                        struct lint_mistake *mistake)
{
    struct reading reading = {.changes = changes, .mistake = mistake};
    const char *const end = text + size;
    const char *at = text;
    while (at < end) {
        const char *const newline = memchr(at, '\n', (size_t)(end - at));
        reading.number += reading.number < UINT32_MAX;
        if (!read_line(&reading, at, newline != NULL ? newline : end)) {
            return false;
        }
        at = newline != NULL ? newline + 1 : end;
    }
    if (reading.old_left > 0 || reading.new_left > 0) {
        return wrong(&reading, "the diff ends within a hunk");
    }
    for (size_t i = 0; i < changes->count; i++) {
        sort_lines(&changes->items[i]);
    }
    if (changes->count > 0) {
        qsort(changes->items, changes->count, sizeof(*changes->items), by_last_part);
    } else if (!reading.is_diff && reading.has_text) {
        reading.number = 1;
        return wrong(&reading, "not a unified diff");
    }
    return true;
}

void lint_changes_free(struct lint_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        free(changes->items[i].path);
        free(changes->items[i].added);
        free(changes->items[i].waits);
    }
    free(changes->items);
}

/* ---- asking -----------------------------------------------------------------------------------*/

/* What is left of a path without `./` and `../` in front. */
static const char *plain_path(const char *path)
{
    for (;;) {
        const size_t dots = strspn(path, ".");
        if (dots > 2 || path[dots] != '/') {
            return path;
        }
        path += dots + 1;
    }
}

/* Whether two paths may be of one file: the shorter one ends the other. */
static bool may_be_same(const char *a, const char *b)
{
    const size_t a_length = strlen(a);
    const size_t b_length = strlen(b);
    const char *const longer = a_length > b_length ? a : b;
    const char *const shorter = a_length > b_length ? b : a;
    const size_t skipped = strlen(longer) - strlen(shorter);
    return strcmp(longer + skipped, shorter) == 0 && (skipped == 0 || longer[skipped - 1] == '/');
}

/* The first file whose last part of the path is not before `name`. */
static size_t first_of(const struct lint_changes *changes, const char *name)
{
    size_t low = 0;
    size_t high = changes->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(last_part(changes->items[middle].path), name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_added(const struct lint_changed_file *file, uint32_t line)
{
    size_t low = 0; /* the first that ends at the line or behind it */
    size_t high = file->added_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (file->added[middle].last < line) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < file->added_count && file->added[low].first <= line;
}

static bool lost_a_wait(const struct lint_changed_file *file, uint32_t kernel, uint32_t line)
{
    size_t low = 0; /* the first that is in the kernel or behind it */
    size_t high = file->wait_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (file->waits[middle] < kernel) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < file->wait_count && file->waits[low] < line;
}

static bool holds_place(const struct lint_changes *changes, const pdl_inspect_place *place,
                        const pdl_inspect_place *kernel)
{
    const char *const path = plain_path(place->file);
    const char *const name = last_part(path);
    for (size_t i = first_of(changes, name);
         i < changes->count && strcmp(last_part(changes->items[i].path), name) == 0; i++) {
        const struct lint_changed_file *const file = &changes->items[i];
        if (!may_be_same(path, file->path)) {
            continue;
        }
        const bool in_kernel = kernel != NULL && kernel->file != NULL &&
                               strcmp(kernel->file, place->file) == 0 && kernel->line > 0;
        if (is_added(file, place->line) ||
            (in_kernel && lost_a_wait(file, kernel->line, place->line))) {
            return true;
        }
    }
    return false;
}

/* Where the kernel behind another in the same file begins, as far as the input knows; UINT32_MAX if there is none. */
static uint32_t next_kernel(const pdl_inspection *inspection, const pdl_inspect_place *kernel)
{
    uint32_t next = UINT32_MAX;
    for (size_t i = 0; i < pdl_inspection_kernel_count(inspection); i++) {
        const pdl_inspect_place *const other = pdl_inspection_kernel(inspection, i)->place;
        if (other != NULL && other->line > kernel->line && other->line < next &&
            other->file != NULL && strcmp(other->file, kernel->file) == 0) {
            next = other->line;
        }
    }
    return next;
}

/* Whether a kernel without a wait may have lost it. */
static bool lost_its_wait(const struct lint_changes *changes, const pdl_inspection *inspection,
                          const pdl_inspect_place *kernel)
{
    const char *const path = plain_path(kernel->file);
    for (size_t i = first_of(changes, last_part(path));
         i < changes->count && strcmp(last_part(changes->items[i].path), last_part(path)) == 0;
         i++) {
        const struct lint_changed_file *const file = &changes->items[i];
        if (may_be_same(path, file->path) && file->wait_count > 0 &&
            lost_a_wait(file, kernel->line, next_kernel(inspection, kernel))) {
            return true;
        }
    }
    return false;
}

bool lint_changes_hold(const struct lint_changes *changes, const pdl_inspection *inspection,
                       const pdl_lint_finding *finding)
{
    const pdl_inspect_place *const kernel =
        pdl_inspection_kernel(inspection, finding->kernel)->place;
    bool known = false;
    for (uint32_t i = 0; i < finding->place_count; i++) {
        const pdl_inspect_place *const place = finding->places[i];
        if (place->file == NULL || place->line == 0) {
            continue;
        }
        known = true;
        if (holds_place(changes, place, kernel)) {
            return true;
        }
    }
    return !known || (finding->rule == PDL_LINT_NO_WAIT && kernel != NULL && kernel->file != NULL &&
                      lost_its_wait(changes, inspection, kernel));
}
