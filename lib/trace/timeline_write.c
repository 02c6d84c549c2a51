/* SPDX-License-Identifier: MIT */
/* Timelines to files, in any of their forms. */
#include <stddef.h>

#include "core/error.h"
#include "trace/output.h"
#include "trace/timeline_forms.h"

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
    FILE *out;
    status = pdl_output_open(path, &out);
    if (status != PDL_SUCCESS) {
        return status;
    }
    status = write_to(timeline, format, out, columns != 0 ? columns : 80);
    return pdl_output_close(out, path, status);
}
