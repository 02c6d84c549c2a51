/* SPDX-License-Identifier: MIT */
/* gnuplot as a program: scripts go to its standard input, what it draws comes from its standard output. */
#ifndef PDL_TOOLS_REPORT_GNUPLOT_H
#define PDL_TOOLS_REPORT_GNUPLOT_H

#include <stdbool.h>
#include <stddef.h>

struct bytes {
    char *items; /* ended by a 0 that does not count */
    size_t count;
};

/* True if it made output, which the caller frees. Else `why`, which the caller frees, has what it said. */
bool gnuplot_run(const char *script, struct bytes *output, char **why);

#endif /* PDL_TOOLS_REPORT_GNUPLOT_H */
