/* SPDX-License-Identifier: MIT */
/* What tests use of POSIX and Windows' C library lacks. Every source of a test is compiled with it in front. */
#ifndef PDL_TEST_WINDOWS_POSIX_H
#define PDL_TEST_WINDOWS_POSIX_H

#include <direct.h>
#include <io.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static inline int setenv(const char *name, const char *value, int overwrite)
{
    return overwrite != 0 || getenv(name) == NULL ? _putenv_s(name, value) : 0;
}

static inline int unsetenv(const char *name)
{
    return _putenv_s(name, "");
}

static inline char *mkdtemp(char *path)
{
    return _mktemp(path) != NULL && _mkdir(path) == 0 ? path : NULL;
}

static inline void *memmem(const void *in, size_t in_size, const void *wanted, size_t size)
{
    const char *at = (const char *)in;
    for (; in_size >= size; at++, in_size--) {
        if (memcmp(at, wanted, size) == 0) {
            return (void *)at;
        }
    }
    return NULL;
}

/* Not free() but this gives back the former's memory. */
#define aligned_alloc(align, size) _aligned_malloc((size), (align))
#define aligned_free(memory)       _aligned_free(memory)

#endif /* PDL_TEST_WINDOWS_POSIX_H */
