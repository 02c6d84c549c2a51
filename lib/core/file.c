/* SPDX-License-Identifier: MIT */
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/array.h"
#include "core/path_text.h"

int pdl_file_open(int at, const char *path, int flags, struct stat *about)
{
    const int file = openat(at, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
    if (file >= 0 && (fstat(file, about) != 0 || !S_ISREG(about->st_mode))) {
        (void)close(file);
        errno = EINVAL;
        return -1;
    }
    return file;
}

void *pdl_file_take(int file, size_t limit, size_t *size)
{
    struct stat about;
    unsigned char *bytes = NULL;
    size_t capacity = 0;
    size_t count = 0;
    if (fstat(file, &about) != 0) {
        return NULL;
    }
    int error = (uint64_t)about.st_size > limit ? EFBIG : 0;
    size_t wanted = (size_t)about.st_size + 2; /* its end shows without more room */
    while (error == 0) {
        if (!PDL_ARRAY_RESERVE(bytes, wanted, capacity)) {
            error = ENOMEM;
            break;
        }
        const ssize_t got = read(file, bytes + count, capacity - count - 1);
        if (got == 0) {
            bytes[count] = '\0';
            *size = count;
            return bytes;
        }
        if (got > 0) {
            count += (size_t)got;
            wanted = count + 2;
            error = count > limit ? EFBIG : 0;
        } else if (errno != EINTR) {
            error = errno;
        }
    }
    free(bytes);
    errno = error;
    return NULL;
}

pdl_status pdl_file_read(const char *path, size_t limit, void **bytes, size_t *size)
{
    struct stat about;
    const int file = pdl_file_open(AT_FDCWD, path, 0, &about);
    if (file < 0 && errno == EINVAL) {
        return PDL_FAIL_FIELD(PDL_ERROR_FILE, "path", "%s is not a regular file", PDL_PATH(path));
    }
    if (file < 0) {
        return PDL_FAIL_FIELD(PDL_ERROR_FILE, "path", "%s cannot be opened: %s", PDL_PATH(path),
                              strerror(errno));
    }
    void *taken = pdl_file_take(file, limit, size);
    const int error = errno;
    (void)close(file);
    if (taken == NULL && error == ENOMEM) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for the %lld bytes of %s",
                        (long long)about.st_size, PDL_PATH(path));
    }
    if (taken == NULL && error == EFBIG) {
        return PDL_FAIL_FIELD(PDL_ERROR_FILE, "path", "%s has more than %zu bytes", PDL_PATH(path),
                              limit);
    }
    if (taken == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_FILE, "path", "%s cannot be read: %s", PDL_PATH(path),
                              strerror(error));
    }
    *bytes = taken;
    return PDL_SUCCESS;
}
