/* SPDX-License-Identifier: MIT */
/* A figure as gnuplot's script. */
#ifndef PDL_TOOLS_REPORT_DRAW_H
#define PDL_TOOLS_REPORT_DRAW_H

#include "report/figure.h"

/* SVG for a page, or a PNG picture. The caller frees the script. */
enum draw_form { DRAW_SVG, DRAW_SVG_NARROW, DRAW_PNG, DRAW_PNG_GD };
char *draw_script(const struct figure *figure, enum draw_form form);
/* What gnuplot drew, for light and dark pages: a style gives what is black the colour of text. NULL if it is no
 * SVG. The caller frees it. */
char *draw_for_both(const char *drawn);

#endif /* PDL_TOOLS_REPORT_DRAW_H */
