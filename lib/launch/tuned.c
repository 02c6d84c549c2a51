/* SPDX-License-Identifier: MIT */
#include "launch/tuned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/error.h"
#include "core/file.h"
#include "core/path_text.h"

enum { MOST_BYTES = 16 << 20 };

const char *pdl_name_plain(const char *name, char plain[PDL_PLAIN_NAME])
{
    if (strncmp(name, "_Z", 2) != 0) {
        return name;
    }
    const bool nested = name[2] == 'N';
    const char *at = name + 2 + nested;
    const char *found = NULL;
    unsigned size = 0;
    do {
        int digits = 0;
        at += *at == 'L'; /* static */
        if (sscanf(at, "%3u%n", &size, &digits) != 1 || size >= PDL_PLAIN_NAME ||
            strnlen(at + digits, size) < size) {
            return name;
        }
        found = at + digits;
        at = found + size;
    } while (nested && *at != 'I' && *at != 'E');
    memcpy(plain, found, size);
    plain[size] = '\0';
    return plain;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* "132", "16x8x1", each also a range as "1..64"; "*" is any. */
static bool take_shape(char *text, uint32_t least[3], uint32_t most[3])
{
    const bool any = strcmp(text, "*") == 0;
    for (int i = 0; i < 3; i++) {
        const char *const axis = strsep(&text, "x");
        unsigned long from = 1;
        unsigned long to = any ? UINT32_MAX : 1;
        if (axis != NULL && !any) {
            int end = 0;
            const int count = sscanf(axis, "%10lu%n..%10lu%n", &from, &end, &to, &end);
            to = count == 2 ? to : from;
            if (count < 1 || axis[end] != '\0' || from < 1 || from > to || to > UINT32_MAX) {
                return false;
            }
        }
        least[i] = (uint32_t)from;
        most[i] = (uint32_t)to;
    }
    return text == NULL;
}

/* What is wrong with a line; NULL: nothing. */
static const char *take_line(char *text, struct pdl_tuned_line *line)
{
    static const char blanks[] = " \t\r";
    char *word = NULL;
    line->name = strtok_r(text, blanks, &text);
    for (int i = 0; i < 6; i += 3) {
        word = strtok_r(NULL, blanks, &text);
        if (word == NULL || !take_shape(word, line->least + i, line->most + i)) {
            return "grid and block are each written as 132, 16x8x1, 1..64x8 or *";
        }
    }
    word = strtok_r(NULL, blanks, &text);
    if (word == NULL || (strcmp(word, "overlap") != 0 && strcmp(word, "serial") != 0)) {
        return "overlap or serial follows the block";
    }
    line->is.overlap = word[0] == 'o' ? PDL_YES : PDL_NO;
    while ((word = strtok_r(NULL, blanks, &text)) != NULL) {
        unsigned whole = 0;
        unsigned part = 0;
        int end = 0;
        if (sscanf(word, "trigger=%9d%n", &line->is.trigger, &end) == 1 && word[end] == '\0' &&
            line->is.trigger >= -1) {
            line->is.has_trigger = 1;
        } else if (sscanf(word, "gain=%6u.%3u%n", &whole, &part, &end) == 2 && word[end] == '\0' &&
                   word[end - 4] == '.') {
            line->is.gain = whole + part / 1000.0; /* strtod() depends on the locale */
        } else {
            return "only trigger=N, from -1, and gain=N.NNN follow overlap or serial";
        }
    }
    return NULL;
}

static int by_name(const void *left, const void *right)
{
    const struct pdl_tuned_line *const a = left;
    const struct pdl_tuned_line *const b = right;
    const int order = strcmp(a->name, b->name);
    return order != 0 ? order : (a->is.line > b->is.line) - (a->is.line < b->is.line);
}

pdl_status pdl_tuned_read(const char *path, struct pdl_tuned_file *file)
{
    struct pdl_tuned_line *lines = NULL;
    void *bytes = NULL;
    size_t size = 0;
    size_t count = 0;
    size_t capacity = 0;
    uint32_t number = 0;
    pdl_status status = pdl_file_read(path, MOST_BYTES, &bytes, &size);
    if (status != PDL_SUCCESS) {
        return status;
    }
    char *text = bytes;
    const char *wrong = strlen(text) == size ? NULL : "it is not text";
    while (wrong == NULL && text != NULL) {
        char *const line = strsep(&text, "\n");
        if (number++ == 0) {
            wrong = strncmp(line, "pdl-tuned 1", 11) != 0 || line[11 + strspn(line + 11, "\r")]
                        ? "the first line is not \"pdl-tuned 1\""
                        : NULL;
        } else if (line[strspn(line, " \t\r")] != '\0' && line[0] != '#') {
            if (!PDL_ARRAY_ROOM(lines, count, capacity)) {
                status = PDL_NO_MEMORY();
                goto free;
            }
            lines[count].is.line = number;
            wrong = take_line(line, &lines[count++]);
        }
    }
    if (wrong != NULL) {
        status =
            PDL_FAIL_FIELD(PDL_ERROR_FILE, "tuned", "%s:%u: %s", PDL_PATH(path), number, wrong);
        goto free;
    }
    if (count > 0) {
        qsort(lines, count, sizeof(*lines), by_name);
        lines[count - 1].last = true;
    }
    for (size_t i = 1; i < count; i++) {
        lines[i - 1].last = strcmp(lines[i - 1].name, lines[i].name) != 0;
    }
    *file = (struct pdl_tuned_file){(char *)bytes, lines, count};
    return PDL_SUCCESS;

free:
    free(lines);
    free(bytes);
    return status;
}

/* ---- looking up ----------------------------------------------------------------------------- */

const struct pdl_tuned_line *pdl_tuned_lines(const struct pdl_tuned_file *file, const char *name)
{
    char plain[PDL_PLAIN_NAME];
    const char *const names[] = {name, pdl_name_plain(name, plain), "*"};
    for (int i = 0; i < 3; i++) {
        for (size_t j = 0; j < file->count; j++) {
            if (strcmp(file->lines[j].name, names[i]) == 0) {
                return &file->lines[j];
            }
        }
    }
    return NULL;
}

const struct pdl_tuned_line *pdl_tuned_match(const struct pdl_tuned_line *line,
                                             const uint32_t grid[3], const uint32_t block[3])
{
    for (; line != NULL; line = line->last ? NULL : line + 1) {
        int i = 0;
        for (; i < 6; i++) {
            const uint32_t given = i < 3 ? grid[i] : block[i - 3];
            const uint32_t extent = given != 0 ? given : 1;
            if (extent < line->least[i] || extent > line->most[i]) {
                break;
            }
        }
        if (i == 6) {
            return line;
        }
    }
    return NULL;
}
