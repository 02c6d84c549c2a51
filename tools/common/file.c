/* SPDX-License-Identifier: MIT */
#include "common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/print.h"

static bool is_pipe(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISFIFO(about.st_mode);
}

int file_open(const char *path, bool writes)
{
    enum { PATIENCE_MS = 2000, STEP_MS = 50 };
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
    const int flags = (writes ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY) | O_CLOEXEC;
    int file = open(path, flags | O_NONBLOCK, 0666);
    if (writes) {
        for (int left = PATIENCE_MS; file < 0 && errno == ENXIO && is_pipe(path); left -= STEP_MS) {
            if (left <= 0) {
                print_note("waiting for a reader of the pipe %s", path);
                return open(path, flags, 0666);
            }
            (void)nanosleep(&step, NULL);
            file = open(path, flags | O_NONBLOCK, 0666);
        }
    } else if (file >= 0 && is_pipe(path)) {
        struct pollfd pipe = {.fd = file, .events = POLLIN};
        if (poll(&pipe, 1, PATIENCE_MS) == 0) {
            print_note("waiting for what is written to the pipe %s", path);
            (void)poll(&pipe, 1, -1);
        }
    }
    if (file >= 0) {
        (void)fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK);
    }
    return file;
}

FILE *file_stream(const char *path, bool writes)
{
    const int file = file_open(path, writes);
    FILE *const stream = file >= 0 ? fdopen(file, writes ? "w" : "r") : NULL;
    if (file >= 0 && stream == NULL) {
        const int error = errno;
        (void)close(file);
        errno = error;
    }
    return stream;
}

char *file_read_stream(FILE *file, size_t most, size_t *size)
{
    struct {
        char *items;
        size_t count, capacity;
    } bytes = {NULL, 0, 0};
    errno = 0;
    do {
        bytes.items = room_for_one(bytes.items, bytes.count + 1, &bytes.capacity, 1);
        bytes.count += fread(bytes.items + bytes.count, 1, bytes.capacity - bytes.count - 1, file);
    } while (bytes.count <= most && feof(file) == 0 && ferror(file) == 0);
    if (ferror(file) != 0 || bytes.count > most) {
        const int error = ferror(file) != 0 ? errno : EFBIG;
        free(bytes.items);
        errno = error;
        return NULL;
    }
    bytes.items[bytes.count] = '\0';
    *size = bytes.count;
    return bytes.items;
}

char *file_read(const char *path, size_t *size)
{
    FILE *const file = file_stream(path, false);
    char *const bytes = file != NULL ? file_read_stream(file, FILE_LONGEST, size) : NULL;
    if (file != NULL) {
        const int error = errno;
        (void)fclose(file);
        errno = error;
    }
    return bytes;
}
