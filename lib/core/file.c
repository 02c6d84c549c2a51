/* SPDX-License-Identifier: MIT */
#include "core/file.h"

#include <errno.h>

#include "core/array.h"
#include "core/path_text.h"

void *pdl_file_take(int file, size_t limit, size_t *size)
{
    const long long expected = pdl_file_size(file);
    unsigned char *bytes = NULL;
    size_t capacity = 0;
    size_t count = 0;
    if (expected < 0) {
        return NULL;
    }
    int error = (uint64_t)expected > limit ? EFBIG : 0;
    size_t wanted = (size_t)expected + 2; /* its end shows without more room */
    while (error == 0) {
        if (!PDL_ARRAY_RESERVE(bytes, wanted, capacity)) {
            error = ENOMEM;
            break;
        }
        const long long got = pdl_file_next(file, bytes + count, capacity - count - 1);
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
    const int file = pdl_file_open_path(path);
    if (file < 0 && errno == EINVAL) {
        return PDL_FAIL_FIELD(PDL_ERROR_FILE, "path", "%s is not a regular file", PDL_PATH(path));
    }
    if (file < 0) {
        return PDL_FAIL_FIELD(PDL_ERROR_FILE, "path", "%s cannot be opened: %s", PDL_PATH(path),
                              strerror(errno));
    }
    void *taken = pdl_file_take(file, limit, size);
    const int error = errno;
    const long long whole = pdl_file_size(file);
    pdl_file_close(file);
    if (taken == NULL && error == ENOMEM) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for the %lld bytes of %s", whole,
                        PDL_PATH(path));
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
