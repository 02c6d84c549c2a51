/* SPDX-License-Identifier: MIT */
/* The forms of a timeline, each in a file of its own. Errors of the stream are left to the caller. */
#ifndef PDL_LIB_TIMELINE_FORMS_H
#define PDL_LIB_TIMELINE_FORMS_H

#include <stdio.h>

#include "trace/text.h"
#include "trace/timeline_summary.h"

pdl_status pdl_timeline_write_text(const struct pdl_timeline *timeline, FILE *out,
                                   uint32_t columns);
pdl_status pdl_timeline_write_svg(const struct pdl_timeline *timeline, FILE *out);
pdl_status pdl_timeline_write_trace(const struct pdl_timeline *timeline, FILE *out);

#endif /* PDL_LIB_TIMELINE_FORMS_H */
