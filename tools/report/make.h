/* SPDX-License-Identifier: MIT */
/* What `pdltool report` does where there is jansson. */
#ifndef PDL_TOOLS_REPORT_MAKE_H
#define PDL_TOOLS_REPORT_MAKE_H

#include <stdbool.h>

#include "common/optional.h"
#include "report/page.h"

struct report_options {
    const char *directory; /* with the JSON files */
    const char *output;    /* for the page; may be the same */
    bool require_plots;
};
/* Returns the command's exit code. */
TOOL_OPTIONAL int report_make(const struct report_options *options);

/* Reads what there is. False with a line on standard error if that is nothing; `whole` is false if
 * something could not be read, which the report's troubles then say. */
bool report_read(const char *directory, struct report *report, bool *whole);

#endif /* PDL_TOOLS_REPORT_MAKE_H */
