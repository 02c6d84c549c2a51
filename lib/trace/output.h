/* SPDX-License-Identifier: MIT */
/* Files that are written as a whole. */
#ifndef PDL_LIB_OUTPUT_H
#define PDL_LIB_OUTPUT_H

#include <stdio.h>

#include <pdl/pdl.h>

/* Refuses no path. "-" is standard output. */
pdl_status pdl_output_open(const char *path, FILE **out);

/* Ends what was opened. `status` is what writing came to: an error of the stream counts if that is
 * PDL_SUCCESS. */
pdl_status pdl_output_close(FILE *out, const char *path, pdl_status status);

#endif /* PDL_LIB_OUTPUT_H */
