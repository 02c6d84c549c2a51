/* SPDX-License-Identifier: MIT */
#include "watch/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/print.h"
#include "watch/format.h"

void paths_free(struct paths *paths)
{
    for (size_t i = 0; i < paths->count; i++) {
        free(paths->items[i]);
    }
    free(paths->items);
    *paths = (struct paths){0};
}

static char *name_of(const char *first, size_t number)
{
    return number == 1 ? copy_text(first) : format_text("%s.%zu", first, number);
}

/* Whether a file is a recording, or empty. */
static bool is_recording(const char *path)
{
    char magic[sizeof(PDL_WATCH_MAGIC) - 1];
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return false;
    }
    const ssize_t got = read(file, magic, sizeof(magic));
    (void)close(file);
    return got == 0 ||
           (got == (ssize_t)sizeof(magic) && memcmp(magic, PDL_WATCH_MAGIC, sizeof(magic)) == 0);
}

bool files_clear(const char *first)
{
    bool cleared = true;
    for (size_t number = 1; cleared; number++) {
        char *const path = name_of(first, number);
        if (access(path, F_OK) != 0) {
            free(path);
            break;
        }
        if (!is_recording(path)) {
            print_line(stderr, "%s: error: it exists and is not a recording; it is not overwritten",
                       path);
            cleared = false;
        } else if (unlink(path) != 0) {
            print_line(stderr, "%s: error: %s", path, strerror(errno));
            cleared = false;
        }
        free(path);
    }
    return cleared;
}

void files_find(const char *first, struct paths *paths)
{
    for (size_t number = 1;; number++) {
        char *const path = name_of(first, number);
        if (access(path, F_OK) != 0) {
            free(path);
            return;
        }
        APPEND(paths, path);
    }
}
