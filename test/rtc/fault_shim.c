/* SPDX-License-Identifier: MIT */
/* Preloaded into a process that uses a cache: calls on files that are being written fail, or end the process.
 *
 * FAULT names the fault, FAULT_AFTER how many bytes are written (or calls are made) before it:
 *   ENOSPC, EDQUOT, EIO   write() fails, a part of it done
 *   SHORT                 write() does at most 7 bytes at once
 *   KILL_WRITE            the process is killed in a write(), a part of it done
 *   KILL_BEFORE_RENAME, KILL_AFTER_RENAME, RENAME (fails with EIO)
 *   EROFS                 whatever makes or changes a file fails */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static long written;      /* by one thread */
static int new_file = -1; /* the last that was made for writing */

static const char *fault(void)
{
    const char *name = getenv("FAULT");
    return name != NULL ? name : "";
}

static int is(const char *name)
{
    return strcmp(fault(), name) == 0;
}

static long after(void)
{
    const char *number = getenv("FAULT_AFTER");
    return number != NULL ? strtol(number, NULL, 10) : 0;
}

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

ssize_t write(int file, const void *bytes, size_t size)
{
    ssize_t (*real)(int, const void *, size_t);
    *(void **)&real = next("write");
    if (file != new_file) {
        return real(file, bytes, size);
    }
    if (is("SHORT")) {
        return real(file, bytes, size < 7 ? size : 7);
    }
    const int error = is("ENOSPC") ? ENOSPC : is("EDQUOT") ? EDQUOT : is("EIO") ? EIO : 0;
    if (error == 0 && !is("KILL_WRITE")) {
        return real(file, bytes, size);
    }
    const long left = after() - written;
    if (left >= (long)size) {
        written += (long)size;
        return real(file, bytes, size);
    }
    if (left > 0) {
        written += left;
        const ssize_t done = real(file, bytes, (size_t)left);
        if (error != 0) {
            return done;
        }
    }
    if (error == 0) {
        (void)kill(getpid(), SIGKILL);
    }
    errno = error;
    return -1;
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    static long calls;
    int (*real)(int, const char *, int, const char *);
    *(void **)&real = next("renameat");
    const int now = calls++ >= after();
    if (now && is("KILL_BEFORE_RENAME")) {
        (void)kill(getpid(), SIGKILL);
    }
    if (is("EROFS") || (now && is("RENAME"))) {
        errno = is("EROFS") ? EROFS : EIO;
        return -1;
    }
    const int result = real(from_folder, from, to_folder, to);
    if (now && is("KILL_AFTER_RENAME")) {
        (void)kill(getpid(), SIGKILL);
    }
    return result;
}

int openat(int folder, const char *name, int flags, ...)
{
    int (*real)(int, const char *, int, ...);
    va_list arguments;
    *(void **)&real = next("openat");
    va_start(arguments, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (is("EROFS") && (flags & O_ACCMODE) != O_RDONLY) {
        errno = EROFS;
        return -1;
    }
    const int file = real(folder, name, flags, mode);
    if ((flags & O_EXCL) != 0) {
        new_file = file;
    }
    return file;
}

int mkdirat(int folder, const char *name, mode_t mode)
{
    int (*real)(int, const char *, mode_t);
    *(void **)&real = next("mkdirat");
    if (is("EROFS")) {
        errno = EROFS;
        return -1;
    }
    return real(folder, name, mode);
}

int mkdir(const char *name, mode_t mode)
{
    return mkdirat(AT_FDCWD, name, mode);
}

int futimens(int file, const struct timespec times[2])
{
    int (*real)(int, const struct timespec[2]);
    *(void **)&real = next("futimens");
    if (is("EROFS")) {
        errno = EROFS;
        return -1;
    }
    return real(file, times);
}
