/* SPDX-License-Identifier: MIT */
/* Reading files whole. */
#ifndef PDL_LIB_FILE_H
#define PDL_LIB_FILE_H

#include "core/error.h"
#include "os/file.h"

/* All of an open file of at most `limit` bytes, and a NUL behind it: the caller frees it. NULL with
 * errno, which is EFBIG where there is more. A file that changes meanwhile may be a mixture. */
void *pdl_file_take(int file, size_t limit, size_t *size);

/* Both, for a path that an error tells of: PDL_ERROR_FILE or PDL_ERROR_OUT_OF_MEMORY. */
pdl_status pdl_file_read(const char *path, size_t limit, void **bytes, size_t *size);

#endif /* PDL_LIB_FILE_H */
