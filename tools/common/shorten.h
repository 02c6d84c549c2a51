/* SPDX-License-Identifier: MIT */
/* Demangled names as they are shown: those of template instances may be as long as a page. */
#ifndef PDL_TOOLS_SHORTEN_H
#define PDL_TOOLS_SHORTEN_H

#include <stddef.h>

/* Neither has the names that nvcc puts around what is static. Of a name that is mangled still both give the names that
 * it begins with. */

/* A copy to free. Of a name of more than `most` characters the template arguments, from the innermost on, and then
 * the parameters are `...`, as far as needed. */
char *shorten_name(const char *whole, size_t most);

/* A copy to free of a function's name alone, without its result, template arguments and parameters. */
char *template_name(const char *whole);

#endif /* PDL_TOOLS_SHORTEN_H */
