/* SPDX-License-Identifier: MIT */
#include "inspect/rules/source.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "code/unit_name.h"

#define SIZE_LIMIT ((size_t)16 << 20)
/* The line is that of the function's name, and the parameters follow. */
#define LINES_AFTER 24
/* clang gives that of the function's '{'. */
#define LINES_BEFORE 12
/* More than so many lines have, around the one that is looked at. */
#define NEAR ((size_t)1 << 14)
/* No more is read for one PTX text, whose kernels may say that they are from two files in turn. */
#define READ_LIMIT ((size_t)256 << 20)

/* Notes where the lines begin. */
static void find_lines(struct pdl_source_file *file)
{
    const char *at = file->text;
    size_t capacity = 0;
    while (at != NULL) {
        PDL_ADD(file->lines, file->line_count, capacity, (uint32_t)(at - file->text));
        at = memchr(at, '\n', file->size - (size_t)(at - file->text));
        at = at != NULL ? at + 1 : NULL;
    }
}

/* Reads a regular file of a size that is known; false if it cannot be read. A path of the input's: it may
 * be a pipe. */
static bool read_whole(const char *path, char *text, size_t size)
{
    struct stat about;
    const int opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool whole = opened >= 0 && fstat(opened, &about) == 0 && S_ISREG(about.st_mode) &&
                 (size_t)about.st_size == size;
    for (size_t done = 0; whole && done < size;) {
        const ssize_t part = read(opened, text + done, size - done);
        whole = part > 0;
        done += whole ? (size_t)part : 0;
    }
    if (opened >= 0) {
        (void)close(opened);
    }
    return whole;
}

static bool read_file(struct pdl_source_file *file, const char *path)
{
    struct stat about;
    if (file->path != NULL && strcmp(file->path, path) == 0) {
        return file->text != NULL;
    }
    pdl_give_back(file->path);
    pdl_give_back(file->text);
    pdl_give_back(file->lines);
    *file = (struct pdl_source_file){.read = file->read};
    file->path = pdl_take(strlen(path) + 1, 1);
    memcpy(file->path, path, strlen(path));
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size <= 0 ||
        (size_t)about.st_size > SIZE_LIMIT || file->read + (size_t)about.st_size > READ_LIMIT) {
        return false;
    }
    file->size = (size_t)about.st_size;
    file->read += file->size;
    file->text = pdl_take(file->size + 1, 1);
    if (!read_whole(path, file->text, file->size)) {
        pdl_give_back(file->text);
        file->text = NULL;
        return false;
    }
    find_lines(file);
    return true;
}

/* Whether a character is part of a name or a number. */
static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Behind a comment, string or character that begins at `at`, or `at`. */
static const char *skip_quoted(const char *at)
{
    if (at[0] == '/' && at[1] == '/') {
        const char *end = strchr(at, '\n');
        return end != NULL ? end : at + strlen(at);
    }
    if (at[0] == '/' && at[1] == '*') {
        const char *end = strstr(at + 2, "*/");
        return end != NULL ? end + 2 : at + strlen(at);
    }
    if (at[0] == '"' || at[0] == '\'') {
        const char *p = at + 1;
        while (*p != '\0' && *p != at[0] && *p != '\n') {
            p += p[0] == '\\' && p[1] != '\0' ? 2 : 1;
        }
        return *p == at[0] ? p + 1 : p;
    }
    return at;
}

/* The name in one parameter's declaration, which ends at `end`: the last word in front of `=`, `[`
 * or the end. NULL if there is none. */
static const char *declared_name(struct pdl_arena *arena, const char *start, const char *end)
{
    const char *name = NULL;
    size_t length = 0;
    for (const char *p = start; p < end;) {
        const char *behind = skip_quoted(p);
        if (behind != p) {
            p = behind;
        } else if (*p == '=' || *p == '[') {
            break;
        } else if (in_name(*p)) {
            name = p;
            while (p < end && in_name(*p)) {
                p++;
            }
            length = (size_t)(p - name);
        } else {
            if (!isspace((unsigned char)*p) && *p != ':') {
                name = NULL;
            }
            p++;
        }
    }
    if (name == NULL || length > PDL_SOURCE_NAME_MAX || isdigit((unsigned char)*name)) {
        return NULL;
    }
    return pdl_arena_copy(arena, name, length);
}

