/* SPDX-License-Identifier: MIT */
/* How kernels are launched, as the options tell. */
#ifndef PDL_INSPECT_LAUNCHED_H
#define PDL_INSPECT_LAUNCHED_H

#include "inspect/inspection.h"

/* What is known of the launches of a kernel, from the weakest to the strongest. */
enum pdl_launched_how {
    PDL_HOW_UNKNOWN,
    PDL_HOW_PLAIN,           /* without overlap only */
    PDL_HOW_SAID_OVERLAPPED, /* a pattern says so */
    PDL_HOW_SEEN_OVERLAPPED
};

/* Prepares the look-up of what an inspection's options tell, and the counts of what they match, which stay. */
void pdl_launched_prepare(pdl_inspection *inspection);

/* How a kernel is launched. A launch with overlap that was seen counts most, then what a pattern says
 * (`plain` before `overlapped`), then launches that were seen without overlap. */
enum pdl_launched_how pdl_launched_find(const pdl_inspection *inspection, const char *kernel);

/* Counts, for each entry of the lists of kernels, those that it matches, and tells the kernels. */
void pdl_launched_count(pdl_inspection *inspection);

/* A kernel's name without what depends on the compilation of its file, for names with internal linkage:
 * into `to`, with room for `strlen(name) + 1` bytes. False if there is nothing of the kind in it. */
bool pdl_launched_shorten(const char *name, char *to);

#endif /* PDL_INSPECT_LAUNCHED_H */
