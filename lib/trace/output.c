/* SPDX-License-Identifier: MIT */
/* Files that are written as a whole. */
#include "trace/output.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "core/error.h"
#include "core/path_text.h"

static pdl_status not_written(const char *path, const char *why)
{
    return PDL_FAIL_FIELD(PDL_ERROR_FILE, "path", "%s cannot be written: %s", PDL_PATH(path), why);
}

pdl_status pdl_output_open(const char *path, FILE **out)
{
    if (path == NULL || path[0] == '\0') {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "path", "there is no path");
    }
    FILE *opened = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (opened == NULL) {
        return not_written(path, strerror(errno));
    }
    *out = opened;
    return PDL_SUCCESS;
}

pdl_status pdl_output_close(FILE *out, const char *path, pdl_status status)
{
    errno = 0;
    bool written = fflush(out) == 0 && !ferror(out);
    if (out != stdout) {
        written = fclose(out) == 0 && written;
    }
    if (status == PDL_SUCCESS && !written) {
        status = not_written(path, errno != 0 ? strerror(errno) : "the write failed");
    }
    return status;
}
