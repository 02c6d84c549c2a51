/* SPDX-License-Identifier: MIT */
/* The files that a text includes, found without compiling it. */
#ifndef PDL_RTC_INCLUDES_H
#define PDL_RTC_INCLUDES_H

#include <stdbool.h>

#include "rtc/hash.h"
#include "rtc/request/request.h"

/* A file that was looked for: one that was found, or one whose absence decided which was found. */
struct pdl_rtc_dependency {
    char *path;
    bool present;
    bool fresh; /* read so soon after a change that its times may not show the next one */
    /* Which other one is the same file, by another name: #pragma once asks. 0: none before it. */
    size_t twin;
    uint64_t device, inode, size;
    int64_t modified_ns, changed_ns;    /* st_mtim, st_ctim */
    struct pdl_rtc_hash content, check; /* of a present one, with the two seeds */
};

struct pdl_rtc_dependencies {
    struct pdl_rtc_dependency *items;
    size_t count, capacity;
    const char *unknown; /* why it cannot be told what the compiler may read; else NULL */
    bool fresh;          /* one of them is */
};

/* Everything that the text, its headers, names and options may include from disk, whatever
 * conditions stand around it: more than the compiler reads, never less. */
pdl_status pdl_rtc_includes_find(const struct pdl_rtc_request *request,
                                 struct pdl_rtc_dependencies *dependencies);
void pdl_rtc_includes_free(struct pdl_rtc_dependencies *dependencies);

/* Whether all of them are as they were, by what stat() says; fresh ones are read, too. */
bool pdl_rtc_includes_unchanged(const struct pdl_rtc_dependencies *dependencies);

#endif /* PDL_RTC_INCLUDES_H */
