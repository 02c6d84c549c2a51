/* SPDX-License-Identifier: MIT */
#include "watch/start_log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"
#include "common/memory.h"
#include "common/print.h"
#include "watch/format.h"

static size_t rounded(size_t size, size_t to)
{
    return (size + to - 1) / to * to;
}

/* Puts the lines behind each other as records. Returns their size; `to` may be NULL. */
static size_t put_lines(const char *text, size_t size, char *to)
{
    size_t used = 0;
    for (size_t at = 0; at < size;) {
        const char *const newline = memchr(text + at, '\n', size - at);
        const size_t length = newline != NULL ? (size_t)(newline - text) - at : size - at;
        const size_t whole = rounded(sizeof(struct pdl_watch_record) + length, 8);
        const struct pdl_watch_record record = {.size = (uint32_t)whole,
                                                .kind = PDL_WATCH_LOG,
                                                .extra =
                                                    (uint16_t)(whole - sizeof(record) - length)};
        if (length > 0) {
            if (to != NULL) {
                memcpy(to + used, &record, sizeof(record));
                memcpy(to + used + sizeof(record), text + at, length);
            }
            used += whole;
        }
        at += length + 1;
    }
    return used;
}

/* A file that a process still writes to is left alone: it would put its next chunk in the same place. */
static bool is_recording_of_the_dead(int file)
{
    struct pdl_watch_header header;
    if (pread(file, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
        memcmp(header.magic, PDL_WATCH_MAGIC, sizeof(header.magic)) != 0 ||
        header.version != PDL_WATCH_VERSION || header.order != PDL_WATCH_ORDER) {
        return false;
    }
    return header.ended != 0 || (kill((pid_t)header.process, 0) != 0 && errno == ESRCH);
}

static bool write_all(int file, const char *bytes, size_t size, off_t at)
{
    while (size > 0) {
        const ssize_t done = pwrite(file, bytes, size, at);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return false;
        }
        bytes += done;
        size -= (size_t)done;
        at += done;
    }
    return true;
}

/* At the file's end. */
static bool add_chunk(int file, const char *text, size_t size)
{
    const size_t whole =
        rounded(sizeof(struct pdl_watch_chunk) + put_lines(text, size, NULL), PDL_WATCH_PAGE);
    const off_t end = lseek(file, 0, SEEK_END);
    if (end < PDL_WATCH_PAGE || whole > UINT32_MAX) {
        errno = EFBIG;
        return false;
    }
    char *const chunk = allocate(whole, 1);
    const struct pdl_watch_chunk head = {.magic = PDL_WATCH_CHUNK_MAGIC, .size = (uint32_t)whole};
    const off_t at = (off_t)rounded((size_t)end, PDL_WATCH_PAGE);
    memcpy(chunk, &head, sizeof(head));
    (void)put_lines(text, size, chunk + sizeof(head));
    const bool written = write_all(file, chunk, whole, at);
    const int error = errno;
    if (!written) {
        (void)!ftruncate(file, end);
    }
    free(chunk);
    errno = error;
    return written;
}

void start_take_log(const char *log, const char *recording)
{
    size_t size = 0;
    char *const text = file_read(log, &size);
    (void)unlink(log);
    if (text != NULL && size > 0 && recording != NULL) {
        const int file = open(recording, O_RDWR | O_CLOEXEC);
        if (file >= 0) {
            if (is_recording_of_the_dead(file) && !add_chunk(file, text, size)) {
                print_error("cannot add the log of libpdl to %s: %s", recording, strerror(errno));
            }
            (void)close(file);
        }
    }
    free(text);
}
