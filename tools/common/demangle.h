/* SPDX-License-Identifier: MIT */
/* Names of C++ functions as they are in the source. */
#ifndef PDL_TOOLS_DEMANGLE_H
#define PDL_TOOLS_DEMANGLE_H

/* A copy to free: demangled, or as it is where it is no mangled name or there is no demangler.
 * Never NULL: the program ends where there is no memory. */
char *demangle(const char *name);

#endif /* PDL_TOOLS_DEMANGLE_H */
