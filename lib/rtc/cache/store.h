/* SPDX-License-Identifier: MIT */
/* A folder of compiled texts, shared with other processes.
 *
 * The folder may be reached through symbolic links, and must belong to the effective user (one that is only
 * read: or to root) and not be writable by others. The same goes for each file. Below it no symbolic link is
 * followed.
 *
 * FOLDER/pdl-rtc-2/AB/TEXTKEY-COMPILERS: a file an image, AB the first byte of the key. A file is written
 * under another name and renamed, and never changed. */
#ifndef PDL_RTC_STORE_H
#define PDL_RTC_STORE_H

#include <stdbool.h>

#include "rtc/cache/entry.h"

struct pdl_rtc_store;

/* Opens a folder; makes it unless `read_only`. NULL, with a sentence in `why`, if it cannot be used; errno is
 * ENOMEM where that says nothing of the folder. */
struct pdl_rtc_store *pdl_rtc_store_open(const char *directory, bool read_only, uint64_t capacity,
                                         char *why, size_t why_size);
void pdl_rtc_store_close(struct pdl_rtc_store *store);
const char *pdl_rtc_store_directory(const struct pdl_rtc_store *store);

/* The image of a key, if it is there, whole and to be trusted, else NULL. `*damaged` counts files that are
 * there and are not. A key whose compilers are not known finds that text of any. PDL_ERROR_OUT_OF_MEMORY. */
pdl_status pdl_rtc_store_find(struct pdl_rtc_store *store, const struct pdl_rtc_key *key,
                              pdl_rtc_image **image, uint64_t *damaged);

/* Writes an image. NULL, or why it could not be written, in `why` (returned). Makes room when the folder
 * has grown over its capacity: `*evicted` counts the files. */
const char *pdl_rtc_store_put(struct pdl_rtc_store *store, const struct pdl_rtc_key *key,
                              const pdl_rtc_image *image, uint64_t *evicted, char *why,
                              size_t why_size);

#endif /* PDL_RTC_STORE_H */
