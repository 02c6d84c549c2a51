/* SPDX-License-Identifier: MIT */
/* Files, and the environment of the process. */
#ifndef PDL_LIB_OS_FILE_H
#define PDL_LIB_OS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Opens a regular file for reading: a descriptor, or -1 with errno, which is EINVAL for what is no regular file.
 * Never waits, as opening a pipe does until someone writes to it. Paths are in the code page of the process on Windows. */
int pdl_file_open_path(const char *path);

/* The same, below the folder `at`, with more `flags` of open(), and what fstat() says. Not on Windows. */
int pdl_file_open(int at, const char *path, int flags, struct stat *about);

/* The size of an open file; negative, with errno, if it cannot be asked for. */
long long pdl_file_size(int file);

/* As read() and close(). */
long long pdl_file_next(int file, void *bytes, size_t room);
void pdl_file_close(int file);

/* Opens or makes a file for lines that several threads and processes add: a descriptor, or -1 with errno. "stderr" is
 * that. Neither this nor a write waits for a reader of a pipe, and a write that has none does not end the process. */
int pdl_log_open(const char *path);
void pdl_log_add(int file, const char *text, size_t length);

/* The number of this process. */
long pdl_process_id(void);

/* As getenv(); as secure_getenv(): NULL in a process with more rights than its user. */
const char *pdl_environment(const char *name);
const char *pdl_environment_secure(const char *name);

/* Whether a pattern as of fnmatch() matches the whole text. */
bool pdl_pattern_matches(const char *pattern, const char *text);

#endif /* PDL_LIB_OS_FILE_H */