/* Reads `(…)` from behind its bracket. */
static const char **read_parameters(struct pdl_arena *arena, const char *at, uint32_t count)
{
    const char **names = pdl_arena_alloc(arena, ((size_t)count + 1) * sizeof(*names));
    const char *start = at;
    uint32_t found = 0;
    int depth = 0;
    for (;;) {
        const char *behind = skip_quoted(at);
        if (behind != at) {
            at = behind;
            continue;
        }
        const char c = *at;
        if (c == '\0' || c == ';' || (c == '{' && depth == 0)) {
            return NULL;
        }
        if (depth == 0 && (c == ',' || c == ')')) {
            if (found == count) {
                return NULL;
            }
            names[found] = declared_name(arena, start, at);
            if (names[found++] == NULL) {
                return NULL;
            }
            start = at + 1;
            if (c == ')') {
                return found == count ? names : NULL;
            }
        } else if (strchr("(<[{", c) != NULL) {
            depth++;
        } else if (strchr(")>]}", c) != NULL) {
            depth--;
        }
        at++;
    }
}

/* Whether the word in front of a '(' is the name of the function: part of its mangled name. */
static bool is_function(const char *text, const char *bracket, const char *mangled)
{
    const char *end = bracket;
    while (end > text && isspace((unsigned char)end[-1])) {
        end--;
    }
    const char *start = end;
    while (start > text && in_name(start[-1])) {
        start--;
    }
    char word[PDL_SOURCE_NAME_MAX + 8];
    const size_t length = (size_t)(end - start);
    if (length == 0 || length > PDL_SOURCE_NAME_MAX) {
        return false;
    }
    if (strlen(mangled) == length && memcmp(mangled, start, length) == 0) {
        return true;
    }
    (void)snprintf(word, sizeof(word), "%zu%.*s", length, (int)length, start);
    return strncmp(mangled, "_Z", 2) == 0 && strstr(mangled, word) != NULL;
}

/* The '(' behind the function's name: the first one from `at` on, up to `end` or a '{'; or, if `last`,
 * the last one before `end`. */
static const char *find_function(const struct pdl_source_file *file, const char *at,
                                 const char *end, const char *name, bool last)
{
    const char *found = NULL;
    while (*at != '\0' && at < end) {
        const char *behind = skip_quoted(at);
        if (behind != at) {
            at = behind;
            continue;
        }
        if (*at == '(' && is_function(file->text, at, name)) {
            found = at;
            if (!last) {
                break;
            }
        }
        if (*at == '{' && !last) {
            break;
        }
        at++;
    }
    return found;
}

/* The beginning of a line; the end of the text if there are fewer. */
static char *line_start(const struct pdl_source_file *file, uint32_t line)
{
    return file->text + (line <= file->line_count ? file->lines[line - 1] : file->size);
}

const char *const *pdl_source_parameters(struct pdl_source_file *file, struct pdl_arena *arena,
                                         const char *path, uint32_t line, const char *name,
                                         uint32_t count)
{
    if (count == 0 || line == 0 || !read_file(file, path)) {
        return NULL;
    }
    name = pdl_unit_skip(name);
    char *at = line_start(file, line);
    const char *end =
        line_start(file, line <= UINT32_MAX - LINES_AFTER ? line + LINES_AFTER : line);
    char *stop = at + strnlen(at, NEAR);
    const char cut = *stop;
    *stop = '\0'; /* nothing looks further: a line may be the whole file */
    const char *found = find_function(file, at, end, name, false);
    if (found == NULL) {
        const char *first = line_start(file, line > LINES_BEFORE ? line - LINES_BEFORE : 1);
        found =
            find_function(file, (size_t)(at - first) > NEAR ? at - NEAR : first, at, name, true);
    }
    const char **names = found != NULL ? read_parameters(arena, found + 1, count) : NULL;
    *stop = cut;
    return names;
}
