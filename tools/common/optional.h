/* SPDX-License-Identifier: MIT */
/* Parts that pdltool can be built without: JSON (jansson), libpdl-rtc, kernels by nvcc, the cache of lint. */
#ifndef PDL_TOOLS_OPTIONAL_H
#define PDL_TOOLS_OPTIONAL_H

/* A function or an array of such a part. Its address is NULL where the part is not linked. Only objects that are linked
 * by themselves can provide it: the linker does not search an archive for it. */
#ifndef __clang_analyzer__
#define TOOL_OPTIONAL __attribute__((weak))
#else /* It does not see that a function is called only where its option was taken, which asks for the address. */
#define TOOL_OPTIONAL
#pragma clang diagnostic ignored "-Wtautological-pointer-compare"
#endif

#endif /* PDL_TOOLS_OPTIONAL_H */
