/* SPDX-License-Identifier: MIT */
#include "common/sinks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "common/memory.h"
#include "common/print.h"

static bool complain(const struct sink *sink, const char *what)
{
    print_error("--%s %s: %s", sink->name, sink->path, what);
    return false;
}

static bool is_stdout(const struct sink *sink)
{
    return sink->path != NULL && strcmp(sink->path, "-") == 0;
}

bool sinks_take_stdout(const struct sink *sinks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_stdout(&sinks[i])) {
            return true;
        }
    }
    return false;
}

/* A file that is there stays as it is until the new one is whole. Anything else (a pipe, /dev/null) is
 * written itself: a rename would put a file in its place. */
static bool open_sink(struct sink *sink)
{
    struct stat status;
    if (lstat(sink->path, &status) != 0 || S_ISREG(status.st_mode)) {
        sink->part = format_text("%s.part", sink->path);
    }
    sink->file = file_stream(sink->part != NULL ? sink->part : sink->path, true);
    return sink->file != NULL || complain(sink, strerror(errno));
}

/* Whether two of them would write over each other. */
static bool is_same_file(const struct sink *sink, const struct sink *other)
{
    struct stat status;
    struct stat other_status;
    return other->file != NULL && fstat(fileno(sink->file), &status) == 0 &&
           fstat(fileno(other->file), &other_status) == 0 && S_ISREG(status.st_mode) &&
           status.st_dev == other_status.st_dev && status.st_ino == other_status.st_ino;
}

bool sinks_open(struct sink *sinks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct sink *const sink = &sinks[i];
        if (sink->path == NULL) {
            continue;
        }
        if (is_stdout(sink)) {
            sink->file = stdout;
            if (sinks_take_stdout(sinks, i)) {
                print_error("only one format can go to standard output");
                return false;
            }
            continue;
        }
        if (!open_sink(sink)) {
            return false;
        }
        for (size_t j = 0; j < i; j++) {
            if (is_same_file(sink, &sinks[j])) {
                return complain(sink, "another format is written there");
            }
        }
    }
    return true;
}

static bool write_sink(struct sink *sink)
{
    FILE *const file = sink->file;
    sink->write(file);
    sink->file = NULL;
    bool written = fflush(file) == 0 && ferror(file) == 0;
    if (file != stdout) {
        written = fclose(file) == 0 && written;
    }
    if (sink->part != NULL) {
        written = written && rename(sink->part, sink->path) == 0;
        if (!written) {
            const int error = errno;
            (void)unlink(sink->part);
            errno = error;
        }
    }
    return written || complain(sink, strerror(errno));
}

bool sinks_write(struct sink *sinks, size_t count)
{
    bool written = true;
    for (size_t i = 0; i < count; i++) {
        if (sinks[i].file != NULL) {
            written = write_sink(&sinks[i]) && written;
        }
    }
    return written;
}

void sinks_drop(struct sink *sinks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct sink *const sink = &sinks[i];
        if (sink->file != NULL && sink->file != stdout) {
            (void)fclose(sink->file);
            if (sink->part != NULL) {
                (void)unlink(sink->part);
            }
        }
        free(sink->part);
        sink->part = NULL;
        sink->file = NULL;
    }
}
