/* SPDX-License-Identifier: MIT */
/* Kernels that never wait, or only if a flag is set. */
#ifndef PDL_TOOLS_LINT_NEVER_H
#define PDL_TOOLS_LINT_NEVER_H

#include "common/input.h"

/* "8 kernels never wait: a, b, c and 5 more; 1 kernel never waits unless a flag is set: d; …", which the caller frees; NULL if
 * there are none. Left out are those that access no global memory, those of which it is known how they are launched, and
 * instances of templates that never wait and differ from others, which do, in flags and numbers only. */
char *lint_never_text(const struct inputs *inputs);

/* What kernels that differ in the values of template arguments only have in common, which the caller frees. */
char *lint_family(const char *name);

#endif /* PDL_TOOLS_LINT_NEVER_H */
