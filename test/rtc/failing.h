/* SPDX-License-Identifier: MIT */
/* Every allocation of a call fails once. Only one source of a program includes it, and the program's link options wrap
 * these functions: see CMakeLists.txt. */
#ifndef PDL_TEST_RTC_FAILING_H
#define PDL_TEST_RTC_FAILING_H

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>

#include "support.h"

static struct {
    bool counts;
    unsigned calls;
    unsigned failing; /* from 1 */
} allocations;

static bool fails(void)
{
    if (allocations.counts && ++allocations.calls == allocations.failing) {
        errno = ENOMEM;
        return true;
    }
    return false;
}

/* The linker brings the library's calls here. */
#define WRAP(type, name, parameters, arguments, failed)                                            \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return fails() ? (failed) : __real_##name arguments;                                       \
    }
WRAP(void *, malloc, (size_t size), (size), NULL)
WRAP(void *, calloc, (size_t count, size_t size), (count, size), NULL)
WRAP(void *, realloc, (void *memory, size_t size), (memory, size), NULL)
WRAP(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size), NULL)
WRAP(char *, strdup, (const char *text), (text), NULL)
WRAP(char *, strndup, (const char *text, size_t size), (text, size), NULL)
WRAP(char *, realpath, (const char *path, char *resolved), (path, resolved), NULL)
WRAP(DIR *, fdopendir, (int file), (file), NULL)
WRAP(FILE *, fdopen, (int file, const char *mode), (file, mode), NULL)

__attribute__((format(printf, 2, 3))) int __wrap_asprintf(char **text, const char *format, ...);
int __wrap_asprintf(char **text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int size = fails() ? -1 : vasprintf(text, format, arguments);
    va_end(arguments);
    return size;
}

/* What asprintf() is with _FORTIFY_SOURCE. */
__attribute__((format(printf, 3, 4))) int __wrap___asprintf_chk(char **text, int flag,
                                                                const char *format, ...);
int __wrap___asprintf_chk(char **text, int flag, const char *format, ...)
{
    va_list arguments;
    (void)flag;
    va_start(arguments, format);
    const int size = fails() ? -1 : vasprintf(text, format, arguments);
    va_end(arguments);
    return size;
}

/* Calls with the first allocation failing, then with the second, and so on until all succeed. The call must succeed or be out
 * of memory. */
static void each_fails(const char *what, void (*prepare)(void), pdl_status (*call)(void),
                       void (*check)(pdl_status status))
{
    unsigned k = 0;
    do {
        k++;
        prepare();
        allocations.failing = k;
        allocations.calls = 0;
        allocations.counts = true;
        const pdl_status status = call();
        allocations.counts = false;
        if (status != PDL_SUCCESS && status != PDL_ERROR_OUT_OF_MEMORY) {
            fail_msg("%s: allocation %u failed, and that gave %d: %s", what, k, (int)status,
                     pdl_last_error()->message);
        }
        assert_true(status == PDL_SUCCESS || pdl_last_error()->status == status);
        assert_true(status == PDL_SUCCESS || allocations.calls >= k);
        check(status);
    } while (allocations.calls >= k);
    print_message("%s: %u allocations\n", what, k - 1);
    assert_true(k > 1);
}

#endif /* PDL_TEST_RTC_FAILING_H */
