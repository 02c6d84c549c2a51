/* SPDX-License-Identifier: MIT */
/* Names of C++ functions as they are in the source. */
#ifndef PDL_TOOLS_DEMANGLE_H
#define PDL_TOOLS_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/optional.h"

/* A copy to free: demangled, or as shown() has it where it is no mangled name, there is no demangler, or
 * the text would be longer than LONGEST_SHOWN or take too long. Not for two threads at once. Never
 * NULL: the program ends where there is no memory. */
char *demangle(const char *name);

/* The same in at most BRIEF_NAME characters, if leaving out template arguments and parameters does it; also of names
 * that demangle() leaves mangled because of their length. */
enum { BRIEF_NAME = 80 };
char *demangle_brief(const char *name);

/* The same without template arguments, result and parameters: that of all instances of a template. */
char *demangle_alone(const char *name);

/* Whether a pattern as in fnmatch(3) matches a name, demangled or not, with its template arguments or without. */
bool name_matches(const char *mangled, const char *const *patterns, size_t count);

/* The C++ library's demangler, without limits: NULL where that library is not linked. NULL for what is no name of C++;
 * else the caller frees it. */
TOOL_OPTIONAL char *demangle_cxx(const char *name);

#endif /* PDL_TOOLS_DEMANGLE_H */
