/* SPDX-License-Identifier: MIT */
/* Whole files. */
#ifndef PDL_TOOLS_FILE_H
#define PDL_TOOLS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Opens a file to be read, or made and written: a descriptor, or -1 with errno. A pipe whose other end is not there
 * within 2 s is waited for, and a line on standard error says so. */
int file_open(const char *path, bool writes);
FILE *file_stream(const char *path, bool writes);

/* All that is left of a stream, and a 0 behind it, which `size` does not count. NULL with errno where it cannot
 * be read, EFBIG where it is longer than `most`. The caller frees it. */
char *file_read_stream(FILE *file, size_t most, size_t *size);

/* Likewise the file at a path, which may be a pipe. No file of results or descriptions is as long as the most
 * that is read: a device may have no end. */
#define FILE_LONGEST ((size_t)256 << 20)
char *file_read(const char *path, size_t *size);

#endif /* PDL_TOOLS_FILE_H */
