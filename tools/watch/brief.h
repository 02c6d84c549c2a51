/* SPDX-License-Identifier: MIT */
/* Kernels' names and times as a table has room for them. */
#ifndef PDL_TOOLS_WATCH_BRIEF_H
#define PDL_TOOLS_WATCH_BRIEF_H

#include <stddef.h>
#include <stdint.h>

/* A demangled name in at most so many columns, which the caller frees: without its parameters, then without its
 * namespaces, then without the arguments of its templates' arguments, then cut. */
char *brief_name(const char *shown, size_t columns);

/* "4.51 µs", "12.3 ms": three digits, which the caller frees. */
char *brief_time(uint64_t ns);

/* "79 %"; "<1 %" and ">99 %" where it is not none and not all. The caller frees it. */
char *brief_share(uint64_t part, uint64_t all);

#endif /* PDL_TOOLS_WATCH_BRIEF_H */
