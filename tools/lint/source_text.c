/* SPDX-License-Identifier: MIT */
#include "lint/lint.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/memory.h"
#include "lint/paths.h"
#include "lint/setup.h"

/* Paths come from the input: what they lead to may be anything. */
enum { LONGEST_FILE = 16 << 20, MOST_BYTES = 64 << 20, MOST_FILES = 4096 };

struct file {
    char *real;                /* its path without symbolic links; NULL if there is no file */
    const struct input *asked; /* the last input that named it, and whether that may */
    bool allowed;
    bool read;
    char *text; /* NULL if it cannot be read */
    size_t size;
    uint32_t *items; /* where its lines begin */
    size_t count, capacity;
};

struct lint_source_text {
    struct pdl_names paths;
    struct file *files; /* by path */
    size_t capacity;
    size_t size; /* of all texts */
};

struct lint_source_text *lint_source_text_new(void)
{
    return allocate(1, sizeof(struct lint_source_text));
}

void lint_source_text_free(struct lint_source_text *sources)
{
    if (sources == NULL) {
        return;
    }
    for (uint32_t i = 0; i < sources->paths.count; i++) {
        free(sources->files[i].real);
        free(sources->files[i].text);
        free(sources->files[i].items);
    }
    free(sources->files);
    pdl_names_free(&sources->paths);
    free(sources);
}

/* The author of an input chooses the paths in it, and a report may be published. */
static bool is_allowed(struct file *file, const struct input *input)
{
    if (file->asked != input) {
        char *const folder = path_folder_of_input(input->name);
        file->asked = input;
        file->allowed = file->real != NULL &&
                        (path_is_below(file->real, ".") || path_is_below(file->real, folder) ||
                         path_is_below(file->real, lint_setups_folder(input)));
        free(folder);
    }
    return file->allowed;
}

static void read_file(struct lint_source_text *sources, struct file *file)
{
    struct stat about;
    const int opened = open(file->real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    if (opened < 0) {
        return;
    }
    if (fstat(opened, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0 &&
        about.st_size <= LONGEST_FILE &&
        sources->size + (size_t)about.st_size <= (size_t)MOST_BYTES) {
        const size_t size = (size_t)about.st_size;
        char *text = allocate(size + 1, 1);
        ssize_t got = 1;
        while (file->size < size && got > 0) {
            got = read(opened, text + file->size, size - file->size);
            file->size += got > 0 ? (size_t)got : 0;
        }
        sources->size += size;
        file->text = text;
    }
    (void)close(opened);
    for (size_t at = 0; at < file->size; at++) {
        if (at == 0 || file->text[at - 1] == '\n') {
            APPEND(file, (uint32_t)at);
        }
    }
}

const char *lint_source_line(struct lint_source_text *sources, const struct input *input,
                             const char *path, uint32_t line, size_t *length)
{
    uint32_t index;
    if (line == 0 ||
        (!pdl_names_find(&sources->paths, path, &index) && sources->paths.count >= MOST_FILES)) {
        return NULL;
    }
    const uint32_t before = sources->paths.count;
    index = name_index(&sources->paths, path);
    if (index >= before) {
        sources->files =
            room_for_one(sources->files, index, &sources->capacity, sizeof(*sources->files));
        sources->files[index] = (struct file){.real = realpath(path, NULL)};
    }
    struct file *file = &sources->files[index];
    if (!is_allowed(file, input)) {
        return NULL;
    }
    if (!file->read) {
        file->read = true;
        read_file(sources, file);
    }
    if (line > file->count) {
        return NULL;
    }
    const char *text = file->text + file->items[line - 1];
    const size_t end = line < file->count ? file->items[line] : file->size;
    *length = end - file->items[line - 1];
    while (*length > 0 && (text[*length - 1] == '\n' || text[*length - 1] == '\r')) {
        --*length;
    }
    return text;
}
