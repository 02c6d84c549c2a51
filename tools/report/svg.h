/* SPDX-License-Identifier: MIT */
/* What gnuplot's SVG needs to stand in a page. */
#ifndef PDL_TOOLS_REPORT_SVG_H
#define PDL_TOOLS_REPORT_SVG_H

#include "report/gnuplot.h"

/* The SVG as an element for a page: black becomes the text's colour, ids begin with `name`, what draws
 * nothing is gone. NULL if it is no SVG. The caller frees it. */
char *svg_element(const struct bytes *drawn, const char *name, const char *title);
/* An element as a file of its own, for light and dark. */
char *svg_file(const char *element);

#endif /* PDL_TOOLS_REPORT_SVG_H */
