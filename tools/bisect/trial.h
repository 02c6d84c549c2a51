/* SPDX-License-Identifier: MIT */
/* Running the command once under libpdl-watch. */
#ifndef PDL_TOOLS_BISECT_TRIAL_H
#define PDL_TOOLS_BISECT_TRIAL_H

#include <stdbool.h>

#include "bisect/search.h"

struct trial {
    char *const *arguments;
    const char *rules;  /* file; NULL: none */
    const char *record; /* file; NULL: none */
    double timeout;     /* seconds; 0: none */
    bool verbose;       /* the command's output goes to standard error, otherwise nowhere */
};

enum { TRIAL_TAIL = 4096 };

struct trial_result {
    enum search_verdict verdict; /* SEARCH_STOPPED: see below */
    int interrupted;             /* the signal that asked pdltool to end; 0 */
    bool aborted;                /* the command cannot be run, or ended with 126 or 127 */
    double seconds;
    char how[32];              /* it ended: "exit 1", "signal 11", "timeout" */
    char tail[TRIAL_TAIL + 1]; /* the end of its output */
};

/* Exit codes are judged as `git bisect run` does: 0 passes, 125 cannot tell, 126 and 127 abort, others fail. So does what a
 * signal ends, and what takes longer than it may. */
void trial_run(const struct trial *trial, struct trial_result *result);

/* Prints the last lines of the command's output. */
void trial_print_tail(const struct trial_result *result);

#endif /* PDL_TOOLS_BISECT_TRIAL_H */
