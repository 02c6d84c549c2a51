/* SPDX-License-Identifier: MIT */
/* Timelines to files, in any of their forms. */
#include <errno.h>
#include <string.h>

#include "core/error.h"
#include "core/path_text.h"
#include "trace/timeline_forms.h"

static pdl_status not_written(const char *path, const char *why)
{
    return PDL_FAIL_FIELD(PDL_ERROR_FILE, "path", "%s cannot be written: %s", PDL_PATH(path), why);
}

static pdl_status write_to(const pdl_timeline *timeline, pdl_timeline_format format, FILE *out,
                           uint32_t columns)
{
    switch (format) {
    case PDL_TIMELINE_SVG:
        return pdl_timeline_write_svg(timeline, out);
    case PDL_TIMELINE_TRACE:
        return pdl_timeline_write_trace(timeline, out);
    case PDL_TIMELINE_TEXT:
    default:
        return pdl_timeline_write_text(timeline, out, columns);
    }
}

pdl_status pdl_timeline_write(const pdl_timeline *timeline, pdl_timeline_format format,
                              const char *path, uint32_t columns)
{
    pdl_status status = pdl_timeline_need(timeline);
    if (status != PDL_SUCCESS) {
        return status;
    }
    if ((int)format < PDL_TIMELINE_TEXT || (int)format > PDL_TIMELINE_TRACE) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "format", "there is no format %d",
                              (int)format);
    }
    if (columns != 0 && (columns < 72 || columns > 400)) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "columns",
                              "columns is %u, not 72 to 400 or 0 for 80", (unsigned)columns);
    }
    if (path == NULL || path[0] == '\0') {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "path", "there is no path");
    }
    FILE *const out = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (out == NULL) {
        return not_written(path, strerror(errno));
    }
    status = write_to(timeline, format, out, columns != 0 ? columns : 80);
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
