/* SPDX-License-Identifier: MIT */
/* The files of a cache's folder: opening them safely, walking through them, removing the oldest. */
#ifndef PDL_RTC_FILES_H
#define PDL_RTC_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rtc/cache/key.h"

/* Below the folder, with the schema as its number: versions that cannot read each other's files do not
 * see them. */
#define PDL_RTC_FILES_BASE "pdl-rtc-2"
_Static_assert(PDL_RTC_SCHEMA == 2, "PDL_RTC_FILES_BASE goes with PDL_RTC_SCHEMA");

enum { PDL_RTC_FILE_NAME = 2 + 1 + 32 + 1 + 16 + 1 };

/* A file as a walk finds it. */
struct pdl_rtc_file_found {
    char name[PDL_RTC_FILE_NAME]; /* "AB/TEXTKEY-COMPILERS" */
    uint64_t size;
    int64_t used; /* nanoseconds since 1970; not in the future */
};

struct pdl_rtc_file_list {
    struct pdl_rtc_file_found *items; /* the one used longest ago first */
    size_t count, capacity;
    uint64_t bytes;
};

/* Opens the base in a folder: -1 with errno, and with a sentence in `why`. errno is ENOMEM where that says nothing of the
 * folder. */
int pdl_rtc_files_open(const char *directory, bool make, bool read_only, char *why,
                       size_t why_size);

/* Opens the part of the base, "AB", that a file of such a name is in; -1 with errno. */
int pdl_rtc_files_part(int base, const char *name, bool read_only);

/* All of a regular file that may be trusted, as pdl_file_take(). `read_only`: as of its folder; else it is used now.
 * NULL with errno; then `*damaged` says whether something is wrong with it: not where it is not there, or where this
 * process lacks memory or descriptors for it. */
unsigned char *pdl_rtc_files_read(int at, const char *name, bool read_only, size_t *size,
                                  bool *damaged);

void pdl_rtc_files_name(const struct pdl_rtc_key *key, char name[PDL_RTC_FILE_NAME]);
/* Makes a file with another name first. NULL, or why it could not. */
const char *pdl_rtc_files_write(int base, const char *name, const void *bytes, size_t size,
                                char *why, size_t why_size);

/* Lists the files, and removes what writers left behind. 0, or errno where this process lacks memory or descriptors for it. */
int pdl_rtc_files_list(int base, struct pdl_rtc_file_list *list);
void pdl_rtc_files_free(struct pdl_rtc_file_list *list);

/* Removes the one used longest ago until the rest takes at most `capacity` bytes; never `keep` (may be NULL).
 * Returns how many. */
uint64_t pdl_rtc_files_evict(int base, struct pdl_rtc_file_list *list, uint64_t capacity,
                             const char *keep);

#endif /* PDL_RTC_FILES_H */
