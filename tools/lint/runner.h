/* SPDX-License-Identifier: MIT */
/* Running compilers, several at a time. */
#ifndef PDL_TOOLS_LINT_RUNNER_H
#define PDL_TOOLS_LINT_RUNNER_H

#include <sys/types.h>

#include "common/temporary.h"
#include "watch/variables.h"

/* Whatever ends the tool, the compilers that run end as well, and their folder is removed. */
struct runner {
    struct temporary folder;
    struct variables environment;
    pid_t group; /* all of them are in it; 0: none could be made */
};

/* To be called before there are threads. NULL, or why it cannot be done, which the caller frees; runner_free() must
 * follow in any case. */
char *runner_make(struct runner *runner);
void runner_free(struct runner *runner);

/* Runs a command in a directory (NULL: the tool's) until it ends, its output going to a file. NULL, or why it did not
 * succeed, which the caller frees. Threads may call this at the same time. */
char *runner_run(const struct runner *runner, char *const *command, const char *directory,
                 const char *output);

#endif /* PDL_TOOLS_LINT_RUNNER_H */
