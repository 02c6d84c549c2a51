/* SPDX-License-Identifier: MIT */
/* Parts that pdltool can be built without: JSON (jansson), libpdl-rtc, kernels by nvcc, the cache of lint. */
#ifndef PDL_TOOLS_OPTIONAL_H
#define PDL_TOOLS_OPTIONAL_H

/* A function or an array of such a part. Its address is NULL where the part is not linked. Only objects that are linked
 * by themselves can provide it: the linker does not search an archive for it. */
#define TOOL_OPTIONAL __attribute__((weak))

#endif /* PDL_TOOLS_OPTIONAL_H */
