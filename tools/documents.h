/* SPDX-License-Identifier: MIT */
/* The JSON documents of the commands that are one file each. Each function returns false where writing failed. */
#ifndef PDL_TOOLS_DOCUMENTS_H
#define PDL_TOOLS_DOCUMENTS_H

#include <stdbool.h>

#include <pdl/instrument.h>

#include "common/input.h"
#include "common/optional.h"

/* Whether a kernel is in the document. */
typedef bool kernel_filter(const void *context, const pdl_inspect_image *image,
                           const pdl_inspect_kernel *kernel);
/* *any: whether there is a kernel in it. */
TOOL_OPTIONAL bool inspect_print_json(const struct inputs *inputs, kernel_filter *wanted,
                                      const void *context, bool *any);

TOOL_OPTIONAL bool instrument_print_json(const char *name, const pdl_instrumentation *result);

/* The files in a cache of libpdl-rtc; a directory of NULL is the default cache's. Prints nothing unless *status is
 * PDL_SUCCESS. */
TOOL_OPTIONAL bool cache_print_json(const char *directory, pdl_status *status);

#endif /* PDL_TOOLS_DOCUMENTS_H */
