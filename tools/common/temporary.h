/* SPDX-License-Identifier: MIT */
/* Folders that do not outlive the process, however it ends. */
#ifndef PDL_TOOLS_TEMPORARY_H
#define PDL_TOOLS_TEMPORARY_H

#include <sys/types.h>

#include "common/process.h"

/* All zero but for the socket is none. */
struct temporary {
    char *path;            /* NULL: there is none */
    struct process keeper; /* removes it when the tool has ended: by a signal, or by exit() */
};
#define TEMPORARY_NONE ((struct temporary){.path = NULL, .keeper = {.socket = -1, .id = 0}})

/* Makes a folder in TMPDIR, or in /tmp. Returns NULL, or why it cannot be made, which the caller frees. */
char *temporary_make(struct temporary *folder);

/* A process group that works in the folder, 0 for none any more: it is killed if the tool ends before it. */
void temporary_group(const struct temporary *folder, pid_t group);

/* Removes the folder and all that is in it. */
void temporary_remove(struct temporary *folder);

#endif /* PDL_TOOLS_TEMPORARY_H */
