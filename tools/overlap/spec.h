/* SPDX-License-Identifier: MIT */
/* What `pdltool overlap` is told of a device and of two kernels. */
#ifndef PDL_TOOLS_OVERLAP_SPEC_H
#define PDL_TOOLS_OVERLAP_SPEC_H

#include <stdbool.h>
#include <stdio.h>

#include "common/input.h"
#include "common/kernel.h"
#include "common/optional.h"
#include "overlap/rules.h"

/* A kernel of the command line: NAME[,KEY=VALUE...], or KEY=VALUE alone. */
struct overlap_spec {
    const char *role; /* "primary", "secondary" */
    char *kernel;     /* a name to look for; NULL: none is given */
    char *name;       /* for the output */
    char *origin;     /* where its code was; NULL without a file */
    struct kernel_resources resources;
    const pdl_kernel_info *code; /* of the file; NULL without */
    char *refused;               /* the text of side.refused */
    struct pdl_overlap_side side;
};

/* All of these print what is wrong to standard error and return false. */

/* Reads a kernel's text. overlap_spec_free() must follow it in any case. */
bool overlap_spec_read(const char *text, struct overlap_spec *spec);
/* Finds the kernel in the files, and takes what the text did not say from there. */
bool overlap_spec_find(const struct inputs *inputs, int32_t compute_capability,
                       struct overlap_spec *spec);
/* Checks that all is known that must be, and completes `side`. */
bool overlap_spec_finish(struct overlap_spec *spec);
void overlap_spec_free(struct overlap_spec *spec);

/* A device by its name in the table or as X.Y:SMS: fills sm, sms, device, device_name and disabled. */
bool overlap_device_find(const char *text, struct pdl_overlap_input *input);
/* What can be named, a line each. */
void overlap_device_list(FILE *to);

/* The answer as JSON on standard output; false where writing failed. */
TOOL_OPTIONAL bool overlap_print_json(const struct pdl_overlap_input *input,
                                      const struct overlap_spec specs[2],
                                      const pdl_overlap_report *report);

#endif /* PDL_TOOLS_OVERLAP_SPEC_H */
