/* SPDX-License-Identifier: MIT */
/* Whole files. */
#ifndef PDL_TOOLS_FILE_H
#define PDL_TOOLS_FILE_H

#include <stddef.h>
#include <stdio.h>

/* All that is left of a stream, and a 0 behind it, which `size` does not count. NULL with errno where it cannot
 * be read, EFBIG where it is longer than `most`. The caller frees it. */
char *file_read_stream(FILE *file, size_t most, size_t *size);

/* Likewise the file at a path, which may be a pipe. No file of results or descriptions is as long as the most
 * that is read: a device may have no end. */
#define FILE_LONGEST ((size_t)256 << 20)
char *file_read(const char *path, size_t *size);

#endif /* PDL_TOOLS_FILE_H */
