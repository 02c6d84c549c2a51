/* SPDX-License-Identifier: MIT */
#include "launch/tuned.h"

#include <stdlib.h>
#include <string.h>

#include "code/elf64.h"
#include "core/array.h"
#include "core/error.h"
#include "core/file.h"
#include "core/path_text.h"

enum { MOST_BYTES = 16 << 20 };

/* Takes decimal digits; false without any, and for more than `most`. */
static bool take_number(const char **text, uint32_t most, uint32_t *number)
{
    const char *at = *text;
    uint64_t value = 0;
    for (; *at >= '0' && *at <= '9' && value <= most; at++) {
        value = value * 10 + (uint64_t)(*at - '0');
    }
    if (at == *text || value > most) {
        return false;
    }
    *text = at;
    *number = (uint32_t)value;
    return true;
}

const char *pdl_name_plain(const char *name, char plain[PDL_PLAIN_NAME])
{
    if (strncmp(name, "_Z", 2) != 0) {
        return name;
    }
    const bool nested = name[2] == 'N';
    const char *at = name + 2 + nested;
    const char *found = NULL;
    uint32_t size = 0;
    do {
        at += *at == 'L'; /* static */
        if (!take_number(&at, PDL_PLAIN_NAME - 1, &size) || strnlen(at, size) < size) {
            return name;
        }
        found = at;
        at = found + size;
    } while (nested && *at != 'I' && *at != 'E');
    memcpy(plain, found, size);
    plain[size] = '\0';
    return plain;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Takes what stands before a mark off a text, or all of it where there is none; NULL if nothing is left. */
static char *take_until(char **text, char mark)
{
    char *const taken = *text;
    char *const end = taken != NULL ? strchr(taken, mark) : NULL;
    *text = end != NULL ? end + 1 : NULL;
    if (end != NULL) {
        *end = '\0';
    }
    return taken;
}

/* "132", "16x8x1", each also a range as "1..64"; "*" is any. */
static bool take_shape(char *text, uint32_t least[3], uint32_t most[3])
{
    const bool any = strcmp(text, "*") == 0;
    for (int i = 0; i < 3; i++) {
        const char *axis = take_until(&text, 'x');
        least[i] = 1;
        most[i] = any ? UINT32_MAX : 1;
        if (axis != NULL && !any) {
            if (!take_number(&axis, UINT32_MAX, &least[i])) {
                return false;
            }
            most[i] = least[i];
            if (strncmp(axis, "..", 2) == 0) {
                axis += 2;
                if (!take_number(&axis, UINT32_MAX, &most[i])) {
                    return false;
                }
            }
            if (*axis != '\0' || least[i] < 1 || least[i] > most[i]) {
                return false;
            }
        }
    }
    return text == NULL;
}

/* "trigger=3", "trigger=-1". */
static bool take_trigger(const char *word, pdl_tuned *is)
{
    uint32_t number = 0;
    const char *at = pdl_elf_after(word, "trigger=");
    if (at == NULL) {
        return false;
    }
    if (strcmp(at, "-1") != 0) {
        if (!take_number(&at, INT32_MAX, &number) || *at != '\0') {
            return false;
        }
        is->trigger = (int32_t)number;
    } else {
        is->trigger = -1;
    }
    is->has_trigger = 1;
    return true;
}

/* "gain=1.125". strtod() depends on the locale. */
static bool take_gain(const char *word, pdl_tuned *is)
{
    uint32_t whole = 0;
    uint32_t part = 0;
    const char *at = pdl_elf_after(word, "gain=");
    if (at == NULL || !take_number(&at, 999999, &whole) || *at != '.' || strlen(at) != 4) {
        return false;
    }
    at++;
    if (!take_number(&at, 999, &part) || *at != '\0') {
        return false;
    }
    is->gain = whole + part / 1000.0;
    return true;
}

/* Takes the next word off a line; NULL if there is none. */
static char *next_word(char **text)
{
    char *const word = *text + strspn(*text, " \t\r");
    char *const end = word + strcspn(word, " \t\r");
    *text = end + (*end != '\0');
    *end = '\0';
    return word[0] != '\0' ? word : NULL;
}

/* What is wrong with a line; NULL: nothing. */
static const char *take_line(char *text, struct pdl_tuned_line *line)
{
    char *word = NULL;
    line->name = next_word(&text);
    for (int i = 0; i < 6; i += 3) {
        word = next_word(&text);
        if (word == NULL || !take_shape(word, line->least + i, line->most + i)) {
            return "grid and block are each written as 132, 16x8x1, 1..64x8 or *";
        }
    }
    word = next_word(&text);
    if (word == NULL || (strcmp(word, "overlap") != 0 && strcmp(word, "serial") != 0)) {
        return "overlap or serial follows the block";
    }
    line->is.overlap = word[0] == 'o' ? PDL_YES : PDL_NO;
    while ((word = next_word(&text)) != NULL) {
        if (!take_trigger(word, &line->is) && !take_gain(word, &line->is)) {
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
        char *const line = take_until(&text, '\n');
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
