/* SPDX-License-Identifier: MIT */
/* The files of a recording: FILE of the first process, FILE.2, FILE.3 … of those that follow. */
#ifndef PDL_TOOLS_WATCH_FILES_H
#define PDL_TOOLS_WATCH_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* Texts, owned. */
struct paths {
    char **items;
    size_t count, capacity;
};

void paths_free(struct paths *paths);

/* Removes what an earlier recording of this name left. False with a line on standard error where a file is none, which
 * stays. */
bool files_clear(const char *first);

/* Those that are there. */
void files_find(const char *first, struct paths *paths);

#endif /* PDL_TOOLS_WATCH_FILES_H */
