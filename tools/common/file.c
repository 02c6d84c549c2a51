/* SPDX-License-Identifier: MIT */
#include "common/file.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/memory.h"

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
    FILE *const file = fopen(path, "rbe");
    char *const bytes = file != NULL ? file_read_stream(file, FILE_LONGEST, size) : NULL;
    if (file != NULL) {
        const int error = errno;
        (void)fclose(file);
        errno = error;
    }
    return bytes;
}
